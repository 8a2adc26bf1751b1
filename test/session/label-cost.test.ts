/** Reading the labels and lists on a line takes linear time, whatever they contain. */
import { expect, test } from 'vitest';
import { findEqualKey } from '../../src/workflow/verify/walked-line.ts';
import { checkListSize, parseTurnContext } from '../../src/session/context/context-lines.ts';
import { checkMessage } from '../../src/session/entries/entry-trailers.ts';
import { decodeEntry } from '../../src/session/entries/entry.ts';
import { expectLinear } from '../support/growth.ts';

const trailers = 'Teddy-Session: 20260124-x\nTeddy-Entry: plan\nTeddy-Entry-Id: x\nTeddy-Format: 1\n';
const many = (text: string, length: number) => text.repeat(Math.ceil(length / text.length));

test.each([
  ['trailers', (n: number) => `s\n\n${trailers}${many('Teddy-Turn: 02\n', n)}`],
  ['blanks in a trailer', (n: number) => `s\n\n${trailers}Teddy-Model: x${many(' ', n)}x\n`],
  ['a long key', (n: number) => `s\n\n${trailers}Teddy-${many('M', n)}\n`],
  ['paragraphs', (n: number) => `${many('x\n\n', n)}${trailers}`],
  ['line ends', (n: number) => `s${many('\n', n)}${trailers}${many('\n', n)}`],
  ['an indented line', (n: number) => `s\n\n${many(' ', n)}${many('a', n)}\n\n${trailers}`],
  ['control characters', (n: number) => `s${many('\u0001 ', n)}\n\n${trailers}`],
])('a message with %s is read in linear time', async (_what, make) => {
  await expectLinear(4_000_000, make, (message) => checkMessage(message, decodeEntry(message)));
});

test('overlong trailers do not make an entry, which is reported if they claim to', () => {
  const long = `s\n\n${trailers}${many('Teddy-Model: x\n', 70_000)}`;
  expect(decodeEntry(long)).toBeNull();
  expect(checkMessage(long)).toEqual({ entry: null, problems: [expect.stringMatching(/70,\d+ characters, .*65,536/)] });
  expect(checkMessage(`s\n\n${many('my own words\n', 70_000)}`)).toEqual({ entry: null, problems: [] });
});

test.each([
  ['paths', (n: number) => many('src/a.ts\n', n)],
  ['excluding lines', (n: number) => many('!a\na\n', n)],
  ['blanks', (n: number) => `a${many(' ', n)}b\n`],
  ['comment characters', (n: number) => `a${many(' #', n)}\n`],
  ['an open quote', (n: number) => `"${many('a\\', n)}\n`],
])('a list with %s is read in linear time', async (_what, make) => {
  await expectLinear(4_000_000, make, (list) => [checkListSize(list), parseTurnContext(list)]);
});

test.each([
  ['keys', (n: number) => `{${Array.from({ length: n / 20 }, (_, at) => `"k${at}":{"a":[]}`).join(',')}}`],
  ['text', (n: number) => `{"a":"${many('\\"', n)}"}`],
  ['brackets', (n: number) => `${many('[', n)}${many(']', n)}`],
])('equal keys are found in a line with many %s in linear time', async (_what, make) => {
  await expectLinear(2_000_000, make, (line) => expect(findEqualKey(line)).toBeNull());
});

test('equal keys are found within one object, however they are escaped', () => {
  expect(findEqualKey('{"a":{"a":1},"b":[{"a":1},{"a":"a"}]}\n{"a":1}')).toBeNull();
  expect(findEqualKey('{"a":["a"],"b":"a","\\u0061":1}')).toBe('a');
  expect(findEqualKey('{"x":[{"__proto__":1,"__proto__":2}]}')).toBe('__proto__');
});

import fc from 'fast-check';
import { expect } from 'vitest';
import { maskedOutput } from '../../../src/workflow/line/masked-output.ts';
import { runs } from '../../support/runs.ts';
import { propertyTest, quickTest as test } from '../../support/slow-test.ts';

const secret = 'hunter-two-9000';
const begin = '-----BEGIN RSA PRIVATE' + ' KEY-----';
const end = '-----END RSA PRIVATE' + ' KEY-----';

const masker = {
  mask: async (text: string) => {
    const masked = text.replaceAll(secret, '[m]').replaceAll(new RegExp(`${begin}[^-]*${end}`, 'g'), '[k]');
    return { text: masked, count: 0, found: [] };
  },
};

async function shownOf(text: string, cuts: number[]): Promise<string[]> {
  const shown: string[] = [];
  const output = maskedOutput(masker, (stream, piece) => shown.push(`${stream}:${piece}`));
  let start = 0;
  for (const at of [...cuts].sort((a, b) => a - b)) {
    output.add('stdout', text.slice(start, at));
    start = at;
  }
  output.add('stdout', text.slice(start));
  await output.end();
  return shown;
}

propertyTest('the shown output does not depend on the pieces it arrives in', async () => {
  const text = `a ${secret}\nb\r\n${begin}\nAAAA\nBBBB\n${end}\nc\n\n${secret}${secret} rest`;
  const { text: expected } = await masker.mask(text);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(text.length)), async (cuts) => {
      expect((await shownOf(text, cuts)).map((piece) => piece.slice('stdout:'.length)).join('')).toBe(expected);
    }),
    runs(100),
  );
});

test('a line is shown when it ends, not when the command does', async () => {
  const shown: string[] = [];
  const output = maskedOutput(masker, (_, piece) => shown.push(piece));
  output.add('stdout', 'one\ntw');
  output.add('stderr', '50%\r');
  await new Promise((resolve) => setImmediate(resolve));
  expect(shown).toEqual(['one\n', '50%\r']);
  await output.end();
  expect(shown.at(-1)).toBe('tw');
});

test('a key that never ends is shown after 400 lines', async () => {
  const shown = await shownOf(
    `${begin}\n${'x\n'.repeat(1000)}`,
    [...Array(900).keys()].map((at) => at * 2 + 50),
  );
  expect(shown.length).toBeGreaterThan(1);
});

test('a line of over 1 MiB is left out completely, whatever pieces it arrives in', async () => {
  const piece = 'x'.repeat(100_000);
  const long = [`before\n${piece}`, ...Array.from({ length: 20 }, () => piece), `${secret}\nafter ${secret}\nend`];
  const shown: string[] = [];
  const output = maskedOutput(masker, (_, text) => shown.push(text));
  for (const text of long) output.add('stdout', text);
  await output.end();
  expect(shown).toEqual(['before\n', '[a line longer than 1 MiB is not shown]\n', 'after [m]\n', 'end']);
});

test('no output is shown that could not be masked, and the end says so', async () => {
  const shown: string[] = [];
  const broken = { mask: () => Promise.reject(new Error('broken')) };
  const output = maskedOutput(broken, (_, piece) => shown.push(piece));
  output.add('stdout', 'one\n');
  await expect(output.end()).rejects.toThrow('broken');
  expect(shown).toEqual([]);
});

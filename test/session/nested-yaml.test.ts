import fc from 'fast-check';
import { Lexer, Parser, stringify, type CST } from 'yaml';
import { describe, expect } from 'vitest';
import { isDeeplyNested } from '../../src/session/yaml/untrusted-yaml.ts';
import { runs } from '../support/runs.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

const isRefused = (text: string) => isDeeplyNested(new Lexer().lex(text));

/** How many levels `parseDocument` recurses into: those in the tree that the `Parser` passes to it. */
function depthOf(text: string): number {
  const open = [...new Parser().parse(text)].map((token): [CST.Token, number] => [token, 1]);
  let deepest = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [token, depth] = next;
    deepest = Math.max(deepest, depth);
    const items = 'items' in token ? token.items : [];
    const below = [...items.flatMap(({ key, value }) => [key, value]), 'value' in token ? token.value : undefined];
    for (const one of below) if (one != null) open.push([one, depth + 1]);
  }
  return deepest;
}

/** From about 500 levels on V8 may end the process. */
const survived = 200;

const parts = [
  '- ',
  '? ',
  ': ',
  '-\t',
  'a: ',
  '"a": ',
  '- a: ',
  '- !t ',
  '[',
  '{',
  '[ a: ',
  '{ a: {',
  '[]: ',
  '[\n]: ',
  '"a\n ": ',
  '[ {}: ',
  '{ ? ',
];
const lines = ['a: a:\n', 'a: ? x\n', 'a: : -\n', 'a: !t a:\n', ': a: a:\n', '"a": "a": |\n', 'a:\n', '-\n', '?\n'];

describe('YAML that would crash its parser', () => {
  test.each(['- ', '? ', ': ', 'a: ', '[', '{', '[ a: ', '{ a: {', '[ {}: ', '{ ? ', 'a: a:\n', '"a": "a": |\n'])(
    'is %j a thousand times',
    (part) => {
      expect(depthOf(part.repeat(1000))).toBeGreaterThan(survived);
      expect(isRefused(part.repeat(1000))).toBe(true);
    },
  );

  test.each(['a:', '-', '?'])('is %j indented further on each of a thousand lines', (part) => {
    expect(isRefused(Array.from({ length: 1000 }, (_, at) => `${' '.repeat(at)}${part}\n`).join(''))).toBe(true);
  });

  test.each([...parts, ...lines])('is refused, or has few levels: %j', (part) => {
    const long = part.repeat(1000);
    for (const text of [long, `[${long}`, `a: |\n  text\nb: ${long}`, `- ${long}`])
      expect(isRefused(text) || depthOf(text) <= survived, text.slice(0, 40)).toBe(true);
  });

  slowTest('is refused, or has few levels, whatever is in it', () => {
    const some = fc.array(fc.constantFrom(...parts, ...lines, ']', '}', ', ', 'x', '\n', '\n  '), { maxLength: 8 });
    fc.assert(
      fc.property(some, some, some, (before, repeated, after) => {
        const text = `${before.join('')}${repeated.join('').repeat(400)}${after.join('')}`;
        expect(isRefused(text) || depthOf(text) <= survived).toBe(true);
      }),
      runs(200),
    );
  });
});

describe('YAML that is merely long', () => {
  test.each(['[', '{ a: ', '- ', '? ', '- - -\n', '          '])(
    'has %j very often in its scalars and comments',
    (part) => {
      const text = part.repeat(5000);
      expect(isRefused(stringify({ stdout: `${text}\n`, lines: [text, `x\n${text}\n`], after: { that: [1] } }))).toBe(
        false,
      );
      expect(isRefused(`a: |\n  ${text}\nb: '${text}'\nc: "${text}" # ${text}\nd: x\n`)).toBe(false);
    },
  );

  slowTest('has many items and keys, in blocks and in brackets', () => {
    const items = Array.from({ length: 2000 }, (_, at) => ({ index: at, of: [{ a: at, b: [] }, '[', {}] }));
    expect(isRefused(stringify(items))).toBe(false);
    expect(isRefused(JSON.stringify(items))).toBe(false);
    expect(isRefused(JSON.stringify(items, null, 2))).toBe(false);
  });
});

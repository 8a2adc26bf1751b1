import { Lexer, stringify } from 'yaml';
import { describe, expect } from 'vitest';
import { isDeeplyNested } from '../../src/session/yaml-depth.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

const isRefused = (text: string) => isDeeplyNested(new Lexer().lex(text));

describe('YAML that its parser would not survive', () => {
  const texts = [
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
  ];
  test.each([...texts, '[ {}: ', '{ ? '])('is %j a thousand times', (part) => {
    expect(isRefused(part.repeat(1000))).toBe(true);
    expect(isRefused(`a: |\n  text\nb: ${part.repeat(1000)}`)).toBe(true);
  });

  test.each(['a: ', '- ', '[ ', '{}: '])('is %j in one bracket a thousand times', (part) => {
    expect(isRefused(`[${part.repeat(1000)}`)).toBe(true);
  });

  test.each(['a: a:\n', 'a: ? x\n', 'a: : -\n', 'a: !t a:\n', ': a: a:\n', '"a": "a": |\n'])(
    'is %j on each of a thousand lines, which is an error and nests all the same',
    (part) => expect(isRefused(part.repeat(1000))).toBe(true),
  );

  test.each(['a:', '-', '?'])('is %j indented further on each of a thousand lines', (part) => {
    expect(isRefused(Array.from({ length: 1000 }, (_, at) => `${' '.repeat(at)}${part}\n`).join(''))).toBe(true);
  });
});

describe('YAML that is only long', () => {
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

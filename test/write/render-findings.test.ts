import { describe, expect, test } from 'vitest';
import { renderFindings } from '../../src/write/render-findings.ts';
import { toBytes } from './validation.ts';

const limits = { maxFindings: 20 };

describe('the correction message', () => {
  test('shows each finding with two lines around', () => {
    const content = toBytes('one\ntwo\nthree\nfour\r\nfive\nsix\n');
    const findings = [
      { check: 'syntax', message: 'Bad.', line: 4, column: 2 },
      { check: 'chat', message: 'Talk.', line: 1 },
      { check: 'shrink', message: 'Too small.' },
    ];
    expect(renderFindings(findings, content, limits)).toBe(`1. syntax, line 4, column 2: Bad.
  2 | two
  3 | three
> 4 | four
  5 | five
  6 | six

2. chat, line 1: Talk.
> 1 | one
  2 | two
  3 | three

3. shrink: Too small.`);
  });

  test('lists at most the limit, and the number of the rest', () => {
    const findings = Array.from({ length: 23 }, (_, at) => ({ check: 'x', message: `finding ${at}.` }));
    const message = renderFindings(findings, toBytes('a\n'), limits);
    expect(message).toContain('20. x: finding 19.');
    expect(message).not.toContain('finding 20.');
    expect(message.endsWith('\n\nAnd 3 more findings.')).toBe(true);
    expect(renderFindings(findings.slice(0, 21), toBytes('a\n'), limits)).toMatch(/And 1 more finding\.$/);
  });

  test('is empty if nothing was found', () => {
    expect(renderFindings([], toBytes('a\n'), limits)).toBe('');
  });

  test('shows invisible characters by number', () => {
    const message = renderFindings(
      [{ check: 'x', message: 'Bad.', line: 1 }],
      toBytes('a\t\x1b[1m\u202eb\u00ad\n'),
      limits,
    );
    expect(message).toContain('> 1 | a\t<U+001B>[1m<U+202E>b<U+00AD>');
  });

  test('shows the part of a long line with the column', () => {
    const line = `${'a'.repeat(5000)}X${'b'.repeat(5000)}`;
    const message = renderFindings([{ check: 'x', message: 'Bad.', line: 1, column: 5001 }], toBytes(line), limits);
    expect(message.length).toBeLessThan(300);
    expect(message).toMatch(/> 1 \| …a{100}Xb{99}…$/);
  });

  test('leaves out a line beyond the content', () => {
    expect(renderFindings([{ check: 'x', message: 'Bad.', line: 3 }], toBytes('a\n'), limits)).toBe(
      '1. x, line 3: Bad.\n  1 | a',
    );
  });
});

import { describe, expect, test } from 'vitest';
import { normalizeArguments } from '../../src/cli/arguments.ts';
import { toVisible, visibleChunks } from '../../src/cli/terminal.ts';

describe('normalizeArguments', () => {
  test('binds the value of -m, -s and -a in every spelling', () => {
    const spellings = [['-m', 'a b'], ['-ma b'], ['-m=a b'], ['--message', 'a b'], ['--message=a b']];
    for (const words of spellings) expect(normalizeArguments(words)).toEqual(['--message=a b']);
    expect(normalizeArguments(['-s', 'x', '-adev'])).toEqual(['--session=x', '--agent=dev']);
  });

  test('a value may look like an option, be empty, or hold lines', () => {
    expect(normalizeArguments(['-m', '-y', '--json'])).toEqual(['--message=-y', '--json']);
    expect(normalizeArguments(['-m', '--', '-y'])).toEqual(['--message=--', '-y']);
    expect(normalizeArguments(['-m', ''])).toEqual(['--message=']);
    expect(normalizeArguments(['-mone\ntwo'])).toEqual(['--message=one\ntwo']);
  });

  test('leaves everything else, and all after --, as it is', () => {
    const words = ['session', 'branch', '02', '--from', '-', '-y', '--reject=x', '--', '-m', 'x'];
    expect(normalizeArguments(words)).toEqual(words);
    expect(normalizeArguments(['-m'])).toEqual(['--message']);
  });
});

describe('toVisible', () => {
  test('shows what could move the cursor, change colours or reorder text', () => {
    expect(toVisible('a\u001b[31mb\u0007\u009bc\u007f')).toBe('a␛[31mb␇<U+009B>c<U+007F>');
    expect(toVisible('\u202Egnp.exe\u2066\u200B\uFEFF')).toBe('<U+202E>gnp.exe<U+2066><U+200B><U+FEFF>');
    expect(toVisible('safe\rEVIL')).toBe('safe␍EVIL');
  });

  test('leaves lines, tabs and every script alone', () => {
    const text = 'a\tb\nü € 日本 😀 שלום\n';
    expect(toVisible(text)).toBe(text);
    expect(toVisible('a\r\nb')).toBe('a\nb');
  });

  test('gives the same in pieces, wherever they are cut', () => {
    const text = 'a\r\nb 😀 \u001b[0m\r\n\n€';
    for (let at = 0; at <= text.length; at += 1) {
      const toChunk = visibleChunks();
      expect(toChunk(text.slice(0, at)) + toChunk(text.slice(at))).toBe(toVisible(text));
    }
  });
});

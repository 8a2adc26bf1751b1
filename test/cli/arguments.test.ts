import { describe, expect, test } from 'vitest';
import { readTurnPath } from '../../src/cli/arguments.ts';
import { readWords } from '../../src/cli/command-line.ts';
import type { CommandPage } from '../../src/cli/command-page.ts';
import { toJson, visibleChunks } from '../../src/cli/terminal.ts';
import { toVisible } from '../../src/session/text/visible-text.ts';

const toSpec = (names: string, value: string | null = null, excludes: string[] = []) => ({
  names: names.split(','),
  value,
  describe: '',
  completes: [],
  excludes,
});
const branch: CommandPage = {
  path: 'teddy branch',
  group: 'session',
  options: [
    toSpec('--json'),
    toSpec('--color', '[=when]'),
    toSpec('-m,--message', '<text>'),
    toSpec('-s,--session', '<session>'),
    toSpec('-a,--agent', '<name>'),
    toSpec('--model', '<name>'),
    toSpec('--from', '<file>', ['--edit']),
    toSpec('--edit'),
    toSpec('-y,--yes'),
    { ...toSpec('--older', '<time>'), requires: ['--landed'] },
    toSpec('--landed'),
  ],
  parameters: [{ name: 'turn', isOptional: false, isRest: false, completes: [] }],
};
const read = (...words: string[]) => readWords(branch, ['branch', '02', ...words]).slice(2);
const refusal = (...words: string[]) => {
  try {
    return read(...words).join(' ');
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

describe('the words of a command', () => {
  test('a value is bound to its option in every spelling', () => {
    const spellings = [['-m', 'a b'], ['-ma b'], ['-m=a b'], ['--message', 'a b'], ['--message=a b']];
    for (const words of spellings) expect(read(...words)).toEqual(['--message=a b']);
    expect(read('-s', 'x', '-adev', '--model', 'm')).toEqual(['--session=x', '--agent=dev', '--model=m']);
  });

  test('a value may look like an option, be empty, or hold lines', () => {
    expect(read('-m', '-y', '--json')).toEqual(['--message=-y', '--json']);
    expect(read('--model', '--json')).toEqual(['--model=--json']);
    expect(read('-m', '')).toEqual(['--message=']);
    expect(read('-mone\ntwo')).toEqual(['--message=one\ntwo']);
    expect(read('--from', '-')).toEqual(['--from=-']);
  });

  test('switches stand alone, together, or with a value that may be missing', () => {
    expect(read('--edit', '-y', '--color', '--color=never')).toEqual(['--edit', '-y', '--color', '--color=never']);
    expect(read('--no-edit')).toEqual(['--no-edit']);
    expect(refusal('--edit=yes')).toBe('`teddy branch` has no option --edit that takes a value.');
    expect(refusal('--frob')).toBe('`teddy branch` has no option --frob.');
    expect(refusal('-xq')).toBe('`teddy branch` has no option -xq.');
  });

  test('leaves all after -- as it is, and counts it', () => {
    expect(readWords(branch, ['branch', '--', '-02'])).toEqual(['branch', '--', '-02']);
    expect(refusal('--', '-m')).toBe('`teddy branch` does not take "-m".');
    expect(() => readWords(branch, ['branch', '--json'])).toThrow('An argument or option is missing');
    expect(readWords(branch, ['branch', '--help'])).toContain('--help');
  });

  test('says which options exclude each other, as they were given, and which one another needs', () => {
    expect(refusal('--from', 'x', '--edit')).toBe('--from and --edit cannot be combined.');
    expect(refusal('--edit', '--from=x')).toBe('--edit and --from cannot be combined.');
    expect(refusal('--older=1d')).toBe('--older goes with --landed.');
    expect(read('--older=1d', '--landed')).toEqual(['--older=1d', '--landed']);
  });

  test('says what lacks its value, and what is given twice', () => {
    expect(refusal('-m')).toBe('--message needs a value.');
    expect(refusal('--model')).toBe('--model needs a value.');
    expect(refusal('-m', 'a', '--message=b')).toBe('You gave --message twice.');
  });
});

test('a document of --json reads as what it was made of, and moves no cursor', () => {
  const value = { name: 'a\u001b\u009b\u007f\u202E\u{E0041}\u00AD\u2028b', list: ['ü 日本 😀'] };
  const text = toJson(value);
  expect(JSON.parse(text)).toEqual(value);
  expect(text.replaceAll('\n', '')).toMatch(/^[\x20-\x7Eü日本😀]*$/u);
});

describe('toVisible', () => {
  test('shows what could move the cursor, change colours or reorder text', () => {
    expect(toVisible('a\u001b[31mb\u0007\u009bc\u007f')).toBe('a␛[31mb␇<U+009B>c<U+007F>');
    expect(toVisible('\u202Egnp.exe\u2066\u200B\uFEFF')).toBe('<U+202E>gnp.exe<U+2066><U+200B><U+FEFF>');
    expect(toVisible('safe\rEVIL')).toBe('safe␍EVIL');
  });

  test('shows what is there and cannot be seen: tags, soft hyphens, fillers, selectors that select nothing', () => {
    expect(toVisible('rm\u{E0020}\u{E007F}')).toBe('rm<U+E0020><U+E007F>');
    expect(toVisible('co\u00ADop\u034F\u115F\u3164\u180E\u2800')).toBe(
      'co<U+00AD>op<U+034F><U+115F><U+3164><U+180E><U+2800>',
    );
    expect(toVisible('a\uFE0Fb \u{E0100}\uFFF9\u206A')).toBe('a<U+FE0F>b <U+E0100><U+FFF9><U+206A>');
    expect(toVisible('\u26A0\uFE0F\uFE0F')).toBe('\u26A0\uFE0F<U+FE0F>');
  });

  test('leaves lines, tabs and every script alone', () => {
    const text = 'a\tb\nü € 日本 😀 ⚠️ שלום ไทย\n';
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

const directory = '.teddy/sessions/20260124-add-log';

test.each([
  ['02', '02', undefined],
  ['02/', '02', undefined],
  ['./2-branch-01/', '2-branch-01', undefined],
  [`${directory}/02`, '02', directory],
  [`${directory}/02-branch-01/plan.md`, '02-branch-01', directory],
  [`/home/ada/shop/${directory}/02/`, '02', `/home/ada/shop/${directory}`],
  [directory, directory, undefined],
  ['teddy/20260124-add-log/02-branch-01', 'teddy/20260124-add-log/02-branch-01', undefined],
  ['3f2a9c1', '3f2a9c1', undefined],
])('a turn may be given as a shell completes it: %s', (text, turn, session) => {
  expect(readTurnPath(text, undefined)).toEqual({ turn, session });
});

test('a path of a turn goes with the session that -s names, and with no other', () => {
  expect(readTurnPath(`${directory}/02`, 'add-log')).toEqual({ turn: '02', session: 'add-log' });
  const branch = 'teddy/20260124-add-log/02-branch-01';
  expect(readTurnPath(`${directory}/02`, branch)).toEqual({ turn: '02', session: branch });
  expect(() => readTurnPath(`${directory}/02`, 'other')).toThrow(
    expect.objectContaining({ code: 'USAGE', message: expect.stringContaining('is a turn of 20260124-add-log') }),
  );
});

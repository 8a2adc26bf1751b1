import { describe, expect, test } from 'vitest';
import { isAllowed, toAllowable } from '../../src/conversation/allowed-commands.ts';

const wordsOf = (command: string) => toAllowable(command, null)?.words?.text ?? null;

describe('a command', () => {
  test.each([
    ['npm test', 'npm test'],
    ['  npm   test  ', 'npm test'],
    ['npm test -- --watch=false', 'npm test'],
    ['make', 'make'],
    ['\n make\n', 'make'],
    ['ls -l src', 'ls -l'],
    ['grep "a b" src', 'grep'],
    ['./scripts/build.sh all', './scripts/build.sh all'],
    ['git status --short', 'git status'],
    ['node scripts/docs.mjs', 'node scripts/docs.mjs'],
  ])('%j is allowed by its line, or by %j', (command, words) => {
    expect(toAllowable(command, 'app')?.line).toEqual({
      kind: 'line',
      text: command.replace(/^[ \n]+|[ \n]+$/g, ''),
      cwd: 'app',
    });
    expect(wordsOf(command)).toBe(words);
  });

  test.each([
    'sudo rm',
    'env',
    'node -e 1',
    'bash -c ls',
    '/bin/sh -c ls',
    'git -c a.b=c log',
    'xargs rm',
    'time make',
    '. x',
  ])('%j is allowed by its line alone', (command) => {
    expect(toAllowable(command, null)).toMatchObject({ line: { text: command }, words: null });
  });

  const unsafe = [
    'npm test; rm -rf .',
    'npm test && rm x',
    'npm test || rm x',
    'npm test | sh',
    'npm test > out',
    'npm test 2>&1',
    'npm test < in',
    'npm test &',
    'npm test `rm x`',
    'npm test $(rm x)',
    'npm test $X',
    'npm test ${X}',
    'npm test <(rm x)',
    'npm test\nrm x',
    'npm test\rrm x',
    'npm test\tx',
    'npm test {a,b}',
    '(npm test)',
    'CI=1 npm test',
    '"npm" test',
    '~/bin/x',
    '! npm test',
    '*',
    '',
  ];
  test.each(unsafe)('%j is never allowed, whatever was', (command) => {
    expect(toAllowable(command, null)).toBeNull();
    const all = [
      { kind: 'line', text: command.trim(), cwd: null },
      { kind: 'words', text: 'npm test', cwd: null },
      { kind: 'words', text: command.trim().split(' ')[0] ?? '', cwd: null },
    ] as const;
    expect(isAllowed(all, command, null)).toBe(false);
  });

  test('matches whole words, in its directory', () => {
    const allowed = [
      { kind: 'words', text: 'npm test', cwd: null },
      { kind: 'line', text: 'make all', cwd: 'app' },
    ] as const;
    for (const command of ['npm test', 'npm  test -- a', ' npm test "a b"'])
      expect(isAllowed(allowed, command, null)).toBe(true);
    for (const command of ['npm tests', 'npm', 'npm "test"', 'npm test""x', 'npm -s test', 'make all'])
      expect(isAllowed(allowed, command, null)).toBe(false);
    expect(isAllowed(allowed, 'npm test', 'app')).toBe(false);
    expect(isAllowed(allowed, 'make all', 'app')).toBe(true);
    expect(isAllowed(allowed, 'make all -B', 'app')).toBe(false);
  });
});

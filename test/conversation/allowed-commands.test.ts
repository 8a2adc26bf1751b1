import { describe, expect, test } from 'vitest';
import { isAllowed, toAllowable } from '../../src/conversation/prompts/allowed-commands.ts';

const wordsOf = (command: string) => toAllowable(command, null)?.words?.text ?? null;

describe('a command', () => {
  test.each([
    ['npm test', 'npm test'],
    ['  npm   test  ', 'npm test'],
    ['npm test -- --watch=false', 'npm test'],
    ['npm run lint', 'npm run lint'],
    ['yarn run build:docs --watch', 'yarn run build:docs'],
    ['bun run lint', 'bun run lint'],
    ['\n make test\n', 'make test'],
    ['cargo test', 'cargo test'],
    ['go test ./...', 'go test'],
    ['pytest tests -x', 'pytest tests'],
    ['grep a "b c"', 'grep a'],
    ['./scripts/build.sh all', './scripts/build.sh all'],
  ])('is allowed as its line, or by words: %j, %j', (command, words) => {
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
    'make',
    'ls -l src',
    'make -j4 test',
    'grep "a b" src',
    'ls *',
    'rm *.tmp',
    'rm -rf build',
    'rm build',
    'mv a b',
    '/bin/cp a b',
    'npx "eslint"',
    'npx eslint',
    'npm run',
    'npm run "lint"',
    'npm run *',
    'npm run -s lint',
    'npm exec eslint',
    'npm install left-pad',
    'pnpm dlx x',
    'yarn exec x',
    'bun x.ts',
    'bun x y',
    'go run x.go',
    'cargo run',
    'bundle exec rake',
    'make "test"',
    'docker "ps"',
    'docker ps',
    'curl "https://a.b"',
    'curl https://a.b',
    'git grep foo',
    'git log',
    'git status --short',
    'git fetch origin',
    'sed s/a/b/ f',
    'awk x f',
    'find src',
    'tar x',
    'strace -f ls',
    'strace ls',
    'ltrace ls',
    'stdbuf -o0 ls',
    'script x',
    'tee a',
    'tsx -e 1',
    'tsx a.ts',
    'ts-node a.ts',
    'node scripts/docs.mjs',
    'node22 a.js',
    'nodejs a.js',
    '/usr/bin/python3.11 a.py',
    'lua -e x',
    'lua5.4 a',
    'osascript a',
    'pwsh a',
    'psql -c x',
    'psql db',
    'mysql db',
    'sqlite3 db',
    'kubectl get',
    'podman ps',
    'chmod x y',
    'rsync a b',
    'rg a',
    'npm tests',
    'ln a b',
    'dd a',
    'RM build',
  ])('is allowed only as its line: %j', (command) => {
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
  test.each(unsafe)('is never allowed, whatever was: %j', (command) => {
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

  test.each([
    ['rm', 'rm *.tmp'],
    ['rm -rf', 'rm -rf build'],
    ['npx', 'npx "eslint"'],
    ['npm run', 'npm run lint'],
    ['git grep', 'git grep -O"touch x" foo'],
    ['make', 'make "test"'],
    ['make', 'make'],
    ['ls -l', 'ls -l src'],
  ])('is not allowed by the words %j, which an older version remembered', (text, command) => {
    expect(isAllowed([{ kind: 'words', text, cwd: null }], command, null)).toBe(false);
    expect(isAllowed([{ kind: 'line', text: command, cwd: null }], command, null)).toBe(true);
  });
});

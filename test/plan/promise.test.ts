import { describe, expect, test } from 'vitest';
import { checkProse, checkReport, describePromise, type KeptPromise } from '../../src/plan/report/promise.ts';
import type { RepoPath } from '../../src/names.ts';
import type { ActionLog, Report } from '../../src/plan/report/report.ts';

type Status = ActionLog['status'];

const writes = (
  index: number,
  action_type: 'CREATE' | 'EDIT',
  path: string,
  status: Status = 'SUCCESS',
): ActionLog => ({
  index,
  action_type,
  status,
  params: { file_path: path },
});
const runs = (index: number, command: string, status: Status = 'SUCCESS'): ActionLog => ({
  index,
  action_type: 'EXECUTE',
  status,
  params: { command },
});
const changes = (paths: Record<string, number>): Report['changes'] =>
  Object.entries(paths).map(([path, action]) => ({
    path: path as RepoPath,
    change: 'modified',
    before: null,
    after: null,
    action,
  }));
const report = (status: Report['run_summary']['status'], action_logs: ActionLog[], changed = {}) => ({
  run_summary: { status },
  action_logs,
  changes: changes(changed),
});
const check = (action_logs: ActionLog[], changed: Record<string, number>, ...allowed: string[]) =>
  checkReport(report('SUCCESS', action_logs, changed), (path) => allowed.includes(path)) as KeptPromise;

describe('a run', () => {
  test.each(['SKIPPED', 'ABORTED', 'VALIDATION_FAILED'] as const)(
    'of nothing, which is %s, keeps or breaks none',
    (status) => {
      expect(checkReport(report(status, [writes(1, 'CREATE', 'a.txt', 'SKIPPED')]))).toBeNull();
    },
  );

  test('keeps its promise if it changed what the actions name, and its commands succeeded', () => {
    const promise = check([writes(1, 'CREATE', 'a.txt'), runs(2, 'npm test')], { 'a.txt': 1 });
    expect(promise).toEqual({
      verdict: 'kept',
      isProse: false,
      paths: [{ path: 'a.txt', state: 'kept', action: 1 }],
      commands: [{ action: 2, command: 'npm test', state: 'ran' }],
    });
    expect(describePromise(promise)).toBe('kept');
  });

  test('goes beyond it if a command changed a file that no action names', () => {
    const promise = check([writes(1, 'EDIT', 'a.txt'), runs(2, 'npm install x\nls')], { 'a.txt': 1, 'lock.json': 2 });
    expect(promise.verdict).toBe('beyond');
    expect(promise.paths[0]).toEqual({ path: 'lock.json', state: 'beyond', action: 2 });
    expect(describePromise(promise)).toBe('changed beyond the plan: lock.json (by action 2)');
  });

  test('may change a file that the project expects to change', () => {
    const promise = check([runs(1, 'npm install x')], { 'lock.json': 1 }, 'lock.json');
    expect([promise.verdict, promise.paths[0]?.state]).toEqual(['kept', 'allowed']);
    expect(describePromise(promise)).toBe('kept; expected beside the plan: lock.json (by action 1)');
  });

  test('may change a named file with a command', () => {
    expect(check([writes(1, 'EDIT', 'a.txt', 'SKIPPED'), runs(2, 'sed -i s/a/b/ a.txt')], { 'a.txt': 2 }).verdict).toBe(
      'kept',
    );
  });

  test.each([
    ['SUCCESS', 'missed', 'named but not changed: a.txt'],
    ['SKIPPED', 'skipped', 'named but not changed: a.txt (skipped)'],
    ['FAILURE', 'failed', 'named but not changed: a.txt (failed)'],
    ['ABORTED', 'aborted', 'named but not changed: a.txt (aborted)'],
  ] as const)('falls short of it if a named file is unchanged after %s', (status, state, told) => {
    const promise = check([writes(1, 'EDIT', 'a.txt', status), runs(2, 'ls')], {});
    expect([promise.verdict, promise.paths]).toEqual(['short', [{ path: 'a.txt', state, action: 1 }]]);
    expect(describePromise(promise)).toBe(told);
  });

  test('falls short of it if a test did not pass, or another command did not run', () => {
    const promise = check([runs(1, 'npm run lint', 'FAILURE'), runs(2, 'node migrate.js', 'SKIPPED')], {});
    expect(promise.commands.map(({ state }) => state)).toEqual(['unchecked', 'skipped']);
    expect(describePromise(promise)).toBe(
      'tests that did not pass: npm run lint; commands that did not succeed: node migrate.js',
    );
    expect(promise.verdict).toBe('short');
  });

  test('is described with five names at most', () => {
    const named = Array.from({ length: 7 }, (_, at) => [`f${at}`, 1]);
    expect(describePromise(check([runs(1, 'make')], Object.fromEntries(named)))).toMatch(
      /f4 \(by action 1\), and 2 more$/,
    );
  });
});

describe('a plan in prose', () => {
  const plan = [
    'I change `src/a.ts:12-40`, [the docs](./docs/b.md#L3) and these:',
    '',
    '- src/c.ts: the parser',
    '2. **src/d.ts** stays small',
    '* `/home/ada/shop/src/e.ts`',
    '',
    'src/f.ts is only talked about.',
  ].join('\n');
  const changed = (...paths: string[]) => checkProse(plan, paths as RepoPath[]);

  test('names files in back-ticks, links and lists, also with a line number or an absolute path', () => {
    const promise = changed('src/a.ts', 'docs/b.md', 'src/c.ts', 'src/d.ts', 'src/e.ts');
    expect([promise.verdict, promise.paths.filter(({ state }) => state !== 'kept')]).toEqual(['kept', []]);
    expect(describePromise(promise)).toBe('kept (read from prose)');
  });

  test('names the longest path that fits an absolute one', () => {
    const promise = changed('e.ts', 'src/e.ts');
    expect(promise.paths.map(({ path, state }) => [path, state])).toEqual([
      ['e.ts', 'beyond'],
      ['src/e.ts', 'kept'],
    ]);
  });

  test('names no other file', () => {
    const promise = changed('src/f.ts', 'a.ts');
    expect(promise.paths.map(({ path, state }) => [path, state])).toEqual([
      ['src/f.ts', 'beyond'],
      ['a.ts', 'beyond'],
    ]);
  });
});

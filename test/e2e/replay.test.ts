import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createAction,
  editAction,
  executeAction,
  openTeddyProject,
  planOf,
  type TeddyProject,
} from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;

beforeAll(async () => {
  project = await openTeddyProject();
  session = await project.begin('replay-me');
  await project.plan(planOf(createAction('a.txt', 'A\n'), executeAction('echo hi > b.txt')));
  await project.ok('session', 'execute', '-y');
});

afterAll(() => project.close());

test('a session is replayed from its branch, its bundle and its commit, and its commands when that is asked for', async () => {
  const shown = await project.ok('session', 'replay');
  expect(shown).toContain('01    SUCCESS            not compared        1 same, 1 not run\n');
  const why = 'turn 01, b.txt: action 2, a command, changed it';
  expect(shown).toContain(`Not proven:\n  ${why}\n`);
  expect(shown).toContain(`proof: nothing differs; 1 path proven, 1 not proven (${why})\n`);
  expect((await project.run(['session', 'replay', '--strict'])).exitCode).toBe(1);
  await project.ok('session', 'replay', '--strict', '--run-commands');
  const bundle = join(project.repo.root, '.git', 'line.bundle');
  const branch = `teddy/${session}--02-branch-01`;
  await project.repo.git('branch', branch);
  await project.repo.git('bundle', 'create', '-q', bundle, `teddy/${session}`, branch, 'main');
  await project.repo.git('branch', '-qD', branch);
  const line = { session, turns: [{ turn: '01', outcome: 'not_compared', proven: 1, unproven: [{ path: 'b.txt' }] }] };
  const proven = { session, turns: [{ turn: '01', outcome: 'same', proven: 2, unproven: [] }] };
  for (const [args, told] of [
    [[bundle], { lines: [line, { ...line, line: branch }] }],
    [['HEAD', '--run-commands'], proven],
  ] as const) {
    const json = JSON.parse(await project.ok('session', 'replay', ...args, '--json')) as object;
    expect(json).toMatchObject({ schema: 'teddy.session-replay/1', same: true, ...told });
  }
  const tail = join(project.repo.root, '.git', 'tail.bundle');
  await project.repo.git('bundle', 'create', '-q', tail, `teddy/${session}~1..teddy/${session}`);
  expect(await project.refuses('BAD_RECORDING', 2, ['session', 'replay', tail])).toContain('it builds on commits');
  await project.refuses('UNKNOWN_SESSION', 2, ['session', 'replay', 'no-such-session']);
});

test('a difference is exit 1, on Actions an annotation and a summary, and a test case that fails', async () => {
  await project.plan(planOf(editAction('a.txt', 'A', '::error::B')));
  await project.ok('session', 'execute', '-y');
  const { repo } = project;
  await repo.write('a.txt', 'evil\n');
  await repo.git('commit', '-q', '--amend', '--no-edit', 'a.txt');
  const [junit, summary] = ['replay.xml', 'summary.md'].map((name) => join(repo.root, '.git', name));
  const env = { GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary ?? '' };
  // An honest bundle under the name of the branch does not stand in for it.
  const line = `teddy/${session}`;
  await repo.write(line, await readFile(join(repo.root, '.git', 'line.bundle')));
  const { exitCode, stdout, stderr } = await project.run(['session', 'replay', line, `--junit=${junit}`], { env });
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining(session)]);
  const [, token] = /^::stop-commands::(\S+)\n/.exec(stdout) ?? [];
  const [table, annotations] = stdout.split(`::${token}::\n`);
  expect(table).toContain('differs: turn 02, action 1, a.txt\n');
  expect(annotations).toMatch(/^::error file=a\.txt,title=replay%3A turn 02%2C action 1::/);
  expect(await readFile(junit ?? '', 'utf8')).toContain(
    '<failure type="different" message="turn 02, action 1, a.txt: ',
  );
  expect(await readFile(summary ?? '', 'utf8')).toContain('| 02 | SUCCESS | different | 1 different |');
});

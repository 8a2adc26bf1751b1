import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;

beforeAll(async () => {
  project = await openTeddyProject();
  session = await project.begin('check-me');
  await project.plan(planOf(createAction('a.txt', 'A\n')));
  await project.ok('session', 'execute', '-y');
});

afterAll(() => project.close());

async function verify(...args: string[]): Promise<{ exitCode: number; json: Record<string, unknown> }> {
  const { exitCode, stdout } = await project.run(['session', 'verify', ...args, '--json']);
  return { exitCode: exitCode ?? -1, json: JSON.parse(stdout) as Record<string, unknown> };
}

test('a session is verified by its id, and by its bundle; what there is not is exit 2', async () => {
  const said = await project.ok('session', 'verify', '--fsck');
  expect(said).toBe(
    `teddy/${session}: 4 entries in 1 turn: no fault (4 log sections checked against the commits)\ngit fsck: no fault\n`,
  );
  const bundle = join(project.repo.root, '.git', 'line.bundle');
  await project.repo.git('bundle', 'create', '-q', bundle, `teddy/${session}`, 'main');
  expect(await verify(bundle)).toEqual({
    exitCode: 0,
    json: {
      schema: 'teddy.session-verify/1',
      ok: true,
      lines: [expect.objectContaining({ session, entries: 4, turns: 1, violations: [], notes: [] })],
      fsck: null,
    },
  });
  await project.refuses('UNKNOWN_SESSION', 2, ['session', 'verify', 'no-such-session']);
  await project.repo.git('bundle', 'create', '-q', bundle, 'main');
  await project.refuses('UNKNOWN_SESSION', 2, ['session', 'verify', bundle]);
  await project.refuses('USAGE', 2, ['session', 'verify', session, '--all']);
});

test('a plan that was rewritten is exit 1, with commit, turn and file, on one line of `--all`', async () => {
  const { repo } = project;
  const path = `.teddy/sessions/${session}/01/plan.md`;
  await repo.git('switch', '-qc', `teddy/${session}--02-branch-01`);
  await repo.write(path, 'Another plan.\n\u001b[31m');
  await repo.git('commit', '-qm', 'Rewritten', path);
  const commit = await repo.git('rev-parse', 'HEAD');
  const env = { GITHUB_ACTIONS: 'true' };
  const { exitCode, stdout } = await project.run(['session', 'verify', '--all'], { env });
  expect(exitCode).toBe(1);
  const [, token] = /^::stop-commands::(\S+)\n/.exec(stdout) ?? [];
  expect(stdout.split('\n')).toEqual([
    `::stop-commands::${token}`,
    `teddy/${session}: 4 entries in 1 turn: no fault (4 log sections checked against the commits)`,
    `teddy/${session}--02-branch-01: 0 entries in 1 turn: 1 fault`,
    `  ${commit.slice(0, 10)} published ${path}: A commit that is not an entry changes a session file.`,
    `::${token}::`,
    '',
  ]);
  const { json } = await verify();
  expect(json).toMatchObject({ ok: false, lines: [{ violations: [{ rule: 'published', commit, path, turn: null }] }] });
});

/** Archives by month, a remote for sessions, and what puts many away, as a person sees them. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { archiveRef, type RefName } from '../../src/names.ts';
import { runTeddy } from '../support/run-teddy.ts';
import { openScratchRepository } from '../support/scratch-repository.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
/** One has landed, and so has the one that HEAD is on; `open` has not. */
let [landed, here, open] = ['', '', ''];

beforeAll(async () => {
  project = await openTeddyProject();
  const begin = async (name: string) => {
    await project.repo.git('switch', '--quiet', 'main');
    const session = await project.begin(name);
    await project.plan(createPlan(`${name}.txt`, 'A\n'));
    await project.ok('session', 'execute', '-y');
    return session;
  };
  landed = await begin('one');
  open = await begin('two');
  here = await begin('three');
  for (const session of [landed, here]) await project.ok('session', 'land', session);
});
afterAll(() => project.close());

const lineOf = (session: string) => `refs/heads/teddy/${session}` as RefName;

test('sessions go to a remote of their own, and an archive comes from there with its month', async () => {
  const { repo } = project;
  const [code, sessions, root] = ['code.git', 'sessions.git', 'bea'].map((name) => join(repo.root, '.git', name)) as [
    string,
    string,
    string,
  ];
  for (const path of [code, sessions])
    await repo.git('clone', '--quiet', '--bare', '--single-branch', '-b', 'main', repo.root, path);
  await repo.git('remote', 'add', 'origin', code);
  await repo.git('config', 'teddy.sessionsRemote', 'sessions');
  await project.ok('session', 'archive', landed);
  expect(await project.refuses('UNKNOWN_REMOTE', 2, ['session', 'sync', '--all'])).toContain(
    'hint:  Add it: `git remote add sessions <url>`; or name another one: `teddy config set sessionsRemote origin`.',
  );
  await repo.git('remote', 'add', 'sessions', sessions);
  await repo.git('switch', '--quiet', 'main');
  await repo.commit({ 'ahead.txt': 'ahead\n' }, 'Not pushed');
  await project.ok('session', 'sync', '--all');
  const there = (path: string) => openScratchRepository(path).git('for-each-ref', '--format=%(refname)');
  // A landing has put the other one there as well, and its branch stayed.
  const [archive, other] = [archiveRef(lineOf(landed)), archiveRef(lineOf(here))];
  const lines = [lineOf(here), lineOf(open), 'refs/heads/teddy/global'];
  expect((await there(sessions)).split('\n').toSorted()).toEqual(
    ['refs/heads/main', ...lines, archive, other].toSorted(),
  );
  expect(await there(code)).toBe('refs/heads/main');
  const main = await repo.git('rev-parse', 'main~1');
  for (const path of [code, sessions]) expect(await openScratchRepository(path).git('rev-parse', 'main')).toBe(main);

  await repo.git('clone', '--quiet', code, root);
  const bea = openScratchRepository(root);
  const teddy = (...args: string[]) => runTeddy(args, { cwd: root });
  for (const [key, value] of [
    ['user.name', 'Ada Example'],
    ['user.email', 'ada@example.org'],
    ['teddy.sessionsRemote', 'sessions'],
    ['remote.sessions.url', sessions],
  ] as const)
    await bea.git('config', key, value);
  const month = archive.split('/')[3] ?? '';
  const pulled = await teddy('session', 'pull', '--all');
  expect(pulled.exitCode).toBe(0);
  const [, hint = ''] = /To fetch those from one month: teddy (.*)\n/.exec(pulled.stderr) ?? [];
  expect(hint).toBe(`pull sessions --all --archive ${month}`);
  const archives = () => bea.git('for-each-ref', '--format=%(refname)', 'refs/teddy/archive');
  expect(await archives()).toBe('');
  expect(await teddy('session', 'sync', '--all', '--archive', '2026-13')).toMatchObject({
    exitCode: 2,
    stderr:
      'error: --archive cannot be "2026-13". [USAGE]\nhint:  Use the year and month of the sessions: --archive 2026-01.\n',
  });
  expect(await teddy(...hint.split(' '))).toMatchObject({ exitCode: 0 });
  expect(await archives()).toBe([archive, other].toSorted().join('\n'));
});

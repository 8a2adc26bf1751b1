import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startGitServer, type GitServer } from '../support/git-server.ts';
import { runTeddy, type RunResult } from '../support/run-teddy.ts';
import { openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let server: GitServer;
let ada: TeddyProject;
let bea: ScratchRepository;
let url: string;
let session: string;

beforeAll(async () => {
  [server, ada] = await Promise.all([startGitServer(), openTeddyProject()]);
  url = await server.create('shared');
  await ada.repo.git('remote', 'add', 'origin', url);
  session = await ada.begin('add-login');
  await ada.plan(createPlan('a.txt', 'A\n'));
  await ada.ok('session', 'execute', '-y');
});

afterAll(async () => {
  await ada.close();
  await bea.close();
  await server.close();
});

const teddy = (repo: ScratchRepository, ...args: string[]): Promise<RunResult> => runTeddy(args, { cwd: repo.root });

const refsOf = (repo: ScratchRepository) =>
  repo.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads/teddy/', 'refs/teddy/archive/');

test('a session goes over http to a second clone, both add to it at once, and both end with the same branches', async () => {
  const refusal = await ada.refuses('REMOTE_EMPTY', 3, ['session', 'push']);
  expect(refusal).toContain('git push origin main');
  await ada.repo.git('push', '--quiet', 'origin', 'main');
  const pushed = await ada.run(['session', 'push']);
  expect(pushed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining(`teddy/${session}  pushed`) as string });
  // Nobody watches, so there is no progress: git does the same.
  expect(pushed.stderr).toBe(`origin: session ${session} and teddy/global.\n`);
  expect(await ada.repo.git('rev-parse', `origin/teddy/${session}`)).toBe(await ada.repo.git('rev-parse', 'HEAD'));

  // The second clone goes over files.
  const shared = openScratchRepository(join(server.root, 'shared.git'));
  const root = join(server.root, 'clone');
  await ada.repo.git('clone', '--quiet', shared.root, root);
  bea = openScratchRepository(root);
  await bea.git('config', 'user.name', 'Ada Example');
  await bea.git('config', 'user.email', 'ada@example.org');
  expect(await teddy(bea, 'session', 'pull')).toMatchObject({ exitCode: 0 });
  expect(await refsOf(bea)).toBe(await refsOf(ada.repo));

  await ada.plan(createPlan('b.txt', 'B\n'));
  await ada.ok('session', 'sync');
  await bea.git('switch', '--quiet', `teddy/${session}`);
  const plan = createPlan('c.txt', 'C\n');
  await runTeddy(['session', 'plan', '-m', 'Go on', '--from', '-'], { cwd: bea.root, stdin: plan });
  const own = await bea.git('rev-parse', 'HEAD');
  expect(await teddy(bea, 'session', 'push')).toMatchObject({ exitCode: 3 });
  const synced = await teddy(bea, 'session', 'sync', '--json');
  expect(synced).toMatchObject({ exitCode: 0 });
  const { schema, lines } = JSON.parse(synced.stdout) as { schema: string; lines: { ref: string; did: string[] }[] };
  const tail = `refs/heads/teddy/${session}--02-branch-01`;
  expect(schema).toBe('teddy.session-sync/1');
  expect(lines.find(({ ref }) => ref === tail)?.did).toEqual(['made', 'pushed']);
  expect(await bea.git('symbolic-ref', 'HEAD')).toBe(tail);
  expect(await bea.git('rev-parse', 'HEAD')).toBe(own);
  expect(await bea.git('status', '--porcelain')).toBe('');

  await ada.ok('session', 'sync');
  expect(await refsOf(ada.repo)).toBe(await refsOf(shared));
  expect(await refsOf(bea)).toBe(await refsOf(shared));
  expect(await ada.repo.git('for-each-ref', 'refs/teddy/quarantine/')).toBe('');
  await shared.fsck();
});

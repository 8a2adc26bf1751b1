/** Checks that sessions outlive what forges and other people's git commands do to them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createPlan, openTeddyProject } from '../support/teddy-project.ts';

test('sessions outlive pruning, mirrors and clones without files, and come back by name', async () => {
  const project = await openTeddyProject();
  const { repo } = project;
  const place = await mkdtemp(join(tmpdir(), 'teddy-forge-'));
  const forge = join(place, 'forge.git');
  await repo.git('init', '--quiet', '--bare', '-b', 'main', forge);
  await repo.git('--git-dir', forge, 'config', 'uploadpack.allowFilter', 'true');
  await repo.git('remote', 'add', 'origin', forge);
  await repo.git('push', '--quiet', 'origin', 'main');
  await repo.git('clone', '--quiet', forge, join(place, 'bea'));
  const session = await project.begin('merged');
  await project.plan(createPlan('a.txt', 'a\n'));
  await project.ok('execute', '-y');
  await project.ok('land');
  await repo.git('push', '--quiet', 'origin', 'main');
  await project.ok('push');
  const whole = async (cwd: string) => {
    expect(await project.run(['verify', '--all', '--fsck'], { cwd })).toMatchObject({ exitCode: 0 });
    const { sessions } = JSON.parse((await project.run(['list', '--json'], { cwd })).stdout) as { sessions: object[] };
    expect(sessions).toMatchObject([{ session }]);
  };
  await repo.git('clone', '--quiet', '--mirror', forge, join(place, 'mirror.git'));
  await whole(join(place, 'mirror.git'));
  await repo.git('clone', '--quiet', '--filter=blob:none', `file://${forge}`, join(place, 'partial'));
  const { exitCode, stdout } = await project.run(['show', '01', '-s', session], { cwd: join(place, 'partial') });
  expect([exitCode, stdout]).toEqual([0, expect.stringContaining('a.txt')]);
  // The forge deletes the head branch of a merged pull request; a colleague then mirrors a clone without sessions.
  await repo.git('--git-dir', forge, 'branch', '--quiet', '-D', `teddy/${session}`);
  await repo.git('-C', join(place, 'bea'), 'push', '--quiet', '--mirror', 'origin');
  expect(await repo.git('--git-dir', forge, 'for-each-ref', 'refs/heads/teddy', 'refs/teddy')).toBe('');
  await repo.git('fetch', '--quiet', '--prune', '--all');
  await repo.git('remote', 'prune', 'origin');
  await repo.git('gc', '--quiet', '--prune=now');
  await whole(repo.root);
  await project.ok('push', '-s', session);
  expect(await repo.git('--git-dir', forge, 'rev-parse', `teddy/${session}`)).toBe(
    await repo.git('rev-parse', `teddy/${session}`),
  );
  // Without branch and archive, the turns are only kept until git's next cleanup, unless the doctor keeps them.
  await repo.git('switch', '--quiet', 'main');
  await project.ok('archive', session);
  const archive = (await repo.git('for-each-ref', '--format=%(refname)', 'refs/teddy/archive')).trim();
  await repo.git('update-ref', '-d', archive);
  await repo.git('branch', '--quiet', '-r', '-D', `origin/teddy/${session}`);
  expect((await project.run(['doctor', '--fix'])).stdout).toContain(`They are kept under ${archive}.`);
  await repo.git('gc', '--quiet', '--prune=now');
  await project.ok('show', '01', '-s', session);
  await rm(place, { recursive: true });
  await project.close();
});

/** git through simple-git: the same environment and settings as all other calls, and no false success. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { answerOf, openPorcelain } from '../../src/git/run/porcelain.ts';
import { toChildEnvironment } from '../../src/git/run/run.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let repo: ScratchRepository;
beforeEach(async () => void (repo = await makeScratchRepository({ 'a.txt': 'a\n' })));
afterEach(() => repo.close());

/** A git that runs this shell script. */
async function withGit(script: string) {
  const dir = join(repo.root, '.git', 'bin');
  await mkdir(dir);
  await writeFile(join(dir, 'git'), `#!/bin/sh\n${script}\n`);
  await chmod(join(dir, 'git'), 0o755);
  return openPorcelain(repo.root, { ...toChildEnvironment(process.env), PATH: `${dir}:${process.env['PATH']}` });
}

test('a user may have settings that simple-git considers unsafe', async () => {
  await repo.git('remote', 'add', 'origin', '../other.git');
  const env = toChildEnvironment({
    ...process.env,
    GIT_SSH_COMMAND: 'ssh -o BatchMode=yes',
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'core.sshCommand',
    GIT_CONFIG_VALUE_0: 'ssh',
    EDITOR: 'vi',
    PAGER: 'less',
    SSH_ASKPASS: '/bin/false',
  });
  const git = await openPorcelain(repo.root, env);
  expect(await answerOf('remote', () => git.getRemotes())).toEqual([{ name: 'origin' }]);
  expect(await answerOf('config', () => git.raw('config', '--get', 'core.sshCommand'))).toBe('ssh\n');
});

test.each([
  'url.https://x/.insteadOf',
  'credential.helper',
  'core.gitProxy',
  'alias.x',
  'protocol.file.allow',
  'filter.x.clean',
])('the environment may contain %s', async (key) => {
  const env = { ...process.env, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: key, GIT_CONFIG_VALUE_0: 'always' };
  const git = await openPorcelain(repo.root, toChildEnvironment(env));
  expect(await answerOf('remote', () => git.getRemotes())).toEqual([]);
});

test('a git that a signal ends has failed, whatever it has printed', async () => {
  const git = await withGit('echo origin; kill -9 $$');
  await expect(answerOf('remote', () => git.getRemotes())).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: 'git remote was killed.',
  });
});

test('a git that a signal ends once is run again', async () => {
  const git = await withGit('if mkdir .git/asked 2>/dev/null; then kill -2 $$; fi; echo origin');
  expect(await answerOf('remote', () => git.getRemotes())).toEqual([{ name: 'origin' }]);
});

test('a git failure is reported with git’s own message', async () => {
  const git = await withGit('echo "fatal: it is Monday" >&2; exit 3');
  await expect(answerOf('remote', () => git.getRemotes())).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: 'git remote failed: fatal: it is Monday',
  });
});

test('a missing git is named', async () => {
  const git = await openPorcelain(repo.root, { PATH: '/nowhere' });
  await expect(answerOf('remote', () => git.getRemotes())).rejects.toMatchObject({ code: 'GIT_MISSING' });
});

/** The place where hooks are installed, and the fate of existing ones, with real git that runs them. */
import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, readFile, readlink, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { TeddyError } from '../../src/errors.ts';
import { openRepository } from '../../src/git/repository.ts';
import { type HookSource, hookNames } from '../../src/ports/git.ts';
import { sha256 } from '../../src/system/ids.ts';
import { installHooks, uninstallHooks } from '../../src/workflow/hooks/install.ts';
import { listHooks, type HookedProject } from '../../src/workflow/hooks/list.ts';
import { makeScratchRepository, openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let repo: ScratchRepository;
let remote: string;
/** A program whose name needs quoting in a shell; it records its arguments. */
let main: string;
let source: HookSource;

beforeAll(async () => {
  repo = await makeScratchRepository({ 'a.txt': 'a\n' });
  remote = `${repo.root} rëmote.git`;
  await repo.git('init', '--quiet', '--bare', remote);
  const odd = join(repo.root, '.git', `it's "a" $(false) ü`);
  await mkdir(odd);
  main = join(odd, 'main.cjs');
  const notes = JSON.stringify(join(repo.root, '.git', 'notes'));
  await writeFile(
    main,
    `const fs = require('fs');
fs.appendFileSync(${notes}, JSON.stringify([...process.argv.slice(2), fs.readFileSync(0, 'utf8')]) + '\\n');
if (fs.existsSync(${notes} + '.fails')) process.exit(1);\n`,
  );
  const scripts = new URL('../../hooks/', import.meta.url);
  source = {
    program: { node: process.execPath, main },
    isOnPath: async () => false,
    readScript: (name) => readFile(fileURLToPath(new URL(name, scripts)), 'utf8'),
  };
});
afterAll(async () => {
  await rm(remote, { recursive: true, force: true });
  await repo.close();
});
beforeEach(async () => {
  for (const path of ['hooks', 'notes', 'notes.fails'])
    await rm(join(repo.root, '.git', path), { recursive: true, force: true });
});

async function use<Value>(
  work: (project: HookedProject) => Promise<Value>,
  cwd = repo.root,
  env: Record<string, string> = {},
): Promise<Value> {
  const repository = await openRepository({ cwd, env: { ...process.env, ...env } });
  try {
    return await work({ repository, hash: sha256 });
  } finally {
    await repository.close();
  }
}
const install = (shared = false) => use((project) => installHooks(project, source, { shared }));
const uninstall = () => use((project) => uninstallHooks(project, source, { shared: false }));
const states = async () => (await use((project) => listHooks(project, source))).hooks.map(({ state }) => state);
const hook = (name: string) => join(repo.root, '.git/hooks', name);
const notes = async () =>
  (await readFile(join(repo.root, '.git/notes'), 'utf8').catch(() => ''))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as string[]);
const allOf = (state: string) => hookNames.map(() => state);

async function put(name: string, content: string | Uint8Array, mode: number): Promise<void> {
  await mkdir(join(repo.root, '.git/hooks'), { recursive: true });
  await writeFile(hook(name), content);
  await chmod(hook(name), mode);
}

test('an existing hook runs first, with the same arguments and input, and is restored byte for byte', async () => {
  const log = join(repo.root, '.git/seen');
  const script = Buffer.concat([
    Buffer.from(`#!/bin/bash\n{ printf '%s|' "$@"; cat; } > '${log}'\n[ ! -e '${log}.fails' ] || exit 7\n# `),
    Buffer.from([0xff, 0xfe, 0x0d]),
  ]);
  await put('pre-push', script, 0o744);
  expect((await install()).hooks.every(({ changed }) => changed)).toBe(true);
  expect(await states()).toEqual(allOf('installed'));
  const installed = await readFile(hook('pre-push'), 'utf8');
  expect((await install()).hooks.some(({ changed }) => changed)).toBe(false);
  expect(await readFile(hook('pre-push'), 'utf8')).toBe(installed);

  await repo.git('update-ref', 'refs/heads/teddy/20260124-x', 'HEAD');
  const oid = await repo.git('rev-parse', 'HEAD');
  const zero = '0'.repeat(40);
  const told = `refs/heads/teddy/20260124-x ${oid} refs/heads/teddy/20260124-x ${zero}\n`;
  await repo.git('push', '--quiet', remote, 'teddy/20260124-x');
  expect(await readFile(log, 'utf8')).toBe(`${remote}|${remote}|${told}`);
  expect(await notes()).toEqual([['hook', 'pre-push', '--', remote, remote, told]]);

  await writeFile(`${log}.fails`, '');
  await expect(repo.git('push', '--quiet', remote, 'HEAD:teddy/20260124-y')).rejects.toThrow();
  expect(await notes()).toHaveLength(1);
  await rm(`${log}.fails`);
  await writeFile(join(repo.root, '.git/notes.fails'), '');
  await expect(repo.git('push', '--quiet', remote, 'HEAD:refs/heads/teddy/20260124-y')).rejects.toThrow();
  // A branch outside every session is ignored.
  await repo.git('push', '--quiet', remote, 'HEAD:main');
  expect(await notes()).toHaveLength(2);

  expect((await uninstall()).hooks.map(({ restored }) => restored)).toEqual([false, false, false, true, false]);
  expect(await readFile(hook('pre-push'))).toEqual(script);
  expect((await stat(hook('pre-push'))).mode & 0o777).toBe(0o744);
  expect(await repo.list('.git/hooks')).toEqual(['pre-push']);
});

test('a hook that refuses a commit or fails a checkout still does, and a failing teddy affects neither', async () => {
  await install();
  await writeFile(join(repo.root, '.git/notes.fails'), '');
  await repo.git('switch', '--quiet', '-c', 'teddy/20260124-z');
  await repo.commit({ 'z.txt': 'z\n' }, 'Z');
  expect((await notes()).map(([, name]) => name)).toEqual(['post-checkout', 'prepare-commit-msg']);
  // Neither a commit off a line nor checking out a file starts anything.
  await repo.git('checkout', '--quiet', '--', 'z.txt');
  await repo.git('switch', '--quiet', 'main');
  await repo.commit({ 'b.txt': 'b\n' }, 'B');
  expect(await notes()).toHaveLength(2);
  await rm(hook('commit-msg'));
  await uninstall();
  await put('commit-msg', '#!/bin/sh\nexit 1\n', 0o755);
  await put('post-checkout', '#!/bin/sh\nexit 3\n', 0o755);
  await install();
  await expect(repo.commit({ 'c.txt': 'c\n' }, 'C')).rejects.toThrow();
  await expect(repo.git('switch', '--quiet', 'teddy/20260124-z')).rejects.toThrow();
  await repo.git('-c', 'core.hooksPath=/dev/null', 'reset', '--quiet', '--hard');
  await repo.git('-c', 'core.hooksPath=/dev/null', 'switch', '--quiet', 'main');
});

test('if teddy cannot be found, its hooks do nothing', async () => {
  const program = { node: process.execPath, main: join(repo.root, 'no such file') };
  await use((project) => installHooks(project, { ...source, program }, { shared: false }));
  await repo.git('push', '--quiet', remote, 'HEAD:refs/heads/teddy/20260124-w');
  await repo.git('switch', '--quiet', '-c', 'teddy/20260124-w');
  await repo.commit({ 'w.txt': 'w\n' }, 'W');
  expect(await repo.git('log', '-1', '--format=%B')).toBe('W\n');
  await repo.git('switch', '--quiet', 'main');
  // Another installation of teddy replaces it.
  expect(await states()).toEqual(allOf('installed'));
  expect((await install()).hooks.every(({ changed }) => changed)).toBe(true);
  expect((await use((project) => listHooks(project, source))).hooks[0]?.program).toBe(main);
});

test('a hook that is a link stays one; one that is not a script, or has replaced ours, blocks the installation', async () => {
  await writeFile(join(repo.root, '.git/script'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  await mkdir(join(repo.root, '.git/hooks'));
  await symlink('../script', hook('post-checkout'));
  await install();
  expect(await readlink(hook('post-checkout.before-teddy'))).toBe('../script');
  // Another tool overwrites our hook.
  await rm(hook('post-checkout'));
  await put('post-checkout', '#!/bin/sh\n# another tool\n', 0o755);
  expect(await states()).toEqual(['installed', 'installed', 'installed', 'installed', 'foreign']);
  await expect(install()).rejects.toMatchObject({ code: 'HOOK_IN_THE_WAY' });
  await uninstall();
  expect(await readFile(hook('post-checkout'), 'utf8')).toContain('another tool');
  expect(await repo.list('.git/hooks')).toEqual(['post-checkout', 'post-checkout.before-teddy']);
  await rm(hook('post-checkout'));
  // Our hook is gone, so the one that it had set aside is restored.
  await uninstall();
  expect((await lstat(hook('post-checkout'))).isSymbolicLink()).toBe(true);
  await rm(join(repo.root, '.git/script'));
  await expect(install()).rejects.toMatchObject({ code: 'HOOK_IN_THE_WAY' });
  expect(await repo.list('.git/hooks')).toEqual(['post-checkout']);
});

test('an installation that was killed halfway is finished; a hook that lost its execute bit is repaired', async () => {
  await put('pre-push', '#!/bin/sh\n# mine\n', 0o755);
  await use(({ repository: { hooks } }) => hooks.keep(hook('pre-push'), hook('pre-push.before-teddy')));
  await install();
  await chmod(hook('commit-msg'), 0o644);
  expect(await states()).toEqual(['installed', 'outdated', 'installed', 'installed', 'installed']);
  await install();
  expect(await states()).toEqual(allOf('installed'));
  await uninstall();
  expect(await readFile(hook('pre-push'), 'utf8')).toBe('#!/bin/sh\n# mine\n');
  expect(await repo.list('.git/hooks')).toEqual(['pre-push']);
});

describe('the hooks directory is the one that git uses', () => {
  const locate = (cwd?: string, env?: Record<string, string>) =>
    use(({ repository }) => repository.hooks.locate(), cwd, env);

  test('by core.hooksPath: relative, absolute, in the home directory, global, in a linked work tree', async () => {
    const home = join(repo.root, '.git/home ü');
    await mkdir(home);
    const env = { HOME: home, GIT_CONFIG_GLOBAL: join(home, '.gitconfig') };
    const set = (value: string) => repo.git('config', 'core.hooksPath', value);
    expect(await locate(undefined, env)).toEqual({ dir: join(repo.root, '.git/hooks'), kind: 'own', origin: null });
    await set('');
    expect(await locate(undefined, env)).toMatchObject({ dir: '', kind: 'own' });
    await set('/dev/null');
    expect(await states()).toEqual(allOf('missing'));
    await set('my hooks');
    const origin = `local ${repo.root}/.git/config`;
    expect(await locate(undefined, env)).toEqual({ dir: join(repo.root, 'my hooks'), kind: 'work-tree', origin });
    const linked = `${repo.root} linked`;
    await repo.git('worktree', 'add', '--quiet', '--detach', linked);
    expect(await locate(linked, env)).toMatchObject({
      dir: join(await realpath(linked), 'my hooks'),
      kind: 'work-tree',
    });
    await set(join(repo.root, 'my hooks'));
    expect(await locate(linked, env)).toMatchObject({ dir: join(repo.root, 'my hooks'), kind: 'work-tree' });
    await set('~/hooks');
    expect(await locate(undefined, env)).toMatchObject({ dir: join(home, 'hooks'), kind: 'own' });
    await repo.git('config', '--unset', 'core.hooksPath');
    expect(await locate(linked, env)).toMatchObject({ dir: join(repo.root, '.git/hooks'), kind: 'own', origin: null });
    const shared = `${repo.root} shared`;
    await writeFile(join(home, '.gitconfig'), `[core]\n\thooksPath = "${shared}"\n`);
    expect(await locate(undefined, env)).toEqual({ dir: shared, kind: 'shared', origin: 'global ~/.gitconfig' });
    const options = { shared: false };
    await expect(use((project) => installHooks(project, source, options), undefined, env)).rejects.toMatchObject({
      code: 'HOOK_IN_THE_WAY',
      hint: expect.stringContaining('--shared') as string,
    });
    // Its remedy also works in a linked work tree.
    const refused = use((project) => installHooks(project, source, options), linked, env);
    const { hint = '' } = await refused.then(
      () => Promise.reject(new Error('They were installed.')),
      (error: TeddyError) => error,
    );
    execFileSync('sh', ['-c', /`(git config .+)`/.exec(hint)?.[1] ?? 'false'], { cwd: linked });
    for (const root of [linked, repo.root])
      expect(await locate(root, env)).toMatchObject({ dir: join(repo.root, '.git/hooks'), kind: 'own' });
    await repo.git('config', '--unset', 'core.hooksPath');
    await repo.git('worktree', 'remove', '--force', linked);
    await use((project) => installHooks(project, source, { shared: true }), undefined, env);
    expect(await openScratchRepository(shared).list('.')).toEqual([...hookNames].toSorted());
    await rm(shared, { recursive: true });
  });

  test('through links: a hooks directory that links into the work tree is the project’s', async () => {
    await repo.write('scripts/.keep', '');
    await symlink('../scripts', join(repo.root, '.git/hooks'));
    expect(await locate()).toMatchObject({ kind: 'work-tree' });
    expect((await install()).byHand).toHaveLength(hookNames.length);
    expect(await repo.list('scripts')).toEqual(['.keep']);
    await rm(join(repo.root, 'scripts'), { recursive: true });
    await rm(join(repo.root, '.git/hooks'));
  });

  test('with husky in the user’s files, which are not written', async () => {
    await repo.write('.husky/_/pre-push', '#!/usr/bin/env sh\n. "$(dirname "$0")/h"\n');
    await repo.write('.husky/pre-push', 'npm test\n');
    await repo.git('config', 'core.hooksPath', '.husky/_');
    const { byHand, hooks } = await install();
    expect(byHand.map(({ path }) => path)).toEqual(hookNames.map((name) => join(repo.root, '.husky', name)));
    expect(hooks.map(({ state }) => state)).toEqual(['missing', 'missing', 'missing', 'foreign', 'missing']);
    expect(await repo.list('.husky')).toEqual(['_', 'pre-push']);
    for (const { path, line } of byHand) await writeFile(path, `${line}\n`, { flag: 'a' });
    expect((await install()).byHand).toEqual([]);
    expect(await states()).toEqual(allOf('called'));
    await repo.git('config', '--unset', 'core.hooksPath');
    await rm(join(repo.root, '.husky'), { recursive: true });
  });
});

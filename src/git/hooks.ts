/** Finds the directory in which git looks for hooks, and reads and installs hook scripts. */
import { chmod, copyFile, link, lstat, mkdir, open, realpath, readlink, rename, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { randomBytes } from 'node:crypto';
import type { HookFile, HookTarget, Hooks } from '../ports/git.ts';
import { writeDurably } from '../disk/durable-file.ts';
import { removeFile, syncDirectoryIfPossible } from '../disk/replace-file.ts';
import type { RepositoryLayout } from './run/layout.ts';
import { withOwnErrors, splitNul, type Environment, type GitRunner } from './run/run.ts';

interface HooksOptions {
  git: GitRunner;
  layout: RepositoryLayout;
  env: Environment;
}

/** Do not read a larger file: scripts are read completely for the comparison. */
const maxScriptBytes = 1024 * 1024;

export function gitHooks(options: HooksOptions): Hooks {
  return withOwnErrors({
    ownDir: ownDirOf(options.layout),
    locate: () => locate(options),
    read: readHook,
    keep: keepHook,
    install: (path, script) => installHook(path, script, options.layout),
    async putBack(path, kept) {
      if (kept === null) await removeFile(path);
      else await rename(kept, path);
      await syncDirectoryIfPossible(dirname(path));
    },
  } satisfies Hooks);
}

async function locate({ git, layout, env }: HooksOptions): Promise<HookTarget> {
  const found = await readHooksPath(git, env);
  if (found === null) return placeOf(layout, ownDirOf(layout), null, false);
  if (found.value === '') return { dir: '', kind: 'own', origin: found.origin };
  // git resolves a relative path from the directory where hooks run.
  const dir = resolve(layout.root ?? layout.gitDir, found.value);
  return placeOf(layout, dir, found.origin, found.scope === 'global' || found.scope === 'system');
}

function ownDirOf({ commonDir }: RepositoryLayout): string {
  return join(commonDir, 'hooks');
}

/** Reads `core.hooksPath`, except for the value that teddy's own git calls append to turn hooks off. */
async function readHooksPath(git: GitRunner, env: Environment) {
  const flags = ['--type=path', '--show-scope', '--show-origin', '-z', '--get-all', 'core.hooksPath'];
  const { stdout } = await git.run(['config', ...flags], { accept: [1] });
  const fields = splitNul(stdout);
  const values = Array.from({ length: Math.floor(fields.length / 3) }, (_, at) => fields.slice(at * 3, at * 3 + 3));
  const others = values.filter(([scope, , value]) => !(scope === 'command' && value === '/dev/null'));
  const last = others.at(-1);
  if (last === undefined) return null;
  const [scope = '', source = '', value = ''] = last;
  const path = source.replace(/^file:/, '');
  const home = env['HOME'];
  return {
    scope,
    value,
    origin: `${scope} ${home && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path}`,
  };
}

async function placeOf(
  { root, commonDir }: RepositoryLayout,
  dir: string,
  origin: string | null,
  isForAll: boolean,
): Promise<HookTarget> {
  const real = await realOf(dir);
  const common = await realOf(commonDir);
  // In a linked work tree, also consider the main work tree.
  const trees = await Promise.all([root, basename(common) === '.git' ? dirname(common) : null].map(realOrNull));
  const around = [common, ...trees].filter((container) => container !== null && isBelow(real, container));
  // A work tree may be inside the git directory, or a git directory inside the work tree; the innermost one counts.
  const nearest = around.toSorted((a, b) => (b?.length ?? 0) - (a?.length ?? 0))[0];
  if (nearest === undefined) return { dir, kind: isForAll ? 'shared' : 'own', origin };
  return { dir, kind: nearest === common ? 'own' : 'work-tree', origin };
}

async function realOrNull(path: string | null): Promise<string | null> {
  return path === null ? null : realOf(path);
}

/** Resolves links in the part of the path that exists. */
async function realOf(path: string): Promise<string> {
  const found = await realpath(path).catch(() => null);
  if (found !== null || dirname(path) === path) return found ?? path;
  return join(await realOf(dirname(path)), basename(path));
}

export function isBelow(path: string, container: string): boolean {
  const way = relative(container, path);
  return way !== '..' && !way.startsWith('../');
}

async function readHook(path: string): Promise<HookFile | null> {
  try {
    const file = await open(path, 'r');
    try {
      const stat = await file.stat();
      const isScript = stat.isFile() && stat.size <= maxScriptBytes;
      return { text: isScript ? await file.readFile('utf8') : null, isExecutable: (stat.mode & 0o111) !== 0 };
    } finally {
      await file.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // `core.hooksPath=/dev/null` is the usual way to turn hooks off.
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error;
    // A broken link is not a hook, but it still belongs to somebody.
    return (await lstat(path).catch(() => null)) && { text: null, isExecutable: false };
  }
}

/** Keeps a hook under a second name. Both names refer to one file, so git still runs the hook if the process dies midway. */
async function keepHook(path: string, as: string): Promise<void> {
  const stat = await lstat(path);
  // Some systems would link to the target of a symbolic link.
  if (stat.isSymbolicLink()) return symlink(await readlink(path), as);
  try {
    await link(path, as);
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await copyHook(path, as, stat.mode);
  }
  await syncDirectoryIfPossible(dirname(as));
}

/** Copies a hook. The name appears only once the content is complete, because teddy could later restore a partial hook. */
async function copyHook(path: string, as: string, mode: number): Promise<void> {
  const temporary = temporaryBeside(as);
  await copyFile(path, temporary);
  await chmod(temporary, mode & 0o7777);
  await rename(temporary, as);
}

/** A crash leaves nothing in the repository's own directory of hooks: what is left in teddy's own is removed later. */
async function installHook(path: string, script: string, layout: RepositoryLayout): Promise<void> {
  const isOwn = dirname(path) === ownDirOf(layout);
  const scratch = join(layout.commonDir, 'teddy');
  for (const dir of [dirname(path), ...(isOwn ? [scratch] : [])]) await mkdir(dir, { recursive: true });
  const name = `file-${process.pid}-${randomBytes(6).toString('hex')}`;
  const temporary = isOwn ? join(scratch, name) : temporaryBeside(path);
  try {
    await writeDurably(temporary, script, 0o755);
    await rename(temporary, path);
  } catch (error) {
    await removeFile(temporary);
    throw error;
  }
  await syncDirectoryIfPossible(dirname(path));
}

function temporaryBeside(path: string): string {
  return `${path}.tmp-${process.pid}-${randomBytes(6).toString('hex')}`;
}

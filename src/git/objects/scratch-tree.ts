/** A separate repository in a temporary directory, for commands that must not touch anybody's files, branches or settings. */
import { copyFile, lstat, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import type { Repository, ScratchTree } from '../../ports/git.ts';
import { fallBackTo } from '../../disk/system-error.ts';
import type { Oid } from '../../names.ts';
import { replayPrefix, scratchHolder } from '../../session/paths/scratch-names.ts';
import type { RepositoryLayout } from '../run/layout.ts';
import { listRefs } from '../refs/refs.ts';
import type { GitRunner } from '../run/run.ts';

interface ScratchTreeOptions {
  /** Runs in the project's repository, the read-only source of objects and refs. */
  git: GitRunner;
  layout: RepositoryLayout;
  /**
   * Returns a runner bound to the repository at this place. When that repository is gone, the runner's commands fail
   * instead of finding another repository above it.
   */
  gitAt(place: ScratchDirs): GitRunner;
  open(place: ScratchDirs): Promise<Repository>;
}

interface ScratchDirs {
  root: string;
  gitDir: string;
}

export async function openScratch(options: ScratchTreeOptions, commit: Oid, holder: string): Promise<ScratchTree> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), replayPrefix)));
  // Keep the project's directory name, because tools print the name.
  const root = join(dir, basename(options.layout.root ?? 'project'));
  const place = { root, gitDir: join(root, '.git') };
  const removeFiles = () => rm(dir, { recursive: true, force: true, maxRetries: 3 });
  try {
    await writeFile(join(dir, scratchHolder), `${holder}\n${options.layout.commonDir}`);
    await mkdir(root);
    const inside = options.gitAt(place);
    await fillRepository(options, inside, place);
    await inside.run(checkOut(commit));
    const made = await fingerprintDirectory(place.gitDir);
    const { workspace, store, close } = await options.open(place);
    if (workspace === null) throw new Error('The scratch repository has no work tree.');
    const isIntact = async () => (await fingerprintDirectory(place.gitDir)) === made;
    return {
      workspace,
      store,
      env: { GIT_CEILING_DIRECTORIES: [dir, dirname(dir)].join(delimiter) },
      isIntact,
      moveTo: async (to) => (await isIntact()) && (await inside.run(checkOut(to), { accept: [1, 128] })).exitCode === 0,
      remove: async () => {
        await close();
        await removeFiles();
      },
    };
  } catch (error) {
    await removeFiles();
    throw error;
  }
}

/** Detaches HEAD, so that no branch moves, whatever a command has checked out. */
function checkOut(commit: Oid): string[] {
  return ['checkout', '--quiet', '--force', '--detach', '--no-recurse-submodules', commit];
}

/** Identifies a directory. Returns null when there is none; a file at the path could point to any repository. */
async function fingerprintDirectory(path: string): Promise<string | null> {
  const found = await lstat(path).catch(() => null);
  return found?.isDirectory() === true ? `${found.dev} ${found.ino}` : null;
}

/** Copies refs and settings, and reads objects in place. Changes to the copies do not affect the project. */
async function fillRepository(
  { git, layout }: ScratchTreeOptions,
  inside: GitRunner,
  place: ScratchDirs,
): Promise<void> {
  const { commonDir, objectFormat } = layout;
  const asFiles = ['-c', 'init.defaultRefFormat=files'];
  const init = ['init', '--quiet', '--template=', '--initial-branch=main', `--object-format=${objectFormat}`];
  await inside.run([...asFiles, ...init, place.root]);
  const below = (...names: string[]) => join(place.gitDir, ...names);
  await mkdir(below('info'), { recursive: true });
  await writeFile(below('objects', 'info', 'alternates'), `${quoteLine(layout.objectsDir)}\n`);
  const refs = await listRefs(git, ['refs/heads/', 'refs/tags/', 'refs/remotes/', 'refs/notes/', 'refs/replace/']);
  await writeFile(below('packed-refs'), refs.map(({ ref, oid }) => `${oid} ${ref}\n`).join(''));
  await writeFile(below('config'), await readScratchConfig(git, join(dirname(place.root), 'nowhere')), { flag: 'a' });
  for (const name of [['info', 'exclude'], ['info', 'attributes'], ['shallow']])
    await copyFile(join(commonDir, ...name), below(...name)).catch(fallBackTo(undefined, 'ENOENT'));
}

function quoteLine(path: string): string {
  return `"${path.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
}

/** Settings that depend on the repository's location, its other work trees, or programs that serve it. */
const leftOut = [
  /^core\.(?:bare|worktree|repositoryformatversion|fsmonitor|sparsecheckout|sparsecheckoutcone)$/,
  /^index\.sparse$/,
  /^include(?:if)?\./,
  /^extensions\.(?!partialclone$)/,
  /^remote\..*\.(?:pushurl|mirror)$/s,
];

/**
 * Renders a repository's settings as a configuration file, for a copy that is used once. Pushes go to `nowhere`,
 * because a rerun command must not publish anything.
 */
async function readScratchConfig(git: GitRunner, nowhere: string): Promise<string> {
  const fields = await git.list(['config', '--list', '--show-scope', '-z']);
  const rows = fields.filter((_, at) => at % 2 === 1 && ['local', 'worktree'].includes(fields[at - 1] ?? ''));
  return rows
    .map(toSetting)
    .filter(({ key, value }) => !leftOut.some((pattern) => pattern.test(key)) && !isOwnHooks(key, value))
    .flatMap((setting) => {
      const [, remote] = /^remote\.(.*)\.url$/s.exec(setting.key) ?? [];
      return remote === undefined ? [setting] : [setting, { key: `remote.${remote}.pushurl`, value: nowhere }];
    })
    .map(render)
    .join('');
}

interface Setting {
  /** The key as printed by git: in lower case, except for the subsection. */
  key: string;
  /** Null when the key has no value, which means true. */
  value: string | null;
}

function toSetting(row: string): Setting {
  const end = row.indexOf('\n');
  return end < 0 ? { key: row, value: null } : { key: row.slice(0, end), value: row.slice(end + 1) };
}

/** Returns true if hooks are outside the project's files, where commands would install their hooks. */
function isOwnHooks(key: string, value: string | null): boolean {
  return key === 'core.hookspath' && /^[/~%]/.test(value ?? '');
}

function render({ key, value }: Setting): string {
  const [first, last] = [key.indexOf('.'), key.lastIndexOf('.')];
  const subsection = first === last ? '' : ` "${key.slice(first + 1, last).replace(/[\\"]/g, '\\$&')}"`;
  const said = value === null ? '' : ` = "${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
  return `[${key.slice(0, first)}${subsection}]\n\t${key.slice(last + 1)}${said}\n`;
}

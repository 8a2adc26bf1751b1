/** A repository of its own in a temporary directory, for commands that must not meet anybody's files, branches or settings. */
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
  /** Runs in the project's repository: objects and refs come from there, and nothing goes there. */
  git: GitRunner;
  layout: RepositoryLayout;
  /** Bound to the repository at this place: where that is gone they fail, and find no other one above it. */
  gitAt(place: ScratchDirs): GitRunner;
  open(place: ScratchDirs): Promise<Repository>;
}

interface ScratchDirs {
  root: string;
  gitDir: string;
}

export async function openScratch(options: ScratchTreeOptions, commit: Oid, holder: string): Promise<ScratchTree> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), replayPrefix)));
  // Tools tell the name of the directory that they are run in.
  const root = join(dir, basename(options.layout.root ?? 'project'));
  const place = { root, gitDir: join(root, '.git') };
  const removeFiles = () => rm(dir, { recursive: true, force: true, maxRetries: 3 });
  try {
    await writeFile(join(dir, scratchHolder), `${holder}\n${options.layout.commonDir}`);
    await mkdir(root);
    const inside = options.gitAt(place);
    await fillRepository(options, inside, place);
    await inside.run(checkOut(commit));
    const made = await printDirectory(place.gitDir);
    const { workspace, store, close } = await options.open(place);
    if (workspace === null) throw new Error('It was made with a work tree.');
    const isIntact = async () => (await printDirectory(place.gitDir)) === made;
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

/** Whatever branch a command has left HEAD on: none is moved. */
function checkOut(commit: Oid): string[] {
  return ['checkout', '--quiet', '--force', '--detach', '--no-recurse-submodules', commit];
}

/** Null: there is no such directory; a file in its place may lead to any repository. */
async function printDirectory(path: string): Promise<string | null> {
  const found = await lstat(path).catch(() => null);
  return found?.isDirectory() === true ? `${found.dev} ${found.ino}` : null;
}

/** Refs and settings are copies, objects are read where they are: whatever becomes of these, the project's are as they were. */
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

/** These settings belong to the repository's place, to its other work trees, or to programs that wait for it. */
const leftOut = [
  /^core\.(?:bare|worktree|repositoryformatversion|fsmonitor|sparsecheckout|sparsecheckoutcone)$/,
  /^index\.sparse$/,
  /^include(?:if)?\./,
  /^extensions\.(?!partialclone$)/,
  /^remote\..*\.(?:pushurl|mirror)$/s,
];

/**
 * The settings of a repository, for a copy of it that is used once. As the text of a configuration file. What is
 * pushed goes to `nowhere`: a command that is run again must not publish anything.
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
  /** git prints it so: in lower case, except for the subsection. */
  key: string;
  /** Null: it stands there without one, which means true. */
  value: string | null;
}

function toSetting(row: string): Setting {
  const end = row.indexOf('\n');
  return end < 0 ? { key: row, value: null } : { key: row.slice(0, end), value: row.slice(end + 1) };
}

/** A place outside of the files: commands install their hooks there. */
function isOwnHooks(key: string, value: string | null): boolean {
  return key === 'core.hookspath' && /^[/~%]/.test(value ?? '');
}

function render({ key, value }: Setting): string {
  const [first, last] = [key.indexOf('.'), key.lastIndexOf('.')];
  const subsection = first === last ? '' : ` "${key.slice(first + 1, last).replace(/[\\"]/g, '\\$&')}"`;
  const said = value === null ? '' : ` = "${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;
  return `[${key.slice(0, first)}${subsection}]\n\t${key.slice(last + 1)}${said}\n`;
}

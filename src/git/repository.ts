/** Finds the current directory's repository, once and by git's own rules, and opens it. */
import { createHash } from 'node:crypto';
import { readFile, mkdir, writeFile, realpath, rename, readdir, stat, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { Remains } from '../ports/disk.ts';
import type { Repository, Workspace, Remotes, Cache, Head } from '../ports/git.ts';
import { installAttributes, removeAttributes } from './work-trees/attributes.ts';
import {
  refuseOldGit,
  gitRunner,
  toChildEnvironment,
  type Environment,
  type GitRunner,
  withOwnErrors,
} from './run/run.ts';
import { readShallow, type RepositoryLayout } from './run/layout.ts';
import { openPorcelain } from './run/porcelain.ts';
import { removeHalfMadeWorkTrees } from './work-trees/half-made-work-trees.ts';
import { gitBlame } from './history/blame.ts';
import { gitHooks, isBelow } from './hooks.ts';
import { disarmForeignPrograms } from './foreign-programs.ts';
import { changeGitSetting, readGitSettings, type GitSetting } from './refs/settings.ts';
import { gitStore } from './store.ts';
import { gitWorkTrees } from './work-trees/work-trees.ts';
import { gitWorkspace, type KnownHead } from './work-trees/workspace.ts';
import { isOid, type RefName } from '../names.ts';

export interface OpenOptions {
  cwd: string;
  env: Environment;
  trace?: (line: string) => void;
  /** Called at each step of a publication, so that a test can simulate a crash at that step. */
  onStep?: (step: string) => void;
  /**
   * Avoids asking git for HEAD again after the discovery. `once`: the caller looks at HEAD immediately, so the first
   * look uses the HEAD found with the repository. `always`: the caller changes nothing and describes the repository as
   * found; teddy then also runs no program from the repository's own configuration.
   */
  trustsHead?: 'once' | 'always' | undefined;
}

export interface OpenedRepository extends Repository {
  /** The absolute path of the git directory that all work trees share. */
  readonly commonDir: string;
  /** Opens access to the leftovers of crashed commands in the git directories. */
  openRemains(): Promise<Remains>;
}

/** Opens the repository that contains `cwd`. Throws NOT_A_REPOSITORY, GIT_TOO_OLD, GIT_MISSING. */
export async function openRepository({ cwd, env, trace, onStep, trustsHead }: OpenOptions): Promise<OpenedRepository> {
  const ownEnv = toChildEnvironment(env);
  // The user's GIT_DIR and GIT_WORK_TREE affect only the discovery; later calls name the directories that it found.
  const redirected = { GIT_DIR: env['GIT_DIR'], GIT_WORK_TREE: env['GIT_WORK_TREE'] };
  const here = gitRunner(cwd, { ...ownEnv, ...redirected }, trace);
  // Read the settings during discovery: nearly every command needs them, and a later process would cost time.
  let loading = readGitSettings(here, env);
  loading.catch(() => undefined);
  const settings = () => loading;
  const { layout, head, isShallow } = await findRepository(here);
  const own = trustsHead === 'always' ? disarmForeignPrograms(await loading, ownEnv) : null;
  const childEnv = own?.env ?? ownEnv;
  if (own !== null) loading = Promise.resolve(own.settings);
  const open = (found: RepositoryLayout, added: Environment = {}, at = found.root ?? found.gitDir): GitRunner =>
    gitRunner(at, { ...toLayoutEnvironment(childEnv, found), ...added }, trace, () =>
      removeHalfMadeWorkTrees(open(found), found),
    );
  const place = await realpath(cwd).catch(() => cwd);
  const placeIn = (top: string) => (isBelow(place, top) ? place : top);
  const git = open(layout);
  const store = gitStore({ git, env, ...layout, settings, onStep });
  const workspaceOf = (found: RepositoryLayout & { root: string }, knownHead: KnownHead | null = null) =>
    gitWorkspace({
      git: open(found),
      gitHere: open(found, {}, placeIn(found.root)),
      store,
      layout: found,
      onStep,
      knownHead,
    });
  const { root } = layout;
  const openWorkspace = async (path: string): Promise<Workspace> => {
    if (root !== null && path === root) return workspaceOf({ ...layout, root });
    const { layout: found } = await discover(gitRunner(path, childEnv, trace));
    if (found.root === null) throw new TeddyError('NO_WORK_TREE', `${path} is not a work tree.`);
    return workspaceOf({ ...found, root: found.root });
  };

  return withOwnErrors({
    commonDir: layout.commonDir,
    store,
    workspace:
      root === null
        ? null
        : workspaceOf({ ...layout, root }, trustsHead && head ? { ...head, isKept: trustsHead === 'always' } : null),
    ...gitWorkTrees({ git, layout, gitAt: (path) => gitRunner(path, childEnv, trace) }),
    openWorkspace,
    async openScratch(commit, holder) {
      const { openScratch } = await import('./objects/scratch-tree.ts');
      const gitAt = (place: GitLocation) => open({ ...layout, ...place, commonDir: place.gitDir });
      return openScratch({ git, layout, gitAt, open: (place) => openAt(place, env, trace) }, commit, holder);
    },
    async openRemains() {
      const { gitRemains } = await import('./remains.ts');
      const repairAt = async (path: string) => void (await (await openWorkspace(path)).repair());
      return withOwnErrors(gitRemains({ git, layout, repairAt }));
    },
    cache: derivedCache(layout.commonDir, { suffix: isShallow ? await nameDepth(layout.commonDir) : '' }),
    blame: gitBlame(git, layout.root ?? layout.gitDir),
    hooks: gitHooks({ git, layout, env }),
    remotes: lazyRemotes(async () => {
      const { gitRemotes } = await import('./remotes/remote-transfers.ts');
      const porcelain = () =>
        openPorcelain(root ?? layout.gitDir, { ...toLayoutEnvironment(childEnv, layout), ...silentEnvironment });
      return gitRemotes({ git: open(layout, silentEnvironment), layout, store, porcelain, settings, cwd, onStep });
    }),
    changeSetting: (scope, key, value) => changeGitSetting(git, layout, scope, key, value),
    reloadSettings() {
      loading = readGitSettings(git, env);
      loading.catch(() => undefined);
    },
    installAttributes: () => installAttributes(layout.commonDir),
    removeAttributes: () => removeAttributes(layout.commonDir),
    credential: async (url) => readCredential(git, await loading, new URL(url)),
    close: () => store.close(),
  });
}

type GitLocation = { root: string; gitDir: string };

function openAt(
  { root, gitDir }: GitLocation,
  env: Environment,
  trace: OpenOptions['trace'],
): Promise<OpenedRepository> {
  const redirected = { ...env, GIT_DIR: gitDir, GIT_WORK_TREE: root };
  return openRepository({ cwd: root, env: redirected, ...(trace && { trace }) });
}

function toLayoutEnvironment(env: Environment, layout: RepositoryLayout): Environment {
  return { ...env, GIT_DIR: layout.gitDir, ...(layout.root === null ? {} : { GIT_WORK_TREE: layout.root }) };
}

/** Discovers the repository. Checks git's version only after a refusal, because an old git rejects the flags. */
async function findRepository(git: GitRunner): Promise<FoundRepository> {
  try {
    return await discover(git);
  } catch (error) {
    await refuseOldGit(git);
    throw error;
  }
}

interface FoundRepository {
  layout: RepositoryLayout;
  /** Null when HEAD is detached or its branch has no commit. */
  head: Head | null;
  isShallow: boolean;
}

async function discover(git: GitRunner): Promise<FoundRepository> {
  const flags = [
    '--absolute-git-dir',
    '--path-format=absolute',
    '--git-common-dir',
    '--git-path',
    'objects',
    '--show-object-format',
    '--is-shallow-repository',
    // Without a work tree, git stops here, after printing everything else.
    '--show-toplevel',
    // Prints a word that marks the end of the path, which may have several lines. Nothing follows the word when HEAD
    // has no commit.
    '--is-inside-work-tree',
    '--revs-only',
    'HEAD',
    '--symbolic-full-name',
    'HEAD',
  ];
  const { exitCode, stdout, stderr } = await git.run(['rev-parse', ...flags], { accept: [128, 129] });
  const [gitDir = '', commonDir = '', objectsDir = '', format, shallow, ...rest] = stdout.toString('utf8').split('\n');
  if (format !== 'sha1' && format !== 'sha256') throw toDiscoveryError(stdout.toString('utf8'), stderr);
  const [tip = '', last = ''] = rest.slice(-3, -1);
  const head = last.startsWith('refs/') && isOid(tip) ? { ref: last as RefName, oid: tip } : null;
  const isUnborn = last === 'true' || last === 'false';
  const root = exitCode === 0 ? rest.slice(0, isUnborn ? -2 : -4).join('\n') : null;
  const layout: RepositoryLayout = { root, gitDir, commonDir, objectsDir, objectFormat: format };
  return { layout, head, isShallow: shallow === 'true' };
}

/** Explains why the object format is not on its line: an earlier path has several lines, or git stopped early. */
function toDiscoveryError(stdout: string, stderr: string): TeddyError {
  const said = stderr.trim().replace(/^fatal: /, '');
  if (/^sha(?:1|256)$/m.test(stdout))
    return new TeddyError(
      'NOT_A_REPOSITORY',
      "This repository's path contains a line break, which teddy does not support.",
      'Rename that directory.',
    );
  const trust = /git config --global --add safe\.directory .*/.exec(said)?.[0];
  if (/dubious ownership/.test(said)) {
    return new TeddyError(
      'NOT_A_REPOSITORY',
      `git does not trust this repository: ${said.split('\n')[0]}.`,
      trust === undefined ? 'See safe.directory in `git help config`.' : `If you trust it, run \`${trust}\`.`,
    );
  }
  if (!/not a git repository/.test(said)) {
    return new TeddyError(
      'NOT_A_REPOSITORY',
      `git cannot open this repository: ${said.split('\n')[0]}`,
      'Fix what `git status` reports, and run the command again.',
    );
  }
  return new TeddyError(
    'NOT_A_REPOSITORY',
    'This is not a git repository, nor is any folder above it.',
    'Run `git init` here, or change to a folder in your repository.',
  );
}

/** Prevents all prompts: an empty GIT_ASKPASS also overrides `core.askPass`, and ssh has no terminal to ask on. */
const silentEnvironment = {
  GIT_ASKPASS: '',
  SSH_ASKPASS: undefined,
  SSH_ASKPASS_REQUIRE: 'never',
  GCM_INTERACTIVE: 'never',
};

/** Gives access to other repositories through git's transports. Only the few commands that need the module load it. */
function lazyRemotes(open: () => Promise<Remotes>): Remotes {
  let loading: Promise<Remotes> | undefined;
  const load = () => (loading ??= open());
  return {
    names: async () => (await load()).names(),
    list: async (...args) => (await load()).list(...args),
    fetch: async (...args) => (await load()).fetch(...args),
    push: async (...args) => (await load()).push(...args),
  };
}

/**
 * The user name for teddy's credential lookups. A helper that answers for every host, as in many CI jobs, would return
 * the forge's token; only credentials stored under this name are meant for teddy.
 */
const userName = 'teddy';

/** Prevents all prompts. An empty GIT_ASKPASS also overrides `core.askPass` and SSH_ASKPASS. */
const silent = {
  settings: ['-c', 'credential.interactive=false'],
  env: { GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: '', GCM_INTERACTIVE: 'never' },
};

/** Reads a stored credential; null when no helper is configured for the URL, or no helper has a credential. */
async function readCredential(
  git: GitRunner,
  settings: ReadonlyMap<string, GitSetting>,
  url: URL,
): Promise<string | null> {
  if (!hasHelper(settings, url)) return null;
  const asked = { protocol: url.protocol.replace(':', ''), host: url.host, username: userName };
  const input = `${Object.entries(asked)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')}\n`;
  // Exit code 128 means that no helper has the credential and prompts are off.
  const { exitCode, stdout } = await git.run([...silent.settings, 'credential', 'fill'], {
    input,
    env: silent.env,
    accept: [1, 128],
  });
  return exitCode === 0 ? toPassword(stdout.toString('utf8')) : null;
}

/** Returns true if asking is worthwhile. git decides which helper really matches the URL. */
function hasHelper(settings: ReadonlyMap<string, GitSetting>, url: URL): boolean {
  return [...settings].some(([key, { value }]) => {
    const found = /^credential\.(?:(.*)\.)?helper$/s.exec(key);
    if (found === null || value === '') return false;
    const pattern = found[1];
    return pattern === undefined || pattern.includes('*') || pattern.includes(url.hostname);
  });
}

function toPassword(text: string): string | null {
  const fields = new Map(
    text.split('\n').map((line): [string, string] => [line.split('=')[0] ?? '', line.slice(line.indexOf('=') + 1)]),
  );
  return fields.get('username') === userName ? fields.get('password') || null : null;
}

/** The limit for files in `teddy/cache`. teddy can derive them again, so any of them may be deleted at any time. */
const maxFiles = 32;
/** The limit for all files together, because a cached history is as large as its conversation. */
const maxBytes = 64 * 1024 * 1024;

/** Opens the cache. Each file begins with the sha256 of its content, so a damaged file counts as missing. */
export function derivedCache(commonDir: string, { suffix = '', limits = { maxFiles, maxBytes } } = {}): Cache {
  const directory = join(commonDir, 'teddy', 'cache');
  return {
    async read(key) {
      const kept = await readFile(join(directory, `${key}${suffix}`)).catch(() => Buffer.alloc(0));
      const end = kept.indexOf('\n');
      const content = kept.subarray(end + 1);
      return end !== -1 && kept.toString('latin1', 0, end) === sha256([content]) ? content : null;
    },
    async write(key, pieces) {
      const file = [Buffer.from(`${sha256(pieces)}\n`), ...pieces];
      // The file would evict all other files and then itself.
      if (countBytes(file) > limits.maxBytes) return;
      // If teddy cannot write the cache (the disk is full or read-only), the next command is merely slower.
      await replace(directory, `${key}${suffix}`, file, limits).catch(() => undefined);
    },
  };
}

/** Names a shallow clone's depth, so that cached answers are valid only while its history ends at the same commits. */
async function nameDepth(commonDir: string): Promise<string> {
  return `-${sha256([Buffer.from(await readShallow(commonDir))]).slice(0, 16)}`;
}

type Limits = { maxFiles: number; maxBytes: number };

async function replace(directory: string, key: string, file: readonly Uint8Array[], limits: Limits): Promise<void> {
  await mkdir(directory, { recursive: true });
  const temporary = join(directory, `${key}.${process.pid}`);
  await writeFile(temporary, file, { mode: 0o600 });
  await rename(temporary, join(directory, key));
  await removeOldest(directory, limits);
}

async function removeOldest(directory: string, limits: Limits): Promise<void> {
  const paths = (await readdir(directory)).map((name) => join(directory, name));
  const files = await Promise.all(paths.map(async (path) => ({ path, stats: await stat(path) })));
  let bytes = 0;
  const surplus = files
    .toSorted((a, b) => b.stats.mtimeMs - a.stats.mtimeMs)
    .filter(({ stats }, index) => index >= limits.maxFiles || (bytes += stats.size) > limits.maxBytes);
  await Promise.all(surplus.map(({ path }) => rm(path, { force: true })));
}

function countBytes(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0);
}

function sha256(pieces: readonly Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

/** Finds the repository that a command stands in, once, with git's own rules, and opens it. */
import { createHash } from 'node:crypto';
import { readFile, mkdir, writeFile, realpath, rename, readdir, stat, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { Remains } from '../ports/disk.ts';
import type { Repository, Workspace, Remotes, Cache, Head } from '../ports/git.ts';
import { installAttributes } from './work-trees/attributes.ts';
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
import { withoutForeignPrograms } from './foreign-programs.ts';
import { changeGitSetting, readGitSettings, type GitSetting } from './refs/settings.ts';
import { gitStore } from './store.ts';
import { gitWorkTrees } from './work-trees/work-trees.ts';
import { gitWorkspace, type KnownHead } from './work-trees/workspace.ts';
import { isOid, type RefName } from '../names.ts';

export interface OpenOptions {
  cwd: string;
  env: Environment;
  trace?: (line: string) => void;
  /** Called at each step of a publication, for tests that crash there. */
  onStep?: (step: string) => void;
  /**
   * `once`: the caller looks at HEAD right away, so it is where it was found with the repository, and is not asked for once more.
   * `always`: the caller changes nothing, and tells of the repository as it was found. It runs no program that the repository's own
   * configuration names.
   */
  trustsHead?: 'once' | 'always' | undefined;
}

export interface OpenedRepository extends Repository {
  /** Absolute; what belongs to all work trees lies below it. */
  readonly commonDir: string;
  /** Opens the leftovers in its git directories. */
  openRemains(): Promise<Remains>;
}

/** Throws NOT_A_REPOSITORY, GIT_TOO_OLD, GIT_MISSING. */
export async function openRepository({ cwd, env, trace, onStep, trustsHead }: OpenOptions): Promise<OpenedRepository> {
  const ownEnv = toChildEnvironment(env);
  // Only here do GIT_DIR and GIT_WORK_TREE of the user count; from then on our calls name what was found.
  const redirected = { GIT_DIR: env['GIT_DIR'], GIT_WORK_TREE: env['GIT_WORK_TREE'] };
  const here = gitRunner(cwd, { ...ownEnv, ...redirected }, trace);
  // Asked for at once, beside the discovery: hardly a command does without, and each process in turn costs its time.
  let loading = readGitSettings(here, env);
  loading.catch(() => undefined);
  const settings = () => loading;
  const { layout, head, isShallow } = await findRepository(here);
  const own = trustsHead === 'always' ? withoutForeignPrograms(await loading, ownEnv) : null;
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
      const gitAt = (place: GitPlace) => open({ ...layout, ...place, commonDir: place.gitDir });
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
    credential: async (url) => readCredential(git, await loading, new URL(url)),
    close: () => store.close(),
  });
}

type GitPlace = { root: string; gitDir: string };

function openAt({ root, gitDir }: GitPlace, env: Environment, trace: OpenOptions['trace']): Promise<OpenedRepository> {
  const redirected = { ...env, GIT_DIR: gitDir, GIT_WORK_TREE: root };
  return openRepository({ cwd: root, env: redirected, ...(trace && { trace }) });
}

function toLayoutEnvironment(env: Environment, layout: RepositoryLayout): Environment {
  return { ...env, GIT_DIR: layout.gitDir, ...(layout.root === null ? {} : { GIT_WORK_TREE: layout.root }) };
}

/** Its version is asked for only when git refuses: an old one does not know the flags, and a new one need not be asked. */
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
  /** Null where HEAD is detached, or its branch has no commit. */
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
    // Without a work tree git stops here, with everything else already said.
    '--show-toplevel',
    // A word after the path, which may have several lines; and nothing after that where HEAD has no commit.
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

/** The format is not on its line: a path before it has several, or git has not come so far. */
function toDiscoveryError(stdout: string, stderr: string): TeddyError {
  const said = stderr.trim().replace(/^fatal: /, '');
  if (/^sha(?:1|256)$/m.test(stdout))
    return new TeddyError(
      'NOT_A_REPOSITORY',
      'The path of this repository has a line break in it, so teddy cannot tell its parts apart.',
      'Rename that directory.',
    );
  const trust = /git config --global --add safe\.directory .*/.exec(said)?.[0];
  if (/dubious ownership/.test(said)) {
    return new TeddyError(
      'NOT_A_REPOSITORY',
      `git does not trust this repository: ${said.split('\n')[0]}.`,
      trust === undefined ? 'See `git help config`, safe.directory.' : `If you do: \`${trust}\`.`,
    );
  }
  if (!/not a git repository/.test(said)) {
    return new TeddyError(
      'NOT_A_REPOSITORY',
      `git cannot open this repository: ${said.split('\n')[0]}`,
      '`git status` says the same until that is mended.',
    );
  }
  return new TeddyError(
    'NOT_A_REPOSITORY',
    'This is not a git repository, nor is any folder above it.',
    'Run `git init` here, or change to a folder of your repository.',
  );
}

/** Nobody is asked: an empty GIT_ASKPASS also keeps git from `core.askPass`; ssh has no terminal to ask at. */
const silentEnvironment = {
  GIT_ASKPASS: '',
  SSH_ASKPASS: undefined,
  SSH_ASKPASS_REQUIRE: 'never',
  GCM_INTERACTIVE: 'never',
};

/** Other repositories, by git's own transports. Few commands need them: the rest is loaded by those alone. */
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
 * A helper that answers every host alike, as in many CI jobs, gives a token of the forge: only what is kept under this
 * name is meant for teddy.
 */
const userName = 'teddy';

/** Without a prompt of any kind. An empty GIT_ASKPASS also keeps git from `core.askPass` and SSH_ASKPASS. */
const silent = {
  settings: ['-c', 'credential.interactive=false'],
  env: { GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: '', GCM_INTERACTIVE: 'never' },
};

/** Null when no helper is configured for the URL, or none has anything. */
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
  // 128: nobody has it, and nobody may be asked.
  const { exitCode, stdout } = await git.run([...silent.settings, 'credential', 'fill'], {
    input,
    env: silent.env,
    accept: [1, 128],
  });
  return exitCode === 0 ? toPassword(stdout.toString('utf8')) : null;
}

/** Whether it is worth asking: which of them a URL really matches is for git to say. */
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

/** `teddy/cache` holds what can be derived again: any file of it may be deleted at any time. */
const maxFiles = 32;
/** The limit for all files together: a history is as large as what was said in it. */
const maxBytes = 64 * 1024 * 1024;

/** A file holds the sha256 of its content before the content: what a crash tore apart counts as absent. */
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
      // It would push out all others, and itself.
      if (countBytes(file) > limits.maxBytes) return;
      // Where it cannot be written (a full disk, a read-only one), the next command takes its time, and that is all.
      await replace(directory, `${key}${suffix}`, file, limits).catch(() => undefined);
    },
  };
}

/** A shallow clone answers only for as long as its history ends where it does now. */
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

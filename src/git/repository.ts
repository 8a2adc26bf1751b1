/** Finds the repository that a command stands in, once, with git's own rules, and opens it. */
import { TeddyError } from '../errors.ts';
import type { Repository, WorkTree } from '../ports.ts';
import type { RefName } from '../session/names.ts';
import { installAttributes } from './attributes.ts';
import type { RepositoryLayout } from './layout.ts';
import { gitRunner, splitNul, toChildEnvironment, type Environment, type GitRunner } from './run.ts';
import { gitStore } from './store.ts';
import { gitWorkspace } from './workspace.ts';

const minimumVersion = [2, 38] as const;

export interface OpenOptions {
  cwd: string;
  env: Environment;
  trace?: (line: string) => void;
  /** Called at each step of a publication, for tests that crash there. */
  onStep?: (step: string) => void;
}

/** Throws NOT_A_REPOSITORY, GIT_TOO_OLD, GIT_MISSING. */
export async function openRepository({ cwd, env, trace, onStep }: OpenOptions): Promise<Repository> {
  const childEnv = toChildEnvironment(env);
  // Only here do GIT_DIR and GIT_WORK_TREE of the user count; from then on our calls name what was found.
  const redirected = { GIT_DIR: env['GIT_DIR'], GIT_WORK_TREE: env['GIT_WORK_TREE'] };
  const layout = await discover(gitRunner(cwd, { ...childEnv, ...redirected }, trace));
  const open = (found: RepositoryLayout): GitRunner =>
    gitRunner(found.root ?? found.gitDir, toLayoutEnvironment(childEnv, found), trace);
  const git = open(layout);
  const settings = once(() => readSettings(git));
  const store = gitStore({ git, ...layout, settings });
  const workspaceOf = (found: RepositoryLayout & { root: string }) =>
    gitWorkspace({ git: open(found), store, layout: found, onStep });
  const { root } = layout;
  await checkVersion(git);

  return {
    store,
    workspace: root === null ? null : workspaceOf({ ...layout, root }),
    workTrees: () => listWorkTrees(git),
    async openWorkspace(path) {
      const found = await discover(gitRunner(path, childEnv, trace));
      if (found.root === null) throw new TeddyError('NO_WORK_TREE', `${path} is not a work tree.`);
      return workspaceOf({ ...found, root: found.root });
    },
    installAttributes: () => installAttributes(layout.commonDir),
    close: () => store.close(),
  };
}

function once<Value>(load: () => Promise<Value>): () => Promise<Value> {
  let loaded: Promise<Value> | undefined;
  return () => (loaded ??= load());
}

function toLayoutEnvironment(env: Environment, layout: RepositoryLayout): Environment {
  return { ...env, GIT_DIR: layout.gitDir, ...(layout.root === null ? {} : { GIT_WORK_TREE: layout.root }) };
}

async function discover(git: GitRunner): Promise<RepositoryLayout> {
  const flags = [
    '--is-bare-repository',
    '--absolute-git-dir',
    '--path-format=absolute',
    '--git-common-dir',
    '--git-path',
    'objects',
  ];
  const { exitCode, stdout, stderr } = await git.run(['rev-parse', ...flags, '--show-object-format'], {
    accept: [128, 129],
  });
  if (exitCode !== 0) throw toDiscoveryError(stderr);
  const [, gitDir = '', commonDir = '', objectsDir = '', format] = stdout.toString('utf8').trimEnd().split('\n');
  const shown = await git.run(['rev-parse', '--show-toplevel'], { accept: [128] });
  const root = shown.exitCode === 0 ? shown.stdout.toString('utf8').replace(/\n$/, '') : null;
  return { root, gitDir, commonDir, objectsDir, objectFormat: format === 'sha256' ? 'sha256' : 'sha1' };
}

function toDiscoveryError(stderr: string): TeddyError {
  const said =
    stderr
      .trim()
      .split('\n')[0]
      ?.replace(/^fatal: /, '') ?? '';
  if (/dubious ownership/.test(said)) {
    return new TeddyError(
      'NOT_A_REPOSITORY',
      `git does not trust this repository: ${said}.`,
      'See `git help config`, safe.directory.',
    );
  }
  return new TeddyError(
    'NOT_A_REPOSITORY',
    'This is not a git repository, nor is any folder above it.',
    'Run `git init` here, or change to a folder of your repository.',
  );
}

async function checkVersion(git: GitRunner): Promise<void> {
  const text = await git.text(['version']);
  const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(text) ?? []).slice(1).map(Number);
  if (major > minimumVersion[0] || (major === minimumVersion[0] && minor >= minimumVersion[1])) return;
  throw new TeddyError(
    'GIT_TOO_OLD',
    `teddy needs git ${minimumVersion.join('.')} or newer; this is ${text}.`,
    'Update git.',
  );
}

/** Keys as git prints them, in lower case but for the subsection; the last value wins. */
async function readSettings(git: GitRunner): Promise<Map<string, string>> {
  const settings = new Map<string, string>();
  for (const row of splitNul((await git.run(['config', '--list', '-z'])).stdout)) {
    const end = row.indexOf('\n');
    // A key without `=` counts as true.
    settings.set(end < 0 ? row : row.slice(0, end), end < 0 ? 'true' : row.slice(end + 1));
  }
  return settings;
}

async function listWorkTrees(git: GitRunner): Promise<WorkTree[]> {
  const blocks = (await git.text(['worktree', 'list', '--porcelain', '-z']))
    .split('\0\0')
    .filter((block) => block.trim() !== '');
  return blocks.flatMap((block) => {
    const lines = block.split('\0');
    const value = (key: string) => lines.find((line) => line.startsWith(`${key} `))?.slice(key.length + 1);
    const root = value('worktree');
    if (root === undefined || lines.includes('bare') || lines.some((line) => line.startsWith('prunable'))) return [];
    return [{ root, ref: (value('branch') as RefName | undefined) ?? null }];
  });
}

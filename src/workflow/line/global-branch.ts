/** The branch `teddy/global`: read by every turn, changed by compare-and-swap. */
import { TeddyError } from '../../errors.ts';
import type { Store, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import {
  globalContextPath,
  isAgentName,
  memosPath,
  toGlobalContext,
  type GlobalFiles,
} from '../../session/global/global-files.ts';
import { globalRef, type Oid, type RepoPath } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { appendCommit } from './append.ts';
import { moveRefs } from './move-refs.ts';
import { toText } from '../../view/view.ts';
import { repair } from './repair.ts';

export interface GlobalBranch extends GlobalFiles {
  tip: Oid;
}

/**
 * Makes the branch if it is missing: from the first remote that has one, otherwise from scratch. Returns a description
 * of the new branch, or null.
 */
export async function ensureGlobal(project: Project): Promise<string | null> {
  const { store } = project.repository;
  if ((await store.resolve(globalRef)) !== null) return null;
  await refuseTeddyBranch(store);
  const remote = (await store.listRefs('refs/remotes/*/teddy/global'))[0];
  const isMade = remote
    ? await moveRefs(project, [{ ref: globalRef, old: null, new: remote.oid }], 'init')
    : (await beginGlobal(project)) !== null;
  if (!isMade) return null;
  return remote
    ? `teddy/global, from ${remote.ref.replace('refs/remotes/', '')}`
    : 'teddy/global with global.context and memos.yaml';
}

/** Refuses a branch called `teddy`, because git cannot have both `teddy` and `teddy/x`. */
export async function refuseTeddyBranch(store: Store): Promise<void> {
  if ((await store.resolve('refs/heads/teddy')) === null) return;
  throw new TeddyError(
    'BRANCH_IN_THE_WAY',
    'A branch called `teddy` is in the way: git cannot create teddy/<session> while it exists.',
    'Rename it: `git branch -m teddy <other>`.',
  );
}

/** Returns null when another process has begun the branch. */
async function beginGlobal(project: Project): Promise<Oid | null> {
  const { store } = project.repository;
  const head = await store.resolve('HEAD');
  const topLevel =
    head === null ? [] : ((await store.readDir(head, '' as RepoPath))?.entries ?? []).map(({ name }) => name);
  const earlier = async (path: RepoPath) =>
    head === null ? null : ((await store.readFile(head, path))?.bytes ?? null);
  const files = [
    { path: 'memos.yaml' as RepoPath, bytes: (await earlier(memosPath)) ?? '' },
    {
      path: 'global.context' as RepoPath,
      bytes: (await earlier(globalContextPath)) ?? toGlobalContext(topLevel),
    },
  ];
  return appendCommit(project, { ref: globalRef, reason: 'init' }, async (tip) =>
    tip === null ? { message: 'global: files of every session\n', files } : null,
  );
}

/** Reads the branch. With `orRemote`, reads the remote's when there is no local branch. Creates nothing. */
export async function readGlobal(project: Project, options: { orRemote?: boolean } = {}): Promise<GlobalBranch | null> {
  const { store } = project.repository;
  const tip = (await store.resolve(globalRef)) ?? (options.orRemote === true ? await findRemoteGlobal(store) : null);
  if (tip === null) return null;
  const read = async (name: string) => toText((await store.readFile(tip, name as RepoPath))?.bytes ?? null);
  const [memos, globalContext] = await Promise.all([read('memos.yaml'), read('global.context')]);
  return { tip, memos, globalContext, agents: await readAgents(store, tip) };
}

async function readAgents(store: Store, tip: Oid): Promise<Map<string, string>> {
  const agents = new Map<string, string>();
  for (const { name, oid, mode } of (await store.readDir(tip, 'agents' as RepoPath))?.entries ?? []) {
    const agent = name.endsWith('.md') ? name.slice(0, -'.md'.length) : '';
    // A README.md in the same directory is not an agent.
    if (isAgentName(agent) && mode.startsWith('100')) agents.set(agent, toText(await store.readBlob(oid)));
  }
  return agents;
}

async function findRemoteGlobal(store: Store): Promise<Oid | null> {
  return (await store.listRefs('refs/remotes/*/teddy/global'))[0]?.oid ?? null;
}

/** A file on the branch with its new content; a null `text` removes the file. */
interface GlobalEdit {
  name: string;
  text: string | null;
}

/**
 * Changes the branch. `change` returns the files to set, or null when there is nothing to do; it is called again after
 * a lost race. Returns the new commit, or null when there is nothing to do. Throws REF_MOVED after ten lost races.
 */
export async function changeGlobal(
  project: Project,
  message: string,
  change: (current: GlobalBranch) => GlobalEdit[] | null | Promise<GlobalEdit[] | null>,
): Promise<Oid | null> {
  await repair(project);
  await ensureGlobal(project);
  return appendCommit(project, { ref: globalRef }, async () => {
    const current = await readGlobal(project);
    const edits = current && (await change(current));
    if (edits === null) return null;
    const files = edits.map(({ name, text }) => ({ path: name as RepoPath, bytes: text }));
    const workspace = await findGlobalWorkspace(project);
    if (workspace !== null) await refuseEdited(workspace, files);
    return { message, files, workspace };
  });
}

/**
 * Finds the work tree with `teddy/global` checked out. Its index and files have to follow, or git would show the change
 * as undone.
 */
async function findGlobalWorkspace({ repository }: Project): Promise<Workspace | null> {
  const tree = (await repository.workTrees()).find(({ ref }) => ref === globalRef);
  return tree === undefined ? null : repository.openWorkspace(tree.root);
}

async function refuseEdited(workspace: Workspace, files: readonly { path: RepoPath }[]): Promise<void> {
  for (const { path } of files) {
    const { edits, untracked } = await workspace.status({ untracked: true, path });
    if (edits.length + untracked.length === 0) continue;
    throw new TeddyError(
      'UNCOMMITTED_EDITS',
      `${path} has uncommitted edits in ${workspace.root}, where teddy/global is checked out.`,
      `Commit it there: \`git -C ${toShellWord(workspace.root)} commit -m "Edit ${path}" -- ${toShellWord(path)}\`.`,
    );
  }
}

/** Sets up the repository. Returns a description of the created parts; null when everything existed. */
export async function initProject(project: Project): Promise<string | null> {
  await project.repository.store.ident();
  const made = await ensureGlobal(project);
  await project.repository.installAttributes();
  return made;
}

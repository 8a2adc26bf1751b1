/** The branch `teddy/global`: read by every turn, changed by compare-and-swap. */
import { TeddyError } from '../../errors.ts';
import type { Store, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isAgentName, toGlobalContext, type GlobalFiles } from '../../session/global-files.ts';
import { globalRef, type Oid, type RepoPath } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { retryWhileMoved } from './append-entry.ts';
import { editTree } from '../../session/edit-tree.ts';
import { toText } from './read.ts';
import { repair } from './repair.ts';

export interface GlobalBranch extends GlobalFiles {
  tip: Oid;
}

/** Makes the branch if there is none: from the only remote that has one, else anew. Says what it made, or null. */
export async function ensureGlobal(project: Project): Promise<string | null> {
  const { store } = project.repository;
  if ((await store.resolve(globalRef)) !== null) return null;
  await refuseTeddyBranch(store);
  const remote = (await store.listRefs('refs/remotes/*/teddy/global'))[0];
  const oid = remote?.oid ?? (await writeFirstGlobal(project));
  const outcome = await store.updateRefs([{ ref: globalRef, old: null, new: oid }], 'teddy: init');
  if (outcome === 'moved') return null;
  return remote
    ? `teddy/global, from ${remote.ref.replace('refs/remotes/', '')}`
    : 'teddy/global with global.context and memos.yaml';
}

/** git cannot hold both `teddy` and `teddy/x`. */
export async function refuseTeddyBranch(store: Store): Promise<void> {
  if ((await store.resolve('refs/heads/teddy')) === null) return;
  throw new TeddyError(
    'BRANCH_IN_THE_WAY',
    'A branch called `teddy` is in the way: git cannot hold teddy/<session> beside it.',
    'Rename it: `git branch -m teddy <other>`.',
  );
}

async function writeFirstGlobal(project: Project): Promise<Oid> {
  const { store } = project.repository;
  const head = await store.resolve('HEAD');
  const topLevel =
    head === null ? [] : ((await store.readDir(head, '' as RepoPath))?.entries ?? []).map(({ name }) => name);
  const earlier = async (path: string) =>
    head === null ? null : ((await store.readFile(head, path as RepoPath))?.bytes ?? null);
  const batch = store.batch();
  const memos = await batch.blob((await earlier('.teddy/memos.yaml')) ?? '');
  const context = await batch.blob((await earlier('.teddy/global.context')) ?? toGlobalContext(topLevel));
  const tree = await batch.tree([
    { mode: '100644', name: 'global.context', oid: context },
    { mode: '100644', name: 'memos.yaml', oid: memos },
  ]);
  const ident = await store.ident();
  const commit = await batch.commit({ tree, parents: [], ...ident, message: 'global: files of every session\n' });
  await batch.flush();
  return commit;
}

/** `orRemote`: what a remote has will do while there is no local branch; nothing is made. */
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
    // A README.md beside them is no agent.
    if (isAgentName(agent) && mode.startsWith('100')) agents.set(agent, toText(await store.readBlob(oid)));
  }
  return agents;
}

async function findRemoteGlobal(store: Store): Promise<Oid | null> {
  return (await store.listRefs('refs/remotes/*/teddy/global'))[0]?.oid ?? null;
}

/** A file of the branch as it shall be; `text` null removes it. */
interface GlobalEdit {
  name: string;
  text: string | null;
}

/**
 * `change` returns the files to set, or null when there is nothing to do; it is asked again after a lost race. Returns
 * the new commit, or null when there was nothing to do. Throws REF_MOVED after ten lost races.
 */
export async function changeGlobal(
  project: Project,
  message: string,
  change: (current: GlobalBranch) => GlobalEdit[] | null | Promise<GlobalEdit[] | null>,
): Promise<Oid | null> {
  await repair(project);
  const { commit } = await retryWhileMoved(project, globalRef, async () => {
    await ensureGlobal(project);
    const current = await readGlobal(project);
    if (current === null) return null;
    const edits = await change(current);
    return edits === null ? { commit: null } : publishEdits(project, message, current.tip, edits);
  });
  return commit;
}

async function publishEdits(
  project: Project,
  message: string,
  tip: Oid,
  edits: GlobalEdit[],
): Promise<{ commit: Oid } | null> {
  const { store } = project.repository;
  const batch = store.batch();
  const toEntry = async (text: string | null) =>
    text === null ? null : { mode: '100644' as const, oid: await batch.blob(text) };
  const files = await Promise.all(
    edits.map(async ({ name, text }) => ({ path: name as RepoPath, entry: await toEntry(text) })),
  );
  const tree = await editTree(store, batch, (await store.readCommit(tip)).tree, files);
  const commit = await batch.commit({ tree, parents: [tip], ...(await store.ident()), message });
  await batch.flush();
  const update = { ref: globalRef, old: tip, new: commit };
  const reflog = `teddy: ${message.split('\n')[0] ?? ''}`;
  const workspace = await findGlobalWorkspace(project);
  if (workspace === null) return (await store.updateRefs([update], reflog)) === 'done' ? { commit } : null;
  await refuseEdited(workspace, files);
  const bytes = new Map(edits.map(({ name, text }) => [name, text === null ? null : new TextEncoder().encode(text)]));
  const outcome = await workspace.publish({
    ...update,
    reflog,
    index: files,
    files: files.map(({ path }) => ({ path, bytes: bytes.get(path) ?? null })),
  });
  return outcome === 'done' ? { commit } : null;
}

/** The work tree whose HEAD is on `teddy/global`: its index and files have to follow, or git would show the change as undone. */
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
      `${path} is edited in ${workspace.root}, where teddy/global is checked out.`,
      `Commit it there: \`git -C ${toShellWord(workspace.root)} commit -m "Edit ${path}" -- ${toShellWord(path)}\`.`,
    );
  }
}

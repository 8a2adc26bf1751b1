/** The branch `teddy/global`: read by every turn, changed by compare-and-swap. */
import { TeddyError } from '../errors.ts';
import type { Project, Store } from '../ports.ts';
import { toGlobalContext, type GlobalFiles } from '../session/global-files.ts';
import { globalRef, type Oid, type RefName, type RepoPath } from '../session/names.ts';
import { editTree } from './edit-tree.ts';
import { toText } from './read-line.ts';

export interface GlobalBranch extends GlobalFiles {
  tip: Oid;
}

const maxAttempts = 10;

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

export async function readGlobal(project: Project): Promise<GlobalBranch | null> {
  const { store } = project.repository;
  const tip = await store.resolve(globalRef);
  if (tip === null) return null;
  const read = async (name: string) => toText((await store.readFile(tip, name as RepoPath))?.bytes ?? null);
  const [memos, globalContext] = await Promise.all([read('memos.yaml'), read('global.context')]);
  const agents = new Map<string, string>();
  for (const { name, oid } of (await store.readDir(tip, 'agents' as RepoPath))?.entries ?? []) {
    if (name.endsWith('.md')) agents.set(name.slice(0, -'.md'.length), toText(await store.readBlob(oid)));
  }
  return { tip, memos, globalContext, agents };
}

/** `change` returns the files to set, or null when there is nothing to do; it is asked again after a lost race. */
export async function changeGlobal(
  project: Project,
  message: string,
  change: (current: GlobalBranch) => { name: string; text: string }[] | null,
): Promise<void> {
  const { store } = project.repository;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    await ensureGlobal(project);
    const current = await readGlobal(project);
    if (current === null) continue;
    const files = change(current);
    if (files === null) return;
    const batch = store.batch();
    const edits = await Promise.all(
      files.map(async ({ name, text }) => ({
        path: name as RepoPath,
        entry: { mode: '100644' as const, oid: await batch.blob(text) },
      })),
    );
    const tree = await editTree(store, batch, (await store.readCommit(current.tip)).tree, edits);
    const commit = await batch.commit({ tree, parents: [current.tip], ...(await store.ident()), message });
    await batch.flush();
    const update = { ref: globalRef as RefName, old: current.tip, new: commit };
    if ((await store.updateRefs([update], `teddy: ${message.split('\n')[0] ?? ''}`)) === 'done') return;
  }
  throw new TeddyError('REF_MOVED', 'teddy/global moved while it was changed, ten times.', 'Run the command again.');
}

/** One step on a line, based on the current state: code and session files are added, changed and removed. */
import type { Publication, Repository, TreeEntry } from '../../src/ports/git.ts';
import type { Oid, RefName } from '../../src/names.ts';
import { path } from './disk.ts';

/** Its commit and objects exist; publishing it is left to the test. An unborn branch is fine. */
export async function publicationOf(
  repository: Repository,
  ref: RefName = 'refs/heads/main' as RefName,
): Promise<Publication> {
  const { store } = repository;
  const old = await store.resolve(ref);
  const batch = store.batch();
  const blob = async (text: string) => ({ mode: '100644' as const, oid: await batch.blob(text) });
  const tree = (entries: TreeEntry[]) => batch.tree(entries);
  const plan = { name: 'plan.md', ...(await blob('plan\n')) };
  const turn: TreeEntry = { mode: '40000', name: '02', oid: await tree([plan]) };
  const session: TreeEntry = { mode: '40000', name: 'x', oid: await tree([turn]) };
  const sessions: TreeEntry = { mode: '40000', name: 'sessions', oid: await tree([session]) };
  const entries: TreeEntry[] = [
    { mode: '40000', name: '.teddy', oid: await tree([sessions]) },
    { name: 'a.txt', ...(await blob('changed\n')) },
    { name: 'new.txt', ...(await blob('new\n')) },
  ];
  const kept =
    old === null ? [] : (await store.readDir(old, path('')))?.entries.filter(({ name }) => name === 'mine.txt');
  const who = 'Ada Example <ada@example.org> 1769248800 +0000';
  const next = await batch.commit({
    tree: await tree([...entries, ...(kept ?? [])]),
    parents: old === null ? [] : [old],
    author: who,
    committer: who,
    message: 'next\n',
  });
  await batch.flush();
  return { ref, old, new: next, reflog: 'teddy: test', ...(await followersOf(repository, old, next)) };
}

async function followersOf(
  { store }: Repository,
  old: Oid | null,
  next: Oid,
): Promise<Pick<Publication, 'index' | 'files'>> {
  const changes = await store.diffTrees(old, next);
  const index = changes.map(({ path: name, after, mode }) => ({
    path: name,
    entry: after === null || mode === null ? null : { mode, oid: after },
  }));
  const session = changes.filter(({ path: name }) => name.startsWith('.teddy/'));
  const files = await Promise.all(
    session.map(async ({ path: name, after }) => ({ path: name, bytes: after && (await store.readBlob(after)) })),
  );
  return { index, files };
}

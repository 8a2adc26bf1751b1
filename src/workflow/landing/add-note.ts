/** Adds a note to a commit, where `git notes` finds it, beside those of others. */
import { TeddyError } from '../../errors.ts';
import type { Oid, RefName, RepoPath } from '../../names.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { appendCommit } from '../line/append.ts';

export async function hasNote(store: Store, ref: RefName, commit: Oid): Promise<boolean> {
  return (await findNote(store, await store.resolve(ref), commit)).isTaken;
}

/**
 * By compare-and-swap, which `git notes add` does without: of 20 notes that it was told to add at once, it kept 7, and failed for none.
 * False: the commit has a note already, which stays. Throws REF_MOVED.
 */
export async function addNote(
  project: Pick<Project, 'repository'>,
  ref: RefName,
  commit: Oid,
  text: string,
): Promise<boolean> {
  const reason = `note on ${commit.slice(0, 10)}`;
  const added = await appendCommit(project, { ref, reason }, async (tip) => {
    const { path, isTaken } = await findNote(project.repository.store, tip, commit);
    return isTaken ? null : { message: 'Notes added by teddy\n', files: [{ path, bytes: text }] };
  }).catch((error: unknown) => {
    if (!(error instanceof TeddyError) || error.code !== 'REF_MOVED') throw error;
    const message = `${ref} has moved again and again, or it is no branch of notes.`;
    throw new TeddyError('REF_MOVED', message, `\`git log ${ref}\` shows what is there.`, { cause: error });
  });
  return added !== null;
}

/**
 * The place of a commit's note. A tree of notes is a table of ids, the first digits of which may be names of directories; one that has
 * both kinds of places git cannot merge with another one.
 */
async function findNote(store: Store, notes: Oid | null, commit: Oid): Promise<{ path: RepoPath; isTaken: boolean }> {
  let [tree, above, rest]: [Oid | null, string, string] = [notes && (await store.readCommit(notes)).tree, '', commit];
  for (;;) {
    const entries = tree === null ? [] : await store.readTree(tree);
    const [digits, name] = [rest.slice(0, 2), rest.slice(2)];
    const isTaken = entries.some((entry) => entry.name === rest);
    const below = entries.find((entry) => entry.mode === '40000' && entry.name === digits);
    if (isTaken || below === undefined) {
      const isFlat = entries.some((entry) => entry.mode !== '40000' && /^[0-9a-f]+$/.test(entry.name));
      const isSplit = !isTaken && (above === '' ? !isFlat : entries.some((entry) => /^[0-9a-f]{2}$/.test(entry.name)));
      return { path: `${above}${isSplit ? `${digits}/${name}` : rest}` as RepoPath, isTaken };
    }
    [tree, above, rest] = [below.oid, `${above}${digits}/`, name];
  }
}

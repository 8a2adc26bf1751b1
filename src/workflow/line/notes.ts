/** Notes on commits, at the paths where `git notes` finds them among other commits' notes. */
import { TeddyError } from '../../errors.ts';
import { isOid, type Oid, type RefName, type RepoPath } from '../../names.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { toText } from '../../view/view.ts';
import { appendCommit } from './append.ts';

/** Returns true if a commit has a note. */
export async function hasNote(store: Store, ref: RefName, commit: Oid): Promise<boolean> {
  return (await findNote(store, await store.resolve(ref), commit)).isTaken;
}

/**
 * Adds a note by compare-and-swap. `git notes add` does not use it: of 20 concurrent notes it kept 7, and reported no
 * failure. Returns false when the commit already has a note, which stays. Throws REF_MOVED.
 */
export function addNote(
  project: Pick<Project, 'repository'>,
  ref: RefName,
  commit: Oid,
  text: string,
): Promise<boolean> {
  return writeNote(project, ref, commit, (before) => (before === null ? text : null));
}

/**
 * Adds lines to a commit's note as git's strategy `cat_sort_uniq` does: every line once, sorted. Returns false when the
 * note already has them all. Throws REF_MOVED.
 */
export function addNoteLines(
  project: Pick<Project, 'repository'>,
  ref: RefName,
  commit: Oid,
  lines: readonly string[],
): Promise<boolean> {
  return writeNote(project, ref, commit, (before) => {
    const known = new Set((before ?? '').split('\n').filter((line) => line !== ''));
    if (lines.every((line) => known.has(line))) return null;
    return [...new Set([...known, ...lines])]
      .toSorted()
      .map((line) => `${line}\n`)
      .join('');
  });
}

/** Returns the text of a commit's note; null when there is none, or when it has more bytes than `most`. */
export async function readNote(store: Store, notes: Oid, commit: Oid, most: number): Promise<string | null> {
  const { path, isTaken } = await findNote(store, notes, commit);
  const oid = isTaken ? await store.findOid(notes, path) : null;
  const size = oid === null ? null : await store.readSize(oid);
  return oid === null || size === null || size > most ? null : toText(await store.readBlob(oid));
}

/** Returns the IDs of all commits that have a note. */
export async function listNoted(store: Store, notes: Oid): Promise<Oid[]> {
  return (await store.listTree(notes)).map(({ path }) => path.replaceAll('/', '')).filter(isOid);
}

/** Writes what `edit` makes of a commit's note; null leaves it as it is. */
async function writeNote(
  project: Pick<Project, 'repository'>,
  ref: RefName,
  commit: Oid,
  edit: (before: string | null) => string | null,
): Promise<boolean> {
  const { store } = project.repository;
  const reason = `note on ${commit.slice(0, 10)}`;
  const added = await appendCommit(project, { ref, reason }, async (tip) => {
    const { path, isTaken } = await findNote(store, tip, commit);
    const before = isTaken && tip !== null ? await store.readFile(tip, path) : null;
    const text = edit(isTaken ? toText(before?.bytes ?? new Uint8Array()) : null);
    return text === null ? null : { message: 'Notes added by teddy\n', files: [{ path, bytes: text }] };
  }).catch((error: unknown) => {
    if (!(error instanceof TeddyError) || error.code !== 'REF_MOVED') throw error;
    const message = `${ref} kept moving, or is not a notes ref.`;
    throw new TeddyError('REF_MOVED', message, `\`git log ${ref}\` shows what is there.`, { cause: error });
  });
  return added !== null;
}

/**
 * Finds the path of a commit's note. A notes tree is a table of IDs whose first digits may be directory names; git
 * cannot merge a tree that mixes both forms.
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

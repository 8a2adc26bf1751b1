/** The only way in which a line grows: objects first, then one ref update by compare-and-swap, then index and files. */
import { TeddyError } from '../../errors.ts';
import type { LineCommit, ObjectBatch, Publication, Store, TreeMode, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { KnownRecord } from '../../conversation/records/record.ts';
import type { Entry } from '../../session/entries/entry.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { shortRef, type Oid, type RefName } from '../../names.ts';
import { openDrafts, type Draft, type Drafts, type FileEdit, type AppendPosition } from './append-drafts.ts';
import { dateAuthor, writeCommit, type CommitBase, type WrittenCommit } from './append-tree.ts';
import { retryWhileMoved } from './move-refs.ts';
import { readLineAt, type LineState, type LineTurns } from '../../view/view.ts';

export type { Draft, EntryTrailers, FileEdit, AppendPosition, StartPosition } from './append-drafts.ts';

/** A line to append entries to. `State` is the type of the line's state that `decide` receives. */
export interface Line<State extends LineTurns = LineState> {
  ref: RefName;
  /** The work tree that has the line checked out, if any; its index and files follow the line. */
  workspace: Workspace | null | (() => Promise<Workspace | null>);
  /** The line as the caller read it. */
  state?: LineState;
  /** Reads the line in a different way; the entries go on top of the tip in the returned state. */
  read?(tip: Oid): Promise<State>;
  /** The reason for the reflog. Defaults to the title of the last entry. */
  reason?: string;
  /** True to not report masked secrets. */
  isQuiet?: boolean;
}

/**
 * The entries to append, or none; the caller receives `value` or `leave`. When nothing is appended, teddy checks the
 * ref once more, unless `asRead` is set.
 */
type Decision = readonly Draft[] | { drafts: readonly Draft[]; value: unknown } | { leave: unknown; asRead?: true };

export interface AppendedEntry {
  commit: Oid;
  entry: Entry;
  /** The entry's records as appended. */
  records: readonly KnownRecord[];
}

/** The last entry; its fields are null when nothing was appended. */
type Appended<Decided extends Decision> = Decided extends { leave: infer Left }
  ? { [key in keyof AppendedEntry]: null } & { value: Left }
  : AppendedEntry & { value: Decided extends { value: infer Value } ? Value : undefined };

/**
 * Appends entries to a line with a single ref move. `decide` receives the line's current state and returns the entries
 * to append; after a lost race, it is called again with the new state, and throws if its entries no longer fit. Throws
 * REF_MOVED after ten lost races.
 */
export async function append<Decided extends Decision, State extends LineTurns = LineState>(
  project: Project,
  line: Line<State>,
  decide: (state: State) => Decided | Promise<Decided>,
): Promise<Appended<Decided>> {
  const { store } = project.repository;
  const { ref, reason, isQuiet = false } = line;
  let { workspace } = line;
  let masked = 0;
  const appended = await retryWhileMoved(project, ref, async () => {
    // The caller may have read the line a while ago, so the entry is checked against the current tip.
    const tip = await store.resolve(ref);
    if (tip === null)
      throw new TeddyError(
        'REF_MOVED',
        `The branch ${shortRef(ref)} is gone.`,
        '`teddy list` shows the sessions and their branches.',
      );
    const state = await readState(project, line, tip);
    const decided = await decide(state);
    if ('leave' in decided) {
      const isSure = decided.asRead === true || (await isStill(store, ref, tip));
      return isSure ? { commit: null, entry: null, records: null, value: decided.leave } : null;
    }
    const { drafts, value } = 'drafts' in decided ? decided : { drafts: decided, value: undefined };
    const written = await writeDrafts(project, state, drafts);
    masked = written.masked;
    const follower = typeof workspace === 'function' ? await workspace() : workspace;
    if (await publish(store, { ref, workspace: follower, reason }, state.tip, written))
      return { ...toAppended(written), value };
    // A plan's command, or the user in another terminal, may have switched branches; then only the ref has to move.
    if (workspace === follower && follower !== null && (await follower.head()).ref !== ref) {
      project.notices.warn(`HEAD is no longer on ${shortRef(ref)}; the entry was still added there.`);
      workspace = null;
    }
    return null;
  });
  if (masked > 0 && appended.commit !== null && !isQuiet)
    project.notices.warn(`${masked} ${masked === 1 ? 'secret was' : 'secrets were'} masked in it.`);
  return appended as Appended<Decided>;
}

function readState<State extends LineTurns>(project: Project, line: Line<State>, tip: Oid): Promise<State> {
  if (line.read !== undefined) return line.read(tip);
  const workspace = typeof line.workspace === 'function' ? null : line.workspace;
  const state: Promise<LineTurns> = readLineAt(project.repository.store, { ...line, workspace }, tip);
  return state as Promise<State>;
}

/** Checks the ref again when nothing is appended. When an entry is appended, git itself compares the tip. */
async function isStill(store: Store, ref: RefName, tip: Oid): Promise<boolean> {
  store.readAnew();
  return (await store.resolve(ref)) === tip;
}

/** Begins a branch with an entry. Returns null when a branch of that name already exists. */
export async function beginLine(
  project: Project,
  ref: RefName,
  place: AppendPosition,
  draft: Draft,
  reason?: string,
): Promise<AppendedEntry | null> {
  const written = await writeDrafts(project, place, [draft]);
  const target = { ref, workspace: null, reason };
  return (await publish(project.repository.store, target, null, written)) ? toAppended(written) : null;
}

/** Writes the entries that `append` would write, durably but not on any branch. `masked` counts the secrets found in them. */
export async function writeEntries(
  project: Project,
  place: AppendPosition,
  drafts: readonly Draft[] | AsyncIterable<Draft>,
): Promise<AppendedEntry & { masked: number }> {
  const written = await writeDrafts(project, place, drafts);
  await written.durable;
  return { ...toAppended(written), masked: written.masked };
}

/** A commit on a branch that is not a line; it keeps its parent's files except for `files`. */
export interface PlainCommit {
  message: string;
  files: FileEdit[];
  /** The work tree that has the branch checked out, if any. */
  workspace?: Workspace | null;
}

/**
 * Appends a commit to a branch that is not a line. When the branch does not exist, `decide` receives a null tip and the
 * commit begins the branch. Returns null when there is nothing to commit.
 */
export async function appendCommit(
  project: Pick<Project, 'repository'>,
  { ref, reason }: { ref: RefName; reason?: string },
  decide: (tip: Oid | null) => Promise<PlainCommit | null>,
): Promise<Oid | null> {
  const { store } = project.repository;
  const { commit } = await retryWhileMoved(project, ref, async () => {
    const tip = await store.resolve(ref);
    const decided = await decide(tip);
    if (decided === null) return { commit: null };
    const { workspace = null, ...content } = decided;
    const written = await writeOne(store, { tip, entryOid: null, session: null }, content);
    return (await publish(store, { ref, workspace, reason }, tip, written)) ? { commit: written.commit } : null;
  });
  return commit;
}

/** The last written commit and everything needed to publish it. */
interface Written extends WrittenCommit {
  message: string;
  files: FileEdit[];
  durable: Promise<void>;
}

interface WrittenEntries extends Written, AppendedEntry {
  masked: number;
}

function toAppended({ commit, entry, records }: WrittenEntries): AppendedEntry {
  return { commit, entry, records };
}

/** Up to this many entries after the first are written as loose objects; more entries go into one pack. */
const looseEntries = 8;

/**
 * Writes the drafts as commits. The first commit repairs session files that a user's commit has changed. When there are
 * several commits, all of them are durable on return.
 */
async function writeDrafts(
  project: Project,
  place: AppendPosition,
  wanted: readonly Draft[] | AsyncIterable<Draft>,
): Promise<WrittenEntries> {
  const { store } = project.repository;
  const isStream = Symbol.asyncIterator in wanted;
  const drafts = openDrafts(project, place, { isStream });
  if (isStream) return writePack(store, drafts, toWritten(place), wanted);
  const { tip, session } = place;
  let base: CommitBase =
    place.entry === null ? { tip, entryOid: null, session: null } : { tip, entryOid: place.entryOid, session };
  let written: WrittenEntries | null = null;
  for (const [at, draft] of wanted.entries()) {
    await written?.durable;
    if (written !== null && wanted.length > looseEntries + 1)
      return writePack(store, drafts, written, wanted.slice(at));
    const content = await drafts.add(draft);
    const made = await writeOne(store, base, content);
    written = { ...content, ...made, masked: drafts.masked() };
    base = { tip: made.commit, entryOid: made.commit, session };
  }
  if (written === null) throw new Error('At least one entry has to be written.');
  if (wanted.length === 1) return written;
  await written.durable;
  return { ...written, edits: null };
}

async function writeOne<Content extends Parameters<typeof writeCommit>[3]>(
  store: Store,
  base: CommitBase,
  content: Content,
): Promise<Content & WrittenCommit & { durable: Promise<void> }> {
  const batch: ObjectBatch = store.batch();
  const made = await writeCommit(store, batch, base, content);
  // Writes the objects while preparing the publication, which waits for them before it moves the ref.
  const durable = batch.flush();
  durable.catch(() => undefined);
  return { ...content, ...made, durable };
}

/** Returns the entry that a stream of entries follows. */
function toWritten({ tip, entry }: AppendPosition): WrittenEntries {
  if (tip === null || entry === null) throw new Error('A stream of entries needs an existing entry to follow.');
  return {
    commit: tip,
    entry,
    message: '',
    files: [],
    records: [],
    edits: null,
    durable: Promise.resolve(),
    masked: 0,
  };
}

/** Writes a single pack, which saves a process, a file and a sync per entry. */
async function writePack(
  store: Store,
  drafts: Drafts,
  before: WrittenEntries,
  wanted: Iterable<Draft> | AsyncIterable<Draft>,
): Promise<WrittenEntries> {
  let last: Pick<WrittenEntries, 'message' | 'files' | 'entry' | 'records'> = before;
  async function* toCommits(): AsyncIterable<LineCommit> {
    for await (const draft of wanted) {
      const content = await drafts.add(draft);
      last = content;
      const files = content.files.map(({ path, bytes }) => ({ path, bytes: toBytes(bytes) ?? new Uint8Array() }));
      yield { ...dateAuthor(await store.ident(), content.at), message: content.message, files };
    }
  }
  const commit = await store.writeLine(before.commit, toCommits());
  return { ...before, ...last, commit, edits: null, masked: drafts.masked() };
}

/**
 * Tries once to move the ref from `old` (null: the ref must not exist). Returns false when the ref had another value;
 * in that case nothing changes.
 */
async function publish(
  store: Store,
  { ref, workspace, reason }: { ref: RefName; workspace: Workspace | null; reason: string | undefined },
  old: Oid | null,
  { commit, message, files, edits, durable }: Written,
): Promise<boolean> {
  const reflog = `teddy: ${reason ?? message.split('\n')[0] ?? ''}`;
  if (!workspace) return (await store.updateRefs([{ ref, old, new: commit }], reflog, durable)) === 'done';
  const followers =
    edits !== null
      ? { index: edits, files: files.map(({ path, bytes }) => ({ path, bytes: toBytes(bytes) })) }
      : await durable.then(() => findFollowers(store, old, commit));
  return (await workspace.publish({ ref, old, new: commit, reflog, durable, ...followers })) === 'done';
}

function toBytes(content: FileEdit['bytes']): Uint8Array | null {
  return typeof content === 'string' ? new TextEncoder().encode(content) : content;
}

/** The index and work tree follow exactly the paths that the commits changed. */
async function findFollowers(
  store: Store,
  tip: Oid | null,
  commit: Oid,
): Promise<Pick<Publication, 'index' | 'files'>> {
  const changes = await store.diffTrees(tip, commit);
  const index = changes.map(({ path, after, mode }) => ({
    path,
    entry: after === null || mode === null ? null : { oid: after, mode: mode as TreeMode },
  }));
  const session = changes.filter(({ path }) => isSessionPath(path));
  const files = await Promise.all(
    session.map(async ({ path, after }) => ({ path, bytes: after === null ? null : await store.readBlob(after) })),
  );
  return { index, files };
}

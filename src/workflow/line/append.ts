/** The one way a line grows: objects first, then one ref update by compare-and-swap, then index and files. */
import { TeddyError } from '../../errors.ts';
import type { LineCommit, ObjectBatch, Publication, Store, TreeMode, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { KnownRecord } from '../../conversation/records/record.ts';
import type { Entry } from '../../session/entries/entry.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { shortRef, type Oid, type RefName } from '../../names.ts';
import { openDrafts, type Draft, type Drafts, type FileEdit, type Place } from './append-drafts.ts';
import { dateAuthor, writeCommit, type CommitBase, type WrittenCommit } from './append-tree.ts';
import { retryWhileMoved } from './move-refs.ts';
import { readLineAt, type LineState, type LineTurns } from '../../view/view.ts';

export type { Draft, EntryTrailers, FileEdit, Place, StartPlace } from './append-drafts.ts';

/** A line that entries are appended to. `State`: what is known of it when it is decided what to append. */
export interface Line<State extends LineTurns = LineState> {
  ref: RefName;
  /** The work tree whose HEAD is on the line, if any: its index and files follow. */
  workspace: Workspace | null | (() => Promise<Workspace | null>);
  /** The line as the caller has read it. */
  state?: LineState;
  /** Reads the line in another way; the entries go on top of the tip that it returns. */
  read?(tip: Oid): Promise<State>;
  /** The reason in the reflog; without it, the title of the last entry. */
  reason?: string;
  /** Nobody is told of secrets that were masked. */
  isQuiet?: boolean;
}

/**
 * The entries to append, or nothing; `value` and what it is left at come back to the caller. Where nothing is appended, the line is
 * looked at once more, but with `asRead`.
 */
type Decision = readonly Draft[] | { drafts: readonly Draft[]; value: unknown } | { leave: unknown; asRead?: true };

export interface AppendedEntry {
  commit: Oid;
  entry: Entry;
  /** Its records as they were appended. */
  records: readonly KnownRecord[];
}

/** The last entry, null where nothing was appended. */
type Appended<Decided extends Decision> = Decided extends { leave: infer Left }
  ? { [key in keyof AppendedEntry]: null } & { value: Left }
  : AppendedEntry & { value: Decided extends { value: infer Value } ? Value : undefined };

/**
 * `decide` gets the line as it is and says what to append, all of it by one move of the ref; after a lost race the line is read
 * anew and it is asked again. It throws if its entries no longer fit. Throws REF_MOVED after ten lost races.
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
    // The caller's reading may be old: the entry is compared against the tip of this moment.
    const tip = await store.resolve(ref);
    if (tip === null)
      throw new TeddyError('REF_MOVED', `${shortRef(ref)} is gone.`, '`teddy session list` shows the lines.');
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
    // A command of a plan, or the user in another terminal, may have switched branches: then only the ref has to move.
    if (workspace === follower && follower !== null && (await follower.head()).ref !== ref) {
      project.notices.warn(`HEAD has left ${shortRef(ref)}; the entry goes there all the same.`);
      workspace = null;
    }
    return null;
  });
  if (masked > 0 && appended.commit !== null && !isQuiet)
    project.notices.warn(`${masked} ${masked === 1 ? 'secret in it was' : 'secrets in it were'} masked.`);
  return appended as Appended<Decided>;
}

function readState<State extends LineTurns>(project: Project, line: Line<State>, tip: Oid): Promise<State> {
  if (line.read !== undefined) return line.read(tip);
  const workspace = typeof line.workspace === 'function' ? null : line.workspace;
  const state: Promise<LineTurns> = readLineAt(project.repository.store, { ...line, workspace }, tip);
  return state as Promise<State>;
}

/** Looks at the ref again where nothing is appended: for an entry, git compares the tip once more itself. */
async function isStill(store: Store, ref: RefName, tip: Oid): Promise<boolean> {
  store.readAnew();
  return (await store.resolve(ref)) === tip;
}

/** Begins a branch with an entry: null when there is one of that name. */
export async function beginLine(
  project: Project,
  ref: RefName,
  place: Place,
  draft: Draft,
  reason?: string,
): Promise<AppendedEntry | null> {
  const written = await writeDrafts(project, place, [draft]);
  const target = { ref, workspace: null, reason };
  return (await publish(project.repository.store, target, null, written)) ? toAppended(written) : null;
}

/** Writes the entries that `append` would, durable, on no branch; `masked`: how many secrets they had. */
export async function writeEntries(
  project: Project,
  place: Place,
  drafts: readonly Draft[] | AsyncIterable<Draft>,
): Promise<AppendedEntry & { masked: number }> {
  const written = await writeDrafts(project, place, drafts);
  await written.durable;
  return { ...toAppended(written), masked: written.masked };
}

/** A commit of a branch that is no line, with the files of the one before it but for these. */
export interface PlainCommit {
  message: string;
  files: FileEdit[];
  /** The work tree whose HEAD is on the branch, if any. */
  workspace?: Workspace | null;
}

/** The same for such a branch, which is begun where it is not there: `tip` is null then. Null: nothing was to be committed. */
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

/** The last of the commits that are written, with what a publication has to know of it. */
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

/** Entries after the first, up to this number, are objects of their own; more are one pack. */
const looseEntries = 8;

/** The first commit puts right what a commit of the user's has changed. Where there are several, all are durable already. */
async function writeDrafts(
  project: Project,
  place: Place,
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
  if (written === null) throw new Error('There is an entry to write.');
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
  // Written while the publication is prepared, which waits for them before the ref moves.
  const durable = batch.flush();
  durable.catch(() => undefined);
  return { ...content, ...made, durable };
}

/** The entry after which a stream of them follows. */
function toWritten({ tip, entry }: Place): WrittenEntries {
  if (tip === null || entry === null) throw new Error('Many entries follow one that is there.');
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

/** Writes one pack: no process, no file and no sync for each entry. */
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

/** One attempt to move the ref from `old`; null: it must not exist. False: it was elsewhere, and nothing has changed. */
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

/** Index and work tree follow exactly the paths that the commits changed. */
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

/** The one way a line grows: objects first, then one ref update by compare-and-swap, then index and files. */
import { TeddyError } from '../../errors.ts';
import type { LineCommit, Publication, Store, TreeMode, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { KnownRecord } from '../../conversation/record.ts';
import type { Entry } from '../../session/entry.ts';
import { isSessionPath } from '../../session/global-files.ts';
import { shortRef, type Oid, type RefName } from '../../names.ts';
import { openDrafts, type Draft, type Drafts, type EntryContent, type FileEdit, type Place } from './append-drafts.ts';
import { dateAuthor, writeCommit, type CommitBase, type WrittenCommit } from './append-tree.ts';
import { retryWhileMoved } from './move-refs.ts';
import { readLineAt, type LineState, type LineTurns } from './read.ts';

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
  /** Why the ref moves, for its reflog; without it, the title of the last entry. */
  reason?: string;
  /** Nobody is there to be told of what happens. */
  isQuiet?: boolean;
}

/**
 * The entries to append, or nothing. The caller gets `value`, or what it leaves it at, back. With `asRead`, nothing is decided by
 * the line as it was read; otherwise it is looked at once more.
 */
type Decision = readonly Draft[] | { drafts: readonly Draft[]; value: unknown } | { leave: unknown; asRead?: true };

/** The last entry and its commit, null where nothing was appended. */
type Appended<Decided extends Decision> = Decided extends { leave: infer Left }
  ? { commit: null; entry: null; records: null; value: Left }
  : Decided extends { value: infer Value }
    ? AppendedEntry & { value: Value }
    : AppendedEntry & { value: undefined };

export interface AppendedEntry {
  commit: Oid;
  entry: Entry;
  /** Its records as they were appended. */
  records: KnownRecord[];
}

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
  const { ref, isQuiet = false } = line;
  let { workspace } = line;
  const appended = await retryWhileMoved(project, ref, async () => {
    // The caller's reading may be old: the entry is compared against the tip of this moment.
    const tip = await store.resolve(ref);
    if (tip === null)
      throw new TeddyError('REF_MOVED', `${shortRef(ref)} is gone.`, '`teddy session list` shows the lines.');
    const state = await readState(project, line, tip);
    const decided = await decide(state);
    if ('leave' in decided) return decided.asRead || (await isStill(store, ref, tip)) ? toLeft(decided.leave) : null;
    const [drafts, value] = 'drafts' in decided ? [decided.drafts, decided.value] : [decided, undefined];
    const written = await writeDrafts(project, state, drafts);
    const follower = typeof workspace === 'function' ? await workspace() : workspace;
    if (await publish(store, { ref, workspace: follower, reason: line.reason }, state.tip, written))
      return { ...toAppended(written), masked: written.masked, value };
    // A command of a plan, or the user in another terminal, may have switched branches: then only the ref has to move.
    if (workspace === follower && follower !== null && (await follower.head()).ref !== ref) {
      project.notices.warn(`HEAD has left ${shortRef(ref)}; the entry goes there all the same.`);
      workspace = null;
    }
    return null;
  });
  const { masked, ...result } = appended;
  if (masked > 0 && !isQuiet)
    project.notices.warn(`${masked} ${masked === 1 ? 'secret in it was' : 'secrets in it were'} masked.`);
  return result as Appended<Decided>;
}

function readState<State extends LineTurns>(project: Project, line: Line<State>, tip: Oid): Promise<State> {
  if (line.read !== undefined) return line.read(tip);
  const { workspace } = line;
  const target = { ...line, workspace: typeof workspace === 'function' ? null : workspace };
  return readLineAt(project.repository.store, target, tip) as Promise<LineTurns> as Promise<State>;
}

/** Where something is appended, git compares the tip once more; so it is looked at again where nothing is. */
async function isStill(store: Store, ref: RefName, tip: Oid): Promise<boolean> {
  store.readAnew();
  return (await store.resolve(ref)) === tip;
}

function toLeft(value: unknown) {
  return { commit: null, entry: null, records: null, masked: 0, value };
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
  files: readonly FileEdit[];
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
    const batch = store.batch();
    const content = { message: decided.message, files: [...decided.files] };
    const made = await writeCommit(store, batch, { tip, entryOid: null, session: null }, content);
    const written = { ...made, ...content, durable: flush(batch) };
    const isDone = await publish(store, { ref, workspace: decided.workspace ?? null, reason }, tip, written);
    return isDone ? { commit: made.commit } : null;
  });
  return commit;
}

/** Commits that are written, the last one with what a publication has to know of it. */
interface Written extends Partial<Pick<WrittenCommit, 'edits' | 'isOnTip'>> {
  commit: Oid;
  message: string;
  files: FileEdit[];
  durable: Promise<void>;
}

type WrittenEntries = Written & Pick<EntryContent, 'entry' | 'records'> & { masked: number };

function toAppended({ commit, entry, records }: WrittenEntries): AppendedEntry {
  return { commit, entry, records };
}

/** So few are objects of their own; more are one pack. */
const looseEntries = 8;

/** The first commit puts right what a commit of the user's has changed. Those after it are durable when this resolves. */
async function writeDrafts(
  project: Project,
  place: Place,
  wanted: readonly Draft[] | AsyncIterable<Draft>,
): Promise<WrittenEntries> {
  const { store } = project.repository;
  const isEndless = !Array.isArray(wanted);
  const drafts = openDrafts(project, place, { isEndless });
  if (isEndless) return writePack(store, drafts, toWritten(place), wanted as AsyncIterable<Draft>);
  const [first, ...rest] = wanted as readonly Draft[];
  if (first === undefined) throw new Error('There is an entry to write.');
  let written = await writeOne(store, drafts, toBase(place), first);
  if (rest.length === 0) return written;
  await written.durable;
  if (rest.length > looseEntries) return writePack(store, drafts, written, rest);
  for (const draft of rest) {
    const { commit } = written;
    const { isOnTip: _, ...next } = await writeOne(
      store,
      drafts,
      { ...toBase(place), tip: commit, entryOid: commit },
      draft,
    );
    await next.durable;
    written = next;
  }
  return written;
}

function toBase(place: Place): CommitBase {
  const { tip, session } = place;
  return place.entry === null ? { tip, entryOid: null, session: null } : { tip, entryOid: place.entryOid, session };
}

async function writeOne(store: Store, drafts: Drafts, base: CommitBase, draft: Draft): Promise<WrittenEntries> {
  const content = await drafts.add(draft);
  const batch = store.batch();
  const made = await writeCommit(store, batch, base, content);
  // Written while the publication is prepared, which waits for them before the ref moves.
  return { ...content, ...made, durable: flush(batch), masked: drafts.masked() };
}

function flush(batch: { flush(): Promise<void> }): Promise<void> {
  const durable = batch.flush();
  durable.catch(() => undefined);
  return durable;
}

/** What is there already, where many entries follow. */
function toWritten({ tip, entry }: Place): WrittenEntries {
  if (tip === null || entry === null) throw new Error('Many entries follow one that is there.');
  return { commit: tip, entry, message: '', files: [], records: [], durable: Promise.resolve(), masked: 0 };
}

/** Many are one pack: no process, no file and no sync for each of them. */
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
  return { ...last, commit, durable: before.durable, masked: drafts.masked() };
}

/** One attempt to move the ref from `old`; null: it must not exist. False: it was elsewhere, and nothing has changed. */
async function publish(
  store: Store,
  { ref, workspace, reason }: { ref: RefName; workspace: Workspace | null; reason: string | undefined },
  old: Oid | null,
  { commit, message, durable, ...written }: Written,
): Promise<boolean> {
  const reflog = `teddy: ${reason ?? message.split('\n')[0] ?? ''}`;
  if (!workspace) return (await store.updateRefs([{ ref, old, new: commit }], reflog, durable)) === 'done';
  const { edits, files } = written;
  const followers =
    written.isOnTip === true && edits !== undefined
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

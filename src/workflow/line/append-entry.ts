/** The one way a line changes: objects first, then one ref update by compare-and-swap, then index and files. */
import { TeddyError } from '../../errors.ts';
import type { Publication, Store, TreeMode, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isSessionPath } from '../../session/global-files.ts';
import { shortRef, type Oid, type RefName } from '../../names.ts';
import type { TreeEdit } from '../../session/edit-tree.ts';
import { readLineAt, type LineState } from './read.ts';
import { writeCommit, type Draft, type FileEdit } from './write-entry.ts';

const maxAttempts = 10;

/** The entry to append; with `entry: null` nothing is appended. The caller gets `value` back in both cases. */
type Decision = (Draft | { entry: null }) & { value?: unknown };

/** `commit` is null where the decision was to append nothing. */
type Appended<Decided extends Decision> = Decided extends unknown
  ? {
      commit: Decided['entry'] extends null ? null : Oid;
      value: Decided extends { value: infer Value } ? Value : undefined;
    }
  : never;

export interface Target {
  ref: RefName;
  /** The work tree whose HEAD is on the line, if any: its index and files follow. */
  workspace: Workspace | null;
  /** The line as the caller has read it. */
  state?: LineState;
}

/**
 * Appends one entry. `decide` gets the line as it is and says what to append; after a lost race the line is read anew and it
 * is asked again. It throws if its entry no longer fits. Throws REF_MOVED after ten lost races.
 */
export async function appendEntry<Decided extends Decision>(
  project: Project,
  target: Target,
  decide: (state: LineState) => Decided | Promise<Decided>,
): Promise<Appended<Decided>> {
  const { store } = project.repository;
  const { ref } = target;
  let { workspace } = target;
  return retryWhileMoved(project, ref, async () => {
    // The caller's reading may be old: the entry is compared against the tip of this moment.
    const tip = await store.resolve(ref);
    if (tip === null)
      throw new TeddyError('REF_MOVED', `${shortRef(ref)} is gone.`, '`teddy session list` shows the lines.');
    const decided = await decide(await readLineAt(store, target, tip));
    if (decided.entry === null) {
      // Where something is appended, git compares the tip once more.
      store.readAnew();
      const isStill = (await store.resolve(ref)) === tip;
      return isStill ? ({ commit: null, value: decided.value } as Appended<Decided>) : null;
    }
    const commit = await publishDraft(project, { ref, workspace }, tip, decided);
    if (commit !== null) return { commit, value: decided.value } as Appended<Decided>;
    // A command of a plan, or the user in another terminal, may have switched branches: then only the ref has to move.
    if (workspace && (await workspace.head()).ref !== ref) {
      project.notices.warn(`HEAD has left ${shortRef(ref)}; the entry goes there all the same.`);
      workspace = null;
    }
    return null;
  });
}

/** `attempt` returns null after a lost race, and then starts from what is there now. Throws REF_MOVED after ten. */
export async function retryWhileMoved<Value>(
  { repository: { store } }: Project,
  ref: RefName,
  attempt: () => Promise<Value | null>,
): Promise<Value> {
  for (let count = 1; count <= maxAttempts; count += 1) {
    const value = await attempt();
    if (value !== null) return value;
    // Grows, so that many writers spread out instead of losing to each other again.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 15 * 2 ** Math.min(count, 6)));
    store.readAnew();
  }
  throw new TeddyError(
    'REF_MOVED',
    `${shortRef(ref)} moved ${maxAttempts} times while an entry was appended.`,
    'Another program is busy on this line; run the command again.',
  );
}

/**
 * One attempt: null when the ref was not at `parent`, and nothing has changed then. With `create`, the ref must not exist
 * and `parent` (null: none) is where the new line starts from.
 */
export async function publishDraft(
  project: Project,
  { ref, workspace }: Target,
  parent: Oid | null,
  draft: Draft,
  options: { create?: boolean } = {},
): Promise<Oid | null> {
  const { store } = project.repository;
  const batch = store.batch();
  const { commit, message, edits, isOnTip } = await writeCommit(project, batch, parent, draft, options.create === true);
  // Written while the publication is prepared, which waits for them before the ref moves.
  const durable = batch.flush();
  durable.catch(() => undefined);
  const reflog = `teddy: ${message.split('\n')[0] ?? ''}`;
  const old = options.create === true ? null : parent;
  if (!workspace) {
    const moved = await store.updateRefs([{ ref, old, new: commit }], reflog, durable);
    return moved === 'done' ? commit : null;
  }
  const followers = isOnTip
    ? toFollowers(edits, draft.files)
    : await durable.then(() => findFollowers(store, old, commit));
  const outcome = await workspace.publish({ ref, old, new: commit, reflog, durable, ...followers });
  return outcome === 'done' ? commit : null;
}

/** One attempt to move the line to a commit that is written and durable: false when the ref was not at `old`. */
export async function publishCommit(
  { repository: { store } }: Project,
  { ref, workspace }: Target,
  old: Oid | null,
  commit: Oid,
  reflog: string,
): Promise<boolean> {
  const outcome = workspace
    ? await workspace.publish({ ref, old, new: commit, reflog, ...(await findFollowers(store, old, commit)) })
    : await store.updateRefs([{ ref, old, new: commit }], reflog);
  return outcome === 'done';
}

/** Index and work tree follow exactly the paths that the commit changed. */
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

/** The same without asking git, when only the draft's own files change. */
function toFollowers(edits: TreeEdit[], files: FileEdit[]): Pick<Publication, 'index' | 'files'> {
  return {
    index: edits,
    files: files.map(({ path, bytes }) => ({
      path,
      bytes: typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes,
    })),
  };
}

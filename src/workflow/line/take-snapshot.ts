/** The user's own edits become a commit of theirs before a turn builds on them. Their index and files stay as they are. */
import type { Project } from '../../ports/project.ts';
import { globalContextPath, memosPath } from '../../session/global-files.ts';
import { parseMemos } from '../../session/memos.ts';
import type { Oid, TurnName } from '../../names.ts';
import { publishDraft, retryWhileMoved } from './append-entry.ts';
import { draftSnapshot, type DraftedSnapshot, type SnapshotTarget } from './draft-snapshot.ts';
import { trustTexts } from './foreign-texts.ts';
import { readGlobal, type GlobalBranch } from './global-branch.ts';
import { maskString } from './mask-text.ts';
import { nameSome } from '../../session/name-some.ts';
import type { LeftOutFile } from './new-files.ts';
import { toText } from './read.ts';
import { previewGlobalFile, saveGlobalFile, type GlobalEdit } from './save-global.ts';
import { writeDraft, type FileEdit } from './write-entry.ts';

/**
 * Appends a `snapshot` entry if there are edits. `turn` is null before a message. Returns how many files it holds.
 * Throws PARTIALLY_STAGED, UNCOMMITTED_EDITS, PLAN_MODIFIED, FILE_MODIFIED, SNAPSHOT_FAILED; then nothing has changed.
 */
export async function takeSnapshot(project: Project, target: SnapshotTarget, turn: TurnName | null): Promise<number> {
  return retryWhileMoved(target.ref, () => trySnapshot(project, target, turn));
}

/** Null after a lost race: what is an edit has to be found out anew on the new tip. */
async function trySnapshot(project: Project, target: SnapshotTarget, turn: TurnName | null): Promise<number | null> {
  const { tip, drafted, leftOut } = await draftSnapshot(project, target, turn);
  if (drafted !== null) {
    await trustOwnList(project, drafted.draft.files);
    await mergeIntoGlobal(project, tip, drafted.draft.files);
    if ((await publishDraft(project, target, tip, drafted.draft)) === null) return null;
    tellTaken(project, drafted);
  }
  await tellLeftOut(project, leftOut);
  return drafted?.count ?? 0;
}

/** What a preview goes by: the commit that `takeSnapshot` would append, on no branch, and what it would merge. */
export interface SnapshotPreview {
  tip: Oid;
  global: GlobalBranch | null;
  count: number;
}

/** Moves no branch, and writes nothing but objects. Throws as `takeSnapshot` does. */
export async function previewSnapshot(project: Project, target: SnapshotTarget): Promise<SnapshotPreview> {
  const [{ tip, drafted, leftOut }, global] = await Promise.all([
    draftSnapshot(project, target, null),
    readGlobal(project),
  ]);
  await tellLeftOut(project, leftOut);
  if (drafted === null) return { tip, global, count: 0 };
  // What the user has edited, they have read, also before it is committed.
  await trustOwnList(project, drafted.draft.files);
  let merged = global;
  for (const edit of await readGlobalEdits(project, tip, drafted.draft.files)) {
    merged = merged && (await previewGlobalFile(project, merged, edit));
  }
  return { tip: await writeDraft(project, tip, drafted.draft), global: merged, count: drafted.count };
}

function tellTaken({ notices }: Project, { count, staged, added }: DraftedSnapshot): void {
  const parts = [
    ...(staged === 0 ? [] : [`${staged} of them staged`]),
    ...(added === 0 ? [] : [`${added} of them new`]),
  ];
  const also = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  notices.info(`${count} ${count === 1 ? 'file' : 'files'} of your own edits committed as a snapshot${also}.`);
}

async function tellLeftOut({ notices, masker }: Project, leftOut: LeftOutFile[]): Promise<void> {
  if (leftOut.length === 0) return;
  const named = nameSome(leftOut.map(({ path, reason }) => `${path} (${reason})`));
  notices.warn(`Not in the snapshot: ${await maskString(masker, named)}.`);
}

/** What the user has edited, they have read. */
async function trustOwnList(project: Project, files: FileEdit[]): Promise<void> {
  const lists = files.filter(({ path }) => path.endsWith('/session.context'));
  await trustTexts(
    project,
    lists.map(({ bytes }) => ({ text: typeof bytes === 'string' ? bytes : toText(bytes) })),
  );
}

/** Memos and the global context are everybody's: an edit of a line's copy goes to `teddy/global`, entry by entry. */
async function mergeIntoGlobal(project: Project, tip: Oid, files: FileEdit[]): Promise<void> {
  for (const edit of await readGlobalEdits(project, tip, files)) await saveGlobalFile(project, edit.name, edit);
}

/** Throws DAMAGED_SESSION before anything is written: a list that cannot be read would stop every later turn. */
async function readGlobalEdits(project: Project, tip: Oid, files: FileEdit[]): Promise<GlobalEdit[]> {
  const copies = files.filter(({ path }) => path === memosPath || path === globalContextPath);
  return Promise.all(
    copies.map(async ({ path, bytes }) => {
      const base = toText((await project.repository.store.readFile(tip, path))?.bytes ?? null);
      const mine = typeof bytes === 'string' ? bytes : toText(bytes);
      if (path === memosPath) parseMemos(mine);
      return { name: path.slice('.teddy/'.length), base, mine };
    }),
  );
}

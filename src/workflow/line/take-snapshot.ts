/** Commits the user's own edits before a turn builds on them. Their index and files do not change. */
import type { Project } from '../../ports/project.ts';
import { globalContextPath, memosPath } from '../../session/global/global-files.ts';
import { parseMemos } from '../../session/global/memos.ts';
import type { Oid, TurnName } from '../../names.ts';
import { append, writeEntries, type FileEdit } from './append.ts';
import { draftSnapshot, type CheckedOutLine, type DraftedSnapshot } from './draft-snapshot.ts';
import { trustTexts } from './foreign-texts.ts';
import { readGlobal, type GlobalBranch } from './global-branch.ts';
import { maskString } from './mask-text.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { notTracked, type LeftOutFile } from './new-files.ts';
import type { ReadyLine } from './prepare.ts';
import { toText, withEntry, type LineState } from '../../view/view.ts';
import { previewGlobalFile, saveGlobalFile, type GlobalEdit } from './save-global.ts';

/**
 * Appends a `snapshot` entry if there are edits, and returns the line with it. `turn` is null before a message. A line
 * that is not checked out has no edits. Throws PARTIALLY_STAGED, UNCOMMITTED_EDITS, PLAN_MODIFIED, FILE_MODIFIED,
 * SNAPSHOT_FAILED; in these cases, nothing changes.
 */
export async function takeSnapshot(project: Project, line: ReadyLine, turn: TurnName | null): Promise<LineState> {
  const { ref, workspace } = line;
  if (workspace === null) return line.state;
  const checkedOut = { ...line, workspace };
  // After a lost race, compares the edits with the new tip.
  const read = async () => {
    const { state, ...edits } = await draftSnapshot(project, checkedOut, turn);
    return { ...state, ...edits };
  };
  const { commit, entry, value } = await append(project, { ref, workspace, read }, async (state) => {
    const { drafted } = state;
    if (drafted === null) return { leave: state, asRead: true };
    await trustOwnList(project, drafted.files);
    await mergeIntoGlobal(project, state.tip, drafted.files);
    return { drafts: [drafted.draft], value: state };
  });
  const { drafted, leftOut, ...state } = value;
  if (drafted !== null) reportSnapshot(project, drafted);
  await reportLeftOut(project, leftOut);
  return commit === null ? state : withEntry(state, commit, entry);
}

/**
 * The line with the snapshot that `takeSnapshot` would append, as a commit that is not on any branch, and the merged
 * global files.
 */
export interface SnapshotPreview {
  state: LineState;
  global: GlobalBranch | null;
  count: number;
}

/** Previews the snapshot: does not move any branch, and writes only objects. Throws as `takeSnapshot` does. */
export async function previewSnapshot(project: Project, line: CheckedOutLine): Promise<SnapshotPreview> {
  const [{ state, drafted, leftOut }, global] = await Promise.all([
    draftSnapshot(project, line, null),
    readGlobal(project),
  ]);
  await reportLeftOut(project, leftOut);
  if (drafted === null) return { state, global, count: 0 };
  const { draft, files, count } = drafted;
  // The user has read their own edits, even before they are committed.
  await trustOwnList(project, files);
  let merged = global;
  for (const edit of await readGlobalEdits(project, state.tip, files)) {
    merged = merged && (await previewGlobalFile(project, merged, edit));
  }
  const { commit, entry } = await writeEntries(project, state, [draft]);
  return { state: withEntry(state, commit, entry), global: merged, count };
}

function reportSnapshot({ notices }: Project, { count, staged, added }: DraftedSnapshot): void {
  const parts = [
    ...(staged === 0 ? [] : [`${staged} of them staged`]),
    ...(added === 0 ? [] : [`${added} of them new`]),
  ];
  const also = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  notices.info(`Your own edits to ${count} ${count === 1 ? 'file' : 'files'} were committed as a snapshot${also}.`);
}

async function reportLeftOut({ notices, masker }: Project, leftOut: LeftOutFile[]): Promise<void> {
  const refused = leftOut.filter(({ reason }) => reason !== notTracked);
  const unknown = leftOut.filter(({ reason }) => reason === notTracked);
  if (refused.length > 0) {
    const named = nameSome(refused.map(({ path, reason }) => `${path} (${reason})`));
    notices.warn(`Left out of the snapshot: ${await maskString(masker, named)}.`);
  }
  if (unknown.length > 0) {
    const named = await maskString(masker, nameSome(unknown.map(({ path }) => path)));
    notices.info(
      `Left out of the session, because git does not track them: ${named}. \`git add\` the ones that belong in it.`,
    );
  }
}

/** Trusts a list that the user has edited, because they have read it. */
async function trustOwnList(project: Project, files: FileEdit[]): Promise<void> {
  const lists = files.filter(({ path }) => path.endsWith('/session.context'));
  await trustTexts(
    project,
    lists.map(({ bytes }) => ({ text: typeof bytes === 'string' ? bytes : toText(bytes) })),
  );
}

/** Merges the user's edits of the shared memos and global context from the line's copy into `teddy/global`, entry by entry. */
async function mergeIntoGlobal(project: Project, tip: Oid, files: FileEdit[]): Promise<void> {
  for (const edit of await readGlobalEdits(project, tip, files)) await saveGlobalFile(project, edit.name, edit);
}

/** Throws DAMAGED_SESSION before anything is written, because an unreadable list would stop every later turn. */
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

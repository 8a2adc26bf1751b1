/** Files as a run's actions leave them, and the code tree after each action. Neither needs a git process. */
import { handlerOf, typeOf } from '../../plan/actions/actions.ts';
import type { LeftFile } from '../../plan/report/journal.ts';
import type { ActionLog, Report } from '../../plan/report/report.ts';
import type { Effect } from '../../plan/effects/effect.ts';
import type { Store } from '../../ports/git.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { openEditedCode, type EditedCode } from '../line/edited-code.ts';
import { isRepository } from '../line/new-files.ts';
import type { Run, Runner } from './run.ts';

/** Reading more files than this costs more than a tree is worth. */
const maxFiles = 500;
const maxBytes = 16 * 1024 * 1024;

export async function noteWrite(
  store: Store,
  path: RepoPath,
  { before, after }: Extract<Effect, { kind: 'write' }>,
): Promise<LeftFile> {
  const batch = store.batch();
  return {
    path,
    before: before === null ? null : await batch.blob(before),
    after: { oid: await batch.blob(after) },
  };
}

/** Returns null when there are too many files, or when one of them is neither a file nor a link. */
export async function noteFiles({ place, files }: Runner, paths: RepoPath[]): Promise<LeftFile[] | null> {
  if (paths.length > maxFiles) return null;
  const { project, workspace } = place;
  const noted: LeftFile[] = [];
  let sumBytes = 0;
  for (const path of paths) {
    if (isRepository(path)) continue;
    sumBytes += (await workspace.sizeOnDisk(path)) ?? 0;
    if (sumBytes > maxBytes) return null;
    const state = await files.readState(path);
    if (state.kind === 'other') return null;
    const batch = project.repository.store.batch();
    const mode = state.kind === 'link' ? '120000' : state.kind === 'file' && state.mode & 0o100 ? '100755' : '100644';
    const after = state.kind === 'absent' ? null : await batch.blob(state.kind === 'link' ? state.target : state.bytes);
    noted.push({ path, after: after === null ? null : { mode, oid: after } });
  }
  return noted;
}

/** Returns true if the action may change files and, according to the report, has begun. */
export function mayChangeFiles({ action_type: type, status }: Pick<ActionLog, 'action_type' | 'status'>): boolean {
  const isHarmless = typeOf({ type }).writes === undefined && handlerOf({ type }).runs === undefined;
  return status !== 'SKIPPED' && !isHarmless;
}

interface TreeContext {
  store: Store;
  /** The tree before the report, and the report's tree; null when the report changes no code. */
  before: Oid;
  after: Oid | null;
  /** Paths that no commit contains. */
  leftOut: ReadonlySet<RepoPath>;
}

/** Returns the logs with a tree for each action after which the tree is known. */
export async function addTrees(
  place: TreeContext,
  logs: ActionLog[],
  run: Run,
  isRolledBack: boolean,
): Promise<ActionLog[]> {
  const trees = await listTrees(place, logs.filter(mayChangeFiles), run, isRolledBack);
  return logs.map((log) => {
    const tree = trees.get(log.index);
    return tree === undefined ? log : { ...log, tree };
  });
}

async function listTrees(
  { store, before, after, leftOut }: TreeContext,
  logs: ActionLog[],
  { files }: Run,
  isRolledBack: boolean,
): Promise<Map<number, Oid>> {
  const trees = new Map<number, Oid>();
  if (logs.length === 0) return trees;
  const code = await openEditedCode(store, before);
  const final = isRolledBack ? null : await openEditedCode(store, after ?? before);
  const last = new Map(logs.flatMap(({ index }) => (files.get(index) ?? []).map(({ path }) => [path, index] as const)));
  for (const { index } of logs) {
    const left = files.get(index);
    if (left === null) break;
    const isKnown = await applyFiles(
      code,
      (left ?? []).filter(({ path }) => !leftOut.has(path) && !isSessionPath(path)),
      (path) => (last.get(path) === index ? final : null),
    );
    if (!isKnown) break;
    trees.set(index, await code.oid());
  }
  const end = logs.at(-1);
  if (end !== undefined && final !== null) trees.set(end.index, await final.oid());
  return trees;
}

/**
 * Applies the files. `finalOf` returns the commit's version of a file if it matches the state that the action left.
 * Returns false when a file on disk differed from git's version.
 */
async function applyFiles(
  code: EditedCode,
  files: LeftFile[],
  finalOf: (path: RepoPath) => EditedCode | null,
): Promise<boolean> {
  for (const { path, before, after } of files) {
    const known = await code.get(path);
    if (before !== undefined && (known?.oid ?? null) !== before) return false;
    const final = finalOf(path);
    const made = after && { oid: after.oid, mode: after.mode ?? known?.mode ?? ('100644' as const) };
    await code.set(path, final === null ? made : await final.get(path));
  }
  return true;
}

/** Returns true if a report contains any trees; in an older report without recorded trees, their absence proves nothing. */
export function hasTrees({ action_logs: logs }: Report): boolean {
  return logs.some(({ tree }) => tree !== undefined);
}

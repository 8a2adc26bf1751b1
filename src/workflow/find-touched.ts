/** What a journaled run has touched, how each of these files was before it, and whether what is there now is the run's own. */
import type { BeginRecord, JournaledRun, KeptState } from '../plan/journal.ts';
import type { Project, Scan, Workspace } from '../ports.ts';
import { isSessionPath } from '../session/global-files.ts';
import type { Oid, RepoPath } from '../session/names.ts';
import { listChanged } from './guard-session-files.ts';
import { parentOf } from './keep-before.ts';

/** `commit`: as that commit has it, which is the case for everything that no scan named. */
export type Origin = KeptState | { kind: 'commit'; oid: Oid | null } | { kind: 'not-kept'; reason: string };

export interface TouchedFile {
  path: RepoPath;
  before: Origin;
  /** A print of what the run left there; undefined where nobody knows: the action was interrupted. */
  left: string | null | undefined;
  /** Those that may be empty without it, the deepest first. */
  directories: RepoPath[];
  byCommand: boolean;
}

/** Each path once: as it was before the first action that touched it, and as the last one left it. */
export async function findTouched(
  { project, workspace }: { project: Project; workspace: Workspace },
  { begun, ended, interrupted }: JournaledRun,
  now: Scan,
): Promise<TouchedFile[]> {
  const touched = new Map<RepoPath, TouchedFile>();
  for (const begin of begun) {
    const end = ended.find(({ log }) => log.index === begin.action);
    const left = new Map(end?.changed);
    for (const file of await findByAction(project, workspace, begin, begin === interrupted ? null : left, now)) {
      const known = touched.get(file.path);
      touched.set(
        file.path,
        known ? { ...file, before: known.before, directories: [...file.directories, ...known.directories] } : file,
      );
    }
  }
  return [...touched.values()];
}

/** `left` null: the action was interrupted. */
async function findByAction(
  project: Project,
  workspace: Workspace,
  { before }: BeginRecord,
  left: Map<RepoPath, string | null> | null,
  now: Scan,
): Promise<TouchedFile[]> {
  if (before.kind === 'none') return [];
  if (before.kind === 'write') {
    const { path, state, afterSha256, madeDirectories } = before;
    const directories = madeDirectories.toReversed();
    // A write is done as a whole or not at all: its content tells.
    return [{ path, before: state, left: `sha256:${afterSha256}`, directories, byCommand: false }];
  }
  const paths = left === null ? listChanged(new Map(before.scan), now) : [...left.keys()];
  const committed = await findCommitted(project, workspace, before.head);
  const [kept, notKept] = [new Map(before.kept), new Map(before.notKept)];
  return paths
    .filter((path) => !isSessionPath(path))
    .map((path) => ({
      path,
      before: committed.has(path)
        ? { kind: 'not-kept', reason: 'it was committed in the meantime' }
        : toOrigin(path, before.head, kept, notKept),
      left: left === null ? undefined : left.get(path),
      directories: listParents(path),
      byCommand: true,
    }));
}

function toOrigin(
  path: RepoPath,
  head: Oid | null,
  kept: Map<RepoPath, KeptState>,
  notKept: Map<RepoPath, string>,
): Origin {
  const reason = notKept.get(path);
  if (reason !== undefined) return { kind: 'not-kept', reason };
  return kept.get(path) ?? { kind: 'commit', oid: head };
}

/** Commits stay, whoever made them. */
async function findCommitted(
  { repository: { store } }: Project,
  workspace: Workspace,
  before: Oid | null,
): Promise<Set<RepoPath>> {
  const { oid } = await workspace.head();
  if (before === null || oid === null || oid === before) return new Set();
  return new Set((await store.diffTrees(before, oid)).map(({ path }) => path));
}

/** The deepest first. */
function listParents(path: RepoPath): RepoPath[] {
  const parent = parentOf(path);
  return parent === null ? [] : [parent, ...listParents(parent)];
}

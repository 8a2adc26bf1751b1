/**
 * Finds the files that a journaled run has touched, each file's earlier state, and whether its present state is the
 * run's own.
 */
import type { BeginRecord, JournaledRun, KeptState } from '../../plan/report/journal.ts';
import type { Scan, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { parentsOf, type Oid, type RepoPath } from '../../names.ts';
import { listChanged } from '../line/guard-session-files.ts';
import { anotherRepository, isRepository } from '../line/new-files.ts';

/**
 * A file's state before the run. `commit`: the state in that commit, which applies to everything that no scan named.
 * `committed`: somebody committed the file in the meantime.
 */
type Origin =
  KeptState | { kind: 'commit'; oid: Oid | null } | { kind: 'committed' } | { kind: 'not-kept'; reason: string };

/** An origin after it was looked up. */
export type KnownOrigin =
  | Extract<Origin, { kind: 'absent' | 'file' | 'link' }>
  | { kind: 'blob'; mode: string; oid: Oid }
  | { kind: 'out-of-reach'; reason: string };

export interface TouchedFile {
  path: RepoPath;
  before: Origin;
  /** Fingerprints of the files as the run's actions left them; null when unknown. */
  lefts: (string | null)[];
  /** Parent directories that the run made; teddy removes them if they are empty without the file. */
  directories: RepoPath[];
  /** Parent directories inside a user's directory that git does not track; they may be the user's. */
  unsureDirectories: RepoPath[];
  /** True when only commands touched the file. */
  byCommand: boolean;
}

/** Returns each path once: its state before the first action that touched it, and after the last one. */
export async function findTouched(
  { project, workspace }: { project: Project; workspace: Workspace },
  { begun, ended, interrupted }: JournaledRun,
  now: Scan,
): Promise<TouchedFile[]> {
  const touched = new Map<RepoPath, TouchedFile>();
  const first = begun.find(({ before }) => before.kind === 'command')?.before;
  const users = new Set(first?.kind === 'command' ? first.directories : []);
  for (const begin of begun) {
    const end = ended.find(({ log }) => log.index === begin.action);
    const isKnown = begin !== interrupted && end?.unseen !== true;
    const left = isKnown ? new Map(end?.changed.map(([path, print]) => [path, print])) : null;
    for (const file of await findByAction(project, workspace, begin, left, { now, users })) {
      const known = touched.get(file.path);
      touched.set(file.path, known ? join(known, file) : file);
    }
  }
  return [...touched.values()];
}

function join(known: TouchedFile, file: TouchedFile): TouchedFile {
  return {
    path: file.path,
    before: file.before.kind === 'committed' ? file.before : known.before,
    lefts: [...known.lefts, ...file.lefts],
    directories: [...known.directories, ...file.directories],
    unsureDirectories: [...known.unsureDirectories, ...file.unsureDirectories],
    byCommand: known.byCommand && file.byCommand,
  };
}

/** `left` is null when the action's changes are unknown. `users` are directories that existed before the first command. */
async function findByAction(
  project: Project,
  workspace: Workspace,
  { before }: BeginRecord,
  left: Map<RepoPath, string | null> | null,
  { now, users }: { now: Scan; users: Set<RepoPath> },
): Promise<TouchedFile[]> {
  if (before.kind === 'none') return [];
  if (before.kind === 'write') {
    const { path, state, afterSha256, madeDirectories } = before;
    // Somebody changed the file while teddy asked the user for approval, so teddy wrote nothing.
    if (left !== null && !left.has(path)) return [];
    // A write happens completely or not at all, so the content shows whether it happened.
    const lefts = [`sha256:${afterSha256}`];
    return [{ path, before: state, lefts, directories: madeDirectories, unsureDirectories: [], byCommand: false }];
  }
  const paths = left === null ? listChanged(new Map(before.scan), now) : [...left.keys()];
  const committed = await findCommitted(project, workspace, before.head);
  const [kept, notKept] = [new Map(before.kept), new Map(before.notKept)];
  return paths
    .filter((path) => !isSessionPath(path))
    .map((path) => ({
      path,
      before: committed.has(path) ? { kind: 'committed' } : toOrigin(path, before.head, kept, notKept),
      lefts: left === null ? [] : [left.get(path) ?? null],
      ...toMade(parentsOf(path), users),
      byCommand: true,
    }));
}

function toOrigin(
  path: RepoPath,
  head: Oid | null,
  kept: Map<RepoPath, KeptState>,
  notKept: Map<RepoPath, string>,
): Origin {
  const reason = notKept.get(path) ?? (isRepository(path) ? anotherRepository : undefined);
  if (reason !== undefined) return { kind: 'not-kept', reason };
  return kept.get(path) ?? { kind: 'commit', oid: head };
}

/** Returns files committed since; commits stay, whoever made them. */
async function findCommitted(
  { repository: { store } }: Project,
  workspace: Workspace,
  before: Oid | null,
): Promise<Set<RepoPath>> {
  const { oid } = await workspace.head();
  if (before === null || oid === null || oid === before) return new Set();
  return new Set((await store.diffTrees(before, oid)).map(({ path }) => path));
}

function toMade(parents: RepoPath[], users: Set<RepoPath>): Pick<TouchedFile, 'directories' | 'unsureDirectories'> {
  const others = parents.filter((parent) => !users.has(parent));
  const unsureDirectories = others.filter((parent) => parentsOf(parent).some((above) => users.has(above)));
  return { directories: others.filter((parent) => !unsureDirectories.includes(parent)), unsureDirectories };
}

/**
 * Finds the object that a command inspects: a line, including an archived or remote-only one; a commit; or a range of
 * commits.
 */
import { TeddyError } from '../../errors.ts';
import type { Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { isOnLine } from '../../session/entries/ancestry.ts';
import { listArchives } from '../../session/lines/archives.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import {
  globalRef,
  nameRef,
  parseLineRef,
  turnDir,
  type Oid,
  type RefName,
  type SessionId,
  type TurnName,
} from '../../names.ts';
import { findLine, lineName, type FindOptions } from './find.ts';
import { listLines } from '../../session/lines/lines.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import type { Session } from '../../view/view.ts';
import { listSessionLines, type SessionLine } from '../../session/lines/session-lines.ts';

export interface RecordedLine {
  session: SessionId;
  /** For display: a branch, an archive, or the commit or range as the user typed it. */
  name: string;
  /** Null when the user named a commit. */
  ref: RefName | null;
  tip: Oid;
  /** A range begins after this commit. */
  after: Oid | null;
}

/**
 * Finds the target. Without one, takes the line that HEAD is on, otherwise the newest open session. Throws
 * UNKNOWN_SESSION for a target that is neither a line nor a line's commit, UNKNOWN_COMMIT for the beginning of a range,
 * AMBIGUOUS_SESSION.
 */
export async function findRecorded(
  project: Project,
  target?: string,
  options: FindOptions = {},
): Promise<RecordedLine> {
  const range = parseRange(target);
  if (target === undefined || range === null) return findOne(project, target, options);
  const { from, to } = range;
  const line = await findOne(project, to === '' ? undefined : to, options);
  return { ...line, name: target, after: from === '' ? null : await requireCommit(project.repository.store, from) };
}

/** Returns null when the target is not a range. Throws UNKNOWN_COMMIT for a range with three dots. */
export function parseRange(target: string | undefined): { from: string; to: string } | null {
  const range = isPath(target) ? null : /^(.*?)\.\.(.*)$/.exec(target ?? '');
  if (range === null) return null;
  const [, from = '', to = ''] = range;
  if (to.startsWith('.'))
    throw new TeddyError(
      'UNKNOWN_COMMIT',
      `A range has two dots, and ${JSON.stringify(target)} has three.`,
      'Write it as a..b.',
    );
  return { from, to };
}

/** A path such as `../x` is not a range. */
function isPath(target = ''): boolean {
  return /^\.{0,2}\//.test(target);
}

/** Lists every line in the repository: local, remote-only and archived. Branches that teddy named come first, in name order. */
export async function listRecorded(project: Project): Promise<RecordedLine[]> {
  const lines = new Map<RefName, RecordedLine>();
  for (const { ref, branchRef, oid, session, isArchived } of await listLines(project, { archived: true })) {
    const known = lines.get(branchRef);
    // Branches come first in the listing. A local branch wins, then an archived one, because the remote's branch may be
    // older.
    if (known !== undefined && !(isArchived && known.ref?.startsWith('refs/remotes/') === true)) continue;
    lines.set(branchRef, { session, name: nameRef(ref), ref, tip: oid, after: null });
  }
  // Branches that teddy named come first, because the others grow from them.
  const names = [...lines].map(([branchRef, line]) => ({ line, isNamed: parseLineRef(branchRef) !== null }));
  return names
    .toSorted((a, b) => Number(b.isNamed) - Number(a.isNamed) || (a.line.name < b.line.name ? -1 : 1))
    .map(({ line }) => line);
}

async function findOne(project: Project, target: string | undefined, options: FindOptions): Promise<RecordedLine> {
  try {
    return await findBranch(project, target, options);
  } catch (error) {
    const isUnknown = error instanceof TeddyError && error.code === 'UNKNOWN_SESSION';
    if (!isUnknown || target === undefined) throw error;
    const found = (await findArchived(project.repository.store, target)) ?? (await findCommit(project, target));
    if (found === null) throw error;
    return found;
  }
}

async function findBranch(project: Project, target: string | undefined, options: FindOptions): Promise<RecordedLine> {
  const line = await findLine(project, target, options);
  const tip = line.tip ?? line.remoteTip;
  if (tip === null) throw new TeddyError('UNKNOWN_SESSION', `${lineName(line)} has no commit.`);
  // A detached HEAD is a commit, not a line.
  const ref = line.found === 'detached' ? null : line.ref;
  return { session: line.session, name: lineName(line), ref, tip, after: null };
}

/** Finds an archived session by its ID, by a part of its ID that is unique among archived sessions, or by its former branch. */
export async function findArchived(store: Store, target: string): Promise<RecordedLine | null> {
  const wanted = (target.replace(/\/+$/, '').split('/').at(-1) ?? '').normalize('NFC');
  const kept = await listArchives(store);
  const exact = kept.find(({ line }) => line.endsWith(`/${wanted}`));
  const similar = kept.filter(({ session, branch }) => branch === null && wanted !== '' && session.includes(wanted));
  const named = kept.findLast(({ session, branch }) => branch === null && session.slice('20260124-'.length) === wanted);
  if (exact === undefined && named === undefined && similar.length > 1) {
    const some = similar.slice(0, 5).map(({ session }) => session);
    throw new TeddyError(
      'AMBIGUOUS_SESSION',
      `${JSON.stringify(target)} matches ${similar.length} archived sessions: ${some.join(', ')}.`,
      'Use the whole id.',
    );
  }
  const found = exact ?? named ?? similar[0];
  return found
    ? { session: found.session, name: nameRef(found.ref), ref: found.ref, tip: found.oid, after: null }
    : null;
}

async function findCommit({ repository: { store } }: Project, target: string): Promise<RecordedLine | null> {
  const tip = await store.resolve(target);
  if (tip === null || (await isGlobal(store, tip))) return null;
  for await (const { commit } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    if (entry !== null) return { session: entry.session, name: target, ref: null, tip, after: null };
  }
  return null;
}

/** Returns true if this is the tip of `teddy/global`. Its memo commits are entries as well, yet it is not a line. */
async function isGlobal(store: Store, tip: Oid): Promise<boolean> {
  const tips = await store.listRefs(globalRef, 'refs/remotes/*/teddy/global');
  return tips.some(({ oid }) => oid === tip);
}

export async function requireCommit(
  store: Store,
  revision: string,
  hint = "`teddy log` shows a session's commits.",
): Promise<Oid> {
  const commit = await store.resolve(revision);
  if (commit !== null) return commit;
  throw new TeddyError('UNKNOWN_COMMIT', `git cannot find the commit ${JSON.stringify(revision)}.`, hint);
}

/**
 * Finds the session's line that has a turn: the conversation branch named after the turn, otherwise the only line with
 * it; lines that share the turn count as one. Returns null when no line has it. Throws UNKNOWN_TURN when several lines
 * have different turns with that name.
 */
export async function findLineWith(project: Project, session: SessionId, turn: TurnName): Promise<RecordedLine | null> {
  const { having, isOne } = await listLinesWith(project, session, turn);
  const found = having.find(({ branch }) => branch === turn) ?? having[0];
  if (found === undefined) return null;
  if (found.branch !== turn && !isOne) throw ambiguousTurnError(session, turn, having);
  const { name, ref, tip } = found;
  return { session, name, ref, tip, after: null };
}

/**
 * Returns the `-s` value for a line that has exactly this turn, with its entry `at`: the session, its branch, otherwise
 * that entry.
 */
export async function findSelector(project: Project, session: SessionId, turn: TurnName, at: Oid): Promise<string> {
  const { having } = await listLinesWith(project, session, turn);
  for (const { tip, isMain, name } of having)
    if (await isOnLine(project.repository.store, tip, at)) return isMain ? session : name;
  return at.slice(0, 10);
}

function ambiguousTurnError(session: SessionId, turn: TurnName, having: readonly SessionLine[]): TeddyError {
  const options = having.slice(0, 2).map(({ name }) => `\`-s ${toShellWord(name)}\``);
  return new TeddyError(
    'UNKNOWN_TURN',
    `Turn ${turn} of ${session} is not on this branch, but several other branches have one: ${nameSome(having.map(({ name }) => name))}.`,
    `Name the branch as well: ${options.join(' or ')}.`,
  );
}

/**
 * Lists the session's lines with a turn of this name, the main line first. `isOne` is true if they all share the same
 * turn.
 */
async function listLinesWith(
  project: Project,
  session: SessionId,
  turn: TurnName,
): Promise<{ having: SessionLine[]; isOne: boolean }> {
  const { store } = project.repository;
  const { lines } = await listSessionLines(project, session);
  const dirs = await Promise.all(lines.map(({ tip }) => store.findOid(tip, turnDir(session, turn))));
  return {
    having: lines.filter((_, at) => dirs[at] !== null),
    isOne: new Set(dirs.filter((oid) => oid !== null)).size === 1,
  };
}

/** Warns when this clone lacks a session's first commits, because an answer would look complete and be wrong. */
export function warnOfCut(
  { notices }: Pick<Project, 'notices'>,
  read: Pick<Session, 'session' | 'steps' | 'isCut'>,
): void {
  if (!read.isCut) return;
  const first = read.steps[0]?.commit.slice(0, 10);
  const missing = `The history of ${read.session} is cut off in this clone: it has nothing before ${first}.`;
  notices.warn(`${missing} \`git fetch --unshallow\` fetches the rest.`);
}

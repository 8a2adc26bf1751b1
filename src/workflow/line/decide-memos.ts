/**
 * Memos that a plan proposes: teddy decides on them separately, and applies them to `teddy/global` and to the line
 * under one ID.
 */
import type { ReportedMemos } from '../../plan/report/report.ts';
import { countOf } from '../../session/spending/describe-spending.ts';
import { TeddyError } from '../../errors.ts';
import type { Commit, Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry, encodeEntry, type Entry } from '../../session/entries/entry.ts';
import { toLaterId } from '../../session/entries/logged-entry.ts';
import { memosPath } from '../../session/global/global-files.ts';
import { changeMemos, parseMemos, type MemoChange } from '../../session/global/memos.ts';
import { globalRef, turnNumber, type Oid, type RepoPath, type SessionId, type TurnName } from '../../names.ts';
import { append } from './append.ts';
import { labelMemos } from './entry-labels.ts';
import { listLines } from '../../session/lines/lines.ts';
import { changeGlobal, readGlobal } from './global-branch.ts';
import { maskEntry } from './mask-text.ts';
import type { ReadyLine } from './prepare.ts';
import { toText, withEntry, type LineState } from '../../view/view.ts';
import { proposeMemo } from './proposed-memos.ts';
import { takeSnapshot } from './take-snapshot.ts';

export type DecidedMemos = ReportedMemos;

const noMemos: DecidedMemos = { added: [], removed: [], rejected: [] };

/**
 * With `ask`, the user decides. With `none`, nobody can be asked: teddy keeps new memos as proposals for the user, and
 * sends a notice.
 */
export type MemoDecision =
  { kind: 'yes' | 'no' | 'none' } | { kind: 'ask'; ask(changes: MemoChange[]): Promise<boolean> };

/** The number of commits on `teddy/global` to search for one half of a pair; only a recent crash can leave one behind. */
const maxSearched = 50;
const globalMemosPath = 'memos.yaml' as RepoPath;

/** Decides on the memos. When any are accepted, appends one more entry with them to the line. */
export async function decideMemos(
  project: Project,
  line: ReadyLine,
  turn: TurnName,
  changes: MemoChange[],
  decision: MemoDecision,
): Promise<{ memos: DecidedMemos; state: LineState }> {
  const { state } = line;
  const open = await findOpen(project, changes);
  if (open.length === 0) return { memos: noMemos, state };
  const approved = decision.kind === 'ask' ? (await decision.ask(open)) === true : decision.kind === 'yes';
  if (!approved) {
    const proposed = decision.kind === 'none' ? await proposeAll(project, open) : [];
    const rejected = open.map(({ fact }) => fact).filter((fact) => !proposed.includes(fact));
    const told = { ...(decision.kind === 'ask' && { asked: true }), ...(proposed.length > 0 && { proposed }) };
    return { memos: { ...noMemos, rejected, ...told }, state };
  }
  return applyMemos(project, line, turn, open);
}

/** Returns the memos that now wait for the user. */
async function proposeAll(project: Project, changes: readonly MemoChange[]): Promise<string[]> {
  const proposed: string[] = [];
  let refused = 0;
  for (const { kind, fact } of changes)
    try {
      if (kind === 'add' && (await proposeMemo(project, fact)).state === 'waits') proposed.push(fact);
    } catch (error) {
      if (!(error instanceof TeddyError)) throw error;
      refused += 1;
      project.notices.warn(`A memo in the plan was not saved: ${error.message}`);
    }
  if (proposed.length > 0)
    project.notices.warn(
      `${countOf(proposed.length, 'memo')} in the plan ${proposed.length === 1 ? 'waits' : 'wait'} for you, because nobody could be asked: \`teddy memo list\`. To accept them right away, use --memos=yes.`,
    );
  else if (refused < changes.length)
    project.notices.warn(
      'The memo changes that the plan proposes were skipped, because nobody could be asked. To accept them, use --memos=yes.',
    );
  return proposed;
}

/** Returns the changes to decide on. Only reports additions of existing memos and removals of missing ones. */
async function findOpen(project: Project, changes: MemoChange[]): Promise<MemoChange[]> {
  if (changes.length === 0) return [];
  const changed = changeMemos((await readGlobal(project))?.memos ?? '', changes);
  for (const fact of changed.present) project.notices.info(`Already a memo: ${fact}`);
  for (const fact of changed.missing) project.notices.info(`Not a memo, so not removed: ${fact}`);
  return [
    ...changed.added.map((fact) => ({ kind: 'add' as const, fact })),
    ...changed.removed.map((fact) => ({ kind: 'remove' as const, fact })),
  ];
}

async function applyMemos(
  project: Project,
  line: ReadyLine,
  turn: TurnName,
  changes: MemoChange[],
): Promise<{ memos: DecidedMemos; state: LineState }> {
  // teddy rewrites the line's copy, so it first adds the user's own changes on disk to the line and to the list.
  const state = await takeSnapshot(project, line, turn);
  const { session, entry: last } = state;
  const id = toLaterId(project.ids.entryId(), last);
  const entry: Entry = { kind: 'memo', session, id, created: last.created, turn, ...labelMemos(changes) };
  const memos: DecidedMemos = { added: [], removed: [], rejected: [] };
  // Writes teddy/global first, so that after a crash between the two commits, the next command finds this one and
  // completes the pair.
  await changeGlobal(project, encodeEntry(await maskEntry(project.masker, entry)), (current) => {
    const changed = changeMemos(current.memos, changes);
    memos.added = changed.added;
    memos.removed = changed.removed;
    return changed.text === current.memos ? null : [{ name: 'memos.yaml', text: changed.text }];
  });
  const isChanged = memos.added.length + memos.removed.length > 0;
  return { memos, state: isChanged ? await appendCopy(project, { ...line, state }, entry) : state };
}

async function appendCopy(project: Project, line: ReadyLine, { id, turn, title, details }: Entry): Promise<LineState> {
  const bytes = (await readGlobal(project))?.memos ?? '';
  const code = { files: [{ path: memosPath, bytes }] };
  const draft = { kind: 'memo' as const, id, turn, label: { title, details }, code };
  const { commit, entry, value } = await append(project, line, (state) => ({ drafts: [draft], value: state }));
  return withEntry(value, commit, entry);
}

/**
 * Returns the memos that an earlier run of the pending turn accepted without writing a report. After a crash between a
 * pair's two commits, appends the missing commit to the line, and returns the line with it.
 */
export async function finishMemos(
  project: Project,
  line: ReadyLine,
): Promise<{ memos: DecidedMemos; state: LineState }> {
  const { store } = project.repository;
  const { state } = line;
  const { latest, tip } = state;
  const decided = latest?.status === 'planned' ? await findDecided(project, latest.turn, line.session) : null;
  if (latest === null || decided === null) return { memos: noMemos, state };
  if (await isOnLine(store, decided.entry, tip)) return { memos: await readTaken(store, decided.commit), state };
  // Two lines of the same session may each have a turn with the same name.
  for (const { oid, session, remote } of await listLines(project)) {
    if (remote === null && session === line.session && (await isOnLine(store, decided.entry, oid)))
      return { memos: noMemos, state };
  }
  const snapped = await takeSnapshot(project, line, latest.turn);
  const copied = await appendCopy(project, { ...line, state: snapped }, decided.entry);
  project.notices.warn('Memos that an interrupted command had accepted are now on this branch as well.');
  return { memos: await readTaken(store, decided.commit), state: copied };
}

/** Returns this commit's own changes to the memos on `teddy/global`, without those by others. */
async function readTaken(store: Store, commit: Commit): Promise<DecidedMemos> {
  const read = async (treeish: Oid | undefined) =>
    treeish === undefined ? [] : parseMemos(toText((await store.readFile(treeish, globalMemosPath))?.bytes ?? null));
  const [before, after] = await Promise.all([commit.parents[0], commit.tree].map(read));
  const without = (facts: string[] = [], others: string[] = []) => facts.filter((fact) => !others.includes(fact));
  return { added: without(after, before), removed: without(before, after), rejected: [] };
}

/** Returns the plan's proposals that no earlier run has decided on. */
export function listUndecided(changes: MemoChange[], { added, removed }: DecidedMemos): MemoChange[] {
  return changes.filter(({ kind, fact }) => !(kind === 'add' ? added : removed).includes(fact.trim()));
}

export function joinMemos(a: DecidedMemos, b: DecidedMemos): DecidedMemos {
  return {
    added: [...a.added, ...b.added],
    removed: [...a.removed, ...b.removed],
    rejected: [...a.rejected, ...b.rejected],
    ...(b.asked === undefined ? {} : { asked: b.asked }),
    ...(b.proposed === undefined ? {} : { proposed: b.proposed }),
  };
}

async function isOnLine(store: Store, { id, turn }: Entry, tip: Oid): Promise<boolean> {
  for await (const { commit } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    if (entry?.id === id) return true;
    const isEarlier =
      turn !== null && entry !== null && entry.turn !== null && turnNumber(entry.turn) < turnNumber(turn);
    if (isEarlier || entry?.kind === 'start') return false;
  }
  return false;
}

/** Finds the pair's half on `teddy/global`; others may have changed the memos since. */
async function findDecided(
  project: Project,
  turn: TurnName,
  session: SessionId,
): Promise<{ entry: Entry; commit: Commit } | null> {
  const { store } = project.repository;
  const tip = await store.resolve(globalRef);
  // After a sync, the local decision may be on either side of a merge.
  const waiting = tip === null ? [] : [tip];
  const seen = new Set<Oid>(waiting);
  for (let next = waiting.shift(); next !== undefined && seen.size <= maxSearched; next = waiting.shift()) {
    const commit: Commit = await store.readCommit(next);
    const entry = decodeEntry(commit.message);
    if (entry?.kind === 'memo' && entry.session === session && entry.turn === turn) return { entry, commit };
    const parents = commit.parents.filter((parent) => !seen.has(parent));
    for (const parent of parents) seen.add(parent);
    waiting.push(...parents);
  }
  return null;
}

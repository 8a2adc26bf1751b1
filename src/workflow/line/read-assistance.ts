/** The contributors to a line's code: for each turn, the models that answered in it and the files that it changed. */
import { findAgent } from '../../agents/agents.ts';
import { decodeTranscript } from '../../conversation/history/decode-transcript.ts';
import type { CommitChange } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { joinAssistants, toAssistant, toForeign, type Assistant } from '../../session/entries/assisted-by.ts';
import { mayFollowTurn, decodeEntry, type Entry } from '../../session/entries/entry.ts';
import { answerKinds } from '../../session/lines/line-order.ts';
import { revertsTurn } from '../../session/lines/line-paths.ts';
import { readStarts } from '../../session/lines/session-starts.ts';
import { compareTurns, type Oid, type RepoPath, type SessionId, type TurnName } from '../../names.ts';
import { readTurnFile } from '../../view/view.ts';

export interface AssistedTurn {
  session: SessionId;
  /** Null for a file that the user requested from a model outside every turn, or alongside one. */
  turn: TurnName | null;
  /** In the order of their answers. */
  assistants: Assistant[];
  /** The files that its entries changed, except files that an undo restored. */
  changes: ReadonlyMap<RepoPath, FileChange>;
  /** The files that its model's commands changed and that none of the turn's entries contains. */
  commandFiles: ReadonlySet<string>;
  /** True when one of `commandFiles` is in a snapshot of the user's edits, or in one of the user's commits. */
  isTaken: boolean;
}

/** The blobs before and after; null when the file does not exist. */
interface FileChange {
  before: Oid | null;
  after: Oid | null;
}

export interface Assistance {
  /** In the order in which they began. */
  turns: AssistedTurn[];
  /** The user's own commit messages, oldest first. */
  ownMessages: string[];
}

interface ReadTurn {
  session: SessionId;
  turn: TurnName | null;
  created: string;
  answers: Entry[];
  changes: Map<RepoPath, FileChange>;
  /** Files written in the turn; they are its model's if that model calls tools. */
  writes: CommitChange[];
  /** The number of commits of the user's edits before its first call; null when it has no calls of teddy's own. */
  calledAt: number | null;
}

/** Reads a line's commits, from any session, up to `tip` that are not below `base`. */
export async function readAssistance(project: Project, tip: Oid, base: Oid | null): Promise<Assistance> {
  const turns = new Map<string, ReadTurn>();
  const blobs = new Map<RepoPath, Oid | null>();
  const edits: ReadonlySet<string>[] = [];
  const ownMessages: string[] = [];
  const walk = project.repository.store.walkChanges(tip, base === null ? [] : [base]);
  for await (const { commit, changes } of walk) {
    const entry = decodeEntry(commit.message);
    const code = changes.filter(({ path }) => !path.startsWith('.teddy/'));
    for (const { path, after } of code) blobs.set(path, after);
    const turn = entry === null ? null : openTurn(turns, entry, edits.length);
    if (entry === null) ownMessages.push(commit.message);
    if (entry === null || turn === null || isOfUser(entry, turn)) edits.push(new Set(code.map(({ path }) => path)));
    else if (revertsTurn(entry)) undoChanges(turn, blobs);
    else if (entry.kind === 'write' && entry.model === undefined) turn.writes.push(...code);
    else addChanges(turn, code);
  }
  const read = [...turns.values()];
  for (const turn of read) if (turn.calledAt !== null) addChanges(turn, turn.writes);
  if (base !== null) await readEarlier(project, base, read);
  const agents = await readAgents(project, tip, read);
  const toAssisted = async (one: ReadTurn): Promise<AssistedTurn> => {
    const commandFiles = await readCommandFiles(project, tip, one);
    const later = edits.slice(one.calledAt ?? edits.length);
    return {
      session: one.session,
      turn: one.turn,
      assistants: listAssistants(one, agents.get(one.session) ?? null),
      changes: one.changes,
      commandFiles,
      isTaken: [...commandFiles].some((path) => later.some((paths) => paths.has(path))),
    };
  };
  return { turns: await Promise.all(read.map(toAssisted)), ownMessages };
}

/** Returns null when the entry does not belong to a turn or a model, or refers to an earlier turn. */
function openTurn(turns: Map<string, ReadTurn>, entry: Entry, edits: number): ReadTurn | null {
  const { session, kind, created, agent } = entry;
  const isAsked = kind === 'write' && entry.model !== undefined;
  const turn = isAsked ? null : entry.turn;
  const key = `${session} ${isAsked ? entry.id : turn}`;
  const known = turns.get(key);
  if (!isAsked && (turn === null || (known === undefined && mayFollowTurn(kind)))) return null;
  const found: ReadTurn = known ?? {
    session,
    turn,
    created,
    answers: [],
    changes: new Map(),
    writes: [],
    calledAt: null,
  };
  turns.set(key, found);
  if (isAsked || answerKinds.includes(kind)) found.answers.push(entry);
  if (kind === 'exchange' && agent !== undefined) found.calledAt ??= edits;
  return found;
}

/** A snapshot within a turn contains what another agent did in that turn, or, in a turn of teddy's own, what the user did. */
function isOfUser({ kind, head }: Entry, { answers }: ReadTurn): boolean {
  const isForeign = head !== undefined || (answers.length > 0 && answers.every(({ agent }) => agent === undefined));
  return kind === 'snapshot' && !isForeign;
}

function addChanges({ changes }: ReadTurn, made: readonly CommitChange[]): void {
  for (const { path, before, after } of made)
    changes.set(path, { before: changes.has(path) ? (changes.get(path)?.before ?? null) : before, after });
}

/** An undo may have kept some of the turn's files. */
function undoChanges({ changes }: ReadTurn, blobs: ReadonlyMap<RepoPath, Oid | null>): void {
  for (const [path, { before }] of changes) if (blobs.get(path) === before) changes.delete(path);
}

/** Adds the answers in turns that began below `base`. */
async function readEarlier({ repository: { store } }: Project, base: Oid, turns: readonly ReadTurn[]): Promise<void> {
  let open = turns.filter(({ turn, changes }) => turn !== null && changes.size > 0);
  if (open.length === 0) return;
  for await (const { commit } of store.firstParents(base)) {
    const entry = decodeEntry(commit.message);
    if (entry === null) continue;
    const { session, turn, kind } = entry;
    for (const one of open)
      if (one.session === session && one.turn === turn && answerKinds.includes(kind)) one.answers.unshift(entry);
    const isBefore = (one: ReadTurn) =>
      turn !== null && one.turn !== null && !mayFollowTurn(kind) && compareTurns(turn, one.turn) < 0;
    open = open.filter((one) => one.session !== session || (kind !== 'start' && !isBefore(one)));
    if (open.length === 0) return;
  }
}

/** Finds the other agents that own these sessions, by the names to disclose. */
async function readAgents(project: Project, tip: Oid, turns: readonly ReadTurn[]): Promise<Map<SessionId, string>> {
  const lines = turns.filter(({ changes }) => changes.size > 0).filter(mayBeForeign);
  const wanted = new Map(lines.map(({ session, created }) => [session, { session, created, oid: tip }]));
  if (wanted.size === 0) return new Map();
  const starts = await readStarts(project, [...wanted.values()]);
  return new Map(
    [...starts].flatMap(([session, { agent }]) =>
      agent === null ? [] : [[session, findAgent(agent)?.disclosedAs ?? agent]],
    ),
  );
}

/** A turn may be another agent's even with `manual` answers, because an agent submits its plan as a user does. */
function mayBeForeign({ turn, answers }: ReadTurn): boolean {
  return turn !== null && answers.every(({ agent, provider }) => agent === undefined || provider === 'manual');
}

function listAssistants({ answers }: ReadTurn, agent: string | null): Assistant[] {
  // An agent that was killed may have left nothing but its changes.
  if (answers.length === 0) return agent === null ? [] : [toForeign(agent)];
  return joinAssistants(answers.flatMap((answer) => toAssistant(answer, agent) ?? []));
}

async function readCommandFiles(
  { repository: { store } }: Project,
  tip: Oid,
  { session, turn, calledAt }: ReadTurn,
): Promise<Set<string>> {
  if (calledAt === null || turn === null) return new Set();
  const { records } = decodeTranscript(
    (await readTurnFile(store, { commit: tip, session, turn }, 'transcript.jsonl')) ?? '',
  );
  return new Set(records.flatMap((record) => (record.type === 'tool_result' ? (record.changed_files ?? []) : [])));
}

/** The line of a captured session: the one that is there, or a new one that starts where the work did; and its forks. */
import type { AgentFork, AgentUnit } from '../../conversation/logs/agent-log.ts';
import type { KnownRecord } from '../../conversation/records/record.ts';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entries/entry.ts';
import { readBaseBranch } from '../../session/lines/lines.ts';
import { identSeconds, idTail } from '../../session/entries/logged-entry.ts';
import {
  conversationBranchRef,
  mainLineRef,
  parseLineRef,
  shortRef,
  toSessionId,
  toSessionName,
  toTurnName,
  turnNumber,
  type Oid,
  type RefName,
  type SessionId,
  type TurnName,
} from '../../names.ts';
import { beginLine } from '../line/append.ts';
import type { Base } from '../line/choose-start.ts';
import { draftOpening, findLeave } from '../line/conversation-branch.ts';
import { findEntry, readLineTurns, readRecords } from '../../view/view.ts';
import { draftStart, readTakenIds, refuseTrackedFile, toStartPlace } from '../line/new-session.ts';
import { toDerivedId, isNext, readBranchLine, toPlace, type BranchLine, type TurnPosition } from './write-units.ts';
import { workTreeOf } from './work-tree-of.ts';

/** Whose session it is, and where and when it began. */
export interface ForeignSession {
  agent: string;
  id: string;
  cwd: string | null;
  startedAt: string;
}

type Foreign = NonNullable<Entry['foreign']>;

/**
 * The line that holds the session of an agent, found by the trailer of its start, or of the branch on which it begins where it was
 * forked from another one. Lines that only a remote has do not count.
 */
export async function findCapturedLine(
  { repository: { store } }: Project,
  { agent, id }: Foreign,
): Promise<RefName | null> {
  let found: RefName | null = null;
  for (const oid of await store.findCommits(`Teddy-Foreign: ${agent} ${id}`, 'refs/heads/teddy/')) {
    const entry = decodeEntry((await store.readCommit(oid)).message);
    if (entry?.foreign?.agent !== agent || entry.foreign.id !== id) continue;
    const ref =
      entry.kind === 'start'
        ? mainLineRef(entry.session)
        : conversationBranchRef(entry.session, entry.turn ?? toTurnName(1));
    if ((await store.resolve(ref)) === null) continue;
    if (entry.kind === 'start') return ref;
    // The newest comes first: branches on which the session went back are newer than the one on which it began.
    found = ref;
  }
  return found;
}

/** Starts a line for the session. HEAD stays where it is. Throws FILES_IN_THE_WAY, NO_IDENTITY. */
export async function startLine(project: Project, foreign: ForeignSession, first: AgentUnit): Promise<BranchLine> {
  const base = await findBase(project, foreign);
  await refuseTrackedFile(project, base);
  const started = new Date(foreign.startedAt);
  const title = await chooseTitle(project, foreign.agent, first);
  const taken = await readTakenIds(project);
  for (let attempt = 1; ; attempt += 1) {
    const number = attempt === 1 ? '' : `-${attempt}`;
    const session = toSessionId(started, toSessionName(title, longestName - number.length), attempt);
    // A branch of the user's may stand where the line's name would be a folder.
    const isFolder = (await project.repository.store.listRefs(`${mainLineRef(session)}/`)).length > 0;
    if (taken.has(session) || isFolder) continue;
    const id = toDerivedId(project.hash, foreign.startedAt, `${foreign.agent}\n${foreign.id}`);
    const origin = { id, foreign: { agent: foreign.agent, id: foreign.id } };
    const draft = { ...(await draftStart(project, session, started, base, origin)), at: foreign.startedAt };
    const ref = mainLineRef(session);
    const begun = await beginLine(project, ref, toStartPlace(session, started, base), draft);
    if (begun !== null) return { ref, session, ...toPlace(begun), ...emptyLine() };
    taken.add(session);
  }
}

const nobody = { isTaken: false, isShared: false, hasCode: false };
const emptyLine = () => ({ turns: [], known: new Map(), lastTurn: 0, planned: new Set<TurnName>(), ...nobody });

/** Work that began a while ago began on an older commit of the branch. */
const recentMs = 10 * 60 * 1000;

/** The commit that the user was on when the session began, as far as the history of HEAD tells. */
async function findBase(project: Project, { cwd, startedAt }: ForeignSession): Promise<Base> {
  const { store, workspace: own } = project.repository;
  const workspace = (cwd === null ? null : await workTreeOf(project, cwd)) ?? own;
  const head = workspace === null ? { ref: null, oid: await store.resolve('HEAD') } : await workspace.head();
  if (head.oid === null) return { oid: null, branch: head.ref === null ? null : shortRef(head.ref) };
  const isLine = head.ref === null || parseLineRef(head.ref) !== null;
  const branch = isLine ? await readBaseBranch(project, head.oid) : shortRef(head.ref ?? '');
  const startMs = Date.parse(startedAt);
  if (project.clock.now().getTime() - startMs < recentMs) return { oid: head.oid, branch };
  for await (const { oid, commit } of store.firstParents(head.oid)) {
    const seconds = identSeconds(commit.committer);
    if (seconds * 1000 <= startMs || commit.parents.length === 0) return { oid, branch };
  }
  return { oid: head.oid, branch };
}

/** A branch is not longer than 40 characters, with `teddy/`, the date and a number. */
const longestName = 40 - 'teddy/20260124-'.length;

/** `claude-code Fix the login`; a message that holds a secret gives no title. */
async function chooseTitle({ masker }: Project, agent: string, { records }: AgentUnit): Promise<string> {
  const message = records.find((record) => record.type === 'user');
  const text = message?.type === 'user' && 'content' in message.message ? message.message.content : '';
  const line = text.trim().split('\n')[0] ?? '';
  const { count } = await masker.mask(text);
  return [agent, ...(count > 0 ? [] : [line])].join(' ');
}

/** The line of a ref that is there. Throws REF_MOVED where it is gone. */
export async function openBranchLine(project: Project, ref: RefName, at: TurnPosition): Promise<BranchLine> {
  const parsed = parseLineRef(ref);
  const tip = await project.repository.store.resolve(ref);
  if (parsed === null || tip === null)
    throw new TeddyError('REF_MOVED', `${shortRef(ref)} is gone.`, '`teddy session list` shows the lines.');
  return readBranchLine(project, { ref, session: parsed.session }, at.turn);
}

/** The other branch of the session that holds a record: the one on which its turn is the last where there are several. */
export async function findRecordElsewhere(
  project: Project,
  { ref: own, session }: BranchLine,
  id: string,
): Promise<{ line: BranchLine; turn: TurnName } | null> {
  const found: { line: BranchLine; turn: TurnName }[] = [];
  for (const { ref } of await project.repository.store.listRefs(`refs/heads/teddy/${session}--*`)) {
    if (ref === own) continue;
    const line = await readBranchLine(project, { ref, session }, null);
    const turn = line.known.get(id);
    if (turn !== undefined) found.push({ line, turn });
  }
  return found.find(({ line, turn }) => line.lastTurn === turnNumber(turn)) ?? found[0] ?? null;
}

/** Whether the line has an entry that names the agent's session: another one may have got the name of its branch. */
export async function isOfSession(
  { repository: { store } }: Project,
  tip: Oid,
  { agent, id }: Foreign,
): Promise<boolean> {
  for await (const { commit } of store.firstParents(tip)) {
    const { foreign } = decodeEntry(commit.message) ?? {};
    if (foreign?.agent === agent && foreign.id === id) return true;
  }
  return false;
}

export interface OpenedFork {
  line: BranchLine;
  /** The first turn of the conversation branch. */
  turn: TurnName;
  /** The part of that turn that the branch repeats, as a unit; null: nothing. */
  repeats: AgentUnit | null;
}

export interface ForkRequest {
  /** The branch that it leaves, with all its records. */
  left: BranchLine;
  after: AgentFork['after'];
  first: AgentUnit;
  foreign: Foreign;
}

/**
 * Opens a conversation branch after a record of another branch, or finds it where it is there already. A message begins a turn, so
 * the branch leaves before the turn that follows; whatever goes on in the middle of a turn, or after one that somebody else has
 * gone on with, leaves before it, and repeats the turn so far.
 */
export async function openFork(project: Project, { left, after, first, foreign }: ForkRequest): Promise<OpenedFork> {
  const { store } = project.repository;
  const { session } = left;
  const turn = after === null ? null : (left.known.get(after) ?? null);
  const isTaken = (left.isTaken || left.isShared) && turn !== null && turnNumber(turn) === left.lastTurn;
  const opensNext = isNext(first) && !isTaken;
  const from = toTurnName(turn === null ? 1 : turnNumber(turn) + (opensNext ? 1 : 0));
  const repeats = opensNext || turn === null ? null : await readRepeats(project, left, turn, after);
  const firstId = first.records[0]?.id ?? '';
  const id = toDerivedId(
    project.hash,
    first.records[0]?.timestamp ?? left.entry.created,
    `${foreign.id}\n${after ?? ''}\n${firstId}`,
  );
  const known = await findOpening(project, session, id);
  if (known !== null)
    return {
      line: await readBranchLine(project, { ref: known.ref, session }, null),
      turn: known.turn,
      repeats,
    };
  const leave = await findLeave(project, { tip: (await findEntry(store, left.tip)).oid, opens: null }, from);
  for (let number = 1; ; number += 1) {
    const named = toTurnName(turnNumber(from), number);
    const ref = conversationBranchRef(session, named);
    if ((await store.resolve(ref)) !== null) continue;
    const draft = draftOpening({ from, turn: named, id, foreign });
    const place = await readLineTurns(store, leave);
    if ((await beginLine(project, ref, place, draft, `capture a fork of ${session}`)) === null) continue;
    return { line: await readBranchLine(project, { ref, session }, null), turn: named, repeats };
  }
}

/** The conversation branch that an earlier attempt opened, by the id of its first entry, which may have got a later time. */
async function findOpening({ repository: { store } }: Project, session: SessionId, id: string) {
  for (const oid of await store.findCommits(idTail(id), `refs/heads/teddy/${session}--*`)) {
    const entry = decodeEntry((await store.readCommit(oid)).message);
    if (entry === null || idTail(entry.id) !== idTail(id) || entry.kind !== 'branch' || entry.turn === null) continue;
    const ref = conversationBranchRef(session, entry.turn);
    if ((await store.resolve(ref)) !== null) return { ref, turn: entry.turn };
  }
  return null;
}

async function readRepeats(
  project: Project,
  { tip }: BranchLine,
  turn: TurnName,
  after: string | null,
): Promise<AgentUnit | null> {
  const all = (
    await readRecords(project.repository.store, await readLineTurns(project.repository.store, tip), turn)
  ).filter((record): record is KnownRecord => record.type !== 'other');
  // The plan and what was said of it stay where they are.
  const isRepeated = ({ type }: KnownRecord) => type !== 'plan' && type !== 'approval';
  const records = all.slice(0, all.findIndex(({ id }) => id === after) + 1).filter(isRepeated);
  if (records.length === 0) return null;
  const has = (type: KnownRecord['type']) => records.some((record) => record.type === type);
  return { kind: has('tool_use') ? 'exchange' : has('assistant') ? 'reply' : 'message', records, branch: 0 };
}

/** A captured session's line: an existing line, or a new one that starts where the work did; its forks, and its growth. */
import type { AgentFork, AgentLine, AgentUnit } from '../../conversation/logs/agent-log.ts';
import { decodeTranscript } from '../../conversation/history/decode-transcript.ts';
import { captureSource, type KnownRecord } from '../../conversation/records/record.ts';
import { hasAgentPlan, mayEndOpen } from '../../conversation/records/transcript.ts';
import { TeddyError } from '../../errors.ts';
import type { Workspace, WorkTree } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry, type Entry } from '../../session/entries/entry.ts';
import { readBaseBranch } from '../../session/lines/lines.ts';
import { identSeconds, idTail } from '../../session/entries/logged-entry.ts';
import {
  conversationBranchRef,
  joinPath,
  mainLineRef,
  parseLineRef,
  sessionDir,
  shortRef,
  sortTurns,
  toSessionId,
  toSessionName,
  toTurnName,
  turnDir,
  turnNumber,
} from '../../names.ts';
import type { Oid, RefName, SessionId, TurnName } from '../../names.ts';
import { append, beginLine, type AppendedEntry, type Line } from '../line/append.ts';
import type { Base } from '../line/choose-start.ts';
import { draftOpening, findLeave } from '../line/conversation-branch.ts';
import { findEntry, readLineTurns, readRecords, readTurnState, toText } from '../../view/view.ts';
import { draftStart, readTakenIds, refuseTrackedFile, toStartPosition } from '../line/new-session.ts';
import type { TurnPosition } from './capture.ts';
import { decide, isNext, placeOf, toDerivedId } from './decide-entries.ts';
import type { BranchFacts, BranchLine, FollowState } from './decide-entries.ts';

/** The agent's session, and where and when it began. */
export interface ForeignSession {
  agent: string;
  id: string;
  cwd: string | null;
  startedAt: string;
}

type Foreign = NonNullable<Entry['foreign']>;

/**
 * Finds the line of an agent's session by the trailer on its start, or, for a fork of another session, by the trailer
 * on its first branch. Ignores lines that exist only on a remote.
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
    // The newest comes first: a branch made when the session went back is newer than its first branch.
    found = ref;
  }
  return found;
}

/** Starts a line for the session without moving HEAD. Throws FILES_IN_THE_WAY, NO_IDENTITY. */
export async function startLine(project: Project, foreign: ForeignSession, first: AgentUnit): Promise<BranchLine> {
  const base = await findBase(project, foreign);
  await refuseTrackedFile(project, base);
  const started = new Date(foreign.startedAt);
  const title = await chooseTitle(project, foreign.agent, first);
  const taken = await readTakenIds(project);
  for (let attempt = 1; ; attempt += 1) {
    const number = attempt === 1 ? '' : `-${attempt}`;
    const session = toSessionId(started, toSessionName(title, longestName - number.length), attempt);
    // One of the user's branches may need the line's name as a folder.
    const isFolder = (await project.repository.store.listRefs(`${mainLineRef(session)}/`)).length > 0;
    if (taken.has(session) || isFolder) continue;
    const id = toDerivedId(project.hash, foreign.startedAt, `${foreign.agent}\n${foreign.id}`);
    const origin = { id, foreign: { agent: foreign.agent, id: foreign.id } };
    const draft = { ...(await draftStart(project, session, started, base, origin)), at: foreign.startedAt };
    const ref = mainLineRef(session);
    const begun = await beginLine(project, ref, toStartPosition(session, started, base), draft);
    if (begun !== null) return { ref, session, ...toPlace(begun), ...emptyLine() };
    taken.add(session);
  }
}

const nobody = { isTaken: false, isShared: false, hasCode: false };
const emptyLine = () => ({ turns: [], known: new Map(), lastTurn: 0, planned: new Set<TurnName>(), ...nobody });

/** Work that began a while ago began on an older commit of the branch. */
const recentMs = 10 * 60 * 1000;

/** Finds the commit that the user was on when the session began, if HEAD's history shows it. */
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

/** Returns a title like `claude-code Fix the login`; does not use a message with a secret. */
async function chooseTitle({ masker }: Project, agent: string, { records }: AgentUnit): Promise<string> {
  const message = records.find((record) => record.type === 'user');
  const text = message?.type === 'user' && 'content' in message.message ? message.message.content : '';
  const line = text.trim().split('\n')[0] ?? '';
  const { count } = await masker.mask(text);
  return [agent, ...(count > 0 ? [] : [line])].join(' ');
}

/** Opens an existing ref's line. Throws REF_MOVED when the ref is gone. */
export async function openBranchLine(project: Project, ref: RefName, at: TurnPosition): Promise<BranchLine> {
  const parsed = parseLineRef(ref);
  const tip = await project.repository.store.resolve(ref);
  if (parsed === null || tip === null)
    throw new TeddyError(
      'REF_MOVED',
      `${shortRef(ref)} is gone.`,
      '`teddy list` shows the sessions and their branches.',
    );
  return readBranchLine(project, { ref, session: parsed.session }, at.turn);
}

/** Rereads the branch, with the records of all turns from `from` on. Throws REF_MOVED when the branch is gone. */
async function readBranchLine(
  project: Project,
  { ref, session }: Pick<BranchLine, 'ref' | 'session'>,
  from: TurnName | null,
): Promise<BranchLine> {
  const { store } = project.repository;
  const tip = await store.resolve(ref);
  if (tip === null)
    throw new TeddyError('REF_MOVED', `${ref} is gone.`, '`teddy list` shows the sessions and their branches.');
  const place = await readLineTurns(store, tip);
  const { turns, entryOid } = place;
  const first = from === null ? 0 : turnNumber(from);
  const known = new Map<string, TurnName>();
  const planned = new Set<TurnName>();
  const last = turns.at(-1);
  let [isOwn, isShared, hasCode] = [false, false, tip !== entryOid];
  for (const turn of turns.filter((name) => turnNumber(name) >= first)) {
    const dir = turnDir(session, turn);
    const names = new Set((await store.readDir(entryOid, dir))?.entries.map(({ name }) => name));
    if (names.has('plan.md')) planned.add(turn);
    if (turn === last) [isShared, hasCode] = [names.has('_context.log'), hasCode || names.has('report.md')];
    const file = await store.readFile(entryOid, joinPath(dir, 'transcript.jsonl'));
    if (file === null) continue;
    const { records } = decodeTranscript(toText(file.bytes));
    for (const record of records) if (record.type !== 'other') known.set(record.id, turn);
    if (turn !== last) continue;
    isOwn = mayEndOpen(records) && (hasAgentPlan(records) || !planned.has(turn));
    const said = records.findLast(({ type }) => type === 'user' || type.startsWith('assistant'));
    isShared ||= said !== undefined && 'source' in said && !['import', captureSource].includes(said.source);
  }
  const latest = last === undefined || isOwn ? null : await readTurnState(store, entryOid, session, last);
  // A newly opened branch has nothing in its turn yet.
  const waits = latest?.status === 'open' && latest.records.length > 0 && !mayEndOpen(latest.records);
  const isTaken = latest?.status === 'planned' || waits;
  const lastTurn = Math.max(0, ...turns.map(turnNumber));
  return { ...place, ref, known, lastTurn, planned, isTaken, isShared, hasCode };
}

/** Rereads the line if it has moved. */
export async function refreshBranchLine(project: Project, line: BranchLine, from: TurnName | null) {
  const tip = await project.repository.store.resolve(line.ref);
  return tip === line.tip ? line : Object.assign(line, await readBranchLine(project, line, from));
}

/** Finds the session's other branch that contains a record; of several, the branch on which the record's turn is the last. */
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

/** Returns true if one of the line's entries names the agent's session; another session may have taken over the branch name. */
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

export interface ForkRequest {
  /** The branch to leave, with all its records. */
  left: BranchLine;
  after: AgentFork['after'];
  first: AgentUnit;
  foreign: Foreign;
}

/**
 * Opens a conversation branch after another branch's record, or finds the branch if it exists. A message begins a turn,
 * so its branch leaves before the following turn. Anything that continues in the middle of a turn, or after a turn that
 * somebody else has continued, leaves before that turn and repeats the turn up to that point.
 */
export async function openFork(
  project: Project,
  { left, after, first, foreign }: ForkRequest,
): Promise<Pick<BranchFacts, 'line' | 'opens' | 'before'>> {
  const { store } = project.repository;
  const { session } = left;
  const turn = after === null ? null : (left.known.get(after) ?? null);
  const isTaken = (left.isTaken || left.isShared) && turn !== null && turnNumber(turn) === left.lastTurn;
  const opensNext = isNext(first) && !isTaken;
  const from = toTurnName(turn === null ? 1 : turnNumber(turn) + (opensNext ? 1 : 0));
  const before = opensNext || turn === null ? null : await readRepeats(project, left, turn, after);
  const firstId = first.records[0]?.id ?? '';
  const id = toDerivedId(
    project.hash,
    first.records[0]?.timestamp ?? left.entry.created,
    `${foreign.id}\n${after ?? ''}\n${firstId}`,
  );
  const known = await findOpening(project, session, id);
  if (known !== null)
    return { line: await readBranchLine(project, { ref: known.ref, session }, null), opens: known.turn, before };
  const leave = await findLeave(project, { tip: (await findEntry(store, left.tip)).oid, opens: null }, from);
  for (let number = 1; ; number += 1) {
    const named = toTurnName(turnNumber(from), number);
    const ref = conversationBranchRef(session, named);
    if ((await store.resolve(ref)) !== null) continue;
    const draft = draftOpening({ from, turn: named, id, foreign });
    const place = await readLineTurns(store, leave);
    if ((await beginLine(project, ref, place, draft, `capture a fork of ${session}`)) === null) continue;
    return { line: await readBranchLine(project, { ref, session }, null), opens: named, before };
  }
}

/** Finds the conversation branch that an earlier attempt opened, by its first entry's ID, which may have a later time. */
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
  // The plan, and the words about it, stay in place.
  const isRepeated = ({ type }: KnownRecord) => type !== 'plan' && type !== 'approval';
  const records = all.slice(0, all.findIndex(({ id }) => id === after) + 1).filter(isRepeated);
  if (records.length === 0) return null;
  const has = (type: KnownRecord['type']) => records.some((record) => record.type === type);
  return { kind: has('tool_use') ? 'exchange' : has('assistant') ? 'reply' : 'message', records, branch: 0 };
}

/** Returns the branch in the form that `append` takes; updates it first, and sends no notices. */
export function toTarget(project: Project, line: BranchLine, from: TurnName | null): Line<BranchLine> {
  const { ref, session } = line;
  const read = () => refreshBranchLine(project, line, from);
  return { ref, workspace: () => workspaceOn(project, ref), read, reason: `capture ${session}`, isQuiet: true };
}

/** Returns the place after an appended entry. */
export function toPlace({ commit, entry }: Pick<AppendedEntry, 'commit' | 'entry'>) {
  return { tip: commit, entryOid: commit, entry };
}

/**
 * Appends the entries decided on for the units to the current line, after updating it; `raw` contains lines in the log
 * that no reader understands. Returns null when it wrote nothing because the units no longer belong on the line.
 */
export async function appendUnits(
  project: Project,
  state: FollowState,
  units: readonly AgentUnit[],
  { facts, raw }: { facts: BranchFacts; raw: readonly AgentLine[] },
): Promise<{ entries: number; records: number; next: FollowState } | null> {
  const { branch, line } = facts;
  const target = toTarget(project, line, placeOf(state, branch).turn);
  const { commit, entry, value } = await append(project, target, async () => {
    const decided = decide(state, units, facts, project.hash);
    if (!('drafts' in decided)) return { leave: null, asRead: true };
    const [first, ...rest] = decided.drafts;
    if (first === undefined) return { leave: decided, asRead: true };
    const fresh = raw.length === 0 ? '' : await readFresh(project, line, raw);
    const files = { ...first.files, ...(fresh === '' ? {} : { 'raw.jsonl': fresh }) };
    return { drafts: [{ ...first, files }, ...rest], value: decided };
  });
  if (value === null) return null;
  const { drafts, next } = value;
  if (commit !== null) {
    const turns = sortTurns([...new Set([...line.turns, ...drafts.map(({ turn }) => turn)])]);
    Object.assign(line, toPlace({ commit, entry }), { turns, isTaken: false, isShared: false, hasCode: false });
    for (const { turn, records, files } of drafts) {
      for (const { id } of records) line.known.set(id, turn);
      if ('plan.md' in files) line.planned.add(turn);
    }
    line.lastTurn = Math.max(line.lastTurn, ...drafts.map(({ turn }) => turnNumber(turn)));
  }
  return { next, entries: drafts.length, records: drafts.flatMap(({ records }) => records).length };
}

/** Returns the lines missing from the session, masked. */
async function readFresh(project: Project, line: BranchLine, lines: readonly AgentLine[]): Promise<string> {
  const known = new Set<string>();
  const isRaw = (path: string): boolean => path.endsWith('/raw.jsonl');
  const { store } = project.repository;
  for await (const files of store.readFilesBelow(line.entryOid, sessionDir(line.session), isRaw))
    for (const { bytes } of files) for (const text of toText(bytes).split('\n')) known.add(text);
  const masked = await Promise.all(lines.map(({ text }) => project.masker.mask(text ?? '')));
  return masked.flatMap(({ text }) => (known.has(text) ? [] : [`${text}\n`])).join('');
}

/** Returns the work tree that has the line checked out; its index and files follow the line. */
export async function workspaceOn({ repository }: Project, ref: RefName): Promise<Workspace | null> {
  const tree = (await repository.workTrees()).find((one) => one.ref === ref);
  return tree === undefined ? null : repository.openWorkspace(tree.root);
}

/** Returns the innermost work tree that contains a directory; null when none does. */
export async function workTreeOf({ repository }: Project, directory: string): Promise<Workspace | null> {
  const own = repository.workspace;
  if (own !== null && `${directory}/`.startsWith(`${own.root}/`) && !(await repository.hasLinkedWorkTrees()))
    return own;
  const tree = findInnermost(await repository.workTrees(), directory);
  return tree === undefined ? null : repository.openWorkspace(tree.root);
}

/**
 * Returns true if code from a directory does not belong on a line: another work tree has the line checked out, and its
 * files would not follow; or none has, and the line contains other people's code that the directory lacks.
 */
export async function belongsElsewhere(
  { repository }: Project,
  { ref, hasCode }: { ref: RefName; hasCode: boolean },
  directory: string,
): Promise<boolean> {
  if (!hasCode && !(await repository.hasLinkedWorkTrees())) return false;
  const trees = await repository.workTrees();
  const [holder, own] = [trees.find((one) => one.ref === ref), findInnermost(trees, directory)];
  return holder === undefined || own === undefined ? hasCode : holder.root !== own.root;
}

function findInnermost(trees: WorkTree[], directory: string): WorkTree | undefined {
  const holding = trees.filter(({ root }) => `${directory}/`.startsWith(`${root}/`));
  return holding.toSorted((a, b) => b.root.length - a.root.length)[0];
}

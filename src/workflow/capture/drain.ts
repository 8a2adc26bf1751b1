/** Processes the hooks' notes, follows the logs that they name while turns are open, and ends when no work is left. */
import { setTimeout as sleep } from 'node:timers/promises';
import { toMessage } from '../../errors.ts';
import type { HookMeaning } from '../../agents/agent.ts';
import { agents, findAgentName, type AgentName } from '../../agents/agents.ts';
import type { AgentUnit } from '../../conversation/logs/agent-log.ts';
import { asText } from '../../conversation/records/import-values.ts';
import { captureSource, type KnownRecord } from '../../conversation/records/record.ts';
import type { HookCall } from '../../ports/capture.ts';
import type { Project } from '../../ports/project.ts';
import type { Capture } from '../../ports/agent-logs.ts';
import { shortRef } from '../../names.ts';
import { repair } from '../line/repair.ts';
import { addUnits, advance, countNoted, findPlace, hasLine, nameOf, openFollower, settle } from './follow-log.ts';
import type { Follower } from './follow-log.ts';
import { closeLostGates } from './gate.ts';
import { interruptedError, noteProblems, isOurSession, leftOutKey, openPauses, type FollowedLog } from './capture.ts';
import { workTreeOf } from './open-line.ts';
import { appendCode, readCode, type CodeState } from './work-tree-snapshot.ts';
import { loadAgentLog } from '../../agents/open-log.ts';

export interface Drained {
  calls: number;
  sessions: number;
  entries: number;
  records: number;
  /** Sentences for the user about what teddy could not capture, and why. */
  problems: string[];
}

export interface DrainOptions {
  signal: AbortSignal;
  /** How long to follow an open turn after its log last grew, in milliseconds. */
  lingerMs: number;
  /** How long to wait for a line announced by a hook. */
  waitMs?: number;
}

/** An agent calls a hook before it writes the line: under load, several seconds before. */
const usualWaitMs = 10_000;
/**
 * How long the log has to be quiet when a hook does not name the awaited line; agents write their logs every tenth of a
 * second.
 */
const graceMs = 500;
const [busyMs, idleMs] = [40, 400];

interface Followed {
  agent: AgentName;
  path: string;
  /** The session's ID, as the hooks report it. */
  id: string;
  cwd: string | null;
  /** The ID of the agent's process; 0 when unknown. */
  pid: number;
  follower: Follower | null;
  /** A line that a hook has announced and that is not in the log yet. */
  awaits: { text: string | null; untilMs: number } | null;
  /** True when the turn ends as soon as the line has arrived. */
  ends: boolean;
  isOpen: boolean;
  /** The code when the user sent the message, until teddy writes it. */
  before: CodeState | null;
  /** The code when the turn ended. */
  after: CodeState | null;
  /** The words that arrived with this turn's hooks; if the log vanishes, no others remain. */
  words: {
    prompt: string | null;
    answer: string | null;
    /** True when the agent joins all texts of the turn, and may repeat pieces of them. */
    isJoined: boolean;
    at: number;
  };
  size: number;
  grewMs: number;
}

/**
 * Drains the spool. Returns null when another process is already draining and will handle the present notes. Throws
 * INTERRUPTED; in that case everything that has arrived is saved.
 */
export async function drain(project: Project, capture: Capture, options: DrainOptions): Promise<Drained | null> {
  const sum: Drained = { calls: 0, sessions: 0, entries: 0, records: 0, problems: [] };
  for (;;) {
    const claim = await project.spool.claim();
    if ('heldBy' in claim) return sum.calls === 0 ? null : sum;
    try {
      await drainClaimed(project, capture, options, sum);
      if (sum.calls > 0) await noteProblems(project, capture, sum.problems);
    } finally {
      await claim.release();
    }
    // A hook that saw the claim starts no drainer, but it wrote its note before the release, so the note is already
    // here.
    const { waiting, paused } = await project.spool.look();
    if (options.signal.aborted) throw interruptedError();
    if (waiting.length === 0 || paused) return sum;
  }
}

async function drainClaimed(
  project: Project,
  capture: Capture,
  { signal, lingerMs, waitMs = usualWaitMs }: DrainOptions,
  sum: Drained,
): Promise<void> {
  const sessions = new Map<string, Followed>();
  await repair(project).catch((error: unknown) => sum.problems.push(toMessage(error)));
  while (!signal.aborted) {
    const taken = await project.spool.take();
    for (const [at, call] of taken.calls.entries())
      await handleCall(project, capture, { sessions, waitMs, later: taken.calls.slice(at + 1) }, call, sum).catch(
        (error: unknown) => sum.problems.push(`A call of ${call.agent}: ${toMessage(error)}`),
      );
    sum.calls += taken.calls.length;
    for (const one of sessions.values()) await pollLog(project, capture, one, sum);
    sum.problems.push(...(await closeLostGates(project)));
    if (taken.calls.length > 0 || taken.unreadable > 0) await taken.done();
    const nowMs = performance.now();
    for (const [key, one] of sessions) if (!isBusy(one, nowMs, lingerMs)) sessions.delete(key);
    sum.sessions = Math.max(sum.sessions, sessions.size);
    if (sessions.size === 0) return;
    const isWaiting = [...sessions.values()].some(({ awaits }) => awaits !== null);
    await sleep(isWaiting ? busyMs : idleMs, undefined, { signal }).catch(() => undefined);
  }
}

function isBusy({ awaits, isOpen, grewMs }: Followed, nowMs: number, lingerMs: number): boolean {
  return awaits !== null || (isOpen && nowMs - grewMs < lingerMs);
}

async function handleCall(
  project: Project,
  capture: Capture,
  { sessions, waitMs, later }: { sessions: Map<string, Followed>; waitMs: number; later: readonly HookCall[] },
  { agent: name, at, payload, ppid }: HookCall,
  sum: Drained,
): Promise<void> {
  const agent = findAgentName(name);
  const id = sessionOf(payload);
  if (agent === null) return void sum.problems.push(`An agent that teddy does not recognize called a hook: ${name}.`);
  if (payload['left_out'] === true) return capture.states.write(leftOutKey(agent, id), { agent, id });
  const named = asText(payload['transcript_path']) ?? asText(payload['transcriptPath']);
  // An agent whose logs have a place by ID may name another file.
  const isNamed = named !== undefined && agents[agent].logs.idOf === undefined;
  const path = isNamed ? named : await capture.logs.locate(agent, id);
  if (path === null) return;
  const workspaces = payload['workspacePaths'];
  const workspace = Array.isArray(workspaces) ? (workspaces[0] as unknown) : undefined;
  const begun = asText(payload['cwd']) ?? asText(payload['directory']) ?? asText(workspace);
  const cwd = begun === undefined ? null : await capture.logs.realPath(begun);
  const one: Followed = sessions.get(path) ?? newFollowed(agent, path, id, cwd);
  sessions.set(path, one);
  one.pid = ppid;
  const event = meaningOf(agent, payload);
  const callId = asText(payload['tool_use_id']);
  const untilMs = performance.now() + waitMs;
  one.grewMs = performance.now();
  if (event === 'turn-begins') {
    await finish(project, capture, one, sum);
    const words = { prompt: asText(payload['prompt']) ?? null, answer: null, isJoined: false, at };
    // The agent has been working since then, so teddy can no longer distinguish the user's edits from the agent's.
    const isLate = later.some((call) => sessionOf(call.payload) === id && meaningOf(agent, call.payload) !== 'other');
    Object.assign(one, {
      isOpen: true,
      before: isLate ? null : await readCodeOf(project, cwd),
      awaits: { text: null, untilMs },
      words,
    });
  } else if (event === 'turn-ends') {
    const text = asText(payload['last_assistant_message']) ?? null;
    const joined = asText(payload['prompt_response']) ?? null;
    Object.assign(one.words, { at, answer: text ?? joined, isJoined: text === null });
    Object.assign(one, { ends: true, after: await readCodeOf(project, cwd), awaits: { text, untilMs } });
  } else if (event === 'other' && (callId !== undefined || payload['event'] === 'gate')) {
    // The call submits a plan, so teddy holds the agent until the plan is on the line and judged.
    Object.assign(one, { isOpen: true, awaits: callId === undefined ? one.awaits : { text: callId, untilMs } });
  } else if (event === 'session-ends')
    Object.assign(one, { ends: true, awaits: one.awaits ?? { text: null, untilMs } });
}

function sessionOf(payload: HookCall['payload']): string {
  const names = ['session_id', 'sessionId', 'sessionID', 'conversationId'];
  return names.map((name) => asText(payload[name])).find((id) => id !== undefined) ?? '';
}

function meaningOf(agent: AgentName, payload: HookCall['payload']): HookMeaning {
  const event = asText(payload['hook_event_name']) ?? asText(payload['event']) ?? '';
  const { events, beginsTurn } = agents[agent].hooks;
  const meaning = events[event] ?? 'other';
  return meaning === 'turn-begins' && beginsTurn?.(payload) === false ? 'other' : meaning;
}

function newFollowed(agent: AgentName, path: string, id: string, cwd: string | null): Followed {
  const turn = { awaits: null, ends: false, isOpen: false, before: null, after: null };
  const words = { prompt: null, answer: null, isJoined: false, at: 0 };
  return { agent, path, id, cwd, pid: 0, follower: null, ...turn, words, size: -1, grewMs: performance.now() };
}

async function readCodeOf(project: Project, cwd: string | null): Promise<CodeState | null> {
  const workspace = cwd === null ? project.repository.workspace : await workTreeOf(project, cwd);
  return workspace === null ? null : readCode(project, workspace);
}

/**
 * Reads the new lines. When the turn is over, and its last line has arrived or will no longer arrive, treats everything
 * open as complete.
 */
async function pollLog(project: Project, capture: Capture, one: Followed, sum: Drained): Promise<void> {
  const stat = await capture.logs.stat(one.agent, one.path);
  const nowMs = performance.now();
  const hasGrown = stat !== null && stat.size !== one.size;
  if (hasGrown) Object.assign(one, { size: stat.size, grewMs: nowMs });
  try {
    if (hasGrown || one.follower === null) await follow(project, capture, one, sum);
    const { awaits } = one;
    const isQuiet = nowMs - one.grewMs >= graceMs;
    // A killed agent no longer calls hooks or writes.
    const isDead = isQuiet && one.pid > 0 && !(await capture.isAlive(one.pid));
    if (isDead) one.ends ||= one.isOpen;
    if (awaits === null && !(isDead && one.ends)) return;
    const text = awaits?.text ?? null;
    const isThere =
      text !== null ? one.follower !== null && hasLine(one.follower, text) : one.ends ? isQuiet : hasGrown;
    if (!isThere && !isDead && awaits !== null && nowMs < awaits.untilMs) return;
    one.awaits = null;
    if (one.ends) await finish(project, capture, one, sum);
  } catch (error) {
    one.awaits = null;
    one.isOpen = false;
    sum.problems.push(`${one.path}: ${toMessage(error)}`);
  }
}

async function follow(project: Project, capture: Capture, one: Followed, sum: Drained): Promise<void> {
  one.follower ??= await openFollower(project, capture, one, {
    id: one.id,
    ...(one.pid > 0 ? { pid: one.pid } : {}),
    cwd: one.cwd,
    isOurs: (cwd) => isOurSession(project, capture, cwd, one.cwd),
    isLeftOut: await openPauses(project),
    async beforeMessage(line) {
      const { before } = one;
      one.before = null;
      if (before !== null) await appendCode(project, line, before, { turn: null });
    },
  });
  const before = one.follower.state.log;
  await advance(one.follower);
  count(sum, before, one.follower);
}

function count(sum: Drained, before: FollowedLog, { state: { log } }: Follower): void {
  sum.entries += log.entries - before.entries;
  sum.records += log.records - before.records;
}

/** Ends the open turn: treats everything in it as complete, and appends its final code. */
async function finish(project: Project, capture: Capture, one: Followed, sum: Drained): Promise<void> {
  const { follower, after, ends } = one;
  Object.assign(one, { ends: false, isOpen: false, after: null, awaits: null });
  if (!ends || follower === null) return;
  const before = follower.state.log;
  await settle(follower);
  count(sum, before, follower);
  sum.entries += await addWords(project, follower, one);
  sum.entries += await foldSubAgents(project, capture, follower);
  const place = after === null ? null : await findPlace(follower);
  if (after === null || place === null) return;
  const { line, turn } = place;
  if (await appendCode(project, line, after, { turn, whose: `changed by ${one.agent}` })) return;
  const why = `${shortRef(line.ref)} is checked out elsewhere, or has somebody else's code`;
  sum.problems.push(`${why}: the changes that ${one.agent} made in turn ${turn ?? '01'} are added with its next turn.`);
}

/**
 * Writes the turn's words from the hooks in place of a vanished log, unless teddy read the words in time. Returns the
 * number of entries.
 */
async function addWords(project: Project, follower: Follower, { path, words }: Followed): Promise<number> {
  const { log, texts: last } = follower.state;
  if (log.stopped !== 'vanished') return 0;
  const timestamp = new Date(words.at * 1000).toISOString();
  const idOf = (text: string) => `hook-${project.hash(`${path}\n${timestamp}\n${text}`).slice(0, 32)}`;
  const said = [
    { role: 'user', kind: 'message', text: words.prompt },
    { role: 'assistant', kind: 'reply', text: words.answer },
  ] as const;
  const isPromptRead = words.prompt === null || project.hash(words.prompt.trim()) === last.user;
  const isAnswerRead = words.isJoined
    ? isPromptRead && last.assistant !== null
    : project.hash(words.answer?.trim() ?? '') === last.assistant;
  const isRead = { user: isPromptRead, assistant: isAnswerRead };
  const units = said.flatMap(({ role, kind, text }): AgentUnit[] => {
    if (text === null || isRead[role]) return [];
    const record = { type: role, id: idOf(text), timestamp, source: captureSource, message: { role, content: text } };
    return [{ kind, branch: 0, records: [record as KnownRecord] }];
  });
  return units.length === 0 ? 0 : addUnits(follower, units);
}

/** Records the sub-agents' new work in the open turn, in one note per call. Returns the number of entries. */
export async function foldSubAgents(project: Project, capture: Capture, follower: Follower): Promise<number> {
  const { agent, path, state } = follower;
  if (state.log.stopped === 'elsewhere') return 0;
  const units: AgentUnit[] = [];
  const { folded: earlier } = state.log;
  const folded = { ...earlier };
  const openLog = await loadAgentLog(agent);
  for (const found of await capture.logs.subAgents(agent, path)) {
    const stat = await capture.logs.stat(agent, found.path);
    const before = folded[found.path] ?? { records: 0, size: 0 };
    if (stat === null || stat.size === before.size) continue;
    const reading = await capture.logs.read(found.path, null);
    if (reading === null) continue;
    const reader = openLog({ hash: project.hash, importedAt: project.clock.now().toISOString() });
    for await (const line of reading.lines) reader.line(line);
    // A tool may still be running; its call will be in the next note.
    if (!reader.waitsForResult()) reader.settle();
    const all = reader.take().flatMap((step) => ('unit' in step ? step.unit.records : []));
    let count = before.records;
    // A killed drainer has left notes that were not counted yet.
    for (let there = -1; there !== 0; count += there) there = await countNoted(follower, toNoteId(found.path, count));
    folded[found.path] = { records: all.length, size: stat.size };
    const records = all.slice(count);
    const [first] = records;
    if (first !== undefined) units.push(toUnit(found, count, first, records));
  }
  follower.state = { ...state, log: { ...state.log, folded } };
  if (units.length === 0) return 0;
  return addUnits(follower, units).catch((error: unknown) => {
    // The append failed and wrote nothing, so the next drain or sweep repeats it.
    follower.state = { ...follower.state, log: { ...follower.state.log, folded: earlier } };
    throw error;
  });
}

/** Returns a note's ID; `before` is the number of records in the earlier notes. */
function toNoteId(path: string, before: number): string {
  return before === 0 ? nameOf(path) : `${nameOf(path)}-${before}`;
}

function toUnit(
  { path, callId, description }: { path: string; callId: string | null; description: string },
  before: number,
  { timestamp }: KnownRecord,
  records: KnownRecord[],
): AgentUnit {
  const about = description === '' ? '' : ` (${description})`;
  const count = `${records.length} ${before === 0 ? '' : 'more '}${records.length === 1 ? 'record' : 'records'}`;
  const note: KnownRecord = {
    type: 'note',
    id: toNoteId(path, before),
    timestamp,
    text: `The sub-agent ${nameOf(path)}${about} worked on this: ${count}.`,
    ...(callId === null ? {} : { tool_call_id: callId }),
    records,
  };
  return { kind: 'reply', records: [note], branch: 0 };
}

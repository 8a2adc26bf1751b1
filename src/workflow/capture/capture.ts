/** Types shared by all of capture: a followed log's state, and the ways to list these states. */
import { findAgentName, type AgentName } from '../../agents/agents.ts';
import type { AgentCheckpoint } from '../../conversation/logs/agent-log.ts';
import { TeddyError } from '../../errors.ts';
import { isObject } from '../../session/text/parse-object.ts';
import type { Capture, LogPosition } from '../../ports/agent-logs.ts';
import { shortRef, type Oid, type RefName, type SessionId, type TurnName } from '../../names.ts';
import type { Project } from '../../ports/project.ts';
import { awaitsVerdict, readLine } from '../../view/view.ts';

/** The place in the conversation, recorded between two readings of the log. */
export interface TurnPosition {
  turn: TurnName | null;
  /** Characters of the turn's transcript, and of all its versions together. */
  length: number;
  written: number;
  /** True while the turn has only notes, so that the first message joins it. */
  isSilent?: boolean;
  /** The record that the next record follows. */
  last?: string;
}

/** A branch of a log's conversation, and its state in the repository. */
export interface FollowedBranch {
  /**
   * The branch that this one leaves, and the last record before the fork; null for the branch on which the log begins.
   */
  leaves: { branch: number; after: string | null } | null;
  /** Null while nothing has been written to the branch. */
  ref: RefName | null;
  /** The place for the next unit, as of the checkpoint. */
  at: TurnPosition;
}

/** The hashes of the user's latest text, and of the latest answer to it. */
export type LastTexts = Record<'user' | 'assistant', string | null>;

/** A log, up to the last recorded position. teddy can recompute everything in this state from the log and the line. */
export interface FollowedLog {
  version: 1;
  agent: AgentName;
  /** The agent's own ID for the session. */
  id: string;
  path: string;
  /** The position where a reader with this checkpoint continues; null at the beginning. */
  position: LogPosition | null;
  checkpoint: AgentCheckpoint | null;
  /** The size and time of the file when teddy last read it to its end. */
  seen: { size: number; mtimeMs: number } | null;
  /** True when everything read is on the lines and nothing is waiting for more. */
  isWhole: boolean;
  session: SessionId | null;
  branches: FollowedBranch[];
  /** The first record's ID; a fork of the session begins with that record as well. */
  firstRecord: string | null;
  /** The sessions whose lines the log may repeat. */
  copiedFrom?: string[];
  /** The first record that the log does not repeat. */
  firstOwn?: string;
  /** The agent's process, as reported by its hooks; null when no hook has reported one. */
  pid: number | null;
  /** The directory in which the session began. */
  cwd: string | null;
  agentVersion: string | null;
  model: string | null;
  entries: number;
  records: number;
  /** The number of lines that no reader understands. */
  unknown: number;
  /** The number of unknown lines that precede the checkpoint. */
  unknownBefore?: number;
  /** The branch that teddy read last. */
  latest?: number;
  lastTexts?: LastTexts;
  /** ISO 8601. */
  startedAt: string | null;
  updatedAt: string;
  /** Why teddy no longer reads the log; null while teddy follows it. */
  stopped: 'vanished' | 'line-gone' | 'elsewhere' | null;
  /** How much of each sub-agent's log is on the line, by the log's path. */
  folded: Record<string, { records: number; size: number }>;
}

export function newBranch(leaves: FollowedBranch['leaves']): FollowedBranch {
  return { leaves, ref: null, at: { turn: null, length: 0, written: 0 } };
}

export function newFollowedLog(agent: AgentName, path: string, now: string): FollowedLog {
  return {
    version: 1,
    agent,
    id: '',
    path,
    position: null,
    checkpoint: null,
    seen: null,
    isWhole: false,
    session: null,
    branches: [newBranch(null)],
    firstRecord: null,
    pid: null,
    cwd: null,
    agentVersion: null,
    model: null,
    entries: 0,
    records: 0,
    unknown: 0,
    startedAt: null,
    updatedAt: now,
    stopped: null,
    folded: {},
  };
}

/** Returns null for another version's state; in that case teddy reads the log from its beginning. */
export function toFollowedLog(state: Record<string, unknown> | null): FollowedLog | null {
  if (state?.['version'] !== 1 || findAgentName(state['agent']) === null) return null;
  const isWhole = Array.isArray(state['branches']) && state['branches'].every(isObject) && isObject(state['folded']);
  return isWhole ? (state as unknown as FollowedLog) : null;
}

/** Records a log that teddy itself wrote; it is not a new session until the agent continues it. */
export async function noteOwnLog(
  { logs, states }: Capture,
  agent: AgentName,
  path: string,
  now: string,
): Promise<void> {
  const stat = await logs.stat(agent, path);
  if (stat === null) return;
  const seen = { size: stat.size, mtimeMs: stat.mtimeMs };
  await states.write(path, { ...newFollowedLog(agent, path, now), seen, isWhole: true });
}

/** The key of the state that lists the tasks that the last drainer could not do. */
export const lastDrainKey = 'last-drain';

/** Records problems for `status`, because nobody sees the output of a drainer that a hook started. */
export async function noteProblems({ clock }: Project, { states }: Capture, problems: string[]): Promise<void> {
  await states.write(lastDrainKey, { at: clock.now().toISOString(), problems: problems.slice(0, 5) });
}

/** Lists the logs that teddy follows in this repository, the most recently read first. */
export async function listFollowedLogs({ states }: Pick<Capture, 'states'>): Promise<FollowedLog[]> {
  const logs = (await states.list()).map(toFollowedLog).filter((log) => log !== null);
  return logs.toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1));
}

/** A person who commits an agent's work most likely commits work from one of these lines. */
const maxListed = 8;

/** Lists the most recently written lines, by branch. */
export async function listCapturedLines(capture: Pick<Capture, 'states'>): Promise<RefName[]> {
  const logs = await listFollowedLogs(capture);
  return logs.flatMap(({ branches, latest = 0 }) => branches[latest]?.ref ?? []).slice(0, maxListed);
}

/** Another agent's session with recent activity. */
export interface RecentCapture {
  agent: AgentName;
  /** `teddy/20260124-claude-code-add-login`. */
  line: string;
  turn: TurnName | null;
  model: string | null;
  /** True when the session's agent has submitted a plan that nobody has judged. */
  awaitsVerdict: boolean;
}

/** The limits of "recent": an age, and a number of logs. */
const recent = { ms: 60 * 60 * 1000, logs: 3 };

/** Lists recent sessions of other agents. Omits lines without a branch, which were landed and archived, or deleted. */
export async function listRecentCaptures(
  { repository, clock }: Pick<Project, 'repository' | 'clock'>,
  capture: Pick<Capture, 'states'>,
): Promise<RecentCapture[]> {
  const since = new Date(clock.now().getTime() - recent.ms).toISOString();
  const [logs, refs] = await Promise.all([listFollowedLogs(capture), repository.store.listRefs('refs/heads/teddy/')]);
  const here = new Map<string, Oid>(refs.map(({ ref, oid }) => [ref, oid]));
  const found = logs.flatMap(({ agent, model, branches: [first], updatedAt }) => {
    const tip = first?.ref ? here.get(first.ref) : undefined;
    return first?.ref && tip !== undefined && updatedAt > since
      ? [{ agent, model, line: shortRef(first.ref), turn: first.at.turn, tip }]
      : [];
  });
  return Promise.all(
    found.slice(0, recent.logs).map(async ({ tip, ...one }) => ({
      ...one,
      awaitsVerdict: awaitsVerdict(await readLine(repository.store, tip)),
    })),
  );
}

export function interruptedError(): TeddyError {
  return new TeddyError('INTERRUPTED', 'Interrupted.', 'Nothing is lost: `teddy capture sweep` captures the rest.');
}

/** Returns true if the session belongs to this repository because it began in one of its work trees. */
export async function isOurSession(
  { repository }: Project,
  { logs }: Pick<Capture, 'logs'>,
  cwd: string | null,
  /** The directory in which a hook recorded the session here. */
  hooked: string | null = null,
): Promise<boolean> {
  if (cwd === null) return false;
  const roots = (await repository.workTrees()).map(({ root }) => root);
  const top = await logs.topOf(cwd);
  if (top !== null) return roots.includes(top);
  // The directory is gone, as after the removal of a work tree; a hook called in it is proof.
  const real = await logs.realPath(cwd);
  if (real === hooked) return true;
  return roots.some((root) => `${real}/`.startsWith(`${root}/`));
}

/** Returns a function that returns true if capture was paused at a given time. */
export async function openPauses({ spool }: Pick<Project, 'spool'>): Promise<(time: unknown) => boolean> {
  const pauses = await spool.pauses();
  return (time) => {
    const ms = typeof time === 'string' ? Date.parse(time) : Number.NaN;
    return pauses.some(({ from, to }) => ms >= from && (to === null || ms < to));
  };
}

/** The key of the state that marks a session as excluded, because TEDDY_CAPTURE=0 was set where it ran. */
export function leftOutKey(agent: string, id: string): string {
  return `left-out/${agent}/${id}`;
}

/** Finds the logs of this repository's sessions that no hook announced, and captures their new lines. */
import { setTimeout as sleep } from 'node:timers/promises';
import { notCapturedError, TeddyError, toMessage } from '../../errors.ts';
import type { ImportReport } from '../../conversation/logs/importer.ts';
import type { Project } from '../../ports/project.ts';
import type { Capture, FoundLog } from '../../ports/agent-logs.ts';
import { repair } from '../line/repair.ts';
import { drain, foldSubAgents } from './drain.ts';
import { interruptedError, noteProblems, toFollowedLog, isOurSession, openPauses } from './capture.ts';
import type { FollowedLog } from './capture.ts';
import { advance, countLeftOut, openFollower, settle, type Follower } from './follow-log.ts';

export interface SweptLog {
  agent: FollowedLog['agent'];
  id: string;
  path: string;
  /** The line, without `refs/heads/`; null when teddy captured nothing. */
  line: string | null;
  entries: number;
  records: number;
  /** Counts everything read that is not part of the conversation, by kind, in the plural. */
  leftOut: ImportReport['leftOut'];
}

export interface Swept {
  /** The logs read, without logs that have not changed since the last time. */
  logs: SweptLog[];
  unchanged: number;
  problems: string[];
}

export interface SweepOptions {
  signal: AbortSignal;
  /** Ignores logs last written before this time; null means the time when the user turned on capture here. */
  sinceMs: number | null;
  onLog?: (log: SweptLog) => void;
}

/** How long a log has to be unchanged to count as complete; longer when a call has no result yet. */
const [quietMs, toolMs] = [2_000, 10 * 60 * 1000];

const lastSweepKey = 'last-sweep';
/** How often a command that lists sessions looks for logs that no hook announced. */
const sweepEveryMs = 60_000;

/** Returns true if it is time for a sweep. After that, no other command sweeps for a minute. */
export async function isSweepDue({ spool, clock }: Project, { states }: Capture): Promise<boolean> {
  const { exists, paused, drainer } = await spool.look();
  if (!exists || paused || drainer !== null) return false;
  const last = Number((await states.read(lastSweepKey))?.['at'] ?? 0);
  const now = clock.now().getTime();
  if (now - last < sweepEveryMs && last <= now) return false;
  await states.write(lastSweepKey, { at: now });
  return true;
}

/**
 * Processes the hooks' notes first, and waits for a running drainer. Throws NOT_CAPTURED when capture is off here, and
 * INTERRUPTED.
 */
export async function sweepWhenFree(
  project: Project,
  capture: Capture,
  options: SweepOptions & { pause(): Promise<void>; onBusy(pid: number): void },
): Promise<Swept> {
  const { exists, paused, waiting } = await project.spool.look();
  if (paused)
    throw new TeddyError('NOT_CAPTURED', 'Capture is paused in this repository.', 'Resume it: `teddy capture resume`.');
  if (!exists) throw notCapturedError();
  const drained =
    waiting.length === 0
      ? null
      : await drain(project, capture, { signal: options.signal, lingerMs: 0, waitMs: quietMs });
  let hasSaid = false;
  for (;;) {
    if (options.signal.aborted) throw interruptedError();
    const swept = await sweep(project, capture, options);
    if (options.signal.aborted) throw interruptedError();
    if (!('heldBy' in swept)) return { ...swept, problems: [...(drained?.problems ?? []), ...swept.problems] };
    if (!hasSaid) options.onBusy(swept.heldBy);
    hasSaid = true;
    await options.pause();
  }
}

async function sweep(project: Project, capture: Capture, options: SweepOptions): Promise<Swept | { heldBy: number }> {
  const claim = await project.spool.claim();
  if ('heldBy' in claim) return claim;
  try {
    return await sweepClaimed(project, capture, options);
  } finally {
    await claim.release();
  }
}

async function sweepClaimed(
  project: Project,
  capture: Capture,
  { signal, sinceMs, onLog }: SweepOptions,
): Promise<Swept> {
  const swept: Swept = { logs: [], unchanged: 0, problems: [] };
  await capture.states.write(lastSweepKey, { at: project.clock.now().getTime() });
  await repair(project).catch((error: unknown) => swept.problems.push(toMessage(error)));
  const directories = (await project.repository.workTrees()).map(({ root }) => root);
  for await (const found of capture.logs.find(directories, sinceMs ?? 1000 * (await project.spool.look()).since)) {
    if (signal.aborted) break;
    const known = toFollowedLog(await capture.states.read(found.path));
    if (known !== null && isUnchanged(known, found) && (await isFolded(capture, known))) {
      swept.unchanged += 1;
      continue;
    }
    try {
      const log = await sweepLog(project, capture, found, signal);
      if (log === null) continue;
      swept.logs.push(log);
      onLog?.(log);
    } catch (error) {
      swept.problems.push(`${found.path}: ${toMessage(error)}`);
    }
  }
  await noteProblems(project, capture, swept.problems);
  return swept;
}

function isUnchanged({ seen, isWhole, stopped }: FollowedLog, { stat }: FoundLog): boolean {
  // The line may exist again.
  const isOver = isWhole || (stopped !== null && stopped !== 'line-gone');
  return isOver && seen?.size === stat.size && seen.mtimeMs === stat.mtimeMs;
}

/** A sub-agent writes its own log, and its latest work may not be on the line yet. */
async function isFolded({ logs }: Capture, { agent, path, folded }: FollowedLog): Promise<boolean> {
  for (const one of await logs.subAgents(agent, path)) {
    const stat = await logs.stat(agent, one.path);
    if (stat !== null && stat.size !== folded[one.path]?.size) return false;
  }
  return true;
}

/** Returns null for a log whose session began elsewhere. */
async function sweepLog(
  project: Project,
  capture: Capture,
  found: FoundLog,
  signal: AbortSignal,
): Promise<SweptLog | null> {
  const follower = await openFollower(project, capture, found, {
    cwd: await capture.logs.directory(found.agent, found.path),
    isOurs: (cwd) => isOurSession(project, capture, cwd),
    isLeftOut: await openPauses(project),
  });
  const before = follower.state.log;
  await advance(follower);
  await settleWhenQuiet(follower, signal);
  const { stopped, entries, records, branches, latest = 0, id } = follower.state.log;
  if (stopped === 'elsewhere') return null;
  const line = branches[latest]?.ref?.replace('refs/heads/', '') ?? null;
  const { agent, path } = found;
  const counts = { entries: entries - before.entries, records: records - before.records };
  return { agent, id, path, line, ...counts, leftOut: countLeftOut(follower) };
}

/** Settles the log unless an agent may be writing right now; in that case open items stay open for the next sweep. */
async function settleWhenQuiet(follower: Follower, signal: AbortSignal): Promise<void> {
  const { project, capture, agent, path } = follower;
  const stat = await capture.logs.stat(agent, path);
  if (stat === null || signal.aborted) return;
  const age = project.clock.now().getTime() - stat.mtimeMs;
  const { pid } = follower.state.log;
  const isDead = pid !== null && !(await capture.isAlive(pid));
  if (follower.reader.waitsForResult() && age < toolMs && !isDead) return;
  if (age < quietMs) await sleep(quietMs - Math.max(0, age), undefined, { signal }).catch(() => undefined);
  const now = await capture.logs.stat(agent, path);
  if (now?.size !== stat.size) return;
  await settle(follower);
  await foldSubAgents(project, capture, follower);
}

/** Reports whether capture works in this repository, and for each agent. */
import type { AgentSetup, AgentState, HookScript } from '../../ports/agent-setup.ts';
import type { SpoolState } from '../../ports/capture.ts';
import type { Project } from '../../ports/project.ts';
import type { Capture, FoundLog } from '../../ports/agent-logs.ts';
import { loadAgentLog } from '../../agents/open-log.ts';
import { isHooked } from './install.ts';
import { lastDrainKey, listFollowedLogs, toFollowedLog, type FollowedLog } from './capture.ts';
import { archivePrefix, archiveRef, deletedPrefix, mainLineRef, shortRef, type RefName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';

type StatusProject = Pick<Project, 'repository' | 'settings' | 'spool' | 'clock' | 'hash'>;
type StatusCapture = Pick<Capture, 'states' | 'logs'>;

interface CapturedAgent extends AgentState {
  /** When the agent last called a hook in this repository, in seconds since 1970. */
  lastCall: number | null;
  /** The number of its sessions that are lines in this repository. */
  sessions: number;
}

export interface CaptureStatus {
  captured: boolean;
  paused: boolean;
  script: HookScript;
  drainer: number | null;
  /** The number of bytes in the spool that wait for a drainer. */
  waiting: number;
  unreadable: number;
  agents: CapturedAgent[];
  /** Sentences, each naming a problem and its solution. */
  warnings: string[];
}

/** A drainer starts as soon as a hook is called. */
const lateAfterSeconds = 60;

export async function readCaptureStatus(
  project: StatusProject,
  setup: AgentSetup,
  capture: StatusCapture,
): Promise<CaptureStatus> {
  const [agents, script, spool, setting, followed, drained, refs] = await Promise.all([
    setup.list(),
    setup.script(),
    project.spool.look(),
    project.settings.get('capture'),
    listFollowedLogs(capture),
    capture.states.read(lastDrainKey),
    project.repository.store.listRefs('refs/heads/', archivePrefix, deletedPrefix),
  ]);
  const captured = agents.map((agent) => ({
    ...agent,
    lastCall: spool.lastCalls.get(agent.name) ?? null,
    sessions: followed.filter((log) => log.agent === agent.name && log.session !== null).length,
  }));
  const isOn = spool.exists && setting === 'true';
  const silent = isOn ? await findSilentAgents(project, agents, capture) : [];
  return {
    captured: isOn,
    paused: spool.paused,
    script,
    drainer: spool.drainer,
    waiting: spool.waiting.reduce((sum, { bytes }) => sum + bytes, 0),
    unreadable: spool.unreadable,
    agents: captured,
    warnings: [
      ...warnOfRepository(spool, setting === 'true', project.clock.now()),
      ...warnOfScript(script, agents),
      ...warnOfLogs(followed, refs),
      ...warnOfDrainer(drained),
      ...captured.flatMap(warnOfAgent),
      ...silent.map((agent) => `${describeSilent(agent)}: \`teddy capture sweep\` captures what was missed.`),
    ],
  };
}

function warnOfDrainer(drained: Record<string, unknown> | null): string[] {
  const problems = drained?.['problems'];
  if (!Array.isArray(problems)) return [];
  return problems.map(
    (problem) => `The last drainer reported a problem: ${String(problem)} To try again: \`teddy capture sweep\`.`,
  );
}

/** The number of logs to name. */
const namedLogs = 3;

function warnOfLogs(followed: readonly FollowedLog[], refs: readonly { ref: RefName }[]): string[] {
  const vanished = followed.filter(({ stopped, isWhole }) => stopped === 'vanished' && !isWhole);
  const gone = followed.filter(({ stopped }) => stopped === 'line-gone');
  const strange = followed.filter(({ unknown }) => unknown > 0);
  return [
    ...vanished
      .slice(0, namedLogs)
      .map(({ agent, path }) => `A log from ${agent} disappeared before teddy had read all of it: ${path}.`),
    ...gone.slice(0, namedLogs).map((log) => `A session in ${log.agent} continues, but ${restoreHint(log, refs)}.`),
    ...strange
      .slice(0, namedLogs)
      .map(
        ({ agent, agentVersion, unknown, path }) =>
          `${unknown === 1 ? 'A line' : `${unknown} lines`} from ${agent}${agentVersion === null ? '' : ` ${agentVersion}`} ${unknown === 1 ? 'is' : 'are'} of an unknown kind, torn, or longer than 64 MiB: ${path}. Lines within that limit are kept in their turns' raw.jsonl.`,
      ),
  ];
}

/**
 * Explains how to restore the line. If neither an archive nor a deletion by teddy contains it, the user has renamed or
 * deleted its branch with git.
 */
function restoreHint({ session, branches }: FollowedLog, refs: readonly { ref: RefName }[]): string {
  const isArchived = session !== null && refs.some(({ ref }) => ref === archiveRef(mainLineRef(session)));
  const isDeleted = refs.some(({ ref }) => ref.startsWith(deletedPrefix) && ref.endsWith(`/${session}`));
  const by = isArchived ? 'archive' : isDeleted ? 'delete' : null;
  if (by !== null)
    return `its branch is deleted or archived: \`teddy ${by} --restore ${session}\` brings it back; then the rest is captured`;
  const gone = branches.flatMap(({ ref }) => ref ?? []).find((ref) => !refs.some((one) => one.ref === ref));
  const name = toShellWord(gone === undefined ? `teddy/${session}` : shortRef(gone));
  if (gone === undefined)
    return `its branch ${name} is back, or another session uses that name now: \`teddy capture sweep\` captures the rest if the branch is the session's own`;
  return `its branch ${name} is missing: \`git branch -m <its new name> ${name}\` if you renamed it, else \`teddy doctor --fix\` looks for it; then the rest is captured`;
}

/** The number of an agent's newest logs, and of lines in each, to read to find out where the agent has worked. */
const [maxLogs, maxLines] = [20, 50];

/** Agents write logs a little after the hook call that announces them. */
const marginSeconds = 60;

/** An agent that has worked here without a call from its hooks. Times are in seconds since 1970. */
export interface SilentAgent {
  title: string;
  /** The version in its newest log; null when the log does not tell. */
  version: string | null;
  workedAt: number;
  /** Null when its hooks have never called. */
  lastCall: number | null;
}

/**
 * Finds the agents whose hooks are installed, and which have written a session's log in this repository since those
 * hooks last called. A log that waits for the end of a turn was announced by a hook.
 */
export async function findSilentAgents(
  project: StatusProject,
  agents: readonly AgentState[],
  { logs, states }: StatusCapture,
): Promise<SilentAgent[]> {
  const { exists, paused, drainer, since, lastCalls } = await project.spool.look();
  const hooked = agents.filter(({ hooks }) => hooks === 'installed');
  // A hook has started the drainer, which follows the turn for as long as it goes on.
  if (!exists || paused || drainer !== null || hooked.length === 0) return [];
  const roots = (await project.repository.workTrees()).map(({ root }) => root);
  const found: FoundLog[] = [];
  for await (const log of logs.find(roots, 1000 * since)) found.push(log);
  const silent: SilentAgent[] = [];
  for (const { name, title } of hooked) {
    const lastCall = lastCalls.get(name) ?? null;
    const isLate = ({ agent, stat }: FoundLog) =>
      agent === name && stat.mtimeMs / 1000 > Math.max(lastCall ?? 0, since) + marginSeconds;
    // An agent that sorts its logs by their beginning may have gone on with an old one.
    const newest = found.filter(isLate).toSorted((one, other) => other.stat.mtimeMs - one.stat.mtimeMs);
    for (const log of newest.slice(0, maxLogs)) {
      if (toFollowedLog(await states.read(log.path))?.isWhole === false) continue;
      const { cwd, version } = await readHead(project, logs, log);
      const top = await logs.topOf(cwd ?? '');
      if (top === null || !roots.includes(top)) continue;
      silent.push({ title, version, workedAt: log.stat.mtimeMs / 1000, lastCall });
      break;
    }
  }
  return silent;
}

/** Describes the silence in a sentence without its full stop. */
export function describeSilent({ title, version, workedAt, lastCall }: SilentAgent): string {
  const at = (seconds: number) => `${new Date(1000 * seconds).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  const missed =
    lastCall === null
      ? 'but its hooks have never called teddy'
      : `but its hooks have not called teddy since ${at(lastCall)}`;
  return `${title}${version === null ? '' : ` ${version}`} has worked here, last at ${at(workedAt)}, ${missed}`;
}

/** Counts the sessions of agents in this repository that were written since then, and of which teddy has read nothing. */
export async function countUncaptured(project: StatusProject, { logs, states }: StatusCapture, sinceMs: number) {
  const roots = (await project.repository.workTrees()).map(({ root }) => root);
  let count = 0;
  for await (const log of logs.find(roots, sinceMs)) {
    if ((await states.read(log.path)) !== null) continue;
    const top = await logs.topOf((await readHead(project, logs, log)).cwd ?? '');
    if (top !== null && roots.includes(top)) count += 1;
  }
  return count;
}

async function readHead({ hash }: StatusProject, logs: Capture['logs'], { agent, path }: FoundLog) {
  const reader = (await loadAgentLog(agent))({ hash, importedAt: '' });
  for await (const line of (await logs.read(path, null))?.lines ?? []) {
    reader.line(line);
    if (reader.head().cwd !== null || line.number >= maxLines) break;
  }
  const { cwd, version } = reader.head();
  return { cwd: cwd ?? (await logs.directory(agent, path)), version };
}

function warnOfRepository(spool: SpoolState, isSet: boolean, now: Date): string[] {
  const warnings: string[] = [];
  if (spool.exists !== isSet)
    warnings.push(
      spool.exists
        ? 'Hooks record their calls here, but teddy.capture is not set: `teddy capture install` or `teddy capture uninstall`.'
        : 'teddy.capture is set, but the spool is missing, so hooks record nothing: `teddy capture install`.',
    );
  const oldest = Math.min(...spool.waiting.map((one) => one.oldest));
  if (spool.drainer === null && oldest < now.getTime() / 1000 - lateAfterSeconds)
    warnings.push('Hook calls are waiting, and nothing is reading them: `teddy capture sweep`.');
  if (spool.unreadable > 0)
    warnings.push(
      `${spool.unreadable} ${spool.unreadable === 1 ? 'recorded hook call' : 'recorded hook calls'} could not be read, and ${spool.unreadable === 1 ? 'is' : 'are'} kept in the spool below unreadable/.`,
    );
  return warnings;
}

function warnOfScript({ state, path }: HookScript, agents: readonly AgentState[]): string[] {
  if (!agents.some(isHooked)) return [];
  if (state === 'missing') return [`The script that all hooks run is missing (${path}): \`teddy capture install\`.`];
  if (state === 'broken') return [`The program that ${path} starts no longer exists: \`teddy capture install\`.`];
  return [];
}

function warnOfAgent({ title, hooks, trusted, problem }: CapturedAgent): string[] {
  return [
    ...(problem === null ? [] : [problem]),
    ...(hooks === 'changed' ? [`Some hooks for ${title} are missing or were changed: \`teddy capture install\`.`] : []),
    ...(hooks === 'installed' && trusted === false
      ? [`${title} does not run the hooks until you trust them: start it, and answer \`/hooks\` once.`]
      : []),
  ];
}

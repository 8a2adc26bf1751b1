/** Reports whether capture works in this repository, and for each agent. */
import type { AgentName } from '../../agents/agents.ts';
import type { AgentSetup, AgentState, HookScript } from '../../ports/agent-setup.ts';
import type { SpoolState } from '../../ports/capture.ts';
import type { Project } from '../../ports/project.ts';
import type { Capture, FoundLog } from '../../ports/agent-logs.ts';
import { agentNames } from '../../agents/agents.ts';
import { loadAgentLog } from '../../agents/open-log.ts';
import { isHooked } from './install.ts';
import { lastDrainKey, listFollowedLogs, type FollowedLog } from './capture.ts';
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
  const logs = isOn && !spool.paused ? await findNewestLogs(project, capture.logs, spool.since) : null;
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
      ...captured.flatMap((agent) => warnOfAgent(agent, logs?.get(agent.name) ?? 0, spool.since)),
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

/** Finds when each agent last wrote a session's log in this repository, in seconds since 1970. */
async function findNewestLogs(project: StatusProject, logs: Capture['logs'], since: number) {
  const newest = new Map<AgentName, number>();
  const roots = (await project.repository.workTrees()).map(({ root }) => root);
  const found: FoundLog[] = [];
  for await (const log of logs.find(roots, 1000 * since)) found.push(log);
  for (const agent of agentNames)
    for (const log of found.filter((one) => one.agent === agent).slice(-maxLogs)) {
      const top = await logs.topOf((await readDirectory(project, logs, log)) ?? '');
      if (top !== null && roots.includes(top)) newest.set(agent, log.stat.mtimeMs / 1000);
    }
  return newest;
}

/** Counts the sessions of agents in this repository that were written since then, and of which teddy has read nothing. */
export async function countUncaptured(project: StatusProject, { logs, states }: StatusCapture, sinceMs: number) {
  const roots = (await project.repository.workTrees()).map(({ root }) => root);
  let count = 0;
  for await (const log of logs.find(roots, sinceMs)) {
    if ((await states.read(log.path)) !== null) continue;
    const top = await logs.topOf((await readDirectory(project, logs, log)) ?? '');
    if (top !== null && roots.includes(top)) count += 1;
  }
  return count;
}

async function readDirectory({ hash }: StatusProject, logs: Capture['logs'], { agent, path }: FoundLog) {
  const reader = (await loadAgentLog(agent))({ hash, importedAt: '' });
  for await (const line of (await logs.read(path, null))?.lines ?? []) {
    reader.line(line);
    if (reader.head().cwd !== null || line.number >= maxLines) break;
  }
  return reader.head().cwd ?? logs.directory(agent, path);
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

/** Agents write logs a little after the hook call that announces them. */
const marginSeconds = 120;

/** `log` is the time at which the agent last wrote a log here; `since` is the time at which capture began. */
function warnOfAgent(
  { title, hooks, trusted, problem, lastCall }: CapturedAgent,
  log: number,
  since: number,
): string[] {
  const isInstalled = hooks === 'installed';
  const missed =
    lastCall === null ? 'but its hooks have never called teddy' : 'but its hooks have not called teddy since then';
  return [
    ...(problem === null ? [] : [problem]),
    ...(hooks === 'changed' ? [`Some hooks for ${title} are missing or were changed: \`teddy capture install\`.`] : []),
    ...(isInstalled && trusted === false
      ? [`${title} does not run the hooks until you trust them: start it, and answer \`/hooks\` once.`]
      : []),
    ...(isInstalled && log > Math.max(lastCall ?? 0, since) + marginSeconds
      ? [`${title} has worked here, ${missed}: \`teddy capture sweep\` captures what was missed.`]
      : []),
  ];
}

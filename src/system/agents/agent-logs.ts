/** Finds the place where each agent keeps its sessions' logs, and the logs that may concern work in this repository. */
import { open, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { homeOf, type AgentLogPlaces } from '../../agents/agent.ts';
import { agentNames, agents, type AgentName } from '../../agents/agents.ts';
import { parseJson } from '../../conversation/records/import-values.ts';
import { fallBackTo } from '../../disk/system-error.ts';
import type { AgentLogs, FoundLog } from '../../ports/agent-logs.ts';
import { agentFiles, listLogs } from './agent-files.ts';
import { readLog, readNamed, realPath, statLog } from './agent-log-files.ts';

export interface AgentLogsOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** The journals that plugins write here for agents that do not log their sessions. */
  spoolDir: string;
}

export function agentLogs({ env, spoolDir }: AgentLogsOptions): AgentLogs {
  const rootOf = (name: AgentName) => {
    const agent = agents[name];
    return agent.logs.root(homeOf(agent, env, env['HOME'] ?? homedir()), spoolDir);
  };
  const locate = async (agent: AgentName, sessionId: string): Promise<string | null> => {
    if (!/^[\w.-]{1,200}$/.test(sessionId)) return null;
    const { locate: toPath, depth } = agents[agent].logs;
    if (toPath !== undefined) return toPath(rootOf(agent), sessionId);
    const paths = await listLogs(rootOf(agent), depth);
    return paths.find((path) => basename(path).includes(sessionId)) ?? null;
  };
  return {
    stat: (agent, path) => statLog(path, rootOf(agent)),
    read: readLog,
    readNamed,
    async *find(directories, sinceMs) {
      const real = await Promise.all(directories.map(realPath));
      const wanted = { directories: [...new Set([...directories, ...real])], sinceMs };
      for (const agent of agentNames) yield* await findLogs(agent, rootOf(agent), wanted);
    },
    locate,
    directory: async (agent, path) => (await agents[agent].logs.directoryOf?.(path, agentFiles)) ?? null,
    topOf,
    realPath,
    subAgents: async (agent, path) => (await agents[agent].logs.subAgents?.(path, agentFiles)) ?? [],
    async planCall(agent, payload) {
      const files = { readText: agentFiles.readText, locate: (id: string) => locate(agent, id) };
      return (await agents[agent].hooks.gate?.readCall(payload, files)) ?? null;
    },
  };
}

interface WantedLogs {
  directories: readonly string[];
  sinceMs: number;
}

/** Returns a log that has several names only once, under the name with the fewest links. */
async function findLogs(agent: AgentName, root: string, { directories, sinceMs }: WantedLogs): Promise<FoundLog[]> {
  const found = new Map<string, FoundLog>();
  const { logs } = agents[agent];
  const isWanted = openFolders(logs, directories);
  for (const path of await listLogs(root, logs.depth)) {
    const stat = await statLog(path, root);
    const key = `${stat?.device}:${stat?.inode}`;
    if (stat === null || stat.mtimeMs < sinceMs || found.has(key)) continue;
    if ((await isWanted(path)) && (await mayBeOf(logs, path, directories))) found.set(key, { agent, path, stat });
  }
  const sorted = [...found.values()];
  return logs.isNamedByTime === true
    ? sorted.toSorted((a, b) => (basename(a.path) < basename(b.path) ? -1 : 1))
    : sorted.toSorted((a, b) => a.stat.mtimeMs - b.stat.mtimeMs);
}

/** When a folder's name is not informative, teddy reads the beginnings of this many logs. */
const [maxHeads, headBytes] = [3, 256 * 1024];

/**
 * Returns a function that decides whether a log's folder may contain work in `directories`. An agent started through a
 * link to a directory has named the folder after the link; in that case, the beginnings of its logs decide.
 */
function openFolders({ folder: named }: AgentLogPlaces, directories: readonly string[]) {
  const folders = new Map<string, { isWanted: boolean; heads: number }>();
  return async (path: string): Promise<boolean> => {
    if (named === undefined) return true;
    const name = join(path, ...Array.from({ length: named.above }, () => '..'));
    const mayHold = () => directories.some((directory) => named.mayHold(basename(name), directory));
    const folder = folders.get(name) ?? { isWanted: mayHold(), heads: 0 };
    folders.set(name, folder);
    if (folder.isWanted || folder.heads >= maxHeads) return folder.isWanted;
    folder.heads += 1;
    folder.isWanted = await beganIn(path, directories);
    return folder.isWanted;
  };
}

async function beganIn(path: string, directories: readonly string[]): Promise<boolean> {
  const head = await readHead(path);
  const names = new Set(Array.from(head.matchAll(/"cwd":("(?:[^"\\]|\\.)*")/g), ([, text]) => parseJson(text ?? '')));
  for (const name of names) {
    const real = typeof name === 'string' ? await realPath(name) : '';
    if (directories.some((one) => `${real}/`.startsWith(`${one}/`))) return true;
  }
  return false;
}

async function readHead(path: string): Promise<string> {
  const file = await open(path).catch(fallBackTo(null, 'ENOENT', 'EACCES'));
  try {
    const head = await file?.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return head?.buffer.toString('utf8', 0, head.bytesRead) ?? '';
  } finally {
    await file?.close();
  }
}

/** If nothing outside the log shows where its session began, the log's reader finds out. */
async function mayBeOf(
  { isLog, directoryOf }: AgentLogPlaces,
  path: string,
  directories: readonly string[],
): Promise<boolean> {
  if (isLog?.(basename(path)) === false) return false;
  if (directoryOf === undefined) return true;
  const begun = await directoryOf(path, agentFiles);
  const real = begun === null ? '' : await realPath(begun);
  return directories.some((one) => `${real}/`.startsWith(`${one}/`));
}

/**
 * Returns the root of the repository that contains a directory, by its `.git`; null when no repository does or the
 * directory is gone.
 */
async function topOf(directory: string): Promise<string | null> {
  const isThere = (await stat(directory).catch(() => null)) !== null;
  const real = isThere ? await realPath(directory) : null;
  for (let at = real; at !== null; at = dirname(at) === at ? null : dirname(at)) {
    if (await stat(join(at, '.git')).catch(() => null)) return at;
  }
  return null;
}

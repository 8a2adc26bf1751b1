/** Where each agent keeps the logs of its sessions, and which of them may be of work in this repository. */
import { open, readdir, readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { agentNames, type AgentName } from '../conversation/agent-log.ts';
import { fieldsOf, parseJson } from '../conversation/import-values.ts';
import { fallBackTo } from '../disk/system-error.ts';
import type { AgentLogs, FoundLog } from '../ports/agent-logs.ts';
import { readLog, readNamed, realPath, statLog } from './agent-log-files.ts';

export interface AgentLogsOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** The journals that plugins keep here for agents whose own store is no log. */
  spoolDir: string;
}

export function agentLogs(options: AgentLogsOptions): AgentLogs {
  const homes = homesOf(options);
  const find = (agent: AgentName, directories: readonly string[], sinceMs: number) =>
    findLogs(agent, homes[agent], directories, sinceMs);
  return {
    stat: (agent, path) => statLog(path, homes[agent]),
    read: readLog,
    readNamed,
    async *find(directories, sinceMs) {
      const real = await Promise.all(directories.map(realPath));
      for (const agent of agentNames) yield* await find(agent, [...new Set([...directories, ...real])], sinceMs);
    },
    async locate(agent, sessionId) {
      if (!/^[\w.-]{1,200}$/.test(sessionId)) return null;
      if (agent === 'opencode') return join(homes.opencode, `${sessionId}.jsonl`);
      if (agent === 'copilot') return join(homes.copilot, sessionId, 'events.jsonl');
      const names = await listBelow(homes[agent], depths[agent]);
      return names.find((path) => basename(path).includes(sessionId)) ?? null;
    },
    directory: async (agent, path) => (agent === 'gemini' ? geminiRoot(path) : null),
    topOf,
    realPath,
    subAgents: listSubAgents,
  };
}

/** The directory below which all logs of an agent lie. */
function homesOf({ env, spoolDir }: AgentLogsOptions): Record<AgentName, string> {
  const home = env['HOME'] ?? homedir();
  const own = (variable: string, directory: string) => env[variable] || join(home, directory);
  return {
    'claude-code': join(own('CLAUDE_CONFIG_DIR', '.claude'), 'projects'),
    codex: join(own('CODEX_HOME', '.codex'), 'sessions'),
    gemini: join(home, '.gemini', 'tmp'),
    opencode: join(spoolDir, 'opencode'),
    copilot: join(home, '.copilot', 'session-state'),
    qwen: join(home, '.qwen', 'projects'),
    pi: join(own('PI_CODING_AGENT_DIR', join('.pi', 'agent')), 'sessions'),
  };
}

/** How many directories are between the home of an agent and a log. */
const depths: Record<AgentName, number> = {
  'claude-code': 1,
  codex: 3,
  gemini: 2,
  opencode: 0,
  copilot: 1,
  qwen: 2,
  pi: 1,
};

/** The directories below the home that can hold logs of work in `directories`; null: any can. */
function namesFor(agent: AgentName, directories: readonly string[]): ((name: string) => boolean) | null {
  const encoded = directories.map((path) => path.replaceAll(/[^A-Za-z0-9]/g, '-'));
  if (agent === 'claude-code' || agent === 'qwen')
    // A long name is cut there, and ends with a hash of its own.
    return (name) =>
      encoded.some((one) => name.startsWith(one) || (one.length > 200 && name.startsWith(one.slice(0, 200))));
  if (agent === 'pi')
    return (name) => directories.some((path) => name.includes(path.replaceAll('/', '-').replace(/^-/, '')));
  return null;
}

/** A log that has several names is given once, under the one that leads through the fewest links. */
async function findLogs(
  agent: AgentName,
  home: string,
  directories: readonly string[],
  sinceMs: number,
): Promise<FoundLog[]> {
  const found = new Map<string, FoundLog>();
  const isWanted = openFolders(agent, directories);
  for (const path of await listBelow(home, depths[agent])) {
    const stat = await statLog(path, home);
    const key = `${stat?.device}:${stat?.inode}`;
    if (stat === null || stat.mtimeMs < sinceMs || found.has(key)) continue;
    if ((await isWanted(path)) && (await mayBeOf(agent, path, directories))) found.set(key, { agent, path, stat });
  }
  // The names of Codex begin with a time: a fork comes after its origin, whichever was written to last.
  if (agent === 'codex') return [...found.values()].toSorted((a, b) => (basename(a.path) < basename(b.path) ? -1 : 1));
  return [...found.values()].toSorted((a, b) => a.stat.mtimeMs - b.stat.mtimeMs);
}

/** So many logs of a folder whose name tells nothing are looked at, and so much of each. */
const [maxHeads, headBytes] = [3, 256 * 1024];

/**
 * Whether the folder of a log may hold work in `directories`. An agent that was started by another name of a directory, through a link,
 * has named the folder after that: then the beginnings of its logs tell.
 */
function openFolders(agent: AgentName, directories: readonly string[]) {
  const byName = namesFor(agent, directories);
  const folders = new Map<string, { isWanted: boolean; heads: number }>();
  return async (path: string): Promise<boolean> => {
    if (byName === null) return true;
    const name = dirname(agent === 'qwen' ? dirname(path) : path);
    const folder = folders.get(name) ?? { isWanted: byName(basename(name)), heads: 0 };
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

/** Files that end in `.jsonl`, so many directories below; behind links as well, and those last. */
async function listBelow(directory: string, depth: number): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(
    fallBackTo([], 'ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'),
  );
  const isLink = (entry: (typeof entries)[number]) => Number(entry.isSymbolicLink());
  const inOrder = entries.toSorted((a, b) => isLink(a) - isLink(b));
  if (depth === 0)
    return inOrder
      .filter((entry) => !entry.isDirectory() && entry.name.endsWith('.jsonl'))
      .map(({ name }) => join(directory, name));
  const below = inOrder.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
  return (await Promise.all(below.map(({ name }) => listBelow(join(directory, name), depth - 1)))).flat();
}

/** Gemini notes the directory beside the logs; of the others, the reader of the log says where the session began. */
async function mayBeOf(agent: AgentName, path: string, directories: readonly string[]): Promise<boolean> {
  if (agent === 'copilot') return basename(path) === 'events.jsonl';
  if (agent === 'codex') return basename(path).startsWith('rollout-');
  if (agent !== 'gemini') return true;
  const root = await geminiRoot(path);
  const real = root === null ? '' : await realPath(root);
  return directories.some((one) => `${real}/`.startsWith(`${one}/`));
}

/** `~/.gemini/tmp/<slug>/chats/<log>`: the directory of the slug. */
async function geminiRoot(path: string): Promise<string | null> {
  const slugDir = dirname(dirname(path));
  const known = fieldsOf(
    fieldsOf(parseJson(await readText(join(dirname(dirname(slugDir)), 'projects.json'))))['projects'],
  );
  const named = Object.entries(known).find(([, slug]) => slug === basename(slugDir))?.[0];
  return named ?? ((await readText(join(slugDir, '.project_root'))).trim() || null);
}

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

/** Claude Code keeps them beside the log: `<session>/subagents/agent-<id>.jsonl`, each with a `.meta.json`. */
async function listSubAgents(agent: AgentName, path: string) {
  if (agent !== 'claude-code') return [];
  const directory = join(path.replace(/\.jsonl$/, ''), 'subagents');
  const paths = (await listBelow(directory, 0)).toSorted();
  return Promise.all(
    paths.map(async (one) => {
      const meta = fieldsOf(parseJson(await readText(one.replace(/\.jsonl$/, '.meta.json'))));
      const text = (key: string) => (typeof meta[key] === 'string' ? meta[key] : null);
      return {
        path: one,
        callId: text('toolUseId'),
        description: [text('agentType'), text('description')].filter(Boolean).join(': '),
      };
    }),
  );
}

/** The top of the repository that holds a directory, by its `.git`; null: none does, or the directory is gone. */
async function topOf(directory: string): Promise<string | null> {
  const isThere = (await stat(directory).catch(() => null)) !== null;
  const real = isThere ? await realPath(directory) : null;
  for (let at = real; at !== null; at = dirname(at) === at ? null : dirname(at)) {
    if (await stat(join(at, '.git')).catch(() => null)) return at;
  }
  return null;
}

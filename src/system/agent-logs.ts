/** Where each agent keeps the logs of its sessions, and which of them may be of work in this repository. */
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { agentNames, type AgentName } from '../conversation/agent-log.ts';
import { fieldsOf, parseJson } from '../conversation/import-values.ts';
import { fallBackTo } from '../disk/system-error.ts';
import type { AgentLogs, FoundLog } from '../ports/agent-logs.ts';
import { readLog, readNamed, statLog } from './agent-log-files.ts';

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
    stat: (agent, path) => statLog(path, [homes[agent]]),
    read: readLog,
    readNamed,
    async *find(directories, sinceMs) {
      for (const agent of agentNames) yield* await find(agent, directories, sinceMs);
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

async function findLogs(
  agent: AgentName,
  home: string,
  directories: readonly string[],
  sinceMs: number,
): Promise<FoundLog[]> {
  const paths = await listBelow(home, depths[agent], namesFor(agent, directories));
  const found = await Promise.all(
    paths.map(async (path) => {
      const stat = await statLog(path, [home]);
      return stat === null || stat.mtimeMs < sinceMs || !(await mayBeOf(agent, path, directories))
        ? []
        : [{ agent, path, stat }];
    }),
  );
  return found.flat().toSorted((a, b) => a.stat.mtimeMs - b.stat.mtimeMs);
}

/** Files that end in `.jsonl`, so many directories below. `isWanted` is asked about the first of these. */
async function listBelow(
  directory: string,
  depth: number,
  isWanted: ((name: string) => boolean) | null = null,
): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(
    fallBackTo([], 'ENOENT', 'ENOTDIR', 'EACCES'),
  );
  if (depth === 0)
    return entries
      .filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'))
      .map(({ name }) => join(directory, name));
  const below = entries.filter((entry) => entry.isDirectory() && (isWanted === null || isWanted(entry.name)));
  return (await Promise.all(below.map(({ name }) => listBelow(join(directory, name), depth - 1)))).flat();
}

/** Gemini notes the directory beside the logs; of the others, the reader of the log says where the session began. */
async function mayBeOf(agent: AgentName, path: string, directories: readonly string[]): Promise<boolean> {
  if (agent === 'copilot') return basename(path) === 'events.jsonl';
  if (agent === 'codex') return basename(path).startsWith('rollout-');
  if (agent !== 'gemini') return true;
  const root = await geminiRoot(path);
  return root !== null && directories.some((one) => `${root}/`.startsWith(`${one}/`));
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
  const real = await realpath(directory).catch(() => null);
  for (let at = real; at !== null; at = dirname(at) === at ? null : dirname(at)) {
    if (await stat(join(at, '.git')).catch(() => null)) return at;
  }
  return null;
}

/** The places where agents look for their logs. Nothing else below an agent's home is changed. */
import { link, mkdir, readFile, realpath, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'smol-toml';
import type { OpenableAgent } from '../conversation/render-agent-log.ts';
import { removeDirectory, syncDirectory, writeDurably } from '../disk/durable-file.ts';
import { errorCode, toDiskError } from '../disk/system-error.ts';
import { TeddyError } from '../errors.ts';
import type { AgentLogDirectory } from '../ports/disk.ts';
import { findProgram } from './find-program.ts';

interface Agent {
  program: string;
  /** The variable that moves its home, and the home's name. */
  variable: string;
  home: string;
  readProvider(home: string): Promise<string>;
  /** Below its home. */
  toPath(cwd: string, session: { id: string; startedAt: Date }): string;
}

const agents: Record<OpenableAgent, Agent> = {
  'claude-code': {
    program: 'claude',
    variable: 'CLAUDE_CONFIG_DIR',
    home: '.claude',
    readProvider: async () => 'anthropic',
    toPath: (cwd, { id }) => join('projects', toClaudeProject(cwd), `${id}.jsonl`),
  },
  codex: {
    program: 'codex',
    variable: 'CODEX_HOME',
    home: '.codex',
    readProvider: readCodexProvider,
    toPath(_cwd, { id, startedAt }) {
      const [date = '', time = ''] = toLocalTime(startedAt).split('T');
      return join('sessions', ...date.split('-'), `rollout-${date}T${time.replaceAll(':', '-')}-${id}.jsonl`);
    },
  },
};

/** Throws SYSTEM_FAILED. */
export async function agentLogDirectory(
  agent: OpenableAgent,
  { cwd: given, env }: { cwd: string; env: Record<string, string | undefined> },
): Promise<AgentLogDirectory> {
  const { program, readProvider, toPath } = agents[agent];
  const home = findHome(agents[agent], given, env);
  const cwd = await realpath(given);
  return {
    cwd,
    provider: await readProvider(home),
    isInstalled: findProgram(program, env) !== null,
    async add(session, text) {
      const path = join(home, toPath(cwd, session));
      await addFile(path, text);
      return path;
    },
  };
}

function findHome({ program, variable, home }: Agent, cwd: string, env: Record<string, string | undefined>): string {
  if (env[variable]) return resolve(cwd, env[variable]);
  if (env['HOME']) return resolve(cwd, env['HOME'], home);
  throw new TeddyError(
    'SYSTEM_FAILED',
    `HOME is not set, so nothing says where ${program} keeps its sessions.`,
    `Set HOME, or ${variable} to the folder that ${program} uses.`,
  );
}

/** Codex has a default, which also stands in for what it would refuse to read. */
async function readCodexProvider(home: string): Promise<string> {
  const text = await readFile(join(home, 'config.toml'), 'utf8').catch(() => '');
  return parseProvider(text) ?? 'openai';
}

function parseProvider(text: string): string | null {
  try {
    const { model_provider: provider } = parse(text);
    return typeof provider === 'string' && provider !== '' ? provider : null;
  } catch {
    return null;
  }
}

const maxProjectLength = 200;

/** Claude Code's own rule: a hash tells long folders apart that begin alike. */
export function toClaudeProject(cwd: string): string {
  const name = cwd.replace(/[^a-zA-Z0-9]/g, '-');
  if (name.length <= maxProjectLength) return name;
  let hash = 0;
  for (let at = 0; at < cwd.length; at += 1) hash = ((hash << 5) - hash + cwd.charCodeAt(at)) | 0;
  return `${name.slice(0, maxProjectLength)}-${Math.abs(hash).toString(36)}`;
}

/** `2026-11-24T09:30:00` on the user's clock. */
function toLocalTime(date: Date): string {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** The agent never sees a part of it: it looks for names that end in `.jsonl`. */
async function addFile(path: string, text: string): Promise<void> {
  const directory = dirname(path);
  const temporary = `${path}.teddy-tmp`;
  let made: string | undefined;
  try {
    made = await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeDurably(temporary, text, 0o600);
    // Unlike a rename, a link never replaces anything.
    await link(temporary, path);
    await unlink(temporary);
    await syncDirectory(directory);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    await removeMade(directory, made);
    throw toWriteError(error, path);
  }
}

/** From the innermost one to the first that was made; what somebody else has put into one stays. */
async function removeMade(directory: string, made: string | undefined): Promise<void> {
  if (made === undefined || directory.length < made.length) return;
  if (await removeDirectory(directory)) await removeMade(dirname(directory), made);
}

function toWriteError(error: unknown, path: string): unknown {
  const code = errorCode(error);
  if (code === null) return error;
  if (code === 'EEXIST')
    return new TeddyError(
      'FILES_IN_THE_WAY',
      `${path} is there already.`,
      'Run the command again: it takes another id.',
    );
  const hint = 'Check who may write into its folder, and run the command again.';
  return toDiskError(error, `${path} could not be written`, hint);
}

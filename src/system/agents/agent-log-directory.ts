/** The places where agents look for their logs. teddy changes nothing that is already below an agent's home directory. */
import { existsSync } from 'node:fs';
import { link, mkdir, realpath, unlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { homeOf, type Agent } from '../../agents/agent.ts';
import { agents, type AgentName } from '../../agents/agents.ts';
import { removeDirectory, syncDirectory, writeDurably } from '../../disk/durable-file.ts';
import { errorCode, toDiskError } from '../../disk/system-error.ts';
import { TeddyError } from '../../errors.ts';
import type { AgentLogDirectory } from '../../ports/disk.ts';
import { agentFiles } from './agent-files.ts';
import { findProgram } from '../find-program.ts';

/** `name` must be an agent that has `openWith`. Throws SYSTEM_FAILED. */
export async function agentLogDirectory(
  name: AgentName,
  { cwd: given, env }: { cwd: string; env: Record<string, string | undefined> },
): Promise<AgentLogDirectory> {
  const agent = agents[name];
  const { openWith, title, program } = agent;
  if (openWith === undefined) throw new Error(`${title} cannot read a log written by teddy.`);
  const home = findHome(agent, given, env);
  const cwd = await realpath(given);
  return {
    cwd,
    provider: await openWith.readProvider(home, agentFiles),
    isInstalled: findProgram(program, env) !== null,
    async add(session, text) {
      const path = resolve(home, await openWith.toPath(cwd, session, { home, env, files: agentFiles }));
      const mark = openWith.mark?.(cwd, path);
      if (mark !== undefined && !existsSync(mark.path)) await addFile(mark.path, mark.text);
      await addFile(path, text);
      return path;
    },
  };
}

function findHome(agent: Agent, cwd: string, env: Record<string, string | undefined>): string {
  const { variable } = agent.home;
  if (env['HOME'] || (variable !== undefined && env[variable]))
    return resolve(cwd, homeOf(agent, env, env['HOME'] ?? ''));
  throw new TeddyError(
    'SYSTEM_FAILED',
    `HOME is not set, so the folder where ${agent.program} keeps its sessions is unknown.`,
    variable === undefined ? 'Set HOME.' : `Set HOME, or ${variable} to the folder that ${agent.program} uses.`,
  );
}

/** The agent never sees a partial file, because it looks only for names that end in `.jsonl`. */
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

/** Removes directories from the innermost one up to the first one made; keeps any that somebody else has used. */
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
      `${path} already exists.`,
      'Run the command again: it will use another id.',
    );
  const hint = 'Check the permissions of its folder, and run the command again.';
  return toDiskError(error, `${path} could not be written`, hint);
}

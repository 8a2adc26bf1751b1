/** teddy's MCP server in the settings of agents: JSON as in `.mcp.json`, or TOML as in Codex's `config.toml`. */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'smol-toml';
import { homeOf } from '../../agents/agent.ts';
import { agentNames, agents } from '../../agents/agents.ts';
import { TeddyError } from '../../errors.ts';
import type { OwnText, SetupFile } from '../../ports/setup.ts';
import { isObject } from '../../session/text/parse-object.ts';
import { findProgram } from '../find-program.ts';
import { addMember, isEmptyAt, readObject, removeAt } from './hook-settings.ts';
import { isThere, userFile } from './user-file.ts';

/** Finds the installed agents that look for MCP servers in a file of the user's. */
export async function mcpFiles(
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ title: string; file: SetupFile }[]> {
  const files = agentNames.map(async (name) => {
    const { title, mcpFile, program } = agents[name];
    if (mcpFile === undefined) return [];
    const home = homeOf(agents[name], env, env['HOME'] ?? '/');
    const isFound = findProgram(program, env) !== null || (await isThere(home));
    return isFound ? [{ title, file: userFile(join(home, mcpFile)) }] : [];
  });
  return (await Promise.all(files)).flat();
}

const server = { command: 'teddy', args: ['mcp'] };

/** The user may start it with another path, or through another program. */
function isServer(entry: unknown): boolean {
  if (!isObject(entry)) return false;
  return typeof entry['url'] === 'string' || (Array.isArray(entry['args']) && entry['args'].includes('mcp'));
}

export function mcpText(path: string): OwnText {
  return path.endsWith('.toml') ? tomlText(path) : jsonText(path);
}

type Servers = Readonly<Record<string, unknown>>;

/** `read` returns the servers in a text, or why there can be none, as the end of a sentence. */
function stateOf(text: string, read: (text: string) => Servers | string): ReturnType<OwnText['find']> {
  const servers = read(text);
  // Damage matters only to somebody who uses the file for teddy.
  if (typeof servers === 'string')
    return text.includes('teddy') ? { state: 'damaged', why: servers } : { state: 'missing' };
  if (servers['teddy'] === undefined) return { state: 'missing' };
  if (isServer(servers['teddy'])) return { state: 'whole' };
  return { state: 'damaged', why: 'has a server `teddy` that does not run `teddy mcp`' };
}

function toInTheWay(path: string, fault: string, hint: string): TeddyError {
  return new TeddyError('FILES_IN_THE_WAY', `${path} was not changed: it ${fault}.`, hint);
}

function readJsonServers(text: string): Servers | string {
  const value = readObject(text);
  if (typeof value === 'string') return value;
  const { mcpServers = {} } = value;
  return isObject(mcpServers) ? mcpServers : 'has "mcpServers" that are not an object';
}

const jsonPath = ['mcpServers', 'teddy'];

function jsonText(path: string): OwnText {
  return {
    find: (text) => stateOf(text, readJsonServers),
    add(text) {
      const servers = readJsonServers(text);
      if (typeof servers === 'string')
        throw toInTheWay(path, servers, 'Correct the file, and run `teddy init --only mcp`.');
      return addMember(servers['teddy'] === undefined ? text : removeAt(text, jsonPath), jsonPath, server);
    },
    remove(text) {
      if (typeof readJsonServers(text) === 'string') return null;
      const removed = removeAt(text, jsonPath);
      return isEmptyAt(removed, ['mcpServers']) ? removeAt(removed, ['mcpServers']) : removed;
    },
  };
}

/** `plan_verdict` may wait for minutes. */
const tomlServer = { ...server, tool_timeout_sec: 900 };
const block = [
  '[mcp_servers.teddy]',
  'command = "teddy"',
  'args = ["mcp"]',
  `tool_timeout_sec = ${tomlServer.tool_timeout_sec}`,
];

function readToml(text: string): Servers | string {
  try {
    return parse(text);
  } catch {
    return 'is not TOML';
  }
}

function readTomlServers(text: string): Servers | string {
  const value = readToml(text);
  if (typeof value === 'string') return value;
  const { mcp_servers: servers = {} } = value;
  return isObject(servers) ? servers : 'has `mcp_servers` that are not a table';
}

/** Only a table at the end is added: it changes nothing in the lines before it, which is checked by reading the result. */
function tomlText(path: string): OwnText {
  const lineEnd = (text: string) => (text.includes('\r\n') ? '\r\n' : '\n');
  const render = (end: string) => `${block.join(end)}${end}`;
  return {
    find: (text) => stateOf(text, readTomlServers),
    add(text) {
      const hint = `Add these lines yourself: ${block.join('; ')}.`;
      const [end, before, servers] = [lineEnd(text), readToml(text), readTomlServers(text)];
      if (typeof servers === 'string' || typeof before === 'string') throw toInTheWay(path, String(servers), hint);
      if (servers['teddy'] !== undefined)
        throw toInTheWay(path, 'has a server `teddy` that does not run `teddy mcp`', hint.replace('Add', 'Use'));
      const gap = text === '' ? '' : text.endsWith('\n') ? end : end + end;
      const added = text + gap + render(end);
      const wanted = { ...before, mcp_servers: { ...servers, teddy: tomlServer } };
      // Objects that the parser makes have no prototype.
      if (!isDeepStrictEqual(toPlain(readToml(added)), toPlain(wanted)))
        throw toInTheWay(path, 'does not allow a table for teddy at its end', hint);
      return added;
    },
    remove(text) {
      const end = lineEnd(text);
      const own = [end + render(end), render(end)].find((lines) => text.includes(lines));
      const left = own === undefined ? null : text.replace(own, () => '');
      return left !== null && typeof readToml(left) !== 'string' ? left : null;
    },
  };
}

function toPlain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? String(one) : one)));
}

/**
 * Everything that an executable reports about a repository: commands, calls over HTTP, tools over MCP, and the library
 * without git.
 */
import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { memoryContext } from '../support/cli-context.ts';

/** By request: `show: session show 01 --json`. */
export type Readings = Map<string, string>;

export interface Executable {
  /** Its `dist/main.cjs`. */
  path: string;
  env: Record<string, string>;
}

interface Line {
  name: string;
  turns: string[];
}

const formats = ['openai', 'anthropic', 'jsonl', 'markdown'];

/** Nothing that another executable has cached about the repository is used. */
export async function readRepository(executable: Executable, root: string): Promise<Readings> {
  const known = join(root, '.git/teddy/cache');
  rmSync(known, { recursive: true, force: true });
  const lines = listLines(executable, root);
  const readings: Readings = new Map();
  await readCommands(executable, root, lines, readings);
  await readServed(executable, root, lines, readings);
  await readTools(executable, root, lines, readings);
  await readLibrary(executable, root, lines, readings);
  rmSync(known, { recursive: true, force: true });
  return readings;
}

/** Only by git, so that both executables get the same requests. */
function listLines({ env }: Executable, root: string): Line[] {
  const git = (...args: string[]) =>
    spawnSync('git', args, { cwd: root, env, encoding: 'utf8' }).stdout.split('\n').filter(Boolean);
  const refs = git(
    'for-each-ref',
    '--format=%(refname)',
    'refs/heads/teddy',
    'refs/remotes/origin/teddy',
    'refs/teddy/archive',
  );
  return refs
    .filter((ref) => !ref.endsWith('/global'))
    .map((ref) => {
      const session = /\d{8}-[^/]+?(?=$|\/|-branch)/.exec(ref)?.[0] ?? '';
      return {
        name: ref.replace(/^refs\/(?:heads|remotes\/origin)\//, ''),
        turns: git('ls-tree', '--name-only', `${ref}:.teddy/sessions/${session}`).filter((name) => /^\d\d/.test(name)),
      };
    });
}

const everywhere = [
  'status',
  'status --json',
  'list',
  'list --all',
  'list --all --json',
  'session log --all',
  'session log --all --graph',
  'session stats',
  'session stats --json',
  'search port',
  'search port --json',
  'search -E p.rt',
  'memo list',
  'memo list --json',
  'blame src/app.ts',
  'blame src/app.ts --json',
  'why src/app.ts:1',
  'why src/app.ts:1 --json',
  'doctor',
  'doctor --json',
  'write list',
  'write list --json',
  'capture status',
  'ci verify --json',
];

const ofLine = [
  'session log LINE',
  'session log LINE --json',
  'session log LINE --graph',
  'session review LINE',
  'session review LINE --json',
  'session verify LINE',
  'session verify LINE --json',
  'session replay LINE --json',
  'session context -s LINE',
  'session context -s LINE --json',
  'session export -s LINE --html -',
  'session export -s LINE --jsonl -',
  'session export -s LINE --format agent-trace',
  'session diff 01 02 -s LINE',
  'session diff 01 02 -s LINE --json',
  'session show -s LINE',
  'status -s LINE',
  ...formats.map((format) => `teddy history LINE --format ${format}`),
];

const ofTurn = ['session show TURN -s LINE', 'session show TURN -s LINE --json'];

async function readCommands(
  { path, env }: Executable,
  cwd: string,
  lines: readonly Line[],
  readings: Readings,
): Promise<void> {
  const { runCommand } = createRequire(import.meta.url)(
    join(dirname(path), 'cli.cjs'),
  ) as typeof import('../../src/cli/run-cli.ts');
  const run = async (command: string) => {
    const context = Object.assign(memoryContext({ words: command.split(' '), cwd, env, stdin: '' }), { main: path });
    const exitCode = await runCommand(context);
    const { stdout, stderr } = context.read();
    readings.set(`teddy ${command}`, `${stdout}\n--- stderr\n${stderr}\n--- exit ${exitCode}\n`);
  };
  for (const command of everywhere) await run(command);
  for (const { name, turns } of lines) {
    for (const command of ofLine) await run(command.replace('LINE', name));
    for (const turn of turns)
      for (const command of ofTurn) await run(command.replace('LINE', name).replace('TURN', turn));
  }
  for (const { name } of lines.slice(0, 3)) {
    const directory = mkdtempSync(join(tmpdir(), 'teddy-oracle-'));
    await run(`teddy export -s ${name} --dir ${directory}`);
    readings.delete(`teddy export -s ${name} --dir ${directory}`);
    for (const file of readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted())
      if (statSync(join(directory, file)).isFile())
        readings.set(`export --dir ${name}: ${file}`, readFileSync(join(directory, file), 'utf8'));
    rmSync(directory, { recursive: true });
  }
}

async function readServed(
  { path, env }: Executable,
  cwd: string,
  lines: readonly Line[],
  readings: Readings,
): Promise<void> {
  const child = spawn(process.execPath, [path, 'serve', '--port', '0'], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  child.stderr.resume();
  const ended = new Promise((resolve) => child.on('close', resolve));
  while (!said.includes('\n') && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 20));
  const { url, token } = JSON.parse(readFileSync(join(cwd, '.git/teddy/server.json'), 'utf8')) as Record<
    string,
    string
  >;
  const bearer = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  const get = async (at: string, headers: Record<string, string>) => {
    const answer = await fetch(`${url}${at}`, { headers });
    readings.set(`GET ${at}`, `${answer.status}\n${await answer.text()}`);
  };
  try {
    for (const at of ['/openapi.json', '/api/sessions', '/api/write-session']) await get(at, bearer);
    const sessions = [...new Set(lines.map(({ name }) => name.replace(/^teddy\/|-branch.*/g, '')))];
    for (const session of sessions)
      for (const format of formats) await get(`/api/sessions/${session}/history?format=${format}`, bearer);
    const link = await fetch(`${url}/api/page-links`, { method: 'POST', headers: bearer, body: '{}' });
    const { link: opened } = (await link.json()) as { link: string };
    const entered = await fetch(opened, { redirect: 'manual' });
    const headers = { Cookie: (entered.headers.get('set-cookie') ?? '').split(';')[0] ?? '' };
    await get('/', headers);
    for (const session of sessions) await get(`/sessions/${session}`, headers);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

async function readTools(
  { path, env }: Executable,
  cwd: string,
  lines: readonly Line[],
  readings: Readings,
): Promise<void> {
  const client = new Client({ name: 'oracle', version: '1' });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [path, 'mcp'], cwd, env, stderr: 'ignore' }),
  );
  const call = async (name: string, input: Record<string, unknown>) =>
    readings.set(
      `tool ${name} ${JSON.stringify(input)}`,
      JSON.stringify(await client.callTool({ name, arguments: input }), null, 1),
    );
  try {
    readings.set('tools', JSON.stringify(await client.listTools(), null, 1));
    await call('memo_list', {});
    await call('sessions_search', { text: 'port' });
    await call('why', { path: 'src/app.ts', line: 1 });
    for (const { name, turns } of lines) {
      await call('session_history', { session: name });
      await call('session_history', { session: name, maxChars: 4000 });
      for (const turn of turns.slice(0, 4)) await call('session_show', { session: name, turn });
    }
  } finally {
    await client.close();
  }
}

async function readLibrary(
  { path }: Executable,
  root: string,
  lines: readonly Line[],
  readings: Readings,
): Promise<void> {
  const reader = (await import(
    pathToFileURL(join(dirname(path), 'reader.js')).href
  )) as typeof import('../../src/reader/reader.ts');
  const read = async (what: string, value: Promise<unknown>) =>
    readings.set(
      `reader ${what}`,
      await value.then(
        (found) => JSON.stringify(found, (_, one: unknown) => (one instanceof Uint8Array ? String(one) : one), 1),
        (error: unknown) => String(error),
      ),
    );
  const at = { fs: fs as never, dir: root };
  await read('listSessions', reader.listSessions({ ...at, archived: true }));
  for (const { name, turns } of lines) {
    const commit = spawnSync('git', ['rev-parse', name.startsWith('teddy/') ? `refs/heads/${name}` : name], {
      cwd: root,
      encoding: 'utf8',
    }).stdout.trim();
    await read(`readSession ${name}`, reader.readSession({ ...at, commit }));
    await read(`readHistory ${name}`, reader.readHistory({ ...at, commit, format: 'markdown' }));
    for (const turn of turns) await read(`readTurn ${name} ${turn}`, reader.readTurn({ ...at, commit, turn }));
  }
}

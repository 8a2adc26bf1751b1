/** `teddy mcp` over 1,000 sessions: its start, the answer of each tool, a session of 50 MB, and many who wait for a verdict. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { encodeRecord } from '../../src/conversation/transcript.ts';
import { joinPath, toTurnName, turnDir, type SessionId } from '../../src/names.ts';
import { encodeEntry, type Entry } from '../../src/session/entry.ts';
import { medianOf, timeMs, type Row } from './measure.ts';
import { executable, git, keepForRemoval } from './repositories.ts';

type Env = NodeJS.ProcessEnv;

const count = 1000;
const large = '20260124-large';
const megabytes = 50;
const time = '2026-01-24T10:00:00.000Z';
const ident = 'Ada Example <ada@example.org> 1769248800 +0000';
const prose = 'the quick brown fox jumps over the lazy dog, '.repeat(20);
const named = (at: number) => `20260124-session-${at}`;

export async function measureMcp(env: Env, runs: number): Promise<Row[]> {
  const root = mkdtempSync(join(tmpdir(), 'teddy-bench-'));
  keepForRemoval(root);
  git(root, env, ['init', '-q', '-b', 'main']);
  git(root, env, ['-c', 'fastimport.unpackLimit=1', 'fast-import', '--quiet'], renderSessions());
  git(root, env, ['reset', '-q', '--hard']);
  git(root, env, ['pack-refs', '--all']);
  const start = await medianOf(runs, async () => (await connect(root, env)).client.close());
  return [
    toRow('mcp: start, until the client knows the tools', start, 1000),
    ...(await measureTools(root, env, runs)),
    ...(await measureLarge(root, env)),
    await measureWaiting(root, env),
  ];
}

async function connect(cwd: string, env: Env) {
  const options = { command: process.execPath, args: [executable, 'mcp'], cwd, env: env as Record<string, string> };
  const transport = new StdioClientTransport({ ...options, stderr: 'ignore' });
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(transport);
  await client.listTools();
  const call = async (name: string, input: object, timeout = 600_000) => {
    const options = { timeout, maxTotalTimeout: timeout };
    const { isError, content, structuredContent } = await client.callTool({ name, arguments: { ...input } }, options);
    if (isError === true) throw new Error(`${name}: ${JSON.stringify(content)}`);
    return structuredContent as Record<string, any>;
  };
  return { client, call, pid: transport.pid ?? 0 };
}

async function measureTools(root: string, env: Env, runs: number): Promise<Row[]> {
  const { client, call } = await connect(root, env);
  let number = 0;
  const next = () => (number += 1);
  const session = named(500);
  const { session: planned } = await call('plan_submit', { plan: '# Plan\n', message: 'Plan it' });
  const found = await call('sessions_search', { query: 'needle 501' });
  if (found['turns'].length !== 1 || found['searched'] < count) throw new Error(`Found: ${JSON.stringify(found)}`);
  const tools: [name: string, aim: number, work: () => Promise<unknown>][] = [
    ['sessions_search, one is found', 1000, () => call('sessions_search', { query: 'needle 501' })],
    ['sessions_search, all are found, and ten returned', 1000, () => call('sessions_search', { query: 'fox' })],
    ['session_history', 500, () => call('session_history', { session })],
    ['session_show', 500, () => call('session_show', { session })],
    ['memo_list', 100, () => call('memo_list', {})],
    ['memo_propose', 200, () => call('memo_propose', { fact: `Fact ${next() % 40}` })],
    ['plan_verdict', 500, () => call('plan_verdict', { session: planned, turn: '01' })],
    ['plan_submit', 2000, () => call('plan_submit', { plan: '# Plan\n', message: `Plan ${next()}` })],
    [
      'write_begin, write_append, write_finalize',
      2000,
      async () => {
        const target_file = `made-${next()}.md`;
        const { session_id } = await call('write_begin', { intent: 'Bench', target_file, operation: 'create' });
        await call('write_append', { session_id, offset: 0, data: prose });
        await call('write_finalize', { session_id });
      },
    ],
  ];
  const rows: Row[] = [];
  for (const [name, aim, work] of tools) rows.push(toRow(`mcp: ${name}`, await medianOf(Math.min(runs, 7), work), aim));
  await client.close();
  return rows;
}

async function measureLarge(root: string, env: Env): Promise<Row[]> {
  const { client, call, pid } = await connect(root, env);
  const ms = await timeMs(() => call('session_history', { session: large }));
  const at = await timeMs(() =>
    Promise.all(Array.from({ length: 20 }, () => call('session_show', { session: large }))),
  );
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1024;
  await client.close();
  return [
    toRow(`mcp: session_history of a turn of ${megabytes} MB`, ms, 5000),
    { ...toRow(`mcp: memory of 20 session_show of it at once`, at, 1000), figure: peak, unit: 'MB' },
  ];
}

/** Each waits for the plan of another session. */
async function measureWaiting(root: string, env: Env): Promise<Row> {
  const { client, call, pid } = await connect(root, env);
  let ended = 0;
  const waits = Array.from({ length: count }, (_, at) =>
    call('plan_verdict', { session: named(at), turn: '02', wait_s: 3600 })
      .catch(() => undefined)
      .finally(() => (ended += 1)),
  );
  const cpu = () => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
    return (Number(fields[13]) + Number(fields[14])) * 10;
  };
  let before = cpu();
  // Until all of them wait: the machine is busy before that.
  for (let quiet = 0; quiet < 3;) {
    await sleep(1000);
    const used = cpu() - before;
    quiet = used < 300 ? quiet + 1 : 0;
    before = cpu();
  }
  const seconds = 5;
  before = cpu();
  await sleep(seconds * 1000);
  const used = (cpu() - before) / seconds;
  if (ended > 0) throw new Error(`${ended} of ${count} verdicts were not waited for.`);
  await client.close();
  await Promise.all(waits);
  return toRow(`mcp: processor in a second, while ${count.toLocaleString('en')} verdicts are waited for`, used, 100);
}

function toRow(what: string, oursMs: number, aim: number): Row {
  return { what, against: '', oursMs, againstMs: null, figure: oursMs, unit: 'ms', aim };
}

/** Each has a turn with an answer, and one with a plan that waits for a verdict; one more has a turn of 50 MB. */
function renderSessions(): string {
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
  const commit = (ref: string, message: string, files: [string, string][], from = '') =>
    `commit ${ref}\nauthor ${ident}\ncommitter ${ident}\n${data(message)}${from}${files
      .map(([path, text]) => `M 100644 inline ${path}\n${data(text)}`)
      .join('')}`;
  const pieces = [commit('refs/heads/main', 'first', [['README.md', '# A project\n']])];
  for (let at = 0; at < count; at += 1) pieces.push(...renderSession(named(at) as SessionId, at + 1, commit));
  // The oldest: a search that has found enough does not read it.
  pieces.push(...renderSession(large as SessionId, 0, commit));
  return pieces.join('');
}

function renderSession(
  session: SessionId,
  at: number,
  commit: (ref: string, message: string, files: [string, string][], from?: string) => string,
): string[] {
  const ref = `refs/heads/teddy/${session}`;
  const id = (step: number) =>
    `019bf000-${at.toString(16).padStart(4, '0')}-7000-8000-${step.toString(16).padStart(12, '0')}`;
  const entry = (kind: Entry['kind'], turn: string | null, step: number, title: string): string =>
    encodeEntry({ kind, session, turn: turn as Entry['turn'], id: id(step), created: time, title, details: [] });
  const file = (turn: number, name: string) => joinPath(turnDir(session, toTurnName(turn)), name);
  const said = (step: number, text: string) =>
    encodeRecord({
      type: 'user',
      id: id(step),
      timestamp: time,
      message: { role: 'user', content: text },
      source: 'text',
    });
  const answered = (step: number, content: string) =>
    encodeRecord({
      type: 'assistant',
      id: id(step),
      timestamp: time,
      message: { role: 'assistant', content },
      source: 'text',
    });
  const first = said(1, `Where is the needle ${at}?`);
  const long =
    session === large ? Array.from({ length: megabytes * 10 }, (_, n) => answered(100 + n, prose.repeat(110))) : [];
  const reply = first + long.join('') + answered(2, `It is here. ${prose}`);
  const second = said(3, `Plan it, number ${at}`);
  const plan = encodeRecord({ type: 'plan', id: id(4), timestamp: time, file: 'plan.md' });
  return [
    commit(
      ref,
      entry('start', null, 0, session),
      [[`.teddy/sessions/${session}/session.context`, '']],
      'from refs/heads/main\n',
    ),
    commit(ref, entry('message', '01', 1, 'Where?'), [[file(1, 'transcript.jsonl'), first]]),
    commit(ref, entry('reply', '01', 2, 'Here'), [[file(1, 'transcript.jsonl'), reply]]),
    commit(ref, entry('message', '02', 3, 'Plan it'), [[file(2, 'transcript.jsonl'), second]]),
    commit(ref, entry('plan', '02', 4, 'Plan'), [
      [file(2, 'plan.md'), `# Plan ${at}\n`],
      [file(2, 'transcript.jsonl'), second + plan],
    ]),
  ];
}

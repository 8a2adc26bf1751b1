/** Capture: the cost of a hook for its agent, and how soon a waiting agent gets a verdict. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { median, type Row } from './measure.ts';
import { executable, git, makeRepository } from './repositories.ts';

const calls = 200;
const text = 'the quick brown fox jumps over the lazy dog, '.repeat(6);

interface Captured {
  root: string;
  env: NodeJS.ProcessEnv;
  hook: string;
  log: string;
}

export async function measureCaptures(env: NodeJS.ProcessEnv): Promise<Row[]> {
  const captured = openCaptured(env);
  return [measureHook(captured), await measureGate(captured)];
}

/** A repository with a hook as installed by `teddy capture install`. */
function openCaptured(env: NodeJS.ProcessEnv): Captured {
  const root = realpathSync(makeRepository(env, 20));
  git(root, env, ['switch', '-q', 'main']);
  mkdirSync(join(root, '.git', 'teddy', 'spool'), { recursive: true, mode: 0o700 });
  const home = env['HOME'] ?? '';
  const hook = join(home, '.local', 'share', 'teddy', 'agent-hook');
  mkdirSync(dirname(hook), { recursive: true });
  const script = readFileSync('hooks/agents/agent-hook', 'utf8');
  writeFileSync(hook, script.replace('node= main=', `node='${process.execPath}' main='${executable}'`));
  const log = join(home, '.claude', 'projects', root.replaceAll(/[^A-Za-z0-9]/g, '-'), 'bench.jsonl');
  mkdirSync(dirname(log), { recursive: true });
  return { root, env, hook, log };
}

/** A drainer that is already running: the usual case in a turn. */
function measureHook({ root, env, hook, log }: Captured): Row {
  writeFileSync(join(root, '.git', 'teddy', 'spool', 'drainer'), `${process.pid}\n\n`);
  const times: number[] = [];
  const against: number[] = [];
  const run = (args: string[], input: string): number => {
    const begunMs = performance.now();
    const { status } = spawnSync('sh', args, { cwd: root, env, input });
    if (status !== 0) throw new Error(`sh ${args.join(' ')} ended with ${status}`);
    return performance.now() - begunMs;
  };
  for (let call = 0; call < calls; call += 1) {
    times.push(run([hook, 'claude-code'], payload(root, log, 'Notification')));
    against.push(run(['-c', ':'], ''));
  }
  writeFileSync(join(root, '.git', 'teddy', 'spool', 'drainer'), '');
  const oursMs = median(times);
  return {
    what: `an agent's hook, median of ${calls} calls`,
    against: '`sh -c :`',
    oursMs,
    againstMs: median(against),
    figure: oursMs,
    unit: 'ms',
    aim: 5,
  };
}

function payload(root: string, log: string, event: string, more: object = {}): string {
  return JSON.stringify({ session_id: 'bench', transcript_path: log, cwd: root, hook_event_name: event, ...more });
}

/** An agent submits its plan: the time from somebody's yes until the agent has it. */
async function measureGate({ root, env, hook, log }: Captured): Promise<Row> {
  const path = join(dirname(log), 'plans.jsonl');
  const browser = join(dirname(log), 'browser');
  const opened = join(dirname(log), 'opened');
  writeFileSync(browser, `#!/bin/sh\n: >'${opened}'\n`, { mode: 0o755 });
  const write = openWriter(root, 'plans');
  const answered: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const id = `toolu-plan-${turn}`;
    const plan = `# Plan ${turn}\n\n${text}\n`;
    appendFileSync(path, write.plan(turn, id, plan).join(''));
    rmSync(opened, { force: true });
    const call = { session_id: 'plans', tool_name: 'ExitPlanMode', tool_use_id: id, tool_input: { plan } };
    const held = spawn('sh', [hook, 'claude-code', 'gate'], { cwd: root, env: { ...env, BROWSER: browser } });
    const ended = once(held, 'close');
    let said = '';
    held.stdout.on('data', (data) => (said += String(data)));
    held.stdin.end(payload(root, path, 'PreToolUse', call));
    while (!existsSync(opened)) await sleep(5);
    const approve = [executable, 'session', 'approve', '-s', 'claude-code-plan-0'];
    const { status, stderr } = spawnSync(process.execPath, approve, { cwd: root, env, encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    const saidMs = performance.now();
    await ended;
    answered.push(performance.now() - saidMs);
    if (!said.includes('"allow"')) throw new Error(`The gate said ${JSON.stringify(said)}.`);
    appendFileSync(path, write.result(id).join(''));
  }
  const oursMs = median(answered);
  const what = 'time until a waiting agent gets the verdict';
  return { what, against: '', oursMs, againstMs: null, figure: oursMs, unit: 'ms', aim: 200 };
}

/** Writes lines like Claude Code, each a child of the one before. */
function openWriter(cwd: string, sessionId = 'bench') {
  let [count, parent] = [0, null as string | null];
  const next = (type: string, message: object): string => {
    count += 1;
    const uuid = `${sessionId}-${count}`;
    const base = { uuid, parentUuid: parent, sessionId, cwd, version: '2.1.330' };
    parent = uuid;
    return `${JSON.stringify({ type, ...base, timestamp: new Date().toISOString(), message })}\n`;
  };
  const say = (content: object[], stop: string) =>
    next('assistant', { id: `m${sessionId}${count}`, role: 'assistant', model: 'bench', content, stop_reason: stop });
  const result = (id: string, content: string) =>
    next('user', { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] });
  return {
    plan: (turn: number, id: string, plan: string): string[] => [
      next('user', { role: 'user', content: `Plan ${turn}: ${text}` }),
      say([{ type: 'tool_use', id, name: 'ExitPlanMode', input: { plan } }], 'tool_use'),
    ],
    result: (id: string): string[] => [result(id, 'Approved.'), say([{ type: 'text', text: 'Done.' }], 'end_turn')],
  };
}

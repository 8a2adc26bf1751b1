/** Whole processes of the built executable, against processes of node and git. */
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startModelServer } from '../support/model-server.ts';
import { comparePairs, median, runProcess, timeMs, type Row } from './measure.ts';
import { executable, git, makeRepository } from './repositories.ts';

type Env = NodeJS.ProcessEnv;
const node = process.execPath;

/** How many milliseconds node takes with these arguments, by one clock or another. */
type Timer = (args: string[]) => Promise<number>;

export async function measureProcesses(env: Env, runs: number): Promise<Row[]> {
  const root = makeRepository(env, 20);
  const wall: Timer = (args) => timeMs(() => runProcess(node, args, root, env));
  const rows = [await measureCommand(runs, wall, ['--version'], 1.5)];
  for (const args of [['list'], ['status']]) rows.push(await measureCommand(runs, wall, args, 2.5));
  rows.push(...(await measureTurns(runs, wall)));
  rows.push(await measureStart(env, runs));
  rows.push(...(await measureProvider(env, runs, root)));
  const processor: Timer = async (args) => processorMs(args, root, env);
  const used = [
    await measureCommand(runs, processor, ['list'], 5),
    await measureCommand(runs, processor, ['status'], 5),
    ...(await measureTurns(runs, processor)),
  ];
  return [...rows, ...used.map((row) => ({ ...row, what: `${row.what}: processor time` }))];
}

async function measureCommand(runs: number, timer: Timer, args: string[], aim: number): Promise<Row> {
  return {
    ...(await compareTo(runs, timer, () => timer([executable, ...args]))),
    what: `teddy ${args.join(' ')}`,
    aim,
  };
}

/** Against an empty process, pair by pair; the first pair is not counted. */
async function compareTo(runs: number, blank: Timer, ours: () => Promise<number>): Promise<Omit<Row, 'what' | 'aim'>> {
  const pairs: [ours: number, blank: number][] = [];
  for (let at = -1; at < runs; at += 1) pairs.push([await ours(), await blank(['-e', '0'])]);
  const counted = pairs.slice(1);
  return {
    against: 'node -e 0',
    oursMs: median(counted.map(([one]) => one)),
    againstMs: median(counted.map(([, other]) => other)),
    figure: median(counted.map(([one, other]) => one / other)),
    unit: 'x',
  };
}

/** Each plan is executed before the next: they are measured in turn, against the same empty process. */
async function measureTurns(runs: number, timer: Timer): Promise<Row[]> {
  const plan = join(tmpdir(), `teddy-bench-plan-${process.pid}.md`);
  const spent: number[] = [];
  const turn = async () => {
    writeFileSync(plan, toPlan());
    const planned = await timer([executable, 'session', 'plan', '-m', 'Add a file', '--from', plan]);
    spent.push(await timer([executable, 'session', 'execute', '-y']));
    return planned;
  };
  const planned = await compareTo(runs, timer, turn);
  rmSync(plan);
  const executed = spent.slice(1);
  const againstMs = planned.againstMs ?? Number.NaN;
  return [
    { ...planned, what: 'teddy plan (instant model)', aim: 5 },
    {
      ...planned,
      what: 'teddy execute -y (one CREATE)',
      oursMs: median(executed),
      figure: median(executed) / againstMs,
      aim: 5,
    },
  ];
}

let files = 0;

/** Each has its own file. */
function toPlan(): string {
  files += 1;
  return `# Add a file\n\n## Action Plan\n\n### CREATE\n- **File Path:** made/file${files}.txt\n\n\`\`\`\nnew\n\`\`\`\n`;
}

/** The processor time that node and its children took, as reported by bash: in milliseconds, user and system. */
function processorMs(args: string[], cwd: string, env: Env): number {
  const script = 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>&1';
  const { status, stderr } = spawnSync('bash', ['-c', script, 'bash', node, ...args], { cwd, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}`);
  return stderr.split(' ').reduce((sum, seconds) => sum + Number(seconds) * 1000, 0);
}

async function measureStart(env: Env, runs: number): Promise<Row> {
  const root = makeRepository(env, 20);
  let name = 0;
  const { ours, against, ratio } = await comparePairs(
    runs,
    () => runProcess(node, [executable, 'session', 'new', `start ${(name += 1)}`], root, env),
    () => runProcess(node, ['-e', '0'], root, env),
  );
  return {
    what: 'teddy new',
    against: 'node -e 0',
    oursMs: ours,
    againstMs: against,
    figure: ratio,
    unit: 'x',
    aim: 5,
  };
}

async function measureProvider(env: Env, runs: number, root: string): Promise<Row[]> {
  let answer = () => 'This is an answer.';
  const server = await startModelServer({ answers: () => answer(), chunkSize: 1000 });
  const { url } = server;
  // The server runs in this process, so the client must not block it.
  const timer: Timer = (args) =>
    timeMs(() => runBeside(node, args, root, { ...env, OPENAI_API_KEY: 'none', OPENAI_BASE_URL: url }));
  const measure = async (what: string, aim: number, more: string[] = []): Promise<Row> => {
    const choice = ['--model', 'bench', '--provider', 'openai'];
    const ours = () => timer([executable, 'session', 'plan', '-m', `Hello ${performance.now()}`, ...choice, ...more]);
    return { ...(await compareTo(runs, timer, ours)), what: `teddy plan${what}, loopback server)`, aim };
  };
  try {
    const answered = await measure(' (openai package', 6);
    answer = toPlan;
    return [answered, await measure(' --run -y (openai package, one CREATE', 8, ['--run', '-y'])];
  } finally {
    await server.close();
  }
}

async function runBeside(command: string, args: string[], cwd: string, env: Env): Promise<void> {
  const { spawn } = await import('node:child_process');
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`);
}

/** Branches that are merely named like sessions: anybody who can push can make them. The first listing walks them. */
export async function measureLookAlikes(env: Env, runs: number): Promise<Row[]> {
  const root = makeRepository(env, 1);
  const commits: string[] = ['blob\nmark :1\ndata 1\nx\n'];
  for (let at = 0; at < 10_000; at += 1)
    commits.push(
      `commit refs/heads/teddy/20260101-like-${at}\ncommitter A <a@example.org> ${1_700_000_000 + at} +0000\ndata 3\nown\nM 100644 :1 .teddy/sessions/x\nM 100644 inline own.txt\ndata 5\n${10_000 + at}\n`,
    );
  git(root, env, ['fast-import', '--quiet'], `${commits.join('')}done\n`);
  git(root, env, ['pack-refs', '--all']);
  const list = () => runProcess(node, [executable, 'session', 'list'], root, env);
  const names = () => runProcess('git', ['for-each-ref', '--format=%(refname) %(contents)'], root, env);
  const coldMs = await timeMs(list);
  const { ours: warmMs, against } = await comparePairs(runs, list, names);
  const what = 'list among 10,000 branches named like sessions';
  const row = { against: 'git for-each-ref with contents', againstMs: against, unit: 'ms' as const, aim: 1000 };
  return [
    { ...row, what: `${what}, first run`, oursMs: coldMs, figure: coldMs },
    { ...row, what: `${what}, later runs`, oursMs: warmMs, figure: warmMs },
  ];
}

/** `plan`, where walking over all files would be noticeable. */
export async function measureLargeContext(env: Env, runs: number, root: string): Promise<Row[]> {
  const answer = join(root, '..', `reply-${process.pid}.md`);
  writeFileSync(answer, 'This is an answer.\n');
  const plan = () =>
    runProcess(node, [executable, 'session', 'plan', '-m', `Hello ${performance.now()}`, '--from', answer], root, env);
  const compare = async (what: string, ours: () => void): Promise<Row> => {
    const {
      ours: oursMs,
      against,
      ratio,
    } = await comparePairs(runs, ours, () => runProcess('git', ['status'], root, env));
    return { what, against: 'git status', oursMs, againstMs: against, figure: ratio, unit: 'x', aim: 3 };
  };
  const rows = [await compare('teddy plan, 50,000 files', plan)];
  rows.push(
    await compare('teddy plan, 50,000 files, one of them edited', () => {
      writeFileSync(join(root, 'README.md'), `# A project, ${performance.now()}\n`);
      plan();
    }),
  );
  return rows;
}

/** Kept so that a run names the git version that made it. */
export function gitVersion(): string {
  return spawnSync('git', ['version']).stdout.toString().trim();
}

/** Whole processes of the built executable, against processes of node and git. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer } from '../support/model-server.ts';
import { comparePairs, median, runProcess, timeMs, type Row } from './measure.ts';
import { executable, git, makeRepository } from './repositories.ts';

type Env = NodeJS.ProcessEnv;
const node = process.execPath;

export async function measureProcesses(env: Env, runs: number): Promise<Row[]> {
  const root = makeRepository(env, 20);
  const plan = join(root, '..', `plan-${process.pid}.md`);
  let file = 0;
  const writePlan = () => {
    file += 1;
    writeFileSync(
      plan,
      `# Add a file\n\n## Action Plan\n\n### CREATE\n- **File Path:** made/file${file}.txt\n\n\`\`\`\nnew\n\`\`\`\n`,
    );
  };
  const blank = () => runProcess(node, ['-e', '0'], root, env);
  const run = (...args: string[]) => runProcess(node, [executable, ...args], root, env);
  const rows: Row[] = [];
  const add = async (what: string, aim: number, ours: () => void) => {
    const { ours: oursMs, against, ratio } = await comparePairs(runs, ours, blank);
    rows.push({ what, against: 'node -e 0', oursMs, againstMs: against, figure: ratio, unit: 'x', aim });
  };
  await add('teddy --version', 1.8, () => run('--version'));
  await add('teddy session list', 2.5, () => run('session', 'list'));
  await add('teddy list', 2.5, () => run('list'));
  await add('teddy status', 3, () => run('status'));
  rows.push(...(await measureTurns(runs, blank, writePlan, run, plan)));
  rows.push(await measureStart(env, runs));
  rows.push(...(await measureProviders(env, runs, root)));
  return rows;
}

/** Each plan is executed before the next: they are measured in turn, against the same empty process. */
async function measureTurns(
  runs: number,
  blank: () => void,
  writePlan: () => void,
  run: (...args: string[]) => void,
  plan: string,
): Promise<Row[]> {
  const times: { blank: number; plan: number; execute: number }[] = [];
  for (let at = -1; at < runs; at += 1) {
    writePlan();
    const one = {
      blank: await timeMs(blank),
      plan: await timeMs(() => run('session', 'plan', '-m', 'Add a file', '--from', plan)),
      execute: await timeMs(() => run('session', 'execute', '-y')),
    };
    if (at >= 0) times.push(one);
  }
  const againstMs = median(times.map((one) => one.blank));
  const toRow = (what: string, of: 'plan' | 'execute'): Row => ({
    what,
    against: 'node -e 0',
    oursMs: median(times.map((one) => one[of])),
    againstMs,
    figure: median(times.map((one) => one[of] / one.blank)),
    unit: 'x',
    aim: 5,
  });
  return [
    toRow('teddy session plan (instant model)', 'plan'),
    toRow('teddy session execute -y (one CREATE)', 'execute'),
  ];
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
    what: 'teddy session new',
    against: 'node -e 0',
    oursMs: ours,
    againstMs: against,
    figure: ratio,
    unit: 'x',
    aim: 5,
  };
}

async function measureProviders(env: Env, runs: number, root: string): Promise<Row[]> {
  const server = await startModelServer({ answers: () => 'This is an answer.', chunkSize: 1000 });
  const { url } = server;
  const keys = { OPENAI_API_KEY: 'none', ANTHROPIC_API_KEY: 'none' };
  // The server lives in this process, so the client must not block it.
  const ask = (args: string[]) =>
    runBeside(node, args, root, { ...env, ...keys, OPENAI_BASE_URL: url, ANTHROPIC_BASE_URL: url });
  const measure = async (provider: string, what: string): Promise<Row> => {
    const { ours, against, ratio } = await comparePairs(
      runs,
      () => {
        const message = `Hello ${performance.now()}`;
        return ask([executable, 'session', 'plan', '-m', message, '--model', 'bench', '--provider', provider]);
      },
      () => ask(['-e', '0']),
    );
    return {
      what: `teddy session plan (${what}, loopback server)`,
      against: 'node -e 0',
      oursMs: ours,
      againstMs: against,
      figure: ratio,
      unit: 'x',
      aim: 5,
    };
  };
  try {
    return [await measure('openai', 'openai package'), await measure('anthropic', 'Anthropic')];
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

/** Branches that are named like sessions and are none: anybody who can push can make them. The first listing walks them. */
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
  const what = 'list beside 10,000 branches named like sessions';
  const row = { against: 'git for-each-ref with contents', againstMs: against, unit: 'ms' as const, aim: 1000 };
  return [
    { ...row, what: `${what}, the first one`, oursMs: coldMs, figure: coldMs },
    { ...row, what: `${what}, then`, oursMs: warmMs, figure: warmMs },
  ];
}

/** `plan` and `session context` where walking over all files would be felt. */
export async function measureLargeContext(env: Env, runs: number, root: string): Promise<Row[]> {
  const answer = join(root, '..', `reply-${process.pid}.md`);
  writeFileSync(answer, 'This is an answer.\n');
  const run = (...args: string[]) => runProcess(node, [executable, 'session', ...args], root, env);
  const plan = () => run('plan', '-m', `Hello ${performance.now()}`, '--from', answer);
  const compare = async (what: string, ours: () => void): Promise<Row> => {
    const {
      ours: oursMs,
      against,
      ratio,
    } = await comparePairs(runs, ours, () => runProcess('git', ['status'], root, env));
    return { what, against: 'git status', oursMs, againstMs: against, figure: ratio, unit: 'x', aim: 3 };
  };
  const rows = [await compare('teddy session plan, 50,000 files', plan)];
  rows.push(
    await compare('teddy session plan, 50,000 files, one of them edited', () => {
      writeFileSync(join(root, 'README.md'), `# A project, ${performance.now()}\n`);
      plan();
    }),
  );
  rows.push(await compare('teddy session context, 50,000 files', () => run('context')));
  return rows;
}

/** Kept so that a run says on which git it was made. */
export function gitVersion(): string {
  return spawnSync('git', ['version']).stdout.toString().trim();
}

/** Histories of many turns, against `git log --format=%B` over commits with the same bytes: time and memory. */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { comparePairs, type Row } from './measure.ts';
import { executable, git, keepForRemoval } from './repositories.ts';

type Env = NodeJS.ProcessEnv;

const session = '20260124-bench';
const line = `refs/heads/teddy/${session}`;
const ident = 'Ada Example <ada@example.org> 1769248800 +0000';

/** Measures a history that git has packed, as after a clone. */
export async function measureHistories(env: Env, allRuns: number, turns: number): Promise<Row[]> {
  const runs = Math.min(allRuns, 9);
  const root = makeHistories(env, turns);
  const cache = join(root, '.git/teddy/cache');
  const ours = (format = 'openai') => [executable, 'session', 'history', '-s', session, '--format', format];
  const against = ['log', '--format=%B', 'messages'];
  const run = (command: string, args: string[]) => requireDone(spawnSync(command, args, { cwd: root, env, stdio }));
  const cold = () => {
    rmSync(cache, { recursive: true, force: true });
    run(process.execPath, ours());
  };
  const log = () => run('git', against);
  const what = `history of ${turns.toLocaleString('en')} turns, packed`;
  const toRow = (name: string, times: Awaited<ReturnType<typeof comparePairs>>, aim: number): Row => ({
    what: `${what}${name}`,
    against: 'git log --format=%B of the same bytes',
    oursMs: times.ours,
    againstMs: times.against,
    figure: times.ratio,
    unit: 'x',
    aim,
  });
  const uncached = await comparePairs(runs, cold, log);
  const cached = await comparePairs(runs, () => run(process.execPath, ours()), log);
  rmSync(cache, { recursive: true, force: true });
  const peakMb = (await readPeakKiB(process.execPath, ours(), root, env)) / 1024;
  const memory = { what: `${what}: peak memory`, against: '', oursMs: uncached.ours, againstMs: null };
  return [
    toRow('', uncached, 3),
    toRow(', from the cache', cached, 1),
    { ...memory, figure: peakMb, unit: 'MB', aim: 120 },
  ];
}

const stdio: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe'];

function requireDone({ status, stderr }: { status: number | null; stderr: Buffer }): void {
  if (status !== 0) throw new Error(stderr.toString());
}

/** A process that waits for its reader can still be measured: its output comes in pieces, up to the last. */
function readPeakKiB(command: string, args: string[], cwd: string, env: Env): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
    let peak = 0;
    child.stdout.on('data', () => {
      try {
        const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
        peak = Math.max(peak, Number(/^VmHWM:\s*(\d+) kB/m.exec(status)?.[1] ?? 0));
      } catch {
        // It has ended meanwhile.
      }
    });
    child.on('close', (code) => (code === 0 && peak > 0 ? resolve(peak) : reject(new Error(`exit code ${code}`))));
  });
}

/** A session with this many turns, and a branch whose commits have the same bytes as messages, one for each entry. */
function makeHistories(env: Env, turns: number): string {
  const root = mkdtempSync(join(tmpdir(), 'teddy-bench-'));
  keepForRemoval(root);
  git(root, env, ['init', '-q', '-b', 'main']);
  git(root, env, ['commit', '-q', '--allow-empty', '-m', 'first']);
  const made = Array.from({ length: turns }, (_, at) => makeTurn(at + 1));
  const options = ['-c', 'fastimport.unpackLimit=1', '-c', 'core.fsync=none'];
  git(root, env, [...options, 'fast-import', '--quiet'], `${toSession(made)}${toMessages(made)}done\n`);
  git(root, env, ['repack', '-adq']);
  return root;
}

interface MadeTurn {
  name: string;
  files: Record<string, string>;
  /** The kinds of entries that each of its turns adds. */
  entries: string[];
}

/** Every second turn is planned and executed, the others are answered; 1 to 2 KB each. */
function makeTurn(number: number): MadeTurn {
  const name = String(number).padStart(2, '0');
  const record = (type: string, at: number, more: object) => {
    const id = `019bf000-0000-7000-8000-${String(number * 10 + at).padStart(12, '0')}`;
    return `${JSON.stringify({ type, id, timestamp: '2026-01-24T10:00:00.000Z', ...more })}\n`;
  };
  const said = (role: string, content: string) => ({ message: { role, content }, source: 'text' });
  const message = record('user', 1, said('user', toProse(number, 60)));
  if (number % 2 === 0) {
    const reply = record('assistant', 2, said('assistant', toProse(number, 130)));
    return { name, files: { 'transcript.jsonl': message + reply }, entries: [message, reply] };
  }
  const plan = `# Change ${number}\n\n## Rationale\n\n${toProse(number, 90)}\n\n## Action Plan\n\n### \`EXECUTE\`\n\n\`\`\`sh\nmake\n\`\`\`\n`;
  const planned = record('assistant', 2, { message: { role: 'assistant', file: 'plan.md' }, source: 'plan' });
  const report = `version: 1\nsession: ${session}\nturn: "${name}"\nrun_summary:\n  status: SUCCESS\n  end_time: 2026-01-24T10:00:00.000Z\naction_logs:\n  - index: 1\n    details: |\n      ${toProse(number, 40)}\n`;
  return {
    name,
    files: { 'transcript.jsonl': message + planned, 'plan.md': plan, 'report.md': report },
    entries: [message, plan + planned, report],
  };
}

const words = 'add read route login test file when then the a of server client error value name path check'.split(' ');

function toProse(seed: number, count: number): string {
  return Array.from({ length: count }, (_, at) => words[(seed * 31 + at * at * 7 + at) % words.length]).join(' ');
}

function toSession(turns: MadeTurn[]): string {
  const trailers = [
    `Teddy-Session: ${session}`,
    'Teddy-Entry: reply',
    'Teddy-Entry-Id: 019bf000-0000-7000-8000-000000000001',
    'Teddy-Created: 2026-01-24T10:00:00.000Z',
    'Teddy-Format: 1',
  ];
  const files = turns.flatMap(({ name, files: ofTurn }) =>
    Object.entries(ofTurn).map(
      ([file, text]) => `M 100644 inline .teddy/sessions/${session}/${name}/${file}\n${toData(text)}`,
    ),
  );
  return `commit ${line}\ncommitter ${ident}\n${toData(`turn 01 reply: Bench\n\n${trailers.join('\n')}\n`)}from refs/heads/main^0\n${files.join('')}\n`;
}

function toMessages(turns: MadeTurn[]): string {
  const commits = turns.flatMap(({ entries }) =>
    entries.map((text) => `commit refs/heads/messages\ncommitter ${ident}\n${toData(text)}\n`),
  );
  return commits.join('');
}

function toData(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

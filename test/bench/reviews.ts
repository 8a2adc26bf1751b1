/** A reviewer, a second clone and a CI job work on a session of many turns: whole processes, on real git. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { comparePairs, median, timeMs, type Row } from './measure.ts';
import { entriesPerTurn, makeRecordedLine, recordedRef, recordedSession } from './recorded-line.ts';
import { executable, git, keepForRemoval } from './repositories.ts';

type Env = NodeJS.ProcessEnv;

const turns = 1000;
/** With `start`. */
const entries = turns * entriesPerTurn + 1;
const count = turns.toLocaleString('en');
const pageTurns = 100;

export async function measureReviews(env: Env, runs: number): Promise<Row[]> {
  const dir = mkdtempSync(join(tmpdir(), 'teddy-bench-'));
  keepForRemoval(dir);
  const root = await makeRecorded(env, join(dir, 'recorded.git'), turns);
  return [
    await measureVerify(env, runs, root),
    await measureReplay(env, runs, root),
    await measurePage(env, runs, dir),
    await measurePush(env, Math.min(runs, 5), { dir, root }),
    await measurePull(env, Math.min(runs, 5), { dir, root }),
  ];
}

/** A bare repository, packed like its origin. */
async function makeRecorded(env: Env, root: string, length: number): Promise<string> {
  git(tmpdir(), env, ['init', '-q', '--bare', '-b', 'main', root]);
  const options = ['-c', 'fastimport.unpackLimit=1', '-c', 'core.fsync=none'];
  git(root, env, [...options, 'fast-import', '--quiet'], await makeRecordedLine(length));
  git(root, env, ['repack', '-adq']);
  return root;
}

async function measureVerify(env: Env, runs: number, root: string): Promise<Row> {
  const verify = () => readJson(env, root, ['session', 'verify', recordedSession, '--json']);
  const { ok, lines } = verify() as { ok: boolean; lines: { entries: number; derived: number }[] };
  const [line] = lines;
  if (!ok || line?.entries !== entries || line.derived < turns * 4)
    throw new Error(`teddy verify looks at ${line?.entries} entries of ${entries}, and finds faults: ${!ok}`);
  const ms = await medianMs(runs, verify);
  return toRow(`teddy verify of ${count} turns (${toRate(entries, ms)} entries/s)`, ms, (ms / entries) * 1000, 500);
}

async function measureReplay(env: Env, runs: number, root: string): Promise<Row> {
  const replay = () => readJson(env, root, ['session', 'replay', recordedSession, '--json']);
  const { same, turns: replayed } = replay() as { same: boolean; turns: { outcome: string }[] };
  if (!same || replayed.length !== turns || replayed.some(({ outcome }) => outcome !== 'same'))
    throw new Error(`teddy replay finds ${replayed.length} turns of ${turns}, and that they are the same: ${same}`);
  const ms = await medianMs(runs, replay);
  return toRow(`teddy replay of ${count} turns (${toRate(turns, ms)} turns/s)`, ms, (ms / turns) * 1000, 3333);
}

/** With the findings of verify and replay. */
async function measurePage(env: Env, runs: number, dir: string): Promise<Row> {
  const root = await makeRecorded(env, join(dir, 'page.git'), pageTurns);
  const file = join(dir, 'page.html');
  const write = () =>
    readJson(env, root, ['session', 'export', '-s', recordedSession, '--html', file, '--force', '--json']);
  const { page } = write() as { page: { turns: number; bytes: number } };
  if (page.turns !== pageTurns) throw new Error(`teddy export --html shows ${page.turns} turns of ${pageTurns}.`);
  const ms = await medianMs(runs, write);
  return toRow(`teddy export --html of ${pageTurns} turns (${Math.round(page.bytes / 1024)} KB)`, ms, ms, 3000);
}

interface Places {
  dir: string;
  root: string;
}

/** Each time to another repository, which has the code but nothing from the session. */
async function measurePush(env: Env, runs: number, { dir, root }: Places): Promise<Row> {
  const next = makePlaces(runs, dir, (place) =>
    git(dir, env, ['clone', '-q', '--bare', '--no-local', '--single-branch', '-b', 'main', root, place]),
  );
  const times = await comparePairs(
    runs,
    () => void readJson(env, root, ['session', 'push', next(), '-s', recordedSession, '--json']),
    () => void git(root, env, ['push', '-q', next(), recordedRef]),
  );
  return toSyncRow(
    `teddy push of ${count} turns (${toRate(entries, times.ours)} entries/s)`,
    'git push of its branch',
    times,
  );
}

/** Each time into another clone, which has the code but nothing from the session. */
async function measurePull(env: Env, runs: number, { dir, root }: Places): Promise<Row> {
  const next = makePlaces(runs, dir, (place) =>
    git(dir, env, ['clone', '-q', '--no-local', '--single-branch', '-b', 'main', root, place]),
  );
  const times = await comparePairs(
    runs,
    () => void readJson(env, next(), ['session', 'pull', root, '-s', recordedSession, '--json']),
    () => void git(next(), env, ['fetch', '-q', root, `${recordedRef}:${recordedRef}`]),
  );
  return toSyncRow(
    `teddy pull of ${count} turns (${toRate(entries, times.ours)} entries/s)`,
    'git fetch of its branch',
    times,
  );
}

/** They are made before anything is measured. */
function makePlaces(runs: number, dir: string, make: (place: string) => void): () => string {
  const root = mkdtempSync(join(dir, 'places-'));
  const places = Array.from({ length: 2 * (runs + 1) }, (_, at) => join(root, String(at)));
  for (const place of places) make(place);
  return () => {
    const place = places.shift();
    if (place === undefined) throw new Error('There are more runs than places.');
    return place;
  };
}

function readJson(env: Env, cwd: string, args: string[]): Record<string, unknown> {
  const { status, stdout, stderr } = spawnSync(process.execPath, [executable, ...args], {
    cwd,
    env,
    maxBuffer: 1 << 28,
  });
  if (status !== 0)
    throw new Error(
      `teddy ${args.join(' ')} ended with ${status}: ${stderr.toString()}${stdout.toString().slice(0, 2000)}`,
    );
  return JSON.parse(stdout.toString()) as Record<string, unknown>;
}

async function medianMs(runs: number, work: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < runs; run += 1) times.push(await timeMs(() => void work()));
  return median(times);
}

function toRate(amount: number, ms: number): string {
  return Math.round((amount / ms) * 1000).toLocaleString('en');
}

function toRow(what: string, oursMs: number, figure: number, aim: number): Row {
  return { what, against: '', oursMs, againstMs: null, figure, unit: 'ms', aim };
}

function toSyncRow(what: string, against: string, times: { ours: number; against: number; ratio: number }): Row {
  return { what, against, oursMs: times.ours, againstMs: times.against, figure: times.ratio, unit: 'x', aim: 3 };
}

/** Times two things in turn, so that a machine whose speed drifts slows both. */
import { spawnSync } from 'node:child_process';

export interface Row {
  what: string;
  against: string;
  /** Medians, in milliseconds. */
  oursMs: number;
  againstMs: number | null;
  /** The figure that the target is about: a ratio, milliseconds, or megabytes. */
  figure: number;
  unit: 'x' | 'ms' | 'MB';
  aim: number;
}

type Work = () => Promise<unknown> | void;

/**
 * Once each unmeasured, then A B A B ...; the medians, and the median of the ratios pair by pair. `prepare` precedes
 * each of them, and its time does not count.
 */
export async function comparePairs(
  runs: number,
  ours: Work,
  against: Work,
  prepare: Work = () => undefined,
): Promise<{ ours: number; against: number; ratio: number }> {
  const times: { ours: number; against: number }[] = [];
  for (let run = -1; run < runs; run += 1) {
    await prepare();
    const oursMs = await timeMs(ours);
    await prepare();
    const pair = { ours: oursMs, against: await timeMs(against) };
    if (run >= 0) times.push(pair);
  }
  return {
    ours: median(times.map((pair) => pair.ours)),
    against: median(times.map((pair) => pair.against)),
    ratio: median(times.map((pair) => pair.ours / pair.against)),
  };
}

/** Once unmeasured, then the median. */
export async function medianOf(runs: number, work: Work): Promise<number> {
  const times: number[] = [];
  for (let run = -1; run < runs; run += 1) {
    const time = await timeMs(work);
    if (run >= 0) times.push(time);
  }
  return median(times);
}

export async function timeMs(work: Work): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** A whole process, its output discarded; throws if it fails, since then nothing was measured. */
export function runProcess(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv = process.env): void {
  const { status, stderr, error } = spawnSync(command, args, {
    cwd,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
    maxBuffer: 1 << 28,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}: ${stderr.toString()}`);
}

export function isMet({ figure, aim }: Row): boolean {
  return figure <= aim;
}

export function renderRows(rows: Row[]): string {
  const cells = rows.map((row) => [
    row.what,
    row.against,
    `${row.oursMs.toFixed(1)} ms`,
    row.againstMs === null ? '' : `${row.againstMs.toFixed(1)} ms`,
    `${row.figure.toFixed(row.unit === 'x' ? 2 : 0)}${row.unit === 'x' ? '' : ` ${row.unit}`}`,
    `<= ${row.aim}${row.unit === 'x' ? '' : ` ${row.unit}`}`,
    isMet(row) ? 'met' : 'MISSED',
  ]);
  const head = ['what', 'against', 'ours', 'theirs', 'figure', 'aim', ''];
  const all = [head, ...cells];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/**
 * The benchmarks: `npm run bench`, or with `-- --json`, `-- --quick` or `-- --sessions 100000`. With `-- --page` they
 * write their part of `docs/performance.md`. Each ratio is taken within one run. Each row guards a target; there are at
 * most 60.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { measureAppend, measureLargeAppend, measureLongSession, measureObjects, measureOnLine } from './appends.ts';
import { measureBlame } from './blames.ts';
import { measureCaptures } from './captures.ts';
import { measureHistories } from './histories.ts';
import { measureImports } from './imports.ts';
import { measureListings } from './listings.ts';
import { renderRows, type Row } from './measure.ts';
import { renderPage } from './page.ts';
import { measurePlans } from './plans.ts';
import { gitVersion, measureLargeContext, measureLookAlikes, measureProcesses } from './processes.ts';
import { benchEnvironment, git, makeRepository, removeRepositories } from './repositories.ts';
import { measureReviews } from './reviews.ts';
import { measureWrites } from './writes.ts';

const quick = process.argv.includes('--quick');
const runs = quick ? 3 : 15;
const reviewRuns = Math.min(runs, 5);
// `-- --sessions 100000`: making this many takes minutes.
const asked = process.argv[process.argv.indexOf('--sessions') + 1];
const manySessions = process.argv.includes('--sessions') ? [Number(asked)] : quick ? [1000] : [1000, 10_000];
const maxRows = 60;
const env = benchEnvironment();
// The library's own git children use the same home as the measured processes.
process.env['HOME'] = env['HOME'];

try {
  const rows: Row[] = [];
  const note = (text: string) => process.stderr.write(`${text} ...\n`);
  note('plans');
  rows.push(...(await measurePlans(runs)));
  note('processes');
  rows.push(...(await measureProcesses(env, runs)));
  rows.push(...(await measureLookAlikes(env, runs)));
  note('many sessions');
  rows.push(...(await measureListings(env, runs, manySessions)));
  note('appends');
  rows.push(await measureObjects(env, runs), await measureAppend(env, runs), await measureLongSession(env, runs));
  note('histories');
  rows.push(...(await measureHistories(env, runs, quick ? 1000 : 10_000)));
  note('reviews');
  rows.push(...(await measureReviews(env, reviewRuns)));
  note('blame');
  rows.push(await measureBlame(env, reviewRuns));
  note('imports');
  rows.push(...measureImports(env));
  note('captures');
  rows.push(...(await measureCaptures(env)));
  note('write sessions');
  rows.push(...(await measureWrites(env, runs)));
  note('a repository of 50,000 files');
  const large = makeRepository(env, 50_000);
  rows.push(...(await measureLargeContext(env, runs, large)), await measureOnLine(env, runs, large));
  git(large, env, ['switch', '-q', 'main']);
  rows.push(await measureLargeAppend(env, runs, large));
  if (rows.length > maxRows) throw new Error(`There are ${rows.length} rows, and at most ${maxRows} are wanted.`);
  const about = { node: process.version, git: gitVersion(), runs };
  const line = `(node ${about.node}, ${about.git}, medians of ${runs} runs; for sessions of 1,000 turns, of ${reviewRuns} runs)`;
  if (process.argv.includes('--json'))
    process.stdout.write(`${JSON.stringify({ schema: 'teddy.bench/1', about, rows }, null, 2)}\n`);
  else process.stdout.write(`${renderRows(rows)}\n${line}\n`);
  if (process.argv.includes('--page')) {
    // The bench is built into `dist/`.
    const page = fileURLToPath(new URL('../docs/performance.md', import.meta.url));
    writeFileSync(page, renderPage(readFileSync(page, 'utf8'), rows, line));
  }
} finally {
  removeRepositories();
}

/**
 * The kill matrix: whichever part of teddy is interrupted, anywhere and by anything, the next command continues and
 * nothing is lost.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { wentOn as conversationsWentOn } from './check-chat.ts';
import { settled } from './check-interrupted.ts';
import { wentOn as writesWentOn } from './check-write.ts';
import {
  answerSteps,
  noteSteps,
  readImportSteps,
  readKnownSteps,
  readWriteSteps,
  sharingSteps,
} from './known-steps.ts';
import { faultRows, kinds, measure, type FaultRow, type Kind, type Measured } from './matrix.ts';
import { emptyTally, report, sweepWith, type Job, type Tally } from './sweep.ts';
import { canTrace } from './system-calls.ts';

/**
 * At how many places in a kind a call or a git of each name fails; each further place makes the matrix longer by about
 * the same time.
 */
const depth = Number(process.env['FAULT_DEPTH'] ?? 1);
/** Only the kinds with this in their titles are tried. */
const wanted = process.env['FAULT_KIND'] ?? '';
const tried = kinds.filter(({ title }) => title.includes(wanted));

/** Combinations of kind, point and fault that occurred: the cells of the matrix. */
const met = new Map<string, FaultRow>();
let total = 0;

describe.each(tried)(
  'nothing is lost, and the next command continues, after an interruption of $title',
  ({ title, open }) => {
    let kind: Kind;
    let measured: Measured[];
    beforeAll(async () => {
      kind = await open();
      measured = await measure(kind);
    }, 600_000);
    afterAll(() => kind.copies.close());

    test.for(faultRows)('$title', async (row, { skip }) => {
      skip(row.needsTrace === true && !(await canTrace()), 'strace is not installed');
      const tally = emptyTally();
      const missed = await sweepRow(kind, row, row.jobs(measured, depth), tally);
      report(`${title}, ${row.title}`, tally);
      total += tally.runs;
      for (const point of tally.hits.keys()) met.set(`${title} x ${point} x ${row.title}`, row);
      expect(tally.problems).toEqual([]);
      expect(missed).toEqual([]);
    });
  },
);

/** Returns the names of points that never failed: depending on simultaneous events, a run may pass one more or less. */
async function sweepRow(kind: Kind, row: FaultRow, jobs: readonly Job[], tally: Tally): Promise<string[]> {
  const { name } = kind;
  const missed = () => jobs.filter((job) => 'fault' in job && 'name' in job.fault && !tally.hits.has(job.fault.name));
  let next = jobs;
  for (let tries = 0; tries < 4 && next.length > 0; tries += 1) {
    const named = next.map((job) => (name === undefined ? job : { ...job, name }));
    await sweepWith(kind.copies, named, tally, row.outcome, (...args) => kind.check(...args, row.isKill));
    next = missed();
  }
  return next.flatMap((job) => ('fault' in job && 'name' in job.fault ? [job.fault.name] : []));
}

test('every step that the product names was killed once, and each way to continue was taken', ({ skip }) => {
  const points = [...met].flatMap(([cell, { isKill }]) => (isKill ? [cell.split(' x ')[1]] : []));
  console.log(`faults: the matrix: ${total} runs, ${met.size} cells of kind x point x fault`);
  skip(wanted !== '', 'only some kinds were tried');
  const known = [
    ...readKnownSteps(),
    ...answerSteps,
    ...noteSteps,
    ...sharingSteps,
    ...readWriteSteps(),
    ...readImportSteps(),
  ];
  expect(known.filter((step) => !step.startsWith('staging-') && !points.includes(step))).toEqual([]);
  expect([...settled.keys()]).toEqual(expect.arrayContaining(['closed', 'keep', 'not begun', 'resume', 'rollback']));
  expect([...conversationsWentOn.keys()].toSorted()).toEqual([
    'after somebody else spoke',
    'another message',
    'the first message',
    'with the same message',
    'without a message',
  ]);
  const ways = ['ask again', 'begin anew', 'continue', 'discard', 'finalize'];
  expect([...writesWentOn.keys()]).toEqual(expect.arrayContaining(ways));
});

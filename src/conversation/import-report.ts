/** Counts what becomes of a source's lines. */
import { summarySource, type KnownRecord } from './record.ts';
import { formatCount } from '../session/format-count.ts';
import type { ImportIssue, ImportReport, ImportUnit } from './importer.ts';

const keptIssues = 100;

export interface ImportLog {
  /** One more line, or message, that holds something. */
  readLine(line: number): void;
  /** Reports a part of the conversation that cannot be used. */
  skip(line: number, text: string): void;
  repair(line: number, text: string): void;
  /** `what` is a kind, in the plural. */
  leaveOut(what: string): void;
  give(units: readonly ImportUnit[]): void;
  report(): ImportReport;
}

/** A record that `counts` denies is counted elsewhere. */
export function openImportLog(counts: (line: number) => boolean = () => true): ImportLog {
  const totals = { lines: 0, records: 0, summaries: 0 };
  let current = 0;
  const skipped = openIssues();
  const repaired = openIssues();
  const leftOut = new Map<string, number>();
  return {
    readLine: (line) => {
      current = line;
      if (counts(line)) totals.lines += 1;
    },
    skip: (line, text) => counts(line) && skipped.add(line, text),
    repair: (line, text) => counts(line) && repaired.add(line, text),
    leaveOut: (what) => counts(current) && leftOut.set(what, (leftOut.get(what) ?? 0) + 1),
    give(units) {
      for (const { records } of units) {
        totals.records += records.length;
        totals.summaries += records.filter(isSummary).length;
      }
    },
    report: () => ({
      ...totals,
      skipped: skipped.list(),
      repaired: repaired.list(),
      leftOut: [...leftOut].map(([what, count]) => ({ what, count })),
    }),
  };
}

/** The kinds that hold no words of a conversation, or words that stand elsewhere as well. */
const harmless = new Set([
  'lines of bookkeeping',
  'events',
  'events that items repeat',
  'items that events repeat',
  'results that stand with their calls',
  'marks of an interruption',
  'repeated lines',
  'titles',
  'instructions of the program',
  'notices of the program',
  'thoughts without words',
  'empty texts',
]);

export function listLosses(leftOut: ImportReport['leftOut']): ImportReport['leftOut'] {
  return leftOut.filter(({ what }) => !harmless.has(what));
}

/** Names what was left out, and how much of each: `2 repeated lines, 1 line of bookkeeping`; empty where it is nothing. */
export function describeLeftOut(leftOut: ImportReport['leftOut']): string {
  const toSingular = (what: string) => what.replace(/\b([a-z]+)s\b/, '$1');
  return leftOut.map(({ what, count }) => `${formatCount(count)} ${count === 1 ? toSingular(what) : what}`).join(', ');
}

/** The report of what counts, with what became of the lines of the other attempts. */
export function addReports(main: ImportReport, others: readonly ImportReport[]): ImportReport {
  const all = [main, ...others];
  const leftOut = new Map<string, number>();
  for (const report of all)
    for (const { what, count } of report.leftOut) leftOut.set(what, (leftOut.get(what) ?? 0) + count);
  const merge = (key: 'skipped' | 'repaired') => ({
    count: all.reduce((sum, report) => sum + report[key].count, 0),
    issues: all
      .flatMap((report) => report[key].issues)
      .toSorted((one, other) => one.line - other.line)
      .slice(0, keptIssues),
  });
  return {
    ...main,
    lines: all.reduce((sum, { lines }) => sum + lines, 0),
    skipped: merge('skipped'),
    repaired: merge('repaired'),
    leftOut: [...leftOut].map(([what, count]) => ({ what, count })),
  };
}

function isSummary(record: KnownRecord): boolean {
  return record.type === 'assistant' && record.source === summarySource;
}

function openIssues() {
  const issues: ImportIssue[] = [];
  let count = 0;
  return {
    add: (line: number, text: string): void => {
      count += 1;
      if (issues.length < keptIssues) issues.push({ line, text });
    },
    list: () => ({ count, issues: [...issues] }),
  };
}

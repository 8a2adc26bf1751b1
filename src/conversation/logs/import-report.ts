/** Counts what becomes of the lines in a source. */
import { summarySource, type KnownRecord } from '../records/record.ts';
import { formatCount } from '../../session/text/format-count.ts';
import type { ImportIssue, ImportReport, ImportUnit } from './importer.ts';

const keptIssues = 100;

export interface ImportLog {
  /** Counts another line (or message) that is not blank. */
  readLine(): void;
  /** Reports an unusable part of the conversation. */
  skip(line: number, text: string): void;
  repair(line: number, text: string): void;
  /** `what` is a kind of thing, in the plural. */
  leaveOut(what: string): void;
  give(units: readonly ImportUnit[]): void;
  report(): ImportReport;
}

export function openImportLog(): ImportLog {
  const totals = { lines: 0, records: 0, summaries: 0 };
  const skipped = openIssues();
  const repaired = openIssues();
  const leftOut = new Map<string, number>();
  return {
    readLine: () => {
      totals.lines += 1;
    },
    skip: skipped.add,
    repair: repaired.add,
    leaveOut: (what) => void leftOut.set(what, (leftOut.get(what) ?? 0) + 1),
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

/** Kinds that contain no words of the conversation, or only words that also occur elsewhere in it. */
const harmless = new Set([
  'lines of bookkeeping',
  'events',
  'events that items repeat',
  'items that events repeat',
  'repeated results',
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

/** Describes the omissions, such as `2 repeated lines, 1 line of bookkeeping`; empty when there are none. */
export function describeLeftOut(leftOut: ImportReport['leftOut']): string {
  const toSingular = (what: string) => what.replace(/\b([a-z]+)s\b/, '$1');
  return leftOut.map(({ what, count }) => `${formatCount(count)} ${count === 1 ? toSingular(what) : what}`).join(', ');
}

/** Returns true if a program wrote the record when it compacted the conversation. */
export function isSummary(record: KnownRecord): boolean {
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

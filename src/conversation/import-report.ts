/** Counts what becomes of a source's lines. */
import { summarySource, type KnownRecord } from './record.ts';
import type { ImportIssue, ImportReport, ImportUnit } from './importer.ts';

const keptIssues = 100;

export interface ImportLog {
  /** One more line, or message, that holds something. */
  readLine(): void;
  /** What belongs to the conversation, but cannot be used. */
  skip(line: number, text: string): void;
  repair(line: number, text: string): void;
  /** `what` is a kind, in the plural. */
  leaveOut(what: string): void;
  give(units: readonly ImportUnit[]): void;
  report(): ImportReport;
}

export function openImportLog(): ImportLog {
  const counts = { lines: 0, records: 0, summaries: 0 };
  const skipped = openIssues();
  const repaired = openIssues();
  const leftOut = new Map<string, number>();
  return {
    readLine: () => void (counts.lines += 1),
    skip: skipped.add,
    repair: repaired.add,
    leaveOut: (what) => void leftOut.set(what, (leftOut.get(what) ?? 0) + 1),
    give(units) {
      for (const { records } of units) {
        counts.records += records.length;
        counts.summaries += records.filter(isSummary).length;
      }
    },
    report: () => ({
      ...counts,
      skipped: skipped.list(),
      repaired: repaired.list(),
      leftOut: [...leftOut].map(([what, count]) => ({ what, count })),
    }),
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

/**
 * Compares the time in an entry's ID with the preceding entry, with their commit dates, and with the entry's files.
 * Clocks get adjusted, so an ID earlier than its predecessor is a fault only when nothing else is dated back along with
 * it.
 */
import type { TranscriptRecord } from '../../conversation/records/record.ts';
import { parseReport } from '../../plan/report/report-yaml.ts';
import { joinPath, turnDir } from '../../names.ts';
import type { EntryKind } from '../../session/entries/entry.ts';
import { dayMs, classifyEarlyId } from '../../session/entries/entry-trailers.ts';
import { entryMs, identSeconds, isLaterId } from '../../session/entries/logged-entry.ts';
import { toText } from '../../view/view.ts';
import type { DatedEntry, Step, WalkedLine } from './walked-line.ts';

/** Entries written almost at the same time, but in the wrong order, are less than this apart. */
const neighboursMs = 60_000;
/** An ID may be this much older than the records created with it, because a slow machine takes a while in between. */
const togetherMs = 10_000;
/** teddy creates entries of these kinds together with their records, by the same clock. */
const dated: ReadonlySet<EntryKind> = new Set(['message', 'plan', 'report']);

/** Checks an entry's ID; `added` are the records that the entry adds. */
export async function checkId(walk: WalkedLine, step: Step, added: readonly TranscriptRecord[]): Promise<void> {
  const { entry, commit, blame } = step;
  const { author, committer } = commit.commit;
  const now: DatedEntry = {
    id: entry.id,
    created: entry.created,
    ms: entryMs(entry),
    seconds: identSeconds(author),
    kind: entry.kind,
  };
  const [last, before] = walk.dated;
  walk.dated = last === undefined ? [now] : [now, last];
  const madeMs = Math.max(now.seconds, identSeconds(committer)) * 1000;
  if (now.ms > madeMs + dayMs && last !== undefined && !isLaterId(entry.id, last))
    blame('order', null, 'Its id is dated long after its commit.');
  // Another check reports a clock that was set back.
  const isEarly = classifyEarlyId(entry, commit.commit) !== null;
  const ownMs = dated.has(entry.kind) && !isEarly ? await readOwnMs(walk, step, added) : 0;
  if (now.ms < ownMs - togetherMs) blame('order', null, 'Its id is older than the files that it adds.');
  if (last === undefined || now.ms >= last.ms || isEarly) return;
  // teddy first adds a memo to teddy/global, and somebody may continue the line meanwhile.
  if (entry.kind === 'memo' && last.kind !== 'plan') return;
  const isSwapped = before !== undefined && before.ms < now.ms && last.ms - now.ms < neighboursMs;
  if (now.seconds >= last.seconds || isSwapped) blame('order', null, 'Its id is older than the entry that it follows.');
  else walk.early += 1;
}

/** Returns the time of the entry's newest record, or of its run's start; 0 when it has neither. */
async function readOwnMs(
  walk: WalkedLine,
  { entry, commit }: Step,
  added: readonly TranscriptRecord[],
): Promise<number> {
  if (entry.turn === null) return 0;
  if (entry.kind === 'report') {
    const content = await commit.contents.get(joinPath(turnDir(walk.session, entry.turn), 'report.md'))?.read();
    return content?.kind === 'bytes' ? readStartMs(toText(content.bytes)) : 0;
  }
  const times = added.map((record) => ('timestamp' in record ? Date.parse(String(record.timestamp)) : 0));
  return Math.max(0, ...times.filter((ms) => !Number.isNaN(ms)));
}

/** Returns 0 for a text that is not a report, which another check reports as a fault. */
function readStartMs(text: string): number {
  try {
    return Date.parse(parseReport(text).run_summary.start_time);
  } catch {
    return 0;
  }
}

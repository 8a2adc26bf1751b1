/** Finds the attempts that the user abandoned in a foreign log; each becomes a conversation branch. */
import { isSummary } from '../../conversation/logs/import-report.ts';
import { type ImportUnit, type LogPath, type Rewinds } from '../../conversation/logs/importer.ts';
import { followPath } from '../../conversation/logs/rewinds.ts';
import type { Project } from '../../ports/project.ts';
import { toTurnName, turnNumber, type TurnName } from '../../names.ts';
import { openEntries } from './imported-entries.ts';
import { maskRecords } from '../line/mask-record.ts';
import { readLogAgain, type ImportRequest, type ReadLog } from './read-log.ts';

export interface PlannedAttempt {
  /** The source line with the attempt's prompt, counted from 1. */
  line: number;
  /** The turn in which the user typed the prompt. */
  from: TurnName;
  /** The conversation branch's first turn. */
  turn: TurnName;
  /** The index of the attempt from which this one branches off; null for the main line. */
  leaves: number | null;
  path: LogPath;
  entries: number;
  turns: number;
  records: number;
}

interface Count {
  entries: number;
  turns: number;
  records: number;
  summaries: number;
  maskedSecrets: number;
}

interface LineCount extends Count {
  /** The first message. */
  opening: string | null;
}

const noCount: Count = { entries: 0, turns: 0, records: 0, summaries: 0, maskedSecrets: 0 };

/** Counts the entries, turns and records that a line's units become. */
export function openCount(project: Project, countsSecrets: boolean) {
  const entries = openEntries();
  const byTurn = new Map<TurnName, Count>();
  let opening: string | null = null;
  const countEntries = async (made: ReturnType<typeof entries.push>): Promise<void> => {
    for (const { turn, units } of made) {
      const count = byTurn.get(turn) ?? { ...noCount, turns: 1 };
      byTurn.set(turn, count);
      count.entries += 1;
      for (const unit of units) {
        count.records += unit.records.length;
        count.summaries += unit.records.filter(isSummary).length;
        if (countsSecrets) count.maskedSecrets += (await maskRecords(project.masker, unit)).count;
      }
    }
  };
  return {
    async add(units: readonly ImportUnit[]): Promise<void> {
      for (const unit of units) {
        opening ??= findMessage(unit);
        await countEntries(entries.push(unit));
      }
    },
    /** Returns the turn of the last unit. */
    turn: () => toTurnName(Math.max(1, entries.turns())),
    /** Counts everything from turn `from` on. */
    async end(from = toTurnName(1)): Promise<LineCount> {
      await countEntries(entries.end());
      const sum: LineCount = { ...noCount, opening };
      for (const [turn, count] of byTurn) {
        if (turnNumber(turn) < turnNumber(from)) continue;
        for (const key of Object.keys(noCount) as (keyof Count)[]) sum[key] += count[key];
      }
      return sum;
    },
  };
}

function findMessage({ records }: ImportUnit): string | null {
  const said = records.find((record) => record.type === 'user');
  return said?.type === 'user' && 'content' in said.message ? said.message.content : null;
}

/** Reads the source again, for the main line and for each attempt. Throws FILE_MODIFIED, INTERRUPTED. */
export async function planRewinds(
  project: Project,
  request: ImportRequest,
  log: ReadLog,
  { main, attempts: found }: Rewinds,
  countsSecrets: boolean,
): Promise<LineCount & { attempts: PlannedAttempt[] }> {
  const open = (path: LogPath) => ({ isTaken: followPath(path), count: openCount(project, countsSecrets) });
  const ours = open(main);
  const theirs = found.map((attempt) => ({ ...open(attempt.path), attempt, from: null as TurnName | null, met: 0 }));
  for await (const unit of readLogAgain(project, request, log, null, 'reading')) {
    if (ours.isTaken(unit)) await ours.count.add([unit]);
    for (const line of theirs) {
      if (!line.isTaken(unit)) continue;
      await line.count.add([unit]);
      const { branch, unit: first } = line.attempt.begins;
      if (unit.branch !== branch) continue;
      if (line.met === first) line.from = line.count.turn();
      line.met += 1;
    }
  }
  const counted = await ours.count.end();
  const attempts: PlannedAttempt[] = [];
  for (const { attempt, count, from: begun } of theirs) {
    const from = begun ?? count.turn();
    const { entries, turns, records, maskedSecrets } = await count.end(from);
    const number = attempts.filter((earlier) => earlier.from === from).length + 1;
    const turn = toTurnName(turnNumber(from), number);
    const { line, leaves, path } = attempt;
    attempts.push({ line, from, turn, leaves, path, entries, turns, records });
    counted.maskedSecrets += maskedSecrets;
  }
  return { ...counted, attempts };
}

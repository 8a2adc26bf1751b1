/** The attempts that the user took back in a foreign log: each becomes a conversation branch. */
import type { ImportReport, ImportUnit } from '../../conversation/importer.ts';
import { addReports } from '../../conversation/import-report.ts';
import type { Attempt, LogPart, Rewinds } from '../../conversation/rewinds.ts';
import type { Project } from '../../ports/project.ts';
import { toTurnName, turnNumber, type TurnName } from '../../names.ts';
import { openEntries } from './imported-entries.ts';
import { maskSaid } from '../line/mask-record.ts';
import { readLogAgain, type ImportRequest, type ReadLog } from './read-log.ts';

export interface PlannedAttempt {
  /** The line of the source, from 1, that has its prompt. */
  line: number;
  /** The turn in which the prompt was typed. */
  from: TurnName;
  /** The first turn of the conversation branch. */
  turn: TurnName;
  /** The attempt that it leaves, by its position in the list; null: the main line. */
  leaves: number | null;
  part: LogPart;
  entries: number;
  turns: number;
  records: number;
}

interface Count {
  entries: number;
  turns: number;
  records: number;
  maskedSecrets: number;
}

interface LineCount extends Count {
  /** The first message. */
  opening: string | null;
}

/** Counts what the units of a line become. */
export function openCount(project: Project, countsSecrets: boolean) {
  const entries = openEntries();
  const byTurn = new Map<TurnName, Count>();
  let opening: string | null = null;
  const countEntries = async (made: ReturnType<typeof entries.push>): Promise<void> => {
    for (const { turn, units } of made) {
      const count = byTurn.get(turn) ?? { entries: 0, turns: 1, records: 0, maskedSecrets: 0 };
      byTurn.set(turn, count);
      count.entries += 1;
      for (const unit of units) {
        count.records += unit.records.length;
        if (countsSecrets) count.maskedSecrets += (await maskSaid(project.masker, unit)).count;
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
    /** The turn that the last unit went to. */
    turn: () => toTurnName(Math.max(1, entries.turns())),
    /** From that turn on. */
    async end(from = toTurnName(1)): Promise<LineCount> {
      await countEntries(entries.end());
      const sum: LineCount = { entries: 0, turns: 0, records: 0, maskedSecrets: 0, opening };
      for (const [turn, count] of byTurn) {
        if (turnNumber(turn) < turnNumber(from)) continue;
        for (const key of ['entries', 'turns', 'records', 'maskedSecrets'] as const) sum[key] += count[key];
      }
      return sum;
    },
  };
}

function findMessage({ records }: ImportUnit): string | null {
  const said = records.find((record) => record.type === 'user');
  return said?.type === 'user' && 'content' in said.message ? said.message.content : null;
}

/** Reads the source again for what counts, and once for each attempt. Throws FILE_MODIFIED, INTERRUPTED. */
export async function planRewinds(
  project: Project,
  request: ImportRequest,
  log: ReadLog,
  rewinds: Rewinds,
  countsSecrets: boolean,
) {
  const reading = await readLogAgain(project, request, log, rewinds.main, 'reading');
  const main = openCount(project, countsSecrets);
  for await (const unit of reading.units) await main.add([unit]);
  const { records: _, ...counted } = await main.end();
  const attempts: PlannedAttempt[] = [];
  const reports: ImportReport[] = [];
  for (const attempt of rewinds.attempts) {
    const read = await planAttempt(project, request, log, attempt, countsSecrets);
    const { maskedSecrets, report, ...planned } = read;
    const number = attempts.filter(({ from }) => from === planned.from).length + 1;
    attempts.push({ ...planned, turn: toTurnName(turnNumber(planned.from), number) });
    reports.push(report);
    counted.maskedSecrets += maskedSecrets;
  }
  const report = addReports(reading.report(), reports);
  return { ...counted, report, title: reading.title(), part: rewinds.main, attempts };
}

async function planAttempt(
  project: Project,
  request: ImportRequest,
  log: ReadLog,
  { prompt, leaves, part }: Attempt,
  countsSecrets: boolean,
) {
  const reading = await readLogAgain(project, request, log, part, 'reading');
  const count = openCount(project, countsSecrets);
  let from: TurnName | null = null;
  for await (const unit of reading.units) {
    await count.add([unit]);
    if (unit.records.some(({ id }) => id === prompt.uuid)) from ??= count.turn();
  }
  from ??= count.turn();
  const { entries, turns, records, maskedSecrets } = await count.end(from);
  const report = reading.report();
  return { line: prompt.line, from, leaves, part, entries, turns, records, maskedSecrets, report };
}

/** What a run notes in its journal: each action before it starts, and what came of it. */
import { foldJournal, type EndRecord, type JournaledRun, type JournalRecord } from '../plan/journal.ts';
import type { ActionLog } from '../plan/report.ts';
import type { Project, RunJournal } from '../ports.ts';
import { describeAction } from './describe-action.ts';
import { maskString } from './mask-text.ts';
import type { Run, RunLog } from './run.ts';

/** `isNew`: the journal has no record yet. Of a run that is gone on with, `journaled` is what there is of it. */
export function logRun(
  { clock, masker }: Project,
  journal: RunJournal,
  { run, ...journaled }: JournaledRun,
  { isNew }: { isNew: boolean },
): RunLog {
  const records: JournalRecord[] = [...journaled.begun, ...journaled.ended];
  let isBegun = !isNew;
  const noteFirst = async () => {
    if (!isBegun) await journal.note(run);
    isBegun = true;
  };
  return {
    journal,
    journaled: () => foldJournal(run, records),
    async begin(action, before) {
      await noteFirst();
      const target = await maskString(masker, describeAction(action));
      const startedAt = clock.now().toISOString();
      const begin = { record: 'begin', action: action.index, actionType: action.type, target, startedAt } as const;
      records.push({ ...begin, before });
      await journal.append({ ...begin, before });
    },
    started: (group) => void journal.note({ record: 'start', group }),
    async end(log, outcome) {
      await noteFirst();
      const end = await toEnd(journal, log, outcome);
      records.push(end);
      await journal.note(end);
    },
    rollBack: () => journal.append({ record: 'rollback' }),
  };
}

async function toEnd(journal: RunJournal, log: ActionLog, run: Run): Promise<EndRecord> {
  const changed = [...run.changed].filter(([, action]) => action === log.index);
  const texts = {
    output: run.outputs.find(({ action }) => action === log.index)?.text,
    page: run.pages.find(({ action }) => action === log.index)?.text,
  };
  const keys: { output?: string; page?: string } = {};
  for (const name of ['output', 'page'] as const) {
    const text = texts[name];
    if (text !== undefined) keys[name] = await journal.keep(new TextEncoder().encode(text));
  }
  return {
    record: 'end',
    log,
    ended: run.ended,
    changed: changed.map(([path]) => [path, run.left.get(path) ?? null]),
    strays: [...run.strays],
    ...keys,
  };
}

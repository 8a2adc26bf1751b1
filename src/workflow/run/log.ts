/** Records each action in the run's journal before it starts, and its outcome afterwards. */
import { foldJournal, type EndRecord, type JournaledRun, type JournalRecord } from '../../plan/report/journal.ts';
import type { ActionLog } from '../../plan/report/report.ts';
import type { RunJournal } from '../../ports/disk.ts';
import type { Project } from '../../ports/project.ts';
import type { RepoPath } from '../../names.ts';
import { describeAction } from '../../plan/actions/actions.ts';
import { maskString } from '../line/mask-text.ts';
import { nullIfRefused } from './keep-before.ts';
import type { Run, RunLog } from './run.ts';

/**
 * Opens the log. With `isNew`, the journal has no records yet; for a continued run, `journaled` contains the journal's
 * records.
 */
export function logRun(
  { clock, masker }: Project,
  journal: RunJournal,
  { run, ...journaled }: JournaledRun,
  { isNew }: { isNew: boolean },
): RunLog {
  const records: JournalRecord[] = [...journaled.begun, ...journaled.ended];
  const noted = new Map(journaled.ended.flatMap(({ changed }) => changed.map(([path, left]) => [path, left] as const)));
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
    started: (group) => journal.append({ record: 'start', group }),
    async end(log, outcome) {
      await noteFirst();
      const end: EndRecord = {
        record: 'end',
        log,
        ended: outcome.ended,
        changed: noteChanged(noted, log.index, outcome),
        strays: [...outcome.strays],
        ...(await keepTexts(journal, log, outcome)),
        ...(outcome.files.has(log.index) ? { files: outcome.files.get(log.index) ?? null } : {}),
        ...(outcome.crashedIn === log.index ? { crashed: true } : {}),
        ...(outcome.unseen.has(log.index) ? { unseen: true } : {}),
      };
      records.push(end);
      await journal.note(end);
    },
    rollBack: () => journal.append({ record: 'rollback' }),
  };
}

/** Separates the action's own changes from files that it rewrote unchanged. */
function noteChanged(noted: Map<RepoPath, string | null>, index: number, run: Run): EndRecord['changed'] {
  const rows: EndRecord['changed'] = [];
  for (const [path, owner] of run.changed) {
    const left = run.left.get(path) ?? null;
    if (owner === index) rows.push([path, left]);
    else if (noted.get(path) !== left) rows.push([path, left, owner]);
    noted.set(path, left);
  }
  return rows;
}

/** Saves the texts. On a full disk, keeps them only in memory, because teddy still has to report the run. */
async function keepTexts(journal: RunJournal, log: ActionLog, run: Run): Promise<{ output?: string; page?: string }> {
  const keys: { output?: string; page?: string } = {};
  const texts = { output: run.outputs, page: run.pages };
  for (const name of ['output', 'page'] as const) {
    const text = texts[name].find(({ action }) => action === log.index)?.text;
    const key = text === undefined ? null : await journal.keep(new TextEncoder().encode(text)).catch(nullIfRefused);
    if (key !== null) keys[name] = key;
  }
  return keys;
}

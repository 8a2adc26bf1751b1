/** The end of a run that has a journal: its files are put back where that was asked for, its report is there, its journal is gone. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import type { TurnName } from '../../names.ts';
import type { DecidedMemos } from '../line/decide-memos.ts';
import { finishRun, type Executed, type RunDraft } from './finish.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { rollBack, type RolledBack } from './roll-back.ts';
import type { Run, RunLog } from './run.ts';

export interface JournaledOutcome {
  run: Run;
  log: RunLog;
  memos: DecidedMemos;
}

/** Whatever prevents the report leaves the journal: the next command says so. */
export async function closeRun(
  draft: RunDraft,
  { run, log, memos }: JournaledOutcome,
  { rollsBack }: { rollsBack: boolean },
): Promise<Executed> {
  const { project } = draft;
  try {
    const rolledBack = rollsBack ? await putBack(draft, run, log) : null;
    const executed = await finishRun(draft, run, memos, rolledBack);
    // The next command removes what is left of it.
    await log.journal.discard().catch((error: unknown) => project.notices.warn(toWarning(error)));
    return executed;
  } finally {
    await log.journal.close();
  }
}

async function putBack({ project, line: { workspace } }: RunDraft, run: Run, log: RunLog): Promise<RolledBack> {
  // On a full disk the files are put back all the same; only a crash in the middle of it would be told less well.
  await log.rollBack().catch((error: unknown) => project.notices.warn(toWarning(error)));
  const rolledBack = await rollBack({ project, workspace, journal: log.journal }, log.journaled());
  // With a report the journal goes, and with it what it has kept of the files that are not put back.
  tellRolledBack(project, log.journaled().run, rolledBack);
  const left = new Set(rolledBack.left.map(({ path }) => path));
  for (const path of run.changed.keys()) if (!left.has(path)) run.changed.delete(path);
  return rolledBack;
}

/** Throws ROLLBACK_INCOMPLETE where another try may come further. */
export function tellRolledBack(
  { notices }: Project,
  { turn }: { turn: TurnName },
  { left, failed, aside, kept }: RolledBack,
): void {
  const remaining = [...left, ...failed].map(({ path, reason }) => `${path} (${reason})`);
  if (remaining.length > 0) notices.warn(`Not put back: ${nameSome(remaining)}.`);
  if (aside.length > 0) notices.warn(describeAside(aside));
  const [first] = kept;
  if (first !== undefined) {
    const files = kept.length === 1 ? '1 file' : `${kept.length} files`;
    const directory = first.to.slice(0, -first.path.length - 1);
    notices.info(`What commands had left in ${files} is kept in ${directory}, in case somebody else has edited there.`);
  }
  if (failed.length > 0)
    throw new TeddyError(
      'ROLLBACK_INCOMPLETE',
      `Not all of turn ${turn} is put back: ${nameSome(failed.map(({ path }) => path))}.`,
      'Mend that, then `teddy session execute --interrupted=rollback` puts the rest back; =keep leaves it as it is.',
    );
}

function describeAside(aside: RolledBack['aside']): string {
  const shown = nameSome(aside.map(({ path }) => path));
  const places = nameSome(aside.map(({ to }) => to));
  return aside.length === 1
    ? `${shown} may hold an edit that is not the run's: what was there is kept as ${places}.`
    : `${shown} may hold edits that are not the run's: what was there is kept as ${places}.`;
}

export function toWarning(error: unknown): string {
  if (error instanceof TeddyError) return error.message;
  throw error;
}

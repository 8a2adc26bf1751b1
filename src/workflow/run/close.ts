/** Ends a run that has a journal: rolls back its files on request, publishes its report, and removes its journal. */
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

/** Closes the run. If anything prevents the report, the journal stays, and the next command reports the run. */
export async function closeRun(
  draft: RunDraft,
  { run, log, memos }: JournaledOutcome,
  { rollsBack }: { rollsBack: boolean },
): Promise<Executed> {
  const { project } = draft;
  try {
    const rolledBack = rollsBack ? await putBack(draft, run, log) : null;
    const executed = await finishRun(draft, run, memos, rolledBack);
    // If that fails, the next command removes the rest.
    await log.journal.discard().catch((error: unknown) => project.notices.warn(toWarning(error)));
    return executed;
  } finally {
    await log.journal.close();
  }
}

async function putBack({ project, line: { workspace } }: RunDraft, run: Run, log: RunLog): Promise<RolledBack> {
  // On a full disk, the rollback still restores the files; only a crash during the rollback would be reported less
  // precisely.
  await log.rollBack().catch((error: unknown) => project.notices.warn(toWarning(error)));
  const rolledBack = await rollBack({ project, workspace, journal: log.journal }, log.journaled());
  // Once there is a report, teddy removes the journal, and with it the saved content of files that it could not
  // restore.
  reportRollback(project, log.journaled().run, rolledBack);
  const left = new Set(rolledBack.left.map(({ path }) => path));
  for (const path of run.changed.keys()) if (!left.has(path)) run.changed.delete(path);
  return rolledBack;
}

/** Reports a rollback. Throws ROLLBACK_INCOMPLETE when another attempt may restore more. */
export function reportRollback(
  { notices }: Project,
  { turn }: { turn: TurnName },
  { left, failed, aside, kept }: RolledBack,
): void {
  const remaining = [...left, ...failed].map(({ path, reason }) => `${path} (${reason})`);
  if (remaining.length > 0) notices.warn(`Could not be restored: ${nameSome(remaining)}.`);
  if (aside.length > 0) notices.warn(describeAside(aside));
  const [first] = kept;
  if (first !== undefined) {
    const files = kept.length === 1 ? '1 file' : `${kept.length} files`;
    const directory = first.to.slice(0, -first.path.length - 1);
    notices.info(
      `The content that commands left in ${files} was saved in ${directory}, in case somebody else has edited it.`,
    );
  }
  if (failed.length > 0)
    throw new TeddyError(
      'ROLLBACK_INCOMPLETE',
      `Turn ${turn} could not be rolled back completely. Not restored: ${nameSome(failed.map(({ path }) => path))}.`,
      'Fix that, then restore the rest: `teddy execute --interrupted=rollback`. To leave the files alone, use =keep.',
    );
}

function describeAside(aside: RolledBack['aside']): string {
  const shown = nameSome(aside.map(({ path }) => path));
  const places = nameSome(aside.map(({ to }) => to));
  return aside.length === 1
    ? `${shown} may contain an edit that the run did not make: its content was saved as ${places}.`
    : `${shown} may contain edits that the run did not make: their content was saved as ${places}.`;
}

export function toWarning(error: unknown): string {
  if (error instanceof TeddyError) return error.message;
  throw error;
}

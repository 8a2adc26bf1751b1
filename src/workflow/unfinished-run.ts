/** A run that was killed: which action it was in, and the refusal of everything that would build on what it left. */
import { TeddyError } from '../errors.ts';
import type { JournaledRun } from '../plan/journal.ts';
import type { Project } from '../ports.ts';
import type { Oid, RefName, TurnName } from '../session/names.ts';
import { readLine } from './read-line.ts';

/** RUN_INTERRUPTED, for those who can ask what to do. */
export class InterruptedRun extends TeddyError {
  readonly run: JournaledRun;

  constructor(run: JournaledRun) {
    super(
      'RUN_INTERRUPTED',
      describeInterrupted(run),
      '`teddy session execute` asks what to do; without a terminal: --interrupted=resume, =rollback or =keep.',
    );
    this.run = run;
  }
}

/** In a sentence. */
export function describeInterrupted({ run, interrupted, ended, isRollingBack }: JournaledRun): string {
  const start = `The run of turn ${run.turn} was interrupted`;
  if (isRollingBack) return `${start} while its files were put back.`;
  if (interrupted) return `${start} in action ${interrupted.action} (${interrupted.target}).`;
  return `${start} after action ${ended.at(-1)?.log.index ?? 0}, before its report was there.`;
}

/**
 * Throws LOCKED while a run of the line is on its way, and RUN_INTERRUPTED where one of its pending plan was killed, but for
 * whoever `settles` it. What is left of a run whose report is there already is removed.
 */
export async function checkUnfinishedRun(
  project: Project,
  line: { ref: RefName; tip: Oid },
  { settles }: { settles: boolean },
): Promise<void> {
  for (const place of await project.journals.list()) {
    if (place.ref !== line.ref) continue;
    const claim = await project.repository.claimRun(place);
    try {
      const left = await project.journals.find(place);
      if (left === null) continue;
      if (!(await isPending(project, line.tip, place.turn))) await left.journal.discard();
      else if (!settles) throw new InterruptedRun(left);
    } finally {
      await claim.release();
    }
  }
}

export function toNotInterrupted({ turn }: { turn: TurnName }): TeddyError {
  return new TeddyError(
    'NO_INTERRUPTED_RUN',
    `No run of turn ${turn} was interrupted.`,
    'Execute the plan without --interrupted.',
  );
}

async function isPending({ repository: { store } }: Project, tip: Oid, turn: TurnName): Promise<boolean> {
  const { latest } = await readLine(store, tip);
  return latest?.turn === turn && latest.status === 'planned';
}

/** A killed run: the interrupted action, and the refusal of everything that would build on its changes. */
import { TeddyError } from '../../errors.ts';
import type { JournaledRun, RunRecord } from '../../plan/report/journal.ts';
import type { LeftRun } from '../../ports/disk.ts';
import type { Project } from '../../ports/project.ts';
import { joinPath, shortRef, turnDir, type Oid, type RefName, type SessionId, type TurnName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { settleCommands } from './settle-commands.ts';
import { readLineAt, type LineState } from '../../view/view.ts';

/** The choices for a killed run. */
export const interruptedChoices = ['resume', 'rollback', 'keep'] as const;

/** RUN_INTERRUPTED with the run, for callers that can ask the user what to do. */
export class InterruptedRun extends TeddyError {
  readonly run: JournaledRun;

  constructor(project: Project, run: JournaledRun, { isOnLine }: { isOnLine: boolean }) {
    super(
      'RUN_INTERRUPTED',
      describeInterrupted(run),
      `Settle it: ${describeSettleCommands(project, run.run, { isOnLine })}.`,
    );
    this.run = run;
  }
}

/**
 * Returns the commands that settle a run, starting from the user's current place. They need the run's files, with HEAD
 * on its line.
 */
export function describeSettleCommands(
  { repository }: Project,
  { ref, root }: Pick<RunRecord, 'ref' | 'root'>,
  { isOnLine }: { isOnLine: boolean },
): string {
  const isHere = repository.workspace?.root === root;
  const [place, line] = [toShellWord(root), toShellWord(shortRef(ref))];
  const turnTo = isHere ? `git switch ${line} && ` : `git -C ${place} switch ${line} && `;
  const way = `${isOnLine ? '' : turnTo}${isHere ? '' : `cd ${place} && `}`;
  const ways = interruptedChoices.map((name) => `\`${way}teddy execute --interrupted=${name}\``);
  return ways.join(' or ');
}

/** Describes the interruption in a sentence. */
export function describeInterrupted({ run, interrupted, ended, isRollingBack }: JournaledRun): string {
  const start = `The run of turn ${run.turn} was interrupted`;
  if (isRollingBack) return `${start} while its files were being restored.`;
  if (interrupted) return `${start} in action ${interrupted.action} (${interrupted.target}).`;
  return `${start} after action ${ended.at(-1)?.log.index ?? 0}, before its report was written.`;
}

export interface LineInFiles {
  ref: RefName;
  session: SessionId;
  tip: Oid;
  /** The work tree that has the line checked out, if any. */
  workspace: { root: string } | null;
  /** The line as the caller read it. */
  state?: LineState;
}

/**
 * Returns true if the run belongs to the line's own plan, even if the user has since renamed its branch, or left it for
 * another one in the same work tree.
 */
export function isOfLine(run: RunRecord, { ref, session, workspace }: Omit<LineInFiles, 'tip'>): boolean {
  return run.ref === ref || (run.session === session && run.root === workspace?.root);
}

/**
 * Throws LOCKED while a run is in progress on the line or in its files, and RUN_INTERRUPTED when a run with a pending
 * plan was killed, unless the caller `settles` the line's own. Cleans up after a run that has its report.
 */
export async function checkUnfinishedRuns(
  project: Project,
  line: LineInFiles,
  { settles }: { settles: boolean },
): Promise<void> {
  for (const run of await project.journals.list()) {
    const isOwn = run.ref === line.ref || (isOfLine(run, line) && (await isPending(project, line, line.tip, run.turn)));
    if (!isOwn && run.root !== line.workspace?.root) continue;
    const left = await findPending(project, run, isOwn ? line : null);
    if (left !== null && !isOwn) throw otherLineError(project, left);
    if (left !== null && !settles)
      throw new InterruptedRun(project, left, { isOnLine: line.workspace?.root === run.root });
  }
}

/**
 * Checks for runs before replacing a work tree's files. Reverts changes that a conversation's interrupted command made
 * in its `.teddy/`. Throws LOCKED, RUN_INTERRUPTED.
 */
export async function refuseRunsIn(project: Project, { root }: { root: string }): Promise<void> {
  await settleCommands(project, { ref: null, workspace: { root } });
  for (const run of await project.journals.list()) {
    const left = run.root === root ? await findPending(project, run, null) : null;
    if (left !== null) throw otherLineError(project, left);
  }
}

/**
 * Returns the run if its plan is pending. Returns null when the run has its report, or its line is gone, and cleans up
 * after it. Throws LOCKED.
 */
async function findPending(project: Project, run: RunRecord, line: LineInFiles | null): Promise<LeftRun | null> {
  const claim = await project.journals.claim(run);
  try {
    const left = await project.journals.find(run);
    if (left === null) return null;
    const at = (await project.repository.store.resolve(run.ref)) ?? line?.tip ?? null;
    if (at !== null && (await isPending(project, line, at, run.turn))) return left;
    await left.journal.discard();
    if (at === null || !(await isReported(project, at, run))) warnForgottenRun(project, left);
    return null;
  } finally {
    await claim.release();
  }
}

function otherLineError(project: Project, left: LeftRun): TeddyError {
  const line = shortRef(left.run.ref);
  return new TeddyError(
    'RUN_INTERRUPTED',
    `${describeInterrupted(left).replace(/\.$/, '')}, on ${line}, and its changes are in ${left.run.root}.`,
    `Settle it first: ${describeSettleCommands(project, left.run, { isOnLine: false })}.`,
  );
}

/** Refuses a line that is now checked out elsewhere or nowhere, because the run left its changes where it ran. */
export async function refuseElsewhere(project: Project, line: Omit<LineInFiles, 'tip'>): Promise<void> {
  const run = (await project.journals.list()).find((one) => isOfLine(one, line));
  if (run === undefined || run.root === line.workspace?.root) return;
  // If that work tree is gone or was moved, this work tree is the only choice.
  if (!(await project.repository.workTrees()).some(({ root }) => root === run.root)) return;
  const left = await findPending(project, run, null);
  if (left === null) return;
  if (line.workspace === null) throw otherLineError(project, left);
  const branch = toShellWord(shortRef(run.ref));
  throw new TeddyError(
    'RUN_INTERRUPTED',
    `The run of turn ${run.turn} was interrupted in ${run.root}, and its branch is now checked out in ${line.workspace.root}.`,
    `Switch this work tree to another branch, then switch the other one back: \`git -C ${toShellWord(run.root)} switch ${branch}\`.`,
  );
}

export function notInterruptedError({ turn }: { turn: TurnName }): TeddyError {
  return new TeddyError(
    'NO_INTERRUPTED_RUN',
    `No run of turn ${turn} was interrupted.`,
    'Execute the plan without --interrupted.',
  );
}

async function isReported(
  { repository: { store } }: Project,
  tip: Oid,
  { session, turn }: RunRecord,
): Promise<boolean> {
  return (await store.readFile(tip, joinPath(turnDir(session, turn), 'report.md'))) !== null;
}

function warnForgottenRun({ notices }: Project, { run }: LeftRun): void {
  const line = shortRef(run.ref);
  notices.warn(
    `The plan of turn ${run.turn} is no longer on ${line}, so its interrupted run is forgotten; its changes stay in ${run.root}.`,
  );
}

async function isPending(
  { repository: { store } }: Project,
  line: LineInFiles | null,
  tip: Oid,
  turn: TurnName,
): Promise<boolean> {
  // A journal may belong to another line, or to this one before its branch was renamed.
  const { latest } = await readLineAt(store, line ?? { workspace: null }, tip);
  return latest?.turn === turn && latest.status === 'planned';
}

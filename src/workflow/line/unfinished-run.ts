/** A run that was killed: which action it was in, and the refusal of everything that would build on what it left. */
import { TeddyError } from '../../errors.ts';
import type { JournaledRun, RunRecord } from '../../plan/report/journal.ts';
import type { LeftRun } from '../../ports/disk.ts';
import type { Project } from '../../ports/project.ts';
import { joinPath, shortRef, turnDir, type Oid, type RefName, type SessionId, type TurnName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { settleCommands } from './settle-commands.ts';
import { readLineAt, type LineState } from '../../view/view.ts';

/** The choices for a run that was killed. */
export const interruptedChoices = ['resume', 'rollback', 'keep'] as const;

/** RUN_INTERRUPTED, for those who can ask what to do. */
export class InterruptedRun extends TeddyError {
  readonly run: JournaledRun;

  constructor(project: Project, run: JournaledRun, { isOnLine }: { isOnLine: boolean }) {
    super('RUN_INTERRUPTED', describeInterrupted(run), `Settle it: ${describeWays(project, run.run, { isOnLine })}.`);
    this.run = run;
  }
}

/** The commands that settle a run, from where the user stands. It takes the files of the run, with HEAD on its line. */
export function describeWays(
  { repository }: Project,
  { ref, root }: Pick<RunRecord, 'ref' | 'root'>,
  { isOnLine }: { isOnLine: boolean },
): string {
  const isHere = repository.workspace?.root === root;
  const [place, line] = [toShellWord(root), toShellWord(shortRef(ref))];
  const turnTo = isHere ? `git switch ${line} && ` : `git -C ${place} switch ${line} && `;
  const way = `${isOnLine ? '' : turnTo}${isHere ? '' : `cd ${place} && `}`;
  const ways = interruptedChoices.map((name) => `\`${way}teddy session execute --interrupted=${name}\``);
  return ways.join(' or ');
}

/** In a sentence. */
export function describeInterrupted({ run, interrupted, ended, isRollingBack }: JournaledRun): string {
  const start = `The run of turn ${run.turn} was interrupted`;
  if (isRollingBack) return `${start} while its files were put back.`;
  if (interrupted) return `${start} in action ${interrupted.action} (${interrupted.target}).`;
  return `${start} after action ${ended.at(-1)?.log.index ?? 0}, before its report was there.`;
}

export interface LineInFiles {
  ref: RefName;
  session: SessionId;
  tip: Oid;
  /** The work tree whose HEAD is on the line, if any. */
  workspace: { root: string } | null;
  /** The line as the caller has read it. */
  state?: LineState;
}

/** Whether the run is of the line's own plan, also where its branch was renamed since, or left for another one at the same place. */
export function isOfLine(run: RunRecord, { ref, session, workspace }: Omit<LineInFiles, 'tip'>): boolean {
  return run.ref === ref || (run.session === session && run.root === workspace?.root);
}

/**
 * Throws LOCKED while a run of the line, or in its files, is on its way, and RUN_INTERRUPTED where one was killed whose plan
 * is pending, but for whoever `settles` that of the line. What is left of a run that has its report is removed.
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
 * For whoever is about to exchange the files of a work tree. What an interrupted command of a conversation changed in `.teddy/` there
 * is put back. Throws LOCKED, RUN_INTERRUPTED.
 */
export async function refuseRunsIn(project: Project, { root }: { root: string }): Promise<void> {
  await settleCommands(project, { ref: null, workspace: { root } });
  for (const run of await project.journals.list()) {
    const left = run.root === root ? await findPending(project, run, null) : null;
    if (left !== null) throw otherLineError(project, left);
  }
}

/** Null where the run has its report, or its line is gone: then what is left of it is removed. Throws LOCKED. */
async function findPending(project: Project, run: RunRecord, line: LineInFiles | null): Promise<LeftRun | null> {
  const claim = await project.journals.claim(run);
  try {
    const left = await project.journals.find(run);
    if (left === null) return null;
    const at = (await project.repository.store.resolve(run.ref)) ?? line?.tip ?? null;
    if (at !== null && (await isPending(project, line, at, run.turn))) return left;
    await left.journal.discard();
    if (at === null || !(await isReported(project, at, run))) tellForgotten(project, left);
    return null;
  } finally {
    await claim.release();
  }
}

function otherLineError(project: Project, left: LeftRun): TeddyError {
  const line = shortRef(left.run.ref);
  return new TeddyError(
    'RUN_INTERRUPTED',
    `${describeInterrupted(left).replace(/\.$/, '')}, on ${line}, and what it has done is in ${left.run.root}.`,
    `Settle it first: ${describeWays(project, left.run, { isOnLine: false })}.`,
  );
}

/** Refuses a line that is checked out nowhere now, or elsewhere: what the run left lies where it ran. */
export async function refuseElsewhere(project: Project, line: Omit<LineInFiles, 'tip'>): Promise<void> {
  const run = (await project.journals.list()).find((one) => isOfLine(one, line));
  if (run === undefined || run.root === line.workspace?.root) return;
  // Where that is gone, or was moved, there is only this one.
  if (!(await project.repository.workTrees()).some(({ root }) => root === run.root)) return;
  const left = await findPending(project, run, null);
  if (left === null) return;
  if (line.workspace === null) throw otherLineError(project, left);
  const branch = toShellWord(shortRef(run.ref));
  throw new TeddyError(
    'RUN_INTERRUPTED',
    `The run of turn ${run.turn} was interrupted in ${run.root}, and its line is checked out in ${line.workspace.root} now.`,
    `Switch this one to another branch, then that one back: \`git -C ${toShellWord(run.root)} switch ${branch}\`.`,
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

function tellForgotten({ notices }: Project, { run }: LeftRun): void {
  const line = shortRef(run.ref);
  notices.warn(
    `The plan of turn ${run.turn} is not on ${line} any more, so its interrupted run is forgotten; what it has changed stays in ${run.root}.`,
  );
}

async function isPending(
  { repository: { store } }: Project,
  line: LineInFiles | null,
  tip: Oid,
  turn: TurnName,
): Promise<boolean> {
  // A journal may be that of another line, or of this one after its branch was renamed.
  const { latest } = await readLineAt(store, line ?? { workspace: null }, tip);
  return latest?.turn === turn && latest.status === 'planned';
}

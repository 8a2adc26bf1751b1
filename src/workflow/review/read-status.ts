/** Reads the user's current state: the line, its turn, pending plans, edits, leftovers, and the next commands. */
import { hasAgentPlan, userMessages } from '../../conversation/records/transcript.ts';
import { TeddyError } from '../../errors.ts';
import { findPlanTitle } from '../../plan/plan-comments.ts';
import type { ParsedPlan } from '../../plan/plan.ts';
import { parseReport } from '../../plan/report/report-yaml.ts';
import { describeNotRun, type ActionLog } from '../../plan/report/report.ts';
import { type RunStatus } from '../../session/entries/entry-trailers.ts';
import type { Head } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Entry } from '../../session/entries/entry.ts';
import { undoneExtent } from '../../session/lines/line-paths.ts';
import { isSessionPath } from '../../session/global/global-files.ts';
import { parseLineRef, shortRef, type Oid, type RefName, type SessionId, type TurnName } from '../../names.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import { findCommit } from '../line/find-committed.ts';
import { findBranchAt, findFreeBranch, findLine, lineName, type Line } from '../line/find.ts';
import { hasRemote, isSamePerson, readApproval, readOwnEmail } from '../line/needed-approval.ts';
import { findWayTo, toArchiveCommand } from '../line/way-to-line.ts';
import { findBaseStart, findOtherWithCode, hasCodeToLand, hasLandedAsItStands } from '../line/find-open.ts';
import { findNearestEntry, type NearestEntry } from '../../session/entries/nearest-entry.ts';
import { listLines } from '../../session/lines/lines.ts';
import { listMainLines } from '../../session/lines/main-lines.ts';
import { readStarts } from '../../session/lines/session-starts.ts';
import { findUnlandedBase } from '../line/session-start.ts';
import { toOperationSteps } from '../line/refuse-operation.ts';
import { findLost, findOtherTargets } from '../../session/lines/landing.ts';
import { gitCommandFor } from '../line/switch.ts';
import { worldOf } from '../line/find-twin.ts';
import { listProposed } from '../line/proposed-memos.ts';
import {
  awaitsVerdict,
  findAsked,
  findPlanned,
  lastWord,
  readLine,
  readVerdicts,
  toText,
  type TurnStatus,
  type Verdict,
} from '../../view/view.ts';
import { isForWrites } from '../../write/write.ts';
import { hasPolicy, listWaiting, type WaitingPlan } from './inbox.ts';

export interface Status extends LineStatus {
  /** The branch or commit that HEAD is on, for display; null in a bare repository. */
  head: string | null;
  /** The session that a command without `-s` uses; null when there is none. */
  session: SessionId | null;
  line: string | null;
  /** How that line was found. */
  found: Line['found'] | null;
  /** The session's other branches with a plan that waits to be executed, newest first; empty when a plan waits on this line. */
  pendingOn: string[];
  /** The user's own edits to tracked files in this work tree. */
  edits: string[];
  /** The git operation in progress, such as a merge or a rebase. */
  operation: string | null;
  /** The IDs of write sessions that are neither over nor in progress. */
  leftoverWrites: string[];
  /** The number of memos proposed by agents. */
  proposedMemos: number;
  /** Other people's plans on other lines that wait for this user's approval, newest first. */
  waiting: WaitingPlan[];
  /** Commands to run next; the first one is the most likely. */
  next: string[];
}

interface LineStatus {
  /** Null when nobody has said anything yet. `isOfAgent` means that another agent made the plan and carries it out. */
  turn: { turn: TurnName; status: TurnStatus; hasMessage: boolean; isOfAgent: boolean } | null;
  /** A plan not yet executed. `problems` counts the reasons why teddy cannot execute it now. */
  plan: { title: string | null; actions: number; problems: number } | null;
  /** The question about the plan that still needs an answer. */
  question: string | null;
  /** Another agent's plan that still needs a verdict. */
  handedIn: { title: string } | null;
  /** The last verdict on the turn's plan. */
  verdict: Verdict | null;
  /** The outcome of the turn's run, unless it succeeded. */
  outcome: FailedOutcome | null;
  /** For example `1 of 2 actions was not run`, after a run that otherwise succeeded. */
  notRun: string | null;
  /** The session below this one in the stack, unless that session has landed. */
  startsOn: SessionId | null;
  /** True when a run of the plan was killed. */
  isInterrupted: boolean;
  /** The ID of the process that is running the plan. */
  executedBy: number | null;
  /** True when everything on the line has landed. */
  hasLanded: boolean;
  /**
   * The commits that landed the line on its base branch, if the branch no longer contains all of the code. `command`
   * restores the code.
   */
  lost: { branch: string; landed: Oid[]; command: string } | null;
  /**
   * The commit in which somebody committed another agent's work on the line; null when there is none, and for teddy's
   * own sessions.
   */
  committed: Oid | null;
  /**
   * The plan waits for an approval: by anybody, or by somebody other than `asker`. `isOwn` means that this user can give
   * it. Null when it needs none.
   */
  approval: { by: 'anybody' | 'others'; asker: string | null; isOwn: boolean } | null;
}

export interface FailedOutcome {
  status: Exclude<RunStatus, 'SUCCESS'>;
  /** The reason in words, unless an action failed. */
  error: string | null;
  /** The first failed action. `target` is its path or its command. */
  failed: { index: number; type: string; target: string; exitCode: number | null } | null;
  actions: number;
  problems: number;
  /** True when the run changed code that no undo has reverted. */
  canUndo: boolean;
  isUndone: boolean;
  isPartlyUndone: boolean;
}

export async function readStatus(project: Project): Promise<Status> {
  const { workspace } = project.repository;
  const head = (await workspace?.head()) ?? null;
  const line = await findStatusLine(project);
  const [state, files, leftoverWrites, proposed, waiting] = await Promise.all([
    line?.tip == null ? nothingYet : readLineStatus(project, { ...line, tip: line.tip }),
    readFiles(project),
    readLeftoverWrites(project),
    listProposed(project),
    listWaiting(project),
  ]);
  const [{ others, ...ofLine }, { isUnmerged, ...shown }] = [state, files];
  const status = {
    head: head === null ? null : head.ref === null ? `${head.oid?.slice(0, 12)} (detached)` : shortRef(head.ref),
    session: line?.session ?? null,
    line: line && lineName(line),
    found: line?.found ?? null,
    ...ofLine,
    pendingOn: others.map(lineName),
    ...shown,
    leftoverWrites,
    proposedMemos: proposed.length,
    waiting,
  };
  if (status.operation !== null) return { ...status, next: toOperationSteps(status.operation, isUnmerged) };
  // git refuses to switch branches or commit now, and itself explains how to resolve the conflicts.
  if (isUnmerged) return { ...status, next: ['git status'] };
  const next = line === null ? toStart(project, head) : toNext(project, { ...status, others }, line);
  const elsewhere = waiting.filter((one) => one.line !== status.line || line?.found !== 'head');
  const shows = elsewhere.slice(0, 1).map(({ show }) => show);
  return { ...status, waiting: elsewhere, next: [...(await next), ...shows] };
}

/** Finds the line without any notices, because `status` itself reports the line. */
async function findStatusLine(project: Project): Promise<Line | null> {
  const silent: Project = { ...project, notices: { info: () => undefined, warn: () => undefined } };
  try {
    return await findLine(silent);
  } catch (error) {
    if (error instanceof TeddyError && ['NO_OPEN_SESSION', 'UNKNOWN_SESSION'].includes(error.code)) return null;
    throw error;
  }
}

/** `others` are the lines that `pendingOn` names. */
type ReadLine = LineStatus & { others: Line[] };

/** The status of a line without a commit. */
const nothingYet: ReadLine = {
  turn: null,
  plan: null,
  question: null,
  handedIn: null,
  verdict: null,
  outcome: null,
  notRun: null,
  startsOn: null,
  isInterrupted: false,
  executedBy: null,
  hasLanded: false,
  lost: null,
  committed: null,
  approval: null,
  others: [],
};

async function readLineStatus(project: Project, line: Line & { tip: Oid }): Promise<ReadLine> {
  const state = await readLine(
    project.repository.store,
    line.tip,
    line.workspace ? { projectRoot: line.workspace.root } : {},
  );
  const { latest, entry } = state;
  const nearest = await findNearestEntry(project, line.tip);
  const planned = latest?.status === 'planned' ? latest : null;
  const parsed = planned?.parsed;
  const executedBy = planned && (await project.journals.holder({ ...line, turn: planned.turn }));
  const isOfLatest = (run: { ref: RefName; turn: TurnName }) => run.ref === line.ref && run.turn === latest?.turn;
  return {
    turn: latest && {
      turn: latest.turn,
      status: latest.status,
      hasMessage: userMessages(latest.records).length > 0,
      isOfAgent: hasAgentPlan(latest.records),
    },
    plan: parsed
      ? {
          title: parsed.plan.title,
          actions: parsed.plan.actions.length,
          problems: await countProblems(project, line, parsed),
        }
      : null,
    question: userMessages(findAsked(state)?.records ?? []).at(-1) ?? null,
    handedIn: awaitsVerdict(state) ? { title: findPlanTitle(toText(latest?.plan ?? null)).title } : null,
    verdict: planned && lastWord(await readVerdicts(project, { ...state, turn: planned.turn })),
    ...(latest?.report == null ? { outcome: null, notRun: null } : toOutcome(toText(latest.report), entry)),
    startsOn: nearest && (await readStartsOn(project, { ...nearest.entry, oid: line.tip })),
    isInterrupted: executedBy === null && (await project.journals.list()).some(isOfLatest),
    executedBy,
    hasLanded: nearest !== null && (await hasLandedAsItStands(project, { ...line, oid: line.tip, nearest })),
    lost: nearest && (await readLost(project, line.tip, nearest)),
    committed: await findCommit(project, { ...line, oid: line.tip }),
    others: planned === null ? await findPending(project, line) : [],
    approval: parsed && planned ? await readMissingApproval(project, line, planned.turn) : null,
  };
}

async function readMissingApproval(
  project: Project,
  line: { session: SessionId; tip: Oid },
  turn: TurnName,
): Promise<Status['approval']> {
  if (!(await hasPolicy(project))) return null;
  const { isNeeded, isOwnEnough, counted, asker, verdicts } = await readApproval(project, line, turn);
  if (!isNeeded || counted.length > 0) return null;
  const own = await readOwnEmail(project);
  const hasSpoken = verdicts.some(({ author }) => isSamePerson(own, author.email));
  const isOwn = isOwnEnough || (!isSamePerson(own, asker ?? undefined) && !hasSpoken);
  return { by: isOwnEnough ? 'anybody' : 'others', asker, isOwn };
}

async function findPending(project: Project, line: Line): Promise<Line[]> {
  const lines = (await listLines(project)).filter(({ session, remote }) => session === line.session && remote === null);
  const others = lines.filter(({ ref }) => ref !== line.ref);
  return Promise.all((await findPlanned(project, others)).map(({ ref }) => findLine(project, ref)));
}

async function readLost(project: Project, tip: Oid, nearest: NearestEntry): Promise<Status['lost']> {
  const { store } = project.repository;
  const start = await findBaseStart(project, nearest);
  if (start === null) return null;
  const { branch } = start;
  const ref = `refs/heads/${branch}` as RefName;
  const base = await store.resolve(ref);
  // A branch that has not moved since the session began cannot have lost any of the code.
  if (base === null || base === (await store.readCommit(start.oid)).parents[0]) return null;
  const lost = await findLost(store, { session: nearest.entry.session, tip }, base);
  if (lost === null) return null;
  const holder = (await project.repository.workTrees()).find((tree) => tree.ref === ref);
  return {
    branch,
    landed: lost.landed,
    command: `${gitCommandFor(project, ref, holder?.root ?? null)} ${lost.command}`,
  };
}

/** When the line is not checked out anywhere, there are no files to check the plan against. */
async function countProblems(project: Project, { workspace }: Line, plan: ParsedPlan): Promise<number> {
  if (workspace === null) return plan.problems.length;
  const { runVirtually } = await import('../../plan/validate.ts');
  return (await runVirtually(plan, worldOf(project, workspace))).problems.length;
}

function toOutcome(text: string, entry: Entry): Pick<Status, 'outcome' | 'notRun'> {
  const report = parseReport(text);
  const { status, error } = report.run_summary;
  if (status === 'SUCCESS') return { outcome: null, notRun: describeNotRun(report) };
  const failed = report.action_logs.find((log) => log.status === 'FAILURE');
  const undone = entry.turn === report.turn ? undoneExtent(entry) : null;
  const outcome = {
    status,
    error,
    failed: failed === undefined ? null : toFailed(failed),
    actions: report.action_logs.length,
    problems: report.validation_errors.length,
    canUndo: report.changes.length > 0 && undone !== 'whole',
    isUndone: undone === 'whole',
    isPartlyUndone: undone === 'part',
  };
  return { outcome, notRun: null };
}

function toFailed({ index, action_type: type, params, details }: ActionLog): FailedOutcome['failed'] {
  const [first = ''] = Object.values(params);
  const target = typeof first === 'object' ? '' : (String(first).split('\n')[0] ?? '');
  return { index, type, target, exitCode: details?.return_code ?? null };
}

async function readStartsOn(
  project: Project,
  line: { session: SessionId; oid: Oid; created: string },
): Promise<SessionId | null> {
  const start = (await readStarts(project, [line])).get(line.session);
  const base = start === undefined ? undefined : (await project.repository.store.readCommit(start.oid)).parents[0];
  return base === undefined ? null : findUnlandedBase(project, line.session, base);
}

async function readFiles({
  repository: { workspace },
}: Project): Promise<Pick<Status, 'edits' | 'operation'> & { isUnmerged: boolean }> {
  if (workspace === null) return { edits: [], operation: null, isUnmerged: false };
  const { ref } = await workspace.head();
  const [{ edits, unmerged }, operation] = await Promise.all([
    workspace.status({ untracked: false }),
    workspace.operationInProgress(ref),
  ]);
  const paths = [...unmerged, ...edits.map(({ path }) => path)].filter((path) => !isSessionPath(path));
  return { edits: [...new Set(paths)], operation, isUnmerged: unmerged.length > 0 };
}

async function readLeftoverWrites(project: Project): Promise<string[]> {
  if (await project.writes.isEmpty()) return [];
  const { listWrites } = await import('../writes/list.ts');
  return (await listWrites(project))
    .filter(({ stage }) => stage === 'orphaned' || stage === 'damaged')
    .map(({ id }) => id);
}

async function toStart(project: Project, head: Head | null): Promise<string[]> {
  // The branch that HEAD names is gone, so a session that began here would begin with nothing.
  if (head?.ref != null && head.oid === null && parseLineRef(head.ref) !== null) return ['teddy doctor'];
  const others = await listMainLines(project);
  return ['teddy new <name>', ...(others.length === 0 ? [] : ['teddy list'])];
}

async function toNext(
  project: Project,
  status: Omit<Status, 'next'> & { others: Line[] },
  line: Line,
): Promise<string[]> {
  const { turn, leftoverWrites } = status;
  if (line.found === 'detached') {
    const there = await findBranchAt(project, line);
    return [
      there === null ? `git switch -c ${await findFreeBranch(project, line.session)}` : await findWayTo(project, there),
    ];
  }
  const recover = leftoverWrites
    .slice(0, 1)
    .map((id) => (leftoverWrites.length > 1 ? `teddy write recover ${id}` : 'teddy write recover'));
  // The files written by the session are already in the work tree.
  if (line.found === 'open' && isForWrites(line.session))
    return [...recover, ...(turn?.status === 'open' ? ['teddy write ask'] : []), 'teddy new <name>'];
  // When HEAD is not on a line, the user has to switch to one first.
  if (line.found === 'open') return Promise.all([line, ...status.others].map((one) => findWayTo(project, one)));
  if (turn?.status === 'open' && turn.hasMessage && !turn.isOfAgent && !status.isInterrupted)
    return [...recover, 'teddy resume', 'teddy plan --from <file>'];
  return [...((await toPlanSteps(project, status)) ?? (await toTurnSteps(project, status, line))), ...recover];
}

/** Returns null when no plan waits for anything. */
async function toPlanSteps(project: Project, status: Omit<Status, 'next'>): Promise<string[] | null> {
  const { plan, approval } = status;
  if (status.executedBy !== null) return ['teddy show'];
  if (status.isInterrupted) return ['teddy execute', 'teddy show'];
  const asks = status.question === null ? ['teddy ask -m "..."'] : ['teddy ask', 'teddy ask --from <file>'];
  if (plan !== null && plan.problems > 0)
    return ['teddy plan --instead -m "what to do instead"', 'teddy execute --replan 2', ...asks, 'teddy show'];
  const isMine = plan === null ? status.handedIn !== null : approval?.by === 'others' && approval.isOwn;
  if (isMine) return ['teddy approve', 'teddy reject -m "what to do instead"', 'teddy show'];
  if (plan === null) return null;
  // Only somebody else can approve it, so it has to reach them, and their approval has to arrive here.
  const isForOthers = approval?.by === 'others' && (await hasRemote(project));
  return [isForOthers ? 'teddy sync' : 'teddy execute', ...asks, 'teddy show'];
}

async function toTurnSteps(
  project: Project,
  { turn, outcome, lost, committed, ...status }: Omit<Status, 'next'> & { others: Line[] },
  line: Line,
): Promise<string[]> {
  const hasLanded = status.hasLanded || committed !== null;
  if (outcome !== null && outcome.status !== 'SKIPPED' && !hasLanded)
    return ['teddy plan -m "what to do instead"', ...(outcome.canUndo ? ['teddy undo'] : []), 'teddy show'];
  const plans = 'teddy plan -m "what you want"';
  const beside = await Promise.all(status.others.map((one) => findWayTo(project, one)));
  if (lost !== null) return [lost.command, ...beside, plans];
  if (hasLanded) return [...(beside.length > 0 ? beside : [await toArchiveCommand(project, line)]), plans];
  const landing = turn === null || turn.status === 'open' ? [] : await toLanding(project, line);
  return [plans, ...beside, ...landing];
}

/** The session's base branch may be gone or unknown. */
async function toLandingSteps(
  project: Project,
  line: { ref: RefName; tip: Oid },
  nearest: NearestEntry,
): Promise<string[]> {
  const { store } = project.repository;
  const start = await findBaseStart(project, nearest);
  const base = start === null ? null : await store.resolve(`refs/heads/${start.branch}`);
  // The branch did not exist when the session began either, so the landing creates it.
  const isFirst = start !== null && (await store.readCommit(start.oid)).parents.length === 0;
  if (base !== null || isFirst) return ['teddy land'];
  const { remote, branches } = await findOtherTargets(project, line, start?.branch ?? null);
  if (start !== null && remote !== null) return [`git branch ${toShellWord(start.branch)} ${toShellWord(remote)}`];
  return branches.map((onto) => `teddy land --onto ${toShellWord(onto)}`);
}

/** When this line has nothing to land, another branch of the session may. */
async function toLanding(project: Project, { tip, session, ref }: Line): Promise<string[]> {
  const nearest = tip === null ? null : await findNearestEntry(project, tip);
  if (tip === null || nearest === null) return [];
  if (await hasCodeToLand(project, { oid: tip, nearest })) return toLandingSteps(project, { ref, tip }, nearest);
  const other = await findOtherWithCode(project, { session, ref });
  return other === null ? [] : [`teddy land -s ${toShellWord(shortRef(other.ref))}`];
}

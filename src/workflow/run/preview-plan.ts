/** Previews the effects of executing a line's pending plan, without changing anything or asking anybody. */
import { TeddyError } from '../../errors.ts';
import { renderUnifiedDiff } from '../../plan/match/diff.ts';
import { type Effect, joinWrites } from '../../plan/effects/effect.ts';
import type { Problem } from '../../plan/match/problem.ts';
import type { Action, ParsedPlan } from '../../plan/plan.ts';
import { comparePositions, runVirtually } from '../../plan/validate.ts';
import type { RunDirs, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { changeMemos, type MemoChange } from '../../session/global/memos.ts';
import { toShellWord } from '../../session/text/shell-word.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../../names.ts';
import { findHidden, selectActions, type Selection } from './select-actions.ts';
import { findLine, lineName, type Line } from '../line/find.ts';
import { readGlobal } from '../line/global-branch.ts';
import { refuseModified, requirePlan, requireWorkspace } from '../line/pending-plan.ts';
import { worldOf } from '../line/find-twin.ts';
import { readLine } from '../../view/view.ts';

export interface PreviewRequest extends Selection {
  selector?: string | undefined;
}

export interface PlanPreview {
  session: SessionId;
  /** The branch's short name. */
  line: string;
  turn: TurnName;
  title: string;
  /** The number of actions in the plan, chosen or not. */
  count: number;
  /** The chosen actions, in order. */
  actions: PreviewedAction[];
  memos: PreviewedMemo[];
  /** The files that would change, in the order of their first writes. */
  files: PreviewedFile[];
  /** In the order of the plan's text. If there is any problem, none of the plan would run. */
  problems: Problem[];
}

export interface PreviewedAction {
  action: Action;
  /** Null when the action cannot run. */
  effect: Effect | null;
}

/** `applies` is false when the memo to add already exists, or the memo to remove does not. */
export interface PreviewedMemo extends MemoChange {
  applies: boolean;
}

export interface PreviewedFile {
  path: RepoPath;
  change: 'added' | 'modified';
  /** The diff of all writes together. */
  diff: string;
}

/**
 * Previews the plan against the present files, including the user's edits; a command's changes are unknown. Throws
 * USAGE for a selection that the plan does not have, NO_PENDING_PLAN, NOT_ON_LINE and PLAN_MODIFIED.
 */
export async function previewPlan(project: Project, request: PreviewRequest): Promise<PlanPreview> {
  const line = await findLine(project, request.selector);
  const tip = requireLocal(line);
  const workspace = await requireWorkspace(project, line);
  const state = await readLine(project.repository.store, tip, { projectRoot: workspace.root });
  const turn = requirePlan({ ref: line.ref, state });
  const { parsed } = turn;
  await refuseModified(workspace, line.session, turn);
  await warnOfBegunRun(project, { session: line.session, turn: turn.turn, ref: line.ref });
  const chosen = selectActions(parsed, request);
  const { effects, problems } = await check(project, { tip, workspace }, chosen);
  const byAction = new Map(effects.map((effect) => [effect.action, effect]));
  return {
    session: line.session,
    line: lineName(line),
    turn: turn.turn,
    title: parsed.plan.title,
    count: parsed.plan.actions.length,
    actions: chosen.plan.actions.map((action) => ({ action, effect: byAction.get(action.index) ?? null })),
    memos: await previewMemos(project, parsed.plan.memos),
    files: joinWrites(effects).flatMap(toFile),
    problems,
  };
}

function requireLocal(line: Line): Oid {
  if (line.tip !== null) return line.tip;
  throw new TeddyError(
    'NO_PENDING_PLAN',
    `${lineName(line)} is only on a remote, so there are no files here to execute a plan on.`,
    `Create the branch: \`git switch -c ${toShellWord(lineName(line))} ${line.remoteTip?.slice(0, 12)}\`.`,
  );
}

/** Warns about a run that has begun. Cannot check here that its process is alive, because the check would claim the run. */
async function warnOfBegunRun({ journals, notices }: Project, place: RunDirs): Promise<void> {
  const left = await journals.find(place);
  const last = left?.begun.at(-1);
  if (last === undefined) return;
  const action = `action ${last.action} (${last.target})`;
  notices.warn(
    `A run of turn ${place.turn} has already reached ${action}; its changes are shown as if they were yours.`,
  );
}

async function check(
  project: Project,
  place: { tip: Oid; workspace: Workspace },
  chosen: ParsedPlan,
): Promise<{ effects: Effect[]; problems: Problem[] }> {
  const { effects, problems } = await runVirtually(chosen, worldOf(project, place.workspace));
  const hidden = await findHidden(project, place, chosen);
  return { effects, problems: [...problems, ...hidden].toSorted(comparePositions) };
}

async function previewMemos(project: Project, changes: MemoChange[]): Promise<PreviewedMemo[]> {
  if (changes.length === 0) return [];
  // A clone creates teddy/global from its remote as soon as a command writes.
  const { memos = '' } = (await readGlobal(project, { orRemote: true })) ?? {};
  const { added, removed } = changeMemos(memos, changes);
  return changes.map(({ kind, fact }) => {
    const changed = kind === 'add' ? added : removed;
    return { kind, fact, applies: changed.includes(fact.trim()) };
  });
}

function toFile({ path, before, after }: ReturnType<typeof joinWrites>[number]): PreviewedFile[] {
  const diff = renderUnifiedDiff(path, before, after);
  return diff === '' ? [] : [{ path, change: before === null ? 'added' : 'modified', diff }];
}

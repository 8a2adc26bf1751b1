/** Runs a plan's actions in order: ask, do, note what came of it. Nothing is committed here. */
import type { Action, Plan } from '../plan/plan.ts';
import type { ActionLog } from '../plan/report.ts';
import { toEffect } from '../plan/validate-action.ts';
import type { Project, Workspace } from '../ports.ts';
import type { SessionId } from '../session/names.ts';
import type { Approver, Decision } from './approver.ts';
import { maskDetails, maskString } from './mask-text.ts';
import { performAction } from './perform-action.ts';
import type { Run, Runner, RunSettings } from './run.ts';
import { toParams } from './report-params.ts';

export async function runActions(
  project: Project,
  { workspace, session }: { workspace: Workspace; session: SessionId },
  plan: Plan,
  approver: Approver,
  settings: RunSettings,
): Promise<Run> {
  const run: Run = { logs: [], changed: new Map(), strays: new Set(), outputs: [], pages: [], ended: 'done' };
  const { masker, pages } = project;
  const [files, shell] = [project.filesOf(workspace.root), project.shellOf(workspace.root)];
  const tools = { place: { project, workspace, session }, files, shell, masker, pages };
  const runner: Runner = { ...tools, approver, settings, run };
  let approvesAll = false;
  for (const action of plan.actions) {
    const step =
      run.ended === 'done' ? await runAction(project, runner, plan, action, approvesAll) : toSkipped(run.ended);
    if (step.decision === 'all') approvesAll = true;
    const log = {
      index: action.index,
      action_type: action.type,
      params: toParams(action),
      ...step.log,
      ...(step.log.details === undefined ? {} : { details: await maskDetails(masker, step.log.details) }),
    };
    run.logs.push(log);
    approver.done(log, plan.actions.length);
    if (run.ended === 'done') run.ended = toEnding(action, step, settings);
  }
  return run;
}

type Outcome = Pick<ActionLog, 'status' | 'approved_by' | 'duration_ms' | 'details'>;

interface Step {
  decision: Decision;
  log: Outcome;
}

const skipReasons = {
  failed: 'an earlier action failed',
  quit: 'the run was stopped before it',
  interrupted: 'the run was interrupted before it',
};

function toSkipped(ended: keyof typeof skipReasons): Step {
  return { decision: 'no', log: skipped(skipReasons[ended]) };
}

function skipped(reason: string): Outcome {
  return { status: 'SKIPPED', approved_by: 'none', details: { reason } };
}

function toEnding(action: Action, { decision, log }: Step, { signal }: RunSettings): Run['ended'] {
  if (decision === 'quit') return signal.aborted ? 'interrupted' : 'quit';
  if (log.status === 'ABORTED') return 'interrupted';
  const isAllowed = action.type === 'EXECUTE' && action.allowFailure;
  return log.status === 'FAILURE' && !isAllowed ? 'failed' : 'done';
}

async function runAction(
  project: Project,
  runner: Runner,
  plan: Plan,
  action: Action,
  approvesAll: boolean,
): Promise<Step> {
  const { approver, files, settings } = runner;
  // Looked at again: a command that ran before may have changed what the plan was checked against.
  const mask = (text: string) => maskString(project.masker, text);
  const outcome = await toEffect(action, { inspect: files.inspect, mask });
  if ('problems' in outcome) {
    const reason = outcome.problems.map(({ message }) => message).join('; ');
    return { decision: 'yes', log: { status: 'FAILURE', approved_by: 'none', details: { reason } } };
  }
  const { effect } = outcome;
  const decision = approvesAll ? 'yes' : await approver.action({ action, effect, count: plan.actions.length });
  if (settings.signal.aborted) return { decision: 'quit', log: skipped(skipReasons.interrupted) };
  if (decision === 'quit') return { decision, log: skipped(skipReasons.quit) };
  if (decision === 'no') return { decision, log: skipped('declined') };
  const started = project.clock.now().getTime();
  const performed = await performAction(runner, action, effect);
  const duration_ms = project.clock.now().getTime() - started;
  return { decision, log: { ...performed, approved_by: approver.by, duration_ms } };
}

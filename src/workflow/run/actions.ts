/** Runs a plan's actions in order: asks, performs, and notes the outcome. Commits nothing. */
import type { Action, Plan } from '../../plan/plan.ts';
import type { ActionLog } from '../../plan/report/report.ts';
import { withText, type Effect, type WriteEffect } from '../../plan/effects/effect.ts';
import type { Performed } from '../../plan/effects/action-details.ts';
import { perform, toEffect, toParams } from '../../plan/actions/actions.ts';
import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef, type RefName, type SessionId } from '../../names.ts';
import {
  newLog,
  skipped,
  type Approval,
  type Approver,
  type Run,
  type RunLog,
  type Runner,
  type RunSettings,
} from './run.ts';
import { maskDetails, maskString } from '../line/mask-text.ts';
import { equalBytes } from '../../session/text/bytes.ts';
import type { ActionWorld } from '../../plan/actions/world.ts';
import type { ProjectFiles } from '../../ports/disk.ts';
import { realPathOf } from '../../session/paths/out-of-reach.ts';
import { keepFile } from './keep-before.ts';
import { noteWrite } from './left-files.ts';
import { runScripts, toReason } from './scripts.ts';

interface ActionsContext {
  workspace: Workspace;
  ref: RefName;
  session: SessionId;
  log: RunLog;
  /** The run, perhaps begun by an earlier process; actions that it already contains are not repeated. */
  run: Run;
}

/** Runs the actions and adds each to `run`. */
export async function runActions(
  project: Project,
  { workspace, ref, session, log: runLog, run }: ActionsContext,
  plan: Plan,
  approver: Approver,
  settings: RunSettings,
): Promise<void> {
  const { masker, pages } = project;
  const [files, shell] = [project.filesOf(workspace.root), project.shellOf(workspace.root)];
  const tools = { place: { project, workspace, session }, ref, files, shell, masker, pages };
  const runner: Runner = { ...tools, approver, settings, run, log: runLog };
  let approvesAll = false;
  const known = new Set(run.logs.map(({ index }) => index));
  for (const action of plan.actions.filter(({ index }) => !known.has(index))) {
    const step = await runOrSkip(project, runner, plan, action, approvesAll);
    if (step.decision === 'all') approvesAll = true;
    const { details } = step.log;
    const log = newLog(action, {
      ...step.log,
      ...(details === undefined ? {} : { details: await maskDetails(masker, details) }),
    });
    run.logs.push(log);
    approver.done(log, plan.actions.length);
    if (run.ended === 'done') run.ended = toEnding(action, step, run, settings);
    await runLog.end(log, run);
  }
}

type Outcome = Pick<ActionLog, 'status' | 'approved_by' | 'duration_ms' | 'details'> &
  Partial<Pick<ActionLog, 'params' | 'modified_by_user'>>;

interface Step {
  decision: Approval['decision'];
  log: Outcome;
}

const notSelected = 'not selected';

const skipReasons = {
  failed: 'an earlier action failed',
  quit: 'the run was stopped before it',
  interrupted: 'the run was interrupted before it',
};

async function runOrSkip(...[project, runner, plan, action, approvesAll]: Parameters<typeof runAction>): Promise<Step> {
  if (!runner.settings.chosen.has(action.index)) return { decision: 'no', log: skipped(notSelected) };
  const { ended } = runner.run;
  if (ended !== 'done') return { decision: 'no', log: skipped(skipReasons[ended]) };
  return runAction(project, runner, plan, action, approvesAll);
}

/** Returns the log of an action that did not run because of how the run ended. */
export function toSkippedLog(action: Action, ended: Run['ended']): ActionLog {
  return newLog(action, skipped(skipReasons[ended === 'done' ? 'interrupted' : ended]));
}

export function toUnselectedLog(action: Action): ActionLog {
  return newLog(action, skipped(notSelected));
}

/** Returns true if there is anything to report. */
export function hasRun({ logs }: Run): boolean {
  return logs.some(({ status, duration_ms }) => status !== 'SKIPPED' || duration_ms !== undefined);
}

function toEnding(action: Action, { decision, log }: Step, run: Run, { signal }: RunSettings): Run['ended'] {
  if (decision === 'quit') return signal.aborted ? 'interrupted' : 'quit';
  if (decision === 'end') return hasRun(run) && !run.isOffLine ? 'quit' : 'interrupted';
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
  if (runner.run.isOffLine) return endOffLine(runner);
  // Checks again, because an earlier command may have changed the files that the plan was checked against.
  const mask = (text: string) => maskString(project.masker, text);
  const outcome = await toEffect(action, { inspect: files.inspect, mask });
  if ('problems' in outcome) {
    const reason = outcome.problems.map(({ message }) => message).join('; ');
    return { decision: 'yes', log: { status: 'FAILURE', approved_by: 'none', details: { reason } } };
  }
  const { effect } = outcome;
  const { decision, edited, declines, comment }: Approval = approvesAll
    ? { decision: 'yes' }
    : await approver.action({ action, effect, count: plan.actions.length, isLast: isLast(plan, action, settings) });
  if (settings.signal.aborted || decision === 'end') return endUnanswered(runner);
  if (decision === 'quit') return { decision, log: skipped(declines ? 'declined' : skipReasons.quit, comment) };
  if (decision !== 'yes' && decision !== 'all') return { decision, log: skipped('declined', comment) };
  // Time has passed since teddy saw HEAD on the line, because it asked the user. teddy also checks HEAD after a command
  // and after web requests.
  if (!approvesAll && approver.by === 'user' && (await hasLeft(runner))) return endOffLine(runner);
  const started = project.clock.now().getTime();
  const wanted =
    edited === undefined
      ? { action, effect }
      : {
          action: action.type === 'EXECUTE' ? { ...action, script: edited } : action,
          effect: withText(effect, edited),
        };
  const performed = await approver.during({ action, count: plan.actions.length }, () =>
    performOnDisk(runner, wanted.action, wanted.effect),
  );
  if (performed.status === 'SKIPPED') return endUnanswered(runner);
  if (effect.kind === 'fetch' || effect.kind === 'ask') await hasLeft(runner);
  const duration_ms = project.clock.now().getTime() - started;
  const modified =
    edited === undefined ? {} : { modified_by_user: true, params: await reportEdited(wanted.action, mask) };
  return { decision, log: { ...performed, ...modified, approved_by: approver.by, duration_ms } };
}

/** Performs the action. A full disk or a missing permission is an outcome for the report; only a defect is thrown. */
async function performOnDisk(runner: Runner, action: Action, effect: Effect): Promise<Performed> {
  try {
    return await perform(action, effect, openDiskWorld(runner, action));
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    if (error.code === 'INTERRUPTED' && effect.kind === 'ask') return { status: 'SKIPPED' };
    if (error.code === 'INTERRUPTED') return { status: 'ABORTED', details: { reason: 'interrupted' } };
    return { status: 'FAILURE', details: { reason: `${error.message} [${error.code}]` } };
  }
}

/** Ends the run when the user has left and nobody can answer anymore. */
function endUnanswered({ run, settings: { signal } }: Runner): Step {
  if (signal.aborted) return { decision: 'quit', log: skipped(skipReasons.interrupted) };
  return { decision: 'end', log: skipped(hasRun(run) ? skipReasons.quit : skipReasons.interrupted) };
}

async function hasLeft({ place: { workspace }, ref, run }: Runner): Promise<boolean> {
  run.isOffLine = !(await workspace.isOn(ref));
  return run.isOffLine;
}

/** Ends the run because the work tree now belongs to another branch. */
function endOffLine({ ref }: Runner): Step {
  return { decision: 'end', log: skipped(`HEAD has left ${shortRef(ref)}`) };
}

function isLast({ actions }: Plan, { index }: Action, { chosen }: RunSettings): boolean {
  return !actions.some((other) => other.index > index && chosen.has(other.index));
}

/** Returns the parameters for the report. Unlike the plan's script, the user's script is not masked yet. */
async function reportEdited(action: Action, mask: (text: string) => Promise<string>): Promise<ActionLog['params']> {
  const params = toParams(action);
  return typeof params.command === 'string' ? { ...params, command: await mask(params.command) } : params;
}

/** The work tree in which a run's actions work. Records their changes in the run, and beforehand in its journal. */
function openDiskWorld(runner: Runner, action: Action): ActionWorld {
  const { pages, masker, settings, run, log, approver, place } = runner;
  return {
    begin: () => log.begin(action, { kind: 'none' }),
    write: (effect) => write(runner, action, effect),
    async run(work) {
      const { value, restored, failure } = await runScripts(runner, action, (start) =>
        work((script, { timeoutMs, ...options }) =>
          start(script, { ...options, timeoutMs: timeoutMs ?? settings.timeoutMs }),
        ),
      );
      return { value, restored, failure: failure === null ? null : toReason(failure) };
    },
    ask: (text) => approver.answer(text),
    async fetch(url) {
      const page = await pages.fetch(url, settings.signal);
      // A redirect may carry a token in its query.
      const [text, finalUrl] = await Promise.all([masker.mask(page.text), masker.mask(page.url)]);
      run.pages.push({ action: action.index, text: text.text });
      const isRedirected = page.url !== url;
      const file = `pages/${action.index}.txt`;
      return {
        url: isRedirected ? finalUrl.text : url,
        text: text.text,
        contentType: page.contentType,
        masked: text.count,
        file,
      };
    },
    searchCommand: () => place.project.settings.get('searchCommand'),
    keepOutput(text) {
      run.outputs.push({ action: action.index, text });
      return `output/${action.index}.log`;
    },
  };
}

async function write(runner: Runner, action: Action, effect: WriteEffect): Promise<Performed> {
  const { files, run, log, place } = runner;
  const path = realPathOf(effect.path, await files.inspect(effect.path));
  const sha256 = place.project.hash(effect.after);
  await log.begin(action, await keepFile(files, log.journal, path, sha256));
  if (!(await isUnchanged(files, action, effect))) {
    const reason = `${effect.path} was changed while teddy was asking for approval; nothing was written`;
    return { status: 'FAILURE', details: { reason } };
  }
  // Record the change beforehand, because an install that fails in its last step has still changed the file.
  run.changed.set(path, effect.action);
  run.left.set(path, `sha256:${sha256}`);
  run.files.set(effect.action, null);
  await files.install(effect.path, effect.after);
  run.files.set(effect.action, [await noteWrite(place.project.repository.store, path, effect)]);
  return { status: 'SUCCESS' };
}

/**
 * Returns true if the file still has the content shown to the user. Somebody may have edited it meanwhile, and teddy
 * may write only the changes that the user has seen.
 */
async function isUnchanged(files: ProjectFiles, action: Action, shown: WriteEffect): Promise<boolean> {
  const outcome = await toEffect(action, { inspect: files.inspect });
  return 'effect' in outcome && outcome.effect.kind === 'write' && equalBytes(outcome.effect.before, shown.before);
}

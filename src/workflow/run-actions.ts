/** Runs a plan's actions in order: ask, do, note what came of it. Nothing is committed here. */
import { TeddyError } from '../errors.ts';
import type { Action, ExecuteAction, Plan } from '../plan/plan.ts';
import type { ActionDetails, ActionLog } from '../plan/report.ts';
import { toEffect, type Effect } from '../plan/validate-action.ts';
import type { CommandResult, Project, ProjectFiles, Scan, Shell, Workspace } from '../ports.ts';
import type { RepoPath } from '../session/names.ts';
import { toParams } from './report-params.ts';

export type Decision = 'yes' | 'no' | 'all' | 'quit';

/** Whoever says yes or no: a person at a terminal, or a flag. */
export interface Approver {
  /** `flag` when -y has decided for all. */
  readonly by: 'user' | 'flag';
  action(asked: { action: Action; effect: Effect; count: number }): Promise<Decision>;
  /** The answer to CHAT_WITH_USER or PROMPT; null without somebody to ask. */
  answer(text: string): Promise<string | null>;
  /** Live output of a command. */
  output(stream: 'stdout' | 'stderr', text: string): void;
  /** After each action. */
  done(log: ActionLog, count: number): void;
}

export interface Run {
  logs: ActionLog[];
  /** Path -> the index of the last action that changed it. */
  changed: Map<RepoPath, number>;
  /** Whole outputs that are too long for the report, by action. */
  outputs: { action: number; text: string }[];
  ended: 'done' | 'failed' | 'quit' | 'interrupted';
}

export interface RunSettings {
  timeoutMs: number;
  signal: AbortSignal;
}

/** How many of the last lines of a stream the report shows. */
const shownLines = 100;

export async function runActions(
  project: Project,
  workspace: Workspace,
  plan: Plan,
  approver: Approver,
  settings: RunSettings,
): Promise<Run> {
  const run: Run = { logs: [], changed: new Map(), outputs: [], ended: 'done' };
  const tools = { workspace, files: project.filesOf(workspace.root), shell: project.shellOf(workspace.root) };
  let approvesAll = false;
  for (const action of plan.actions) {
    const base = { index: action.index, action_type: action.type, params: toParams(action) };
    if (run.ended !== 'done') {
      note(run, approver, plan, {
        ...base,
        status: 'SKIPPED',
        approved_by: 'none',
        details: { reason: skipReasons[run.ended] },
      });
      continue;
    }
    const started = project.clock.now().getTime();
    const step = await runAction(tools, action, approver, approvesAll, plan.actions.length, settings, run);
    if (step.decision === 'all') approvesAll = true;
    const { log } = step;
    const duration = step.ran ? { duration_ms: project.clock.now().getTime() - started } : {};
    note(run, approver, plan, { ...base, ...log, ...duration });
    if (step.decision === 'quit') run.ended = settings.signal.aborted ? 'interrupted' : 'quit';
    else if (log.status === 'ABORTED') run.ended = 'interrupted';
    else if (log.status === 'FAILURE' && !(action.type === 'EXECUTE' && action.allowFailure)) run.ended = 'failed';
  }
  return run;
}

const skipReasons = {
  failed: 'an earlier action failed',
  quit: 'the run was stopped before it',
  interrupted: 'the run was interrupted before it',
};

function note(run: Run, approver: Approver, plan: Plan, log: ActionLog): void {
  run.logs.push(log);
  approver.done(log, plan.actions.length);
}

interface Tools {
  workspace: Workspace;
  files: ProjectFiles;
  shell: Shell;
}

type Outcome = Pick<ActionLog, 'status' | 'approved_by' | 'details'>;

interface Step {
  decision: Decision;
  ran: boolean;
  log: Outcome;
}

async function runAction(
  tools: Tools,
  action: Action,
  approver: Approver,
  approvesAll: boolean,
  count: number,
  settings: RunSettings,
  run: Run,
): Promise<Step> {
  // Looked at again: a command that ran before may have changed what the plan was checked against.
  const outcome = await toEffect(action, tools.files.inspect);
  if ('problems' in outcome) {
    const reason = outcome.problems.map(({ message }) => message).join('; ');
    return { decision: 'yes', ran: false, log: { status: 'FAILURE', approved_by: 'none', details: { reason } } };
  }
  const decision = approvesAll ? 'yes' : await approver.action({ action, effect: outcome.effect, count });
  if (settings.signal.aborted)
    return { decision: 'quit', ran: false, log: skipped('the run was interrupted before it') };
  if (decision === 'no') return { decision, ran: false, log: skipped('declined') };
  if (decision === 'quit') return { decision, ran: false, log: skipped('the run was stopped before it') };
  const log = await perform(tools, action, outcome.effect, approver, settings, run);
  return { decision, ran: true, log: { ...log, approved_by: approver.by } };
}

function skipped(reason: string): Outcome {
  return { status: 'SKIPPED', approved_by: 'none', details: { reason } };
}

async function perform(
  tools: Tools,
  action: Action,
  effect: Effect,
  approver: Approver,
  settings: RunSettings,
  run: Run,
): Promise<Pick<ActionLog, 'status' | 'details'>> {
  try {
    if (effect.kind === 'write') return await performWrite(tools, effect, run);
    if (effect.kind === 'command' && action.type === 'EXECUTE')
      return await performCommand(tools, action, approver, settings, run);
    if (effect.kind !== 'ask') return { status: 'SUCCESS' };
    const answer = await approver.answer(effect.text);
    return { status: 'SUCCESS', ...(answer === null ? {} : { details: { answer } }) };
  } catch (error) {
    // A full disk or a missing permission is an outcome of this action; the report has to say it.
    if (!(error instanceof TeddyError)) throw error;
    return { status: 'FAILURE', details: { reason: `${error.message} [${error.code}]` } };
  }
}

async function performWrite(
  { files }: Tools,
  effect: Extract<Effect, { kind: 'write' }>,
  run: Run,
): Promise<Pick<ActionLog, 'status' | 'details'>> {
  // Noted before: an install that fails in its last step has changed the file all the same.
  run.changed.set(effect.path, effect.action);
  await files.install(effect.path, effect.after);
  const [first] = effect.matches;
  if (!first) return { status: 'SUCCESS' };
  const matches =
    effect.matches.length > 1
      ? { matches: effect.matches.map(({ pair, kind, line }) => ({ pair, match: kind, line })) }
      : {};
  return { status: 'SUCCESS', details: { match: first.kind, line: first.line, ...matches } };
}

async function performCommand(
  { workspace, shell }: Tools,
  action: ExecuteAction,
  approver: Approver,
  settings: RunSettings,
  run: Run,
): Promise<Pick<ActionLog, 'status' | 'details'>> {
  const before = await workspace.scan();
  const result = await shell.run(action.script, {
    cwd: action.cwd,
    env: action.env,
    timeoutMs: action.timeoutMs ?? settings.timeoutMs,
    signal: settings.signal,
    onOutput: (stream, text) => approver.output(stream, text),
  });
  for (const path of findChanged(before, await workspace.scan())) run.changed.set(path, action.index);
  const status = result.aborted ? 'ABORTED' : result.exitCode === 0 ? 'SUCCESS' : 'FAILURE';
  return { status, details: toCommandDetails(action, result, run) };
}

/** Paths whose difference from HEAD is not what it was before the command. */
function findChanged(before: Scan, after: Scan): RepoPath[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path));
}

function toCommandDetails(action: ExecuteAction, result: CommandResult, run: Run): ActionDetails {
  const lines = action.tail ?? shownLines;
  const stdout = takeLast(result.stdout, lines);
  const stderr = takeLast(result.stderr, lines);
  const isCut = stdout !== result.stdout || stderr !== result.stderr;
  if (isCut) run.outputs.push({ action: action.index, text: renderOutput(result) });
  return {
    return_code: result.exitCode,
    ...(result.failedCommand === null ? {} : { failed_command: result.failedCommand }),
    ...(result.failedLine === null ? {} : { failed_line: result.failedLine }),
    stdout,
    stderr,
    timed_out: result.timedOut,
    ...(result.truncated ? { truncated: true } : {}),
    ...(isCut ? { output_file: `output/${action.index}.log` } : {}),
    ...(result.aborted ? { reason: 'interrupted' } : {}),
  };
}

function takeLast(text: string, count: number): string {
  const lines = text.split('\n');
  const kept = text.endsWith('\n') ? count + 1 : count;
  return lines.length <= kept ? text : lines.slice(-kept).join('\n');
}

function renderOutput({ stdout, stderr }: CommandResult): string {
  const end = (text: string) => (text === '' || text.endsWith('\n') ? text : `${text}\n`);
  return `--- stdout\n${end(stdout)}--- stderr\n${end(stderr)}`;
}

/** One approved action: what it changes, and what came of it. */
import { TeddyError } from '../errors.ts';
import type { Action, ExecuteAction } from '../plan/plan.ts';
import type { ActionDetails } from '../plan/report.ts';
import type { Effect } from '../plan/effect.ts';
import { toEffect } from '../plan/validate-action.ts';
import type { CommandResult, Masker, ProjectFiles } from '../ports.ts';
import { isSessionPath } from '../session/global-files.ts';
import { fetchPage } from './fetch-page.ts';
import {
  equalBytes,
  keepSessionFiles,
  listChanged,
  restoreSessionFiles,
  type KeptFiles,
  type RestoredFiles,
} from './guard-session-files.ts';
import { maskString } from './mask-text.ts';
import { maskedOutput, type MaskedOutput } from './masked-output.ts';
import type { Performed, Run, Runner } from './run.ts';

type WriteEffect = Extract<Effect, { kind: 'write' }>;

/** How many of the last lines of a stream the report shows. */
const shownLines = 100;

/** Does what was approved. A failure is an outcome; only a defect is thrown. */
export async function performAction(runner: Runner, action: Action, effect: Effect): Promise<Performed> {
  try {
    if (effect.kind === 'write') return await performWrite(runner, action, effect);
    if (effect.kind === 'command' && action.type === 'EXECUTE') return await performCommand(runner, action);
    if (effect.kind === 'fetch' && action.type === 'READ') return await fetchPage(runner, action, effect);
    if (effect.kind !== 'ask') return { status: 'SUCCESS' };
    const answer = await runner.approver.answer(effect.text);
    return { status: 'SUCCESS', ...(answer === null ? {} : { details: { answer } }) };
  } catch (error) {
    // A full disk or a missing permission is an outcome of this action; the report has to say it.
    if (!(error instanceof TeddyError)) throw error;
    if (error.code === 'INTERRUPTED') return { status: 'ABORTED', details: { reason: 'interrupted' } };
    return { status: 'FAILURE', details: { reason: `${error.message} [${error.code}]` } };
  }
}

async function performWrite({ files, run }: Runner, action: Action, effect: WriteEffect): Promise<Performed> {
  if (!(await isAsShown(files, action, effect))) {
    const reason = `${effect.path} was changed while the approval was asked for; nothing was written`;
    return { status: 'FAILURE', details: { reason } };
  }
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

/** Somebody may have edited the file in the meantime: what they see on the screen is what is written, or nothing. */
async function isAsShown(files: ProjectFiles, action: Action, shown: WriteEffect): Promise<boolean> {
  const outcome = await toEffect(action, { inspect: files.inspect });
  return 'effect' in outcome && outcome.effect.kind === 'write' && isSame(outcome.effect.before, shown.before);
}

function isSame(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : equalBytes(a, b);
}

async function performCommand(runner: Runner, action: ExecuteAction): Promise<Performed> {
  const { place, masker, approver, run } = runner;
  const kept = await keepSessionFiles(place);
  const output = maskedOutput(masker, (stream, text) => approver.output(stream, text));
  const [ran] = await Promise.allSettled([runScript(runner, action, output)]);
  // Before anything else can fail: what the command changed belongs into the report, or back.
  const { restored, failure } = await takeStock(runner, action, kept);
  if (ran.status === 'rejected') throw ran.reason;
  await output.end();
  const result = await maskResult(masker, ran.value);
  const details = toCommandDetails(action, result, run);
  if (failure !== null) return { status: 'FAILURE', details: { ...details, reason: toReason(failure) } };
  const status = result.aborted ? 'ABORTED' : result.exitCode === 0 ? 'SUCCESS' : 'FAILURE';
  return { status, details: { ...details, ...(restored.length === 0 ? {} : { restored }) } };
}

function runScript({ shell, settings }: Runner, action: ExecuteAction, output: MaskedOutput): Promise<CommandResult> {
  return shell.run(action.script, {
    cwd: action.cwd,
    env: action.env,
    timeoutMs: action.timeoutMs ?? settings.timeoutMs,
    signal: settings.signal,
    onOutput: output.add,
  });
}

async function takeStock({ place, run }: Runner, action: ExecuteAction, kept: KeptFiles): Promise<RestoredFiles> {
  const after = await place.workspace.scan();
  for (const path of listChanged(kept.scan, after)) if (!isSessionPath(path)) run.changed.set(path, action.index);
  const files = await restoreSessionFiles(place, kept, after, `Action ${action.index}`);
  for (const path of files.strays) run.strays.add(path);
  return files;
}

function toReason(failure: string): string {
  return `the command changed files of .teddy/, and that could not be taken back: ${failure}`;
}

/** As a whole: of an output that is cut first, a piece of a secret might stay. */
async function maskResult(masker: Masker, result: CommandResult): Promise<CommandResult> {
  const [stdout, stderr] = await Promise.all([result.stdout, result.stderr].map((text) => maskString(masker, text)));
  return { ...result, stdout: stdout ?? '', stderr: stderr ?? '' };
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

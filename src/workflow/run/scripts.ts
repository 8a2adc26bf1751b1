/** Runs an action's scripts, shows their output masked, and attributes their changes to the action. */
import type { Action } from '../../plan/plan.ts';
import type { Before, KeptState } from '../../plan/report/journal.ts';
import type { KeptFiles, Shell } from '../../ports/disk.ts';
import type { CommandResult } from '../../ports/files.ts';
import type { Scan } from '../../ports/git.ts';
import type { RepoPath } from '../../names.ts';
import { isInState } from '../line/edited-code.ts';
import { keepSessionFiles, compareAfterCommand, type RestoredFiles } from '../line/guard-session-files.ts';
import { isUntracked, keepEdits } from './keep-before.ts';
import { noteFiles } from './left-files.ts';
import { maskResult, showMasked } from '../line/masked-output.ts';
import type { Approver, Runner } from './run.ts';

type Start = (
  script: string,
  options: Pick<Parameters<Shell['run']>[1], 'cwd' | 'env' | 'timeoutMs'>,
) => Promise<CommandResult>;

/** Runs `work`, which starts the scripts one after the other; masks their results. */
export async function runScripts<T>(
  runner: Runner,
  action: Action,
  work: (start: Start) => Promise<T>,
): Promise<RestoredFiles & { value: T }> {
  const { place, files, log } = runner;
  const kept = await keepSessionFiles(place);
  const before = await keepEdits(place.workspace, files, log, kept);
  await log.begin(action, before);
  const [worked] = await Promise.allSettled([work((script, options) => runScript(runner, script, options))]);
  // Attributes changes before anything else can fail, because the command's changes must be reported or reverted.
  const restored = await attribute(runner, action.index, kept, before).catch((error: unknown) => {
    runner.run.unseen.add(action.index);
    runner.run.files.set(action.index, null);
    throw error;
  });
  if (worked.status === 'rejected') throw worked.reason;
  return { ...restored, value: worked.value };
}

/** Describes, for a report, how a script failed to leave `.teddy/` unchanged. */
export function toReason(failure: string): string {
  return `the command changed files in .teddy/, and the change could not be reverted: ${failure}`;
}

async function runScript(
  { shell, settings, masker, approver, log }: Runner,
  ...[script, options]: Parameters<Start>
): Promise<CommandResult> {
  const given = { ...options, signal: settings.signal, onStart: log.started };
  const show: Approver['output'] = (stream, text) => approver.output(stream, text);
  return maskResult(masker, await showMasked(masker, show, (onOutput) => shell.run(script, { ...given, onOutput })));
}

type Command = Extract<Before, { kind: 'command' }>;

async function attribute(runner: Runner, index: number, kept: KeptFiles, before: Command): Promise<RestoredFiles> {
  const { place, run } = runner;
  const after = await compareAfterCommand(place, kept, `Action ${index}`);
  run.isOffLine = after.head.ref !== runner.ref;
  const states = new Map(before.kept);
  const changed: RepoPath[] = [];
  for (const path of after.changed) {
    const isOnlyTouched = await isAsBefore(runner, path, states.get(path), { before: kept.scan, after: after.scan });
    if (!isOnlyTouched) {
      run.changed.set(path, index);
      changed.push(path);
    }
    if (run.changed.has(path)) run.left.set(path, after.scan.get(path) ?? null);
  }
  if (changed.length > 0) run.files.set(index, await noteFiles(runner, changed));
  for (const path of after.strays) run.strays.add(path);
  return after;
}

/**
 * Returns true if the script only rewrote the file, with the same bytes and mode, and with the same tracking; in that
 * case the change keeps its owner.
 */
async function isAsBefore(
  { files, log }: Runner,
  path: RepoPath,
  state: KeptState | undefined,
  scans: { before: Scan; after: Scan },
): Promise<boolean> {
  const [before, after] = [scans.before.get(path), scans.after.get(path)];
  if (state === undefined || before === undefined || after === undefined) return false;
  if (isUntracked(before) !== isUntracked(after)) return false;
  const wanted = state.kind === 'file' ? { ...state, bytes: await log.journal.read(state.key) } : state;
  return isInState(await files.readState(path), wanted);
}

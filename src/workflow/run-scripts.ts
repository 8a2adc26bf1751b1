/** Runs an action's scripts: output shown and masked, and what they changed attributed to the action. */
import type { Action } from '../plan/plan.ts';
import type { CommandResult, Masker, Shell } from '../ports.ts';
import { isSessionPath } from '../session/global-files.ts';
import {
  keepSessionFiles,
  listChanged,
  restoreSessionFiles,
  type KeptFiles,
  type RestoredFiles,
} from './guard-session-files.ts';
import { keepEdits } from './keep-before.ts';
import { maskString } from './mask-text.ts';
import { maskedOutput } from './masked-output.ts';
import type { Runner } from './run.ts';

type Start = (
  script: string,
  options: Pick<Parameters<Shell['run']>[1], 'cwd' | 'env' | 'timeoutMs'>,
) => Promise<CommandResult>;

/** `work` starts the scripts, one after the other; their results are masked. */
export async function runScripts<T>(
  runner: Runner,
  action: Action,
  work: (start: Start) => Promise<T>,
): Promise<RestoredFiles & { value: T }> {
  const { place, files, log } = runner;
  const kept = await keepSessionFiles(place);
  await log.begin(action, await keepEdits(place.workspace, files, log.journal, kept));
  const [worked] = await Promise.allSettled([work((script, options) => runScript(runner, script, options))]);
  // Before anything else can fail: what the command changed belongs into the report, or back.
  const restored = await takeStock(runner, action.index, kept);
  if (worked.status === 'rejected') throw worked.reason;
  return { ...restored, value: worked.value };
}

/** A script's `failure` to leave `.teddy/` alone, as a report says it. */
export function toReason(failure: string): string {
  return `the command changed files of .teddy/, and that could not be taken back: ${failure}`;
}

async function runScript(
  { shell, settings, masker, approver, log }: Runner,
  ...[script, options]: Parameters<Start>
): Promise<CommandResult> {
  const output = maskedOutput(masker, (stream, text) => approver.output(stream, text));
  const { signal } = settings;
  const result = await shell.run(script, { ...options, signal, onStart: log.started, onOutput: output.add });
  await output.end();
  return maskResult(masker, result);
}

async function takeStock({ place, run }: Runner, index: number, kept: KeptFiles): Promise<RestoredFiles> {
  const after = await place.workspace.scan();
  for (const path of listChanged(kept.scan, after)) {
    if (isSessionPath(path)) continue;
    run.changed.set(path, index);
    run.left.set(path, after.get(path) ?? null);
  }
  const files = await restoreSessionFiles(place, kept, after, `Action ${index}`);
  for (const path of files.strays) run.strays.add(path);
  return files;
}

/** As a whole: of an output that is cut first, a piece of a secret might stay. */
async function maskResult(masker: Masker, result: CommandResult): Promise<CommandResult> {
  const [stdout, stderr] = await Promise.all([result.stdout, result.stderr].map((text) => maskString(masker, text)));
  return { ...result, stdout: stdout ?? '', stderr: stderr ?? '' };
}

/** Runs an action's scripts: output shown and masked, and what they changed attributed to the action. */
import type { CommandResult, Masker, Shell } from '../ports.ts';
import { isSessionPath } from '../session/global-files.ts';
import {
  keepSessionFiles,
  listChanged,
  restoreSessionFiles,
  type KeptFiles,
  type RestoredFiles,
} from './guard-session-files.ts';
import { maskString } from './mask-text.ts';
import { maskedOutput } from './masked-output.ts';
import type { Runner } from './run.ts';

type Start = (
  script: string,
  options: Pick<Parameters<Shell['run']>[1], 'cwd' | 'env' | 'timeoutMs'>,
) => Promise<CommandResult>;

/** `work` starts the scripts, one after the other; their results are masked. `index` is the action's. */
export async function runScripts<T>(
  runner: Runner,
  index: number,
  work: (start: Start) => Promise<T>,
): Promise<RestoredFiles & { value: T }> {
  const kept = await keepSessionFiles(runner.place);
  const [worked] = await Promise.allSettled([work((script, options) => runScript(runner, script, options))]);
  // Before anything else can fail: what the command changed belongs into the report, or back.
  const files = await takeStock(runner, index, kept);
  if (worked.status === 'rejected') throw worked.reason;
  return { ...files, value: worked.value };
}

/** A script's `failure` to leave `.teddy/` alone, as a report says it. */
export function toReason(failure: string): string {
  return `the command changed files of .teddy/, and that could not be taken back: ${failure}`;
}

async function runScript(
  { shell, settings, masker, approver }: Runner,
  ...[script, options]: Parameters<Start>
): Promise<CommandResult> {
  const output = maskedOutput(masker, (stream, text) => approver.output(stream, text));
  const result = await shell.run(script, { ...options, signal: settings.signal, onOutput: output.add });
  await output.end();
  return maskResult(masker, result);
}

async function takeStock({ place, run }: Runner, index: number, kept: KeptFiles): Promise<RestoredFiles> {
  const after = await place.workspace.scan();
  for (const path of listChanged(kept.scan, after)) if (!isSessionPath(path)) run.changed.set(path, index);
  const files = await restoreSessionFiles(place, kept, after, `Action ${index}`);
  for (const path of files.strays) run.strays.add(path);
  return files;
}

/** As a whole: of an output that is cut first, a piece of a secret might stay. */
async function maskResult(masker: Masker, result: CommandResult): Promise<CommandResult> {
  const [stdout, stderr] = await Promise.all([result.stdout, result.stderr].map((text) => maskString(masker, text)));
  return { ...result, stdout: stdout ?? '', stderr: stderr ?? '' };
}

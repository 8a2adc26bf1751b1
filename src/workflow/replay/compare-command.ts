/** One command, as it is recorded and as it went when it was run again. */
import { renderUnifiedDiff } from '../../plan/diff.ts';
import type { ExecuteAction } from '../../plan/plan.ts';
import type { ActionDetails } from '../../plan/report.ts';
import type { CommandResult } from '../../ports/disk.ts';
import { shownLines, takeLast } from '../../plan/cut-output.ts';
import { cutDiff } from './cut-diff.ts';
import { isSameOutput, normaliseOutput } from './output.ts';

interface CommandDifference {
  message: string;
  diff: string | null;
  /** Null: it is about the command as a whole. */
  stream: 'stdout' | 'stderr' | null;
}

/** `replayed` is masked, as the record is; `root`: where it was run. */
export function compareCommand(
  action: ExecuteAction,
  recorded: ActionDetails,
  replayed: CommandResult,
  root: string,
): CommandDifference[] {
  const found: CommandDifference[] = [];
  const [told, now] = [recorded.return_code, replayed.exitCode];
  if (told !== now)
    found.push({ message: `The exit code was ${told ?? '(none)'}, and is ${now}.`, diff: null, stream: null });
  for (const stream of ['stdout', 'stderr'] as const) {
    const before = recorded[stream] ?? '';
    const after = takeLast(replayed[stream], action.tail ?? shownLines);
    if (isSameOutput(before, after, root)) continue;
    const [from, to] = [before, after].map((text) => new TextEncoder().encode(normaliseOutput(text)));
    const diff = from && to ? cutDiff(renderUnifiedDiff(stream, from, to)) : null;
    found.push({ message: `Its ${stream} is another one.`, diff, stream });
  }
  return found;
}

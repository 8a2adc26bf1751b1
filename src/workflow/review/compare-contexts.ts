/** Which files two turns were shown, and which of them read otherwise. */
import { TeddyError } from '../../errors.ts';

export interface ContextComparison {
  /** `log`: what stands in `_context.log`; `list`: only `turn.context` is there to be compared. */
  source: 'log' | 'list';
  /** Paths or URLs; of lists, their lines. */
  added: string[];
  removed: string[];
  /** Shown to both, with another content, or left out for another reason. */
  changed: string[];
}

interface ContextSide {
  turnContext: string;
  log: string | null;
}

export async function compareContexts(one: ContextSide, other: ContextSide): Promise<ContextComparison> {
  const shown = await Promise.all([readShown(one.log), readShown(other.log)]);
  const [before, after] = shown;
  if (before !== null && after !== null) return { source: 'log', ...compare(before, after) };
  return { source: 'list', ...compare(readList(one.turnContext), readList(other.turnContext)) };
}

function compare(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>) {
  const names = [...after.keys()];
  return {
    added: names.filter((name) => !before.has(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
    changed: names.filter((name) => before.has(name) && before.get(name) !== after.get(name)),
  };
}

/** Null: there is no log, or it is not whole. */
async function readShown(log: string | null): Promise<Map<string, string> | null> {
  if (log === null) return null;
  const { parseContextLog } = await import('../../session/context-log-parse.ts');
  try {
    const { sections } = parseContextLog(log);
    const files = sections.flatMap(({ path, body }): [string, string][] => (path === null ? [] : [[path, body]]));
    return new Map(files);
  } catch (error) {
    if (error instanceof TeddyError) return null;
    throw error;
  }
}

function readList(text: string): Map<string, string> {
  const lines = text.split('\n').map((line) => line.trim());
  return new Map(lines.filter((line) => line !== '' && !line.startsWith('#')).map((line) => [line, line]));
}

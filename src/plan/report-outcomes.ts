/** Which actions of a report succeeded. Read on every turn, so without the schema, which takes its time to load. */
import { parse } from 'yaml';

/** The indexes (from 1) of the actions that succeeded; empty for what is no report. */
export function readSucceeded(yaml: string): number[] {
  const logs = (parseOrNull(yaml) as { action_logs?: unknown } | null)?.action_logs;
  if (!Array.isArray(logs)) return [];
  return (logs as { index?: unknown; status?: unknown }[]).flatMap((log) =>
    log?.status === 'SUCCESS' && typeof log.index === 'number' ? [log.index] : [],
  );
}

function parseOrNull(yaml: string): unknown {
  try {
    return parse(yaml, { logLevel: 'error' });
  } catch {
    return null;
  }
}

/** What a report says became of each action. Read on every turn, so without the schema, which takes its time to load. */
import { Lexer, parse } from 'yaml';
import { readPlainYaml } from '../session/plain-yaml.ts';
import { isDeeplyNested } from '../session/yaml-depth.ts';

export interface ReadLog {
  index: number;
  status: string;
  /** Empty where the action has none. */
  details: Record<string, unknown>;
}

/** In the order of the actions; null for what is no report, or a damaged one. */
export function readLogs(yaml: string): ReadLog[] | null {
  const logs = (readOrNull(yaml) as { action_logs?: unknown } | null)?.action_logs;
  if (!Array.isArray(logs)) return null;
  const read = logs.map(toLog);
  return read.every((log) => log !== null) ? read : null;
}

/** The document as a value. Throws an `Error` with the reason; what the parser would not survive is refused. */
export function parseReportYaml(yaml: string): unknown {
  const plain = readPlainYaml(yaml);
  if (plain !== null) return plain.value;
  if (isDeeplyNested(new Lexer().lex(yaml))) throw new Error('it is nested more deeply than any report');
  return parse(yaml, { logLevel: 'error' });
}

function readOrNull(yaml: string): unknown {
  try {
    return parseReportYaml(yaml);
  } catch {
    return null;
  }
}

function toLog(log: unknown): ReadLog | null {
  const { index, status, details = {} } = (log ?? {}) as Partial<Record<keyof ReadLog, unknown>>;
  if (typeof index !== 'number' || typeof status !== 'string') return null;
  if (typeof details !== 'object' || details === null) return null;
  return { index, status, details: details as ReadLog['details'] };
}

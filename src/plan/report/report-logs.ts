/** Reads a report's grammar, its log of each action, and its pages, even if other parts are invalid. */
import { readPlainYaml } from '../../session/yaml/plain-yaml.ts';
import { parseUntrustedYaml } from '../../session/yaml/untrusted-yaml.ts';
import { newestGrammar, toGrammar, type Grammar } from '../../session/text/grammar.ts';
import { parsePageUrl } from '../../session/masks/urls.ts';

export interface ReadLog {
  index: number;
  status: string;
  /** Empty when the action has none. */
  details: Record<string, unknown>;
}

export interface ReadRun {
  /** The grammar for rereading the plan; the newest for a damaged report or a report from a later teddy. */
  grammar: Grammar;
  /** In action order; null for a damaged report or a text that is not a report. */
  logs: ReadLog[] | null;
}

export function readRun(yaml: string): ReadRun {
  const report = readOrNull(yaml) as { action_logs?: unknown; plan?: { grammar?: unknown } | null } | null;
  const logs = Array.isArray(report?.action_logs) ? report.action_logs.map(toLog) : [null];
  return {
    grammar: (report === null ? null : toGrammar(report.plan?.grammar)) ?? newestGrammar,
    logs: logs.every((log) => log !== null) ? logs : null,
  };
}

export function readLogs(yaml: string): ReadLog[] | null {
  return readRun(yaml).logs;
}

/** Parses the document into a value. Throws an `Error` with the reason. */
export function parseReportYaml(yaml: string): unknown {
  const plain = readPlainYaml(yaml);
  if (plain !== null) return plain.value;
  return parseUntrustedYaml(yaml).document.toJS();
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

/** Returns the indexes (from 1) of successful actions. */
export function listSucceeded(logs: readonly ReadLog[]): number[] {
  return logs.filter(({ status }) => status === 'SUCCESS').map(({ index }) => index);
}

/** A page stored in one of the turn's files. */
export interface ReportedPage {
  /** The page's URLs: the requested one, and the final one after redirects. */
  urls: string[];
  /** Relative to the turn. */
  file: string;
}

/** Lists the pages that a turn fetched, in action order; empty when an action failed or the text is not a report. */
export function readPages(yaml: string): ReportedPage[] {
  // Most reports have no page, and parsing YAML takes time.
  if (!yaml.includes('page_file')) return [];
  return (readLogs(yaml) ?? []).flatMap(toPage);
}

function toPage({ status, details }: ReadLog): ReportedPage[] {
  const file = details['page_file'];
  if (status !== 'SUCCESS' || typeof file !== 'string' || !/^pages\/\d+\.txt$/.test(file)) return [];
  const urls = [details['url'], details['final_url']].flatMap((url) => {
    const parsed = typeof url === 'string' ? parsePageUrl(url) : null;
    return parsed && 'url' in parsed ? [parsed.url] : [];
  });
  return [{ urls, file }];
}

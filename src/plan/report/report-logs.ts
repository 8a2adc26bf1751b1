/** Reads a report's grammar, its log of each action, and which pages it names, whatever else is wrong with it. */
import { readPlainYaml } from '../../session/yaml/plain-yaml.ts';
import { parseUntrustedYaml } from '../../session/yaml/untrusted-yaml.ts';
import { newestGrammar, toGrammar, type Grammar } from '../../session/text/grammar.ts';
import { parsePageUrl } from '../../session/masks/urls.ts';

export interface ReadLog {
  index: number;
  status: string;
  /** Empty where the action has none. */
  details: Record<string, unknown>;
}

export interface ReadRun {
  /** How the plan is read again. For a damaged report, and for one of a later teddy, this is the newest version. */
  grammar: Grammar;
  /** In the order of the actions; null for what is no report, or a damaged one. */
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

/** The document as a value. Throws an `Error` with the reason. */
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

/** The indexes of the actions that succeeded, from 1. */
export function listSucceeded(logs: readonly ReadLog[]): number[] {
  return logs.filter(({ status }) => status === 'SUCCESS').map(({ index }) => index);
}

/** A page in a file of the turn. */
export interface ReportedPage {
  /** Each spelling under which it is fetched: as it was asked for, and where it was found. */
  urls: string[];
  /** Relative to the turn. */
  file: string;
}

/** Lists the pages that a turn has fetched, in the order of the actions; none where an action has failed, or in what is no report. */
export function readPages(yaml: string): ReportedPage[] {
  // Most reports have no page, and YAML takes its time.
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

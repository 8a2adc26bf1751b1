/** Which actions of a report succeeded. */
import { readLogs, type ReadLog } from './report-logs.ts';

/** The indexes (from 1) of the actions that succeeded; empty for what is no report. */
export function readSucceeded(yaml: string): number[] {
  return listSucceeded(readLogs(yaml) ?? []);
}

export function listSucceeded(logs: readonly ReadLog[]): number[] {
  return logs.filter(({ status }) => status === 'SUCCESS').map(({ index }) => index);
}

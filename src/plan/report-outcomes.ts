/** Which actions of a report succeeded. */
import type { ReadLog } from './report-logs.ts';

/** Their indexes, from 1. */
export function listSucceeded(logs: readonly ReadLog[]): number[] {
  return logs.filter(({ status }) => status === 'SUCCESS').map(({ index }) => index);
}

/** One line of a Codex rollout without its envelope. */
import type { SourcePosition } from '../../conversation/records/import-ids.ts';
import { isObject } from '../../session/text/parse-object.ts';

export interface CodexEntry {
  kind: 'item' | 'event' | 'compacted' | 'usage' | 'other';
  payload: Record<string, unknown>;
  timestamp: unknown;
  place: SourcePosition;
}

/** Which copy to read when a rollout contains something twice. */
export interface CodexSource {
  messages: 'items' | 'events';
  calls: 'items' | 'events';
}

/** The state from earlier lines that decides how to read the next ones. */
export interface CodexState {
  source?: CodexSource;
  model?: string;
  provider?: string;
  /** The last plan, which appears both in an item of its own and in the answer. */
  plan?: { digest: string; isItem: boolean };
  /** True when teddy has already recorded this turn's interruption. */
  isInterrupted?: boolean;
}

/** Reads a line with an envelope, or the bare item or head that older versions wrote; returns null for anything else. */
export function toCodexEntry(object: Record<string, unknown>, place: SourcePosition): CodexEntry | null {
  const { type, timestamp } = object;
  const payload = isObject(object['payload']) ? object['payload'] : object['item'];
  const base = { timestamp, place };
  if (isObject(payload) && typeof type === 'string') return { ...base, kind: kindOf(type), payload };
  const isHead = object['record_type'] !== undefined || (type === undefined && typeof object['id'] === 'string');
  if (isHead) return { ...base, kind: 'other', payload: object };
  return typeof type === 'string' ? { ...base, kind: 'item', payload: object } : null;
}

function kindOf(type: string): CodexEntry['kind'] {
  if (type === 'response_item') return 'item';
  if (type === 'event_msg') return 'event';
  if (type === 'token_usage_record') return 'usage';
  return type === 'compacted' ? 'compacted' : 'other';
}

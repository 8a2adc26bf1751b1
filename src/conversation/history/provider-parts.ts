/** Builds parts of messages in a form that every provider accepts. */
import { isBlank } from '../records/blank.ts';
import { toContentText } from '../records/content-text.ts';
import type { AssistantBlock, History, HistoryResult, HistoryTurn } from './history.ts';
import { openUniqueIds } from '../records/unique-ids.ts';
import { toWellFormed, toWellFormedValue } from '../records/well-formed.ts';

/** The model sees this when a conversation begins with its own words. */
const opening = '(The conversation begins with the assistant.)';
const interrupted = '[interrupted]';
const noOutput = '(no output)';

/** OpenAI accepts IDs of up to 40 characters and names of up to 64. */
const maxIdLength = 40;
const maxNameLength = 64;

export function toSaidText({ said }: HistoryTurn): string {
  if (said.length === 0) return opening;
  return toWellFormed(said.map(({ text }) => text).join('\n\n'));
}

export function toAnswerText(texts: readonly AssistantBlock[]): string {
  return toWellFormed(texts.map(markInterrupted).join('\n\n'));
}

export function markInterrupted({ text, isInterrupted }: AssistantBlock): string {
  if (!isInterrupted || text.endsWith(interrupted)) return text;
  return /\s$/.test(text) ? text + interrupted : `${text} ${interrupted}`;
}

/** Returns a nonempty text. */
export function toOutputText({ output }: HistoryResult): string {
  const isValue = typeof output === 'object' && output !== null;
  const { text } = toContentText(isValue ? toWellFormedValue(output) : output);
  return isBlank(text) ? noOutput : toWellFormed(text);
}

/** Maps the IDs of all calls in the history to IDs that every provider accepts. */
export function toProviderIds(history: History): Map<string, string> {
  const ids = openUniqueIds(maxIdLength);
  const calls = history.turns.flatMap(({ steps }) => steps.flatMap((step) => step.calls));
  return new Map(calls.map(({ callId }) => [callId, ids.take(callId.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call')]));
}

/** Makes a tool's name acceptable to every provider. */
export function toProviderName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, maxNameLength) || 'unknown';
}

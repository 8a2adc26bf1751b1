/** Builds the parts of messages for every provider, in a form that each of them accepts. */
import { isBlank } from '../records/blank.ts';
import { toContentText } from '../records/content-text.ts';
import type { AssistantBlock, History, HistoryResult, HistoryTurn } from './history.ts';
import { openUniqueIds } from '../records/unique-ids.ts';
import { toWellFormed, toWellFormedValue } from '../records/well-formed.ts';

/** Shown to the model when a conversation begins with its own words. */
const opening = '(The conversation begins with the assistant.)';
const interrupted = '[interrupted]';
const noOutput = '(no output)';

/** OpenAI accepts ids of up to 40 characters and names of up to 64. */
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

/** Returns a text that is never empty. */
export function toOutputText({ output }: HistoryResult): string {
  const isValue = typeof output === 'object' && output !== null;
  const { text } = toContentText(isValue ? toWellFormedValue(output) : output);
  return isBlank(text) ? noOutput : toWellFormed(text);
}

/** Maps the ids of all calls in the history to ids that every provider accepts. */
export function toProviderIds(history: History): Map<string, string> {
  const ids = openUniqueIds(maxIdLength);
  const calls = history.turns.flatMap(({ steps }) => steps.flatMap((step) => step.calls));
  return new Map(calls.map(({ callId }) => [callId, ids.take(callId.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call')]));
}

/** Makes the name of a tool acceptable to every provider. */
export function toProviderName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, maxNameLength) || 'unknown';
}

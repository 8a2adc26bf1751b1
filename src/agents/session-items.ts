/** Turns a history into the items of an agent's log, for agents in which teddy can continue a session. */
import type { AssistantBlock, History, HistoryCall, HistoryTurn } from '../conversation/history/history.ts';
import { markInterrupted, toProviderIds, toSaidText } from '../conversation/history/provider-parts.ts';
import { groupBy } from '../session/text/group-by.ts';
import { toWellFormed } from '../conversation/records/well-formed.ts';

/** The records of one line; an answer and its calls share `answer`. */
export type SessionItem = { id: string; timestamp: string } & (
  | { kind: 'said'; text: string }
  | { kind: 'answer'; text: string; answer: string; isLast: boolean }
  | { kind: 'call'; call: HistoryCall; callId: string; answer: string }
  | { kind: 'result'; call: HistoryCall; callId: string }
);

/** Yields a history's items, which contain no thoughts. A record has the same ID in every log. */
export function* toSessionItems(history: History): Generator<SessionItem> {
  const ids = toProviderIds(history);
  for (const turn of history.turns) {
    yield* toSaidItems(turn);
    for (const { texts, calls } of turn.steps) {
      const answer = (texts[0] ?? calls[0])?.id ?? '';
      const isLast = calls.length === 0;
      for (const block of texts) yield { ...base(block), kind: 'answer', text: toText(block), answer, isLast };
      const named = calls.map((call) => ({ call, callId: ids.get(call.callId) ?? call.callId }));
      for (const { call, callId } of named) yield { ...base(call), kind: 'call', call, callId, answer };
      for (const { call, callId } of named) yield { ...base(call.result), kind: 'result', call, callId };
    }
  }
}

/** Returns the items as messages: a text of the user's, or an answer's texts and its calls, which have their results. */
export function toSessionMessages(history: History): SessionItem[][] {
  const items = [...toSessionItems(history)].filter(({ kind }) => kind !== 'result');
  return [...groupBy(items, (item) => ('answer' in item ? `answer ${item.answer}` : item.id)).values()];
}

function* toSaidItems(turn: HistoryTurn): Generator<SessionItem> {
  const first = turn.steps[0]?.texts[0] ?? turn.steps[0]?.calls[0];
  if (turn.said.length === 0 && first !== undefined)
    yield { id: `${first.id} opening`, timestamp: first.timestamp, kind: 'said', text: toSaidText(turn) };
  for (const block of turn.said) yield { ...base(block), kind: 'said', text: toWellFormed(block.text) };
}

function base({ id, timestamp }: { id: string; timestamp: string }): { id: string; timestamp: string } {
  return { id, timestamp };
}

function toText(block: AssistantBlock): string {
  return toWellFormed(markInterrupted(block));
}

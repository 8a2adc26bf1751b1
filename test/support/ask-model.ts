/** Asking a model in tests. */
import type { ModelEvent, ModelRequest } from '../../src/ports/model.ts';
import { parseTurnName, type SessionId } from '../../src/names.ts';

export function requestOf(overrides: Partial<ModelRequest> = {}): ModelRequest {
  return {
    messages: [{ role: 'user', content: 'hello' }],
    parameters: {},
    session: '20260124-add-login' as SessionId,
    turn: parseTurnName('01'),
    messageSha256: '00',
    signal: new AbortController().signal,
    ...overrides,
  };
}

export async function collect(events: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const collected: ModelEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

export function textOf(events: ModelEvent[]): string {
  return events.map((event) => (event.type === 'text' ? event.text : '')).join('');
}

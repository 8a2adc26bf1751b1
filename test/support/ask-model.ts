/** Asking a model in tests. */
import type { ModelEvent, ModelRequest } from '../../src/ports/model.ts';
import { parseSessionId, parseTurnName } from '../../src/names.ts';

export function requestOf(overrides: Partial<ModelRequest> = {}): ModelRequest {
  return {
    messages: [{ role: 'user', content: 'hello' }],
    parameters: {},
    session: parseSessionId('20260124-add-login'),
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

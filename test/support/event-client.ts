/**
 * A client of an event stream that reads the events, or does not.
 *
 *   const events = await openEvents(server, `/api/sessions/${session}/events`);
 *   await events.until(2); events.close();
 */
import { request, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ReceivedEvent {
  id: string | null;
  event: string;
  data: Record<string, unknown>;
}

export interface EventClient {
  status: number;
  headers: IncomingMessage['headers'];
  /** Complete events, as received. */
  events: ReceivedEvent[];
  /** The raw text that was sent. */
  text(): string;
  /** Waits until this many events have arrived. */
  until(count: number): Promise<ReceivedEvent[]>;
  /** Stops reading. */
  pause(): void;
  resume(): void;
  close(): void;
  /** Resolves when the server has ended the stream, or the connection is closed. */
  ended: Promise<void>;
}

export function openEvents(
  { url, token }: { url: string; token: string },
  path: string,
  headers: Record<string, string> = {},
): Promise<EventClient> {
  return new Promise((resolve, reject) => {
    const options = {
      headers: { Authorization: `Bearer ${token}`, Connection: 'keep-alive', ...headers },
      agent: false,
    };
    const sent = request(new URL(path, url), options, (response) => resolve(toClient(response)));
    sent.on('error', reject).end();
  });
}

function toClient(response: IncomingMessage): EventClient {
  const events: ReceivedEvent[] = [];
  let all = '';
  let rest = '';
  response.setEncoding('utf8').on('data', (part: string) => {
    all += part;
    const blocks = (rest + part).split('\n\n');
    rest = blocks.pop() ?? '';
    events.push(...blocks.flatMap(parseEvent));
  });
  const ended = new Promise<void>((resolve) => response.on('error', () => undefined).on('close', resolve));
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    text: () => all,
    async until(count) {
      const deadline = performance.now() + 10_000;
      while (events.length < count) {
        if (performance.now() > deadline) throw new Error(`${events.length} of ${count} events: ${all}`);
        await sleep(5);
      }
      return events;
    },
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void response.destroy(),
    ended,
  };
}

/** Comments and hints do not count as events. */
function parseEvent(block: string): ReceivedEvent[] {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? null;
  const data = field('data');
  if (data === null) return [];
  return [{ id: field('id'), event: field('event') ?? 'message', data: JSON.parse(data) as Record<string, unknown> }];
}

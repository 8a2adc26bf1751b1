/** Server-sent events. Each stream sends only as fast as its client reads, and all streams end when the server stops. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Refusal } from './refusal.ts';

/** One event. A client sends its `id` as `Last-Event-ID` to continue after it. */
export interface ServerEvent {
  event: string;
  id?: string;
  data: object;
}

export interface StreamLimits {
  maxStreams: number;
  /** The interval between comments, which reveal a lost connection. */
  heartbeatMs: number;
  /** How long a client may stop reading before the server drops it. */
  stallMs: number;
  /** How long a client may take to read the end of its stream. */
  endMs: number;
  /** The interval between checks of a line for entries that other processes have appended. */
  lookMs: number;
}

export const usualStreamLimits: StreamLimits = {
  maxStreams: 64,
  heartbeatMs: 15_000,
  stallMs: 30_000,
  endMs: 1000,
  lookMs: 500,
};

/** The connection closes with the stream, so that a client that receives `end` notices immediately. */
export const streamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
  Connection: 'close',
};

/** How long a client should wait before it connects again. */
const retryMs = 2000;

/** How a stream ended. `closed`: the client closed it, or there was nothing more to send. */
export type StreamEnd = 'closed' | 'stopped' | 'stalled' | 'failed';

export interface EventStreams {
  /** Resolves when the stream has ended, and never rejects. Throws TOO_MANY_STREAMS before it sends anything. */
  open(response: ServerResponse, events: EventSource): Promise<StreamEnd>;
  /** Ends every stream, including streams that open from now on. */
  stop(): void;
}

type EventSource = (signal: AbortSignal) => AsyncIterable<ServerEvent>;

export function eventStreams(limits: StreamLimits, onFailure: (error: unknown) => void): EventStreams {
  const stopping = new AbortController();
  let count = 0;
  return {
    open(response, events) {
      if (count >= limits.maxStreams) {
        const message = `This server sends at most ${limits.maxStreams} event streams at once.`;
        throw new Refusal('TOO_MANY_STREAMS', message, { 'Retry-After': '10' });
      }
      count += 1;
      return send(response, events, stopping.signal, limits, onFailure).finally(() => (count -= 1));
    },
    stop: () => stopping.abort(),
  };
}

async function send(
  response: ServerResponse,
  events: EventSource,
  stopping: AbortSignal,
  limits: StreamLimits,
  onFailure: (error: unknown) => void,
): Promise<StreamEnd> {
  const gone = new AbortController();
  response.on('close', () => gone.abort()).on('error', () => gone.abort());
  // The client may have disconnected during the search for the line.
  if (response.destroyed) gone.abort();
  const signal = AbortSignal.any([stopping, gone.signal]);
  const client = openClient(response, limits, signal);
  let end: StreamEnd = 'closed';
  try {
    for await (const event of events(signal)) {
      if (signal.aborted) break;
      await client.send(renderEvent(event));
    }
    if (stopping.aborted && !gone.signal.aborted) end = 'stopped';
  } catch (error) {
    onFailure(error);
    end = 'failed';
  }
  if (end !== 'closed') await client.send(renderEvent({ event: 'end', data: { reason: end } }));
  client.end();
  return client.isStalled() ? 'stalled' : end;
}

interface Client {
  /** Resolves when the client is ready for more, or when `signal` aborts. */
  send(text: string): Promise<void>;
  isStalled(): boolean;
  end(): void;
}

function openClient(response: ServerResponse, limits: StreamLimits, signal: AbortSignal): Client {
  let stall: NodeJS.Timeout | undefined;
  let isStalled = false;
  const drop = () => {
    isStalled = true;
    response.destroy();
  };
  const write = (text: string) => {
    if (response.destroyed || response.writableEnded) return;
    if (!response.write(text)) stall ??= setTimeout(drop, limits.stallMs);
  };
  const resume = () => {
    clearTimeout(stall);
    stall = undefined;
  };
  // A client that has not read the earlier events needs no heartbeat now.
  const heartbeat = setInterval(() => response.writableNeedDrain || write(':\n\n'), limits.heartbeatMs);
  response.on('drain', resume).on('close', () => {
    clearInterval(heartbeat);
    clearTimeout(stall);
  });
  response.writeHead(200, streamHeaders);
  write(`retry: ${retryMs}\n\n`);
  return {
    async send(text) {
      write(text);
      // The signal aborts when the connection closes, which also ends this wait; the stream then sends nothing more.
      if (response.writableNeedDrain) await once(response, 'drain', { signal }).catch(() => undefined);
    },
    isStalled: () => isStalled,
    end() {
      clearInterval(heartbeat);
      resume();
      if (response.destroyed) return;
      const timer = setTimeout(() => response.destroy(), limits.endMs);
      response.on('close', () => clearTimeout(timer));
      response.end();
    },
  };
}

const escapes: Record<string, string> = { '\u0085': '\\u0085', '\u2028': '\\u2028', '\u2029': '\\u2029' };

function renderEvent({ event, id, data }: ServerEvent): string {
  // Some clients treat these characters as line breaks.
  const json = JSON.stringify(data).replace(/[\u0085\u2028\u2029]/g, (found) => escapes[found] ?? found);
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${json}\n\n`;
}

/** What a call of the API is given, and what it answers. */
import type { RouteConfig } from '@hono/zod-openapi';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ServerEvent } from './event-stream.ts';
import type { StatusChanges } from './status.ts';

/** A request that was admitted. */
export interface Call {
  /** Of a write session, from the path; empty where the path has none. */
  sessionId: string;
  /** How the path names a session: an id, a part of it, a branch; empty where the path has none. */
  session: string;
  /** Every parameter of the query; one that is given twice has two values. */
  query: Record<string, string[]>;
  /** The header of a client that goes on with a stream. */
  lastEventId: string | undefined;
  json(): Promise<unknown>;
  /** Which session it is about, for the log. */
  note(sessionId: string): void;
}

export type Reply =
  | { status: ContentfulStatusCode; body: object }
  /** Ends by itself, or soon after the abort of the signal. */
  | { events(signal: AbortSignal): AsyncIterable<ServerEvent> };

export interface Route {
  config: RouteConfig & { getRoutingPath(): string };
  /** Where a code means something else to this call than to the others. */
  statuses?: StatusChanges;
  answer(call: Call): Promise<Reply>;
}

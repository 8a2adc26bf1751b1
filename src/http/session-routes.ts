/** What each call about a session does. */
import type { z } from '@hono/zod-openapi';
import { encodeRecord } from '../conversation/transcript.ts';
import { TeddyError } from '../errors.ts';
import { parseOid } from '../names.ts';
import type { FollowedLine, LineEvent, LinePosition } from '../workflow/conversation/follow-line.ts';
import type { Limits } from '../session/write-limits.ts';
import type { AppendListener, AppendSignal } from './append-signal.ts';
import type { ServerEvent } from './event-stream.ts';
import type { InTurn } from './queue.ts';
import { InvalidRequest } from './refusal.ts';
import type { Call, Reply, Route } from './route.ts';
import { entryCall, eventsCall, historyCall, sessionsCall } from './session-calls.ts';
import { eventsQuery, historyQuery, sentRecord, sentRecords, type SentRecord } from './session-schemas.ts';
import type { SessionVerbs } from './session-verbs.ts';
import type { StatusChanges } from './status.ts';
import type { GivenRecord } from '../conversation/given-record.ts';

export interface SessionRouteOptions {
  sessions: SessionVerbs;
  inTurn: InTurn;
  appended: AppendSignal;
  /** How often a line is looked at, for what other processes append. */
  lookMs: number;
  limits: Limits;
}

export function sessionRoutes(options: SessionRouteOptions): Route[] {
  const { sessions } = options;
  return [
    { config: sessionsCall, answer: async () => ok({ sessions: await sessions.list() }) },
    { config: entryCall, statuses, answer: (call) => append(call, options) },
    { config: historyCall, statuses: historyStatuses, answer: (call) => tellHistory(call, sessions) },
    { config: eventsCall, statuses, answer: (call) => follow(call, options) },
  ];
}

/** The session stands in the path here, and not in what was sent. */
const statuses: StatusChanges = { UNKNOWN_SESSION: 404 };
/** There is no history of a commit that no session has. */
const historyStatuses: StatusChanges = { ...statuses, NOT_ON_LINE: 404 };

async function append(call: Call, { sessions, inTurn, limits }: SessionRouteOptions): Promise<Reply> {
  const records = readRecords(await call.json(), limits);
  const { isNew, ...place } = await inTurn(() => sessions.append({ selector: call.session, records }));
  return ok({ ...place, is_new: isNew });
}

async function tellHistory(call: Call, sessions: SessionVerbs): Promise<Reply> {
  const { format = 'openai', from, commit } = readQuery(historyQuery, call);
  const request = { selector: call.session, format, ...(from === undefined ? {} : { from }) };
  const shown = await sessions.history(commit === undefined ? request : { ...request, commit: parseOid(commit) });
  const { session, messages, repairs } = shown;
  return ok({ session, commit: shown.commit, format, messages, repairs });
}

async function follow(call: Call, { sessions, appended, lookMs }: SessionRouteOptions): Promise<Reply> {
  const after = readPosition(call);
  const stop = new AbortController();
  const { signal } = stop;
  let listener: AppendListener | undefined;
  const pause = async () => listener?.pause(lookMs, signal);
  const followed = await sessions.follow({ selector: call.session, after, signal, pause });
  return {
    async *events(ended) {
      ended.addEventListener('abort', () => stop.abort());
      if (ended.aborted) return;
      listener = appended.listen();
      try {
        for await (const event of followed.events) yield toServerEvent(followed, event);
      } finally {
        listener.close();
      }
    },
  };
}

/** What a client has read last is stronger than where it once began: it connects again with the same address. */
function readPosition(call: Call): LinePosition | null {
  const { since } = readQuery(eventsQuery, call);
  const given = call.lastEventId === undefined || call.lastEventId === '' ? since : call.lastEventId;
  if (given === undefined) return null;
  const [commit = '', count] = parse(eventsQuery, { since: given }).since?.split(':') ?? [];
  return { commit: parseOid(commit), count: count === undefined ? null : Number(count) };
}

function toServerEvent({ session, line }: FollowedLine, event: LineEvent): ServerEvent {
  if (event.kind === 'end') return { event: 'end', data: { session, line, reason: event.reason } };
  const { commit } = event.position;
  const id = renderPosition(event.position);
  if (event.kind === 'begin' || event.kind === 'reset')
    return { event: event.kind, id, data: { session, line, commit } };
  const { turn, kind, title } = event.entry;
  const place = { session, line, turn, commit, entry: kind };
  if (event.kind === 'entry') return { event: 'entry', id, data: { ...place, title } };
  // As it stands in the transcript, field by field.
  return { event: 'record', id, data: { ...place, record: JSON.parse(encodeRecord(event.record)) as object } };
}

function renderPosition({ commit, count }: LinePosition): string {
  return count === null ? commit : `${commit}:${count}`;
}

function readQuery<Schema extends z.ZodType>(schema: Schema, { query }: Call): z.infer<Schema> {
  const twice = Object.keys(query).filter((name) => (query[name]?.length ?? 0) > 1);
  if (twice.length > 0) {
    throw new InvalidRequest(
      'USAGE',
      twice.map((name) => `${name}: is given more than once`),
    );
  }
  return parse(schema, Object.fromEntries(Object.entries(query).map(([name, [value]]) => [name, value])));
}

/** Throws UNKNOWN_FORMAT, and USAGE for anything else. */
function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { issues } = result.error;
  if (issues.some(({ path }) => path[0] === 'format')) throw toUnknownFormat();
  throw new InvalidRequest(
    'USAGE',
    issues.map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`)),
  );
}

function toUnknownFormat(): TeddyError {
  const message = 'There is no such format of a history.';
  return new TeddyError('UNKNOWN_FORMAT', message, 'Choose openai, anthropic, jsonl or markdown.');
}

function ok(body: object): Reply {
  return { status: 200, body };
}

const maxDepth = 100;

/**
 * What was sent as records of a transcript, checked as a whole: a client hears of everything that is wrong with it.
 * Throws BAD_RECORD, CONTENT_TOO_LARGE.
 */
function readRecords(body: unknown, limits: Limits): GivenRecord[] {
  refuseLarge(body, limits);
  const result = Array.isArray(body) ? sentRecords.safeParse(body) : sentRecord.safeParse(body);
  if (!result.success) throw new InvalidRequest('BAD_RECORD', result.error.issues.map(toProblem));
  const sent: SentRecord[] = [result.data].flat();
  return sent as unknown as GivenRecord[];
}

function toProblem({ path, message, code }: z.core.$ZodIssue): string {
  const name = path.join('.');
  // It would list the types, and not say what was meant by it.
  if (code === 'invalid_union') return `${name}: is no type of a record that can be sent`;
  return name === '' ? message : `${name}: ${message}`;
}

/** Counts what is said, not how JSON escapes it. */
function refuseLarge(body: unknown, { maxBytes }: Limits): void {
  let left = maxBytes;
  const waiting: { value: unknown; depth: number }[] = [{ value: body, depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, depth } = next;
    if (depth > maxDepth) throw new InvalidRequest('BAD_RECORD', [`nested more than ${maxDepth} deep`]);
    left -= countBytes(value);
    if (left < 0) throw toTooLarge(maxBytes);
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, part] of Object.entries(value)) {
      if (!Array.isArray(value)) left -= Buffer.byteLength(key);
      waiting.push({ value: part, depth: depth + 1 });
    }
  }
}

function countBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  return typeof value === 'object' && value !== null ? 0 : String(value).length;
}

function toTooLarge(maxBytes: number): TeddyError {
  const message = `What was sent is over ${maxBytes} bytes.`;
  return new TeddyError('CONTENT_TOO_LARGE', message, 'Send large content as a write session.');
}

/** The calls about sessions: their descriptions in `/openapi.json`, and the code that answers them. */
import { createRoute, z } from '@hono/zod-openapi';
import { encodeRecord } from '../conversation/records/transcript.ts';
import { TeddyError } from '../errors.ts';
import { parseOid } from '../names.ts';
import type { FollowedLine, LineEvent, LinePosition } from '../workflow/conversation/follow-line.ts';
import type { Limits } from '../session/settings/write-limits.ts';
import type { AppendListener, AppendSignal } from './append-signal.ts';
import type { ServerEvent } from './event-stream.ts';
import { InvalidRequest } from './refusal.ts';
import {
  describeIssue,
  json,
  ok,
  parse,
  refusals,
  security,
  type Call,
  type InTurn,
  type Issue,
  type Route,
} from './route.ts';
import type { SessionApi } from './session-api.ts';
import {
  entryAnswer,
  entryRequest,
  eventData,
  eventsHeaders,
  eventsQuery,
  historyAnswer,
  historyQuery,
  sentRecord,
  sentRecords,
  sessionsAnswer,
} from './session-schemas.ts';
import type { StatusChanges } from './status.ts';
import type { GivenRecord } from '../conversation/records/given-record.ts';

const base = '/api/sessions';
const params = z.object({
  session: z.string().openapi({ description: 'An id or a unique part of it, or a branch with `%2F` for its slash.' }),
});

const sessionsCall = createRoute({
  operationId: 'listSessions',
  summary: 'List all sessions, oldest first',
  method: 'get',
  path: base,
  security,
  responses: { 200: { description: 'The sessions.', content: json(sessionsAnswer) } },
});

const entryCall = createRoute({
  operationId: 'appendEntry',
  summary: 'Append to the conversation, in text or voice; the answer is sent once it is committed',
  description:
    'Takes one record, or a list of calls with all of their results. A record with the same id and the same content is stored only once.',
  method: 'post',
  path: `${base}/{session}/entries`,
  security,
  request: { params, body: { required: true, content: json(entryRequest) } },
  responses: {
    200: { description: 'It is committed to the session.', content: json(entryAnswer) },
    ...refusals(400, 404, 409, 413),
  },
});

const historyCall = createRoute({
  operationId: 'history',
  summary: 'Read the conversation as messages for a model',
  method: 'get',
  path: `${base}/{session}/history`,
  security,
  request: { params, query: historyQuery },
  responses: { 200: { description: 'The history.', content: json(historyAnswer) }, ...refusals(400, 404) },
});

const eventsCall = createRoute({
  operationId: 'events',
  summary: 'Follow every record as it is appended, by any process',
  description: [
    'Server-sent events. `begin`: where the stream starts. `record`: one record in a commit. `entry`: a commit without records.',
    '`reset`: the branch was rewritten; read its history again. `end`: the stream has ended; `reason` says why.',
    'With the id of the last event, a client continues exactly where it left off; without one, the stream starts with the next record to be appended.',
  ].join('\n'),
  method: 'get',
  path: `${base}/{session}/events`,
  security,
  request: { params, query: eventsQuery, headers: eventsHeaders },
  responses: {
    200: {
      description: "The events; this schema describes each event's data.",
      content: { 'text/event-stream': { schema: eventData } },
    },
    ...refusals(400, 404, 503),
  },
});

/** Uses 404, because here the path, and not the body, names the session. */
const statuses: StatusChanges = { UNKNOWN_SESSION: 404 };

interface SessionRouteOptions {
  sessions: SessionApi;
  inTurn: InTurn;
  appended: AppendSignal;
  /** The interval at which to poll the line, because other processes append to it too. */
  lookMs: number;
  limits: Limits;
}

export function sessionRoutes({ sessions, inTurn, appended, lookMs, limits }: SessionRouteOptions): Route[] {
  return [
    { config: sessionsCall, answer: async () => ok({ sessions: await sessions.list() }) },
    {
      config: entryCall,
      statuses,
      async answer(call) {
        const records = readRecords(await call.json(), limits);
        return ok(await inTurn(() => sessions.append({ selector: call.session, records })));
      },
    },
    {
      config: historyCall,
      // A commit that is not on a session's line has no history.
      statuses: { ...statuses, NOT_ON_LINE: 404 },
      async answer(call) {
        const { format = 'openai', from, commit: asOf } = readQuery(historyQuery, call);
        const target = asOf === undefined ? undefined : parseOid(asOf);
        const shown = await sessions.history({ selector: call.session, format, from, commit: target });
        const { session, commit, messages, repairs } = shown;
        return ok({ session, commit, format, messages, repairs });
      },
    },
    {
      config: eventsCall,
      statuses,
      async answer(call) {
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
      },
    },
  ];
}

/**
 * Returns where to continue. The last event's ID takes precedence over the query, because a client reconnects with the
 * same address.
 */
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
  const { count } = event.position;
  const id = count === null ? commit : `${commit}:${count}`;
  if (event.kind === 'begin' || event.kind === 'reset')
    return { event: event.kind, id, data: { session, line, commit } };
  const { turn, kind, title } = event.entry;
  const place = { session, line, turn, commit, entry: kind };
  if (event.kind === 'entry') return { event: 'entry', id, data: { ...place, title } };
  // The record has the fields of the transcript.
  return { event: 'record', id, data: { ...place, record: JSON.parse(encodeRecord(event.record)) as object } };
}

function readQuery<Schema extends z.ZodType>(schema: Schema, { query }: Call): z.infer<Schema> {
  const twice = Object.keys(query).filter((name) => (query[name]?.length ?? 0) > 1);
  if (twice.length > 0) {
    throw new InvalidRequest(
      'USAGE',
      twice.map((name) => `${name}: must not be given more than once`),
    );
  }
  const values = Object.fromEntries(Object.entries(query).map(([name, [value]]) => [name, value]));
  return parse(schema, values, toQueryProblem);
}

/** Throws UNKNOWN_FORMAT for an unknown format. */
function toQueryProblem(issue: Issue): ReturnType<typeof describeIssue> {
  if (issue.path[0] !== 'format') return describeIssue(issue);
  const message = 'This history format does not exist.';
  throw new TeddyError('UNKNOWN_FORMAT', message, 'Choose openai, anthropic, jsonl or markdown.');
}

const maxDepth = 100;

/** Checks all records, so that a client learns about every problem in one answer. Throws BAD_RECORD, CONTENT_TOO_LARGE. */
function readRecords(body: unknown, limits: Limits): GivenRecord[] {
  refuseLarge(body, limits);
  const sent = parse(Array.isArray(body) ? sentRecords : sentRecord, body, toRecordProblem);
  return [sent].flat() as unknown as GivenRecord[];
}

function toRecordProblem(issue: Issue): ReturnType<typeof describeIssue> {
  const isType = issue.code === 'invalid_union' && issue.path.at(-1) === 'type';
  const message = isType ? `${issue.path.join('.')}: is not a type of record that can be sent` : null;
  return { rank: 0, code: 'BAD_RECORD', message: message ?? describeIssue(issue).message };
}

/** Throws CONTENT_TOO_LARGE. Counts the size of the values, without JSON's escapes. */
function refuseLarge(body: unknown, { maxBytes }: Limits): void {
  let left = maxBytes;
  const waiting: { value: unknown; depth: number }[] = [{ value: body, depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, depth } = next;
    if (depth > maxDepth) throw new InvalidRequest('BAD_RECORD', [`nested more than ${maxDepth} levels deep`]);
    if (typeof value === 'string') left -= Buffer.byteLength(value);
    else if (typeof value !== 'object' || value === null) left -= String(value).length;
    if (left < 0) {
      const message = `The request is larger than ${maxBytes} bytes.`;
      throw new TeddyError('CONTENT_TOO_LARGE', message, 'Send large content in a write session.');
    }
    if (typeof value !== 'object' || value === null) continue;
    for (const [key, part] of Object.entries(value)) {
      if (!Array.isArray(value)) left -= Buffer.byteLength(key);
      waiting.push({ value: part, depth: depth + 1 });
    }
  }
}

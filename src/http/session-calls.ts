/** The calls about sessions as they stand in `/openapi.json`. */
import { createRoute, z } from '@hono/zod-openapi';
import { json, refusals, security } from './describe-call.ts';
import {
  entryAnswer,
  entryRequest,
  eventData,
  eventsHeaders,
  eventsQuery,
  historyAnswer,
  historyQuery,
  sessionsAnswer,
} from './session-schemas.ts';

const base = '/api/sessions';
const params = z.object({
  session: z.string().openapi({ description: 'An id or a unique part of it, or a branch with `%2F` for its slash.' }),
});

export const sessionsCall = createRoute({
  operationId: 'listSessions',
  summary: 'All sessions, oldest first',
  method: 'get',
  path: base,
  security,
  responses: { 200: { description: 'The sessions.', content: json(sessionsAnswer) } },
});

export const entryCall = createRoute({
  operationId: 'appendEntry',
  summary: 'Add what was said, in text or voice; it is one commit when this is answered',
  description:
    'One record, or a list of calls with all of their results. The same id with the same content is kept once.',
  method: 'post',
  path: `${base}/{session}/entries`,
  security,
  request: { params, body: { required: true, content: json(entryRequest) } },
  responses: {
    200: { description: 'It is on the line.', content: json(entryAnswer) },
    ...refusals(400, 404, 409, 413),
  },
});

export const historyCall = createRoute({
  operationId: 'history',
  summary: 'The conversation as messages for a model',
  method: 'get',
  path: `${base}/{session}/history`,
  security,
  request: { params, query: historyQuery },
  responses: { 200: { description: 'The history.', content: json(historyAnswer) }, ...refusals(400, 404) },
});

export const eventsCall = createRoute({
  operationId: 'events',
  summary: 'Every record as it is appended, whoever appends it',
  description: [
    'Server-sent events. `begin`: from where on. `record`: one record of a commit. `entry`: a commit without records.',
    '`reset`: the line was moved by force; ask for its history again. `end`: nothing more comes, and why (`reason`).',
    'With the id of the last event a client goes on exactly where it was; without one, from now on.',
  ].join('\n'),
  method: 'get',
  path: `${base}/{session}/events`,
  security,
  request: { params, query: eventsQuery, headers: eventsHeaders },
  responses: {
    200: {
      description: 'The events; each has this as its data.',
      content: { 'text/event-stream': { schema: eventData } },
    },
    ...refusals(400, 404, 503),
  },
});

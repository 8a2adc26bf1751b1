/** The calls of the API as they stand in `/openapi.json`. */
import { createRoute, z } from '@hono/zod-openapi';
import { json, refusals, security } from './describe-call.ts';
import {
  appendAnswer,
  appendRequest,
  beginAnswer,
  beginRequest,
  cancelAnswer,
  errorAnswer,
  finalizeAnswer,
  finalizeRequest,
  listAnswer,
  rejectedAnswer,
  statusAnswer,
} from './schemas.ts';

const base = '/api/write-session';

export const beginCall = createRoute({
  operationId: 'begin',
  summary: 'Announce a file',
  method: 'post',
  path: `${base}/begin`,
  security,
  request: { body: { required: true, content: json(beginRequest) } },
  responses: { 200: { description: 'The session has begun.', content: json(beginAnswer) }, ...refusals(400, 409) },
});

export const appendCall = createRoute({
  operationId: 'append',
  summary: 'Add to the content; it is on disk when this is answered',
  description: 'What is known already must be the same, and the rest is added: a call may be repeated.',
  method: 'post',
  path: `${base}/append`,
  security,
  request: { body: { required: true, content: json(appendRequest) } },
  responses: {
    200: { description: 'All of it is on disk.', content: json(appendAnswer) },
    ...refusals(400, 404, 409, 413),
  },
});

export const finalizeCall = createRoute({
  operationId: 'finalize',
  summary: 'Validate the content, install it, and commit it once',
  method: 'post',
  path: `${base}/finalize`,
  security,
  request: { body: { required: true, content: json(finalizeRequest) } },
  responses: {
    200: { description: 'It is committed.', content: json(finalizeAnswer) },
    ...refusals(404, 409, 413),
    400: { description: 'The content is not valid.', content: json(z.union([rejectedAnswer, errorAnswer])) },
  },
});

const params = z.object({ session_id: z.string() });

export const statusCall = createRoute({
  operationId: 'status',
  summary: 'How far a session has come; it lives no longer by that',
  method: 'get',
  path: `${base}/status/{session_id}`,
  security,
  request: { params },
  responses: { 200: { description: 'The session.', content: json(statusAnswer) }, ...refusals(404) },
});

export const listCall = createRoute({
  operationId: 'list',
  summary: 'All sessions that are known',
  method: 'get',
  path: base,
  security,
  responses: { 200: { description: 'The sessions.', content: json(listAnswer) } },
});

export const cancelCall = createRoute({
  operationId: 'cancel',
  summary: 'Throw a session away',
  method: 'delete',
  path: `${base}/{session_id}`,
  security,
  request: { params },
  responses: { 200: { description: 'It is gone.', content: json(cancelAnswer) }, ...refusals(404, 409) },
});

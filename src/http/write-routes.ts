/** The calls about write sessions: their descriptions in `/openapi.json`, and the code that answers them. */
import { createRoute, z } from '@hono/zod-openapi';
import { TeddyError } from '../errors.ts';
import type { Limits } from '../session/settings/write-limits.ts';
import { parseWriteId, toWriteBytes } from '../write/write.ts';
import { describeIssue, json, ok, parse, refusals, security, type InTurn, type Issue, type Route } from './route.ts';
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
  type RejectedAnswer,
} from './schemas.ts';
import { toRejectedAnswer, type WriteApi } from './write-api.ts';

const base = '/api/write-session';
const params = z.object({ session_id: z.string() });

export function writeRoutes(writes: WriteApi, inTurn: InTurn, limits: Limits): Route[] {
  return [
    beginRoute(writes, inTurn),
    ...contentRoutes(writes, inTurn, limits),
    ...lookRoutes(writes),
    cancelRoute(writes, inTurn),
  ];
}

function beginRoute(writes: WriteApi, inTurn: InTurn): Route {
  return {
    config: createRoute({
      operationId: 'begin',
      summary: 'Announce a file',
      method: 'post',
      path: `${base}/begin`,
      security,
      request: { body: { required: true, content: json(beginRequest) } },
      responses: {
        200: { description: 'The session has begun.', content: json(beginAnswer) },
        ...refusals(400, 409),
      },
    }),
    async answer(call) {
      const {
        target_file: target,
        own_end_marker: ownMarker,
        ...request
      } = parse(beginRequest, await call.json(), toProblem);
      const isUnnamed = request.session === undefined;
      const begun = await inTurn(() => writes.begin({ ...request, target, ownMarker, isUnnamed, hasController: true }));
      call.note(begun.session_id);
      return ok(begun);
    },
  };
}

/** The calls that append content and finish it. */
function contentRoutes(writes: WriteApi, inTurn: InTurn, limits: Limits): Route[] {
  return [
    {
      config: createRoute({
        operationId: 'append',
        summary: 'Append to the content; the answer is sent once it is on disk',
        description: 'A call may be repeated: bytes that were already received must match, and the rest is added.',
        method: 'post',
        path: `${base}/append`,
        security,
        request: { body: { required: true, content: json(appendRequest) } },
        responses: {
          200: { description: 'All of it is on disk.', content: json(appendAnswer) },
          ...refusals(400, 404, 409, 413),
        },
      }),
      async answer(call) {
        const { session_id, offset, data } = parse(appendRequest, await call.json());
        const id = parseWriteId(session_id);
        call.note(id);
        const bytes = toWriteBytes(data, limits);
        return ok(await inTurn(() => writes.append({ id, offset, bytes })));
      },
    },
    {
      config: createRoute({
        operationId: 'finalize',
        summary: 'Validate the content, write the file, and commit it once',
        method: 'post',
        path: `${base}/finalize`,
        security,
        request: { body: { required: true, content: json(finalizeRequest) } },
        responses: {
          200: { description: 'It is committed.', content: json(finalizeAnswer) },
          ...refusals(404, 409, 413),
          400: { description: 'The content is not valid.', content: json(z.union([rejectedAnswer, errorAnswer])) },
        },
      }),
      async answer(call) {
        const { session_id, content: text, force } = parse(finalizeRequest, await call.json());
        const id = parseWriteId(session_id);
        call.note(id);
        const content = text === undefined ? undefined : toWriteBytes(text, limits);
        const body = await inTurn(() => writes.finalize({ id, content, force })).catch((e) => toRejected(id, e));
        return { status: body.success ? 200 : 400, body };
      },
    },
  ];
}

function lookRoutes(writes: WriteApi): Route[] {
  return [
    {
      config: createRoute({
        operationId: 'status',
        summary: 'Show the progress of a session; this does not extend its lifetime',
        method: 'get',
        path: `${base}/status/{session_id}`,
        security,
        request: { params },
        responses: { 200: { description: 'The session.', content: json(statusAnswer) }, ...refusals(404) },
      }),
      answer: async (call) => ok(await writes.status(parseWriteId(call.sessionId))),
    },
    {
      config: createRoute({
        operationId: 'list',
        summary: 'List all known sessions',
        method: 'get',
        path: base,
        security,
        responses: { 200: { description: 'The sessions.', content: json(listAnswer) } },
      }),
      answer: async () => ok({ sessions: await writes.list() }),
    },
  ];
}

function cancelRoute(writes: WriteApi, inTurn: InTurn): Route {
  return {
    config: createRoute({
      operationId: 'cancel',
      summary: 'Cancel a session and discard its content',
      method: 'delete',
      path: `${base}/{session_id}`,
      security,
      request: { params },
      responses: {
        200: { description: 'The session was cancelled.', content: json(cancelAnswer) },
        ...refusals(404, 409),
      },
    }),
    async answer(call) {
      const id = parseWriteId(call.sessionId);
      await inTurn(() => writes.cancel(id));
      return ok({ success: true });
    },
  };
}

/** Ranks an invalid target before an invalid operation. */
function toProblem(issue: Issue): ReturnType<typeof describeIssue> {
  const name = issue.path.join('.');
  if (name === 'target_file' && issue.code !== 'custom')
    return { rank: -2, code: 'BAD_TARGET', message: 'Target file path is required.' };
  if (name !== 'operation') return describeIssue(issue);
  const message = "Invalid operation type. Must be 'create', 'overwrite', or 'append'.";
  return { rank: -1, code: 'BAD_OPERATION', message };
}

/** Answers empty content, which teddy refuses before any check runs, like a failed check. */
function toRejected(id: string, error: unknown): RejectedAnswer {
  if (!(error instanceof TeddyError) || error.code !== 'VALIDATION_FAILED') throw error;
  const message = error.message.replace(/^Validation failed: /, '');
  return toRejectedAnswer(id, {
    findings: [{ check: 'content', message }],
    summary: { passed: [], failed: ['content'], skipped: [] },
    message: error.message,
    reason: null,
  });
}

/** What each call does: checks what was sent, asks the workflow, and says it in the words of the wire. */
import type { z } from '@hono/zod-openapi';
import { TeddyError } from '../errors.ts';
import { toUnknownWrite } from '../workflow/writes/held.ts';
import type { Limits } from '../session/write-limits.ts';
import { toTooLarge } from '../write/step.ts';
import { isWriteId } from '../write/write-id.ts';
import { toBeginAnswer, toFinalizeAnswer, toRejectedAnswer, toStatusAnswer, type Rejected } from './answers.ts';
import type { InTurn } from './queue.ts';
import { InvalidRequest } from './refusal.ts';
import type { Call, Reply, Route } from './route.ts';
import { appendRequest, beginRequest, finalizeRequest } from './schemas.ts';
import { appendCall, beginCall, cancelCall, finalizeCall, listCall, statusCall } from './write-calls.ts';
import type { WriteVerbs } from './write-verbs.ts';

export function writeRoutes(verbs: WriteVerbs, inTurn: InTurn, limits: Limits): Route[] {
  return [
    { config: beginCall, answer: (call) => begin(call, inTurn, verbs) },
    { config: appendCall, answer: (call) => append(call, inTurn, verbs, limits) },
    { config: finalizeCall, answer: (call) => finalize(call, inTurn, verbs, limits) },
    { config: statusCall, answer: async (call) => ok(toStatusAnswer(await verbs.find(parseId(call.sessionId)))) },
    { config: listCall, answer: async () => ok({ sessions: (await verbs.list()).map(toStatusAnswer) }) },
    { config: cancelCall, answer: (call) => cancel(call, inTurn, verbs) },
  ];
}

async function begin(call: Call, inTurn: InTurn, verbs: WriteVerbs): Promise<Reply> {
  const { intent, target_file, operation, session, own_end_marker } = parse(beginRequest, await call.json());
  const begun = await inTurn(() =>
    verbs.begin({
      intent,
      target: target_file,
      operation,
      hasController: true,
      ...(session === undefined ? {} : { session }),
      ...(own_end_marker === undefined ? {} : { ownMarker: own_end_marker }),
    }),
  );
  call.note(begun.record.id);
  return ok(toBeginAnswer(begun));
}

async function append(call: Call, inTurn: InTurn, verbs: WriteVerbs, limits: Limits): Promise<Reply> {
  const { session_id, offset, data } = parse(appendRequest, await call.json());
  const id = parseId(session_id);
  call.note(id);
  const bytes = toBytes(data, limits);
  const { size, added } = await inTurn(() => verbs.append({ id, offset, bytes }));
  return ok({ session_id: id, offset: size, added });
}

async function finalize(call: Call, inTurn: InTurn, verbs: WriteVerbs, limits: Limits): Promise<Reply> {
  const { session_id, content, force } = parse(finalizeRequest, await call.json());
  const id = parseId(session_id);
  call.note(id);
  const wish = {
    id,
    ...(content === undefined ? {} : { content: toBytes(content, limits) }),
    ...(force === undefined ? {} : { force }),
  };
  const finalized = await inTurn(() => verbs.finalize(wish)).catch(toRejected);
  return 'result' in finalized ? ok(toFinalizeAnswer(finalized)) : reject(toRejectedAnswer(id, finalized));
}

async function cancel(call: Call, inTurn: InTurn, verbs: WriteVerbs): Promise<Reply> {
  const id = parseId(call.sessionId);
  await inTurn(() => verbs.cancel(id));
  return ok({ success: true });
}

function ok(body: object): Reply {
  return { status: 200, body };
}

function reject(body: object): Reply {
  return { status: 400, body };
}

/** Throws BAD_TARGET, BAD_OPERATION, in this order, and USAGE for anything else. */
function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.map(toProblem).toSorted((one, other) => one.rank - other.rank);
  throw new InvalidRequest(
    problems[0]?.code ?? 'USAGE',
    problems.map(({ message }) => message),
  );
}

type Problem = { rank: number; code: 'USAGE' | 'BAD_TARGET' | 'BAD_OPERATION'; message: string };

function toProblem({ path, message, code }: z.core.$ZodIssue): Problem {
  const name = path.join('.');
  if (name === 'target_file' && code !== 'custom')
    return { rank: 0, code: 'BAD_TARGET', message: 'Target file path is required.' };
  if (name === 'operation') {
    const text = "Invalid operation type. Must be 'create', 'overwrite', or 'append'.";
    return { rank: 1, code: 'BAD_OPERATION', message: text };
  }
  return { rank: 2, code: 'USAGE', message: name === '' ? message : `${name}: ${message}` };
}

/** What is no UUID v4 was never an id of ours. Throws UNKNOWN_WRITE. */
function parseId(text: string): string {
  if (isWriteId(text)) return text;
  throw toUnknownWrite();
}

function toBytes(text: string, limits: Limits): Uint8Array {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length > limits.maxBytes) throw toTooLarge(limits);
  return bytes;
}

/** What is refused before any check has run, because there is nothing, is answered as a check that failed. */
function toRejected(error: unknown): Rejected {
  if (!(error instanceof TeddyError) || error.code !== 'VALIDATION_FAILED') throw error;
  const message = error.message.replace(/^Validation failed: /, '');
  return {
    findings: [{ check: 'content', message }],
    summary: { passed: [], failed: ['content'], skipped: [] },
    message: error.message,
    reason: null,
  };
}

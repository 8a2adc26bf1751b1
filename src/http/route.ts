/** Every route has a description, an input and an answer. */
import type { RouteConfig, z } from '@hono/zod-openapi';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ServerEvent } from './event-stream.ts';
import type { Visitor } from './page-access.ts';
import { InvalidRequest } from './refusal.ts';
import { errorAnswer } from './schemas.ts';
import type { StatusChanges } from './status.ts';

/** A request that the server has let in. */
export interface Call {
  /** The write session in the path; empty when the path names none. */
  sessionId: string;
  /** The session as the path names it (by ID, part of an ID, or branch); empty when the path names none. */
  session: string;
  /** The turn as the path names it; empty when the path names none. */
  turn: string;
  /** This server's address as the client wrote it: `http://127.0.0.1:5000`. */
  origin: string;
  port: number;
  /** The client's port. */
  peerPort: number;
  visitor: Visitor;
  /** All parameters in the query. A parameter that the client sends twice has two values. */
  query: Record<string, string[]>;
  /** The header that a client sends to continue a stream. */
  lastEventId: string | undefined;
  json(): Promise<unknown>;
  /** Records in the log which write session the call is about. */
  note(sessionId: string): void;
}

export type Reply =
  | { status: ContentfulStatusCode; body: object }
  /** `formAction` limits where a form without a script may send its data. */
  | { status: ContentfulStatusCode; html: string; formAction: "'none'" | "'self'" }
  | { status: 303; location: string; cookie: string }
  /** The stream ends by itself, or soon after the signal aborts. */
  | { events(signal: AbortSignal): AsyncIterable<ServerEvent> };

/** A page route, which `/openapi.json` does not describe. */
export interface PlainRoute {
  method: 'get' | 'post';
  path: string;
  /** Codes with another meaning for this call than for the others. */
  statuses?: StatusChanges;
  answer(call: Call): Promise<Reply>;
}

export interface Route extends Pick<PlainRoute, 'statuses' | 'answer'> {
  config: RouteConfig & { getRoutingPath(): string };
}

export const security = [{ token: [] }];

const reasons = {
  400: 'The request is not valid.',
  404: 'The session does not exist or has expired.',
  409: 'The current state does not allow this.',
  413: 'The content is too large.',
  503: 'The server has reached its stream limit.',
};

export function json<Schema extends z.ZodType>(schema: Schema) {
  return { 'application/json': { schema } };
}

export function refusals(...statuses: (keyof typeof reasons)[]) {
  return Object.fromEntries(
    statuses.map((status) => [status, { description: reasons[status], content: json(errorAnswer) }]),
  );
}

export function ok(body: object): Reply {
  return { status: 200, body };
}

export type Issue = z.core.$ZodIssue;

interface Problem {
  /** The answer's code is the code of the problem with the lowest rank. */
  rank: number;
  code: ConstructorParameters<typeof InvalidRequest>[0];
  message: string;
}

export function describeIssue({ path, message }: Issue): Problem {
  return { rank: 0, code: 'USAGE', message: `${path.length === 0 ? 'the body' : path.join('.')}: ${message}` };
}

const kinds: Record<string, string> = {
  string: 'a text',
  number: 'a whole number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};
const units: Record<string, string> = { string: ' characters', array: ' elements' };

/**
 * Returns the reason why the schema refuses a value, as words that follow the value's name. A schema's own message
 * takes precedence.
 */
export function inWords(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${kinds[issue.expected] ?? 'of another type'}`;
    case 'unrecognized_keys': {
      const names = issue.keys.slice(0, 5).map((key) => JSON.stringify(key.slice(0, 60)));
      return `has unknown fields: ${names.join(', ')}`;
    }
    case 'invalid_value':
      return `must be ${issue.values.map((value) => JSON.stringify(value)).join(' or ')}`;
    case 'too_small':
      if (issue.minimum === 1 && issue.origin in units) return 'must not be empty';
      return `must ${issue.origin in units ? 'have' : 'be'} at least ${issue.minimum}${units[issue.origin] ?? ''}`;
    case 'too_big':
      if (issue.origin === 'int') return 'must be a whole number';
      return `must ${issue.origin in units ? 'have' : 'be'} at most ${issue.maximum}${units[issue.origin] ?? ''}`;
    default:
      return 'does not match any of the allowed forms';
  }
}

/** Throws an InvalidRequest that lists every problem, and the errors of `toProblem`. */
export function parse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  toProblem: (issue: Issue) => Problem = describeIssue,
): z.infer<Schema> {
  const result = schema.safeParse(value, { error: inWords });
  if (result.success) return result.data;
  const problems = result.error.issues.map(toProblem).toSorted((one, other) => one.rank - other.rank);
  throw new InvalidRequest(
    problems[0]?.code ?? 'USAGE',
    problems.map(({ message }) => message),
  );
}

/** Runs work that must not overlap: each piece begins when the previous one has ended, whether it succeeded or failed. */
export type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function oneAtATime(onEnd: () => void): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const run = last.then(work).finally(onEnd);
    last = run.catch(() => undefined);
    return run;
  };
}

/** Every route has a description, an input and an answer. */
import type { RouteConfig, z } from '@hono/zod-openapi';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ServerEvent } from './event-stream.ts';
import type { Visitor } from './page-access.ts';
import { InvalidRequest } from './refusal.ts';
import { errorAnswer } from './schemas.ts';
import type { StatusChanges } from './status.ts';

/** A request that was admitted. */
export interface Call {
  /** The write session of the path; empty where the path has none. */
  sessionId: string;
  /** The path's name for a session (an id, a part of it, a branch); empty where the path has none. */
  session: string;
  /** The path's name for a turn; empty where the path has none. */
  turn: string;
  /** The address of this server as the client has named it: `http://127.0.0.1:5000`. */
  origin: string;
  port: number;
  /** The port from which it was called. */
  peerPort: number;
  visitor: Visitor;
  /** Every parameter of the query; one that is given twice has two values. */
  query: Record<string, string[]>;
  /** A client that goes on with a stream sends this header. */
  lastEventId: string | undefined;
  json(): Promise<unknown>;
  /** Names the write session for the log. */
  note(sessionId: string): void;
}

export type Reply =
  | { status: ContentfulStatusCode; body: object }
  /** `formAction`: what a form may be sent to without script. */
  | { status: ContentfulStatusCode; html: string; formAction: "'none'" | "'self'" }
  | { status: 303; location: string; cookie: string }
  /** Ends by itself, or soon after the abort of the signal. */
  | { events(signal: AbortSignal): AsyncIterable<ServerEvent> };

/** A route of the pages: `/openapi.json` does not describe it. */
export interface PlainRoute {
  method: 'get' | 'post';
  path: string;
  /** Codes that mean something else to this call than to the others. */
  statuses?: StatusChanges;
  answer(call: Call): Promise<Reply>;
}

export interface Route extends Pick<PlainRoute, 'statuses' | 'answer'> {
  config: RouteConfig & { getRoutingPath(): string };
}

export const security = [{ token: [] }];

const reasons = {
  400: 'What was sent is not valid.',
  404: 'There is no such session, or it has expired.',
  409: 'It cannot be done as things stand.',
  413: 'The content is too large.',
  503: 'The server has as many streams as it can have.',
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
  /** The code of the problem with the lowest rank is answered. */
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

/** Says why a value is refused, to follow its name; a schema's own words go before these. */
export function inWords(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${kinds[issue.expected] ?? 'of another type'}`;
    case 'unrecognized_keys': {
      const names = issue.keys.slice(0, 5).map((key) => JSON.stringify(key.slice(0, 60)));
      return `has fields that are not known: ${names.join(', ')}`;
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
      return 'has none of the forms that it can have';
  }
}

/** Throws an InvalidRequest that names everything that is wrong, and what `toProblem` throws. */
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

/** Runs pieces of work that must not overlap: each begins when the one before has ended, however that ended. */
export type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function oneAtATime(onEnd: () => void): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const run = last.then(work).finally(onEnd);
    last = run.catch(() => undefined);
    return run;
  };
}

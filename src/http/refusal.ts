/** Reports to a client why a call failed: always as `{ error, code, errors }`, never with a stack trace. */
import { TeddyError, type ErrorCode } from '../errors.ts';
import { OffsetMismatch } from '../write/write-errors.ts';
import { statusOfRefusal, toErrorStatus, type ErrorStatus, type RefusalCode, type StatusChanges } from './status.ts';

/** Refuses a request before it reaches the workflow. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly headers: Record<string, string>;

  constructor(code: RefusalCode, message: string, headers: Record<string, string> = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.headers = headers;
  }
}

interface ErrorBody {
  error: string;
  code: string;
  errors: string[];
  expected_offset?: number;
  /** The next step, worded for the user. */
  hint?: string;
}

export interface ErrorAnswer {
  status: ErrorStatus;
  headers: Record<string, string>;
  body: ErrorBody;
}

const internalError = 'An internal error occurred. Please try again.';

/**
 * Returns the answer for an error. A TeddyError that is missing from the table of statuses keeps its code, and its
 * message in `errors`; a defect keeps neither. `isForPage` shows the message and the hint to the user, as in a
 * terminal, and does not count the error as a failure of the server.
 */
export function toErrorAnswer(
  error: unknown,
  changes?: StatusChanges,
  { isForPage = false }: { isForPage?: boolean } = {},
): ErrorAnswer {
  if (error instanceof Refusal) {
    const { code, message, headers } = error;
    return { status: statusOfRefusal[code], headers, body: { error: message, code, errors: [message] } };
  }
  if (!(error instanceof TeddyError)) {
    return { status: 500, headers: {}, body: { error: internalError, code: 'DEFECT', errors: [] } };
  }
  const { code, message } = error;
  const known = toErrorStatus(code, changes);
  const status = known === 500 && isForPage ? 409 : known;
  const errors = error instanceof InvalidRequest ? error.problems : [message];
  const expected = error instanceof OffsetMismatch ? { expected_offset: error.expected } : {};
  const { hint } = isForPage ? toPageWords(error) : { hint: null };
  const told = { error: status === 500 ? internalError : message, code, errors, ...expected };
  const body = hint === null ? told : { ...told, hint };
  return { status, headers: {}, body };
}

/**
 * The next step on a page, where the command line's hint would send the user to a terminal in vain. `add` keeps that hint,
 * because only a command can do it.
 */
const pageHints: Partial<Record<ErrorCode, string | { add: string }>> = {
  PLAN_REPLACED: 'Nothing was done. Read the plan that the page shows now, and decide again.',
  NO_PENDING_PLAN: 'Somebody has decided already; the page shows how. Say below what you want next.',
  PLAN_PENDING: 'Decide about it below; “No, differently” sends your words with the decision.',
  PLAN_MODIFIED: { add: 'Then decide here.' },
  VALIDATION_FAILED: 'Nothing was run. Choose “Ask for a new plan”, or “No, differently”.',
  EMPTY_MESSAGE: 'Write a few words in the box below, or comment on a line.',
  LOCKED: 'Wait until it has finished, or stop it: with Stop on its page, or with Ctrl-C in its terminal.',
  NOT_ON_LINE: { add: 'Once it is checked out, choose Run here.' },
  APPROVAL_MISSING:
    'If its message is not yours, choose Approve here, then Run. Otherwise somebody else has to approve it in their clone; the page shows their approval once you have pulled it.',
  AGENT_MAY_NOT_APPROVE: 'A program has opened this page. Open it yourself, in a terminal of your own: `teddy view`.',
  NO_MODEL: { add: 'Your message is kept: then choose “Ask again” here.' },
  INTERRUPTED: 'The page shows what was done until then. If teddy itself was stopped, start it again: `teddy view`.',
};

/** Returns an error's words for a person at a page. */
export function toPageWords({ code, message, hint = '' }: TeddyError): { message: string; hint: string | null } {
  const own = pageHints[code];
  const words = typeof own === 'object' ? [hint, own.add].join(' ').trim() : (own ?? hint);
  return { message, hint: words === '' ? null : words };
}

/** Reports several problems in one request together. */
export class InvalidRequest extends TeddyError {
  readonly problems: string[];

  constructor(code: 'USAGE' | 'BAD_TARGET' | 'BAD_OPERATION' | 'BAD_RECORD', problems: string[]) {
    super(code, problems[0] ?? 'The request is not valid.', 'GET /openapi.json describes every call.');
    this.problems = problems;
  }
}

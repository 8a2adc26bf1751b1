/** Reports to a client why a call failed: always as `{ error, code, errors }`, never with a stack trace. */
import { TeddyError } from '../errors.ts';
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
  const hint = isForPage && error.hint !== undefined ? { hint: error.hint } : {};
  const body = { error: status === 500 ? internalError : message, code, errors, ...expected, ...hint };
  return { status, headers: {}, body };
}

/** Reports several problems in one request together. */
export class InvalidRequest extends TeddyError {
  readonly problems: string[];

  constructor(code: 'USAGE' | 'BAD_TARGET' | 'BAD_OPERATION' | 'BAD_RECORD', problems: string[]) {
    super(code, problems[0] ?? 'The request is not valid.', 'GET /openapi.json describes every call.');
    this.problems = problems;
  }
}

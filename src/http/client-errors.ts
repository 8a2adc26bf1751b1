/** What a server's refusal is on the command line: the same code, in the words for whoever runs the command. */
import { exitCodes, TeddyError, type ErrorCode } from '../errors.ts';
import { OffsetMismatch } from '../write/offset-mismatch.ts';
import type { RejectedAnswer } from './schemas.ts';
import { toErrorStatus } from './status.ts';

export type CallName = 'begin' | 'append' | 'finalize' | 'status' | 'list' | 'cancel';

/** The content is not valid; `answer` says everything that was found. */
export class RejectedContent extends TeddyError {
  readonly answer: RejectedAnswer;

  constructor(answer: RejectedAnswer) {
    const details = answer.error.replace(/^Validation failed: /, '').replace(/\.$/, '');
    const hint =
      answer.reason === null
        ? 'Send the corrected content; the session goes on.'
        : `No correction is taken any more (${answer.reason}); begin again.`;
    super('VALIDATION_FAILED', `Content validation failed: ${details}. Please fix and try again.`, hint);
    this.answer = answer;
  }
}

interface Told {
  error: string;
  code: string;
  expected: number | null;
}

export function toClientError(name: CallName, url: string, status: number, body: object | null): TeddyError {
  const told = readTold(body);
  if (told === null) return toDefect(url, status);
  const { error, code, expected } = told;
  if (code === 'TOKEN_REFUSED') return toRefusedToken(url);
  if (name === 'finalize' && code === 'VALIDATION_FAILED') return new RejectedContent(body as RejectedAnswer);
  if (name === 'begin') return new TeddyError(toCode(code), `Cannot start new session: ${error}`, hintOf(code));
  if (code === 'CONTENT_TOO_LARGE') {
    const message = 'Content too large (exceeds 10MB). Please split into smaller files.';
    return new TeddyError('CONTENT_TOO_LARGE', message, hintOf(code));
  }
  if (expected !== null) return new OffsetMismatch(error, expected);
  return new TeddyError(toCode(code), error, hintOf(code));
}

export function toUnreachable(url: string, cause: unknown): TeddyError {
  return new TeddyError(
    'SERVER_UNREACHABLE',
    `Failed to connect to backend at ${url}. Check if server is running.`,
    'Start it in the repository: `teddy serve`; it prints its address.',
    { cause },
  );
}

/** What answers there is no server of teddy's, or does not do its work. */
export function toDefect(url: string, status: number): TeddyError {
  return new TeddyError(
    'SERVER_UNREACHABLE',
    `${url} answers with status ${status}, but not as a server of teddy.`,
    'Check the address: `teddy serve` prints it.',
  );
}

function toRefusedToken(url: string): TeddyError {
  return new TeddyError(
    'SERVER_UNREACHABLE',
    `The server at ${url} refuses the token.`,
    'Run the command in the repository that it serves, or set TEDDY_SERVER_TOKEN to the token of its server.json.',
  );
}

function readTold(body: object | null): Told | null {
  const { error, code, expected_offset: expected } = (body ?? {}) as Record<string, unknown>;
  if (typeof error !== 'string' || typeof code !== 'string') return null;
  return { error, code, expected: typeof expected === 'number' ? expected : null };
}

/** Refusals of HTTP itself and defects of the server are nothing that the workflow knows. */
function toCode(code: string): ErrorCode {
  return Object.hasOwn(exitCodes, code) ? (code as ErrorCode) : 'SERVER_UNREACHABLE';
}

function hintOf(code: string): string | undefined {
  if (code === 'WRITE_ACTIVE') return '`teddy write list` shows it; `teddy write cancel <id>` gives it up.';
  if (code === 'UNKNOWN_WRITE') return '`teddy write list` shows what there is.';
  if (code === 'CONTENT_TOO_LARGE')
    return 'Or raise the limit where the server runs: `git config teddy.write.maxBytes`.';
  // What was wrong with the request, the message says itself.
  return toErrorStatus(code as ErrorCode) === 500 ? 'The log of the server says more.' : undefined;
}

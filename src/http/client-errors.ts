/** A server's refusal as an error of the command line: the same code, in words for the person who runs the command. */
import { exitCodes, TeddyError, type ErrorCode } from '../errors.ts';
import { OffsetMismatch } from '../write/offset-mismatch.ts';
import { toErrorStatus } from './status.ts';

export type CallName = 'begin' | 'append' | 'finalize' | 'status' | 'list' | 'cancel';

export function toClientError(name: CallName, url: string, status: number, body: object | null): TeddyError {
  const { error, code, expected_offset: expected } = (body ?? {}) as Record<string, unknown>;
  if (typeof error !== 'string' || typeof code !== 'string') return toDefect(url, status);
  if (code === 'TOKEN_REFUSED')
    return new TeddyError(
      'SERVER_UNREACHABLE',
      `The server at ${url} refuses the token.`,
      'Run the command in the repository that it serves, or set TEDDY_SERVER_TOKEN to the token of its server.json.',
    );
  if (typeof expected === 'number') return new OffsetMismatch(error, expected);
  return new TeddyError(toCode(code), toMessage(name, code, error), hintOf(code));
}

function toMessage(name: CallName, code: string, error: string): string {
  if (name === 'begin') return `Cannot start new session: ${error}`;
  return code === 'CONTENT_TOO_LARGE' ? 'Content too large (exceeds 10MB). Please split into smaller files.' : error;
}

/** Another program answers, or a server of teddy's that does not do its work. */
export function toDefect(url: string, status: number): TeddyError {
  return new TeddyError(
    'SERVER_UNREACHABLE',
    `${url} answers with status ${status}, but not as a server of teddy.`,
    'Check the address: `teddy serve` prints it.',
  );
}

/** The workflow knows neither refusals of HTTP itself nor defects of the server. */
function toCode(code: string): ErrorCode {
  return Object.hasOwn(exitCodes, code) ? (code as ErrorCode) : 'SERVER_UNREACHABLE';
}

function hintOf(code: string): string | undefined {
  if (code === 'WRITE_ACTIVE') return '`teddy write list` shows it; `teddy write cancel <id>` gives it up.';
  if (code === 'UNKNOWN_WRITE') return '`teddy write list` shows what there is.';
  if (code === 'CONTENT_TOO_LARGE')
    return 'Or raise the limit where the server runs: `git config teddy.write.maxBytes`.';
  // The message says itself what was wrong with the request.
  return toErrorStatus(code as ErrorCode) === 500 ? 'The log of the server says more.' : undefined;
}

/** The errors of write sessions that more than one step of them throws. */
import { TeddyError } from '../errors.ts';
import type { Limits } from '../session/settings/write-limits.ts';

/** The session is over, has expired, or never was. */
export function unknownWriteError(): TeddyError {
  return new TeddyError(
    'UNKNOWN_WRITE',
    'Session not found or expired. Please start a new write session.',
    '`teddy write list` shows what there is; `teddy write recover <id>` brings back what expired.',
  );
}

export function finalizingError(): TeddyError {
  return new TeddyError(
    'WRITE_FINALIZING',
    'The content is whole, and is being put in place; nothing more can be done with it.',
    'Go on where it stopped: `teddy write recover <id> --finalize`.',
  );
}

export function damagedWriteError(id: string): TeddyError {
  return new TeddyError(
    'STAGING_DAMAGED',
    `What was staged of write session ${id} is damaged.`,
    `\`teddy write recover ${id} --output <file>\` writes what is left of it to a file.`,
  );
}

export class ContentTooLarge extends TeddyError {
  /** `10MB`. */
  readonly limit: string;

  constructor({ maxBytes }: Pick<Limits, 'maxBytes'>) {
    const limit = maxBytes % (1024 * 1024) === 0 ? `${maxBytes / (1024 * 1024)}MB` : `${maxBytes}-byte`;
    super(
      'CONTENT_TOO_LARGE',
      `Content exceeds ${limit} limit. Please reduce file size.`,
      'Split it into smaller files, or raise the limit: `git config teddy.write.maxBytes <bytes>`.',
    );
    this.limit = limit;
  }
}

/** Sent bytes do not fit the known content; the next ones belong at `expected`. */
export class OffsetMismatch extends TeddyError {
  readonly expected: number;

  constructor(message: string, expected: number) {
    const hint = `Send what follows byte ${expected}; bytes that are known already may be sent again, unchanged.`;
    super('OFFSET_MISMATCH', message, hint);
    this.expected = expected;
  }
}

/** A disk that is full or cannot be written may take the same bytes later. */
export function isDiskError(error: unknown): error is TeddyError {
  return error instanceof TeddyError && (error.code === 'DISK_FULL' || error.code === 'WRITE_FAILED');
}

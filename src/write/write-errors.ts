/** The errors that several steps of a write session throw. */
import { TeddyError } from '../errors.ts';
import type { Limits } from '../session/settings/write-limits.ts';

/** The session is over, has expired, or never existed. */
export function unknownWriteError(): TeddyError {
  return new TeddyError(
    'UNKNOWN_WRITE',
    'Session not found or expired. Please start a new write session.',
    '`teddy write list` lists the write sessions; `teddy write recover <id>` brings back one that expired.',
  );
}

export function finalizingError(): TeddyError {
  return new TeddyError(
    'WRITE_FINALIZING',
    'The content is complete and is being written to its file, so it can no longer be changed or cancelled.',
    'If this was interrupted, finish it: `teddy write recover <id> --finalize`.',
  );
}

export function damagedWriteError(id: string): TeddyError {
  return new TeddyError(
    'STAGING_DAMAGED',
    `The staged content of write session ${id} is damaged.`,
    `\`teddy write recover ${id} --output <file>\` writes the readable part to a file.`,
  );
}

export class ContentTooLarge extends TeddyError {
  /** For the user: `10MB`. */
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

/** The sent bytes do not match the known content; the next bytes belong at `expected`. */
export class OffsetMismatch extends TeddyError {
  readonly expected: number;

  constructor(message: string, expected: number) {
    const hint = `Send the content after byte ${expected}; bytes that were already received may be sent again, unchanged.`;
    super('OFFSET_MISMATCH', message, hint);
    this.expected = expected;
  }
}

/** Returns true if the disk was full or not writable, and may accept these bytes later. */
export function isDiskError(error: unknown): error is TeddyError {
  return error instanceof TeddyError && (error.code === 'DISK_FULL' || error.code === 'WRITE_FAILED');
}

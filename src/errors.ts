/** Every error that teddy raises on purpose, with a description, the next step and a stable code. */
export const exitCodes = {
  // 1: an action, a validation or a check failed, or the environment is unsuitable
  NOT_A_REPOSITORY: 1,
  NO_WORK_TREE: 1,
  NO_IDENTITY: 1,
  GIT_TOO_OLD: 1,
  GIT_MISSING: 1,
  GIT_FAILED: 1,
  SNAPSHOT_FAILED: 1,
  DISK_FULL: 1,
  TOO_MANY_FILES: 1,
  SYSTEM_FAILED: 1,
  WRITE_FAILED: 1,
  DAMAGED_SESSION: 1,
  VALIDATION_FAILED: 1,
  ACTION_FAILED: 1,
  MASKING_FAILED: 1,
  UNDO_INCOMPLETE: 1,
  ROLLBACK_INCOMPLETE: 1,
  CONTENT_TOO_LARGE: 1,
  END_MISSING: 1,
  STAGING_DAMAGED: 1,
  NOTHING_TO_IMPORT: 1,
  HISTORY_INVALID: 1,
  HOSTILE_SESSION: 1,
  SIGNING_FAILED: 1,
  // 2: wrong usage
  USAGE: 2,
  BAD_NAME: 2,
  UNKNOWN_SESSION: 2,
  AMBIGUOUS_SESSION: 2,
  NO_OPEN_SESSION: 2,
  UNKNOWN_WORK_TREE: 2,
  UNKNOWN_TURN: 2,
  UNKNOWN_AGENT: 2,
  UNKNOWN_PROVIDER: 2,
  BAD_SETTING: 2,
  EMPTY_MESSAGE: 2,
  FILE_NOT_FOUND: 2,
  BAD_RECORDING: 2,
  UNKNOWN_MEMO: 2,
  BAD_OPERATION: 2,
  BAD_TARGET: 2,
  UNKNOWN_WRITE: 2,
  UNKNOWN_COMMIT: 2,
  UNKNOWN_FORMAT: 2,
  BAD_RECORD: 2,
  UNKNOWN_REMOTE: 2,
  UNKNOWN_BRANCH: 2,
  UNKNOWN_HOOK: 2,
  SHALLOW_CLONE: 2,
  // 3: refused by a guard
  TURN_OPEN: 3,
  PLAN_PENDING: 3,
  NO_PENDING_PLAN: 3,
  PLAN_REPLACED: 3,
  APPROVAL_MISSING: 3,
  AGENT_MAY_NOT_APPROVE: 3,
  RUN_INTERRUPTED: 3,
  NO_INTERRUPTED_RUN: 3,
  PLAN_MODIFIED: 3,
  FILE_MODIFIED: 3,
  REF_MOVED: 3,
  NOT_ON_LINE: 3,
  LINE_CHECKED_OUT: 3,
  WORK_TREE_IN_USE: 3,
  OPERATION_IN_PROGRESS: 3,
  BRANCH_IN_THE_WAY: 3,
  FILES_IN_THE_WAY: 3,
  UNCOMMITTED_EDITS: 3,
  PARTIALLY_STAGED: 3,
  LOCKED: 3,
  NOTHING_TO_UNDO: 3,
  NOTHING_TO_RESUME: 3,
  CONTEXT_TOO_LARGE: 3,
  BUDGET_SPENT: 3,
  PAGE_REFUSED: 3,
  WRITE_ACTIVE: 3,
  WRITE_FINALIZING: 3,
  TARGET_CHANGED: 3,
  OFFSET_MISMATCH: 3,
  SERVER_RUNNING: 3,
  ENTRY_EXISTS: 3,
  REMOTE_EMPTY: 3,
  REMOTE_AHEAD: 3,
  REMOTE_CHANGED: 3,
  SECRET_FOUND: 3,
  FAULTY_SESSION: 3,
  NOTHING_TO_LAND: 3,
  OWN_EDITS: 3,
  LAND_CONFLICT: 3,
  HOOK_IN_THE_WAY: 3,
  NOT_CAPTURED: 3,
  // 4: not approved
  NOT_APPROVED: 4,
  // 5: model or network
  NO_MODEL: 5,
  MODEL_AUTH: 5,
  MODEL_NOT_FOUND: 5,
  MODEL_RATE_LIMIT: 5,
  MODEL_FAILED: 5,
  MODEL_OVERFLOW: 5,
  MODEL_UNREACHABLE: 5,
  MODEL_INTERRUPTED: 5,
  MODEL_STUCK: 5,
  EMPTY_ANSWER: 5,
  PAGE_FAILED: 5,
  SERVER_UNREACHABLE: 5,
  REMOTE_UNREACHABLE: 5,
  REMOTE_REFUSED: 5,
  // 130: Ctrl-C
  INTERRUPTED: 130,
} as const;

export type ErrorCode = keyof typeof exitCodes;

/** An expected failure. `message` explains what happened and why, `hint` what to do next; neither ends with a newline. */
export class TeddyError extends Error {
  override readonly name = 'TeddyError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string, hint?: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.hint = hint;
  }

  get exitCode(): number {
    return exitCodes[this.code];
  }
}

/** Raised when git exited by itself and reported a missing or damaged object. Any other GIT_FAILED is git's own failure. */
export class DamagedObjectError extends TeddyError {
  constructor(message: string, hint?: string) {
    super('GIT_FAILED', message, hint);
  }
}

/** A remote refused some of the pushed refs because of its rules or hooks, and changed none. */
export class RemoteRefusedError extends TeddyError {
  /** The error for each refused ref by itself. */
  readonly refusals: ReadonlyMap<string, TeddyError>;

  constructor({ message, hint }: TeddyError, refusals: ReadonlyMap<string, TeddyError>) {
    super('REMOTE_REFUSED', message, hint);
    this.refusals = refusals;
  }
}

/** Returns true if an error concerns the objects that teddy read, not the machine that read them. */
export function isDamage(error: unknown): error is TeddyError {
  return error instanceof DamagedObjectError || (error instanceof TeddyError && error.code === 'DAMAGED_SESSION');
}

/** For `catch`: returns null for damage, and rethrows any other error. */
export function nullIfDamaged(error: unknown): null {
  if (isDamage(error)) return null;
  throw error;
}

interface SystemError extends Error {
  code: string;
  errno: number;
}

/**
 * Returns the system error in an error or its causes. Null when there is none, so that the error is a defect or one of
 * teddy's own.
 */
function findSystemError(error: unknown): SystemError | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, errno } = at as Partial<SystemError>;
    if (typeof code === 'string' && typeof errno === 'number') return at as SystemError;
  }
  return null;
}

/**
 * Turns a failure of the environment into an error with a code and a hint; returns null for any other error. Returns
 * teddy's own errors unchanged, except when the process could not open more files, because the code that raised the
 * error could not see that the file itself is fine.
 */
export function toWorldError(error: unknown): TeddyError | null {
  const found = findSystemError(error);
  if (found?.code === 'EMFILE' || found?.code === 'ENFILE') return tooManyFilesError(found);
  if (error instanceof TeddyError) return error;
  if (found === null) return null;
  const { code, message } = found;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new TeddyError('DISK_FULL', `No space left: ${message}`, 'Free some space and run the command again.', {
      cause: error,
    });
  return new TeddyError(
    'SYSTEM_FAILED',
    `The system refused an operation: ${message}`,
    'Your session is intact. Make sure that the file can be read and written, and run the command again.',
    { cause: error },
  );
}

/** Returns the message of any thrown value. */
export function toMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function notCapturedError(): TeddyError {
  return new TeddyError(
    'NOT_CAPTURED',
    "Other agents' sessions are not captured in this repository.",
    'To capture them: `teddy capture install`.',
  );
}

export function tooShortError(path: string, count: number): TeddyError {
  return new TeddyError(
    'USAGE',
    `${path} has ${count} ${count === 1 ? 'line' : 'lines'}.`,
    count === 0 ? 'The file is empty, so it has no lines to explain.' : `Name a line from 1 to ${count}.`,
  );
}

export function tooManyFilesError(cause?: unknown): TeddyError {
  return new TeddyError(
    'TOO_MANY_FILES',
    'The system does not let this process open any more files.',
    'Raise the limit, `ulimit -S -n "$(ulimit -H -n)"`, or open a new shell; then run the command again.',
    { cause },
  );
}

/** A GIT_FAILED error for a git process that somebody or the system has killed. The process gave no answer at all. */
export class GitKilledError extends TeddyError {
  constructor(message: string, hint: string) {
    super('GIT_FAILED', message, hint);
  }
}

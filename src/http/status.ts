/** The table that maps error codes to HTTP statuses. Every other code is a failure of the server: 500. */
import type { ErrorCode } from '../errors.ts';

export const statusOfCode = {
  USAGE: 400,
  BAD_NAME: 400,
  BAD_OPERATION: 400,
  BAD_TARGET: 400,
  AMBIGUOUS_SESSION: 400,
  UNKNOWN_SESSION: 400,
  FILE_NOT_FOUND: 400,
  NO_WORK_TREE: 400,
  VALIDATION_FAILED: 400,
  BAD_RECORD: 400,
  UNKNOWN_FORMAT: 400,
  UNKNOWN_TURN: 404,
  UNKNOWN_COMMIT: 404,
  UNKNOWN_WRITE: 404,
  ENTRY_EXISTS: 409,
  WRITE_ACTIVE: 409,
  WRITE_FINALIZING: 409,
  TARGET_CHANGED: 409,
  OFFSET_MISMATCH: 409,
  STAGING_DAMAGED: 409,
  LOCKED: 409,
  AGENT_MAY_NOT_APPROVE: 403,
  REF_MOVED: 409,
  TURN_OPEN: 409,
  PLAN_PENDING: 409,
  PLAN_REPLACED: 409,
  APPROVAL_MISSING: 409,
  RUN_INTERRUPTED: 409,
  FILE_MODIFIED: 409,
  LINE_CHECKED_OUT: 409,
  NOT_ON_LINE: 409,
  OPERATION_IN_PROGRESS: 409,
  BRANCH_IN_THE_WAY: 409,
  FILES_IN_THE_WAY: 409,
  UNCOMMITTED_EDITS: 409,
  PARTIALLY_STAGED: 409,
  NOT_APPROVED: 409,
  CONTENT_TOO_LARGE: 413,
  DISK_FULL: 507,
} as const satisfies Partial<Record<ErrorCode, number>>;

/** HTTP's own codes, which only clients of the server see. */
export const statusOfRefusal = {
  MALFORMED_REQUEST: 400,
  MALFORMED_JSON: 400,
  REQUEST_ABORTED: 400,
  TOKEN_REFUSED: 401,
  CODE_REFUSED: 401,
  HOST_REFUSED: 403,
  ORIGIN_REFUSED: 403,
  NO_SUCH_CALL: 404,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  UNSUPPORTED_MEDIA_TYPE: 415,
  HEADERS_TOO_LARGE: 431,
  TOO_MANY_STREAMS: 503,
} as const;

export type RefusalCode = keyof typeof statusOfRefusal;
export type ErrorStatus =
  (typeof statusOfCode)[keyof typeof statusOfCode] | (typeof statusOfRefusal)[RefusalCode] | 500;

/** A code's meaning for one call, when it differs from the table. */
export type StatusChanges = Partial<Record<ErrorCode, ErrorStatus>>;

export function toErrorStatus(code: ErrorCode, changes: StatusChanges = {}): ErrorStatus {
  return changes[code] ?? (statusOfCode as StatusChanges)[code] ?? 500;
}

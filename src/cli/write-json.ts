/** What the `write` commands say of a session, in the words of the HTTP API: a server's answer and our own are shown alike. */
import type { BeginAnswer, FinalizeAnswer, RejectedAnswer, StatusAnswer } from '../http/schemas.ts';
import type { Begun } from '../workflow/writes/begin-write.ts';
import type { Finalized } from '../workflow/writes/finalize-write.ts';
import type { WriteView } from '../workflow/writes/list-writes.ts';
import type { Finding } from '../write/write.ts';

export type BegunJson = BeginAnswer;
export type StatusJson = StatusAnswer;
export type WrittenJson = FinalizeAnswer;
export type RejectedJson = RejectedAnswer;
export type FinalizedJson = WrittenJson | RejectedJson;

export function toBegunJson({ record, state, directory, instructions, warnings }: Begun): BegunJson {
  return {
    session_id: record.id,
    status: 'active',
    stage: state.phase,
    session_dir: directory,
    end_marker: record.endMarker,
    instructions,
    warnings,
  };
}

export function toStatusJson({ record, result, ...view }: WriteView): StatusJson {
  return {
    session_id: view.id,
    status: view.status,
    stage: view.stage,
    created_at: view.createdAt,
    saved_at: view.savedAt,
    intent: record?.intent ?? null,
    target_file: record?.target ?? null,
    operation: record?.operation ?? null,
    end_marker: record?.endMarker ?? null,
    size: view.size,
    unverified_bytes: view.tailBytes,
    findings: view.findings,
    reason: view.reason,
    written_path: result === null ? null : (record?.target ?? null),
    commit: result?.commit ?? null,
  };
}

export function toFinalizedJson(finalized: Finalized): FinalizedJson {
  return finalized.isWritten ? toWrittenJson(finalized) : toRejectedJson(finalized);
}

export function toWrittenJson({ record, result }: Extract<Finalized, { isWritten: true }>): WrittenJson {
  return {
    session_id: record.id,
    success: true,
    errors: [],
    validation_summary: result.summary,
    written_path: record.target,
    commit: result.commit,
    notes: result.notes,
  };
}

function toRejectedJson(rejected: Extract<Finalized, { isWritten: false }>): RejectedJson {
  const { record, findings, summary, message, reason } = rejected;
  const errors = findings.map(describeFinding);
  return {
    session_id: record.id,
    success: false,
    error: `Validation failed: ${errors.join('; ')}`,
    code: 'VALIDATION_FAILED',
    errors,
    findings,
    validation_summary: summary,
    message,
    stage: reason === null ? 'needs_corrections' : 'failed',
    reason,
  };
}

function describeFinding({ message, line, column }: Finding): string {
  if (line === undefined) return message;
  return `line ${line}${column === undefined ? '' : `, column ${column}`}: ${message}`;
}

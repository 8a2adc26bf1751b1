/** What the verbs of the workflow say, in the words of the wire. Light: the command line says the same of its own work. */
import type { Begun } from '../workflow/writes/begin.ts';
import type { Finalized } from '../workflow/writes/finalize.ts';
import type { WriteView } from '../workflow/writes/list.ts';
import type { Finding } from '../write/write.ts';
import type { BeginAnswer, FinalizeAnswer, RejectedAnswer, StatusAnswer } from './schemas.ts';

type Written = Extract<Finalized, { isWritten: true }>;
export type Rejected = Pick<Extract<Finalized, { isWritten: false }>, 'findings' | 'summary' | 'message' | 'reason'>;

export function toBeginAnswer({ record, state, directory, instructions, warnings }: Begun): BeginAnswer {
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

export function toFinalizeAnswer({ record, result }: Written): FinalizeAnswer {
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

export type FinalizedAnswer = FinalizeAnswer | RejectedAnswer;

export function toFinalizedAnswer(finalized: Finalized): FinalizedAnswer {
  return finalized.isWritten ? toFinalizeAnswer(finalized) : toRejectedAnswer(finalized.record.id, finalized);
}

export function toRejectedAnswer(id: string, { findings, summary, message, reason }: Rejected): RejectedAnswer {
  const errors = findings.map(renderFinding);
  return {
    session_id: id,
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

function renderFinding({ message, line, column }: Finding): string {
  if (line === undefined) return message;
  return `line ${line}${column === undefined ? '' : `, column ${column}`}: ${message}`;
}

export function toStatusAnswer({ record, result, ...view }: WriteView): StatusAnswer {
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

/**
 * One interface for write sessions, with the HTTP API's field names. This file implements it with the workflow,
 * `client.ts` with calls to a server.
 */
import { TeddyError } from '../errors.ts';
import type { Project } from '../ports/project.ts';
import type { AppendRequest } from '../workflow/writes/append.ts';
import type { Begun, WriteRequest } from '../workflow/writes/begin.ts';
import type { CleanedWrite } from '../workflow/writes/clean.ts';
import type { Finalized, FinalizeRequest } from '../workflow/writes/finalize.ts';
import type { WriteView } from '../workflow/writes/list.ts';
import type { AppendAnswer, BeginAnswer, FinalizeAnswer, RejectedAnswer, StatusAnswer } from './schemas.ts';

export interface WriteApi {
  begin(request: WriteRequest): Promise<BeginAnswer>;
  append(request: AppendRequest): Promise<AppendAnswer>;
  /** Returns an answer for invalid content instead of throwing. */
  finalize(request: FinalizeRequest): Promise<FinalizedAnswer>;
  status(id: string): Promise<StatusAnswer>;
  /** Lists the sessions, oldest first. */
  list(): Promise<StatusAnswer[]>;
  cancel(id: string): Promise<void>;
}

export type FinalizedAnswer = FinalizeAnswer | RejectedAnswer;

/** Loads each verb only when the caller needs it, because a command needs just one. `signal` stops the user's own checker. */
export function workflowWrites(project: Project, signal?: AbortSignal): WriteApi {
  return {
    async begin(request) {
      const { beginWrite } = await import('../workflow/writes/begin.ts');
      return toBeginAnswer(await beginWrite(project, request));
    },
    async append(request) {
      const { appendWrite } = await import('../workflow/writes/append.ts');
      const { size, added } = await appendWrite(project, request);
      return { session_id: request.id, offset: size, added };
    },
    async finalize(request) {
      const { finalizeWrite } = await import('../workflow/writes/finalize.ts');
      return toFinalizedAnswer(await finalizeWrite(project, { ...request, signal }));
    },
    async status(id) {
      const { findWrite } = await import('../workflow/writes/list.ts');
      return toStatusAnswer(await findWrite(project, id));
    },
    async list() {
      const { listWrites } = await import('../workflow/writes/list.ts');
      return (await listWrites(project)).map(toStatusAnswer);
    },
    async cancel(id) {
      const { cancelWrite } = await import('../workflow/writes/clean.ts');
      await cancelWrite(project, id);
    },
  };
}

/** For a server, which may run for days: rereads the settings and cleans up old, abandoned sessions. */
export function serverWrites(project: Project, onCleaned: (cleaned: CleanedWrite) => void): WriteApi {
  const writes = workflowWrites(project);
  return {
    ...writes,
    async begin(request) {
      project.repository.reloadSettings();
      try {
        const { sweepWrites } = await import('../workflow/writes/clean.ts');
        (await sweepWrites(project)).cleaned.forEach(onCleaned);
      } catch (error) {
        // A failed cleanup causes only a warning.
        if (!(error instanceof TeddyError)) throw error;
        project.notices.warn(error.message);
      }
      return writes.begin(request);
    },
    finalize(request) {
      // The user may have configured a checker since.
      project.repository.reloadSettings();
      return writes.finalize(request);
    },
  };
}

/** Reports an expired session as timed out, but an ID that never belonged to a session as unknown. */
export function printTimeouts(writes: WriteApi, idleExpiryMs: number): WriteApi {
  async function orTimedOut<Value>(id: string, work: Promise<Value>): Promise<Value> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof TeddyError) || error.code !== 'UNKNOWN_WRITE') throw error;
      if ((await writes.status(id).catch(() => null))?.stage !== 'expired') throw error;
      const minutes = idleExpiryMs / 60_000;
      throw new TeddyError(
        'UNKNOWN_WRITE',
        `Session timed out after ${minutes} ${minutes === 1 ? 'minute' : 'minutes'} of inactivity. Please start over.`,
        '`teddy write list` shows its id; `teddy write recover` recovers the received content.',
        { cause: error },
      );
    }
  }
  return {
    ...writes,
    append: (request) => orTimedOut(request.id, writes.append(request)),
    finalize: (request) => orTimedOut(request.id, writes.finalize(request)),
    cancel: (id) => orTimedOut(id, writes.cancel(id)),
  };
}

function toBeginAnswer({ record, state, directory, instructions, warnings }: Begun): BeginAnswer {
  return {
    session_id: record.id,
    status: 'active',
    stage: state.phase,
    target_file: record.target,
    session_dir: directory,
    end_marker: record.endMarker,
    instructions,
    warnings,
  };
}

type Written = Pick<Extract<Finalized, { isWritten: true }>, 'record' | 'result'>;

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

export function toFinalizedAnswer(finalized: Finalized): FinalizedAnswer {
  return finalized.isWritten ? toFinalizeAnswer(finalized) : toRejectedAnswer(finalized.record.id, finalized);
}

type Rejected = Pick<Extract<Finalized, { isWritten: false }>, 'findings' | 'summary' | 'message' | 'reason'>;

export function toRejectedAnswer(id: string, { findings, summary, message, reason }: Rejected): RejectedAnswer {
  const errors = findings.map(({ message: text, line, column }) => {
    if (line === undefined) return text;
    return `line ${line}${column === undefined ? '' : `, column ${column}`}: ${text}`;
  });
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

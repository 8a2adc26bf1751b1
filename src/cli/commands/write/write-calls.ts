/** What the commands that a server can answer too ask for: of this process, or of that server. */
import type { Project } from '../../../ports/project.ts';
import type { AppendRequest } from '../../../workflow/writes/append.ts';
import type { WriteRequest } from '../../../workflow/writes/begin.ts';
import type { FinalizeRequest } from '../../../workflow/writes/finalize.ts';
import { type FinalizedAnswer, toBeginAnswer, toFinalizedAnswer, toStatusAnswer } from '../../../http/answers.ts';
import { orTimedOut } from '../../../write/timed-out.ts';
import type { BeginAnswer, StatusAnswer } from '../../../http/schemas.ts';

export interface WriteCalls {
  begin(request: WriteRequest): Promise<BeginAnswer>;
  append(request: AppendRequest): Promise<{ size: number; added: number }>;
  /** A server's calls throw a RejectedContent for what is not valid. */
  finalize(request: FinalizeRequest): Promise<FinalizedAnswer>;
  status(id: string): Promise<StatusAnswer>;
  list(): Promise<StatusAnswer[]>;
  cancel(id: string): Promise<void>;
}

export function localCalls(project: Project, signal: AbortSignal): WriteCalls {
  const orExpired = <Value>(id: string, work: Promise<Value>) =>
    orTimedOut(
      work,
      async () => (await (await import('../../../workflow/writes/list.ts')).findWrite(project, id)).stage,
      async () => (await (await import('../../../workflow/writes/held.ts')).readWriteLimits(project)).idleExpiryMs,
    );
  return {
    async begin(request) {
      const { beginWrite } = await import('../../../workflow/writes/begin.ts');
      return toBeginAnswer(await beginWrite(project, request));
    },
    async append(request) {
      const { appendWrite } = await import('../../../workflow/writes/append.ts');
      return orExpired(request.id, appendWrite(project, request));
    },
    async finalize(request) {
      const { finalizeWrite } = await import('../../../workflow/writes/finalize.ts');
      return toFinalizedAnswer(await orExpired(request.id, finalizeWrite(project, { ...request, signal })));
    },
    async status(id) {
      const { findWrite } = await import('../../../workflow/writes/list.ts');
      return toStatusAnswer(await findWrite(project, id));
    },
    async list() {
      const { listWrites } = await import('../../../workflow/writes/list.ts');
      return (await listWrites(project)).map(toStatusAnswer);
    },
    async cancel(id) {
      const { cancelWrite } = await import('../../../workflow/writes/cancel.ts');
      await orExpired(id, cancelWrite(project, id));
    },
  };
}

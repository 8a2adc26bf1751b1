/** What the commands that a server can answer too ask for: of this process, or of that server. */
import type { Project } from '../ports.ts';
import type { AppendRequest } from '../workflow/writes/append-write.ts';
import type { WriteRequest } from '../workflow/writes/begin-write.ts';
import type { FinalizeRequest } from '../workflow/writes/finalize-write.ts';
import {
  toBegunJson,
  toFinalizedJson,
  toStatusJson,
  type BegunJson,
  type FinalizedJson,
  type StatusJson,
} from './write-json.ts';

export interface WriteCalls {
  begin(request: WriteRequest): Promise<BegunJson>;
  append(request: AppendRequest): Promise<{ size: number; added: number }>;
  /** A server's calls throw a RejectedContent for what is not valid. */
  finalize(request: FinalizeRequest): Promise<FinalizedJson>;
  status(id: string): Promise<StatusJson>;
  list(): Promise<StatusJson[]>;
  cancel(id: string): Promise<void>;
}

export function localCalls(project: Project): WriteCalls {
  return {
    async begin(request) {
      const { beginWrite } = await import('../workflow/writes/begin-write.ts');
      return toBegunJson(await beginWrite(project, request));
    },
    async append(request) {
      const { appendWrite } = await import('../workflow/writes/append-write.ts');
      return appendWrite(project, request);
    },
    async finalize(request) {
      const { finalizeWrite } = await import('../workflow/writes/finalize-write.ts');
      return toFinalizedJson(await finalizeWrite(project, request));
    },
    async status(id) {
      const { findWrite } = await import('../workflow/writes/list-writes.ts');
      return toStatusJson(await findWrite(project, id));
    },
    async list() {
      const { listWrites } = await import('../workflow/writes/list-writes.ts');
      return (await listWrites(project)).map(toStatusJson);
    },
    async cancel(id) {
      const { cancelWrite } = await import('../workflow/writes/cancel-write.ts');
      await cancelWrite(project, id);
    },
  };
}

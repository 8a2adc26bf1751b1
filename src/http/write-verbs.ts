/** What the calls of the API do: the verbs of the workflow, bound to one opened project. */
import type { Project } from '../ports.ts';
import { appendWrite, type AppendRequest } from '../workflow/writes/append-write.ts';
import { beginWrite, type Begun, type WriteRequest } from '../workflow/writes/begin-write.ts';
import { cancelWrite } from '../workflow/writes/cancel-write.ts';
import { finalizeWrite, type Finalized, type FinalizeRequest } from '../workflow/writes/finalize-write.ts';
import { findWrite, listWrites, type WriteView } from '../workflow/writes/list-writes.ts';

export interface WriteVerbs {
  begin(request: WriteRequest): Promise<Begun>;
  append(request: AppendRequest): Promise<{ size: number; added: number }>;
  finalize(request: FinalizeRequest): Promise<Finalized>;
  cancel(id: string): Promise<void>;
  find(id: string): Promise<WriteView>;
  list(): Promise<WriteView[]>;
}

export function bindWriteVerbs(project: Project): WriteVerbs {
  return {
    begin: (request) => beginWrite(project, request),
    append: (request) => appendWrite(project, request),
    finalize: (request) => finalizeWrite(project, request),
    cancel: (id) => cancelWrite(project, id),
    find: (id) => findWrite(project, id),
    list: () => listWrites(project),
  };
}

/** What the calls of the API do: the verbs of the workflow, bound to one opened project. */
import { TeddyError } from '../errors.ts';
import type { Project } from '../ports/project.ts';
import { appendWrite, type AppendRequest } from '../workflow/writes/append.ts';
import { beginWrite, type Begun, type WriteRequest } from '../workflow/writes/begin.ts';
import { cancelWrite } from '../workflow/writes/cancel.ts';
import { sweepWrites, type CleanedWrite } from '../workflow/writes/clean.ts';
import { finalizeWrite, type Finalized, type FinalizeRequest } from '../workflow/writes/finalize.ts';
import { findWrite, listWrites, type WriteView } from '../workflow/writes/list.ts';

export interface WriteVerbs {
  begin(request: WriteRequest): Promise<Begun>;
  append(request: AppendRequest): Promise<{ size: number; added: number }>;
  finalize(request: FinalizeRequest): Promise<Finalized>;
  cancel(id: string): Promise<void>;
  find(id: string): Promise<WriteView>;
  list(): Promise<WriteView[]>;
}

/** A server may run for days: settings are asked for anew, and old sessions that nobody goes on with cleared away. */
export function bindWriteVerbs(project: Project, onCleaned: (cleaned: CleanedWrite) => void): WriteVerbs {
  return {
    async begin(request) {
      project.repository.reloadSettings();
      await clearOld(project, onCleaned);
      return beginWrite(project, request);
    },
    append: (request) => appendWrite(project, request),
    finalize(request) {
      // A checker of the user's may have been set since.
      project.repository.reloadSettings();
      return finalizeWrite(project, request);
    },
    cancel: (id) => cancelWrite(project, id),
    find: (id) => findWrite(project, id),
    list: () => listWrites(project),
  };
}

/** What goes wrong with it is said, and is in nobody's way. */
async function clearOld(project: Project, onCleaned: (cleaned: CleanedWrite) => void): Promise<void> {
  try {
    const { cleaned } = await sweepWrites(project);
    cleaned.forEach(onCleaned);
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    project.notices.warn(error.message);
  }
}

/** Tells the child program the operation and its repository. */
import { TeddyError } from '../../src/errors.ts';
import type { Project } from '../../src/ports/project.ts';
import { print } from './fault-points.ts';

export interface ChildTask {
  operation: string;
  root: string;
  count: number;
  name: string;
}

export type ChildOperation = (project: Project, task: ChildTask) => Promise<void>;

/** Prints the commit by an operation. */
export function acknowledging(act: (project: Project, task: ChildTask) => Promise<string>): ChildOperation {
  return async (project, task) => print({ line: 'acknowledged', commit: await act(project, task) });
}

/** Retries like the writers in a race: a refusal has changed nothing, and reports that. */
export async function persist<Result>(act: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof TeddyError) || !['REF_MOVED', 'LOCKED'].includes(error.code)) throw error;
      print({ line: 'refused', code: error.code });
    }
  }
}

/** Checks, on request, that runs changed nothing that the plans on their line do not name. */
import { checkReport, describePromise, type IsAllowed, type KeptPromise } from '../../plan/report/promise.ts';
import { joinPath, turnDir, type Oid, type RepoPath, type TurnName } from '../../names.ts';
import { undoneExtent } from '../../session/lines/line-paths.ts';
import { toText } from '../../view/view.ts';
import { readReport } from './check-report.ts';
import type { LineWatch } from './walked-line.ts';

export interface NeededPromise {
  /** True to require of each run that it did all that its own plan names, and nothing else. */
  isStrict: boolean;
  /** Absent for the files that the base branch of each line allows. */
  isAllowed?: IsAllowed | undefined;
}

/**
 * Another agent's plan is prose, which proves nothing either way, so its turns are not judged; nor are turns that were
 * undone.
 */
export function watchPromises({ isStrict, isAllowed }: NeededPromise): LineWatch {
  const runs = new Map<TurnName, { commit: Oid; promise: KeptPromise }>();
  const named = new Set<RepoPath>();
  return {
    async see(walk, { commit, entry }) {
      const { kind, turn } = entry;
      if (turn === null) return;
      if (undoneExtent(entry) === 'whole') runs.delete(turn);
      if (kind !== 'report') return;
      const content = await commit.contents.get(joinPath(turnDir(walk.session, turn), 'report.md'))?.read();
      // Another check reports an unreadable report as a fault.
      const report = content?.kind === 'bytes' ? readReport(toText(content.bytes), () => undefined) : null;
      if (report === null) return;
      const promise = checkReport(report, isAllowed);
      if (promise === null) return;
      runs.set(turn, { commit: commit.oid, promise });
      for (const { path, state } of promise.paths) if (state !== 'beyond' && state !== 'allowed') named.add(path);
    },
    violations() {
      return [...runs].flatMap(([turn, { commit, promise }]) => {
        const toViolation = (path: RepoPath | null, message: string) =>
          ({ rule: 'promise', commit, turn, path, message }) as const;
        if (isStrict)
          return promise.verdict === 'kept'
            ? []
            : [toViolation(null, `The run did not do exactly what its plan says: ${describePromise(promise)}.`)];
        return promise.paths.flatMap(({ path, state, action }) =>
          state === 'beyond' && !named.has(path)
            ? [toViolation(path, `Action ${action} changed this file, which no plan on the branch names.`)]
            : [],
        );
      });
    },
  };
}

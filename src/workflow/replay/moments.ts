/**
 * The code after each action, as the parent's tree and the plan give it, against the trees of the report. A tree proves nothing
 * by itself, since whoever forges a report forges its trees: it shows that the story of the report holds together.
 */
import type { Action } from '../../plan/plan.ts';
import type { RepoPath } from '../../names.ts';
import { openEditedCode, type CodeFile, type EditedCode } from '../line/edited-code.ts';
import { hasTrees } from '../run/left-files.ts';
import { isRebased } from '../verify/rebased-log.ts';
import type { Findings, RecordedRun } from './turn.ts';

export interface Moments {
  /** A file action has left this. Then `check`. */
  write(path: RepoPath, bytes: Uint8Array): Promise<void>;
  /** What is known of the code from here on is not enough to compare a tree with. */
  doubt(): void;
  /** After an action whose effect the plan gives. `isExcused` is asked where the tree is another one: git may keep the file otherwise. */
  check(action: Action, findings: Findings, isExcused: () => Promise<boolean>): Promise<void>;
  /** After an action whose effect is taken from the record. */
  take(action: Action, findings: Findings): Promise<void>;
  /** The code after it is what the report says. */
  isSeen(action: number): boolean;
  /** A command after which the report has the tree that it had before. */
  isQuiet(action: number): boolean;
}

export async function openMoments(run: RecordedRun): Promise<Moments> {
  const { store } = run.project.repository;
  const seen = new Set<number>();
  const quiet = new Set<number>();
  // A rebase leaves the report as it was: its trees are of other code, and tell nothing.
  let code: EditedCode | null =
    hasTrees(run.report) && !(await isRebased(store, run.commit))
      ? await openEditedCode(store, (await store.readCommit(run.base)).tree)
      : null;
  // What the report says of the code before the next action.
  let told = code === null ? null : await code.oid();
  const treeOf = ({ index }: Action) => run.logs.get(index)?.tree ?? null;

  async function matches(tree: string | null): Promise<boolean> {
    return code !== null && tree !== null && (await code.oid()) === tree;
  }

  return {
    async write(path, bytes) {
      if (code === null) return;
      const mode = (await code.get(path))?.mode ?? '100644';
      await code.set(path, { mode, oid: await store.batch().blob(bytes) });
    },
    doubt: () => void (code = null),
    async check(action, findings, isExcused) {
      const tree = treeOf(action);
      if (code === null || tree === null) code = null;
      else if (await matches(tree)) seen.add(action.index);
      else {
        code = null;
        if (!(await isExcused()))
          findings.differ(
            { action: action.index },
            'The tree that the report has after it is not what the plan gives.',
          );
      }
      told = tree;
    },
    async take(action, findings) {
      const tree = treeOf(action);
      const rows = run.report.changes.filter((row) => row.action === action.index);
      if (tree !== null && tree === told) {
        quiet.add(action.index);
        for (const { path } of rows)
          findings.differ(
            { action: action.index, path },
            `The report says that it changed ${path}, and has the same tree before and after it.`,
          );
      } else if (code !== null) {
        for (const { path } of rows) await code.set(path, toFile(run, path));
        if (!(await matches(tree))) code = null;
      }
      if (code !== null) seen.add(action.index);
      told = tree;
    },
    isSeen: (action) => seen.has(action),
    isQuiet: (action) => quiet.has(action),
  };
}

/** As the commit has it. */
function toFile({ changes }: RecordedRun, path: RepoPath): CodeFile | null {
  const change = changes.get(path);
  return change === undefined || change.after === null || change.mode === null
    ? null
    : { mode: change.mode, oid: change.after };
}

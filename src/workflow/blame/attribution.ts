/** Who brought the lines of a file: which turn of which session, which person, or nobody that is known. */
import type { Oid, RepoPath, SessionId, TurnName } from '../../names.ts';
import type { CodeStep } from './code-steps.ts';

/**
 * `turn`: a model, or the agent that it works for. `person`: a commit of somebody's own, or an edit that a line has as a snapshot.
 * `uncommitted`: only the work tree has it; `isOwn`: an agent's line has it as an edit of the user. `unknown`: nothing says whose it is, and it may have been a turn's.
 */
export type Author =
  | { kind: 'turn'; commit: Oid; step: CodeStep; session: SessionId; turn: TurnName; byContent: boolean }
  | { kind: 'person'; commit: Oid; step: CodeStep | null; byContent: boolean }
  | { kind: 'uncommitted'; isOwn: boolean }
  | { kind: 'unknown'; commit: Oid; reason: string };

/** Lines of one author, one after the other. */
export interface AttributedRun {
  author: Author;
  /** The number of the first one, from 1, in the file that was asked for. */
  line: number;
  /** The same in the file of the author's commit. */
  originalLine: number;
  path: RepoPath;
  texts: string[];
  /** The lines are in the work tree, as the author's commit has them, and not in HEAD. */
  uncommitted?: true;
  /** The author whom git guesses past a commit of `blame.ignoreRevsFile`. */
  guess?: Author;
}

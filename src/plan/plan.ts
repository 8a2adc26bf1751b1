/** A parsed plan, as plain values. `parse.ts` makes it; nothing else does. */
import type { RepoPath } from '../names.ts';
import type { MemoChange } from '../session/memos.ts';

/** Where something stands in the plan's text; both count from 1, columns in UTF-16 units. */
export interface Position {
  line: number;
  column: number;
}

/** A fault, or something worth knowing, at one place of a plan. */
export interface Problem extends Position {
  /** Names what was found and what was expected; one line. */
  message: string;
  /** A short correct example, or the next step. */
  hint?: string;
  /** The action it belongs to, from 1. */
  action?: number;
}

export interface EditPair extends Position {
  /** Null: the replacement is the whole file. */
  find: string | null;
  replace: string;
}

interface ActionBase extends Position {
  /** From 1, in the order of the plan. */
  index: number;
  description: string | null;
}

export interface CreateAction extends ActionBase {
  type: 'CREATE';
  path: RepoPath;
  content: string;
  overwrite: boolean;
}

export interface EditAction extends ActionBase {
  type: 'EDIT';
  path: RepoPath;
  matchAll: boolean;
  pairs: EditPair[];
}

/** A path of the project, or a URL as the plan writes it. */
export type Resource = { kind: 'path'; path: RepoPath } | { kind: 'url'; url: string };

export interface ReadAction extends ActionBase {
  type: 'READ';
  resource: Resource;
  /** The range in the plan's words: `10-20`, `-20`, `50-`, `5`; null for the whole file. */
  lines: string | null;
}

export interface ExecuteAction extends ActionBase {
  type: 'EXECUTE';
  script: string;
  expectedOutcome: string | null;
  /** Relative to the project; `.` is the root. */
  cwd: string;
  env: Record<string, string>;
  timeoutMs: number | null;
  allowFailure: boolean;
  /** How many of the last lines of output the report shows. */
  tail: number | null;
}

/** Takes a resource out of the context of the next turn. */
export interface PruneAction extends ActionBase {
  type: 'PRUNE';
  resource: Resource;
}

export interface AskAction extends ActionBase {
  type: 'CHAT_WITH_USER' | 'PROMPT';
  text: string;
}

/** Hands the next turn to another agent. `agent` is in lower case, as names are. */
export interface InvokeAction extends ActionBase {
  type: 'INVOKE';
  agent: string;
  text: string;
}

export interface ResearchAction extends ActionBase {
  type: 'RESEARCH';
  /** At least one, without white space around it. */
  queries: string[];
}

export type Action =
  CreateAction | EditAction | ReadAction | ExecuteAction | PruneAction | AskAction | InvokeAction | ResearchAction;
export type ActionType = Action['type'];

export interface Plan {
  title: string;
  /** Bullet metadata after the title; keys as written, without bold. */
  metadata: Record<string, string>;
  rationale: string | null;
  /** The next turn's context, one path a line as written; null when the plan has no such section. */
  contextVault: string[] | null;
  memos: MemoChange[];
  actions: Action[];
  /** Markdown to the user; null when the plan has no such section. */
  message: string | null;
}

/** The outcome of reading a plan: always complete, never thrown. A plan with problems is not executed. */
export interface ParsedPlan {
  plan: Plan;
  problems: Problem[];
  /** Things that were tolerated, and how. */
  notes: Problem[];
}

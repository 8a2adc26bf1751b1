/** A session's page as plain values with masked secrets. `workflow/page/` collects them; the files here render them. */
import type { TreeChange, DiffKind } from '../ports/git.ts';
import type { TurnStatus } from '../session/lines/line-order.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../names.ts';
import type { Problem } from '../plan/match/problem.ts';
import type { ParsedPlan } from '../plan/plan.ts';
import type { KeptPromise } from '../plan/report/promise.ts';
import type { Report } from '../plan/report/report.ts';
import type { RunStatus } from '../session/entries/entry-trailers.ts';
import type { EntryKind, VerdictWord } from '../session/entries/entry.ts';
import type { Spending } from '../session/spending/spending.ts';

/** The commits from which a page is made. The same source and the same version produce the same bytes in every clone. */
export interface PageSource {
  session: SessionId;
  /** The requested line. */
  line: string;
  /** All the session's lines on the page, with the requested one first. */
  lines: { name: string; tip: Oid }[];
  /** The commits on base branches that landed the session. */
  landed: Oid[];
}

export interface SessionPage {
  /** The version of teddy that renders the page; another version may render other bytes. */
  version: string;
  source: PageSource;
  /** The first line of the first message, or the session's ID. */
  title: string;
  /** The commit from which the line started; null when it started from none. */
  base: { commit: Oid; branch: string | null } | null;
  /** The names of the people who committed the requested line's entries, without addresses, by their first entry. */
  authors: string[];
  /** The times of the requested line's first and last entry (ISO 8601); null without entries. */
  startedAt: string | null;
  endedAt: string | null;
  /** Each turn once, however many lines have it: first the requested line's turns, then its branches' turns, in order. */
  turns: PageTurn[];
  /** The requested line's turns, in order. */
  shown: TurnName[];
  /** Commits that do not belong to a turn, in order. */
  others: PageCommit[];
  /** The spending on the requested line. */
  spent: Spending;
  /** The changes from the requested line's base to its tip, outside `.teddy`. */
  files: PageLineFile[];
  /** Attempts at the same step, on different lines. */
  comparisons: PageComparison[];
  /** Null on a live page, for which nobody requested checks. */
  checks: PageChecks | null;
}

export interface PageCommit {
  commit: Oid;
  /** `own`: by the user. `snapshot`: the user's edits before a message. `write`: a file that a write session received. */
  kind: 'own' | 'snapshot' | 'landing' | 'write';
  line: string;
  /** The turn before the commit; null when the commit precedes the first turn. */
  after: TurnName | null;
  time: string;
  author: string;
  subject: string;
  /** The code that it changed; empty for a landing. */
  files: PageFile[];
  /** The number of changed files that the page leaves out. */
  omitted: number;
}

/** A text, or the part of it that fits on the page. */
export interface PageText {
  text: string;
  /** The size of the omitted part, and the command that prints the whole text; null when the page contains all of it. */
  cut: { characters: number; command: string } | null;
}

export interface PageTurn {
  /**
   * Identifies the turn within the page: its name, with a number if an earlier turn on another line has the same name,
   * such as `03-2`.
   */
  turn: TurnName;
  /** The turn's name on its line. */
  name: TurnName;
  /** The turn's line. */
  line: string;
  /** The turn that this one continues; null for the first turn. */
  parent: TurnName | null;
  status: TurnStatus;
  /** True if the line ends with this turn, and the turn with another agent's plan that nobody has judged. */
  awaitsVerdict: boolean;
  /** The status in the turn's report; null without a report. */
  outcome: RunStatus | null;
  /** The author of the turn's message. */
  author: string | null;
  agent: string | null;
  provider: string | null;
  model: string | null;
  /** The times of the turn's first and last entry (ISO 8601). */
  startedAt: string;
  endedAt: string;
  /** Everything in order: messages, replies, tool calls with their results, and the places of plan and report. */
  parts: PagePart[];
  plan: PagePlan | null;
  /** The verdicts on the plan, oldest first. */
  verdicts: PageVerdict[];
  report: PageReport | null;
  /** The plan compared with what the turn touched; null when nothing was carried out. */
  promise: KeptPromise | null;
  /** The code changes of all the turn's commits together. */
  files: PageFile[];
  request: PageRequest | null;
  /** Oldest first. */
  commits: { commit: Oid; kind: EntryKind; time: string; title: string }[];
  spent: Spending;
  /** The commit that undid the turn's code changes. */
  undoneBy: Oid | null;
  /** The commit that undid some of the turn's code changes. */
  partlyUndoneBy: Oid | null;
  /** A sentence for each part that is unreadable because an object is damaged or missing. */
  faults: string[];
}

export type PagePart =
  | { kind: 'message' | 'reply'; text: PageText; isSpoken: boolean; isPartial: boolean }
  | { kind: 'call'; tool: string; input: PageText; result: PageResult | null }
  /** `parts`: what a sub-agent said and did outside this conversation. */
  | { kind: 'note'; text: PageText; parts?: PagePart[] }
  | { kind: 'thinking'; text: PageText }
  /** The page shows these from `plan` and `report`. */
  | { kind: 'plan' }
  | { kind: 'report' };

interface PageResult {
  output: PageText;
  isError: boolean;
  /** Why the result does not come from the tool: `denied`, `aborted`, ... */
  reason: string | null;
}

export interface PagePlan {
  /** The content of `plan.md`. */
  source: PageText;
  /** The sha256, in hex, of the bytes in the repository. */
  sha256: string;
  /** True when `source` is the exact text, without cuts and masks. */
  isExact: boolean;
  commit: Oid;
  /** Null for a text too long to be a plan, or for another agent's plan. */
  parsed: ParsedPlan | null;
  /** True when another agent made the plan and carries it out. */
  isForeign: boolean;
  /** Null unless the plan waits to be run. */
  preview: PagePreview | null;
}

/** The plan's effects on the files in the line's last commit. */
export interface PagePreview {
  /** One file for each action that writes, with the changes of that action alone. No blob exists for them. */
  files: PageFile[];
  /** With any problem, none of the plan would run. */
  problems: PageProblem[];
}

export interface PageProblem extends Problem {
  /** The lines of the file around the place that is most like the FIND; null for other problems. */
  near: { firstLine: number; text: PageText } | null;
}

export interface PageVerdict {
  /** `none`: a gate ended without a verdict. */
  verdict: VerdictWord;
  /** The name of the commit's author. */
  author: string;
  time: string;
  text: PageText | null;
  /** `line`: the plan's line, counted from 1. */
  comments: { line: number; text: PageText }[];
}

export interface PageReport {
  commit: Oid;
  /** The author of the report's commit, who ran or rejected the plan. */
  author: string;
  time: string;
  report: Report;
  /** The size of the omitted part of the report's long lines. */
  cut: PageText['cut'];
}

export interface PageFile {
  path: RepoPath;
  change: TreeChange['change'];
  /** The number of lines; 0 when nobody counted them. */
  added: number;
  removed: number;
  kind: DiffKind;
  /** A unified diff in git's style. */
  diff: PageText;
  /** The index of the action that made the change, according to the report; null when the report names none. */
  action: number | null;
  /** The blobs in git; null when the file did not exist or no longer exists. */
  before: Oid | null;
  after: Oid | null;
  /**
   * For each hunk in the diff, the earlier turns on the page that added the lines that it removes; a missing hunk
   * removes no line with a known origin.
   */
  replaces: TurnName[][];
}

/** The origin of a part of the line's changes. */
export type PageOrigin =
  /** `action`: the index of the plan's action; null when the report names none. */
  | { kind: 'turn'; turn: TurnName; action: number | null }
  | { kind: 'undo'; turn: TurnName }
  | { kind: 'commit'; commit: Oid };

/** A file that the line changed, from its base to its tip. */
export interface PageLineFile extends PageFile {
  /** Everything that changed the file on the way, oldest first. */
  by: PageOrigin[];
  /** The origins of each hunk, oldest first; empty for a hunk without a known origin, and without hunks. */
  made: PageOrigin[][];
}

/** The request to the model, section by section, from the bytes of `_context.log`. */
export interface PageRequest {
  commit: Oid;
  /** The command that prints the file unchanged. */
  command: string;
  /** An estimate for all sections. */
  tokens: number;
  bytes: number;
  /** The number of masked secrets in the request. */
  masked: number;
  /** The sections in order. A history has a section for each of its turns. */
  sections: PageSection[];
  /** Null when the log cannot be read; `sections` is empty then. */
  parameters: Record<string, number | string | boolean> | null;
}

export interface PageSection {
  name: 'front-matter' | 'system' | 'memos' | 'history' | 'tree' | 'file' | 'message';
  /** A file's path or URL, or the turn that a section of the history describes; null for other sections. */
  of: string | null;
  state: 'shown' | 'not-shown' | 'refused' | 'missing';
  /** Why the page does not show the section, in a few words. */
  reason: string | null;
  tokens: number;
  bytes: number;
  /** The line above the bytes that states their origin, with its newline; null when there is no such line. */
  marker: string | null;
  body:
    | { kind: 'text'; text: PageText }
    /** Identical to this section in an earlier turn's request. */
    | { kind: 'same'; turn: TurnName; section: number }
    /** The differences from this section in an earlier turn's request, as a unified diff without a header. */
    | { kind: 'diff'; turn: TurnName; section: number; patch: PageText }
    /** The bytes come from the page's own parts of this turn: its message, plan and report. */
    | { kind: 'turn'; turn: TurnName };
}

export interface PageComparison {
  one: TurnName;
  other: TurnName;
  /** The changes from the code that one turn left to the code that the other turn left. */
  code: PageFile[];
}

/** Results that apply to the commits in `source` and to no later commit. */
export interface PageChecks {
  /** Faults are sentences. `isWhole` is false when this clone lacks part of the line. */
  verify: { entries: number; turns: number; isWhole: boolean; faults: string[] };
  /** The number of turns that had the same result when recomputed, had a different one, or could not be compared. */
  replay: { same: number; different: number; notCompared: number; faults: string[] };
}

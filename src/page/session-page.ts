/** The page of a session as plain values, in which secrets are masked. `workflow/page/` reads them, and the files here render them. */
import type { TreeChange, DiffKind } from '../ports/git.ts';
import type { TurnStatus } from '../session/lines/line-order.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../names.ts';
import type { ParsedPlan } from '../plan/plan.ts';
import type { Report } from '../plan/report/report.ts';
import type { RunStatus } from '../session/entries/entry-trailers.ts';
import type { EntryKind, VerdictWord } from '../session/entries/entry.ts';
import type { Spending } from '../session/spending/spending.ts';

/** The commits that a page is made of. The same source, read by the same version, gives the same bytes in every clone. */
export interface PageSource {
  session: SessionId;
  /** The line that was asked for. */
  line: string;
  /** All lines of the session that the page shows, the one that was asked for first. */
  lines: { name: string; tip: Oid }[];
  /** Commits of base branches that brought the session there. */
  landed: Oid[];
}

export interface SessionPage {
  /** The version of teddy that renders the page: another one may render other bytes. */
  version: string;
  source: PageSource;
  /** The first line of the first message, or the session's id. */
  title: string;
  /** The commit that the line started from; null when there was none. */
  base: { commit: Oid; branch: string | null } | null;
  /** The names of those who have committed entries, without addresses, in order of their first. */
  authors: string[];
  /** The times of the first and the last entry, ISO 8601; null: it has none. */
  startedAt: string | null;
  endedAt: string | null;
  /** Each once, however many lines have it: those of the line that was asked for, then those of its branches, in order. */
  turns: PageTurn[];
  /** Commits that are no turn's: the user's own, snapshots before a message, and landings, in order. */
  others: PageCommit[];
  spent: Spending;
  /** Between base and tip of the line that was asked for, outside of `.teddy`. */
  changed: { files: number; added: number; removed: number };
  /** Attempts at the same step, on different lines. */
  comparisons: PageComparison[];
  /** Null: the page is live, and nobody has asked. */
  checks: PageChecks | null;
}

export interface PageCommit {
  commit: Oid;
  kind: 'own' | 'snapshot' | 'landing';
  line: string;
  /** The turn that it stands after; null: it stands before the first. */
  after: TurnName | null;
  time: string;
  author: string;
  subject: string;
}

/** A text, as much of it as the page holds. */
export interface PageText {
  text: string;
  /** How much of it the page does not hold, and the command that prints it all; null: it is whole. */
  cut: { characters: number; command: string } | null;
}

export interface PageTurn {
  /**
   * Unique in the page, and what everything else in it calls the turn: its name, or where an earlier one is called the same on
   * another line, its name and a number: `03-2`.
   */
  turn: TurnName;
  /** Its name on its line. */
  name: TurnName;
  /** The line that has it. */
  line: string;
  /** The turn that it goes on from; null: it is the first. */
  parent: TurnName | null;
  status: TurnStatus;
  /** The status in its report; null: there is no report. */
  outcome: RunStatus | null;
  /** Who wrote its message. */
  author: string | null;
  agent: string | null;
  provider: string | null;
  model: string | null;
  /** The times of its first and last entry, ISO 8601. */
  startedAt: string;
  endedAt: string;
  /** Everything in its order: messages, replies, tool calls with their results; where plan and report stand among them. */
  parts: PagePart[];
  plan: PagePlan | null;
  /** The verdicts on the plan, oldest first. */
  verdicts: PageVerdict[];
  report: PageReport | null;
  /** The code that its commits, taken together, have changed. */
  files: PageFile[];
  request: PageRequest | null;
  /** Oldest first. */
  commits: { commit: Oid; kind: EntryKind; time: string; title: string }[];
  spent: Spending;
  /** The commit that took its code back. */
  undoneBy: Oid | null;
  /** Only some of it is taken back, since this commit. */
  partlyUndoneBy: Oid | null;
  /** A sentence for each part of it that cannot be read: an object is damaged or missing. */
  faults: string[];
}

export type PagePart =
  | { kind: 'message' | 'reply'; text: PageText; isSpoken: boolean; isPartial: boolean }
  | { kind: 'call'; tool: string; input: PageText; result: PageResult | null }
  /** `parts`: what a sub-agent said and did, which is no part of this conversation. */
  | { kind: 'note'; text: PageText; parts?: PagePart[] }
  | { kind: 'thinking'; text: PageText }
  /** The page shows it from `plan` and `report`. */
  | { kind: 'plan' }
  | { kind: 'report' };

interface PageResult {
  output: PageText;
  isError: boolean;
  /** Why it is not that of the tool: `denied`, `aborted`, ... */
  reason: string | null;
}

export interface PagePlan {
  /** The bytes of `plan.md`. */
  source: PageText;
  /** Hex, of the bytes in the repository. */
  sha256: string;
  /** `source` is all of it: nothing is cut, and nothing masked. */
  isExact: boolean;
  commit: Oid;
  /** Null: it is too long to be a plan, or that of another agent. */
  parsed: ParsedPlan | null;
  /** Another agent has made it, and carries it out. */
  isForeign: boolean;
}

export interface PageVerdict {
  /** `none`: a gate ended without anybody's verdict. */
  verdict: VerdictWord;
  /** The name of who gave it, as the commit says. */
  author: string;
  time: string;
  text: PageText | null;
  /** `line`: of the plan, from 1. */
  comments: { line: number; text: PageText }[];
}

export interface PageReport {
  commit: Oid;
  /** Who ran it, or said no: the author of its commit. */
  author: string;
  time: string;
  report: Report;
  /** How much of its long lines the page does not hold. */
  cut: PageText['cut'];
}

export interface PageFile {
  path: RepoPath;
  change: TreeChange['change'];
  /** Lines; 0 where they are not counted. */
  added: number;
  removed: number;
  kind: DiffKind;
  /** Unified, in git's style. */
  diff: PageText;
  /** The index of the action that made it, as the report says; null: none did, or the report does not say. */
  action: number | null;
  /** The versions in git; null: there was none, or is none. */
  before: Oid | null;
  after: Oid | null;
  /** For each hunk of the diff the earlier turns of the page whose lines it takes away; a hunk that is missing takes none that are known. */
  replaces: TurnName[][];
}

/** The request to the model, section by section: the bytes of `_context.log`. */
export interface PageRequest {
  commit: Oid;
  /** Prints the file as it is. */
  command: string;
  /** An estimate, of all sections. */
  tokens: number;
  bytes: number;
  /** How many secrets are masked in it. */
  masked: number;
  /** In order. A history is one section for each turn that it tells. */
  sections: PageSection[];
  /** Null: the log cannot be read, and `sections` is empty. */
  parameters: Record<string, number | string | boolean> | null;
}

export interface PageSection {
  name: 'front-matter' | 'system' | 'memos' | 'history' | 'tree' | 'file' | 'message';
  /** The path or URL of a file; the turn that a section of the history tells; null for any other. */
  of: string | null;
  state: 'shown' | 'not-shown' | 'refused' | 'missing';
  /** Why it is not shown, in a few words. */
  reason: string | null;
  tokens: number;
  bytes: number;
  /** The line above the bytes, with its newline, which says where they came from; null: they have none. */
  marker: string | null;
  body:
    | { kind: 'text'; text: PageText }
    /** The same bytes stand in the request of an earlier turn, in the section at this place. */
    | { kind: 'same'; turn: TurnName; section: number }
    /** These lines are other than in the section at this place in the request of an earlier turn: a unified diff without a header. */
    | { kind: 'diff'; turn: TurnName; section: number; patch: PageText }
    /** The bytes are made of what the page shows of this turn: its message, its plan, its report. */
    | { kind: 'turn'; turn: TurnName };
}

export interface PageComparison {
  one: TurnName;
  other: TurnName;
  /** From the code that the one left to the code that the other left. */
  code: PageFile[];
}

/** Each is said of the commits in `source`, and of nothing later. */
export interface PageChecks {
  /** Faults are sentences. `isWhole` false: this clone does not have all of the line. */
  verify: { entries: number; turns: number; isWhole: boolean; faults: string[] };
  /** How many turns were recomputed with the same result, differ, or could not be compared. */
  replay: { same: number; different: number; notCompared: number; faults: string[] };
}

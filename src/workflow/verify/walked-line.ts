/** The facts about a line at one of its commits, while teddy walks the line from its start to its tip. */
import { isDamage } from '../../errors.ts';
import { decodeTranscript } from '../../conversation/history/decode-transcript.ts';
import type { TranscriptRecord } from '../../conversation/records/record.ts';
import { parsePlan } from '../../plan/parse/parse.ts';
import type { ChangedCommit } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Entry, EntryKind } from '../../session/entries/entry.ts';
import { isEditable, isOfSession, turnOfPath } from '../../session/lines/line-paths.ts';
import { openOrder, type LineOrder } from '../../session/lines/line-order.ts';
import { isTurnName, type Oid, type RepoPath, type SessionId, type TurnName } from '../../names.ts';
import { isOnlyMessage, parsePending, readTurnState, toStatus, toText, type TurnStatus } from '../../view/view.ts';
import { openCodeTrees } from './code-trees.ts';
import type { LineBase } from './find-base.ts';
import type { LogRenderer } from './render-log-again.ts';
import type { AwaitedContent, ContentReader } from '../line/read-content.ts';
import type { Rule, VerifiedLine, Violation } from '../../session/entries/violation.ts';
import type { RenderedLog, Asked } from './verify.ts';

/** The newest entry's turn. */
export interface WalkedTurn {
  turn: TurnName;
  records: TranscriptRecord[];
  transcript: Uint8Array;
  plan: Uint8Array | null;
  /** The plan's entry, once the walk has reached it. */
  planEntry?: Entry;
  hasReport: boolean;
}

interface BrokenFile {
  /** Undefined when no file was published at this path. */
  was: Oid | undefined;
  violations: Violation[];
}

/** A checked entry. */
export interface DatedEntry {
  id: string;
  created: string;
  ms: number;
  /** Its commit's author date. */
  seconds: number;
  kind: EntryKind;
}

export interface WalkedLine {
  project: Project;
  session: SessionId;
  contents: ContentReader;
  maxFileBytes: number;
  /** True to apply the limit to all files, including those that nobody reads. */
  limitsAll: boolean;
  /** True when teddy has already searched for secrets. */
  isSearched: boolean;
  logs: LogRenderer;
  order: LineOrder;
  /** Each of teddy's files, in its version in the last valid commit. */
  published: Map<RepoPath, Oid>;
  /** Published files that foreign commits have changed, until an entry restores them. */
  broken: Map<RepoPath, BrokenFile>;
  /** The number of restored files. */
  restored: number;
  /** The number of entries that a clock set back dated before the session or before the entry above them. */
  early: number;
  /** The last two entries, newest first. */
  dated: readonly DatedEntry[];
  /**
   * True when another agent or an import has written some of the line's entries, which contain its source's words and
   * times.
   */
  isForeign: boolean;
  /** The objects already reported as missing. */
  missing: Set<Oid>;
  current: WalkedTurn | null;
  /** The agent and model that were asked, according to the most recently read log. */
  asked: { oid: Oid; asked: Asked | null } | null;
  result: VerifiedLine;
}

/** A commit with the content that the line needs from it. */
export interface WalkedCommit extends ChangedCommit {
  /** The entry in its message; null when the commit is not an entry. */
  decoded: Entry | null;
  contents: ReadonlyMap<RepoPath, AwaitedContent>;
  /** Its log, rendered from the commits; null when it has none, or when there was no room to render it ahead. */
  rendered: Promise<RenderedLog | null>;
}

export interface Step {
  commit: WalkedCommit;
  entry: Entry;
  blame(rule: Rule, path: RepoPath | null, message: string): void;
}

/** A requirement that only some checks make, judged after the last entry. */
export interface LineWatch {
  /** Must be called after the entry's own checks. */
  see(walk: WalkedLine, step: Step): Promise<void>;
  /** `keysOf` returns the fingerprints of the keys that signed a commit; when null, teddy compares people by name. */
  violations(keysOf: ((commit: Oid) => readonly string[]) | null): Violation[];
}

export async function openWalk(
  parts: Omit<
    WalkedLine,
    'order' | 'published' | 'broken' | 'restored' | 'early' | 'dated' | 'isForeign' | 'missing' | 'current' | 'asked'
  >,
  base: LineBase,
): Promise<WalkedLine> {
  const published = new Map<RepoPath, Oid>();
  const { store } = parts.project.repository;
  const below = base.kind === 'start' ? null : base.commit;
  const trees = openCodeTrees(store);
  const readFiles = async (commit: Oid | null) =>
    commit === null ? [] : await trees.files(commit, '.teddy' as RepoPath);
  for (const { path, oid } of await readFiles(base.entryOid ?? below))
    if (isOfSession(parts.session, path)) published.set(path, oid);
  if (base.entryOid !== null && base.entryOid !== below)
    for (const { path, oid } of await readFiles(below)) if (isEditable(parts.session, path)) published.set(path, oid);
  const created = base.entry?.created ?? null;
  const order = openOrder(
    parts.session,
    base.kind === 'start' ? null : { created, turns: toTurns(parts.session, published) },
  );
  return {
    ...parts,
    order,
    published,
    broken: new Map(),
    restored: 0,
    early: 0,
    dated: [],
    // Only a line's beginning decides this.
    isForeign: base.kind !== 'start',
    missing: new Set(),
    current: null,
    asked: null,
  };
}

function toTurns(session: SessionId, published: ReadonlyMap<RepoPath, Oid>) {
  const turns = new Map<TurnName, { turn: TurnName; hasPlan: boolean; hasReport: boolean }>();
  for (const path of published.keys()) {
    const { turn = '', file = '' } = turnOfPath(session, path) ?? {};
    if (!isTurnName(turn)) continue;
    const known = turns.get(turn) ?? { turn, hasPlan: false, hasReport: false };
    turns.set(turn, {
      turn,
      hasPlan: known.hasPlan || file === 'plan.md',
      hasReport: known.hasReport || file === 'report.md',
    });
  }
  return [...turns.values()];
}

/** Reads the turn's state before the commit; null when missing or unreadable. */
export async function readWalkedTurn(
  walk: WalkedLine,
  turn: TurnName | null,
  parent: Oid | undefined,
): Promise<WalkedTurn | null> {
  if (turn === null || !walk.order.has(turn)) return null;
  if (walk.current?.turn === turn) return walk.current;
  if (parent === undefined) return null;
  try {
    const read = await readTurnState(walk.project.repository.store, parent, walk.session, turn);
    walk.current = { ...read, hasReport: read.report !== null };
    return walk.current;
  } catch (error) {
    if (isDamage(error) || isUnknownTurn(error)) return null;
    throw error;
  }
}

function isUnknownTurn(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'UNKNOWN_TURN';
}

/**
 * Returns the turn's status. Without a report, no record shows the grammar: an answer that used only the oldest grammar
 * closed its turn.
 */
export function statusOf({ records, plan, hasReport }: WalkedTurn): TurnStatus {
  const status = toStatus(records, parsePending(plan && toText(plan), hasReport), hasReport);
  return status === 'planned' && isOnlyMessage(parsePlan(toText(plan), { grammar: 1 })) ? 'closed' : status;
}

/** Decodes lines added to a transcript, and returns their damage along with the records. */
export function decodeAdded(bytes: Uint8Array): { records: TranscriptRecord[]; damage: string | null } {
  const text = toText(bytes);
  const { records, skipped, repaired } = decodeTranscript(text);
  const issue = skipped[0] ?? repaired[0];
  return { records, damage: issue?.reason ?? describeEqualKey(text) };
}

/** Each line is known to be JSON at this point. */
function describeEqualKey(text: string): string | null {
  const key = findEqualKey(text);
  return key === null ? null : `the key ${JSON.stringify(key.slice(0, 40))} appears twice`;
}

/** Returns the first key that occurs twice in an object, or null. The text must be JSON. Takes linear time. */
export function findEqualKey(text: string): string | null {
  /** Each open object's keys; null for an array. */
  const open: (Set<string> | null)[] = [];
  let isKey = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      const end = endOfString(text, at);
      const keys = isKey ? open.at(-1) : null;
      const key = keys ? (JSON.parse(text.slice(at, end)) as string) : '';
      if (keys?.has(key)) return key;
      keys?.add(key);
      isKey = false;
      at = end - 1;
    } else if (char === '{') {
      open.push(new Set());
      isKey = true;
    } else if (char === '[') open.push(null);
    else if (char === '}' || char === ']') {
      open.pop();
      isKey = false;
    } else if (char === ',') isKey = open.at(-1) != null;
  }
  return null;
}

/** Returns the position after the closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length && text[at] !== '"'; at += 1) if (text[at] === '\\') at += 1;
  return at + 1;
}

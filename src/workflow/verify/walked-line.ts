/** The facts about a line at one of its commits, while it is walked from its start to its tip. */
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

/** The turn that was last written to. */
export interface WalkedTurn {
  turn: TurnName;
  records: TranscriptRecord[];
  transcript: Uint8Array;
  plan: Uint8Array | null;
  /** Where the walk has come across it. */
  planEntry?: Entry;
  hasReport: boolean;
}

interface BrokenFile {
  /** Undefined: nothing was published there. */
  was: Oid | undefined;
  violations: Violation[];
}

/** An entry that was looked at. */
export interface DatedEntry {
  id: string;
  created: string;
  ms: number;
  /** The author's date of its commit. */
  seconds: number;
  kind: EntryKind;
}

export interface WalkedLine {
  project: Project;
  session: SessionId;
  contents: ContentReader;
  maxFileBytes: number;
  /** Also of files that nobody reads. */
  limitsAll: boolean;
  /** Secrets have been looked for. */
  isSearched: boolean;
  logs: LogRenderer;
  order: LineOrder;
  /** The version of each of teddy's files in the last honest commit. */
  published: Map<RepoPath, Oid>;
  /** The published files that commits of others have changed, until an entry puts them right. */
  broken: Map<RepoPath, BrokenFile>;
  /** How many were put right. */
  mended: number;
  /** How many entries a clock that was set back has dated before the session, or before the entry above them. */
  early: number;
  /** The last two entries, the newest first. */
  dated: readonly DatedEntry[];
  /** Another agent, or an import, has written entries of the line: these have the words and times of their source. */
  isForeign: boolean;
  /** The objects that were reported as missing. */
  missing: Set<Oid>;
  current: WalkedTurn | null;
  /** The words of the log that was last looked at. */
  asked: { oid: Oid; asked: Asked | null } | null;
  result: VerifiedLine;
}

/** A commit with what it brings, as far as the line needs it. */
export interface WalkedCommit extends ChangedCommit {
  /** The entry that its message is read as; null when it is none. */
  decoded: Entry | null;
  contents: ReadonlyMap<RepoPath, AwaitedContent>;
  /** Its log, as the commits give it; null: it has none, or there was no room to look at it ahead. */
  rendered: Promise<RenderedLog | null>;
}

export interface Step {
  commit: WalkedCommit;
  entry: Entry;
  blame(rule: Rule, path: RepoPath | null, message: string): void;
}

export async function openWalk(
  parts: Omit<
    WalkedLine,
    'order' | 'published' | 'broken' | 'mended' | 'early' | 'dated' | 'isForeign' | 'missing' | 'current' | 'asked'
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
    mended: 0,
    early: 0,
    dated: [],
    // Only the beginning of a line tells.
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

/** Reads the turn's state before the commit; null when it is not there, or cannot be read. */
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

/** Without a report nothing records the grammar: an answer that only spoke by the oldest one closed its turn. */
export function statusOf({ records, plan, hasReport }: WalkedTurn): TurnStatus {
  const status = toStatus(records, parsePending(plan && toText(plan), hasReport), hasReport);
  return status === 'planned' && isOnlyMessage(parsePlan(toText(plan), { grammar: 1 })) ? 'closed' : status;
}

/** Lines that were added to a transcript, as records; what is damaged in them is returned. */
export function decodeAdded(bytes: Uint8Array): { records: TranscriptRecord[]; damage: string | null } {
  const text = toText(bytes);
  const { records, skipped, mended } = decodeTranscript(text);
  const issue = skipped[0] ?? mended[0];
  return { records, damage: issue?.reason ?? describeEqualKey(text) };
}

/** Each line is JSON by now. */
function describeEqualKey(text: string): string | null {
  const key = findEqualKey(text);
  return key === null ? null : `the key ${JSON.stringify(key.slice(0, 40))} stands there twice`;
}

/** The first key that an object has twice; null: none. The text is JSON already. Takes time in proportion to it. */
export function findEqualKey(text: string): string | null {
  /** The keys of each object that is open; null is an array. */
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

/** After its closing quote. */
function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length && text[at] !== '"'; at += 1) if (text[at] === '\\') at += 1;
  return at + 1;
}

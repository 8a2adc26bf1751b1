/** The verdicts on a turn's plan: their authors and comments, according to the line's entries. */
import type { ApprovalRecord } from '../conversation/records/record.ts';
import { decodeTranscript } from '../conversation/history/decode-transcript.ts';
import type { SessionStore } from '../ports/git.ts';
import type { Hash } from '../ports/project.ts';
import { decodeEntry, type Entry, type VerdictWord } from '../session/entries/entry.ts';
import { toAuthor, type CommitAuthor } from '../session/entries/logged-entry.ts';
import { joinPath, turnDir, type Oid, type SessionId, type TurnName } from '../names.ts';
import { toText } from './bodies.ts';

export interface Verdict {
  /** `none` when a gate ended without a verdict. */
  verdict: VerdictWord;
  turn: TurnName;
  /** The hash of plan.md in hex; the verdict applies to exactly these bytes. */
  planSha256: string;
  /** `line` is a line of plan.md, from 1. */
  comments: { line: number; text: string }[];
  text: string | null;
  commit: Oid;
  author: CommitAuthor;
  /** ISO 8601. */
  at: string;
}

/** The part of a project needed for reading verdicts. */
interface VerdictSource {
  repository: { store: Pick<SessionStore, 'firstParents' | 'readFile'> };
  hash: Hash;
}

interface TurnOfLine {
  tip: Oid;
  session: SessionId;
  turn: TurnName;
}

/**
 * Returns the verdicts on the current plan, oldest first; empty when the turn has no plan. Ignores a verdict on other
 * bytes, and an entry that its record contradicts.
 */
export async function readVerdicts(
  { repository: { store }, hash }: VerdictSource,
  { tip, session, turn }: TurnOfLine,
): Promise<Verdict[]> {
  const found: { commit: Oid; id: string; author: string; verdict: VerdictWord; sha256: string }[] = [];
  for await (const { oid, commit } of store.firstParents(tip)) {
    const entry = decodeEntry(commit.message);
    if (entry === null || entry.session !== session) continue;
    const { kind, id, verdict, sha256 } = entry;
    if (kind === 'start' || (kind === 'plan' && entry.turn === turn)) break;
    if (kind !== 'approval' || entry.turn !== turn || verdict === undefined || sha256 === undefined) continue;
    found.unshift({ commit: oid, id, author: commit.author, verdict, sha256 });
  }
  const last = found.at(-1);
  if (last === undefined) return [];
  const dir = turnDir(session, turn);
  const [plan, transcript] = await Promise.all(
    ['plan.md', 'transcript.jsonl'].map((name) => store.readFile(last.commit, joinPath(dir, name))),
  );
  const planSha256 = hash(plan?.bytes ?? new Uint8Array());
  const { records } = decodeTranscript(toText(transcript?.bytes ?? null));
  return found.flatMap((one) => {
    const record = records.find((other) => other.type === 'approval' && other.id === one.id);
    const isMeant = record?.type === 'approval' && isSame(record, one) && one.sha256 === planSha256;
    return isMeant ? [toVerdict(turn, record, one.commit, toAuthor(one.author))] : [];
  });
}

/** Like `readVerdicts`, when the turn's entries are known: most turns have no verdict. */
export async function readTurnVerdicts(
  source: VerdictSource,
  turn: Omit<TurnOfLine, 'tip'>,
  entries: readonly { commit: Oid; entry: Pick<Entry, 'kind'> | null }[],
): Promise<Verdict[]> {
  const tip = entries.findLast(({ entry }) => entry?.kind === 'approval')?.commit;
  return tip === undefined ? [] : readVerdicts(source, { ...turn, tip });
}

function isSame(record: ApprovalRecord, { verdict, sha256 }: { verdict: VerdictWord; sha256: string }): boolean {
  return record.verdict === verdict && record.plan_sha256 === sha256;
}

function toVerdict(turn: TurnName, record: ApprovalRecord, commit: Oid, author: CommitAuthor): Verdict {
  const { verdict, plan_sha256, comments, text, timestamp } = record;
  return { verdict, turn, planSha256: plan_sha256, comments, text: text ?? null, commit, author, at: timestamp };
}

/**
 * Describes a rejection in the words of the report, and thus of the next request: the reason, and the comments with
 * their lines.
 */
export function describeRejection({ text, comments }: Verdict): string {
  const lines = comments.map((comment) => `plan.md, line ${comment.line}: ${comment.text}`);
  return [text ?? 'rejected', ...lines].join('\n');
}

/** Returns the last verdict that a user gave; a gate that ended without one does not count. */
export function lastWord(verdicts: readonly Verdict[]): Verdict | null {
  return verdicts.findLast(({ verdict }) => verdict !== 'none') ?? null;
}

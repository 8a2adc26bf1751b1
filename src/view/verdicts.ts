/** The verdicts on the plan of a turn: who said what of it, as the entries of the line have it. */
import type { ApprovalRecord } from '../conversation/records/record.ts';
import { decodeTranscript } from '../conversation/history/decode-transcript.ts';
import type { SessionStore } from '../ports/git.ts';
import type { Hash } from '../ports/project.ts';
import { decodeEntry, type Entry, type VerdictWord } from '../session/entries/entry.ts';
import { toAuthor, type CommitAuthor } from '../session/entries/logged-entry.ts';
import { joinPath, turnDir, type Oid, type SessionId, type TurnName } from '../names.ts';
import { toText } from './bodies.ts';

export interface Verdict {
  /** `none`: a gate ended without anybody's verdict. */
  verdict: VerdictWord;
  turn: TurnName;
  /** Hexadecimal, of plan.md: the verdict binds these bytes and no others. */
  planSha256: string;
  /** `line`: of plan.md, from 1. */
  comments: { line: number; text: string }[];
  text: string | null;
  commit: Oid;
  author: CommitAuthor;
  /** ISO 8601. */
  at: string;
}

/** A project has it. */
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
 * Those on the plan as it stands, oldest first; a verdict on other bytes, or an entry whose record says something else, is none.
 * Empty where the turn has no plan.
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

/** The same, where the entries of the turn are known: most turns have none. */
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

/** In the words that the report has, and so the next request: why it was rejected, and what was said of which line. */
export function describeRejection({ text, comments }: Verdict): string {
  const lines = comments.map((comment) => `plan.md, line ${comment.line}: ${comment.text}`);
  return [text ?? 'rejected', ...lines].join('\n');
}

/** The last word of anybody; a gate that ended without one has said nothing. */
export function lastWord(verdicts: readonly Verdict[]): Verdict | null {
  return verdicts.findLast(({ verdict }) => verdict !== 'none') ?? null;
}

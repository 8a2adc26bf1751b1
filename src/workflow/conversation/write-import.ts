/** Writes the lines of an import: what counts, and each attempt that was taken back. No ref moves. */
import type { ImportUnit } from '../../conversation/importer.ts';
import type { LogPart } from '../../conversation/rewinds.ts';
import type { LineCommit } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { encodeEntry, type Entry, labelLimits } from '../../session/entry.ts';
import {
  compareTurns,
  conversationBranchRef,
  joinPath,
  turnDir,
  type Oid,
  type RefName,
  type SessionId,
} from '../../names.ts';
import { findLeave, maskUnit, writeOpening, type PlannedAttempt, type WrittenLine } from './imported-attempts.ts';
import { openEntries, type ImportedEntry } from './imported-entries.ts';
import { openTranscript } from './imported-turns.ts';
import type { Base } from '../line/choose-start.ts';
import { maskEntry } from '../line/mask-text.ts';
import { draftStart } from '../line/new-session.ts';
import type { ImportPlan } from './plan-import.ts';
import { readLogAgain, type ImportRequest } from './read-log.ts';
import { writeDraft } from '../line/write-entry.ts';
import type { KnownRecord } from '../../conversation/record.ts';
import { formatCount } from '../../session/format-count.ts';
import { describeRecords } from '../line/describe-records.ts';

export interface WrittenImport {
  session: SessionId;
  start: Oid;
  commit: Oid;
  branches: { ref: RefName; commit: Oid }[];
  maskedSecrets: number;
}

/** All objects are durable then. Throws FILE_MODIFIED, INTERRUPTED. */
export async function writeImport(
  project: Project,
  request: ImportRequest,
  plan: ImportPlan,
  { session, now, base }: { session: SessionId; now: Date; base: Base },
): Promise<WrittenImport> {
  const draft = await draftStart(project, session, now, base, { sha256: plan.sha256, importFormat: plan.format });
  const start = await writeDraft(project, base.oid, draft, { starts: true });
  const line = { session, created: draft.entry.created };
  const counts = { maskedSecrets: 0 };
  const write = (parent: Oid, part: LogPart | undefined, attempt: PlannedAttempt | null): Promise<Oid> => {
    const { units } = readLogAgain(project, request, plan, part, 'writing');
    return project.repository.store.writeLine(parent, toCommits(project, line, units, counts, attempt));
  };
  const commit = await write(start, plan.part, null);
  const written: WrittenLine[] = [];
  for (const attempt of plan.attempts) {
    const left = attempt.leaves === null ? undefined : written[attempt.leaves];
    const leave = await findLeave(project, left ?? { tip: commit, opens: null }, attempt.from);
    const tip = await write(await writeOpening(project, leave, line, attempt), attempt.part, attempt);
    written.push({ tip, opens: { turn: attempt.turn, leave } });
  }
  const branches = plan.attempts.map(({ turn }, at) => ({
    ref: conversationBranchRef(session, turn),
    commit: written[at]?.tip ?? commit,
  }));
  return { session, start, commit, branches, ...counts };
}

/** An attempt has the turns before its own from the line that it leaves. */
async function* toCommits(
  project: Project,
  { session, created }: Pick<Entry, 'session' | 'created'>,
  units: AsyncIterable<ImportUnit>,
  counts: { maskedSecrets: number },
  attempt: PlannedAttempt | null,
): AsyncIterable<LineCommit> {
  const entries = openEntries();
  const transcript = openTranscript();
  const toCommit = async ({ turn, units: unmasked }: ImportedEntry): Promise<LineCommit> => {
    const masked = await Promise.all(unmasked.map((unit) => maskUnit(project, unit)));
    counts.maskedSecrets += masked.reduce((sum, { count }) => sum + count, 0);
    const path = joinPath(turnDir(session, turn), 'transcript.jsonl');
    const entry: Entry = { session, turn, id: project.ids.entryId(), created, ...describeUnits(masked) };
    const message = encodeEntry(await maskEntry(project.masker, entry));
    const records = masked.flatMap((unit) => unit.records);
    return {
      ...(await project.repository.store.ident()),
      message,
      file: { path, bytes: transcript.add(turn, records) },
    };
  };
  const isOwn = ({ turn }: ImportedEntry) => attempt === null || compareTurns(turn, attempt.from) >= 0;
  const named = (entry: ImportedEntry) => (entry.turn === attempt?.from ? { ...entry, turn: attempt.turn } : entry);
  for await (const unit of units)
    for (const entry of entries.push(unit).filter(isOwn)) yield await toCommit(named(entry));
  for (const entry of entries.end().filter(isOwn)) yield await toCommit(named(entry));
}

type Description = Pick<Entry, 'kind' | 'title' | 'details' | 'status'>;

const asides: KnownRecord['type'][] = ['note', 'orchestrator_meta', 'voice_interrupted'];

/**
 * A line is kept up to this length: more than any label shows, whatever of it is left out. The rest need not be masked and
 * measured again.
 */
const keptCharacters = 4 * labelLimits.detail;

/** Describes an imported entry for its commit. At least one unit; their records are masked. */
function describeUnits(units: readonly ImportUnit[]): Description {
  const [first] = units;
  const last = units.at(-1);
  if (first === undefined || last === undefined) throw new Error('An entry has at least one unit.');
  const { title, details } = units.length === 1 ? describeUnit(first) : describeMany(units);
  const isPartial = last.records.some(({ type }) => type === 'assistant_partial');
  return {
    kind: toKind(units),
    title: cut(title),
    details: details.slice(0, labelLimits.details).map(cut),
    ...(isPartial ? { status: 'PARTIAL' } : {}),
  };
}

function describeUnit({ records }: ImportUnit): Pick<Entry, 'title' | 'details'> {
  const said = records.filter(({ type }) => !asides.includes(type));
  return describeRecords(said.length === 0 ? records : said);
}

/** `36 exchanges, 1 message`, and below what the first of them are. */
function describeMany(units: readonly ImportUnit[]): Pick<Entry, 'title' | 'details'> {
  const counts = (['exchange', 'message', 'reply'] as const).flatMap((kind) => {
    const count = units.filter((unit) => unit.kind === kind).length;
    return count === 0 ? [] : [`${formatCount(count)} ${inNumber(kind, count)}`];
  });
  const details = units
    .slice(0, labelLimits.details)
    .map((unit) => `${unit.kind}: ${describeUnit(unit).title.slice(0, keptCharacters)}`);
  return { title: counts.join(', '), details };
}

function inNumber(kind: ImportUnit['kind'], count: number): string {
  if (count === 1) return kind;
  return kind === 'reply' ? 'replies' : `${kind}s`;
}

/** A `message` at the tip says that the turn waits: it is one only if nothing was answered. */
function toKind(units: readonly ImportUnit[]): ImportUnit['kind'] {
  const kinds = units.map(({ kind }) => kind);
  return (['exchange', 'reply'] as const).find((kind) => kinds.includes(kind)) ?? 'message';
}

function cut(line: string): string {
  return line.slice(0, keptCharacters);
}

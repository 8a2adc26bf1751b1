/** Writes the lines of an import: what counts, and each attempt that was taken back. No ref moves. */
import type { ImportUnit } from '../../conversation/importer.ts';
import type { LogPart } from '../../conversation/rewinds.ts';
import type { LineCommit } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { encodeEntry, type Entry } from '../../session/entry.ts';
import {
  compareTurns,
  conversationBranchRef,
  joinPath,
  turnDir,
  type Oid,
  type RefName,
  type SessionId,
} from '../../names.ts';
import type { PlannedAttempt } from './imported-attempts.ts';
import { findLeave, writeOpening, type WrittenLine } from '../line/conversation-branch.ts';
import { maskUnit } from '../line/mask-record.ts';
import { openEntries, type ImportedEntry } from './imported-entries.ts';
import { openTranscript } from './imported-turns.ts';
import type { Base } from '../line/choose-start.ts';
import { maskEntry } from '../line/mask-text.ts';
import { draftStart } from '../line/new-session.ts';
import type { ImportPlan } from './plan-import.ts';
import { readLogAgain, type ImportRequest } from './read-log.ts';
import { nextAfter, writeDraft } from '../line/write-entry.ts';
import { describeUnits } from '../line/describe-units.ts';

export interface WrittenImport {
  session: SessionId;
  start: Oid;
  commit: Oid;
  branches: { ref: RefName; commit: Oid }[];
  maskedSecrets: number;
}

interface WrittenCommit {
  commit: Oid;
  entry: Entry;
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
  const counts = { maskedSecrets: 0 };
  const write = (parent: WrittenCommit, part: LogPart | undefined, attempt: PlannedAttempt | null): Promise<Oid> => {
    const { units } = readLogAgain(project, request, plan, part, 'writing');
    return project.repository.store.writeLine(parent.commit, toCommits(project, parent.entry, units, counts, attempt));
  };
  const commit = await write({ commit: start, entry: draft.entry }, plan.part, null);
  const written: WrittenLine[] = [];
  for (const attempt of plan.attempts) {
    const left = attempt.leaves === null ? undefined : written[attempt.leaves];
    const leave = await findLeave(project, left ?? { tip: commit, opens: null }, attempt.from);
    const tip = await write(await writeOpening(project, leave, attempt), attempt.part, attempt);
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
  parent: Entry,
  units: AsyncIterable<ImportUnit>,
  counts: { maskedSecrets: number },
  attempt: PlannedAttempt | null,
): AsyncIterable<LineCommit> {
  let last = parent;
  const entries = openEntries();
  const transcript = openTranscript();
  const toCommit = async ({ turn, units: unmasked }: ImportedEntry): Promise<LineCommit> => {
    const masked = await Promise.all(unmasked.map((unit) => maskUnit(project.masker, unit)));
    counts.maskedSecrets += masked.reduce((sum, { count }) => sum + count, 0);
    const path = joinPath(turnDir(last.session, turn), 'transcript.jsonl');
    last = { ...nextAfter(last, project), turn, ...describeUnits(masked) };
    const message = encodeEntry(await maskEntry(project.masker, last));
    const records = masked.flatMap((unit) => unit.records);
    return {
      message,
      files: [{ path, bytes: transcript.add(turn, records) }],
      ...(await project.repository.store.ident()),
    };
  };
  const isOwn = ({ turn }: ImportedEntry) => attempt === null || compareTurns(turn, attempt.from) >= 0;
  const named = (entry: ImportedEntry) => (entry.turn === attempt?.from ? { ...entry, turn: attempt.turn } : entry);
  for await (const unit of units)
    for (const entry of entries.push(unit).filter(isOwn)) yield await toCommit(named(entry));
  for (const entry of entries.end().filter(isOwn)) yield await toCommit(named(entry));
}

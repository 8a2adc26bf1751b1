/** Writes the lines of an import: what counts, and each attempt that was taken back. No ref moves. */
import type { ImportUnit } from '../../conversation/importer.ts';
import type { LogPart } from '../../conversation/rewinds.ts';
import type { Project } from '../../ports/project.ts';
import { compareTurns, conversationBranchRef, type Oid, type RefName, type SessionId } from '../../names.ts';
import type { PlannedAttempt } from './imported-attempts.ts';
import { writeEntries, type Draft } from '../line/append.ts';
import type { Base } from '../line/choose-start.ts';
import { draftOpening, findLeave, type WrittenLine } from '../line/conversation-branch.ts';
import { describeUnits } from '../line/describe-records.ts';
import { draftStart, toStartPlace } from '../line/new-session.ts';
import { readLineTurns } from '../../view/view.ts';
import { openEntries, type ImportedEntry } from './imported-entries.ts';
import type { ImportPlan } from './plan-import.ts';
import { readLogAgain, type ImportRequest } from './read-log.ts';

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
  const { store } = project.repository;
  const draft = await draftStart(project, session, now, base, { sha256: plan.sha256, importFormat: plan.format });
  const { commit: start } = await writeEntries(project, toStartPlace(session, now, base), [draft]);
  let maskedSecrets = 0;
  const write = async (parent: Oid, part: LogPart | undefined, attempt: PlannedAttempt | null): Promise<Oid> => {
    const { units } = await readLogAgain(project, request, plan, part, 'writing');
    const written = await writeEntries(project, await readLineTurns(store, parent), toDrafts(units, attempt));
    maskedSecrets += written.masked;
    return written.commit;
  };
  const commit = await write(start, plan.part, null);
  const written: WrittenLine[] = [];
  for (const attempt of plan.attempts) {
    const left = attempt.leaves === null ? undefined : written[attempt.leaves];
    const leave = await findLeave(project, left ?? { tip: commit, opens: null }, attempt.from);
    const opening = await writeEntries(project, await readLineTurns(store, leave), [draftOpening(attempt)]);
    const tip = await write(opening.commit, attempt.part, attempt);
    written.push({ tip, opens: { turn: attempt.turn, leave } });
  }
  const branches = plan.attempts.map(({ turn }, at) => ({
    ref: conversationBranchRef(session, turn),
    commit: written[at]?.tip ?? commit,
  }));
  return { session, start, commit, branches, maskedSecrets };
}

/** An attempt has the turns before its own from the line that it leaves. */
async function* toDrafts(units: AsyncIterable<ImportUnit>, attempt: PlannedAttempt | null): AsyncIterable<Draft> {
  const entries = openEntries();
  const toOwn = (whole: ImportedEntry[]): Draft[] =>
    whole
      .filter(({ turn }) => attempt === null || compareTurns(turn, attempt.from) >= 0)
      .map(({ turn, units: said }) => ({
        ...describeUnits(said),
        turn: attempt !== null && turn === attempt.from ? attempt.turn : turn,
        records: said.flatMap(({ records }) => records),
      }));
  for await (const unit of units) yield* toOwn(entries.push(unit));
  yield* toOwn(entries.end());
}

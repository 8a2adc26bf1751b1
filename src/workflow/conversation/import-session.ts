/** Imports a foreign log as a session: writes all entries, syncs once, and makes them visible with one ref update. */
import type { ImportFormat } from '../../agents/import-formats.ts';
import type { ImportReport, ImportUnit, LogPath } from '../../conversation/logs/importer.ts';
import type { RefTip } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { decodeEntry } from '../../session/entries/entry.ts';
import {
  conversationBranchRef,
  mainLineRef,
  archivePrefix,
  parseArchiveRef,
  sessionDir,
  shortRef,
  toSessionId,
  type Oid,
  type RefName,
  type RepoPath,
  type SessionId,
  type TurnName,
  compareTurns,
} from '../../names.ts';
import { repair } from '../line/repair.ts';
import { addForgotten } from '../../session/entries/cached-rows.ts';
import { ensureGlobal, refuseTeddyBranch } from '../line/global-branch.ts';
import type { PlannedAttempt } from './imported-attempts.ts';
import { chooseStart, type Base } from '../line/choose-start.ts';
import { readTakenIds, refuseTrackedFile, draftStart, toStartPlace } from '../line/new-session.ts';
import { planImport, type ImportPlan } from './plan-import.ts';
import { type ImportRequest, readLogAgain } from './read-log.ts';
import { moveRefs } from '../line/move-refs.ts';
import { writeEntries, type Draft } from '../line/append.ts';
import { draftOpening, findLeave, type WrittenLine } from '../line/conversation-branch.ts';
import { describeUnits } from '../line/describe-records.ts';
import { readLineTurns } from '../../view/view.ts';
import { openEntries, type ImportedEntry } from './imported-entries.ts';

export interface ImportedSession {
  session: SessionId;
  /** The name of its line, or of the remote's or the archive's when there is no other. */
  line: string;
  commit: Oid;
  /** Relative to the root of a work tree that is on the line. */
  directory: RepoPath;
  /** False when the session already existed, made from the same bytes; nothing has changed then. */
  isNew: boolean;
  format: ImportFormat;
  sha256: string;
  entries: number;
  turns: number;
  report: ImportReport;
  /** The attempts that the user took back, in the order of the source. */
  abandoned: AbandonedAttempt[];
  maskedSecrets: number;
  /** The ref that was created; null when it already existed. */
  made: string | null;
}

export interface AbandonedAttempt {
  /** The line of the source, from 1, that has its prompt. */
  sourceLine: number;
  /** The conversation branch that holds it; null when there is none here. */
  line: string | null;
  turn: TurnName;
  entries: number;
  turns: number;
  records: number;
}

export interface PreviewedImport extends Omit<ImportPlan, 'importedAt' | 'path' | 'attempts'> {
  abandoned: AbandonedAttempt[];
  /** The session that was made from the same bytes. */
  known: { session: SessionId; line: string } | null;
}

const linePrefixes = ['refs/heads/teddy/', 'refs/remotes/*/teddy/', archivePrefix];

/** Reads the whole source, and writes nothing. Throws what `planImport` throws. */
export async function previewImport(project: Project, request: ImportRequest): Promise<PreviewedImport> {
  const { importedAt: _, path: _path, attempts, ...plan } = await planImport(project, request, { countsSecrets: true });
  const known = await findImported(project, plan);
  const abandoned =
    known === null
      ? toAbandoned(attempts, findFreeId(await readTakenIds(project), project.clock.now(), plan.name))
      : await findAbandoned(project, attempts, known.session);
  return { ...plan, abandoned, known: known && { session: known.session, line: known.line } };
}

/**
 * HEAD and files stay as they are. Throws what `planImport` throws, FILE_MODIFIED when the source has changed while it was read,
 * BRANCH_IN_THE_WAY, FILES_IN_THE_WAY, NO_IDENTITY; after any of these there is no new branch.
 */
export async function importSession(project: Project, request: ImportRequest): Promise<ImportedSession> {
  const { repository } = project;
  await repair(project);
  await refuseTeddyBranch(repository.store);
  await repository.store.ident();
  const { base } = await chooseStart(project);
  await refuseTrackedFile(project, base);
  const plan = await planImport(project, request, { countsSecrets: false });
  const { format, sha256, entries, turns, report } = plan;
  const about = { format, sha256, entries, turns, report };
  const before = await readLastImport(project, plan);
  const toKnown = async (known: KnownImport, made: string | null): Promise<ImportedSession> => {
    const abandoned = await findAbandoned(project, plan.attempts, known.session);
    return { ...known, ...about, abandoned, isNew: false, maskedSecrets: 0, made };
  };
  if (before.known !== null) return toKnown(before.known, null);
  const made = await ensureGlobal(project);
  await repository.installAttributes();
  const done = await publishImport(project, request, plan, base, before.last);
  if ('known' in done) return toKnown(done.known, made);
  const { session, commit, maskedSecrets } = done.written;
  const line = shortRef(mainLineRef(session));
  const abandoned = toAbandoned(plan.attempts, session);
  return {
    session,
    line,
    commit,
    directory: sessionDir(session),
    ...about,
    abandoned,
    isNew: true,
    maskedSecrets,
    made,
  };
}

function toAbandoned(attempts: readonly PlannedAttempt[], session: SessionId): AbandonedAttempt[] {
  return attempts.map(({ line: sourceLine, turn, entries, turns, records }) => ({
    sourceLine,
    line: shortRef(conversationBranchRef(session, turn)),
    turn,
    entries,
    turns,
    records,
  }));
}

/** Their branches may have been deleted, and older imports made none. */
async function findAbandoned(
  project: Project,
  attempts: readonly PlannedAttempt[],
  session: SessionId,
): Promise<AbandonedAttempt[]> {
  if (attempts.length === 0) return [];
  const refs = new Set((await project.repository.store.listRefs('refs/heads/teddy/')).map(({ ref }) => shortRef(ref)));
  return toAbandoned(attempts, session).map((attempt) =>
    attempt.line !== null && refs.has(attempt.line) ? attempt : { ...attempt, line: null },
  );
}

type KnownImport = Pick<ImportedSession, 'session' | 'line' | 'commit' | 'directory'>;

/**
 * Every import moves this ref, from what it was before the look for an earlier import of the same bytes: of two at a time only
 * one can, and the other looks again. It holds the `start` of the last one, and says nothing of whether that session is there
 * still; so a session that was deleted can be imported again.
 */
const lastImportRef = 'refs/teddy/keep/last-import' as RefName;

/** The ref first: what is published after that is found, or the ref has moved. */
async function readLastImport(
  project: Project,
  made: ImportedFrom,
): Promise<{ last: Oid | null; known: KnownImport | null }> {
  const [tip] = await project.repository.store.listRefs(lastImportRef);
  return { last: tip?.oid ?? null, known: await findImported(project, made) };
}

/** Two processes may want the same name at the same time: who comes second takes the next one. */
async function publishImport(
  project: Project,
  request: ImportRequest,
  plan: ImportPlan,
  base: Base,
  lastBefore: Oid | null,
): Promise<{ written: WrittenImport } | { known: KnownImport }> {
  const now = project.clock.now();
  const taken = await readTakenIds(project);
  let written: WrittenImport | null = null;
  for (let last = lastBefore; ;) {
    const session = findFreeId(taken, now, plan.name);
    if (written?.session !== session) written = await writeImport(project, request, plan, { session, now, base });
    const updates = [
      { ref: mainLineRef(session), old: null, new: written.commit },
      ...written.branches.map(({ ref, commit }) => ({ ref, old: null, new: commit })),
      { ref: lastImportRef, old: last, new: written.start },
    ];
    if (await moveRefs(project, updates, `import ${plan.format}`)) return { written };
    const meanwhile = await readLastImport(project, plan);
    if (meanwhile.known !== null || meanwhile.last === last) await forget(project, written);
    if (meanwhile.known !== null) return { known: meanwhile.known };
    if (meanwhile.last === last) taken.add(session);
    last = meanwhile.last;
  }
}

/** Nobody was told of these entries: they are on no branch, and none is to get them. */
function forget({ repository: { cache } }: Project, { commit, branches }: WrittenImport): Promise<void> {
  return addForgotten(cache, [commit, ...branches.map((branch) => branch.commit)]);
}

function findFreeId(taken: ReadonlySet<string>, now: Date, name: string): SessionId {
  for (let attempt = 1; ; attempt += 1) {
    const session = toSessionId(now, name, attempt);
    if (!taken.has(session)) return session;
  }
}

/** Bytes that were read in another format made another session, or none that is worth keeping. */
type ImportedFrom = Pick<ImportPlan, 'sha256' | 'format'>;

/** The session whose `start` entry names these bytes, on any line that is known here. */
async function findImported(
  { repository: { store } }: Project,
  { sha256, format }: ImportedFrom,
): Promise<KnownImport | null> {
  for (const oid of await store.findCommits(`Teddy-Sha256: ${sha256}`, ...linePrefixes)) {
    const entry = decodeEntry((await store.readCommit(oid)).message);
    if (entry?.kind !== 'start' || entry.sha256 !== sha256) continue;
    // Older imports do not say what they were read as.
    if (entry.importFormat !== undefined && entry.importFormat !== format) continue;
    const refs = (await store.listRefs(...linePrefixes)).filter(isRead);
    const at = refs.find(({ ref }) => isLineOf(ref, entry.session)) ?? (await findHolder(refs, oid, store.isAncestor));
    if (at === null) continue;
    const line = shortRef(at.ref);
    return { session: entry.session, line, commit: at.oid, directory: sessionDir(entry.session) };
  }
  return null;
}

/** A ref among the archives that is called like none is not read by any command. */
function isRead({ ref }: RefTip): boolean {
  return !ref.startsWith(archivePrefix) || parseArchiveRef(ref) !== null;
}

function isLineOf(ref: string, session: SessionId): boolean {
  return ref.endsWith(`/${session}`);
}

/** Its own line may be gone, and a conversation branch of it still there. */
async function findHolder(
  refs: RefTip[],
  start: Oid,
  isAncestor: (ancestor: Oid, descendant: Oid) => Promise<boolean>,
): Promise<RefTip | null> {
  for (const tip of refs) if (await isAncestor(start, tip.oid)) return tip;
  return null;
}

/** Writes the lines of an import: what counts, and each attempt that was taken back. No ref moves. */
interface WrittenImport {
  session: SessionId;
  start: Oid;
  commit: Oid;
  branches: { ref: RefName; commit: Oid }[];
  maskedSecrets: number;
}

/** All objects are durable then. Throws FILE_MODIFIED, INTERRUPTED. */
async function writeImport(
  project: Project,
  request: ImportRequest,
  plan: ImportPlan,
  { session, now, base }: { session: SessionId; now: Date; base: Base },
): Promise<WrittenImport> {
  const { store } = project.repository;
  const draft = await draftStart(project, session, now, base, { sha256: plan.sha256, importFormat: plan.format });
  const { commit: start } = await writeEntries(project, toStartPlace(session, now, base), [draft]);
  let maskedSecrets = 0;
  const write = async (parent: Oid, path: LogPath | null, attempt: PlannedAttempt | null): Promise<Oid> => {
    const units = readLogAgain(project, request, plan, path, 'writing');
    const written = await writeEntries(project, await readLineTurns(store, parent), toDrafts(units, attempt));
    maskedSecrets += written.masked;
    return written.commit;
  };
  const commit = await write(start, plan.path, null);
  const written: WrittenLine[] = [];
  for (const attempt of plan.attempts) {
    const left = attempt.leaves === null ? undefined : written[attempt.leaves];
    const leave = await findLeave(project, left ?? { tip: commit, opens: null }, attempt.from);
    const opening = await writeEntries(project, await readLineTurns(store, leave), [draftOpening(attempt)]);
    const tip = await write(opening.commit, attempt.path, attempt);
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

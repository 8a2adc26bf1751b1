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
import { recordDeletedTips } from '../../session/entries/cached-rows.ts';
import { ensureGlobal, refuseTeddyBranch } from '../line/global-branch.ts';
import type { PlannedAttempt } from './imported-attempts.ts';
import { chooseStart, type Base } from '../line/choose-start.ts';
import { readTakenIds, refuseTrackedFile, draftStart, toStartPosition } from '../line/new-session.ts';
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
  /** The name of its local line, otherwise of the line on a remote or in the archive. */
  line: string;
  commit: Oid;
  /** A path relative to the root of a work tree that has the line checked out. */
  directory: RepoPath;
  /** False when the same bytes had already been imported; in that case nothing changes. */
  isNew: boolean;
  format: ImportFormat;
  sha256: string;
  entries: number;
  turns: number;
  report: ImportReport;
  /** The attempts that the user abandoned, in source order. */
  abandoned: AbandonedAttempt[];
  maskedSecrets: number;
  /** The created ref; null when it already existed. */
  made: string | null;
}

export interface AbandonedAttempt {
  /** The source line with the attempt's prompt, counted from 1. */
  sourceLine: number;
  /** The attempt's conversation branch; null when this repository has none. */
  line: string | null;
  turn: TurnName;
  entries: number;
  turns: number;
  records: number;
}

export interface PreviewedImport extends Omit<ImportPlan, 'importedAt' | 'path' | 'attempts'> {
  abandoned: AbandonedAttempt[];
  /** The session made from the same bytes. */
  known: { session: SessionId; line: string } | null;
}

const linePrefixes = ['refs/heads/teddy/', 'refs/remotes/*/teddy/', archivePrefix];

/** Reads the whole source, and writes nothing. Throws the errors of `planImport`. */
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
 * Never touches HEAD or the files in the work tree. Throws the errors of `planImport`, FILE_MODIFIED when the source
 * changed while teddy read it, BRANCH_IN_THE_WAY, FILES_IN_THE_WAY, NO_IDENTITY; none of these leaves a new branch
 * behind.
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

/** Finds an earlier import's attempts. The user may have deleted their branches, and older imports created none. */
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
 * Every import moves this ref, from the value that it had before the search for an earlier import of the same bytes. Of
 * two concurrent imports only one succeeds, and the other searches again. The ref points to the last import's `start`
 * and does not show whether that session still exists, so the user can import a deleted session again.
 */
const lastImportRef = 'refs/teddy/keep/last-import' as RefName;

/** Reads the ref first: an import published later is then either found by the search, or has moved the ref. */
async function readLastImport(
  project: Project,
  made: ImportedFrom,
): Promise<{ last: Oid | null; known: KnownImport | null }> {
  const [tip] = await project.repository.store.listRefs(lastImportRef);
  return { last: tip?.oid ?? null, known: await findImported(project, made) };
}

/** Publishes the import. When two processes want the same name at the same time, the second one takes the next name. */
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

/** Marks the entries as forgotten: nobody has seen them, no branch contains them, and nothing should restore them. */
function forget({ repository: { cache } }: Project, { commit, branches }: WrittenImport): Promise<void> {
  return recordDeletedTips(cache, [commit, ...branches.map((branch) => branch.commit)]);
}

function findFreeId(taken: ReadonlySet<string>, now: Date, name: string): SessionId {
  for (let attempt = 1; ; attempt += 1) {
    const session = toSessionId(now, name, attempt);
    if (!taken.has(session)) return session;
  }
}

/**
 * Identifies an import by bytes and format, because the same bytes in another format produce another session, or none
 * that is useful.
 */
type ImportedFrom = Pick<ImportPlan, 'sha256' | 'format'>;

/** Finds the session with a `start` entry that names these bytes, on any known line. */
async function findImported(
  { repository: { store } }: Project,
  { sha256, format }: ImportedFrom,
): Promise<KnownImport | null> {
  for (const oid of await store.findCommits(`Teddy-Sha256: ${sha256}`, ...linePrefixes)) {
    const entry = decodeEntry((await store.readCommit(oid)).message);
    if (entry?.kind !== 'start' || entry.sha256 !== sha256) continue;
    // Older imports do not record the format.
    if (entry.importFormat !== undefined && entry.importFormat !== format) continue;
    const refs = (await store.listRefs(...linePrefixes)).filter(isRead);
    const at = refs.find(({ ref }) => isLineOf(ref, entry.session)) ?? (await findHolder(refs, oid, store.isAncestor));
    if (at === null) continue;
    const line = shortRef(at.ref);
    return { session: entry.session, line, commit: at.oid, directory: sessionDir(entry.session) };
  }
  return null;
}

/** Returns false for an archive ref without a valid archive name, which no command reads. */
function isRead({ ref }: RefTip): boolean {
  return !ref.startsWith(archivePrefix) || parseArchiveRef(ref) !== null;
}

function isLineOf(ref: string, session: SessionId): boolean {
  return ref.endsWith(`/${session}`);
}

/** Finds the session's conversation branch, which may still exist when the session's own line is gone. */
async function findHolder(
  refs: RefTip[],
  start: Oid,
  isAncestor: (ancestor: Oid, descendant: Oid) => Promise<boolean>,
): Promise<RefTip | null> {
  for (const tip of refs) if (await isAncestor(start, tip.oid)) return tip;
  return null;
}

/** An import's written lines: the main line, and one for each abandoned attempt. No ref has moved yet. */
interface WrittenImport {
  session: SessionId;
  start: Oid;
  commit: Oid;
  branches: { ref: RefName; commit: Oid }[];
  maskedSecrets: number;
}

/** Writes all objects durably. Throws FILE_MODIFIED, INTERRUPTED. */
async function writeImport(
  project: Project,
  request: ImportRequest,
  plan: ImportPlan,
  { session, now, base }: { session: SessionId; now: Date; base: Base },
): Promise<WrittenImport> {
  const { store } = project.repository;
  const draft = await draftStart(project, session, now, base, { sha256: plan.sha256, importFormat: plan.format });
  const { commit: start } = await writeEntries(project, toStartPosition(session, now, base), [draft]);
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

/** Drafts a line's entries. An attempt takes its earlier turns from the line where it branches off. */
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

/** Makes a session of a foreign log: all its entries are written, synced once, and made visible by one ref update. */
import type { ImportFormat, ImportReport, ImportUnit } from '../conversation/importer.ts';
import { openImporter } from '../conversation/open-importer.ts';
import { TeddyError } from '../errors.ts';
import type { LineCommit, Project, RefTip } from '../ports.ts';
import { decodeEntry, encodeEntry, type Entry } from '../session/entry.ts';
import {
  joinPath,
  mainLineRef,
  sessionDir,
  shortRef,
  toSessionId,
  turnDir,
  type Oid,
  type RefName,
  type RepoPath,
  type SessionId,
} from '../session/names.ts';
import { describeUnits } from './describe-units.ts';
import { ensureGlobal, refuseTeddyBranch } from './global-branch.ts';
import { openEntries, type ImportedEntry } from './imported-entries.ts';
import { openTranscript } from './imported-turns.ts';
import { maskEntry } from './mask-text.ts';
import { chooseStart, type Base } from './line/choose-start.ts';
import { draftStart, readTakenIds, refuseTrackedFile } from './new-session.ts';
import { maskUnit, planImport, watched, type ImportPlan, type ImportRequest } from './plan-import.ts';
import { writeDraft } from './write-entry.ts';

export interface ImportedSession {
  session: SessionId;
  /** Of its line; a remote's, or that of an archive, where that is all there is. */
  line: string;
  commit: Oid;
  /** Relative to the root of a work tree that is on the line. */
  directory: RepoPath;
  /** False: the session was there already, made of the same bytes, and nothing has changed. */
  isNew: boolean;
  format: ImportFormat;
  sha256: string;
  entries: number;
  turns: number;
  report: ImportReport;
  maskedSecrets: number;
  /** What else was made; null when it was there. */
  made: string | null;
}

export interface PreviewedImport extends Omit<ImportPlan, 'importedAt'> {
  /** The session that was made of the same bytes. */
  known: { session: SessionId; line: string } | null;
}

const linePrefixes = ['refs/heads/teddy/', 'refs/remotes/*/teddy/', 'refs/teddy/archive/'];

/** Reads all of it, and writes nothing. Throws what `planImport` throws. */
export async function previewImport(project: Project, request: ImportRequest): Promise<PreviewedImport> {
  const { importedAt: _, ...plan } = await planImport(project, request, { countsSecrets: true });
  const known = await findImported(project, plan);
  return { ...plan, known: known && { session: known.session, line: known.line } };
}

/**
 * HEAD and files stay as they are. Throws what `planImport` throws, FILE_MODIFIED when the source has changed while it was read,
 * BRANCH_IN_THE_WAY, FILES_IN_THE_WAY, NO_IDENTITY; after any of these there is no new branch.
 */
export async function importSession(project: Project, request: ImportRequest): Promise<ImportedSession> {
  const { repository } = project;
  for (const said of (await repository.workspace?.repair()) ?? []) project.notices.warn(said);
  await refuseTeddyBranch(repository.store);
  await repository.store.ident();
  const { base } = await chooseStart(project);
  await refuseTrackedFile(project, base);
  const plan = await planImport(project, request, { countsSecrets: false });
  const { format, sha256, entries, turns, report } = plan;
  const about = { format, sha256, entries, turns, report };
  const before = await readLastImport(project, plan);
  if (before.known !== null) return { ...before.known, ...about, isNew: false, maskedSecrets: 0, made: null };
  const made = await ensureGlobal(project);
  await repository.installAttributes();
  const done = await publishImport(project, request, plan, base, before.last);
  if ('known' in done) return { ...done.known, ...about, isNew: false, maskedSecrets: 0, made };
  const { session, commit, maskedSecrets } = done.written;
  const line = shortRef(mainLineRef(session));
  return { session, line, commit, directory: sessionDir(session), ...about, isNew: true, maskedSecrets, made };
}

interface Written {
  session: SessionId;
  start: Oid;
  commit: Oid;
  maskedSecrets: number;
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
): Promise<{ written: Written } | { known: KnownImport }> {
  const { store } = project.repository;
  const now = project.clock.now();
  const taken = await readTakenIds(project);
  let written: Written | null = null;
  for (let last = lastBefore; ;) {
    const session = findFreeId(taken, now, plan.name);
    if (written?.session !== session) written = await writeImport(project, request, plan, { session, now, base });
    const updates = [
      { ref: mainLineRef(session), old: null, new: written.commit },
      { ref: lastImportRef, old: last, new: written.start },
    ];
    if ((await store.updateRefs(updates, `teddy: import ${plan.format}`)) === 'done') return { written };
    const meanwhile = await readLastImport(project, plan);
    if (meanwhile.known !== null) return { known: meanwhile.known };
    if (meanwhile.last === last) taken.add(session);
    last = meanwhile.last;
  }
}

function findFreeId(taken: ReadonlySet<string>, now: Date, name: string): SessionId {
  for (let attempt = 1; ; attempt += 1) {
    const session = toSessionId(now, name, attempt);
    if (!taken.has(session)) return session;
  }
}

async function writeImport(
  project: Project,
  request: ImportRequest,
  plan: ImportPlan,
  { session, now, base }: { session: SessionId; now: Date; base: Base },
): Promise<Written> {
  const draft = await draftStart(project, session, now, base, { sha256: plan.sha256, importFormat: plan.format });
  const start = await writeDraft(project, base.oid, draft, { starts: true });
  const counts = { maskedSecrets: 0 };
  const units = readAgain(project, request, plan);
  const commits = toCommits(project, { session, created: draft.entry.created }, units, counts);
  const commit = await project.repository.store.writeLine(start, commits);
  return { session, start, commit, ...counts };
}

/** The same units as the first time. Throws FILE_MODIFIED if they are not. */
async function* readAgain(
  project: Project,
  request: ImportRequest,
  { format, importedAt, sha256 }: ImportPlan,
): AsyncIterable<ImportUnit> {
  const importer = openImporter(format, { hash: project.hash, importedAt });
  const reading = request.source.read();
  for await (const { text } of watched(reading.pieces, request, 'writing')) yield* importer.push(text);
  yield* importer.end();
  if (reading.sha256() === sha256) return;
  throw new TeddyError(
    'FILE_MODIFIED',
    `${request.source.path} was changed while it was read; nothing was imported.`,
    'Wait until nobody writes to it, or import a copy.',
  );
}

async function* toCommits(
  project: Project,
  { session, created }: Pick<Entry, 'session' | 'created'>,
  units: AsyncIterable<ImportUnit>,
  counts: { maskedSecrets: number },
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
  for await (const unit of units) for (const entry of entries.push(unit)) yield await toCommit(entry);
  for (const entry of entries.end()) yield await toCommit(entry);
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
    const refs = await store.listRefs(...linePrefixes);
    const at = refs.find(({ ref }) => isLineOf(ref, entry.session)) ?? (await findHolder(refs, oid, store.isAncestor));
    if (at === null) continue;
    const line = shortRef(at.ref);
    return { session: entry.session, line, commit: at.oid, directory: sessionDir(entry.session) };
  }
  return null;
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

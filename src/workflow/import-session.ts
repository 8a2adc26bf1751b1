/** Makes a session of a foreign log: all its entries are written, synced once, and made visible by one ref update. */
import type { KnownRecord } from '../conversation/record.ts';
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
  type RepoPath,
  type SessionId,
} from '../session/names.ts';
import { describeRecords } from './append-records.ts';
import { ensureGlobal, refuseTeddyBranch } from './global-branch.ts';
import { openTranscript, openTurns } from './imported-turns.ts';
import { maskEntry } from './mask-text.ts';
import { draftStart, readBase, readTakenIds, refuseTrackedFile, type Base } from './new-session.ts';
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
  const known = await findImported(project, plan.sha256);
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
  const base = await readBase(project);
  await refuseTrackedFile(project, base);
  const plan = await planImport(project, request, { countsSecrets: false });
  const { format, sha256, entries, turns, report } = plan;
  const about = { format, sha256, entries, turns, report };
  const known = await findImported(project, sha256);
  if (known !== null) return { ...known, ...about, isNew: false, maskedSecrets: 0, made: null };
  const made = await ensureGlobal(project);
  await repository.installAttributes();
  const { session, commit, maskedSecrets } = await publishImport(project, request, plan, base);
  const line = shortRef(mainLineRef(session));
  return { session, line, commit, directory: sessionDir(session), ...about, isNew: true, maskedSecrets, made };
}

interface Written {
  session: SessionId;
  commit: Oid;
  maskedSecrets: number;
}

/** Two processes may want the same name at the same time: who comes second takes the next one. */
async function publishImport(project: Project, request: ImportRequest, plan: ImportPlan, base: Base): Promise<Written> {
  const now = project.clock.now();
  const taken = await readTakenIds(project);
  for (let attempt = 1; ; attempt += 1) {
    const session = toSessionId(now, plan.name, attempt);
    if (taken.has(session)) continue;
    const written = await writeImport(project, request, plan, { session, now, base });
    const update = { ref: mainLineRef(session), old: null, new: written.commit };
    const outcome = await project.repository.store.updateRefs([update], `teddy: import ${plan.format}`);
    if (outcome === 'done') return written;
    taken.add(session);
  }
}

async function writeImport(
  project: Project,
  request: ImportRequest,
  plan: ImportPlan,
  { session, now, base }: { session: SessionId; now: Date; base: Base },
): Promise<Written> {
  const draft = await draftStart(project, session, now, base, plan.sha256);
  const start = await writeDraft(project, base.oid, draft, { starts: true });
  const counts = { maskedSecrets: 0 };
  const units = readAgain(project, request, plan);
  const commits = toCommits(project, { session, created: draft.entry.created }, units, counts);
  return { session, commit: await project.repository.store.writeLine(start, commits), ...counts };
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
  const turns = openTurns();
  const transcript = openTranscript();
  for await (const unit of units) {
    const { kind, records, count } = await maskUnit(project, unit);
    counts.maskedSecrets += count;
    const turn = turns.add(records);
    const path = joinPath(turnDir(session, turn), 'transcript.jsonl');
    const entry: Entry = { kind, session, turn, id: project.ids.entryId(), created, ...describeUnit(records) };
    const message = encodeEntry(await maskEntry(project.masker, entry));
    const ident = await project.repository.store.ident();
    yield { ...ident, message, file: { path, bytes: transcript.add(turn, records) } };
  }
}

const asides: KnownRecord['type'][] = ['note', 'orchestrator_meta', 'voice_interrupted'];
/** More of a text than a label shows; the rest of an answer need not be looked at again. */
const labelLines = 11;
const labelCharacters = 400;

function describeUnit(records: KnownRecord[]): Pick<Entry, 'title' | 'details' | 'status'> {
  const said = records.filter(({ type }) => !asides.includes(type));
  const { title, details } = describeRecords(said.length === 0 ? records : said);
  const cut = (line: string) => line.slice(0, labelCharacters);
  const isPartial = records.some(({ type }) => type === 'assistant_partial');
  return {
    title: cut(title),
    details: details.slice(0, labelLines).map(cut),
    ...(isPartial ? { status: 'PARTIAL' } : {}),
  };
}

/** The session whose `start` entry names these bytes, on any line that is known here. */
async function findImported(
  { repository: { store } }: Project,
  sha256: string,
): Promise<Pick<ImportedSession, 'session' | 'line' | 'commit' | 'directory'> | null> {
  for (const oid of await store.findCommits(`Teddy-Sha256: ${sha256}`, ...linePrefixes)) {
    const entry = decodeEntry((await store.readCommit(oid)).message);
    if (entry?.kind !== 'start' || entry.sha256 !== sha256) continue;
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

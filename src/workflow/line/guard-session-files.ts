/**
 * Guards the files of `.teddy/`, which no command of a plan or a conversation may change. Three of them are the user's to edit and
 * say what a model is shown, and one has settings. Whatever a command has written there is taken back before anybody takes it
 * for an edit of the user's.
 */
import { equalBytes } from '../../session/text/bytes.ts';
import { TeddyError } from '../../errors.ts';
import type { KeptFiles } from '../../ports/disk.ts';
import type { Head, Scan, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import {
  configPath,
  globalContextPath,
  isGuardedPath,
  isSessionPath,
  memosPath,
} from '../../session/global/global-files.ts';
import { joinPath, sessionDir, type Oid, type RepoPath, type SessionId } from '../../names.ts';
import { editTree } from '../../session/paths/edit-tree.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { findEntry } from '../../view/view.ts';

export interface SessionTarget {
  project: Project;
  workspace: Workspace;
  session: SessionId;
}

export interface RestoredFiles {
  /** They are again as they were. */
  restored: RepoPath[];
  /** They should be, and cannot be; why. */
  failure: string | null;
  /** New files in `.teddy/`: they stay, and no commit takes them. */
  strays: RepoPath[];
}

/** The session's files that the user edits. */
export function editableFiles(session: SessionId): RepoPath[] {
  return [joinPath(sessionDir(session), 'session.context'), memosPath, globalContextPath];
}

export async function keepSessionFiles(place: SessionTarget): Promise<KeptFiles> {
  const { project, workspace, session } = place;
  const { head, scan } = await workspace.headAndScan();
  const bytes = new Map<RepoPath, Uint8Array>();
  for (const path of new Set([...editableFiles(session), ...[...scan.keys()].filter(isSessionPath)])) {
    const isPublished = head.oid !== null && (await project.repository.store.readFile(head.oid, path)) !== null;
    const onDisk = isPublished ? await workspace.readDisk(path) : null;
    if (onDisk !== null) bytes.set(path, onDisk);
  }
  return { head, scan, bytes, config: await workspace.readDisk(configPath) };
}

/** The files as a command has left them. */
export interface FilesAfter extends RestoredFiles {
  head: Head;
  scan: Scan;
  /** Those that it may change, sorted. */
  changed: RepoPath[];
}

/** Takes stock after a command, before anything else can fail. `who` as `restoreSessionFiles` has it. */
export async function takeStock(place: SessionTarget, kept: KeptFiles, who: string): Promise<FilesAfter> {
  const after = await place.workspace.headAndScan();
  const changed = listChanged(kept.scan, after.scan).filter((path) => !isGuardedPath(path));
  return { ...after, changed: changed.toSorted(), ...(await restoreSessionFiles(place, kept, after, who)) };
}

/**
 * Puts back what a command changed in `.teddy/`, and says so. What it found there is kept as a tree: it may have been
 * the user, in an editor, all the same. What it staged there is unstaged. Nothing is put back where the command has left
 * the line. `who` begins a sentence.
 */
export async function restoreSessionFiles(
  place: SessionTarget,
  kept: KeptFiles,
  { head, scan: after }: { head: Head; scan: Scan },
  who: string,
): Promise<RestoredFiles> {
  const published = await findPublished(place, kept.head, head);
  if (published === null) return { restored: [], failure: null, strays: [] };
  const { changed, strays } = await findChanged(place, kept, after, published);
  const staged = listStaged(kept.scan, after);
  const texts = await keepTexts(place.project, changed);
  const failures = [await writeBack(place.workspace, changed), await takeOutOfIndex(place.workspace, staged)];
  const failure = failures.find((reason) => reason !== null) ?? null;
  const known = new Set([...changed.map(({ path }) => path), ...staged]);
  const restored = [...known].filter((path) => !strays.includes(path));
  if (restored.length === 0 && failure === null) return { restored, failure, strays };
  place.project.notices.warn(
    failure === null
      ? `${who} changed ${nameSome(restored)}. No command changes .teddy/, so it is as it was before.${texts}`
      : `${who} changed ${nameSome(restored)}, and that could not be taken back: ${failure}${texts}`,
  );
  return failure === null ? { restored, failure, strays } : { restored: [], failure, strays };
}

/** After a run that was killed nobody can tell its commands' changes from the user's: all of them are put back. */
export async function restoreInterrupted(place: SessionTarget): Promise<void> {
  const after = await place.workspace.headAndScan();
  const config = await readPublishedConfig(place, after.head, after.scan);
  const kept = { head: after.head, scan: new Map(), bytes: new Map(), config };
  await restoreSessionFiles(place, kept, after, 'The interrupted run, or you since then,');
}

/** Null as well where a sparse checkout keeps them away. */
async function readPublishedConfig(
  { project, workspace }: SessionTarget,
  { oid }: Head,
  now: Scan,
): Promise<Uint8Array | null> {
  const isAway = !now.has(configPath) && (await workspace.readDisk(configPath)) === null;
  if (oid === null || isAway) return null;
  return (await project.repository.store.readFile(oid, configPath))?.bytes ?? null;
}

interface Published {
  /** The commit that says what the files are. */
  base: Oid;
  /** The files that teddy itself has published while the command ran: they stay. */
  byTeddy: Set<RepoPath>;
}

/** Null: HEAD is not at or above the commit that the command started on. */
async function findPublished({ project }: SessionTarget, before: Head, after: Head): Promise<Published | null> {
  const { store } = project.repository;
  const [from, now] = [before.oid, after.oid];
  if (from === null || now === null) return null;
  if (now === from) return { base: from, byTeddy: new Set() };
  if (!(await store.isAncestor(from, now))) return null;
  const { oid: entry } = await findEntry(store, now);
  const base = (await store.isAncestor(from, entry)) ? entry : from;
  return { base, byTeddy: new Set((await store.diffTrees(from, base)).map(({ path }) => path)) };
}

interface ChangedFile {
  path: RepoPath;
  /** The content that it has to have; null when it must not be there. */
  wanted: Uint8Array | null;
  /** The content that it has; null when it is gone. */
  found: Uint8Array | null;
}

async function findChanged(
  { project, workspace, session }: SessionTarget,
  kept: KeptFiles,
  after: Scan,
  { base, byTeddy }: Published,
): Promise<{ changed: ChangedFile[]; strays: RepoPath[] }> {
  const touched = new Set(listChanged(kept.scan, after).filter(isSessionPath));
  // The user's own are looked at in any case: a command may have hidden its change from git, or committed it.
  const changed: ChangedFile[] = [];
  const strays: RepoPath[] = [];
  for (const path of new Set([...editableFiles(session), ...touched])) {
    const published = (await project.repository.store.readFile(base, path))?.bytes ?? null;
    if (published === null) {
      if (after.has(path) && touched.has(path)) strays.push(path);
      continue;
    }
    const wanted = byTeddy.has(path) ? published : (kept.bytes.get(path) ?? published);
    const found = await workspace.readDisk(path);
    // A sparse checkout keeps it away.
    const wasMissing = !touched.has(path) && !kept.bytes.has(path);
    if (found === null ? !wasMissing : !equalBytes(found, wanted)) changed.push({ path, wanted, found });
  }
  const found = await workspace.readDisk(configPath);
  if (!equalBytes(found, kept.config)) changed.push({ path: configPath, wanted: kept.config, found });
  return { changed, strays };
}

/** Paths whose difference from HEAD is not what it was before the command. */
export function listChanged(before: Scan, after: Scan): RepoPath[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path));
}

/** The paths of `.teddy/` that are in the index and were not before the command. */
function listStaged(before: Scan, after: Scan): RepoPath[] {
  const letter = (print = '..') => (print.startsWith('.A') ? 'A' : print.charAt(0).replace('?', '.'));
  return listChanged(before, after).filter((path) => {
    const now = letter(after.get(path));
    return isGuardedPath(path) && 'MADTRC'.includes(now) && now !== letter(before.get(path));
  });
}

/** Why it could not be done, or null. */
async function takeOutOfIndex(workspace: Workspace, paths: RepoPath[]): Promise<string | null> {
  try {
    await workspace.unstage(paths);
    return null;
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    return error.message;
  }
}

/** Says where they are; empty when there is none. */
async function keepTexts({ repository: { store } }: Project, changed: ChangedFile[]): Promise<string> {
  const batch = store.batch();
  const edits = [];
  for (const { path, found } of changed) {
    if (found !== null) edits.push({ path, entry: { mode: '100644' as const, oid: await batch.blob(found) } });
  }
  if (edits.length === 0) return '';
  const tree = await editTree(store, batch, null, edits);
  await batch.flush();
  const shown = edits.length === 1 ? `${tree}:${edits[0]?.path}` : `${tree}:<path>`;
  return ` If it was you who edited: \`git show ${shown}\` has the text.`;
}

/** Why not all of them could be written, or null. */
async function writeBack(workspace: Workspace, changed: ChangedFile[]): Promise<string | null> {
  let failure: string | null = null;
  for (const { path, wanted } of changed) {
    try {
      await workspace.writeSessionFile(path, wanted);
    } catch (error) {
      if (!(error instanceof TeddyError)) throw error;
      failure ??= error.message;
    }
  }
  return failure;
}

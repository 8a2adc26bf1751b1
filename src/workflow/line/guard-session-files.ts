/**
 * Guards the files in `.teddy/`, which no command in a plan or conversation may change. The user may edit the settings
 * file and three others, which determine what a model sees. teddy reverts a command's changes to these files before
 * anyone can mistake them for the user's edits.
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
  /** The restored files. */
  restored: RepoPath[];
  /** Why teddy could not restore the files; null otherwise. */
  failure: string | null;
  /** New files in `.teddy/`: they stay on disk, but no commit includes them. */
  strays: RepoPath[];
}

/** The session's files that the user may edit. */
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

/** The files after a command. */
export interface FilesAfter extends RestoredFiles {
  head: Head;
  scan: Scan;
  /** The changed files outside `.teddy/`, sorted. */
  changed: RepoPath[];
}

/** Compares the files after a command, before anything else can fail. `who` is as in `restoreSessionFiles`. */
export async function compareAfterCommand(place: SessionTarget, kept: KeptFiles, who: string): Promise<FilesAfter> {
  const after = await place.workspace.headAndScan();
  const changed = listChanged(kept.scan, after.scan).filter((path) => !isGuardedPath(path));
  return { ...after, changed: changed.toSorted(), ...(await restoreSessionFiles(place, kept, after, who)) };
}

/**
 * Restores files that a command changed in `.teddy/`, and warns about it. Stores the changed content as a tree, because
 * the user's editor may have written it. Unstages files in `.teddy/` that the command staged. Restores nothing when the
 * command has left the line. `who` begins a sentence.
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
      ? `${who} changed ${nameSome(restored)}. Commands may not change .teddy/, so the change was reverted.${texts}`
      : `${who} changed ${nameSome(restored)}, and the change could not be reverted: ${failure}${texts}`,
  );
  return failure === null ? { restored, failure, strays } : { restored: [], failure, strays };
}

/** After a killed run, teddy cannot distinguish its commands' changes from the user's, so it reverts all of them. */
export async function restoreInterrupted(place: SessionTarget): Promise<void> {
  const after = await place.workspace.headAndScan();
  const config = await readPublishedConfig(place, after.head, after.scan);
  const kept = { head: after.head, scan: new Map(), bytes: new Map(), config };
  await restoreSessionFiles(place, kept, after, 'The interrupted run, or you since then,');
}

/** Returns the published settings; null also when a sparse checkout omits them. */
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
  /** The commit with the correct files. */
  base: Oid;
  /** The files that teddy itself published while the command ran; they stay. */
  byTeddy: Set<RepoPath>;
}

/** Returns null when HEAD is not at or above the commit that the command started on. */
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
  /** The content that the file should have; null when it should not exist. */
  wanted: Uint8Array | null;
  /** The content that the file has; null when it is gone. */
  found: Uint8Array | null;
}

async function findChanged(
  { project, workspace, session }: SessionTarget,
  kept: KeptFiles,
  after: Scan,
  { base, byTeddy }: Published,
): Promise<{ changed: ChangedFile[]; strays: RepoPath[] }> {
  const touched = new Set(listChanged(kept.scan, after).filter(isSessionPath));
  // Always compares the user's own files, because a command may have hidden its change from git, or committed it.
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
    // A sparse checkout omits the file.
    const wasMissing = !touched.has(path) && !kept.bytes.has(path);
    if (found === null ? !wasMissing : !equalBytes(found, wanted)) changed.push({ path, wanted, found });
  }
  const found = await workspace.readDisk(configPath);
  if (!equalBytes(found, kept.config)) changed.push({ path: configPath, wanted: kept.config, found });
  return { changed, strays };
}

/** Returns the paths whose difference from HEAD is not the same as before the command. */
export function listChanged(before: Scan, after: Scan): RepoPath[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path));
}

/** Returns the paths in `.teddy/` that are staged now and were not before the command. */
function listStaged(before: Scan, after: Scan): RepoPath[] {
  const letter = (print = '..') => (print.startsWith('.A') ? 'A' : print.charAt(0).replace('?', '.'));
  return listChanged(before, after).filter((path) => {
    const now = letter(after.get(path));
    return isGuardedPath(path) && 'MADTRC'.includes(now) && now !== letter(before.get(path));
  });
}

/** Returns the reason for a failure, or null. */
async function takeOutOfIndex(workspace: Workspace, paths: RepoPath[]): Promise<string | null> {
  try {
    await workspace.unstage(paths);
    return null;
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    return error.message;
  }
}

/** Stores the texts and returns a sentence that names their location; empty when there are no texts. */
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
  return ` If the edit was yours, \`git show ${shown}\` has the text.`;
}

/** Returns the reason why some of the files could not be written, or null. */
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

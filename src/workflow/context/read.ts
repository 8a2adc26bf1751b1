/** Reads a turn's context: the files that the lists name, and the part of each that the model sees. */
import { readPages } from '../../plan/report/report-logs.ts';
import { TeddyError } from '../../errors.ts';
import type { Store, TreeFile, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { readContextFiles, toRefused, turnContextPaths, type ShownFile } from '../../session/context/context-files.ts';
import { parseContextLine, parseTurnContext, type TurnLine } from '../../session/context/context-lines.ts';
import {
  outsidePaths,
  resolveOutsideFiles,
  type OutsideFacts,
  type SettledContext,
} from '../../session/context/context-outside.ts';
import { resolveContext, type LeftOut } from '../../session/context/context.ts';
import { globalContextPath } from '../../session/global/global-files.ts';
import type { IsIgnored } from '../../session/paths/ignore-rules.ts';
import { joinPath, sessionDir, turnDir, type Oid, type RepoPath, type TurnName } from '../../names.ts';
import { openCodeTree, type CodeTree } from './code-tree.ts';
import type { GlobalBranch } from '../line/global-branch.ts';
import { readTurnFile, toText, type LineState } from '../../view/view.ts';
import { readTurnList } from './read-turn-list.ts';
import { decodeEntry } from '../../session/entries/entry.ts';

export interface ReadContext {
  /** The files in display order, followed by the files that the model requested but does not get; not masked yet. */
  files: ShownFile[];
  /** The lines of `turn.context`. */
  paths: string[];
  /** Sentences for the user about omitted files and lines that teddy did not understand. */
  notes: string[];
  /** The list lines that added, omitted or removed each file. */
  resolved: SettledContext;
  /** The turn's own list. The places in `resolved` count its lines from 1. */
  turnList: TurnLine[];
}

export interface ReadOptions {
  /** The tip's code tree, if the caller already has it open. */
  code?: CodeTree | undefined;
  /** The list's text while the user edits it, which replaces the text at the tip. */
  sessionContext?: string | undefined;
}

/** Reads the context of `turn`, the next or the open one, at its line's tip. */
export async function readContext(
  project: Project,
  state: LineState,
  turn: TurnName,
  global: GlobalBranch | null,
  workspace: Workspace | null,
  { code = openCodeTree(project, state.tip), sessionContext }: ReadOptions = {},
): Promise<ReadContext> {
  const { store } = project.repository;
  const earlier = state.turns.filter((name) => name !== turn);
  const [carried, globalList, sessionList] = await Promise.all([
    readTurnList(store, state, earlier.at(-1)),
    global?.globalContext ?? readList(store, state.tip, globalContextPath),
    sessionContext ?? readList(store, state.tip, joinPath(sessionDir(state.session), 'session.context')),
  ]);
  const lists = { global: globalList, session: sessionList };
  const dropped = await readDroppedLines(store, state, earlier.at(-1), lists);
  const lines = [globalList, sessionList].flatMap((list) => list.split('\n'));
  const tree = await code.filesFor([...lines, ...carried.map(({ text }) => text), ...dropped], workspace?.root);
  const turnList = await dropLines(carried, dropped, tree, workspace?.root);
  const levels = { ...lists, turn: turnList.map(({ text }) => text) };
  const shown = await readListed(project, levels, tree, workspace, (urls) => findPages(store, state, earlier, urls));
  return { ...shown, turnList };
}

/** Resolves lists in a tree and on disk. `findFetched` returns the fetched pages for these URLs. */
export async function readListed(
  project: Project,
  levels: { global: string; session: string; turn: readonly string[] },
  tree: readonly TreeFile[],
  workspace: Workspace | null,
  findFetched: (urls: readonly string[]) => Promise<Map<string, Oid>>,
): Promise<Omit<ReadContext, 'turnList'>> {
  const { store } = project.repository;
  const isIgnored = await readIgnored(store, tree);
  const named = await resolveContext(levels, tree, { root: workspace?.root, isIgnored });
  const { paths, pages } = outsidePaths(named);
  const [onDisk, fetched] = await Promise.all([readDisk(project, workspace, paths), findFetched(pages)]);
  const untrackedRules = await noteUntrackedRules(workspace, isIgnored);
  const resolved = resolveOutsideFiles(named, { ...onDisk, pages: fetched });
  const files = await readContextFiles(resolved.files, { read: store.readBlob, size: store.readSize });
  return {
    files: [...files, ...toRefused(resolved.leftOut)],
    paths: turnContextPaths(files),
    notes: [...toNotes(resolved.leftOut), ...resolved.notes, ...untrackedRules, ...files.flatMap(noteStored)],
    resolved,
  };
}

/**
 * Drops each file that was only carried over from the previous turn and came from a list line that the user has since
 * removed.
 */
async function dropLines(
  carried: TurnLine[],
  dropped: readonly string[],
  tree: readonly TreeFile[],
  root: string | undefined,
): Promise<TurnLine[]> {
  if (dropped.length === 0) return carried;
  const { files } = await resolveContext({ global: '', session: dropped.join('\n'), turn: [] }, tree, { root });
  const gone = new Set(files.map(({ path }) => path));
  return carried.filter(({ text, origin }) => origin !== 'list' || !gone.has(parseTurnContext(text)[0] ?? text));
}

export async function readList(store: Store, tip: Oid, path: RepoPath): Promise<string> {
  return toText((await store.readFile(tip, path))?.bytes ?? null);
}

/** Reads the rules in the tree's `.teddyignore` files. */
export async function readIgnored(store: Store, tree: readonly TreeFile[]): Promise<IsIgnored | undefined> {
  const found = tree.filter(({ path, mode }) => /(?:^|\/)\.teddyignore$/.test(path) && mode.startsWith('100'));
  if (found.length === 0) return undefined;
  const { readIgnoreFiles } = await import('../../session/paths/ignore-rules.ts');
  const files = found.map(async ({ path, oid }) => ({
    directory: path.slice(0, -'/.teddyignore'.length),
    text: toText(await store.readBlob(oid)),
  }));
  return readIgnoreFiles(await Promise.all(files));
}

/** Warns a user who has just written the file and would otherwise believe that teddy already follows it. */
async function noteUntrackedRules(workspace: Workspace | null, isIgnored: IsIgnored | undefined): Promise<string[]> {
  if (isIgnored !== undefined || !(await workspace?.readDisk('.teddyignore' as RepoPath))) return [];
  return ['.teddyignore is not tracked by git, so it is not followed yet; run `git add .teddyignore`.'];
}

/** Looks up paths that are missing from the tree. Without the line's work tree, nothing can be found out about them. */
async function readDisk(
  project: Project,
  workspace: Workspace | null,
  paths: RepoPath[],
): Promise<Pick<OutsideFacts, 'disk' | 'ignored'>> {
  if (workspace === null || paths.length === 0) return { disk: new Map(), ignored: new Set() };
  const { inspect } = project.filesOf(workspace.root);
  const inspected = paths.map(async (path) => [path, await inspect(path).catch(toUnreadable)] as const);
  const disk = new Map(await Promise.all(inspected));
  const files = paths.filter((path) => disk.get(path)?.kind === 'file');
  return { disk, ignored: new Set(await workspace.ignored(files)) };
}

function toUnreadable(error: unknown): { kind: 'unreadable'; reason: string } {
  if (!(error instanceof TeddyError)) throw error;
  return { kind: 'unreadable', reason: 'it could not be read; check its permissions' };
}

/** Finds each URL's latest page. Reads the turns backwards, and stops as soon as it has all pages. */
async function findPages(
  store: Store,
  { entryOid, session }: LineState,
  turns: readonly TurnName[],
  urls: readonly string[],
): Promise<Map<string, Oid>> {
  const pages = new Map<string, Oid>();
  const wanted = new Set(urls);
  for (const turn of turns.toReversed()) {
    if (wanted.size === 0) break;
    const report = await readTurnFile(store, { commit: entryOid, session, turn }, 'report.md');
    for (const page of readPages(report ?? '').toReversed()) {
      const stored = page.urls.some((url) => wanted.has(url))
        ? await store.readFile(entryOid, joinPath(turnDir(session, turn), page.file))
        : null;
      if (stored === null) continue;
      for (const url of page.urls) if (wanted.delete(url)) pages.set(url, stored.oid);
    }
  }
  return pages;
}

function noteStored(file: ShownFile): string[] {
  if (file.kind !== 'shown' || file.source.kind !== 'stored') return [];
  return [`${file.path} is not tracked by git; it is shown as it is on disk.`];
}

const namedInNote = 5;

/** Writes one note for all files that the same list line names without effect for the same reason. */
function toNotes(leftOut: readonly LeftOut[]): string[] {
  const groups = new Map<string, { paths: Set<string>; reason: string }>();
  for (const { path, reason, place, isQuiet } of leftOut) {
    if (isQuiet) continue;
    const key = `${place.level} ${place.line} ${reason}`;
    const group = groups.get(key) ?? { paths: new Set(), reason };
    group.paths.add(path);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ paths, reason }) => {
    const rest = paths.size - namedInNote;
    const named = [...paths].slice(0, namedInNote).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
    return `Not shown to the model: ${named} (${reason}).`;
  });
}

/** Returns the lines in `global.context` and `session.context` that turn `last` used and that `now` no longer contains. */
async function readDroppedLines(
  store: Store,
  state: LineState,
  last: TurnName | undefined,
  now: { global: string; session: string },
): Promise<string[]> {
  const opening = last === undefined ? null : await findOpening(store, state, last);
  if (opening === null) return [];
  const paths = [globalContextPath, joinPath(sessionDir(state.session), 'session.context')];
  const texts = await Promise.all(
    paths.map(async (path) => toText((await store.readFile(opening, path))?.bytes ?? null)),
  );
  const kept = new Set([now.global, now.session].flatMap(listAdditions));
  return texts.flatMap(listAdditions).filter((line) => !kept.has(line));
}

/** Returns the commit of the entry with the lists that were used to build the turn's request. */
async function findOpening(store: Store, { entryOid }: LineState, turn: TurnName): Promise<Oid | null> {
  for await (const { oid, commit } of store.firstParents(entryOid)) {
    const entry = decodeEntry(commit.message);
    if (entry?.kind === 'start') return null;
    if (entry?.turn === turn && (entry.kind === 'message' || entry.kind === 'branch')) return oid;
  }
  return null;
}

function listAdditions(text: string): string[] {
  return text.split('\n').flatMap((line) => {
    const parsed = parseContextLine(line);
    if (parsed === null || parsed.removes) return [];
    return [parsed.literal ? JSON.stringify(parsed.text) : parsed.text];
  });
}

/** `list_files`: the files of the project that git does not ignore, folded like the tree of a request. */
import type { ListFilesCall } from '../../conversation/chat-tools.ts';
import type { Store, TreeFile } from '../../ports.ts';
import type { RepoPath } from '../../session/names.ts';
import { renderTreeListing } from '../../session/tree-listing.ts';
import { openChatFiles, reachPath, type ChatFiles, type CallPlace } from './chat-files.ts';
import type { ToolOutcome } from './chat.ts';
import { toFailure } from './tool-failure.ts';

export async function listFiles(place: CallPlace, { path, pattern }: ListFilesCall): Promise<ToolOutcome> {
  const files = await openChatFiles(place);
  const reached = path === null ? null : await reachPath(place, files, path);
  if (reached !== null && 'problem' in reached) return toFailure(`list_files ${path}: ${reached.problem}.`);
  if (reached?.target.kind === 'file') return toFailure(`list_files ${path}: it is a file; read_file reads it.`);
  const below = reached === null ? '' : `${reached.path}/`;
  const matches = await compile(pattern);
  if (typeof matches !== 'function') return toFailure(`list_files: the pattern ${pattern}: ${matches.problem}.`);
  const all = await listAll(place.project.repository.store, files);
  const listed = all.filter((file) => file.path.startsWith(below) && matches(file.path.slice(below.length)));
  const listing = (await place.project.masker.mask(renderTreeListing(listed))).text;
  return { output: listing === '' ? toNothing(path, pattern) : listing, isError: false };
}

async function compile(pattern: string | null): Promise<((path: string) => boolean) | { problem: string }> {
  if (pattern === null) return () => true;
  const { compileGlob } = await import('../../session/context-glob.ts');
  return compileGlob(pattern);
}

/** Sorted by path. On disk: what HEAD has, with what the user has added and removed since. */
async function listAll(store: Store, { workspace, tip }: ChatFiles): Promise<TreeFile[]> {
  const committed = new Map((await store.listTree(tip)).map((file) => [file.path, file]));
  const status = await workspace?.status({ untracked: true });
  const deleted = status?.edits.filter(({ staged, unstaged }) => staged === 'D' || unstaged === 'D') ?? [];
  for (const { path } of deleted) committed.delete(path);
  const added = status?.edits.filter(({ staged, unstaged }) => staged === 'A' && unstaged !== 'D') ?? [];
  // Another repository, which ends with `/`, has files of its own.
  const untracked = status?.untracked.filter((path) => !path.endsWith('/')) ?? [];
  const paths = new Set([...committed.keys(), ...added.map(({ path }) => path), ...untracked]);
  return [...paths].toSorted().map((path) => committed.get(path) ?? toFile(path, tip));
}

/** A listing shows nothing but the path. */
function toFile(path: RepoPath, oid: TreeFile['oid']): TreeFile {
  return { path, mode: '100644', oid };
}

function toNothing(path: string | null, pattern: string | null): string {
  const where = path === null ? 'the project' : path;
  return pattern === null ? `There is no file in ${where}.` : `No file in ${where} matches ${pattern}.`;
}

/** The project's files as a conversation on a line sees them: on disk if the line is checked out, otherwise at its tip. */
import { TeddyError } from '../../errors.ts';
import { parseRepoPath } from '../../session/paths/paths.ts';
import { whyWithheld } from '../../plan/actions/read.ts';
import type { FileTarget } from '../../ports/files.ts';
import type { Store, TextHits, TextQuery, TreeFile, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RefName, RepoPath, TurnName } from '../../names.ts';
import { inspectWithTwins } from '../line/find-twin.ts';
import { inspectTree, type FoundInTree } from '../line/inspect-tree.ts';
import type { ReadyLine } from '../line/prepare.ts';
import { findVetoes } from './find-vetoes.ts';
import { isGuardedPath } from '../../session/global/global-files.ts';
import { whyMissing, whyUnreadable } from '../../session/paths/out-of-reach.ts';

/** teddy searches a text for secrets as a whole, so a larger text would take too long. */
const maxReadBytes = 4 * 1024 * 1024;

export interface ChatFiles {
  /** Null when the line is not checked out. */
  workspace: Workspace | null;
  tip: Oid;
  inspect(path: RepoPath): Promise<FoundInTree>;
  search(query: TextQuery): Promise<TextHits[]>;
}

export interface LineContext {
  project: Project;
  line: ReadyLine;
}

/** The surroundings of a model's call. */
export interface CallContext extends LineContext {
  /** The turn that makes the call. */
  place: { turn: TurnName };
  signal: AbortSignal;
  /** Receives a command's masked output as it arrives. */
  onOutput(stream: 'stdout' | 'stderr', text: string): void;
}

/** Opens the files. The user may have switched HEAD since teddy prepared the line. */
export async function openChatFiles({ project, line }: LineContext): Promise<ChatFiles> {
  const { store } = project.repository;
  const tip = (await store.resolve(line.ref)) ?? line.state.tip;
  const workspace = await findWorkspace(line);
  if (workspace === null)
    return {
      workspace,
      tip,
      inspect: inspectTree(store, tip, maxReadBytes),
      search: (query) => store.search(tip, query),
    };
  const inspect = inspectWithTwins(project, workspace);
  return {
    workspace,
    tip,
    async inspect(path) {
      if (((await workspace.sizeOnDisk(path)) ?? 0) <= maxReadBytes) return inspect(path);
      return { kind: 'large' };
    },
    search: (query) => workspace.search(query),
  };
}

/** Returns the work tree that has the line checked out now. */
export async function findWorkspace({ workspace, ref }: ReadyLine): Promise<Workspace | null> {
  return workspace !== null && (await workspace.head()).ref === ref ? workspace : null;
}

/**
 * A readable path and its target; or `problem`, which explains why the path is not readable, as a sentence without its
 * final period.
 */
export type ReachedPath =
  | { path: RepoPath; target: Extract<FileTarget, { kind: 'file' | 'directory' }> }
  | { problem: string; isAbsent?: boolean };

/**
 * Returns the path if a plan's READ could name it: it does not leave the project, git does not ignore it, its name does
 * not suggest a secret, and the user's own lists do not exclude it.
 */
export async function reachPath({ project, line }: LineContext, files: ChatFiles, text: string): Promise<ReachedPath> {
  const parsed = parseRepoPath(text, files.workspace?.root);
  if ('problem' in parsed) return parsed;
  const { path } = parsed;
  const target = await inspectSafely(files, path);
  if (target.kind === 'unreadable') return { problem: 'it could not be read; its permissions do not allow it' };
  const withheld = await whyOutOfReach(project, line, files, path, target);
  if (withheld !== null) return { problem: withheld };
  if (target.kind === 'large') return { problem: `it is larger than ${maxReadBytes / 1024 / 1024} MiB` };
  return target.kind === 'file' || target.kind === 'directory'
    ? { path, target }
    : { problem: whyMissing(path, target), isAbsent: target.kind === 'absent' };
}

async function whyOutOfReach(
  project: Project,
  line: ReadyLine,
  files: ChatFiles,
  path: RepoPath,
  target: FoundInTree,
): Promise<string | null> {
  const ignored = new Set((await files.workspace?.ignored([path])) ?? []);
  // teddy has only the name of a large file.
  const known: FileTarget = target.kind === 'large' ? { kind: 'absent' } : target;
  // Does not reveal whether this secret file exists.
  const unreachable = known.kind === 'absent' ? null : whyUnreadable(path, known);
  const reason = unreachable ?? whyWithheld(path, known, { ignored });
  return reason ?? (await findVetoes(project, { ...line, ...files }, [path])).get(path) ?? null;
}

async function inspectSafely(files: ChatFiles, path: RepoPath): Promise<FoundInTree | { kind: 'unreadable' }> {
  try {
    return await files.inspect(path);
  } catch (error) {
    if (error instanceof TeddyError && error.code === 'ACTION_FAILED') return { kind: 'unreadable' };
    throw error;
  }
}

/** git uses the same rule: a NUL byte near the start means binary. */
const binaryProbeBytes = 8 * 1024;

/** Returns null for a binary file. Bytes that are not UTF-8 become U+FFFD. */
export function toFileText(bytes: Uint8Array): string | null {
  if (bytes.subarray(0, binaryProbeBytes).includes(0)) return null;
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/** Lists the files, sorted by path. On disk: HEAD's files, with the user's later additions and removals. */
export async function listAll(
  store: Store,
  { workspace, tip }: Pick<ChatFiles, 'workspace' | 'tip'>,
): Promise<TreeFile[]> {
  const committed = new Map((await store.listTree(tip)).map((file) => [file.path, file]));
  const status = await workspace?.status({ untracked: true });
  const deleted = status?.edits.filter(({ staged, unstaged }) => staged === 'D' || unstaged === 'D') ?? [];
  for (const { path } of deleted) committed.delete(path);
  const added = status?.edits.filter(({ staged, unstaged }) => staged === 'A' && unstaged !== 'D') ?? [];
  // Another repository, whose path ends with `/`, has its own files.
  const untracked = status?.untracked.filter((path) => !path.endsWith('/')) ?? [];
  const paths = new Set([...committed.keys(), ...added.map(({ path }) => path), ...untracked]);
  // For an uncommitted file, a listing shows only the path.
  return [...paths].toSorted().map((path) => committed.get(path) ?? { path, mode: '100644', oid: tip });
}

/** Returns nothing when the line has no local commit. */
export async function listPaths({ repository: { store, workspace } }: Project, ref: RefName): Promise<string[]> {
  const tip = await store.resolve(ref);
  if (tip === null) return [];
  const isHere = (await workspace?.head())?.ref === ref;
  const files = await listAll(store, { workspace: isHere ? workspace : null, tip });
  return files.map(({ path }) => path).filter((path) => !isGuardedPath(path));
}

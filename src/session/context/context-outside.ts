/** Settles context files that the tree does not contain, using the disk and the fetched pages. */
import type { FileTarget } from '../../ports/files.ts';
import type { ContextFile, LeftOut, ResolvedContext } from './context.ts';
import { onlyTheUser } from '../masks/secret-names.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { whyNotAFile } from '../paths/out-of-reach.ts';

export interface OutsideFacts {
  /** The targets of paths that are not in the tree; empty without a work tree. */
  disk: ReadonlyMap<string, FileTarget | { kind: 'unreadable'; reason: string }>;
  /** The ignored paths in `disk`. */
  ignored: ReadonlySet<string>;
  /** The latest page that an approved READ fetched, keyed by the fetched URL. */
  pages: ReadonlyMap<string, Oid>;
}

export interface SettledFile extends Omit<ContextFile, 'source'> {
  path: string;
  source: { kind: 'blob'; oid: Oid } | { kind: 'stored'; bytes: Uint8Array } | { kind: 'missing' };
}

export interface SettledContext extends Omit<ResolvedContext, 'files'> {
  files: SettledFile[];
}

/** Returns the paths that depend on the disk, and the URLs of the needed pages. */
export function outsidePaths({ files }: ResolvedContext): { paths: RepoPath[]; pages: string[] } {
  return {
    paths: files.filter(({ source }) => source.kind === 'absent').map(({ path }) => path as RepoPath),
    pages: files.flatMap(({ source }) => (source.kind === 'page' ? [source.page] : [])),
  };
}

export function resolveOutsideFiles(context: ResolvedContext, facts: OutsideFacts): SettledContext {
  const files: SettledFile[] = [];
  const leftOut: LeftOut[] = [...context.leftOut];
  for (const file of context.files) {
    const settled = settleSource(file, facts);
    if (typeof settled === 'string')
      leftOut.push({ path: file.path, reason: settled, place: file.place, isQuiet: false });
    else files.push({ ...file, source: settled });
  }
  return { ...context, files, leftOut };
}

/** Returns the source of a file, or the reason why it is not shown. */
function settleSource(file: ContextFile, facts: OutsideFacts): SettledFile['source'] | string {
  const { source } = file;
  if (source.kind === 'blob') return source;
  if (source.kind === 'absent') return settleAbsent(file, source.isPattern, facts);
  const oid = facts.pages.get(source.page);
  return oid === undefined ? 'only an approved READ fetches it, and none has' : { kind: 'blob', oid };
}

function settleAbsent(file: ContextFile, isPattern: boolean, facts: OutsideFacts): SettledFile['source'] | string {
  const found = facts.disk.get(file.path) ?? { kind: 'absent' as const };
  if (found.kind === 'file') {
    if (found.real !== undefined) return `it goes through a symbolic link; name ${found.real}, where it leads`;
    if (!file.isUsers && facts.ignored.has(file.path)) return `git ignores it; ${onlyTheUser}`;
    return { kind: 'stored', bytes: found.bytes };
  }
  if (isPattern) return 'it matches no file';
  if (found.kind === 'absent' || found.kind === 'blocked') return { kind: 'missing' };
  if (found.kind === 'directory') return 'git tracks no file in it; name its files one by one';
  return found.kind === 'unreadable' ? found.reason : (whyNotAFile(file.path as RepoPath, found) ?? 'it is no file');
}

/**
 * Reads a commit's files in the form that git would check out, a few hundred at a time, because they are kept in memory
 * together.
 */
import { TeddyError } from '../../errors.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RepoPath } from '../../names.ts';
import type { KnownOrigin, TouchedFile } from './find-touched.ts';

/** The content by path; an error explains why there is nothing to put at the path. */
export type Checkouts = ReadonlyMap<RepoPath, Uint8Array | TeddyError>;

const maxFiles = 200;
/** The size limit in git's own form; filters may make the content larger. A single file may exceed it. */
const maxBytes = 64 * 1024 * 1024;

/** Yields groups of files to restore together, in their order. */
export async function* slice(
  { repository: { store } }: Project,
  touched: TouchedFile[],
  origins: ReadonlyMap<TouchedFile, KnownOrigin>,
): AsyncGenerator<TouchedFile[]> {
  let [files, bytes]: [TouchedFile[], number] = [[], 0];
  for (const file of touched) {
    const blob = toBlob(file, origins.get(file));
    const size = blob === null ? 0 : ((await store.readSize(blob.oid)) ?? 0);
    if (files.length === maxFiles || (files.length > 0 && bytes + size > maxBytes)) {
      yield files;
      [files, bytes] = [[], 0];
    }
    files.push(file);
    bytes += size;
  }
  if (files.length > 0) yield files;
}

export function readCheckouts(
  workspace: Workspace,
  files: TouchedFile[],
  origins: ReadonlyMap<TouchedFile, KnownOrigin>,
): Promise<Checkouts> {
  return readBlobs(
    workspace,
    files.flatMap((file) => toBlob(file, origins.get(file)) ?? []),
  );
}

interface Blob {
  path: RepoPath;
  oid: Oid;
}

/** Returns null for a link, which goes through no filter. */
function toBlob({ path }: TouchedFile, origin: KnownOrigin | undefined): Blob | null {
  return origin?.kind === 'blob' && origin.mode !== '120000' ? { path, oid: origin.oid } : null;
}

async function readBlobs(workspace: Workspace, blobs: Blob[]): Promise<Checkouts> {
  const [first] = blobs;
  if (first === undefined) return new Map();
  try {
    return await workspace.readCheckouts(blobs);
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    if (blobs.length === 1) return new Map([[first.path, error]]);
    // Halves the list, so that a file refused by its filter does not affect the others.
    const half = Math.ceil(blobs.length / 2);
    const read = await readBlobs(workspace, blobs.slice(0, half));
    return new Map([...read, ...(await readBlobs(workspace, blobs.slice(half)))]);
  }
}

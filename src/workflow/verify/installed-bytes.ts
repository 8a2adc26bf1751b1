/** Whether a file on disk, of which only the sha256 is known, can have become what git has of it. */
import type { Project } from '../../ports.ts';
import type { Oid, RepoPath } from '../../session/names.ts';
import { toText } from '../read-line.ts';

interface Written {
  commit: Oid;
  path: RepoPath;
  bytes: Uint8Array;
  /** Of the file as it was on disk. */
  sha256: string;
}

/** True also where a filter of the user's stands in between, and nobody can tell. */
export async function isInstalled(project: Project, { commit, path, bytes, sha256 }: Written): Promise<boolean> {
  if (project.hash(bytes) === sha256) return true;
  const text = toText(bytes);
  // git has line feeds alone where `core.autocrlf` or an attribute says so.
  if (project.hash(text.replace(/\r?\n/g, '\r\n')) === sha256) return true;
  return isFiltered(project, commit, path);
}

/** An attribute on the way to the file may send it through a filter, as LFS does. */
async function isFiltered({ repository: { store } }: Project, commit: Oid, path: RepoPath): Promise<boolean> {
  const parts = path.split('/').slice(0, -1);
  const places = [0, ...parts.map((_, at) => at + 1)].map((depth) =>
    [...parts.slice(0, depth), '.gitattributes'].join('/'),
  );
  const found = await Promise.all(places.map((place) => store.readFile(commit, place as RepoPath)));
  return found.some(
    (file) => file !== null && /\b(?:filter|ident|working-tree-encoding|eol|text)\b/.test(toText(file.bytes)),
  );
}

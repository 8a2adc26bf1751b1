/** A commit's code (its tree without `.teddy/`), edited path by path in memory. Computes its git ID and writes nothing. */
import { equalBytes } from '../../session/text/bytes.ts';
import type { FileState, NewFile } from '../../ports/files.ts';
import type { ObjectBatch, Store, TreeEntry, TreeMode } from '../../ports/git.ts';
import type { Oid, RepoPath } from '../../names.ts';
import { toEntryKey } from '../../session/paths/edit-tree.ts';

export interface CodeFile {
  mode: TreeMode;
  oid: Oid;
}

export interface EditedCode {
  get(path: RepoPath): Promise<CodeFile | null>;
  /** Null removes the file and any directories left empty. The new file replaces a file or directory in its way. */
  set(path: RepoPath, file: CodeFile | null): Promise<void>;
  /** Reads and hashes only the directories above the paths changed since the last call. */
  oid(): Promise<Oid>;
}

/** A directory in memory. `oid` is null when the directory has not been hashed since its last change. */
interface Dir {
  entries: Map<string, TreeEntry>;
  below: Map<string, Dir>;
  oid: Oid | null;
}

/** Opens a commit's code; `root` is its tree. */
export async function openEditedCode(store: Store, root: Oid): Promise<EditedCode> {
  const top = await readDir(store, root);
  if (top.entries.delete('.teddy')) top.oid = null;

  async function find(dir: Dir, name: string): Promise<Dir | null> {
    const known = dir.below.get(name);
    if (known !== undefined) return known;
    const entry = dir.entries.get(name);
    if (entry?.mode !== '40000') return null;
    const read = await readDir(store, entry.oid);
    dir.below.set(name, read);
    return read;
  }

  async function change(dir: Dir, [name = '', ...rest]: string[], file: CodeFile | null): Promise<void> {
    const next = rest.length === 0 ? null : await find(dir, name);
    if (file === null && rest.length > 0 && next === null) return;
    dir.oid = null;
    if (rest.length === 0) {
      dir.below.delete(name);
      if (file === null) dir.entries.delete(name);
      else dir.entries.set(name, { name, ...file });
      return;
    }
    const made = next ?? { entries: new Map<string, TreeEntry>(), below: new Map<string, Dir>(), oid: null };
    await change(made, rest, file);
    if (made.entries.size === 0) {
      dir.entries.delete(name);
      dir.below.delete(name);
      return;
    }
    dir.below.set(name, made);
    // Hashing the directory fills in the ID.
    dir.entries.set(name, { name, mode: '40000', oid: made.oid ?? ('' as Oid) });
  }

  return {
    async get(path) {
      const names = path.split('/');
      let dir: Dir | null = top;
      for (const name of names.slice(0, -1)) dir = dir && (await find(dir, name));
      const found = dir?.entries.get(names.at(-1) ?? '');
      return found === undefined || found.mode === '40000' ? null : { mode: found.mode, oid: found.oid };
    },
    set: (path, file) => change(top, path.split('/'), file),
    oid: () => hashDir(store.batch(), top),
  };
}

/** Returns a tree's files at these paths, in the same order; null for a path without a file. */
export async function readCodeFiles(store: Store, tree: Oid, paths: RepoPath[]): Promise<(CodeFile | null)[]> {
  const code = await openEditedCode(store, tree);
  const files: (CodeFile | null)[] = [];
  for (const path of paths) files.push(await code.get(path));
  return files;
}

async function readDir(store: Store, oid: Oid): Promise<Dir> {
  const entries = await store.readTree(oid);
  return { entries: new Map(entries.map((entry) => [toEntryKey(entry), entry])), below: new Map(), oid };
}

/** Returns a mode on disk with git's execute bit applied. As in git, everyone who may read the file may execute it. */
export function withExecutable(mode: number, executable: boolean): number {
  if (executable === ((mode & 0o100) !== 0)) return mode;
  return executable ? mode | ((mode & 0o444) >> 2) : mode & ~0o111;
}

/** Returns true if writing `wanted` at the path would change nothing. Only a file or a link can count as equal. */
export function isInState(found: FileState, wanted: FileState | NewFile): boolean {
  if (found.kind === 'file' && wanted.kind === 'new-file')
    return ((found.mode & 0o100) !== 0) === wanted.executable && equalBytes(found.bytes, wanted.bytes);
  if (found.kind === 'file' && wanted.kind === 'file')
    return found.mode === wanted.mode && equalBytes(found.bytes, wanted.bytes);
  if (found.kind === 'link' && wanted.kind === 'link') return found.target === wanted.target;
  return found.kind === 'absent' && wanted.kind === 'absent';
}

async function hashDir(batch: ObjectBatch, dir: Dir): Promise<Oid> {
  if (dir.oid !== null) return dir.oid;
  for (const [name, below] of dir.below)
    if (below.oid === null) dir.entries.set(name, { name, mode: '40000', oid: await hashDir(batch, below) });
  dir.oid = await batch.tree([...dir.entries.values()]);
  return dir.oid;
}

/** The port `Workspace` in memory: HEAD in a field, the index in a map, the work tree on memfs. */
import git from 'isomorphic-git';
import { TeddyError } from '../../src/errors.ts';
import type { Edit, Store, TreeChange, TreeFile, TreeMode, Workspace, WorkspaceStatus } from '../../src/ports/git.ts';
import { parseOid, type Oid, type RefName, type RepoPath } from '../../src/names.ts';
import { gitdir, memoryBatch, root, type MemoryDisk } from './memory-objects.ts';
import { searchTexts } from './memory-search.ts';

export interface StagedFile {
  mode: TreeMode;
  oid: Oid;
}

export interface MemoryWorkspaceState {
  index: Map<RepoPath, StagedFile>;
  /** The git operation in progress. */
  operation: string | null;
  unmerged: RepoPath[];
}

export function memoryWorkspace(disk: MemoryDisk, store: Store, state: MemoryWorkspaceState): Workspace {
  const head = async () => {
    const ref = disk.head.startsWith('refs/') ? (disk.head as RefName) : null;
    return { ref, oid: await store.resolve('HEAD') };
  };
  const readAll = () => readStatus(disk, store, state, head);
  const write = (files: { path: RepoPath; bytes: Uint8Array | null }[]) => writeFiles(disk, files);
  const status: Workspace['status'] = async ({ untracked, path }) => {
    const isMeant = (one: RepoPath) => path === undefined || one === path;
    const all = await readAll();
    return {
      edits: all.edits.filter((edit) => isMeant(edit.path)),
      unmerged: all.unmerged.filter(isMeant),
      untracked: untracked ? all.untracked.filter(isMeant) : [],
    };
  };
  const scan: Workspace['scan'] = async () => {
    const { edits, untracked } = await readAll();
    const rows = [
      ...untracked.map((path) => [path, '??'] as const),
      ...edits.map(({ path, staged, unstaged }) => [path, staged + unstaged] as const),
    ];
    const print = async (path: RepoPath) => {
      const found = await hashDisk(disk, path);
      return found ? `${found.mode} ${found.oid}` : 'gone';
    };
    return new Map(
      await Promise.all(rows.map(async ([path, letters]) => [path, `${letters} ${await print(path)}`] as const)),
    );
  };

  return {
    root,
    head,
    isOn: async (ref) => (await head()).ref === ref,
    operationInProgress: async () => state.operation,
    status,
    headAndStatus: async (options) => ({ head: await head(), status: await status(options) }),
    untrackedBelow: async (top) =>
      (await listDisk(disk)).filter((path) => `${path}/`.startsWith(`${top}/`) && !state.index.has(path)),
    async stagedChanges() {
      const { oid } = await head();
      const committed = new Map(toEntries(oid === null ? [] : await store.listTree(oid)));
      const paths = [...new Set([...committed.keys(), ...state.index.keys()])].toSorted();
      return paths.flatMap((path) => {
        const [old, now] = [committed.get(path) ?? null, state.index.get(path) ?? null];
        if (old?.oid === now?.oid && old?.mode === now?.mode) return [];
        const change = old === null ? ('added' as const) : now === null ? ('deleted' as const) : ('modified' as const);
        const modes = { oldMode: old?.mode ?? null, mode: now?.mode ?? null };
        return [{ path, change, before: old?.oid ?? null, after: now?.oid ?? null, ...modes }];
      });
    },
    async snapshotTree(except) {
      const files = new Map(state.index);
      for (const path of state.index.keys()) {
        if (except.includes(path)) continue;
        const onDisk = await keepDisk(disk, path);
        if (onDisk === null) files.delete(path);
        else files.set(path, onDisk);
      }
      return writeTreeOf(disk, files);
    },
    async treeOfPaths(base, paths) {
      const files = new Map(toEntries(await store.listTree(base)));
      for (const path of paths) {
        const onDisk = await keepDisk(disk, path);
        if (onDisk === null) files.delete(path);
        else files.set(path, onDisk);
      }
      return writeTreeOf(disk, files);
    },
    scan,
    headAndScan: async () => ({ head: await head(), scan: await scan() }),
    async untrackedDirectories() {
      const files = await listDisk(disk);
      const isTracked = (directory: string) => [...state.index.keys()].some((path) => path.startsWith(`${directory}/`));
      const isEmpty = (directory: string) => !files.some((path) => path.startsWith(`${directory}/`));
      return (await listDirectories(disk)).filter((directory) => !isTracked(directory) || isEmpty(directory));
    },
    async ignored(paths) {
      const flags = await Promise.all(paths.map((path) => isIgnored(disk, path)));
      return paths.filter((_, at) => flags[at]);
    },
    async search(query) {
      const { untracked } = await readAll();
      const paths = [...new Set([...state.index.keys(), ...untracked])];
      const read = await Promise.all(paths.map(async (path) => ({ path, bytes: await readDisk(disk, path) })));
      return searchTexts(
        read.flatMap(({ path, bytes }) => (bytes === null ? [] : [{ path, bytes }])),
        query,
      );
    },
    async publish({ ref, old, new: commit, reflog, durable, index, files }) {
      if ((await head()).ref !== ref) return 'moved';
      if ((await store.updateRefs([{ ref, old, new: commit }], reflog, durable)) === 'moved') return 'moved';
      for (const { path, entry } of index) {
        if (entry === null) state.index.delete(path);
        else state.index.set(path, entry);
      }
      await write(files);
      return 'done';
    },
    repair: async () => [],
    readDisk: (path) => readDisk(disk, path),
    readCheckouts: async (files) =>
      new Map(await Promise.all(files.map(async ({ path, oid }) => [path, await store.readBlob(oid)] as const))),
    sizeOnDisk: async (path) => (await readDisk(disk, path))?.length ?? null,
    bornOnDisk: async (path) => ((await readDisk(disk, path)) === null ? null : new Date(0)),
    writeSessionFile: (path, bytes) => write([{ path, bytes }]),
    async unstage(paths) {
      const { oid } = await head();
      const committed = new Map(toEntries(oid === null ? [] : await store.listTree(oid)));
      for (const path of paths) {
        const entry = committed.get(path);
        if (entry === undefined) state.index.delete(path);
        else state.index.set(path, entry);
      }
    },
    switchTo: (ref) => switchTo(disk, store, state, head, ref),
    fastForward: (commit) => fastForward(disk, store, state, head, commit),
    rehearse: async (tree) => void (await rehearse(disk, store, state, (await head()).oid, tree)),
  };
}

async function readStatus(
  disk: MemoryDisk,
  store: Store,
  { index, unmerged }: MemoryWorkspaceState,
  head: Workspace['head'],
): Promise<WorkspaceStatus> {
  const { oid } = await head();
  const committed = new Map(toEntries(oid === null ? [] : await store.listTree(oid)));
  const edits: Edit[] = [];
  for (const path of [...new Set([...committed.keys(), ...index.keys()])].toSorted()) {
    const staged = toLetter(committed.get(path), index.get(path));
    const onDisk = index.has(path) ? await hashDisk(disk, path) : null;
    const unstaged = index.has(path) ? toLetter(index.get(path), onDisk ?? undefined) : '.';
    if (staged + unstaged !== '..') edits.push({ path, staged, unstaged, submodule: false });
  }
  const untracked: RepoPath[] = [];
  for (const path of await listDisk(disk)) {
    if (!index.has(path) && !(await isIgnored(disk, path))) untracked.push(path);
  }
  return { edits, unmerged, untracked };
}

function toLetter(before: StagedFile | undefined, after: StagedFile | undefined): string {
  if (before === undefined) return after === undefined ? '.' : 'A';
  if (after === undefined) return 'D';
  return before.oid === after.oid && before.mode === after.mode ? '.' : 'M';
}

/** Does the work of `git switch`. */
async function switchTo(
  disk: MemoryDisk,
  store: Store,
  state: MemoryWorkspaceState,
  head: Workspace['head'],
  ref: RefName,
): Promise<void> {
  const target = await store.resolve(ref);
  if (target === null) throw new TeddyError('GIT_FAILED', `${ref} does not exist.`);
  await checkOut(disk, store, state, (await head()).oid, target);
  disk.head = ref;
}

/** Does the work of `git merge --ff-only`. */
async function fastForward(
  disk: MemoryDisk,
  store: Store,
  state: MemoryWorkspaceState,
  head: Workspace['head'],
  commit: Oid,
): Promise<void> {
  const { ref, oid } = await head();
  if (oid !== null && !(await store.isAncestor(oid, commit)))
    throw new TeddyError('REF_MOVED', `${commit} is not after ${ref}.`);
  await checkOut(disk, store, state, oid, commit);
  await store.updateRefs([{ ref: ref ?? ('HEAD' as RefName), old: oid, new: commit }], 'fast-forward');
}

/** Changes nothing unless the files that differ between the two commits are the first commit's. */
async function checkOut(
  disk: MemoryDisk,
  store: Store,
  state: MemoryWorkspaceState,
  from: Oid | null,
  target: Oid,
): Promise<void> {
  const changes = await rehearse(disk, store, state, from, target);
  const files = await Promise.all(
    changes.map(async ({ path, after }) => ({ path, bytes: after === null ? null : await store.readBlob(after) })),
  );
  await writeFiles(disk, files);
  for (const { path, after, mode } of changes) {
    if (after === null || mode === null) state.index.delete(path);
    else state.index.set(path, { mode, oid: after });
  }
}

async function rehearse(
  disk: MemoryDisk,
  store: Store,
  state: MemoryWorkspaceState,
  from: Oid | null,
  target: Oid,
): Promise<TreeChange[]> {
  const changes = await store.diffTrees(from, target);
  for (const { path, before, after } of changes) {
    const [onDisk, staged] = [(await hashDisk(disk, path))?.oid ?? null, state.index.get(path)?.oid ?? null];
    if (onDisk === before && staged === before) continue;
    if (onDisk === after && (staged === after || staged === before)) continue;
    throw new TeddyError('FILES_IN_THE_WAY', `${path} is in the way.`);
  }
  return changes;
}

export async function writeFiles(
  { fs }: MemoryDisk,
  files: { path: string; bytes: Uint8Array | string | null }[],
): Promise<void> {
  for (const { path, bytes } of files) {
    const target = `${root}/${path}`;
    if (bytes === null) {
      await fs.promises.rm(target, { force: true });
      continue;
    }
    await fs.promises.mkdir(target.slice(0, target.lastIndexOf('/')), { recursive: true });
    await fs.promises.writeFile(target, bytes);
  }
}

async function readDisk({ fs }: MemoryDisk, path: RepoPath): Promise<Uint8Array | null> {
  return fs.promises.readFile(`${root}/${path}`).then(
    (bytes) => Buffer.from(bytes),
    () => null,
  );
}

/** The file as it would be staged; null if it does not exist. */
async function hashDisk(disk: MemoryDisk, path: RepoPath): Promise<StagedFile | null> {
  const bytes = await readDisk(disk, path);
  if (bytes === null) return null;
  const mode = Number((await disk.fs.promises.stat(`${root}/${path}`)).mode) & 0o100 ? '100755' : '100644';
  return { mode, oid: parseOid((await git.hashBlob({ object: bytes })).oid) };
}

/** The same, with the blob written. */
export async function keepDisk(disk: MemoryDisk, path: RepoPath): Promise<StagedFile | null> {
  const found = await hashDisk(disk, path);
  if (found === null) return null;
  const batch = memoryBatch(disk);
  await batch.blob((await readDisk(disk, path)) ?? '');
  await batch.flush();
  return found;
}

async function listDisk(disk: MemoryDisk, dir = ''): Promise<RepoPath[]> {
  const { promises } = disk.fs;
  const paths: RepoPath[] = [];
  for (const name of (await promises.readdir(`${root}/${dir}`)) as string[]) {
    const path = `${dir}${name}` as RepoPath;
    if (path === '.git') continue;
    const isDirectory = (await promises.stat(`${root}/${path}`)).isDirectory();
    paths.push(...(isDirectory ? await listDisk(disk, `${path}/`) : [path]));
  }
  return paths.toSorted();
}

async function listDirectories(disk: MemoryDisk, dir = ''): Promise<RepoPath[]> {
  const { promises } = disk.fs;
  const paths: RepoPath[] = [];
  for (const name of (await promises.readdir(`${root}/${dir}`)) as string[]) {
    const path = `${dir}${name}` as RepoPath;
    if (path === '.git' || !(await promises.stat(`${root}/${path}`)).isDirectory()) continue;
    paths.push(path, ...(await listDirectories(disk, `${path}/`)));
  }
  return paths;
}

function isIgnored({ fs }: MemoryDisk, path: RepoPath): Promise<boolean> {
  return git.isIgnored({ fs, dir: root, gitdir, filepath: path });
}

function toEntries(files: TreeFile[]): [RepoPath, StagedFile][] {
  return files.map(({ path, mode, oid }) => [path, { mode, oid }]);
}

export async function writeTreeOf(disk: MemoryDisk, files: Map<RepoPath, StagedFile>): Promise<Oid> {
  const batch = memoryBatch(disk);
  const writeDir = async (dir: string): Promise<Oid> => {
    const inside = [...files].filter(([path]) => path.startsWith(dir));
    const names = new Set(inside.map(([path]) => path.slice(dir.length).split('/')[0] ?? ''));
    const entries = await Promise.all(
      [...names].map(async (name) => {
        const file = files.get(`${dir}${name}` as RepoPath);
        return file ? { name, ...file } : { name, mode: '40000' as const, oid: await writeDir(`${dir}${name}/`) };
      }),
    );
    return batch.tree(entries);
  };
  const oid = await writeDir('');
  await batch.flush();
  return parseOid(oid);
}

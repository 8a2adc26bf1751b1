/** The port `Store` on an in-memory repository: a queue makes ref updates atomic. */
import picomatch from 'picomatch';
import { TeddyError } from '../../src/errors.ts';
import type { RefTip, RefUpdate, Store, TreeChange, TreeFile } from '../../src/ports/git.ts';
import { type Oid, type RefName, type RepoPath } from '../../src/names.ts';
import { editTree } from '../../src/session/paths/edit-tree.ts';
import { listAncestors, memoryMerges } from './memory-merge.ts';
import {
  listFiles,
  memoryBatch,
  readBlob,
  readCommit,
  readObject,
  readTree,
  resolveRef,
  putRef,
  type MemoryDisk,
} from './memory-objects.ts';
import { searchTexts } from './memory-search.ts';

export interface MemoryStoreOptions {
  /** `author` and `committer`; null if git would not know the user. */
  ident(): string | null;
  settings: Map<string, string>;
}

/** A pipe yields this much at a time. */
const pieceBytes = 65_536;

export function memoryStore(disk: MemoryDisk, { ident, settings }: MemoryStoreOptions): Store {
  const inTurn = queue();
  const listRefs = async (...prefixes: string[]) =>
    listAllRefs(disk).filter(({ ref }) => prefixes.some((prefix) => matches(ref, prefix)));
  const find = (treeish: Oid, path: RepoPath) => findEntry(disk, treeish, path);

  const store: Store = {
    objectFormat: 'sha1',
    readBlob: (oid) => readBlob(disk, oid),
    streamBlob: async (oid, take) => {
      const bytes = await readBlob(disk, oid);
      for (let at = 0; at < bytes.length; at += pieceBytes) take(bytes.subarray(at, at + pieceBytes));
    },
    readTree: async (oid) => {
      if ((await readObject(disk, oid))?.type !== 'tree') throw new TeddyError('DAMAGED_SESSION', `${oid} is no tree.`);
      return (await readTree(disk, oid)).entries;
    },
    readCommit: (oid) => readCommit(disk, oid),
    async readFile(treeish, path) {
      const found = await find(treeish, path);
      if (found === null || found.mode === '40000') return null;
      return { oid: found.oid, bytes: await readBlob(disk, found.oid) };
    },
    async readDir(treeish, path) {
      const found = path === '' ? { mode: '40000', oid: treeish } : await find(treeish, path);
      return found?.mode === '40000' ? readTree(disk, found.oid) : null;
    },
    readSize: async (oid) => (await readObject(disk, oid))?.size ?? null,
    readAnew: () => undefined,
    async resolve(revision) {
      const oid = resolveRef(disk, revision);
      return oid !== null && (await readObject(disk, oid))?.type === 'commit' ? oid : null;
    },
    readRef: async (wanted) => (await listRefs(wanted)).find(({ ref }) => ref === wanted)?.oid ?? null,
    listRefs,
    async *firstParents(from, not = []) {
      const excluded = new Set(
        (await Promise.all(not.map((oid) => listAncestors(disk, oid)))).flatMap((set) => [...set]),
      );
      for (let oid: Oid | undefined = from; oid !== undefined && !excluded.has(oid);) {
        const found: { oid: Oid; commit: Awaited<ReturnType<typeof readCommit>> } = {
          oid,
          commit: await readCommit(disk, oid),
        };
        yield found;
        oid = found.commit.parents[0];
      }
    },
    async *firstParentsOf(tips) {
      const seen = new Set<Oid>();
      for (const tip of tips)
        for await (const { oid, commit } of store.firstParents(tip)) {
          if (seen.has(oid)) break;
          seen.add(oid);
          yield { ...commit, oid, parent: commit.parents[0] ?? null };
        }
    },
    hasPath: async (treeish, path) => (await find(treeish, path)) !== null,
    findOid: async (treeish, path) => (await find(treeish, path))?.oid ?? null,
    async *walkChanges(from, not) {
      const walked = [];
      for await (const found of store.firstParents(from, [...not])) walked.unshift(found);
      for (const { oid, commit } of walked)
        for await (const changed of store.changesOf([{ oid, parent: commit.parents[0] ?? null }]))
          yield { ...changed, commit };
    },
    async *changesOf(commits) {
      for (const { oid, parent } of commits) {
        const before = parent === null ? [] : await listFiles(disk, parent);
        const modes = new Map(before.map(({ path, mode }) => [path, mode]));
        const changes = toChanges(before, await listFiles(disk, oid));
        yield { oid, changes: changes.map((one) => ({ ...one, oldMode: modes.get(one.path) ?? null })) };
      }
    },
    isAncestor: async (ancestor, descendant) => (await listAncestors(disk, descendant)).has(ancestor),
    ...memoryMerges(disk),
    cutCommits: async () => new Set(),
    checkSignatures: async () => new Map(),
    fsck: async () => [],
    listTree: (treeish) => listFiles(disk, treeish),
    async *readFilesBelow(treeish, dir, isWanted) {
      const found = dir === '' ? { mode: '40000', oid: treeish } : await find(treeish, dir);
      if (found?.mode !== '40000') return;
      for (const { path, mode, oid } of await listFiles(disk, found.oid))
        if (mode !== '160000' && isWanted(path)) yield [{ path, bytes: await readBlob(disk, oid) }];
    },
    diffTrees: async (before, after, { without } = {}) =>
      toChanges(before === null ? [] : await listFiles(disk, before), await listFiles(disk, after)).filter(
        ({ path }) => path !== without && !path.startsWith(`${without}/`),
      ),
    async search(treeish, query) {
      const files = await listFiles(disk, treeish);
      const readable = files.filter(({ mode }) => mode.startsWith('100'));
      return searchTexts(
        await Promise.all(readable.map(async ({ path, oid }) => ({ path, bytes: await readBlob(disk, oid) }))),
        query,
      );
    },
    async searchTrees(trees, { texts, ignoresCase, paths, signal }) {
      if (signal.aborted) throw new TeddyError('INTERRUPTED', 'Interrupted while searching the project.');
      const toCase = (text: string) => (ignoresCase ? text.toLowerCase() : text);
      const found: { tree: string; path: string }[] = [];
      for (const tree of trees) {
        for (const { path, oid } of await listNamed(disk, tree)) {
          if (path !== '' && !paths.some((pattern) => picomatch.isMatch(path, pattern, { dot: true }))) continue;
          const text = toCase(new TextDecoder().decode(await readBlob(disk, oid)));
          if (texts.some((one) => text.includes(toCase(one)))) found.push({ tree, path });
        }
      }
      return found;
    },
    batch: () => memoryBatch(disk),
    async *bundle(ref) {
      yield new TextEncoder().encode(`a bundle of ${ref}`);
    },
    async findCommits(text, ...prefixes) {
      const found = new Set<Oid>();
      for (const { oid: tip } of await listRefs(...prefixes)) {
        for await (const { oid, commit } of store.firstParents(tip)) if (commit.message.includes(text)) found.add(oid);
      }
      return [...found];
    },
    async writeLine(parent, commits) {
      let tip = parent;
      for await (const { author, committer, message, files } of commits) {
        const batch = memoryBatch(disk);
        const edits = await Promise.all(
          files.map(async ({ path, bytes }) => ({
            path,
            entry: { mode: '100644' as const, oid: await batch.blob(bytes) },
          })),
        );
        const before = (await readCommit(disk, tip)).tree;
        const tree = await editTree(store, batch, before, edits);
        tip = await batch.commit({ tree, parents: [tip], author, committer, message });
        await batch.flush();
      }
      return tip;
    },
    async updateRefs(updates, _, durable) {
      await durable;
      return inTurn(() => moveRefs(disk, updates));
    },
    packRefs: async () => undefined,
    async ident() {
      const text = ident();
      if (text === null) throw new TeddyError('NO_IDENTITY', 'git does not know who you are.');
      return { author: text, committer: text };
    },
    setting: async (key) => settings.get(key),
    settings: async (prefix) =>
      [...settings].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key, value })),
    settingValues: async (key) =>
      settings.has(key) ? [{ value: settings.get(key) ?? '', origin: 'local .git/config' }] : [],
    settingOrigin: async (key) => (settings.has(key) ? 'local .git/config' : undefined),
  };
  return store;
}

/** The files in a tree, which may be named `<commit>:<path>`; or a blob as a file without a path. */
async function listNamed(disk: MemoryDisk, name: string): Promise<{ path: string; oid: Oid }[]> {
  const [treeish = '', ...path] = name.split(':');
  const found = path.length === 0 ? null : await findEntry(disk, treeish as Oid, path.join(':') as RepoPath);
  if (path.length > 0) return found?.mode === '40000' ? listFiles(disk, found.oid as Oid) : [];
  const object = await readObject(disk, treeish as Oid);
  return object?.type === 'blob' ? [{ path: '', oid: treeish as Oid }] : listFiles(disk, treeish as Oid);
}

/** Runs the tasks one after another. */
function queue(): <Value>(task: () => Promise<Value>) => Promise<Value> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const next = last.then(task);
    last = next.catch(() => undefined);
    return next;
  };
}

async function moveRefs(disk: MemoryDisk, updates: RefUpdate[]): Promise<'done' | 'moved'> {
  if (updates.some(({ ref, old }) => resolveRef(disk, ref) !== old)) return 'moved';
  for (const { ref, new: oid } of updates) putRef(disk, ref, oid);
  return 'done';
}

function listAllRefs({ refs }: MemoryDisk): RefTip[] {
  return [...refs.keys()].toSorted().map((ref) => ({ ref: ref as RefName, oid: refs.get(ref) as Oid }));
}

/** A prefix ends at a `/`; a `*` in it stands for one part. */
function matches(ref: string, prefix: string): boolean {
  const pattern = prefix
    .replace(/\/$/, '')
    .split('*')
    .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
    .join('[^/]*');
  return new RegExp(`^${pattern}(?:/|$)`).test(ref);
}

async function findEntry(disk: MemoryDisk, treeish: Oid, path: RepoPath) {
  let found: { mode: string; oid: Oid } | null = { mode: '40000', oid: treeish };
  for (const part of path.split('/')) {
    if (found?.mode !== '40000') return null;
    const { entries }: Awaited<ReturnType<typeof readTree>> = await readTree(disk, found.oid);
    found = entries.find(({ name }) => name === part) ?? null;
  }
  return found;
}

function toChanges(before: TreeFile[], after: TreeFile[]): TreeChange[] {
  const old = new Map(before.map((file) => [file.path, file]));
  const now = new Map(after.map((file) => [file.path, file]));
  const paths = [...new Set([...old.keys(), ...now.keys()])].toSorted();
  return paths.flatMap((path): TreeChange[] => {
    const [a, b] = [old.get(path), now.get(path)];
    if (a?.oid === b?.oid && a?.mode === b?.mode) return [];
    const change = a === undefined ? 'added' : b === undefined ? 'deleted' : 'modified';
    return [{ path, change, before: a?.oid ?? null, after: b?.oid ?? null, mode: b?.mode ?? null }];
  });
}

/** A repository's object database and refs. */
import { join } from 'node:path';
import { once } from 'node:events';
import type { Commit, Ident, ObjectBatch, Store, TreeFile, TreeMode } from '../ports/git.ts';
import { isOid, repoPathFromGit, type Oid, parseOid, type RefName } from '../names.ts';
import { diffTrees, treeDecoder } from './objects/tree-decoder.ts';
import { keepRecent } from '../session/context/keep-recent.ts';
import { decodeCommit, type ObjectType } from '../session/entries/object-format.ts';
import { objectReader, readObject } from './objects/object-reader.ts';
import { objectBatch } from './objects/object-writer.ts';
import { readMany } from './objects/read-many.ts';
import { withRefRecord } from './refs/ref-record.ts';
import { syncDirectoryIfPossible } from '../disk/replace-file.ts';
import { findCommits, listRefs, updateRefs } from './refs/refs.ts';
import { withOwnErrors, type Environment, type GitRunner, splitNul } from './run/run.ts';
import { searchTree, searchTrees } from './history/search-text.ts';
import type { GitSetting } from './refs/settings.ts';
import { checkSignatures, runFsck } from './objects/check-objects.ts';
import { withDurableNames } from './objects/sync-objects.ts';
import { changesOf, walkChanges } from './history/walk-changes.ts';
import { followTo, walkFirstParents, walkFirstParentsOf } from './history/walk-first-parents.ts';
import { writeLine } from './objects/write-line.ts';
import { TeddyError } from '../errors.ts';
import { readShallow } from './run/layout.ts';
import { toGitFailure } from './run/git-failure.ts';

export interface StoreOptions {
  git: GitRunner;
  root: string | null;
  gitDir: string;
  commonDir: string;
  objectsDir: string;
  objectFormat: 'sha1' | 'sha256';
  /** The user's environment. */
  env: Environment;
  settings(): Promise<ReadonlyMap<string, GitSetting>>;
  /** Called at each durable step, so that a test can simulate a crash at that step. */
  onStep?: ((step: string) => void) | undefined;
}

/** The number of cached commits; checking a line reads its commits at least three times. */
const keptCommits = 8192;
const maxKeptChars = 4096;

export function gitStore(options: StoreOptions): Store & { close(): Promise<void> } {
  const { git, commonDir, objectsDir, objectFormat, settings } = options;
  const reader = objectReader(git);
  const read = (name: string, type: ObjectType) => readObject(reader, name, type);
  const toTree = treeDecoder(objectFormat === 'sha1' ? 20 : 32);
  const readCommit = keepRecent(async (oid: Oid) => decodeCommit(await read(oid, 'commit')), {
    max: keptCommits,
    isKept: ({ message }) => message.length <= maxKeptChars,
  });
  const readTree = async (oid: Oid) => toTree(await read(oid, 'tree'));
  const has = async (oid: Oid) => (await reader.info(oid)) !== null;

  return withOwnErrors({
    objectFormat,
    readBlob: (oid) => read(oid, 'blob'),
    async streamBlob(oid, take) {
      await readObject(reader, oid, 'blob', take);
    },
    readTree,
    readCommit,
    async readFile(treeish, path) {
      const found = await reader.contents(`${treeish}:${path}`);
      return found?.type === 'blob' ? { oid: found.oid, bytes: found.bytes } : null;
    },
    async readDir(treeish, path) {
      const found = await reader.contents(path === '' ? `${treeish}^{tree}` : `${treeish}:${path}`);
      return found?.type === 'tree' ? { oid: found.oid, entries: toTree(found.bytes) } : null;
    },
    readSize: async (oid) => (await reader.info(oid))?.size ?? null,
    resolve: async (revision) => (await reader.info(`${revision}^{commit}`))?.oid ?? null,
    readAnew: () => reader.renew(),
    readRef: async (ref) => (await reader.info(ref))?.oid ?? null,
    listRefs: (...prefixes) => listRefs(git, prefixes),
    firstParents: (from, not = []) => walkFirstParents(git, { readCommit, has }, from, not),
    firstParentsOf: (tips) => walkFirstParentsOf(git, tips),
    hasPath: async (treeish, path) => (await reader.info(`${treeish}:${path}`)) !== null,
    findOid: async (treeish, path) => (await reader.info(`${treeish}:${path}`))?.oid ?? null,
    changesOf: (commits) => changesOf(git, { readCommit, readTree }, commits),
    walkChanges: (from, not) => walkChanges(git, { readCommit, readTree }, from, not),
    isAncestor: (ancestor, descendant) => isAncestor(git, readCommit, ancestor, descendant),
    mergeBase: (commit, others) => mergeBase(git, commit, others),
    findReachable: (text, from, not) => findReachable(git, text, from, not),
    cutCommits: async () => new Set((await readShallow(commonDir)).split('\n').filter(isOid)),
    checkSignatures: (from, not, options) => checkSignatures(git, from, not, options),
    fsck: (tips) => runFsck(git, tips),
    findCommits: (text, ...prefixes) => findCommits(git, text, prefixes),
    listTree: async (treeish) => (await git.list(['ls-tree', '-r', '-z', '--full-tree', treeish])).map(parseTreeRow),
    async *readFilesBelow(treeish, dir, isWanted) {
      const found = await reader.info(dir === '' ? `${treeish}^{tree}` : `${treeish}:${dir}`);
      if (found?.type === 'tree') yield* readMany(git, found.oid, isWanted);
    },
    diffTrees: (before, after, { without } = {}) =>
      // `before` and `after` may be commits.
      diffTrees(async (oid) => toTree(await read(`${oid}^{tree}`, 'tree')), before, after, without),
    async mergeTrees(base, ours, theirs) {
      await Promise.all([base, ours, theirs].map((oid) => read(oid, 'tree')));
      return withDurableNames(objectsDir, () => mergeTrees(git, openBatch(options), { base, ours, theirs }));
    },
    search: (treeish, query) => searchTree(git, treeish, query),
    searchTrees: (trees, query) => searchTrees(git, async (tree) => (await reader.info(tree)) !== null, trees, query),
    batch: () => openBatch(options),
    bundle: (ref) => createBundle(git, commonDir, ref),
    async writeLine(parent, commits) {
      const { tree } = decodeCommit(await read(parent, 'commit'));
      return writeLine(await toTarget(options), { oid: parent, tree, readTree }, commits);
    },
    updateRefs: (updates, reflog, durable) => moveRefs(options, updates, reflog, durable),
    packRefs: (made) => packRefs(options, made),
    ident: identReader(git, options.env, settings),
    setting: async (key) => (await settings()).get(toSettingKey(key))?.value,
    settings: async (prefix) =>
      [...(await settings())].filter(([key]) => key.startsWith(prefix)).map(([key, { value }]) => ({ key, value })),
    settingValues: async (key) => {
      const found = (await settings()).get(toSettingKey(key));
      return found === undefined ? [] : [...found.earlier, found];
    },
    settingOrigin: async (key) => (await settings()).get(toSettingKey(key))?.origin,
    close: () => reader.close(),
  });
}

/** Returns where objects are written, and how. */
async function toTarget({ objectsDir, objectFormat, settings, onStep }: StoreOptions) {
  return { objectsDir, objectFormat, shared: (await settings()).get('core.sharedrepository')?.value, onStep };
}

function openBatch(options: StoreOptions): ObjectBatch {
  // The setting is read before the batch is flushed; the settings are loaded by then.
  const opened = toTarget(options).then(objectBatch);
  opened.catch(() => undefined);
  return withOwnErrors({
    blob: async (bytes) => (await opened).blob(bytes),
    tree: async (entries) => (await opened).tree(entries),
    async commit(commit) {
      const batch = await opened;
      if (!isTrue((await options.settings()).get('teddy.sign')?.value)) return batch.commit(commit);
      // git itself makes a signed commit, and its tree must exist.
      await batch.flush();
      return withDurableNames(options.objectsDir, () => signCommit(options.git, commit));
    },
    flush: async () => (await opened).flush(),
  });
}

async function moveRefs(
  options: StoreOptions,
  ...[updates, reflog, durable]: Parameters<Store['updateRefs']>
): ReturnType<Store['updateRefs']> {
  const outcome = await withRefRecord(options.git, options, updates, async (release) => {
    await durable;
    options.onStep?.('ref');
    return updateRefs(options.git, updates, reflog, release);
  });
  // git syncs a ref's content but not its name. teddy removed the record after the ref received its name, and file
  // systems with a journal preserve the order of these changes. Syncing this directory therefore makes the ref durable
  // too, however git stores refs.
  if (outcome === 'done') await syncDirectoryIfPossible(join(options.commonDir, 'teddy'));
  options.onStep?.('ref-moved');
  return outcome;
}

async function packRefs(options: StoreOptions, made: readonly RefName[]): Promise<void> {
  // When git removes a packed ref's file, it takes the same locks as when it removes the ref.
  const locked = made.map((ref) => ({ ref, old: null, new: null }));
  await withRefRecord(options.git, options, locked, async (release) => {
    const notedMs = Date.now();
    try {
      await options.git.text(['pack-refs', '--all']);
    } catch (error) {
      // Release a dead git's locks, which would block the next attempt.
      await release({ notedMs, latestMs: Date.now() });
      throw error;
    }
  });
}

function isTrue(value: string | undefined): boolean {
  return /^(?:true|yes|on|1)$/i.test(value ?? '');
}

/** Spells a key as git prints it: section and variable in lower case, and the subsection between them unchanged. */
function toSettingKey(key: string): string {
  const first = key.indexOf('.');
  const last = key.lastIndexOf('.');
  return key.slice(0, first).toLowerCase() + key.slice(first, last) + key.slice(last).toLowerCase();
}

function parseTreeRow(row: string): TreeFile {
  const tab = row.indexOf('\t');
  const [mode = '', , oid = ''] = row.slice(0, tab).split(' ');
  return { path: repoPathFromGit(row.slice(tab + 1)), mode: mode as TreeMode, oid: oid as Oid };
}

async function isAncestor(git: GitRunner, readCommit: Store['readCommit'], ancestor: Oid, descendant: Oid) {
  if ((await followTo({ readCommit }, descendant, [ancestor])) !== null) return true;
  const { exitCode } = await git.run(['merge-base', '--is-ancestor', ancestor, descendant], { accept: [1] });
  return exitCode === 0;
}

/** Has git find the common ancestor, because teddy reads only a line's first parents. */
async function mergeBase(git: GitRunner, commit: Oid, others: readonly Oid[]): Promise<Oid | null> {
  const { exitCode, stdout } = await git.run(['merge-base', commit, ...others], { accept: [1] });
  return exitCode === 0 ? parseOid(stdout.toString('utf8').trim()) : null;
}

async function findReachable(git: GitRunner, text: string, from: Oid, not: readonly Oid[]): Promise<Oid[]> {
  const rows = await git.text(['rev-list', '--topo-order', '--fixed-strings', `--grep=${text}`, from, '--not', ...not]);
  return rows === '' ? [] : rows.split('\n').map(parseOid);
}

/** Yields a branch with its history as one file that `git clone` and `git fetch` accept as a remote. */
async function* createBundle(git: GitRunner, commonDir: string, ref: RefName): AsyncIterable<Uint8Array> {
  // git would make the bundle, but nobody could open it.
  if ((await readShallow(commonDir)) !== '') {
    throw new TeddyError(
      'DAMAGED_SESSION',
      'This is a shallow clone, so a bundle of it would be incomplete.',
      'Fetch the full history with `git fetch --unshallow`.',
    );
  }
  const child = git.start(['bundle', 'create', '--quiet', '-', ref]);
  const said: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk));
  child.stdin.on('error', () => undefined);
  child.stdin.end();
  const closed = once(child, 'close') as Promise<[number | null]>;
  closed.catch(() => undefined);
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) yield chunk;
  const [code] = await closed;
  if (code === 0) return;
  throw new TeddyError('GIT_FAILED', `git bundle failed: ${Buffer.concat(said).toString('utf8').trim()}`);
}

/** A constant identity, so that equal merges produce equal objects. */
const nobody = 'teddy <teddy@localhost> 0 +0000';

/** Merges trees with git's own three-way merge. Renames, attributes and the user's merge drivers apply as in `git merge`. */
async function mergeTrees(
  git: GitRunner,
  batch: ObjectBatch,
  { base, ours, theirs }: { base: Oid; ours: Oid; theirs: Oid },
): ReturnType<Store['mergeTrees']> {
  // Before version 2.40, git's `merge-tree` accepts no base. It finds this base in a history made for the purpose,
  // which no ref points to.
  const root = await batch.commit(toCommit(base, []));
  const sides = await Promise.all([ours, theirs].map((tree) => batch.commit(toCommit(tree, [root]))));
  await batch.flush();
  const flags = ['--write-tree', '-z', '--name-only', '--no-messages'];
  const { exitCode, stdout } = await git.run(['merge-tree', ...flags, ...sides], { accept: [1] });
  const [tree = '', ...paths] = splitNul(stdout);
  const merged = parseOid(tree);
  return exitCode === 0
    ? { tree: merged, conflicts: [] }
    : { tree: null, conflicts: paths.filter((path) => path !== '').map(repoPathFromGit) };
}

function toCommit(tree: Oid, parents: Oid[]): Parameters<ObjectBatch['commit']>[0] {
  return { tree, parents, author: nobody, committer: nobody, message: 'teddy: a side of a merge\n' };
}

/**
 * Makes the commit with a signature, as `commit.gpgSign` would. The commit's tree must exist. There is no prompt for a
 * passphrase, so an agent must hold it. Throws SIGNING_FAILED.
 */
async function signCommit(git: GitRunner, { tree, parents, author, committer, message }: Commit): Promise<Oid> {
  const args = ['-c', 'i18n.commitEncoding=UTF-8', 'commit-tree', '-S', '-F', '-'];
  const { exitCode, stdout, stderr } = await git.run([...args, ...parents.flatMap((parent) => ['-p', parent]), tree], {
    input: message,
    env: { ...toVariables('AUTHOR', author), ...toVariables('COMMITTER', committer) },
    accept: [1, 128],
  });
  if (exitCode === 0) return parseOid(stdout.toString('utf8').trim());
  throw new TeddyError(
    'SIGNING_FAILED',
    `git could not sign: ${stderr.trim().split('\n').slice(0, 3).join(' ')}`,
    'Make `git commit -S` work without a prompt, or run `git config teddy.sign false`.',
  );
}

/** Splits `Name <email> <seconds> <zone>` into git's environment variables. */
function toVariables(role: 'AUTHOR' | 'COMMITTER', ident: string): Record<string, string> {
  const [, name = '', email = '', date = ''] = /^(.*?) ?<(.*)> (\d+ [+-]\d{4})$/.exec(ident) ?? [];
  return { [`GIT_${role}_NAME`]: name, [`GIT_${role}_EMAIL`]: email, [`GIT_${role}_DATE`]: `@${date}` };
}

/** Reads the names once; they do not change within a command. Each commit has its own time, unless the user set one. */
function identReader(
  git: GitRunner,
  env: Environment,
  settings: () => Promise<ReadonlyMap<string, GitSetting>>,
): () => Promise<Ident> {
  let asked: Promise<Ident> | undefined;
  return async () => {
    asked ??= readIdent(git, env, settings);
    const { author, committer } = await asked;
    return {
      author: env['GIT_AUTHOR_DATE'] ? author : atThisTime(author),
      committer: env['GIT_COMMITTER_DATE'] ? committer : atThisTime(committer),
    };
  };
}

async function readIdent(
  git: GitRunner,
  env: Environment,
  settings: () => Promise<ReadonlyMap<string, GitSetting>>,
): Promise<Ident> {
  const known = await settings();
  const names = [...Object.keys(env).filter((key) => env[key] !== undefined), ...known.keys()];
  // Without any of these settings, author and committer are equal, and one process is enough.
  if (!names.some((name) => /^(?:GIT_(?:AUTHOR|COMMITTER)_|(?:author|committer)\.)/.test(name))) {
    const both = toPlainIdent(env, known) ?? (await readVariable(git, 'GIT_COMMITTER_IDENT'));
    return { author: both, committer: both };
  }
  const [author, committer] = await Promise.all([
    readVariable(git, 'GIT_AUTHOR_IDENT'),
    readVariable(git, 'GIT_COMMITTER_IDENT'),
  ]);
  return { author, committer };
}

/** Matches text that git uses unchanged: git removes angle brackets and control characters, and punctuation at both ends. */
const plainText = /^(?![\s.,:;"\\'])[^<>\p{Cc}\uFFFD]+(?<![\s.,:;"\\'])$/u;

/**
 * Makes the ident that git would make from the user's settings, without starting git. Returns null when git must
 * decide: for a name that git would clean up or guess, or a time zone that the C library may interpret differently from
 * Node.
 */
function toPlainIdent(env: Environment, settings: ReadonlyMap<string, GitSetting>): string | null {
  const [name, email] = ['user.name', 'user.email'].map((key) => settings.get(key)?.value ?? '');
  const isPlain = [name, email].every((text = '') => plainText.test(text) && text !== 'true');
  if (!isPlain || env['TZ'] !== undefined || process.env['TZ'] !== undefined) return null;
  const now = new Date();
  const minutes = Math.abs(now.getTimezoneOffset());
  const zone = String(Math.floor(minutes / 60) * 100 + (minutes % 60)).padStart(4, '0');
  return `${name} <${email}> ${Math.floor(now.getTime() / 1000)} ${now.getTimezoneOffset() > 0 ? '-' : '+'}${zone}`;
}

/** git's messages when it has no name or no address. */
const withoutIdentity =
  /tell me who you are|ident name|auto-detect|auto-detection is disabled|no (?:name|email) was given|disallowed characters/i;

async function readVariable(git: GitRunner, name: string): Promise<string> {
  const { exitCode, stdout, stderr } = await git.run(['var', name], { accept: [1, 128] });
  if (exitCode === 0) return stdout.toString('utf8').trimEnd();
  if (!withoutIdentity.test(stderr)) throw toGitFailure('var', { exitCode, signal: null, stderr });
  throw new TeddyError(
    'NO_IDENTITY',
    'git does not know who you are, and every entry is a commit in your name.',
    'Run `git config --global user.name "Your Name"` and `git config --global user.email you@example.com`.',
  );
}

/** Replaces the time in `Name <email> <seconds> <zone>`. */
function atThisTime(ident: string): string {
  return ident.replace(/\d+ ([+-]\d{4})$/, `${Math.floor(Date.now() / 1000)} $1`);
}

/** Keeps runs' journals: each has a directory with an append-only log and one file for the stored bytes. */
import { randomBytes } from 'node:crypto';
import {
  cp,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  unlink,
  type FileHandle,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TeddyError } from '../../errors.ts';
import { decodeJournal, encodeRecord, type JournalRecord, type RunRecord } from '../../plan/report/journal.ts';
import type { RunJournal, RunJournals } from '../../ports/disk.ts';
import { runName, type RepoPath } from '../../names.ts';
import { type Processes, findHolder, claimFile, type ClaimOptions } from '../../disk/claim-file.ts';
import { syncDirectory, writeAll } from '../../disk/durable-file.ts';
import {
  asDiskErrors,
  errorCode,
  falseOnSystemError,
  ignoreSystemError,
  nullIfGone,
  toDiskError,
  type DiskAct,
} from '../../disk/system-error.ts';
import type { RunClaim, RunDirs } from '../../ports/git.ts';

export interface RunJournalOptions extends Processes {
  /** `<git-common-dir>/teddy`. */
  dir: string;
  /** Called before each step, so that a test can simulate a crash at that step. */
  onStep?: ((step: string) => void) | undefined;
}

export function runJournals({ dir, onStep, ...processes }: RunJournalOptions): RunJournals {
  const runs = join(dir, 'runs');
  const step = onStep ?? (() => undefined);
  const openJournal = (name: string, exists: boolean) =>
    journalIn({ runs, aside: join(dir, 'aside'), name, exists, step });
  return {
    claim: (place) => claimRun(runs, place, { ...processes, onStep }),
    holder: (place) => findHolder(claimPath(runs, place), processes),
    begin: (place) => openJournal(runName(place), false),
    async find(place) {
      const name = runName(place);
      const text = await readFile(join(runs, name, logName), 'utf8')
        .catch(nullIfGone)
        .catch(throwUnreadable);
      const left = text === null ? null : decodeJournal(text);
      // The log ends within the first action's record, so no action has begun.
      if (left === null || left.begun.length === 0) return null;
      return { ...left, journal: openJournal(name, true) };
    },
    async list() {
      const found = await readdir(runs, { withFileTypes: true }).catch(nullIfGone).catch(throwUnreadable);
      const names = (found ?? []).filter((one) => one.isDirectory()).map(({ name }) => name);
      for (const name of names.filter((one) => one.startsWith(discardedPrefix)))
        // The next command handles anything that teddy cannot remove now; nothing reads it.
        await rm(join(runs, name), { recursive: true, force: true }).catch(() => undefined);
      return (await Promise.all(names.map((name) => readFirst(join(runs, name, logName))))).flat();
    },
  };
}

/** Reads the record that identifies the log's run. */
async function readFirst(path: string): Promise<RunRecord[]> {
  const text = await readFile(path, 'utf8').catch(nullIfGone).catch(throwUnreadable);
  try {
    const { run } = decodeJournal(`${text?.split('\n')[0] ?? ''}\n`) ?? {};
    return run === undefined ? [] : [run];
  } catch {
    return [];
  }
}

export const logName = 'journal.jsonl';
const keptName = 'kept';
export const discardedPrefix = 'discarded-';

interface JournalOptions {
  runs: string;
  aside: string;
  name: string;
  /** True when a crash has left the journal and this run continues it. */
  exists: boolean;
  step: (name: string) => void;
}

function journalIn({ runs, aside, name, exists, step }: JournalOptions): RunJournal {
  const dir = join(runs, name);
  let isThere = exists;
  let files: JournalFiles | null = null;
  let waiting: JournalRecord[] = [];

  const use = async (): Promise<JournalFiles> => {
    if (!isThere) await create(dir);
    isThere = true;
    files ??= await openFiles(dir);
    return files;
  };
  let last: Promise<unknown> = Promise.resolve();
  /** Queues the writes, because each write's position is known only after the previous one. */
  const inTurn = <Value>(act: () => Promise<Value>): Promise<Value> => {
    const result = last.then(act);
    last = result.catch(() => undefined);
    return result;
  };
  /** Writes everything that is waiting, in order. Anything that it cannot write keeps waiting. */
  const write = async (): Promise<JournalFiles> => {
    const opened = await use();
    const count = waiting.length;
    await appendRecords(opened, waiting);
    waiting = waiting.slice(count);
    return opened;
  };
  const close = () =>
    inTurn(async () => {
      const opened = files;
      files = null;
      for (const file of [opened?.log, opened?.kept]) await file?.close().catch(ignoreSystemError);
    });

  return {
    async append(record) {
      step('journal');
      waiting.push(record);
      try {
        // Writes the bytes first, so that no record on disk names missing bytes.
        await inTurn(async () => syncKept(await use()));
        const { log } = await inTurn(write);
        await log.datasync();
      } catch (error) {
        throw toJournalError(error);
      }
      step('journaled');
    },
    async note(record) {
      waiting.push(record);
      // If this write fails, the record waits; the next action does not begin before it is written.
      if (isThere) await inTurn(write).catch(() => undefined);
    },
    async keep(bytes) {
      try {
        return await inTurn(async () => keepBytes(await use(), bytes));
      } catch (error) {
        throw toJournalError(error);
      }
    },
    read: (key) => readKept(join(dir, keptName), key),
    moveAside: (root, path) => moveAside(root, path, join(aside, name)),
    moveBack,
    close,
    async discard() {
      await close();
      step('journal-discarded');
      try {
        // Removes the directory atomically by a rename; the next look removes anything that a crash leaves of it.
        const discarded = join(runs, `${discardedPrefix}${randomBytes(8).toString('hex')}`);
        await rename(dir, discarded).catch(nullIfGone);
        await rm(discarded, { recursive: true, force: true });
      } catch (error) {
        throw toJournalError(error, 'removed');
      }
    },
  };
}

/** Each acknowledged write has its own fsync, so a failing close can neither undo the write nor make a run less complete. */
interface JournalFiles {
  log: FileHandle;
  /** The total length of the log's complete records. */
  logBytes: number;
  kept: FileHandle;
  keptBytes: number;
  /** The number of stored bytes that are durable. */
  syncedBytes: number;
}

async function create(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  for (const name of [logName, keptName]) await (await open(join(dir, name), 'wx', 0o600)).close();
  for (const path of [dir, dirname(dir), dirname(dirname(dir))]) await syncDirectory(path);
}

/** The next write replaces any record that a crash has cut off at the end of the log. */
async function openFiles(dir: string): Promise<JournalFiles> {
  const [logPath, keptPath] = [join(dir, logName), join(dir, keptName)];
  const logBytes = (await readFile(logPath)).lastIndexOf('\n') + 1;
  const [log, kept] = [await open(logPath, 'r+'), await open(keptPath, 'r+')];
  await log.truncate(logBytes);
  return { log, logBytes, kept, keptBytes: (await kept.stat()).size, syncedBytes: 0 };
}

async function appendRecords(files: JournalFiles, records: readonly JournalRecord[]): Promise<void> {
  const bytes = Buffer.from(records.map(encodeRecord).join(''));
  // Overwrites anything that a failed write has left behind.
  await writeAll(files.log, bytes, files.logBytes);
  files.logBytes += bytes.length;
}

/** Stores bytes and returns their key. */
async function keepBytes(files: JournalFiles, bytes: Uint8Array): Promise<string> {
  const at = files.keptBytes;
  await writeAll(files.kept, bytes, at);
  files.keptBytes += bytes.length;
  return `${at}+${bytes.length}`;
}

async function syncKept(files: JournalFiles): Promise<void> {
  const { kept, keptBytes } = files;
  if (keptBytes === files.syncedBytes) return;
  await kept.datasync();
  files.syncedBytes = keptBytes;
}

async function readKept(path: string, key: string): Promise<Uint8Array> {
  const [at, length] = key.split('+').map(Number);
  const bytes = new Uint8Array(length ?? 0);
  const file = await open(path, 'r').catch(nullIfGone).catch(throwUnreadable);
  try {
    const read = await file?.read(bytes, 0, bytes.length, at).catch(throwUnreadable);
    if (read?.bytesRead === bytes.length) return bytes;
  } finally {
    await file?.close().catch(throwUnreadable);
  }
  throw new TeddyError('DAMAGED_SESSION', `The journal's copy ${key} is incomplete: ${path}.`, 'Check `git status`.');
}

function throwUnreadable(error: unknown): never {
  throw toJournalError(error, 'read');
}

function toJournalError(error: unknown, act: DiskAct = 'written'): TeddyError {
  return toDiskError(error, `The run's journal could not be ${act}`, 'Check the permissions of `.git/teddy`.');
}

/**
 * Moves a file to the same path below `to`, or below the first free one of `to.1`, `to.2`, ... Returns the new absolute
 * path. Throws DISK_FULL, WRITE_FAILED.
 */
export function moveAside(root: string, path: RepoPath, to: string): Promise<string> {
  const what = `${path} could not be moved aside`;
  return asDiskErrors([what, 'Check the permissions of its directory.'], () => move(root, path, to));
}

async function moveBack(root: string, path: RepoPath, from: string): Promise<boolean> {
  const linked = realpath(root).then((real) => link(from, join(real, path)));
  return (await linked.then(() => unlink(from)).catch(falseOnSystemError)) !== false;
}

async function move(root: string, path: RepoPath, to: string): Promise<string> {
  const from = join(await realpath(root), path);
  const target = await findFree(to, path);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  try {
    await rename(from, target);
  } catch (error) {
    // A linked work tree may be on another file system than the repository.
    if (errorCode(error) !== 'EXDEV') throw error;
    await cp(from, target, { verbatimSymlinks: true, preserveTimestamps: true, errorOnExist: true, force: false });
    await syncFile(target);
    await syncUpwards(dirname(target), dirname(dirname(to)));
    await rm(from);
  }
  await syncUpwards(dirname(target), dirname(dirname(to)));
  return target;
}

async function findFree(to: string, path: RepoPath): Promise<string> {
  for (let number = 0; ; number += 1) {
    const directory = number === 0 ? to : `${to}.${number}`;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const name = join(directory, path);
    if (await isFree(name)) return name;
  }
}

/** A directory cannot exist below a file. */
async function isFree(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return false;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return true;
    if (errorCode(error) === 'ENOTDIR') return false;
    throw error;
  }
}

/** A link's own content becomes durable with its directory. */
async function syncFile(path: string): Promise<void> {
  if ((await lstat(path)).isSymbolicLink()) return;
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Includes the directories that teddy made along the way. */
async function syncUpwards(directory: string, last: string): Promise<void> {
  await syncDirectory(directory);
  if (directory !== last) await syncUpwards(dirname(directory), last);
}

/** Only one process at a time executes a turn, or answers one in a conversation: tools must not run twice. */
const doings = {
  executed: 'Wait for it, or stop it; `teddy show` shows its report when it is done.',
  answered: 'Wait for the answer and then send your message, or add it now with `teddy say`, without asking a model.',
};

const claimPath = (runs: string, place: RunDirs): string => join(runs, `${runName(place)}.json`);

/**
 * `runs` is the directory with the claims. Throws LOCKED, even while this process itself has the claim; WRITE_FAILED,
 * DISK_FULL. `release` also throws the last two.
 */
export async function claimRun(
  runs: string,
  place: RunDirs,
  options: ClaimOptions,
  doing: keyof typeof doings = 'executed',
): Promise<RunClaim> {
  await orUnclaimed(() => mkdir(runs, { recursive: true }));
  const claim = await orUnclaimed(() => claimFile(claimPath(runs, place), options));
  if ('release' in claim) return { release: () => orUnclaimed(claim.release) };
  const who = claim.heldBy === process.pid ? 'this process' : `process ${claim.heldBy}`;
  throw new TeddyError('LOCKED', `Turn ${place.turn} of ${place.session} is being ${doing} by ${who}.`, doings[doing]);
}

function orUnclaimed<Value>(act: () => Promise<Value>): Promise<Value> {
  const what = 'The claim on a turn could not be taken or released';
  return asDiskErrors([what, 'Check the permissions of `.git/teddy`.'], act);
}

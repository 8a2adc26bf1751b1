/**
 * Keeps one file, `<kind>-<id>.json`, for each operation that a crash may interrupt. The file is private to its user,
 * sealed, always replaced as a whole, and names its holder. teddy removes a note only when its operation is settled.
 */
import { randomBytes } from 'node:crypto';
import { readdir, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TeddyError } from '../errors.ts';
import {
  isHeld,
  releaseHolder,
  newHolder,
  readHolder,
  removeLeftovers,
  takeOverFile,
  waitWhileHeld,
  type ClaimOptions,
  type Holder,
} from '../disk/claim-file.ts';
import {
  addConfirmed,
  changedError,
  confirmedOf,
  confirmedPart,
  toConfirmation,
  type Confirmation,
} from '../disk/confirmed-bytes.ts';
import { makePrivateDirectory, removeFile, replaceDurably, syncDirectory, writeDurably } from '../disk/durable-file.ts';
import { thisMachine } from '../disk/process-identity.ts';
import { decodeSealed, encodeSealed } from '../disk/sealed-json.ts';
import { asDiskErrors, fallBackTo, ignoreSystemError, type DiskAct } from '../disk/system-error.ts';
import type { Journal, LeftOperation, Operation, OperationKind, Settling, Staged } from '../ports/journal.ts';

export interface JournalOptions extends Partial<ClaimOptions> {
  /** `<git-common-dir>/teddy/journal`. */
  dir: string;
  /** How long to wait for another command to settle an operation. */
  waitMs?: number;
}

type UsedOptions = JournalOptions & ClaimOptions;

/** Opens the journal in `dir`. Looks up processes on this machine unless `given` overrides that. */
export function journalIn(given: JournalOptions): Journal {
  const options = { ...thisMachine, ...given };
  const find = <Facts extends object>(kind: OperationKind<Facts>, clears: boolean) =>
    asNoteErrors(kind, 'read', () => findNotes(options, kind, clears));
  return {
    open: (kind, facts) => asNoteErrors(kind, 'written', () => open(options, kind, facts)),
    left: async (kind) => (await find(kind, true)).filter(({ state }) => state === 'left'),
    look: async (kind) => (await find(kind, false)).filter(({ state }) => state === 'left'),
    atWork: async (kind) => (await find(kind, false)).filter(({ state }) => state === 'of another process'),
  };
}

async function open<Facts extends object>(
  options: UsedOptions,
  kind: OperationKind<Facts>,
  facts: Facts,
): Promise<Operation<Facts>> {
  await makePrivateDirectory(options.dir);
  await syncDirectory(dirname(options.dir));
  const path = join(options.dir, `${kind.name}-${randomBytes(8).toString('hex')}.json`);
  const holder = await newHolder(options);
  // The name identifies the holder, so that any later command can remove a dead process's file.
  const unfinished = `${path}.new-${holder.pid}-${holder.nonce}`;
  const note: Note = { version, ...holder, isSettling: false, facts, staged: null };
  try {
    await writeDurably(unfinished, encodeSealed(note), 0o600);
    options.onStep?.(`${kind.name}-begun`);
    await rename(unfinished, path);
    await syncDirectory(options.dir);
  } catch (error) {
    for (const one of [path, unfinished]) await removeFile(one).catch(ignoreSystemError);
    releaseHolder(holder);
    throw error;
  }
  options.onStep?.(`${kind.name}-made`);
  return operationAt(path, options, kind, note);
}

const version = 1;

/** A file's whole content. */
interface Note extends Holder {
  version: number;
  /** True when the holder did not begin the operation, but settles an interrupted one. */
  isSettling: boolean;
  /** Null for damaged facts. */
  facts: object | null;
  /** Null when nobody staged any bytes. */
  staged: Confirmation | null;
}

function decodeNote(text: string): Note | null {
  const note = decodeSealed(text) as Note | null;
  return note?.version === version ? note : null;
}

function contentOf(path: string): string {
  return path.replace(/json$/, 'content');
}

function operationAt<Facts extends object>(
  path: string,
  { onStep }: UsedOptions,
  kind: OperationKind<Facts>,
  begun: Note,
): Operation<Facts> {
  let note = begun;
  let confirmed = confirmedOf(nothing);
  const step = (name: string) => onStep?.(`${kind.name}-${name}`);
  const write = async (next: Note) => {
    await replaceDurably(path, encodeSealed(next), 0o600);
    note = next;
    step('noted');
  };
  const asWritten = (run: () => Promise<void>) => asNoteErrors(kind, 'written', run);
  return {
    note: (change) => asWritten(() => write({ ...note, facts: { ...note.facts, ...change } })),
    stage: (bytes) =>
      asWritten(async () => {
        const longer = await addConfirmed(contentOf(path), confirmed, bytes).catch(fallBackTo(null, 'ENOENT'));
        if (longer === null) throw changedError(contentOf(path));
        step('staged');
        await write({ ...note, staged: toConfirmation(longer) });
        confirmed = longer;
      }),
    done: () =>
      asNoteErrors(kind, 'removed', async () => {
        // Removes the note first, and durably: content without a note belongs to no operation.
        await removeFile(path);
        await syncDirectory(dirname(path)).catch(fallBackTo(undefined, 'ENOENT'));
        step('done');
        await removeFile(contentOf(path));
        releaseHolder(note);
      }),
    async leave() {
      // No process has the pid 0, so others see a free note. If this write fails, the note becomes free when this
      // process ends.
      await write({ ...note, pid: 0 }).catch(ignoreSystemError);
      releaseHolder(note);
    },
  };
}

const nothing = new Uint8Array();

type FoundNote<Facts extends object> = LeftOperation<Facts> & { state: 'left' | 'ours' | 'of another process' };

async function findNotes<Facts extends object>(
  options: UsedOptions,
  kind: OperationKind<Facts>,
  clears: boolean,
): Promise<FoundNote<Facts>[]> {
  const names: string[] = await readdir(options.dir).catch(fallBackTo([], 'ENOENT'));
  const pattern = new RegExp(`^(${kind.name}-[0-9a-f]{16})\\.(?:json|content)`);
  const notes = [...new Set(names.flatMap((name) => pattern.exec(name)?.[1] ?? []))];
  const found: FoundNote<Facts>[] = [];
  for (const path of notes.map((name) => join(options.dir, `${name}.json`))) {
    const one = await look(options, kind, path);
    if (one !== null) found.push(one);
    // Without a note, the operation either had not started anything or had settled everything.
    else if (clears) await clear(options, path).catch(ignoreSystemError);
  }
  return found;
}

async function clear(options: UsedOptions, path: string): Promise<void> {
  await removeLeftovers(path, options);
  await removeFile(contentOf(path));
}

/** Returns null when the note does not exist. */
async function look<Facts extends object>(
  options: UsedOptions,
  kind: OperationKind<Facts>,
  path: string,
): Promise<FoundNote<Facts> | null> {
  const holder = await readHolder(path);
  if (holder === null) return null;
  const note = decodeNote(holder.text);
  const facts = (note?.facts ?? null) as Facts | null;
  const isWorking = note?.isSettling !== true && (await isHeld(holder, options));
  return {
    path,
    content: contentOf(path),
    facts,
    state: !isWorking ? 'left' : holder.pid === process.pid ? 'ours' : 'of another process',
    read: () => asNoteErrors(kind, 'read', () => readStaged(path)),
    take: () => asNoteErrors(kind, 'written', () => take(options, kind, path)),
  };
}

/** Reads again while the note changes, because its process is still writing. */
async function readStaged(path: string): Promise<Staged> {
  for (;;) {
    const text = (await readHolder(path))?.text ?? '';
    const note = decodeNote(text);
    const content = (await readFile(contentOf(path)).catch(fallBackTo(null, 'ENOENT'))) ?? nothing;
    const verified = note && (note.staged === null ? nothing : confirmedPart(content, note.staged));
    if (verified) return { verified, tail: content.subarray(verified.length), isDamaged: false };
    if (text === ((await readHolder(path))?.text ?? '')) return { verified: nothing, tail: content, isDamaged: true };
  }
}

async function take<Facts extends object>(
  { waitMs = 5000, ...options }: UsedOptions,
  kind: OperationKind<Facts>,
  path: string,
): Promise<Settling<Facts> | null> {
  let note: Note | null = null;
  const renew = (holder: Holder, before: string) => {
    note = { ...(decodeNote(before) ?? { version, facts: null, staged: null }), ...holder, isSettling: true };
    return encodeSealed(note);
  };
  const taken = await waitWhileHeld(waitMs, () => takeOverFile(path, { ...options, renew }));
  if (note !== null && 'holder' in taken) return operationAt(path, options, kind, note);
  if (!('heldBy' in taken) || taken.heldBy === null) return null;
  throw new TeddyError(
    'LOCKED',
    `Process ${taken.heldBy} is repairing ${kind.title} that was interrupted.`,
    'Wait for it to finish and run the command again.',
  );
}

function asNoteErrors<Value>(
  { title }: Pick<OperationKind<object>, 'title'>,
  act: DiskAct,
  run: () => Promise<Value>,
): Promise<Value> {
  const hints = ['Check the permissions of `.git/teddy/journal`.', 'Free some space and try again.'] as const;
  return asDiskErrors([`The note about ${title} could not be ${act}`, ...hints], run);
}

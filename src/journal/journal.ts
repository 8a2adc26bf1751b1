/**
 * One file for each operation that a crash may cut off, `<kind>-<id>.json`, for its user alone: sealed, replaced as a whole, and
 * with its holder inside. A note goes only when what it speaks of is settled.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TeddyError } from '../errors.ts';
import {
  isHeld,
  letGo,
  newHolder,
  readHolder,
  removeLeftovers,
  takeOverFile,
  waitWhileHeld,
  type ClaimOptions,
  type Holder,
  type Processes,
} from '../disk/claim-file.ts';
import { removeFile, replaceDurably, syncDirectory, writeDurably } from '../disk/durable-file.ts';
import { isAlive, readBootId, readStartTime } from '../disk/process-identity.ts';
import { makePrivateDirectory } from '../disk/private-directory.ts';
import { decodeSealed, encodeSealed } from '../disk/sealed-json.ts';
import { errorCode, errorReason, fallBackTo, ignoreSystemError, toDiskError } from '../disk/system-error.ts';
import type { Journal, LeftOperation, Operation, OperationKind } from '../ports/journal.ts';

export interface JournalOptions extends Partial<ClaimOptions> {
  /** `<git-common-dir>/teddy/journal`. */
  dir: string;
  /** How long another command may take to settle an operation. */
  waitMs?: number;
}

type UsedOptions = JournalOptions & ClaimOptions;

const thisMachine: Processes = { bootId: readBootId, isAlive, startTime: readStartTime };

/** Knows processes as the system shows them, unless `given` says something else. */
export function journalIn(given: JournalOptions): Journal {
  const options = { ...thisMachine, ...given };
  return {
    open: (kind, facts) => asNoteErrors(kind, 'written', () => open(options, kind, facts)),
    left: (kind) => asNoteErrors(kind, 'read', () => findLeft(options, kind, { clears: true })),
    look: (kind) => asNoteErrors(kind, 'read', () => findLeft(options, kind, { clears: false })),
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
  // Its name says whose it is: whoever looks removes what a dead process has left.
  const unfinished = `${path}.new-${holder.pid}-${holder.nonce}`;
  const note = { version, ...holder, isSettling: false, facts };
  try {
    await writeDurably(unfinished, encodeSealed(note), 0o600);
    await rename(unfinished, path);
    await syncDirectory(options.dir);
  } catch (error) {
    for (const one of [path, unfinished]) await removeFile(one).catch(ignoreSystemError);
    letGo(holder);
    throw error;
  }
  return operationAt(path, kind, note);
}

const version = 1;

/** The whole of a file. */
interface Note extends Holder {
  version: number;
  /** True when the holder did not begin the operation, but puts right what is left of it. */
  isSettling: boolean;
  /** Null when they were damaged. */
  facts: object | null;
}

function decodeNote(text: string): Note | null {
  const note = decodeSealed(text) as Note | null;
  return note?.version === version ? note : null;
}

function operationAt<Facts extends object>(path: string, kind: OperationKind<Facts>, begun: Note): Operation<Facts> {
  let note = begun;
  const end = (act: 'written' | 'removed', run: () => Promise<void>) =>
    asNoteErrors(kind, act, () => run().finally(() => letGo(note)));
  return {
    note: (change) =>
      asNoteErrors(kind, 'written', () => {
        note = { ...note, facts: { ...note.facts, ...change } };
        return replaceDurably(path, encodeSealed(note), 0o600);
      }),
    done: () =>
      end('removed', async () => {
        await removeFile(path);
        await syncDirectory(dirname(path));
      }),
    // No process has this number: to the others it is free now. Where that cannot be noted, it is free when this one ends.
    leave: () =>
      end('written', () => replaceDurably(path, encodeSealed({ ...note, pid: 0 }), 0o600).catch(ignoreSystemError)),
  };
}

async function findLeft<Facts extends object>(
  options: UsedOptions,
  kind: OperationKind<Facts>,
  { clears }: { clears: boolean },
): Promise<LeftOperation<Facts>[]> {
  const names: string[] = await readdir(options.dir).catch(fallBackTo([], 'ENOENT'));
  const notes = new Set<string>(
    names.flatMap((name) => new RegExp(`^${kind.name}-[0-9a-f]{16}\\.json`).exec(name) ?? []),
  );
  // Nothing had been started by then, or all of it was put right.
  for (const name of clears ? notes : [])
    if (!names.includes(name)) await removeLeftovers(join(options.dir, name), options).catch(ignoreSystemError);
  const found = await Promise.all([...notes].map((name) => look(options, kind, join(options.dir, name))));
  return found.filter((one) => one !== null);
}

/** Null: its process is at work on it, or nothing is left of it. */
async function look<Facts extends object>(
  options: UsedOptions,
  kind: OperationKind<Facts>,
  path: string,
): Promise<LeftOperation<Facts> | null> {
  const holder = await readHolder(path);
  if (holder === null) return null;
  const note = decodeNote(holder.text);
  if (note?.isSettling !== true && (await isHeld(holder, options))) return null;
  const facts = (note?.facts ?? null) as Facts | null;
  return { path, facts, take: () => asNoteErrors(kind, 'written', () => take(options, kind, path)) };
}

async function take<Facts extends object>(
  { waitMs = 5000, ...options }: UsedOptions,
  kind: OperationKind<Facts>,
  path: string,
): Promise<Operation<Facts> | null> {
  const toNote = (holder: Holder, facts: object | null): Note => ({ version, ...holder, isSettling: true, facts });
  let facts: object | null = null;
  const renew = (holder: Holder, before: string) => {
    facts = decodeNote(before)?.facts ?? null;
    return encodeSealed(toNote(holder, facts));
  };
  const taken = await waitWhileHeld(waitMs, () => takeOverFile(path, { ...options, renew }));
  if ('holder' in taken) return operationAt(path, kind, toNote(taken.holder, facts));
  if (taken.heldBy === null) return null;
  throw new TeddyError(
    'LOCKED',
    `Process ${taken.heldBy} puts right ${kind.title} that was interrupted.`,
    'Wait for it, and run the command again.',
  );
}

/** A defect of ours, and what says itself what it is, stay as they are. */
async function asNoteErrors<Value>(
  { title }: Pick<OperationKind<object>, 'title'>,
  act: 'written' | 'removed' | 'read',
  run: () => Promise<Value>,
): Promise<Value> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof TeddyError || errorCode(error) === null) throw error;
    throw toDiskError(
      error,
      `The note of ${title} could not be ${act}: ${errorReason(error)}.`,
      'Check the permissions of `.git/teddy/journal`.',
      'Free some space and try it again.',
    );
  }
}

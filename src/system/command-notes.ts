/** Notes of commands that run in conversations: two files each, for their user alone, beside the claim of the process that runs it. */
import { randomBytes } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { TeddyError } from '../errors.ts';
import type { ProcessGroup } from '../plan/journal.ts';
import type { CommandNote, CommandNotes, LeftCommand, OpenCommandNote } from '../ports/disk.ts';
import { claimFile, waitForClaim, type Claim, type Processes } from '../disk/claim-file.ts';
import { removeFile, replaceDurably, syncDirectory } from '../disk/durable-file.ts';
import { decodeNote, encodeNote } from './encode-note.ts';
import { makePrivateDirectory } from '../disk/private-directory.ts';
import { seal, unseal } from '../disk/sealed-json.ts';
import { errorCode, errorReason, fallBackTo, toDiskError } from '../disk/system-error.ts';

export interface CommandNotesOptions extends Processes {
  /** `<git-common-dir>/teddy/commands`. */
  dir: string;
  /** How long another command may take to put right what was left. */
  waitMs?: number;
}

export function commandNotes(options: CommandNotesOptions): CommandNotes {
  return {
    begin: (note) => begin(options, note).catch(throwUnwritable),
    left: () => findLeft(options).catch(throwUnreadable),
  };
}

interface NoteFiles {
  dir: string;
  note: string;
  group: string;
  claim: string;
}

function filesOf(dir: string, id: string): NoteFiles {
  const path = (name: string) => join(dir, `${id}.${name}`);
  return { dir, note: path('note'), group: path('group'), claim: path('claim') };
}

async function begin({ dir, ...processes }: CommandNotesOptions, note: CommandNote): Promise<OpenCommandNote> {
  await makePrivateDirectory(dir);
  await syncDirectory(dirname(dir));
  const files = filesOf(dir, randomBytes(8).toString('hex'));
  // Before the note is there: one that nobody holds is of a process that was killed.
  const claim = await claimFile(files.claim, processes);
  if (!('release' in claim)) throw new Error(`${files.claim} is held by process ${claim.heldBy}.`);
  try {
    await replaceDurably(files.note, encodeNote(note, { pid: process.pid, bootId: await processes.bootId() }), 0o600);
  } catch (error) {
    await release(claim);
    throw error;
  }
  return {
    started: (group) => noteGroup(files.group, group),
    discard: () => discard(files, claim),
    leave: () => release(claim),
  };
}

/** The command waits for this. A power cut, which may take it back, ends the command as well. */
function noteGroup(path: string, group: ProcessGroup): void {
  try {
    writeFileSync(`${path}.tmp`, JSON.stringify(seal(group)), { mode: 0o600 });
    renameSync(`${path}.tmp`, path);
  } catch (error) {
    throwUnwritable(error);
  }
}

/** The note first, and durably: what is found without one is of no command. */
async function discard(files: NoteFiles, claim: Claim): Promise<void> {
  try {
    await removeFile(files.note);
    await syncDirectory(files.dir);
    await removeFile(files.group);
  } catch (error) {
    throw toNoteError(error, 'removed');
  } finally {
    await release(claim);
  }
}

function release(claim: Claim): Promise<void> {
  return claim.release().catch(throwUnwritable);
}

async function findLeft(options: CommandNotesOptions): Promise<LeftCommand[]> {
  const left: LeftCommand[] = [];
  try {
    for (const id of await readIds(options.dir)) {
      const found = await takeUp(filesOf(options.dir, id), options);
      if (found !== null) left.push(found);
    }
  } catch (error) {
    for (const one of left) await one.release();
    throw error;
  }
  return left.toSorted((a, b) => ((a.note?.startedAt ?? '') < (b.note?.startedAt ?? '') ? 1 : -1));
}

async function readIds(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch(fallBackTo([], 'ENOENT'));
  return [...new Set(names.flatMap((name) => /^([0-9a-f]{16})\./.exec(name)?.[1] ?? []))];
}

/** Null: its process is alive, or nothing of it is left. Throws LOCKED while another command settles it. */
async function takeUp(files: NoteFiles, options: CommandNotesOptions): Promise<LeftCommand | null> {
  const claim = await claimLeft(files, options);
  if (claim === null) return null;
  try {
    const text = await readText(files.note);
    if (text !== null) {
      const found = await readFound(files, text, options);
      return { path: files.note, ...found, discard: () => discard(files, claim), release: () => release(claim) };
    }
    // Nothing had been started by then, or all of it was put back.
    for (const path of [files.group, `${files.group}.tmp`, `${files.note}.tmp`]) await removeFile(path);
  } catch (error) {
    await release(claim);
    throw error;
  }
  await release(claim);
  return null;
}

async function claimLeft(
  files: NoteFiles,
  { waitMs = 5000, ...processes }: CommandNotesOptions,
): Promise<Claim | null> {
  const claim = await claimFile(files.claim, processes);
  if ('release' in claim) return claim;
  const text = await readText(files.note);
  // It is about to be started, or runs, or is over.
  if (text === null || decodeNote(text)?.process.pid === claim.heldBy) return null;
  const settled = await waitForClaim(files.claim, waitMs, processes);
  if ('release' in settled) return settled;
  throw new TeddyError(
    'LOCKED',
    `Process ${settled.heldBy} puts back what an interrupted command has changed.`,
    'Wait for it, and run the command again.',
  );
}

async function readFound(
  { group: path }: NoteFiles,
  text: string,
  { bootId }: Processes,
): Promise<Pick<LeftCommand, 'note' | 'group'>> {
  const decoded = decodeNote(text);
  if (decoded === null) return { note: null, group: null };
  const group = await readText(path);
  // The machine has been started anew since: nothing runs, and a power cut may have emptied the file.
  if (group === null || decoded.process.bootId !== (await bootId())) return { note: decoded.note, group: null };
  const parsed = parseGroup(group);
  return parsed === null ? { note: null, group: null } : { note: decoded.note, group: parsed };
}

function parseGroup(text: string): ProcessGroup | null {
  const { id, startedAt, mark } = unseal(text) ?? {};
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id <= 1) return null;
  if (startedAt !== null && typeof startedAt !== 'string') return null;
  return { id, startedAt, ...(typeof mark === 'string' ? { mark } : {}) };
}

function readText(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch(fallBackTo(null, 'ENOENT'));
}

function throwUnwritable(error: unknown): never {
  throw toNoteError(error, 'written');
}

function throwUnreadable(error: unknown): never {
  throw toNoteError(error, 'read');
}

/** A defect of ours, and what says itself what it is, stay as they are. */
function toNoteError(error: unknown, act: 'written' | 'removed' | 'read'): unknown {
  if (error instanceof TeddyError || errorCode(error) === null) return error;
  return toDiskError(
    error,
    `The note of a command could not be ${act}: ${errorReason(error)}.`,
    'Check the permissions of `.git/teddy/commands`.',
    'Free some space and try it again.',
  );
}

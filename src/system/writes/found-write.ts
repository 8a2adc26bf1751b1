/** Examines write sessions on disk without opening them: which sessions exist, intact or damaged. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FoundWrite, WriteContent } from '../../ports/disk.ts';
import { isWriteId } from '../../write/write.ts';
import { isHeld, parseHolder, type Processes } from '../../disk/claim-file.ts';
import { parseRecord, parseWriteState } from './parse-write.ts';
import { readFacts, readStaging } from './staged-content.ts';
import { readStagingMetadata } from './staging-directory.ts';
import { fallBackTo, ignoreSystemError } from '../../disk/system-error.ts';
import { readTailsAside } from './tails-aside.ts';

export interface WriteStore extends Processes {
  /** Contains a directory for each session, `<uuid>`, and the claims. */
  dir: string;
}

/** Appended to a directory's name when the session is removed but its files still exist. */
export const goneSuffix = '.gone';

export function directoryOf({ dir }: WriteStore, id: string): string {
  return join(dir, id);
}

/** Does not look at any session; a session that teddy is removing counts until it is gone. */
export async function isEmpty(place: WriteStore): Promise<boolean> {
  return (await readNames(place)).every((name) => !isWriteId(name) && !name.endsWith(goneSuffix));
}

function readNames({ dir }: WriteStore): Promise<string[]> {
  return readdir(dir).catch(fallBackTo([], 'ENOENT'));
}

/** Lists the sessions, oldest first. */
export async function listWrites(place: WriteStore): Promise<FoundWrite[]> {
  return inspectAll(place, readVerified);
}

/** Like `listWrites`, but does not read the contents and so does not detect damage to them. */
export async function listStates(place: WriteStore): Promise<FoundWrite[]> {
  return inspectAll(place, async (path) => ({ facts: await readFacts(path), tailBytes: 0 }));
}

export async function findWrite(place: WriteStore, id: string): Promise<FoundWrite | null> {
  return isWriteId(id) ? inspect(place, id, readVerified) : null;
}

export async function readWriteContent(place: WriteStore, id: string): Promise<WriteContent | null> {
  if (!(await isThere(place, id))) return null;
  const path = directoryOf(place, id);
  const { verified, tail } = await readStaging(path);
  return { verified, tail, aside: await readTailsAside(path) };
}

export async function readTails(place: WriteStore, id: string): Promise<WriteContent['aside']> {
  return (await isThere(place, id)) ? readTailsAside(directoryOf(place, id)) : [];
}

export async function isThere(place: WriteStore, id: string): Promise<boolean> {
  return isWriteId(id) && (await lastWritten(directoryOf(place, id))) !== null;
}

/** `facts` is null when the state is damaged. */
type Read = (path: string) => Promise<{ facts: Record<string, unknown> | null; tailBytes: number }>;

async function readVerified(path: string): ReturnType<Read> {
  const { facts, tail, isDamaged } = await readStaging(path);
  return { facts: isDamaged ? null : facts, tailBytes: tail.length };
}

/** Like `listWrites`, but skips a write session that teddy is removing. */
export async function peekWrites(place: WriteStore): Promise<FoundWrite[]> {
  return inspectNamed(place, await readNames(place), readVerified);
}

async function inspectAll(place: WriteStore, read: Read): Promise<FoundWrite[]> {
  const names = await readNames(place);
  for (const name of names.filter((one) => one.endsWith(goneSuffix)))
    // The next command handles anything that teddy cannot remove now; nothing reads it.
    await rm(join(place.dir, name), { recursive: true, force: true }).catch(ignoreSystemError);
  return inspectNamed(place, names, read);
}

async function inspectNamed(place: WriteStore, names: string[], read: Read): Promise<FoundWrite[]> {
  const all = await Promise.all(names.filter(isWriteId).map((id) => inspect(place, id, read)));
  return all.filter((found) => found !== null).toSorted((a, b) => toBegunMs(a) - toBegunMs(b));
}

function toBegunMs({ record, savedAt }: FoundWrite): number {
  return record === null ? savedAt.getTime() : Date.parse(record.begunAt);
}

/** Returns null when the session does not exist or teddy is just removing it. */
async function inspect(place: WriteStore, id: string, read: Read): Promise<FoundWrite | null> {
  const path = directoryOf(place, id);
  const savedAt = await lastWritten(path);
  if (savedAt === null) return null;
  try {
    const record = parseRecord(await readStagingMetadata(path), id);
    const isControlled = record?.hasController === true && (await isHeld(parseHolder({ ...record }), place));
    const { facts, tailBytes } = await read(path);
    const state = parseWriteState(facts);
    const isDamaged = record === null || state === null;
    const isGone = isDamaged && (await lastWritten(path)) === null;
    return isGone ? null : { id, record, state, savedAt, isControlled, tailBytes, isDamaged };
  } catch (error) {
    ignoreSystemError(error);
    // The session exists, but belongs to another user or is unreadable.
    return { id, record: null, state: null, savedAt, isControlled: false, tailBytes: 0, isDamaged: true };
  }
}

/** Returns null when the directory does not exist. */
async function lastWritten(path: string): Promise<Date | null> {
  // EACCES means that another user's directory contains it.
  const nullIfAway = fallBackTo(null, 'ENOENT', 'ENOTDIR', 'EACCES');
  const [own, ...files] = await Promise.all(
    [path, join(path, 'content.txt'), join(path, 'state.json')].map((name) => stat(name).catch(nullIfAway)),
  );
  if (!own) return null;
  return new Date(Math.max(own.mtimeMs, ...files.map((found) => found?.mtimeMs ?? 0)));
}

/** A directory in which something that arrives in pieces survives a crash: what was saved is confirmed by its sha256. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { removeFile, replaceDurably, syncDirectory, writeDurably } from './durable-file.ts';
import { errorCode } from './system-error.ts';

export interface StagingDirectory {
  /**
   * Adds bytes to the content; when it resolves they are durable and confirmed. After a failure nothing more is confirmed
   * than before: the next call has to begin with the same bytes. `facts` stand in the state until the next save.
   */
  save(bytes: Uint8Array, facts?: Record<string, unknown>): Promise<void>;
}

/** What a process has left. */
export interface StagedContent {
  /** The bytes of the last save that was confirmed. */
  verified: Uint8Array;
  /** What lies beyond them: written, and never confirmed. */
  tail: Uint8Array;
  /** The content is not what the state confirms; then all of it is `tail`. */
  isDamaged: boolean;
}

interface StagingState {
  size: number;
  /** Hex, of the first `size` bytes. */
  sha256: string;
}

const metadataName = 'metadata.json';
const contentName = 'content.txt';
const stateName = 'state.json';
/** After a directory's name, while it is made. */
export const unfinishedSuffix = '.new';

/** It appears with its metadata, or not at all. */
export async function makeStagingDirectory(
  path: string,
  metadata: object,
  onStep: (step: string) => void,
): Promise<StagingDirectory> {
  const unfinished = `${path}${unfinishedSuffix}`;
  // Of an attempt that failed: there is no content in it yet.
  for (const earlier of [unfinished, path]) await rm(earlier, { recursive: true, force: true });
  await mkdir(dirname(path), { recursive: true });
  await mkdir(unfinished, { mode: 0o700 });
  await writeDurably(join(unfinished, metadataName), JSON.stringify(metadata), 0o600);
  await syncDirectory(unfinished);
  onStep('staging-metadata');
  await rename(unfinished, path);
  await syncDirectory(dirname(path));
  onStep('staging-made');
  return openStaging(path, onStep);
}

function openStaging(path: string, onStep: (step: string) => void): StagingDirectory {
  let size = 0;
  let hash = createHash('sha256');
  return {
    async save(bytes, facts = {}) {
      const next = hash.copy().update(bytes);
      await writeAt(join(path, contentName), bytes, size);
      onStep('staging-content');
      const state: StagingState = { size: size + bytes.length, sha256: next.copy().digest('hex') };
      await replaceDurably(join(path, stateName), JSON.stringify({ ...facts, ...state }), 0o600);
      onStep('staging-state');
      ({ size } = state);
      hash = next;
    },
  };
}

/** At a place of its own, so that what a failed attempt has written is written over. */
async function writeAt(path: string, bytes: Uint8Array, position: number): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    let done = 0;
    while (done < bytes.length) {
      const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
      done += bytesWritten;
    }
    await file.datasync();
  } finally {
    await file.close();
  }
}

/** Undefined: damaged, or there is none. Throws when the file may not be read. */
export async function readStagingMetadata(path: string): Promise<unknown> {
  return parseJson((await readIfThere(join(path, metadataName)))?.toString('utf8') ?? '');
}

export async function readStagedContent(path: string): Promise<StagedContent> {
  const content = (await readIfThere(join(path, contentName))) ?? Buffer.alloc(0);
  const stateBytes = await readIfThere(join(path, stateName));
  if (stateBytes === null) return { verified: Buffer.alloc(0), tail: content, isDamaged: false };
  const state = parseState(stateBytes.toString('utf8'));
  const verified = content.subarray(0, state?.size ?? 0);
  const isConfirmed = createHash('sha256').update(verified).digest('hex') === state?.sha256;
  if (state === null || !isConfirmed) return { verified: Buffer.alloc(0), tail: content, isDamaged: true };
  return { verified, tail: content.subarray(state.size), isDamaged: false };
}

/** The metadata last: as long as anything else is there, it says what that is. */
export async function removeStagingDirectory(path: string): Promise<void> {
  for (const name of [stateName, contentName, metadataName]) {
    await removeFile(join(path, `${name}.tmp`));
    await removeFile(join(path, name));
  }
  await rmdir(path).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
}

function parseState(text: string): StagingState | null {
  const { size, sha256 } = (parseJson(text) ?? {}) as Partial<Record<keyof StagingState, unknown>>;
  const isWhole = typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 && typeof sha256 === 'string';
  return isWhole ? { size, sha256 } : null;
}

async function readIfThere(path: string): Promise<Buffer | null> {
  return readFile(path).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

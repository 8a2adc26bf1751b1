/** A directory in which content that arrives in pieces survives a crash: a sha256 confirms the saved bytes. */
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  addConfirmed,
  changedError,
  confirmedOf,
  confirmedPart,
  toConfirmation,
  type Confirmation,
  type Confirmed,
} from '../../disk/confirmed-bytes.ts';
import { removeFile, replaceDurably, syncDirectory, writeDurably } from '../../disk/durable-file.ts';
import { seal, unseal } from '../../disk/sealed-json.ts';
import {
  contentName,
  readIfThere,
  readStaging,
  replacementName,
  stateName,
  type StagingState,
} from './staged-content.ts';
import { asDiskErrors, ignoreSystemError, type DiskAct } from '../../disk/system-error.ts';
import { setTailsAside } from './tails-aside.ts';

/** Facts that a save sets; they stay in the state until the next save. */
type Facts = Record<string, unknown>;

/**
 * Allows one call at a time. A failure confirms nothing new: the next call must begin with the same bytes. Anything
 * that a call has confirmed is durable when the call resolves.
 */
export interface StagingDirectory {
  /** Adds bytes to the content. */
  save(bytes: Uint8Array, facts?: Facts): Promise<void>;
  /** Makes `bytes` the whole content; a crash leaves either the old content or the new content. */
  replace(bytes: Uint8Array, facts?: Facts): Promise<void>;
  /** Reads the confirmed bytes from disk. Throws STAGING_DAMAGED when they have changed. */
  read(): Promise<Uint8Array>;
  /** Drops the content, but keeps its size and sha256 in the state. */
  dropContent(facts?: Facts): Promise<void>;
}

export const metadataName = 'metadata.json';
/** Appended to a directory's name until the directory is complete. */
export const unfinishedSuffix = '.new';

interface MakeOptions {
  onStep: (step: string) => void;
  /** When given, the directory has a state from the beginning. */
  facts?: Facts;
}

/** Makes a directory that appears either with its metadata or not at all. */
export async function makeStagingDirectory(
  path: string,
  metadata: object,
  { onStep, facts }: MakeOptions,
): Promise<StagingDirectory> {
  const unfinished = `${path}${unfinishedSuffix}`;
  // A failed attempt has left these directories; they have no content yet.
  for (const earlier of [unfinished, path]) await rm(earlier, { recursive: true, force: true });
  await mkdir(dirname(path), { recursive: true });
  await mkdir(unfinished, { mode: 0o700 });
  await writeDurably(join(unfinished, metadataName), JSON.stringify(metadata), 0o600);
  const content = { ...confirmedOf(new Uint8Array()), file: contentName, facts: facts ?? {} } as const;
  if (facts !== undefined) await writeDurably(join(unfinished, stateName), renderState(content), 0o600);
  await syncDirectory(unfinished);
  onStep('staging-metadata');
  await rename(unfinished, path);
  await syncDirectory(dirname(path));
  onStep('staging-made');
  return openStaging(path, onStep, content);
}

/**
 * Continues where the last confirmed save ended, after setting the bytes beyond it aside as `tail-<n>.txt`. Returns
 * null when the directory is damaged.
 */
export async function reopenStagingDirectory(
  path: string,
  onStep: (step: string) => void,
): Promise<{ directory: StagingDirectory; facts: Facts } | null> {
  const found = await readStaging(path);
  const { state, facts, verified, isDamaged } = found;
  if (isDamaged || state === null || facts === null) return null;
  await setTailsAside(path, found, onStep);
  const file = state.file === null ? null : found.file;
  const content = { ...confirmedOf(verified), ...(file === null ? { dropped: state } : {}), file, facts };
  return { directory: openStaging(path, onStep, content), facts };
}

/** The content according to its last confirmed save. */
interface Saved extends Confirmed {
  /** The confirmation of the content before it was dropped. */
  dropped?: Confirmation;
  file: StagingState['file'];
  facts: Facts;
}

function renderState({ dropped, file, facts, ...confirmed }: Saved): string {
  const { size, sha256 } = dropped ?? toConfirmation(confirmed);
  return JSON.stringify(seal({ ...facts, size, sha256, file }));
}

function openStaging(path: string, onStep: (step: string) => void, begun: Saved): StagingDirectory {
  const at = (name: string) => join(path, name);
  let confirmed = begun;
  /** True after a failed call: the state may be the old one, or the one that was not acknowledged. */
  let isUnsure = false;

  async function confirm(next: Saved): Promise<void> {
    isUnsure = true;
    await replaceDurably(at(stateName), renderState(next), 0o600);
    isUnsure = false;
    onStep('staging-state');
    confirmed = next;
  }

  /** Moves a replacement into its place, and undoes anything that a failed call has left behind. */
  async function settle(): Promise<void> {
    if (isUnsure) {
      await confirm(confirmed);
      if (confirmed.file === contentName) await removeFile(at(replacementName));
    }
    if (confirmed.file !== replacementName) return;
    await rename(at(replacementName), at(contentName));
    confirmed = { ...confirmed, file: contentName };
    await syncDirectory(path);
    onStep('staging-replaced');
  }

  return {
    async save(bytes, facts = {}) {
      await settle();
      if (bytes.length === 0) return confirm({ ...confirmed, facts });
      refuseDropped(confirmed);
      const longer = await addConfirmed(at(contentName), confirmed, bytes);
      onStep('staging-content');
      await confirm({ ...longer, file: contentName, facts });
    },
    async replace(bytes, facts = {}) {
      await settle();
      refuseDropped(confirmed);
      isUnsure = true;
      await removeFile(at(replacementName));
      await writeDurably(at(replacementName), bytes, 0o600);
      onStep('staging-content');
      await confirm({ ...confirmedOf(bytes), file: replacementName, facts });
      // The replacement is already confirmed where it is; if this call cannot move it, the next call does.
      await settle().catch(ignoreSystemError);
    },
    async read() {
      if (confirmed.file === null) return new Uint8Array();
      const content = (await readIfThere(at(confirmed.file))) ?? new Uint8Array();
      const bytes = confirmedPart(content, toConfirmation(confirmed));
      if (bytes === null) throw changedError(at(confirmed.file));
      return bytes;
    },
    async dropContent(facts = confirmed.facts) {
      if (isUnsure) await settle();
      if (confirmed.file !== null)
        await confirm({ ...confirmed, dropped: toConfirmation(confirmed), file: null, facts });
      for (const name of [contentName, replacementName]) await removeFile(at(name));
      onStep('staging-dropped');
    },
  };
}

function refuseDropped({ file }: Saved): void {
  if (file === null) throw new Error('The content was dropped, so nothing can be added to it.');
}

/** Returns null when the metadata is damaged or missing. Throws when the file is unreadable. */
export async function readStagingMetadata(path: string): Promise<Record<string, unknown> | null> {
  return unseal((await readIfThere(join(path, metadataName)))?.toString('utf8') ?? '');
}

/** Returns the result of `run`; turns system errors into DISK_FULL or WRITE_FAILED. */
export function asStagingErrors<Value>(act: DiskAct, run: () => Promise<Value>): Promise<Value> {
  const hints = ['Check the permissions of `.git/teddy/write_sessions`.', 'Free some space and try again.'] as const;
  return asDiskErrors([`The staging of the write session could not be ${act}`, ...hints], run);
}

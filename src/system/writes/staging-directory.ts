/** A directory in which something that arrives in pieces survives a crash: what was saved is confirmed by its sha256. */
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

/** A save gives these; they stand in the state until the next. */
type Facts = Record<string, unknown>;

/**
 * One call at a time. After a failure nothing more is confirmed than before: the next call has to begin with the same
 * bytes. What a call has confirmed is durable when it resolves.
 */
export interface StagingDirectory {
  /** Adds bytes to the content. */
  save(bytes: Uint8Array, facts?: Facts): Promise<void>;
  /** `bytes` are the whole content from now on; a crash leaves the old one or the new one. */
  replace(bytes: Uint8Array, facts?: Facts): Promise<void>;
  /** The confirmed bytes, from disk. Throws STAGING_DAMAGED when others stand there. */
  read(): Promise<Uint8Array>;
  /** Size and sha256 stay in the state. */
  dropContent(facts?: Facts): Promise<void>;
}

export const metadataName = 'metadata.json';
/** After a directory's name, while it is made. */
export const unfinishedSuffix = '.new';

interface MakeOptions {
  onStep: (step: string) => void;
  /** With them it has a state from the beginning. */
  facts?: Facts;
}

/** It appears with its metadata, or not at all. */
export async function makeStagingDirectory(
  path: string,
  metadata: object,
  { onStep, facts }: MakeOptions,
): Promise<StagingDirectory> {
  const unfinished = `${path}${unfinishedSuffix}`;
  // An attempt that failed has left them: there is no content in them yet.
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
 * Goes on where the last confirmed save has ended; what lies beyond it is set aside first, as `tail-<n>.txt`. Null: it is
 * damaged.
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

/** The content as its last confirmed save has it. */
interface Saved extends Confirmed {
  /** The content that there was. */
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
  /** A call has failed: what stands in the state may be the old one, or the one that was not acknowledged. */
  let isUnsure = false;

  async function confirm(next: Saved): Promise<void> {
    isUnsure = true;
    await replaceDurably(at(stateName), renderState(next), 0o600);
    isUnsure = false;
    onStep('staging-state');
    confirmed = next;
  }

  /** Brings a replacement to its place, and takes back what a call has left that failed. */
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
      // It is confirmed where it is; the next call moves it where this one cannot.
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
  if (file === null) throw new Error('The content was dropped, and nothing can be added to it.');
}

/** Null: damaged, or there is none. Throws when the file may not be read. */
export async function readStagingMetadata(path: string): Promise<Record<string, unknown> | null> {
  return unseal((await readIfThere(join(path, metadataName)))?.toString('utf8') ?? '');
}

/** The same result; errors of the system become DISK_FULL or WRITE_FAILED. */
export function asStagingErrors<Value>(act: DiskAct, run: () => Promise<Value>): Promise<Value> {
  const hints = ['Check the permissions of `.git/teddy/write_sessions`.', 'Free some space, and try again.'] as const;
  return asDiskErrors([`The staging of the write session could not be ${act}`, ...hints], run);
}

/** Keeps write sessions on disk: each has a directory inside one that all processes of the repository share. */
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TeddyError } from '../../errors.ts';
import type { FoundWrite, NewWrite, StagedWrite, WriteStaging } from '../../ports/disk.ts';
import type { Clock } from '../../ports/project.ts';
import type { Limits } from '../../session/settings/write-limits.ts';
import { areRivals, isOver, isWriteId, type WriteRecord, type WriteState } from '../../write/write.ts';
import { claimFile, releaseHolder, newHolder, waitForClaim, type Claim } from '../../disk/claim-file.ts';
import { replaceDurably, syncDirectory } from '../../disk/durable-file.ts';
import {
  directoryOf,
  findWrite,
  goneSuffix,
  isEmpty,
  isThere,
  listStates,
  listWrites,
  readTails,
  readWriteContent,
  type WriteStore,
} from './found-write.ts';
import { parseRecord, parseWriteState } from './parse-write.ts';
import { makePrivateDirectory } from '../../disk/durable-file.ts';
import { seal } from '../../disk/sealed-json.ts';
import {
  makeStagingDirectory,
  metadataName,
  readStagingMetadata,
  reopenStagingDirectory,
  unfinishedSuffix,
  type StagingDirectory,
  asStagingErrors,
} from './staging-directory.ts';
import { fallBackTo, ignoreSystemError, type DiskAct } from '../../disk/system-error.ts';
import { isExpired } from '../../write/step.ts';
import { damagedWriteError } from '../../write/write-errors.ts';

export interface WriteStagingOptions extends WriteStore {
  clock: Clock;
  onStep?: ((step: string) => void) | undefined;
  /** How long to wait for another process that has the session open or assigns the slot. */
  waitMs?: number;
}

const usualWaitMs = 5000;

export function writeStaging(options: WriteStagingOptions): WriteStaging {
  return {
    begin: (record, state, limits) => asStagingErrors('written', () => begin(options, record, state, limits)),
    open: (id) => asStagingErrors('written', () => open(options, id)),
    resume: (id, limits) => asStagingErrors('written', () => resume(options, id, limits)),
    isEmpty: () => asStagingErrors('read', () => isEmpty(options)),
    list: () => asStagingErrors('read', () => listWrites(options)),
    find: (id) => asStagingErrors('read', () => findWrite(options, id)),
    readContent: (id) => asStagingErrors('read', () => readWriteContent(options, id)),
    readTails: (id) => asStagingErrors('read', () => readTails(options, id)),
    remove: (id) => asStagingErrors('removed', () => remove(options, id)),
    directoryOf: (id) => directoryOf(options, id),
  };
}

async function begin(
  options: WriteStagingOptions,
  wanted: NewWrite,
  state: WriteState,
  limits: Limits,
): Promise<StagedWrite> {
  const { id } = wanted;
  if (!isWriteId(id)) throw new Error(`${JSON.stringify(id)} is not a write session id.`);
  return withSlot(options, limits, wanted, async () => {
    await removeLeftovers(options);
    const record: WriteRecord = { ...wanted, ...(await newHolder(options)) };
    return holding(options, id, async (claim) => {
      const facts = toFacts(state, options.clock);
      const make = { onStep: toOnStep(options), facts };
      const path = directoryOf(options, id);
      const directory = await makeStagingDirectory(path, seal(record), make).catch(async (error: unknown) => {
        // The directory may already exist, and would occupy the slot.
        releaseHolder(record);
        await rm(path, { recursive: true, force: true }).catch(ignoreSystemError);
        throw error;
      });
      return toStaged(options, { record, state, directory, claim });
    });
  });
}

async function open(options: WriteStagingOptions, id: string): Promise<StagedWrite | null> {
  if (!(await isThere(options, id))) return null;
  return holding(options, id, async (claim) => {
    const opened = await reopen(options, id);
    if (opened === null) await claim.release();
    return opened && toStaged(options, { ...opened, claim });
  });
}

async function resume(options: WriteStagingOptions, id: string, limits: Limits): Promise<StagedWrite | null> {
  if (!(await isThere(options, id))) return null;
  const left = parseRecord(await readStagingMetadata(directoryOf(options, id)), id);
  return withSlot(options, limits, left, () =>
    holding(options, id, async (claim) => {
      const opened = await reopen(options, id);
      if (opened === null) {
        await claim.release();
        return null;
      }
      const record = await becomeController(options, opened.record);
      // With recent activity, the session occupies the slot before others look again.
      const state = { ...opened.state, activityAt: options.clock.now().getTime() };
      await opened.directory.save(new Uint8Array(), toFacts(state, options.clock));
      return toStaged(options, { ...opened, record, state, claim });
    }),
  );
}

/** Makes this process the session's controller. */
async function becomeController(options: WriteStagingOptions, before: WriteRecord): Promise<WriteRecord> {
  const record = { ...before, ...(await newHolder(options)), hasController: true };
  const path = join(directoryOf(options, record.id), metadataName);
  await replaceDurably(path, JSON.stringify(seal(record)), 0o600).catch((error: unknown) => {
    releaseHolder(record);
    throw error;
  });
  toOnStep(options)('staging-metadata');
  return record;
}

interface Opened {
  record: WriteRecord;
  state: WriteState;
  directory: StagingDirectory;
}

/** Returns null when the session is gone. Throws STAGING_DAMAGED. */
async function reopen(options: WriteStagingOptions, id: string): Promise<Opened | null> {
  const path = directoryOf(options, id);
  if (!(await isThere(options, id))) return null;
  const record = parseRecord(await readStagingMetadata(path), id);
  const opened = record === null ? null : await reopenStagingDirectory(path, toOnStep(options));
  const state = parseWriteState(opened?.facts ?? null);
  if (record === null || opened === null || state === null) throw damagedWriteError(id);
  return { record, state, directory: opened.directory };
}

function toStaged(options: WriteStagingOptions, { claim, ...opened }: Opened & { claim: Claim }): StagedWrite {
  const { record } = opened;
  const { clock } = options;
  return stagedWrite({
    ...opened,
    clock,
    remove: () => removeDirectory(options, record.id),
    async release(goesOn) {
      if (!goesOn) releaseHolder(record);
      await claim.release();
    },
  });
}

async function remove(options: WriteStagingOptions, id: string): Promise<void> {
  if (!(await isThere(options, id))) return;
  await holding(options, id, async (claim) => {
    await removeDirectory(options, id);
    await claim.release();
  });
}

/** Removes the directory atomically by a rename; the next look removes anything that a crash leaves of it. */
async function removeDirectory(options: WriteStagingOptions, id: string): Promise<void> {
  const { dir, onStep } = options;
  const gone = `${directoryOf(options, id)}${goneSuffix}`;
  await rename(directoryOf(options, id), gone).catch(fallBackTo(undefined, 'ENOENT'));
  await syncDirectory(dir);
  onStep?.('write-discarded');
  await rm(gone, { recursive: true, force: true });
  onStep?.('write-removed');
}

/** Releases the claim on the slot afterward; this process still holds the claim on the session if `use` has succeeded. */
async function withSlot<Value>(
  options: WriteStagingOptions,
  limits: Limits,
  wanted: NewWrite | null,
  use: () => Promise<Value>,
): Promise<Value> {
  await makePrivateDirectory(options.dir);
  const claim = await waitFor(options, 'slot', 'Another write session is just being started');
  try {
    await refuseTaken(options, limits, wanted);
    return await use();
  } finally {
    // The session has begun. This process can still take the slot again, and others can once this process has ended.
    await claim.release().catch(ignoreSystemError);
  }
}

/** Reads a session in full only if it may be in the way. */
async function refuseTaken(options: WriteStagingOptions, limits: Limits, wanted: NewWrite | null): Promise<void> {
  const now = options.clock.now();
  const takes = (found: FoundWrite) =>
    found.id !== wanted?.id &&
    wanted &&
    found.record &&
    areRivals(found.record, wanted) &&
    holdsSlot(found, limits, now);
  for (const { id } of (await listStates(options)).filter(takes)) {
    const other = await findWrite(options, id);
    if (other !== null && takes(other)) throw toSlotTaken(other, now);
  }
}

/** Calls `use` with the claim on the session, which this process keeps unless `use` throws or releases it. */
async function holding<Value>(
  options: WriteStagingOptions,
  id: string,
  use: (claim: Claim) => Promise<Value>,
): Promise<Value> {
  const claim = await waitFor(options, id, `Write session ${id} is in use`);
  try {
    return await use(claim);
  } catch (error) {
    await claim.release();
    throw error;
  }
}

async function waitFor(options: WriteStagingOptions, name: string, what: string): Promise<Claim> {
  const claim = await waitForClaim(claimPath(options, name), options.waitMs ?? usualWaitMs, options);
  if ('release' in claim) return claim;
  const who = claim.heldBy === process.pid ? 'this process' : `process ${claim.heldBy}`;
  throw new TeddyError(
    'LOCKED',
    `${what} by ${who}.`,
    'Wait for it, or stop it; `teddy write list` lists the write sessions.',
  );
}

/**
 * Cleans up after dead processes. A process that makes a directory has the slot, and nobody needs claims on sessions
 * that no longer exist.
 */
async function removeLeftovers(options: WriteStagingOptions): Promise<void> {
  const names = await readdir(options.dir);
  for (const name of names.filter((one) => one.endsWith(unfinishedSuffix)))
    await rm(join(options.dir, name), { recursive: true, force: true });
  const claimed = new Set(names.flatMap((name) => /^([0-9a-f-]{36})\.claim/.exec(name)?.[1] ?? []));
  for (const id of [...claimed].filter((one) => !names.includes(one))) {
    const claim = await claimFile(claimPath(options, id), options);
    if ('release' in claim) await claim.release();
  }
}

function claimPath({ dir }: WriteStagingOptions, name: string): string {
  return join(dir, `${name}.claim`);
}

function toOnStep({ onStep }: WriteStagingOptions): (step: string) => void {
  return (step) => onStep?.(step.replace('staging-', 'write-'));
}

/** Returns true if the session has begun or has been used recently, is not over, and has a live controller, if any. */
function holdsSlot({ record, state, savedAt, isControlled }: FoundWrite, limits: Limits, now: Date): boolean {
  if (record === null || (record.hasController && !isControlled)) return false;
  if (state !== null) return !isOver(state.phase) && !isExpired(state, limits, now.getTime());
  // Only the process that has a damaged session in memory can continue it.
  return isControlled && now.getTime() - savedAt.getTime() < limits.idleExpiryMs;
}

function toSlotTaken({ id, record }: FoundWrite, now: Date): TeddyError {
  const age = record === null ? '' : `, begun ${formatAge(now.getTime() - Date.parse(record.begunAt))} ago`;
  return new TeddyError(
    'WRITE_ACTIVE',
    'Another write session is already active. Please wait for it to complete.',
    `It is ${id} for ${record?.target ?? 'an unknown file'}${age}: \`teddy write list ${id}\` shows it, \`teddy write cancel ${id}\` ends it.`,
  );
}

function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

/** A write session that this process has open. */
interface StagedWriteParts {
  record: WriteRecord;
  state: WriteState;
  directory: StagingDirectory;
  clock: Clock;
  remove(): Promise<void>;
  /** `goesOn` is true when this process stays the session's controller. */
  release(goesOn: boolean): Promise<void>;
}

function stagedWrite({ record, directory, clock, ...parts }: StagedWriteParts): StagedWrite {
  let { state } = parts;
  let isClosed = false;
  let last: Promise<unknown> = Promise.resolve();

  /** Queues calls, because the position of each call's bytes is known only after the previous calls. */
  function inTurn<Value>(act: DiskAct, run: () => Promise<Value>): Promise<Value> {
    if (isClosed) throw new Error('The write session was closed.');
    const result = last.then(() => asStagingErrors(act, run));
    last = result.catch(() => undefined);
    return result;
  }

  async function close({ goesOn } = { goesOn: false }): Promise<void> {
    if (isClosed) return;
    const released = inTurn('removed', () => parts.release(goesOn));
    isClosed = true;
    await released;
  }

  return {
    record,
    get state() {
      return state;
    },
    save: async (bytes, next) =>
      inTurn('written', async () => {
        await directory.save(bytes, toFacts(next, clock));
        state = next;
      }),
    replace: async (bytes, next) =>
      inTurn('written', async () => {
        await directory.replace(bytes, toFacts(next, clock));
        state = next;
      }),
    read: async () => inTurn('read', () => directory.read()),
    dropContent: async () => inTurn('removed', () => directory.dropContent(toFacts(state, clock))),
    async remove() {
      await inTurn('removed', parts.remove);
      await close();
    },
    close,
  };
}

/** Converts a state to its form in `state.json`. */
function toFacts(state: WriteState, clock: Clock): Record<string, unknown> {
  return { ...state, position: state.size, saved_at: clock.now().toISOString() };
}

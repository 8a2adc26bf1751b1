/** Answers on disk while they arrive, and what dead processes have left of theirs. */
import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isUtf8 } from 'node:buffer';
import type { AnswerTarget, AnswerStaging, LeftAnswer, OrphanedAnswer, StagedAnswer } from '../ports/disk.ts';
import type { Clock } from '../ports/project.ts';
import { isSessionId, isTurnName } from '../names.ts';
import {
  makeStagingDirectory,
  readStagedContent,
  readStagingMetadata,
  removeStagingDirectory,
  unfinishedSuffix,
  type StagingDirectory,
} from './staging-directory.ts';
import type { ClaimOptions } from '../disk/claim-file.ts';
import { removeDirectory } from '../disk/durable-file.ts';
import { renameIfThere } from '../disk/replace-file.ts';
import { claimRun } from './run-claim.ts';
import { errorCode, errorReason, fallBackTo, falseIfRefused } from '../disk/system-error.ts';

export interface AnswerStagingOptions {
  /** Holds a directory for each answer that is under way. */
  dir: string;
  clock: Clock;
  /** Changes with every start of the machine. */
  bootId(): Promise<string>;
  /** Another process than this one. */
  isAlive(pid: number, bootId: string, startTime?: string | null): Promise<boolean>;
  startTime: NonNullable<ClaimOptions['startTime']>;
  /** The disk does not take an answer (said once), or does not give one back. */
  warn(text: string): void;
  onStep?: ((step: string) => void) | undefined;
  pace?: Pace;
}

interface Pace {
  /** Lines that are not on disk yet make a save due, ... */
  lines: number;
  /** ... and so does text that has waited so long, ... */
  waitMs: number;
  /** ... but there is at least this between two saves, and before the first. */
  gapMs: number;
}

const usualPace: Pace = { lines: 50, waitMs: 5000, gapMs: 250 };
/** Nobody takes so long to make a directory. */
const staleMs = 60_000;

/** Answers of this very process: alive, in whichever of its projects. */
const underWay = new Set<string>();

interface Metadata {
  place: AnswerTarget;
  pid: number;
  bootId: string;
  /** ISO 8601. */
  begun: string;
}

export function answerStaging(options: AnswerStagingOptions): AnswerStaging {
  return {
    claim: (place) => claimRun(join(dirname(options.dir), 'talks'), place, options, 'answered'),
    begin: (place) => stageAnswer(options, place),
    orphans: async () => (await orWarn(options, () => findOrphans(options))) ?? [],
    arriving: async (session) => {
      const found = await Promise.all((await listNames(options)).map((name) => readArriving(options, name)));
      return found.flatMap((one) => (one?.place.session === session ? [one] : []));
    },
  };
}

function stageAnswer(options: AnswerStagingOptions, place: AnswerTarget): StagedAnswer {
  const { dir, clock, bootId, warn, onStep = () => undefined, pace = usualPace } = options;
  const path = join(dir, place.id);
  const begun = clock.now().toISOString();
  let text = '';
  let savedLength = 0;
  let unsavedLines = 0;
  let directory: StagingDirectory | null = null;
  let earliestMs: number | null = null;
  let timer: { handle: NodeJS.Timeout; isSoon: boolean } | null = null;
  let saving = Promise.resolve();
  let isOver = false;
  let hasFailed = false;
  underWay.add(place.id);

  function schedule(): void {
    const isSoon = unsavedLines >= pace.lines;
    if (isOver || (timer && (timer.isSoon || !isSoon))) return;
    stopTimer();
    const waitMs = Math.max(isSoon ? 0 : pace.waitMs, (earliestMs ?? 0) - performance.now());
    // Where the disk takes nothing, it is tried again and again: no reason for the command not to end.
    timer = { handle: setTimeout(() => void save(), waitMs).unref(), isSoon };
  }

  function stopTimer(): void {
    if (timer) clearTimeout(timer.handle);
    timer = null;
  }

  function save(): Promise<void> {
    stopTimer();
    saving = saving.then(write);
    return saving;
  }

  async function write(): Promise<void> {
    // Half a character waits for its other half.
    const whole = text.length - (/[\uD800-\uDBFF]$/.test(text) ? 1 : 0);
    if (isOver || whole <= savedLength) return;
    earliestMs = performance.now() + pace.gapMs;
    unsavedLines = 0;
    try {
      const metadata = async (): Promise<Metadata> => ({ place, pid: process.pid, bootId: await bootId(), begun });
      directory ??= await makeStagingDirectory(path, await metadata(), { onStep });
      await directory.save(Buffer.from(text.slice(savedLength, whole)), { savedAt: clock.now().toISOString() });
      savedLength = whole;
    } catch (error) {
      noteFailure(error);
    }
  }

  function noteFailure(error: unknown): void {
    if (!hasFailed) {
      warn(`The answer cannot be saved while it arrives: ${errorReason(error)}. It is in memory until it is whole.`);
    }
    hasFailed = true;
    // Somebody has removed it: it is made anew, with all that was in it.
    if (errorCode(error) === 'ENOENT') [directory, savedLength] = [null, 0];
    schedule();
  }

  return {
    add(more) {
      text += more;
      unsavedLines += more.split('\n').length - 1;
      earliestMs ??= performance.now() + pace.gapMs;
      schedule();
    },
    save,
    async discard() {
      isOver = true;
      stopTimer();
      await saving;
      // Until it is gone no command of this process may take it for left: its answer may not be on the line yet.
      if (directory === null || (await discardQuietly(path))) underWay.delete(place.id);
    },
    async leave() {
      await save();
      isOver = true;
      stopTimer();
      underWay.delete(place.id);
    },
  };
}

/** False: it cannot be removed. The next process finds it, and sees that the answer is kept. */
async function discardQuietly(path: string): Promise<boolean> {
  return (await removeStagingDirectory(path).catch(falseIfRefused)) !== false;
}

/** No reason to stop a command: what is there stays there. Null after a warning. */
async function orWarn<Value>({ warn }: AnswerStagingOptions, read: () => Promise<Value>): Promise<Value | null> {
  try {
    return await read();
  } catch (error) {
    if (errorCode(error) === null) throw error;
    warn(`What interrupted commands have received cannot be read: ${errorReason(error)}.`);
    return null;
  }
}

function listNames({ dir }: AnswerStagingOptions): Promise<string[]> {
  return readdir(dir).catch(fallBackTo([], 'ENOENT'));
}

/** Null: it is this process's own, nobody is at work on it, or it cannot be read now. Whoever writes it may remove it meanwhile. */
async function readArriving(
  options: AnswerStagingOptions,
  name: string,
): Promise<{ place: AnswerTarget; text: string } | null> {
  try {
    const found = await readPlace(options, name);
    if (found === null || found.place === null || !found.isHeld || underWay.has(found.id)) return null;
    const { verified } = await readStagedContent(join(options.dir, name));
    return { place: found.place, text: Buffer.from(verified).toString('utf8') };
  } catch (error) {
    if (errorCode(error) === null) throw error;
    return null;
  }
}

async function findOrphans(options: AnswerStagingOptions): Promise<OrphanedAnswer[]> {
  const found: OrphanedAnswer[] = [];
  for (const name of await listNames(options)) {
    const orphan = await inspect(options, name).catch((error: unknown) => {
      // It belongs to another user, or is just being removed.
      if (errorCode(error) === null) throw error;
      return null;
    });
    if (orphan) found.push(orphan);
  }
  return found;
}

/** `<id>`, or `<id>.<pid>.<boot id>` when a command has taken it over. */
const namePattern = /^([0-9a-f-]{36})(?:\.(\d+)\.([0-9a-z-]+))?$/;

async function inspect(options: AnswerStagingOptions, name: string): Promise<OrphanedAnswer | null> {
  const path = join(options.dir, name);
  if (name.endsWith(unfinishedSuffix)) {
    // There is nothing in it but what the answer was to be called.
    if (await isStale(options, path)) await rm(path, { recursive: true, force: true });
    return null;
  }
  const found = await readPlace(options, name);
  // It is empty while it is being removed: whoever was doing that may have died.
  if (found?.place === null && (await removeDirectory(path))) return null;
  return found === null || found.isHeld ? null : toOrphan(options, path, found.id, found.place);
}

/** Whose answer it is, and whether somebody is at work on it. Null: none of ours. */
export async function readPlace(
  options: Pick<AnswerStagingOptions, 'dir' | 'clock' | 'isAlive'>,
  name: string,
): Promise<{ id: string; place: AnswerTarget | null; isHeld: boolean } | null> {
  const path = join(options.dir, name);
  const [, id, claimant, itsBootId] = namePattern.exec(name) ?? [];
  if (id === undefined) return null;
  const metadata = parseMetadata(await readStagingMetadata(path), id);
  const place = metadata?.place ?? null;
  if (underWay.has(id)) return { id, place, isHeld: true };
  const holder = claimant === undefined ? metadata : { pid: Number(claimant), bootId: itsBootId ?? '' };
  const isHeld = holder ? await options.isAlive(holder.pid, holder.bootId) : !(await isStale(options, path));
  return { id, place, isHeld };
}

export async function isStale({ clock }: Pick<AnswerStagingOptions, 'clock'>, path: string): Promise<boolean> {
  return clock.now().getTime() - (await stat(path)).mtimeMs > staleMs;
}

function toOrphan(options: AnswerStagingOptions, path: string, id: string, place: AnswerTarget | null): OrphanedAnswer {
  let mine = path;
  return {
    id,
    place,
    async claim() {
      mine = join(options.dir, `${id}.${process.pid}.${await options.bootId()}`);
      return orWarn(options, async () => ((await renameIfThere(path, mine)) ? toLeftAnswer(mine) : null));
    },
    discard: async () => void (await discardQuietly(mine)),
  };
}

async function toLeftAnswer(path: string): Promise<LeftAnswer> {
  const { verified, tail, isDamaged } = await readStagedContent(path);
  const all = Buffer.concat([verified, tail]);
  if (isDamaged) return { text: '', unconfirmedBytes: 0, damaged: all };
  const length = validUtf8Length(tail);
  return {
    text: all.toString('utf8', 0, verified.length + length),
    unconfirmedBytes: length,
    damaged: length === tail.length ? null : all,
  };
}

function parseMetadata(value: unknown, id: string): Metadata | null {
  const metadata = (value ?? {}) as Partial<Metadata>;
  const { place, pid, bootId } = metadata;
  if (typeof pid !== 'number' || typeof bootId !== 'string' || !isPlace(place) || place.id !== id) return null;
  return metadata as Metadata;
}

function isPlace(value: unknown): value is AnswerTarget {
  const place = (value ?? {}) as Partial<Record<keyof AnswerTarget, unknown>>;
  const texts = [place.id, place.session, place.turn, place.ref, place.provider, place.model, place.agent];
  if (!texts.every((text) => typeof text === 'string') || typeof place.recordCount !== 'number') return false;
  const isBranch = String(place.ref).startsWith('refs/heads/');
  return isSessionId(String(place.session)) && isTurnName(String(place.turn)) && isBranch;
}

/**
 * How many bytes, from the beginning, are text: UTF-8 up to the first byte that is not. A NUL ends it too, since after a power
 * cut a file may have a hole where nothing was written.
 */
function validUtf8Length(bytes: Uint8Array): number {
  const nul = bytes.indexOf(0);
  const text = Buffer.from(bytes.subarray(0, nul === -1 ? bytes.length : nul));
  if (isUtf8(text)) return text.length;
  const replaced = Buffer.from(text.toString('utf8'));
  let length = text.findIndex((byte, at) => byte !== replaced[at]);
  if (length === -1) length = text.length;
  // The mark for a broken character may begin with the same bytes as that character.
  while (!isUtf8(text.subarray(0, length))) length -= 1;
  return length;
}

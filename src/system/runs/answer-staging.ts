/** Saves answers to disk as they arrive, and finds the answers that dead processes have left behind. */
import { isUtf8 } from 'node:buffer';
import { basename } from 'node:path';
import { TeddyError } from '../../errors.ts';
import type { AnswerTarget, AnswerStaging, LeftAnswer, OrphanedAnswer, StagedAnswer } from '../../ports/disk.ts';
import type { Journal, LeftOperation, Operation, OperationKind, Settling, Staged } from '../../ports/journal.ts';
import { claimRun } from './run-journal.ts';
import type { ClaimOptions } from '../../disk/claim-file.ts';

export interface AnswerStagingOptions extends ClaimOptions {
  journal: Journal;
  /** The directory with the claims on answering a turn. */
  claims: string;
  /** Reports, once, that the disk does not accept an answer, or that an answer is unreadable. */
  warn(text: string): void;
  pace?: Pace;
}

interface Pace {
  /** A save is due after this many unsaved lines, ... */
  lines: number;
  /** ... or when text has waited this long, ... */
  waitMs: number;
  /** ... but not before this much time has passed since the last save or the start. */
  gapMs: number;
}

const usualPace: Pace = { lines: 50, waitMs: 5000, gapMs: 250 };

interface AnswerFacts {
  place: AnswerTarget;
}

export const answerKind: OperationKind<AnswerFacts> = { name: 'answer', title: 'an answer' };

export function answerStaging(options: AnswerStagingOptions): AnswerStaging {
  const { journal, claims } = options;
  return {
    claim: (place) => claimRun(claims, place, options, 'answered'),
    begin: (place) => stageAnswer(options, place),
    orphans: async () =>
      ((await orWarn(options, () => journal.left(answerKind))) ?? []).map((left) => toOrphan(options, left)),
    async arriving(session) {
      const all = await journal.atWork(answerKind);
      const ours = all.flatMap(({ facts, read }) => (facts?.place.session === session ? [{ ...facts, read }] : []));
      // An answer without bytes is about to disappear.
      const found = await Promise.all(ours.map(async ({ place, read }) => ({ place, text: toText(await read()) })));
      return found.filter(({ text }) => text !== '');
    },
  };
}

function toText({ verified }: { verified: Uint8Array }): string {
  return Buffer.from(verified).toString('utf8');
}

/** An arriving answer, and the amount of it that is on disk. */
interface Staging {
  options: AnswerStagingOptions;
  place: AnswerTarget;
  pace: Pace;
  text: string;
  savedLength: number;
  unsavedLines: number;
  /** Null while there is nothing on disk. */
  operation: Operation<AnswerFacts> | null;
  /** The earliest time of the next save. */
  earliestMs: number | null;
  timer: { handle: NodeJS.Timeout; isSoon: boolean } | null;
  saving: Promise<void>;
  isOver: boolean;
  hasFailed: boolean;
}

const unsaved = { text: '', savedLength: 0, unsavedLines: 0, operation: null, earliestMs: null, timer: null };

function stageAnswer(options: AnswerStagingOptions, place: AnswerTarget): StagedAnswer {
  const { pace = usualPace } = options;
  const start = { ...unsaved, saving: Promise.resolve(), isOver: false, hasFailed: false };
  const staging: Staging = { ...start, options, place, pace };
  return {
    add(more) {
      staging.text += more;
      staging.unsavedLines += more.split('\n').length - 1;
      staging.earliestMs ??= performance.now() + pace.gapMs;
      schedule(staging);
    },
    save: () => save(staging),
    async discard() {
      staging.isOver = true;
      stopTimer(staging);
      await staging.saving;
      // Until the removal, no command of this process finds the answer abandoned: it may not be on the line yet.
      await staging.operation?.done().catch(falseOnError);
    },
    async leave() {
      await save(staging);
      staging.isOver = true;
      stopTimer(staging);
      await staging.operation?.leave();
    },
  };
}

function schedule(staging: Staging): void {
  const { pace, timer, earliestMs } = staging;
  const isSoon = staging.unsavedLines >= pace.lines;
  if (staging.isOver || (timer && (timer.isSoon || !isSoon))) return;
  stopTimer(staging);
  const waitMs = Math.max(isSoon ? 0 : pace.waitMs, (earliestMs ?? 0) - performance.now());
  // If the disk refuses, teddy keeps retrying the save, but the retries must not keep the process alive.
  staging.timer = { handle: setTimeout(() => void save(staging), waitMs).unref(), isSoon };
}

function stopTimer(staging: Staging): void {
  if (staging.timer) clearTimeout(staging.timer.handle);
  staging.timer = null;
}

function save(staging: Staging): Promise<void> {
  stopTimer(staging);
  staging.saving = staging.saving.then(() => write(staging));
  return staging.saving;
}

async function write(staging: Staging): Promise<void> {
  const { text, savedLength, place, options } = staging;
  // Half a character waits for its other half.
  const whole = text.length - (/[\uD800-\uDBFF]$/.test(text) ? 1 : 0);
  if (staging.isOver || whole <= savedLength) return;
  staging.earliestMs = performance.now() + staging.pace.gapMs;
  staging.unsavedLines = 0;
  try {
    staging.operation ??= await options.journal.open(answerKind, { place });
    await staging.operation.stage(Buffer.from(text.slice(savedLength, whole)));
    staging.savedLength = whole;
  } catch (error) {
    await noteFailure(staging, error);
  }
}

async function noteFailure(staging: Staging, error: unknown): Promise<void> {
  if (!(error instanceof TeddyError)) throw error;
  if (!staging.hasFailed)
    staging.options.warn(
      `The answer cannot be saved to disk as it arrives. ${error.message} It stays in memory until it is complete.`,
    );
  staging.hasFailed = true;
  // Somebody has removed it; the next save makes it again with its full content.
  if (error.code === 'STAGING_DAMAGED') {
    await staging.operation?.done().catch(falseOnError);
    [staging.operation, staging.savedLength, staging.unsavedLines] = [null, 0, staging.pace.lines];
  }
  schedule(staging);
}

/** For `catch`: the next process finds anything that teddy cannot remove, and sees that the answer is already saved. */
function falseOnError(error: unknown): false {
  if (!(error instanceof TeddyError)) throw error;
  return false;
}

/** A failure does not stop the command: the files stay where they are. Returns null after a warning. */
async function orWarn<Value>({ warn }: AnswerStagingOptions, read: () => Promise<Value>): Promise<Value | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code === 'LOCKED') throw error;
    warn(`Answers that interrupted commands received cannot be recovered. ${error.message}`);
    return null;
  }
}

function toOrphan(
  options: AnswerStagingOptions,
  { path, facts, read, take }: LeftOperation<AnswerFacts>,
): OrphanedAnswer {
  const id = facts?.place.id ?? basename(path, '.json');
  let settling: Settling<AnswerFacts> | null = null;
  return {
    id,
    place: facts?.place ?? null,
    claim: () =>
      orWarn(options, async () => {
        settling = await take();
        return settling === null ? null : toLeftAnswer(await read());
      }),
    discard: async () => void (await settling?.done().catch(falseOnError)),
  };
}

function toLeftAnswer({ verified, tail, isDamaged }: Staged): LeftAnswer {
  const all = Buffer.concat([verified, tail]);
  if (isDamaged) return { text: '', unconfirmedBytes: 0, damaged: all };
  const length = validUtf8Length(tail);
  return {
    text: all.toString('utf8', 0, verified.length + length),
    unconfirmedBytes: length,
    damaged: length === tail.length ? null : all,
  };
}

/**
 * Counts the bytes from the beginning that are valid UTF-8. Stops at a NUL too, because after a power failure a file
 * may have a hole where nothing was written.
 */
function validUtf8Length(bytes: Uint8Array): number {
  const nul = bytes.indexOf(0);
  const text = Buffer.from(bytes.subarray(0, nul === -1 ? bytes.length : nul));
  if (isUtf8(text)) return text.length;
  const replaced = Buffer.from(text.toString('utf8'));
  let length = text.findIndex((byte, at) => byte !== replaced[at]);
  if (length === -1) length = text.length;
  // The replacement character may begin with the same bytes as the broken character.
  while (!isUtf8(text.subarray(0, length))) length -= 1;
  return length;
}

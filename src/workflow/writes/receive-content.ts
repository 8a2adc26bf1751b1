/** Receives content as plain text up to its end marker, saves it as it arrives, and prompts the writer when nothing arrives. */
import { writeLimits } from '../../session/settings/write-limits.ts';
import { ContentTooLarge, isDiskError } from '../../write/write-errors.ts';
import { TeddyError, toMessage } from '../../errors.ts';
import type { Clock, Notices } from '../../ports/project.ts';
import { openByteBuffer, type ByteBuffer } from '../../write/byte-buffer.ts';
import { openScanner, type Scanned, type Scanner } from '../../write/done-scanner.ts';
import { nextTickMs, type Effect } from '../../write/step.ts';
import type { WriteState, Write } from '../../write/write.ts';
import { dispatch } from './held.ts';
import { openArrivals, type Arrival, type Arrivals } from './await-arrival.ts';

/** The place to save content: staging, or a server. */
interface ContentSink {
  /**
   * Saves the bytes after those of the last successful call; never called while a save is running. After DISK_FULL or
   * WRITE_FAILED, called again later with the same bytes and the bytes received since; any other error stops the
   * reception.
   */
  save(bytes: Uint8Array, state: WriteState): Promise<void>;
}

export interface ReceiveOptions {
  write: Write;
  /** The content saved before the session was resumed. */
  before?: Uint8Array;
  marker: string;
  isMarkdown: boolean;
  /** True when the source is one answer, which teddy reads to its end, even after the marker. */
  isAnswer: boolean;
  /** True when teddy continues to read a stream for a moment after the marker. */
  readsOn?: boolean;
  /** Returns true, at the end of the source, if the answer was cut and its last line may be incomplete. */
  isCut?(): boolean;
  clock: Clock;
  signal: AbortSignal;
  notices: Notices;
  sink: ContentSink;
  /** Called when the writer is silent and its content is saved, to ask whether the writer has finished. */
  onPrompt(): void;
}

export interface ReceivedContent {
  write: Write;
  /** True when the marker has arrived. */
  isDone: boolean;
  /** The whole content, including the part saved earlier. */
  content: Uint8Array;
  /** The text after the marker, no longer than content may be; empty when it is only whitespace. */
  trailing: Uint8Array;
  /** True when the sink has saved everything. */
  isSaved: boolean;
}

/** After the marker, an open stream may stay silent for `silenceMs`, and teddy reads it for no longer than `patienceMs`. */
const silenceMs = 250;
const patienceMs = 2000;
/** A lower limit on a stream's content does not cut the text after the marker. */
const maxTrailingBytes = writeLimits.maxBytes;

interface Intake {
  readonly options: ReceiveOptions;
  readonly scanner: Scanner;
  readonly content: ByteBuffer;
  readonly trailing: ByteBuffer;
  write: Write;
  savedBytes: number;
  isDone: boolean;
  /** True when the last save failed. */
  isFailing: boolean;
  /** True when the sink threw an error that stops the reception. */
  isBroken: boolean;
}

/**
 * Receives content until the marker or the end of the source. Leaves the source open, because a correction may still
 * arrive on it. The caller must not change the pieces while this runs. Throws CONTENT_TOO_LARGE, INTERRUPTED, and the errors
 * of the source and the sink; in these cases everything received is saved.
 */
export async function receiveContent(
  source: AsyncIterable<Uint8Array>,
  options: ReceiveOptions,
): Promise<ReceivedContent> {
  const intake = openIntake(options);
  const arrivals = openArrivals(source, options);
  try {
    await receive(intake, arrivals);
    if (intake.isDone && (options.isAnswer || options.readsOn)) await receiveTrailing(intake, arrivals);
  } catch (error) {
    // Reports the interruption, whatever else fails now.
    if (error instanceof Aborted) {
      const failure = await stop(intake).catch((thrown: unknown) => thrown);
      if (failure !== undefined && !(failure instanceof TeddyError)) throw failure;
      throw toInterrupted(intake, failure);
    }
    await stop(intake);
    throw error;
  } finally {
    arrivals.close();
  }
  return toReceived(intake);
}

class Aborted extends Error {}

function openIntake(options: ReceiveOptions): Intake {
  const { before = new Uint8Array(0), write } = options;
  const content = openByteBuffer();
  content.append(before);
  return {
    options,
    scanner: openScanner({ ...options, before }),
    content,
    trailing: openByteBuffer(),
    write,
    savedBytes: before.length,
    isDone: false,
    isFailing: false,
    isBroken: false,
  };
}

async function receive(intake: Intake, arrivals: Arrivals): Promise<void> {
  for (let isOver = false; !isOver;) {
    const arrival = await arrivals.next(nextTickMs(intake.write, nowMs(intake)));
    isOver = await take(intake, arrival);
  }
}

/** Returns true if the content has ended. */
async function take(intake: Intake, arrival: Arrival): Promise<boolean> {
  const { scanner, options } = intake;
  if (arrival.type === 'abort') throw new Aborted();
  if (arrival.type === 'tick') await perform(intake, dispatch(intake, { type: 'tick', atMs: nowMs(intake) }));
  else if (arrival.type === 'bytes') await accept(intake, scanner.next(arrival.bytes), false);
  else await accept(intake, scanner.end({ isAnswerEnd: options.isCut?.() !== true }), true);
  return intake.isDone || arrival.type === 'end';
}

async function accept(intake: Intake, scanned: Scanned, isEnd: boolean): Promise<void> {
  const effects = add(intake, scanned);
  addTrailing(intake, scanned.trailing);
  intake.isDone = scanned.isDone;
  await perform(intake, scanned.isDone || isEnd ? dispatch(intake, { type: 'end' }) : effects);
}

/** Adds as much as fits, even when it throws. */
function add(intake: Intake, { content, lines }: Scanned): Effect[] {
  const { limits, state } = intake.write;
  const fitting = content.subarray(0, limits.maxBytes - state.size);
  const effects = dispatch(intake, { type: 'content', bytes: fitting.length, lines, atMs: nowMs(intake) });
  intake.content.append(fitting);
  // Endless whitespace after a marker would fill the memory too.
  if (fitting.length < content.length || intake.scanner.heldBytes() > limits.maxBytes)
    throw new ContentTooLarge(limits);
  return effects;
}

function addTrailing({ trailing, write, options }: Intake, bytes: Uint8Array): void {
  const most = options.readsOn === true ? Math.max(write.limits.maxBytes, maxTrailingBytes) : write.limits.maxBytes;
  if (bytes.length > 0) trailing.append(bytes.subarray(0, most - trailing.length()));
}

/** The content is complete, and a failure after it does not undo that. */
async function receiveTrailing(intake: Intake, arrivals: Arrivals): Promise<void> {
  const { isAnswer, notices } = intake.options;
  const endMs = isAnswer ? Number.POSITIVE_INFINITY : nowMs(intake) + patienceMs;
  let silentMs = nowMs(intake) + silenceMs;
  let hasRung = false;
  try {
    while (nowMs(intake) < endMs) {
      const arrival = await arrivals.next(isAnswer ? null : silentMs);
      if (arrival.type === 'abort' && isAnswer) throw new Aborted();
      if (arrival.type === 'bytes') {
        addTrailing(intake, arrival.bytes);
        [silentMs, hasRung] = [nowMs(intake) + silenceMs, false];
      } else if (arrival.type !== 'tick' || hasRung || nowMs(intake) >= silentMs) return;
      // An earlier alarm has rung, for the content or for the preceding piece.
      else hasRung = true;
    }
  } catch (error) {
    if (error instanceof Aborted) throw error;
    const what = isAnswer ? 'The answer broke off after its' : 'The stream broke off after the';
    notices.warn(`${what} end marker: ${toMessage(error)}`);
  }
}

async function perform(intake: Intake, effects: Effect[]): Promise<void> {
  for (const effect of effects) {
    if (effect === 'save') await save(intake);
    if (effect === 'prompt') intake.options.onPrompt();
  }
}

async function save(intake: Intake): Promise<void> {
  const bytes = intake.content.view(intake.savedBytes);
  try {
    await intake.options.sink.save(bytes, intake.write.state);
  } catch (error) {
    noteFailure(intake, error);
    return;
  }
  intake.savedBytes += bytes.length;
  dispatch(intake, { type: 'saved', atMs: nowMs(intake) });
  if (intake.isFailing) intake.options.notices.info('The content can be saved again; all of it is saved now.');
  intake.isFailing = false;
}

function noteFailure(intake: Intake, error: unknown): void {
  if (!isDiskError(error)) {
    intake.isBroken = true;
    throw error;
  }
  if (!intake.isFailing)
    intake.options.notices.warn(`${error.message} The content is kept in memory until it can be saved.`);
  intake.isFailing = true;
  dispatch(intake, { type: 'save-failed', atMs: nowMs(intake) });
}

/** Saves everything, including bytes that might have become a marker. */
async function stop(intake: Intake): Promise<void> {
  if (intake.isBroken) return;
  const { content, lines } = intake.scanner.end({ isAnswerEnd: false });
  const room = intake.write.limits.maxBytes - intake.write.state.size;
  const fitting = content.subarray(0, room);
  if (fitting.length > 0) dispatch(intake, { type: 'content', bytes: fitting.length, lines, atMs: nowMs(intake) });
  intake.content.append(fitting);
  await perform(intake, dispatch(intake, { type: 'end' }));
}

function toInterrupted({ content, savedBytes }: Intake, cause: TeddyError | undefined): TeddyError {
  const lost = content.length() - savedBytes;
  return new TeddyError(
    'INTERRUPTED',
    content.length() === 0
      ? 'Interrupted before any content arrived.'
      : lost === 0
        ? 'Interrupted while receiving the content; everything received so far is saved.'
        : `Interrupted while receiving the content; the last ${lost} bytes could not be saved.`,
    '`teddy write list` lists the write sessions; `teddy write recover <id>` resumes this one.',
    { cause },
  );
}

function toReceived({ write, isDone, content, trailing, savedBytes }: Intake): ReceivedContent {
  const text = trailing.view();
  return {
    write,
    isDone,
    content: content.view(),
    trailing: new TextDecoder().decode(text).trim() === '' ? new Uint8Array(0) : text,
    isSaved: savedBytes === content.length(),
  };
}

function nowMs({ options }: Intake): number {
  return options.clock.now().getTime();
}

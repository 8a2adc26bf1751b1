/** Writes a file that comes on a stream: begins the session, receives up to the end marker, finalizes, and commits. */
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { fileKind } from '../../write/file-kind.ts';
import { renderIdlePrompt } from '../../write/idle-prompt.ts';
import { toFinalizing } from '../../write/step.ts';
import type { WriteState, Write } from '../../write/write.ts';
import { beginHeldWrite, type Begun, type WriteRequest } from './begin.ts';
import { finalizeHeld, type Finalized } from './finalize.ts';
import { happen, readContent, type HeldWrite } from './held.ts';
import { keepTrailing, readRest } from './keep-trailing.ts';
import { receiveContent, type ReceivedContent } from './receive-content.ts';
import { takeUpWrite } from './recover.ts';

export interface StreamWish {
  source: AsyncIterable<Uint8Array>;
  /** The end of the source stands for the end marker. */
  eofIsDone: boolean;
  /** What is found is accepted. */
  force: boolean;
  /** A correction can come on the same source, which is then read no further than the marker. */
  isCorrectable: boolean;
  signal: AbortSignal;
}

/** What becomes of a content that was not accepted. `leave`: it stays in staging. */
export type Decision = 'correct' | 'accept' | 'leave';

export interface StreamListener<Outcome> {
  /** The writer is silent, and is asked this. */
  onPrompt(text: string): void;
  /** Throws INTERRUPTED. */
  decide(rejected: Outcome): Promise<Decision>;
}

/** Where a stream goes to: staging, or a server. */
export interface StreamPlace<Outcome> {
  readonly id: string;
  readonly target: string;
  readonly endMarker: string;
  /** What it has already. */
  readonly before: Uint8Array;
  /** How far it has come. */
  write(): Write;
  /** As `ContentSink.save`. */
  save(bytes: Uint8Array, state: WriteState): Promise<void>;
  /** How many bytes were saved. */
  savedBytes(): number;
  /** What comes next is the whole content; what is there stays until then. */
  restart(): void;
  /** All that was received. */
  take(received: ReceivedContent): void;
  finalize(options: { force: boolean }): Promise<{ outcome: Outcome; isRejected: boolean }>;
  /** Nothing of it is worth keeping. */
  remove(): Promise<void>;
  /** The commands that take what was saved for the whole, add to it, show it, and give it up. */
  readonly ways: { finalize: string; goOn: string; look: string; giveUp: string };
}

/**
 * Throws what `beginWrite` throws, END_MISSING, CONTENT_TOO_LARGE, INTERRUPTED, and what `finalizeWrite` throws; what had
 * come stays in staging then.
 */
export async function streamWrite(
  project: Project,
  request: Omit<WriteRequest, 'hasController'>,
  wish: StreamWish,
  listener: StreamListener<Finalized> & { onBegun(begun: Begun): void },
): Promise<Finalized> {
  const { begun, held } = await beginHeldWrite(project, { ...request, hasController: true });
  try {
    listener.onBegun(begun);
    return await streamInto(project, toPlace(project, held, wish, new Uint8Array()), wish, listener);
  } finally {
    await held.staged.close();
  }
}

/** Goes on with one that was left. Throws what `takeUpWrite` throws, and the same. */
export async function continueWrite(
  project: Project,
  id: string,
  wish: StreamWish,
  listener: StreamListener<Finalized> & { onTakenUp(held: HeldWrite): void },
): Promise<Finalized> {
  const held = await takeUpWrite(project, id);
  try {
    // Its content was whole when it was left, and nothing can be added to it.
    if (held.write.state.install !== null) throw toFinalizing();
    const before = await readContent(held);
    listener.onTakenUp(held);
    return await streamInto(project, toPlace(project, held, wish, before), wish, listener);
  } finally {
    await held.staged.close();
  }
}

/** For any place: until a content is accepted, or is left. */
export async function streamInto<Outcome>(
  project: Project,
  place: StreamPlace<Outcome>,
  wish: StreamWish,
  listener: StreamListener<Outcome>,
): Promise<Outcome> {
  let { before } = place;
  for (;;) {
    await receiveInto(project, place, before, wish, listener);
    const { outcome, decision } = await finalizeOrDecide(place, wish, listener);
    if (decision !== 'correct') return outcome;
    place.restart();
    before = new Uint8Array();
  }
}

async function receiveInto<Outcome>(
  project: Project,
  place: StreamPlace<Outcome>,
  before: Uint8Array,
  wish: StreamWish,
  { onPrompt }: StreamListener<Outcome>,
): Promise<void> {
  const { source, signal, eofIsDone, isCorrectable } = wish;
  try {
    const received = await receiveContent(source, {
      write: place.write(),
      before,
      marker: place.endMarker as 'DONE',
      isMarkdown: fileKind(place.target) === 'markdown',
      // What is whole is written at once, also while its writer waits for that with the stream still open.
      isAnswer: false,
      clock: project.clock,
      signal,
      notices: project.notices,
      sink: { save: place.save },
      onPrompt: () => onPrompt(renderIdlePrompt(place.endMarker)),
    });
    if (!received.isDone && !eofIsDone) throw toEndMissing(place, received.content.length);
    place.take(received);
    const rest = received.isDone && !isCorrectable ? await readRest(project, wish) : new Uint8Array();
    await keepTrailing(project, place, [received.trailing, rest]);
  } catch (error) {
    if (place.savedBytes() === 0) await removeEmpty(project, place);
    throw toSaved(place, error);
  }
}

/** What goes wrong with it is said: why it was removed is what is to be known. */
async function removeEmpty<Outcome>({ notices }: Project, { remove, ways }: StreamPlace<Outcome>): Promise<void> {
  try {
    await remove();
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    notices.warn(`The empty write session is still there: ${error.message} \`${ways.giveUp}\` gives it up.`);
  }
}

async function finalizeOrDecide<Outcome>(
  place: StreamPlace<Outcome>,
  { force }: StreamWish,
  listener: StreamListener<Outcome>,
): Promise<{ outcome: Outcome; decision: Decision }> {
  const { outcome, isRejected } = await place.finalize({ force });
  const decision = isRejected ? await listener.decide(outcome) : 'leave';
  if (decision !== 'accept') return { outcome, decision };
  return { outcome: (await place.finalize({ force: true })).outcome, decision };
}

function toPlace(
  project: Project,
  held: HeldWrite,
  { signal }: StreamWish,
  before: Uint8Array,
): StreamPlace<Finalized> {
  const { record, staged } = held;
  held.isTolerant = true;
  return {
    id: record.id,
    target: record.target,
    endMarker: record.endMarker,
    before,
    write: () => held.write,
    async save(bytes, state) {
      if (held.isReplaced) await staged.replace(bytes, state);
      else await staged.save(bytes, state);
      held.savedBytes = (held.isReplaced ? 0 : held.savedBytes) + bytes.length;
      held.isReplaced = false;
    },
    savedBytes: () => held.savedBytes,
    restart() {
      happen(held, { type: 'restart', atMs: project.clock.now().getTime() });
      held.content = new Uint8Array();
      held.isReplaced = true;
    },
    take({ write, content }) {
      held.write = write;
      held.content = content;
    },
    async finalize({ force }) {
      const outcome = await finalizeHeld(project, held, { force, signal });
      return { outcome, isRejected: !outcome.isWritten && outcome.reason === null };
    },
    remove: () => staged.remove(),
    ways: {
      finalize: `teddy write recover ${record.id} --finalize`,
      goOn: `teddy write recover ${record.id} --continue`,
      look: `teddy write status ${record.id}`,
      giveUp: `teddy write recover ${record.id} --discard`,
    },
  };
}

function toEndMissing<Outcome>({ endMarker, ways, savedBytes }: StreamPlace<Outcome>, size: number): TeddyError {
  if (size === 0) {
    return new TeddyError(
      'END_MISSING',
      `Nothing came, not even ${endMarker}.`,
      `Send the content, and end it with ${endMarker} on its own line.`,
    );
  }
  return new TeddyError(
    'END_MISSING',
    `The content has ended without ${endMarker} on its own line; ${describeSaved(size, savedBytes())}, and nothing is written.`,
    savedBytes() === size
      ? `If it is whole: \`${ways.finalize}\`. If more is to come: \`${ways.goOn}\`.`
      : `Free some space, and send it again; or go on behind what is saved: \`${ways.goOn}\`.`,
  );
}

function describeSaved(size: number, saved: number): string {
  if (saved === size) return `${size} bytes are saved`;
  return `of ${size} bytes ${saved} are saved, the others are lost`;
}

/** Says where it is, if anything of it is. */
function toSaved<Outcome>({ savedBytes, ways }: StreamPlace<Outcome>, error: unknown): unknown {
  if (!(error instanceof TeddyError) || error.code !== 'INTERRUPTED') return error;
  const hint =
    savedBytes() === 0
      ? 'Nothing of it is saved; run the command again.'
      : `\`${ways.look}\` shows it, \`${ways.goOn}\` goes on with it; if it is whole: \`${ways.finalize}\`. \`${ways.giveUp}\` gives it up.`;
  return new TeddyError('INTERRUPTED', error.message, hint, { cause: error });
}

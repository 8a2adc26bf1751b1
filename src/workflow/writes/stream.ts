/** Writes a file that arrives on a stream: begins the session, receives up to the end marker, finalizes, and commits. */
import { finalizingError } from '../../write/write-errors.ts';
import { TeddyError } from '../../errors.ts';
import type { Project } from '../../ports/project.ts';
import { renderIdlePrompt } from '../../write/end-marker.ts';
import { beginHeldWrite, type Begun, type WriteRequest } from './begin.ts';
import type { Finalized } from './finalize.ts';
import { readContent, type HeldWrite } from './held.ts';
import { claimWrite } from './recover.ts';
import { heldDestination, receiveInto, runWrite, type Decision, type Destination } from './run-write.ts';

export interface StreamOptions {
  source: AsyncIterable<Uint8Array>;
  /** True when the end of the source counts as the end marker. */
  eofIsDone: boolean;
  /** True to accept every finding. */
  force: boolean;
  /** True when a correction can arrive on the same source, which teddy then reads only up to the marker. */
  isCorrectable: boolean;
  signal: AbortSignal;
}

export interface StreamListener<Outcome> {
  /** Called with a question when the writer is silent. */
  onPrompt(text: string): void;
  /** Decides what to do with rejected content. Throws INTERRUPTED. */
  decide(rejected: Outcome): Promise<Decision>;
}

/** Throws the errors of `beginHeldWrite` and `streamInto`. */
export async function streamWrite(
  project: Project,
  request: WriteRequest,
  options: StreamOptions,
  listener: StreamListener<Finalized> & { onBegun(begun: Begun): void },
): Promise<Finalized> {
  const { begun, held } = await beginHeldWrite(project, { ...request, hasController: true });
  return streamHeld(project, held, options, listener, async () => listener.onBegun(begun));
}

/** Resumes an abandoned session. Throws the errors of `claimWrite` and `streamInto`. */
export async function continueWrite(
  project: Project,
  id: string,
  options: StreamOptions,
  listener: StreamListener<Finalized> & { onTakenUp(held: HeldWrite): void },
): Promise<Finalized> {
  const held = await claimWrite(project, id);
  return streamHeld(project, held, options, listener, async () => {
    // The abandoned session's content is complete, so nothing can be added to it.
    if (held.write.state.install !== null) throw finalizingError();
    await readContent(held);
    listener.onTakenUp(held);
  });
}

async function streamHeld(
  project: Project,
  held: HeldWrite,
  options: StreamOptions,
  listener: StreamListener<Finalized>,
  onHeld: () => Promise<void>,
): Promise<Finalized> {
  try {
    await onHeld();
    const destination = heldDestination(project, held, { isOfModel: false, signal: options.signal });
    return await streamInto(project, destination, options, listener);
  } finally {
    await held.staged.close();
  }
}

/**
 * Throws END_MISSING, CONTENT_TOO_LARGE, INTERRUPTED, and the errors of `finalizeWrite`; in these cases the saved
 * content stays in staging.
 */
export function streamInto<Outcome>(
  project: Project,
  destination: Destination<Outcome>,
  options: StreamOptions,
  { onPrompt, decide }: StreamListener<Outcome>,
): Promise<Outcome> {
  const { source, eofIsDone, force, isCorrectable, signal } = options;
  async function receive(isCorrection: boolean): Promise<void> {
    try {
      const { isDone, size } = await receiveInto(project, destination, source, {
        isRestart: isCorrection,
        // Writes complete content immediately, even when its writer keeps the stream open while waiting.
        isAnswer: false,
        signal,
        onPrompt: () => onPrompt(renderIdlePrompt(destination.endMarker)),
        readsOn: !isCorrectable,
      });
      if (!isDone && !eofIsDone) throw endMissingError(destination, size);
    } catch (error) {
      const kept = (await destination.keep?.(error)) ?? null;
      if (kept !== null) throw kept;
      if (destination.savedBytes() === 0) await removeEmpty(project, destination);
      throw withWays(destination, error);
    }
  }
  return runWrite(destination, { force, receive, decide });
}

/** Turns a failure into a warning, because the error to report is the reason for the removal. */
async function removeEmpty<Outcome>({ notices }: Project, { remove, ways }: Destination<Outcome>): Promise<void> {
  try {
    await remove();
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    notices.warn(`The empty write session could not be removed: ${error.message} \`${ways.giveUp}\` gives it up.`);
  }
}

function endMissingError<Outcome>(
  { endMarker, ways, savedBytes, keep }: Destination<Outcome>,
  size: number,
): TeddyError {
  if (size === 0) {
    return new TeddyError(
      'END_MISSING',
      `Nothing arrived, not even ${endMarker}.`,
      `Send the content, and end it with ${endMarker} on its own line.`,
    );
  }
  const saved = savedBytes();
  const isSaved = saved === size;
  const kept = isSaved
    ? `${size} bytes are saved`
    : `${saved} of ${size} bytes are saved; the others are ${keep === undefined ? 'lost' : 'not'}`;
  return new TeddyError(
    'END_MISSING',
    `The content ended without ${endMarker} on its own line; ${kept}, and nothing is written.`,
    isSaved
      ? `If it is complete: \`${ways.finalize}\`. If more will follow: \`${ways.goOn}\`.`
      : `Free some space and send it again, or continue after the saved part: \`${ways.goOn}\`.`,
  );
}

/** Adds a hint on how to continue after an interruption. */
function withWays<Outcome>({ savedBytes, ways }: Destination<Outcome>, error: unknown): unknown {
  if (!(error instanceof TeddyError) || error.code !== 'INTERRUPTED') return error;
  const hint =
    savedBytes() === 0
      ? 'None of it is saved; run the command again.'
      : `\`${ways.look}\` shows it, \`${ways.goOn}\` continues it; if it is complete: \`${ways.finalize}\`. \`${ways.giveUp}\` gives it up.`;
  return new TeddyError('INTERRUPTED', error.message, hint, { cause: error });
}

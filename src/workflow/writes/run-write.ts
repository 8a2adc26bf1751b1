/** Runs a write session for any writer and any destination: receives the content, finalizes it, and receives corrections. */
import type { Project } from '../../ports/project.ts';
import { fileKind } from '../../write/file-kind.ts';
import { step } from '../../write/step.ts';
import type { WriteState, Write } from '../../write/write.ts';
import { finalizeHeld, type ApproveChange, type Finalized } from './finalize.ts';
import { replaceContent } from './append.ts';
import { dispatch, readContent, type HeldWrite } from './held.ts';
import { targetChangedError } from './install.ts';
import { keepBytes } from '../line/keep-bytes.ts';
import { TeddyError } from '../../errors.ts';
import { receiveContent, type ReceivedContent, type ReceiveOptions } from './receive-content.ts';

/** This repository's staging, or a server. */
export interface Destination<Outcome> {
  readonly id: string;
  readonly target: string;
  readonly endMarker: string;
  /** Reads all content received so far. */
  content(): Promise<Uint8Array>;
  write(): Write;
  /** Saves the bytes after those of the last call, as a `ContentSink` does. With `replaces`, they begin new content. */
  save(bytes: Uint8Array, state: WriteState, replaces: boolean): Promise<void>;
  savedBytes(): number;
  /** Takes over the received content. With `replaces`, none of it is saved yet, and it replaces the earlier content. */
  take(received: ReceivedContent, replaces: boolean): void;
  /** Finalizes the content. When `isRejected`, the writer may send a correction. */
  finalize(options: { force: boolean }): Promise<{ outcome: Outcome; isRejected: boolean }>;
  /**
   * Keeps the part that a remote destination has not accepted, and returns an error that names its location; null when
   * the destination has everything.
   */
  keep?(error: unknown): Promise<TeddyError | null>;
  /** Removes the session, because nothing in it is worth keeping. */
  remove(): Promise<void>;
  /** The commands that accept the saved content as complete, add to it, show it, and give it up. */
  readonly ways: { finalize: string; goOn: string; look: string; giveUp: string };
}

/** The answer to rejected content. `leave` keeps the content in its place. */
export type Decision = 'correct' | 'accept' | 'leave';

export interface Writer<Outcome> {
  /** True to accept every finding. */
  force: boolean;
  /** Resolves when the content is complete. A correction replaces the earlier content. */
  receive(isCorrection: boolean): Promise<void>;
  decide(rejected: Outcome): Promise<Decision>;
}

/** Returns when the content is accepted or left. */
export async function runWrite<Outcome>(
  destination: Destination<Outcome>,
  { force, receive, decide }: Writer<Outcome>,
): Promise<Outcome> {
  for (let isCorrection = false; ; isCorrection = true) {
    await receive(isCorrection);
    const { outcome, isRejected } = await destination.finalize({ force });
    const decision = isRejected ? await decide(outcome) : 'leave';
    if (decision === 'accept') return (await destination.finalize({ force: true })).outcome;
    if (decision === 'leave') return outcome;
  }
}

interface ReceiveIntoOptions extends Pick<ReceiveOptions, 'isAnswer' | 'isCut' | 'readsOn' | 'signal' | 'onPrompt'> {
  /** True when the first bytes to arrive replace the existing content. */
  isRestart: boolean;
}

/** Throws as `receiveContent` does; in that case the bytes already received are saved. */
export async function receiveInto<Outcome>(
  project: Project,
  destination: Destination<Outcome>,
  source: AsyncIterable<Uint8Array>,
  { isRestart, ...options }: ReceiveIntoOptions,
): Promise<{ isDone: boolean; hasContent: boolean; size: number }> {
  const { clock, notices } = project;
  const before = isRestart ? new Uint8Array() : await destination.content();
  const restart = () => step(destination.write(), { type: 'restart', atMs: clock.now().getTime() }).write;
  let replaces = isRestart;
  const received = await receiveContent(source, {
    ...options,
    write: isRestart ? restart() : destination.write(),
    before,
    marker: destination.endMarker,
    isMarkdown: fileKind(destination.target) === 'markdown',
    clock,
    notices,
    sink: {
      async save(bytes, state) {
        if (replaces && bytes.length === 0) return;
        await destination.save(bytes, state, replaces);
        replaces = false;
      },
    },
  });
  const { isDone, content, trailing } = received;
  const hasContent = content.length > before.length;
  // A model with an empty answer has not corrected anything.
  if (!isRestart || hasContent || !options.isAnswer) destination.take(received, replaces);
  if (trailing.length > 0) await keepTrailing(project, destination, trailing);
  return { isDone, hasContent, size: content.length };
}

/** Keeps the text after the end marker, which is not content, under `refs/teddy/keep/writes/<id>`. */
async function keepTrailing(
  project: Project,
  { id, target, endMarker }: { id: string; target: string; endMarker: string },
  bytes: Uint8Array,
): Promise<void> {
  try {
    const oid = await keepBytes(project, `writes/${id}`, bytes);
    const where = `it is kept: \`git cat-file -p ${oid.slice(0, 10)}\`.`;
    project.notices.warn(`The text after ${endMarker} (${bytes.length} bytes) is not in ${target}; ${where}`);
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    project.notices.warn(`The text after ${endMarker} is lost: ${error.message}`);
  }
}

/** Returns the destination of a session that this process has open. */
export function heldDestination(
  project: Project,
  held: HeldWrite,
  { isOfModel, signal, approve }: { isOfModel: boolean; signal: AbortSignal; approve?: ApproveChange | undefined },
): Destination<Finalized> {
  const { record, staged } = held;
  const { id } = record;
  return {
    id,
    target: record.target,
    endMarker: record.endMarker,
    content: () => readContent(held),
    write: () => held.write,
    async save(bytes, state, replaces) {
      if (replaces) await staged.replace(bytes, state);
      else await staged.save(bytes, state);
      held.savedBytes = (replaces ? 0 : held.savedBytes) + bytes.length;
    },
    savedBytes: () => held.savedBytes,
    take({ write, content, isSaved }, replaces) {
      Object.assign(held, { write, content, isReplaced: replaces, isTolerant: true, isFailing: !isSaved });
    },
    async finalize({ force }) {
      const outcome = await finalizeHeld(project, held, { force, isOfModel, signal, approve });
      return { outcome, isRejected: !outcome.isWritten && !outcome.isDeclined && outcome.reason === null };
    },
    remove: () => staged.remove(),
    ways: {
      finalize: `teddy write recover ${id} --finalize`,
      goOn: `teddy write recover ${id} --continue`,
      look: `teddy write list ${id}`,
      giveUp: `teddy write recover ${id} --discard`,
    },
  };
}

export interface WholeContent {
  /** The bytes that the target must still have. */
  base: Uint8Array;
  content: Uint8Array;
  signal: AbortSignal;
  approve: ApproveChange;
  /** The checks whose findings are refused; teddy accepts all other checks' findings. */
  refuses: string[];
}

/**
 * Writes content that is available as a whole. If it does not write the content, leaves nothing in staging. Throws
 * TARGET_CHANGED.
 */
export async function writeWhole(
  project: Project,
  held: HeldWrite,
  { base, content, refuses, ...options }: WholeContent,
): Promise<Finalized> {
  try {
    if (held.record.base?.sha256 !== project.hash(base)) throw targetChangedError(held.record);
    return await runWrite(heldDestination(project, held, { isOfModel: true, ...options }), {
      force: false,
      receive: () => replaceContent(project, held, content),
      decide: async (found) =>
        !found.isWritten && found.summary.failed.some((check) => refuses.includes(check)) ? 'leave' : 'accept',
    });
  } finally {
    if (!['installing', 'installed', 'committed', 'cancelled'].includes(held.write.state.phase)) {
      dispatch(held, { type: 'cancel' });
      await held.staged.remove();
    }
  }
}

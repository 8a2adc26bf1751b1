/** Receives content into a write session that this process holds. */
import type { Project } from '../../ports/project.ts';
import { fileKind } from '../../write/file-kind.ts';
import { step } from '../../write/step.ts';
import { readContent, type HeldWrite } from './held.ts';
import { keepTrailing } from './keep-trailing.ts';
import { receiveContent, type ContentSink, type ReceiveOptions } from './receive-content.ts';
import type { Write } from '../../write/write.ts';

export interface HeldOptions extends Pick<ReceiveOptions, 'isAnswer' | 'isCut' | 'signal' | 'onPrompt'> {
  /** What comes replaces what is there, unless nothing comes. */
  isRestart: boolean;
}

export interface HeldContent {
  /** The end marker has come. */
  isDone: boolean;
  /** Anything before it. */
  hasContent: boolean;
}

/** Throws as `receiveContent` does; what had come is saved then. */
export async function receiveHeld(
  project: Project,
  held: HeldWrite,
  source: AsyncIterable<Uint8Array>,
  { isRestart, ...options }: HeldOptions,
): Promise<HeldContent> {
  const { record } = held;
  const before = isRestart ? new Uint8Array(0) : await readContent(held);
  const sink = toSink(held, isRestart);
  const received = await receiveContent(source, {
    ...options,
    write: isRestart ? restart(project, held.write) : held.write,
    before,
    marker: record.endMarker,
    isMarkdown: fileKind(record.target) === 'markdown',
    clock: project.clock,
    notices: project.notices,
    sink,
  });
  await keepTrailing(project, record, [received.trailing]);
  const hasContent = received.content.length > before.length;
  if (!isRestart || hasContent) {
    held.write = received.write;
    held.content = received.content;
    held.isReplaced = !sink.hasReplaced();
    held.isTolerant = true;
    held.isFailing = !received.isSaved;
  }
  return { isDone: received.isDone, hasContent };
}

function restart(project: Project, write: Write): Write {
  return step(write, { type: 'restart', atMs: project.clock.now().getTime() }).write;
}

interface HeldSink extends ContentSink {
  /** What is on disk is a part of this content. */
  hasReplaced(): boolean;
}

/** What is there is replaced by the first bytes that come, not before. */
function toSink(held: HeldWrite, isRestart: boolean): HeldSink {
  let hasReplaced = !isRestart;
  return {
    hasReplaced: () => hasReplaced,
    async save(bytes, state) {
      if (!hasReplaced && bytes.length === 0) return;
      if (hasReplaced) await held.staged.save(bytes, state);
      else await held.staged.replace(bytes, state);
      held.savedBytes = hasReplaced ? held.savedBytes + bytes.length : bytes.length;
      hasReplaced = true;
    },
  };
}

/** The content of one file from a model: until its end marker, with corrections, into the commit. */
import { TeddyError } from '../../errors.ts';
import type { ModelToolCall } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import { renderIdlePrompt } from '../../write/idle-prompt.ts';
import type { Write, WriteRecord, WriteResult } from '../../write/write.ts';
import { maskString } from '../line/mask-text.ts';
import { finalizeHeld, type Finalized } from './finalize.ts';
import { readContent, type HeldWrite } from './held.ts';
import { answerCall, hearAnswer, newAnswer, say, type Answer, type EarlierText, type Talk } from './model-talk.ts';
import { renderToolError } from '../../conversation/write-tool.ts';
import { openScanner } from '../../write/done-scanner.ts';
import { fileKind } from '../../write/file-kind.ts';
import { step } from '../../write/step.ts';
import { keepTrailing } from './keep-trailing.ts';
import { type ReceiveOptions, receiveContent, type ContentSink } from './receive-content.ts';

/** Who hears how the content comes. */
export interface FileListener {
  /** Of the session, from now on. */
  onContent(progress: { bytes: number; lines: number }): void;
  /** The answer has ended without the end marker, and the model is asked for it. */
  onPrompt(text: string): void;
  /** What is wrong with the content: it goes back to the model, or was found once too often. */
  onFindings(text: string): void;
}

export interface FileFromModel {
  result: WriteResult;
  /** What was called in the last answer, after the content. */
  calls: ModelToolCall[];
}

interface Receiving {
  project: Project;
  talk: Talk;
  held: HeldWrite;
  listener: FileListener;
  prompts: number;
  /** What comes next is the whole content anew. */
  isRestart: boolean;
  /** Of the content. */
  lines: number;
}

/**
 * The model has been told to send the content; with `earlier` it is to go on with what was staged. Throws END_MISSING,
 * VALIDATION_FAILED, MODEL_INTERRUPTED, CONTENT_TOO_LARGE, and what the model and `finalizeHeld` throw; what had arrived is
 * in staging then.
 */
export async function receiveFromModel(
  project: Project,
  talk: Talk,
  held: HeldWrite,
  listener: FileListener,
  earlier?: EarlierText,
): Promise<FileFromModel> {
  const lines = (earlier?.text ?? '').split('\n').length - 1;
  const receiving: Receiving = { project, talk, held, listener, prompts: 0, isRestart: false, lines };
  return finishFile(receiving, await receiveWhole(receiving, earlier));
}

/** The content is there, whole as its writer says. */
export async function correctWithModel(
  project: Project,
  talk: Talk,
  held: HeldWrite,
  listener: FileListener,
): Promise<FileFromModel> {
  return finishFile({ project, talk, held, listener, prompts: 0, isRestart: false, lines: 0 }, newAnswer());
}

async function finishFile(receiving: Receiving, answer: Answer): Promise<FileFromModel> {
  const finalized = await finalize(receiving);
  if (finalized.isWritten) return { result: finalized.result, calls: answer.calls };
  await askForCorrection(receiving, answer, finalized);
  return finishFile(receiving, await receiveWhole(receiving));
}

/** As many answers as it takes until the end marker; the last one. */
async function receiveWhole(receiving: Receiving, earlier?: EarlierText): Promise<Answer> {
  let heard = await receiveAnswer(receiving, earlier);
  while (!heard.isDone || isEmpty(receiving.held)) {
    if (!heard.isDone) refuseCut(receiving, heard.answer);
    askAgain(receiving, heard.answer);
    heard = await receiveAnswer(receiving);
  }
  return heard.answer;
}

/** One answer, with its continuations, into the content. */
async function receiveAnswer(
  receiving: Receiving,
  earlier?: EarlierText,
): Promise<{ answer: Answer; isDone: boolean }> {
  const { project, talk, held, isRestart } = receiving;
  const answer = newAnswer();
  const end = await watchForEnd(held, isRestart);
  const wish = { isWanted: () => !end.isReached(answer), again: describeResume(held.record) };
  const pieces = hearAnswer(talk, answer, wish, earlier);
  const source = toBytes(receiving, pieces, { end, isLineOpen: earlier === undefined && !isRestart && endsOpen(held) });
  const { isDone, hasContent } = await receiveHeld(project, held, source, {
    isRestart,
    isAnswer: true,
    isCut: () => isCut(answer) && !end.isReached(answer),
    signal: talk.request.signal,
    onPrompt: () => undefined,
  }).catch((error: unknown) => {
    throw toResumable(held.record, error);
  });
  receiving.isRestart &&= !hasContent;
  return { answer, isDone };
}

function endsOpen({ content }: HeldWrite): boolean {
  return content !== null && content.length > 0 && content.at(-1) !== newline;
}

const newline = 10;
const encoder = new TextEncoder();

/** With `isLineOpen` the answer before has ended within a line, and this one begins another. */
async function* toBytes(
  receiving: Receiving,
  pieces: AsyncIterable<string>,
  { end, isLineOpen }: { end: EndWatch; isLineOpen: boolean },
): AsyncGenerator<Uint8Array> {
  const { held, listener, isRestart } = receiving;
  let bytes = isRestart ? 0 : held.write.state.size;
  if (isRestart) receiving.lines = 0;
  let prefix = isLineOpen ? '\n' : '';
  for await (const piece of pieces) {
    const encoded = encoder.encode(prefix + piece);
    prefix = '';
    end.take(encoded);
    bytes += encoded.length;
    for (const byte of encoded) if (byte === newline) receiving.lines += 1;
    listener.onContent({ bytes, lines: receiving.lines });
    yield encoded;
  }
}

/** What receives content speaks of all sessions; this one has a name. */
function toResumable(record: WriteRecord, error: unknown): unknown {
  if (!(error instanceof TeddyError) || error.code !== 'INTERRUPTED') return error;
  return new TeddyError('INTERRUPTED', error.message, describeResume(record), { cause: error });
}

function describeResume({ id, target }: WriteRecord): string {
  return `What arrived of ${target} is saved: \`teddy write ask --resume ${id}\` goes on, \`teddy write recover ${id}\` offers other ways.`;
}

/** It has not ended by the model's own wish. */
function isCut({ finish }: Answer): boolean {
  return finish !== 'stop' && finish !== 'tool_calls';
}

function refuseCut({ talk, held }: Receiving, answer: Answer): void {
  if (!isCut(answer)) return;
  const why = answer.finish === 'length' ? 'was cut at the limit of' : 'was broken off by';
  throw new TeddyError(
    'MODEL_INTERRUPTED',
    `The content of ${held.record.target} ${why} ${talk.model.label}.`,
    describeResume(held.record),
  );
}

function isEmpty({ write }: HeldWrite): boolean {
  return write.state.size === 0;
}

/** What it is to do stands in the results of its calls, if it has called. */
function askAgain(receiving: Receiving, { calls }: Answer): void {
  const { talk, held, listener } = receiving;
  const { record, write } = held;
  if (receiving.prompts >= write.limits.maxPrompts) throw toEndless(receiving);
  receiving.prompts += 1;
  const text = isEmpty(held) ? toEmptyPrompt(record) : renderIdlePrompt(record.endMarker);
  listener.onPrompt(text);
  if (calls.length > 0) refuseCalls(talk, calls, record);
  else say(talk, text);
}

function toEmptyPrompt({ target, endMarker }: WriteRecord): string {
  return `Validation failed: content cannot be empty. Output the content of ${target}, and end with ${endMarker} on its own line.`;
}

function toEndless({ talk, held, prompts }: Receiving): TeddyError {
  const { target, endMarker } = held.record;
  const missing = isEmpty(held) ? `sent no content of ${target}` : `not ended ${target} with ${endMarker}`;
  return new TeddyError(
    'END_MISSING',
    `${talk.model.label} has ${missing}, though it was asked ${prompts} times.`,
    describeResume(held.record),
  );
}

/** While a session takes content, no call can begin another one. */
export function refuseCalls(talk: Talk, calls: ModelToolCall[], { target, endMarker }: WriteRecord): void {
  const problem =
    `Another write session is already active, for ${target}. Output its content now, and end with ${endMarker} on its own ` +
    'line. Call again for another file after that.';
  for (const call of calls) answerCall(talk, call, renderToolError(problem));
}

async function finalize({ project, held, talk }: Receiving): Promise<Finalized> {
  return finalizeHeld(project, held, { isOfModel: true, signal: talk.request.signal });
}

async function askForCorrection(receiving: Receiving, answer: Answer, rejected: Rejected): Promise<void> {
  const { project, talk, held, listener } = receiving;
  const { record } = held;
  const message = await maskString(project.masker, rejected.message);
  listener.onFindings(message);
  if (rejected.reason !== null) throw await toRejected(project, rejected, rejected.reason);
  refuseCalls(talk, answer.calls, record);
  say(talk, toCorrection(rejected, message));
  receiving.isRestart = true;
}

type Rejected = Extract<Finalized, { isWritten: false }>;

/** What the model is told of a content that was not accepted; `message` tells whoever has asked it what was found. */
function toCorrection({ record, findings }: Rejected, message: string): string {
  const { target, endMarker } = record;
  const count = findings.length === 1 ? 'this' : `these ${findings.length} things`;
  const rest = `Send the whole corrected content of ${target}, and end with ${endMarker} on its own line.`;
  return `The content of ${target} was not accepted, for ${count}:\n\n${message}\n\n${rest}`;
}

/** It is not corrected any more. */
async function toRejected(project: Project, { record, findings }: Rejected, reason: string): Promise<TeddyError> {
  const { id, target } = record;
  const [first] = findings;
  const place = first?.line === undefined ? '' : `line ${first.line}: `;
  const more = findings.length > 1 ? ` And ${findings.length - 1} more.` : '';
  const details = await maskString(project.masker, `${place}${first?.message ?? ''}`);
  return new TeddyError(
    'VALIDATION_FAILED',
    `${target} was not written, for ${reason}. Validation failed: ${details}${more}`,
    `The content is saved: \`teddy write show ${id}\`; \`teddy write recover ${id} --finalize --force\` writes it as it is.`,
  );
}

/** Whether a model's answer has come to the end marker of its content. */
interface EndWatch {
  take(bytes: Uint8Array): void;
  /** The answer has come to the end marker; also at its very end, where no line ends. */
  isReached(answer: Answer): boolean;
}

/** An answer that is cut behind its end marker is not gone on with. */
async function watchForEnd(held: HeldWrite, isRestart: boolean): Promise<EndWatch> {
  const { endMarker: marker, target } = held.record;
  const before = isRestart ? new Uint8Array(0) : await readContent(held);
  const scanner = openScanner({ marker, isMarkdown: fileKind(target) === 'markdown', before });
  let isDone = false;
  return {
    take(bytes) {
      isDone ||= scanner.next(bytes).isDone;
    },
    isReached: ({ text }) => isDone || text.slice(text.lastIndexOf('\n') + 1).trimEnd() === marker,
  };
}

/** Receives content into a write session that this process holds. */
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

/** Receives one file's content from a model, from its first line through corrections to the commit. */
import { TeddyError } from '../../errors.ts';
import type { ModelToolCall } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import { renderIdlePrompt } from '../../write/end-marker.ts';
import type { WriteRecord, WriteResult } from '../../write/write.ts';
import { maskString } from '../line/mask-text.ts';
import { describeEnd, nothingReceived, type Received } from '../line/receive-answer.ts';
import { dropMarker } from './append.ts';
import type { ApproveChange, Finalized } from './finalize.ts';
import { readContent, type HeldWrite } from './held.ts';
import { answerCall, streamNextAnswer, say, type EarlierText, type Dialogue } from './dialogue.ts';
import { renderToolError } from '../../conversation/prompts/write-tool.ts';
import { openScanner } from '../../write/done-scanner.ts';
import { fileKind } from '../../write/file-kind.ts';
import { heldDestination, receiveInto, runWrite, type Destination } from './run-write.ts';

/** Reports the content's progress. */
export interface FileListener {
  /** Reports the current size of the session's content. */
  onContent(progress: { bytes: number; lines: number }): void;
  /** Called when the answer ended without the end marker and teddy asks the model for it. */
  onPrompt(text: string): void;
  /** Called when the findings go back to the model, or when it has used up its corrections. */
  onFindings(text: string): void;
  /** Asks about the change before writing the file; defaults to approving every change. */
  approveChange?: ApproveChange | undefined;
}

export interface FileFromModel {
  result: WriteResult;
  /** The last answer's tool calls, which follow the content. */
  calls: ModelToolCall[];
}

interface Receiving {
  project: Project;
  dialogue: Dialogue;
  held: HeldWrite;
  listener: FileListener;
  destination: Destination<Finalized>;
  prompts: number;
  /** True when the next answer replaces the whole content. */
  isRestart: boolean;
  /** The number of lines in the content. */
  lines: number;
}

/** A session left behind after a cut connection, an error or a crash. */
export interface LeftWrite {
  held: HeldWrite;
  /** True when its end marker has arrived. */
  isWhole: boolean;
}

/**
 * Receives the content that teddy has told the model to send. Resumes an abandoned session after its last saved line;
 * checks complete content again, and has the model correct it if necessary. Throws END_MISSING, VALIDATION_FAILED,
 * NOT_APPROVED, MODEL_INTERRUPTED, CONTENT_TOO_LARGE, and the errors of the model and `finalizeHeld`; in these cases
 * everything received is in staging.
 */
export async function receiveFromModel(
  project: Project,
  dialogue: Dialogue,
  { held, isWhole }: Pick<LeftWrite, 'held'> & Partial<LeftWrite>,
  listener: FileListener,
): Promise<FileFromModel> {
  const receiving = openReceiving(project, dialogue, held, listener);
  if (isWhole === undefined) return receiveFile(receiving, () => receiveWhole(receiving));
  if (isWhole) {
    const { shown } = await readShown(project, held);
    dialogue.messages.push({ role: 'assistant', content: `${shown}${held.record.endMarker}` });
    return receiveFile(receiving, async () => nothingReceived());
  }
  await dropMarker(project, held, { isPart: true });
  const earlier = await readShown(project, held);
  receiving.lines = earlier.text.split('\n').length - 1;
  return receiveFile(receiving, () => receiveWhole(receiving, earlier.text.trim() === '' ? undefined : earlier));
}

/** Masks text before it goes into a request, whoever wrote it. */
async function readShown(project: Project, held: HeldWrite): Promise<EarlierText> {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(await readContent(held));
  return { text, shown: await maskString(project.masker, text) };
}

function openReceiving(project: Project, dialogue: Dialogue, held: HeldWrite, listener: FileListener): Receiving {
  const destination = heldDestination(project, held, {
    isOfModel: true,
    signal: dialogue.request.signal,
    approve: listener.approveChange,
  });
  return { project, dialogue, held, listener, destination, prompts: 0, isRestart: false, lines: 0 };
}

async function receiveFile(receiving: Receiving, receiveFirst: () => Promise<Received>): Promise<FileFromModel> {
  let answer: Received = nothingReceived();
  const finalized = await runWrite(receiving.destination, {
    force: false,
    async receive(isCorrection) {
      answer = await (isCorrection ? receiveWhole(receiving) : receiveFirst());
    },
    async decide(rejected) {
      if (!rejected.isWritten) await askForCorrection(receiving, answer, rejected);
      return 'correct';
    },
  });
  if (finalized.isWritten) return { result: finalized.result, calls: answer.calls };
  if (finalized.isDeclined)
    throw new TeddyError(
      'NOT_APPROVED',
      `The change to ${finalized.record.target} was not approved.`,
      'Say what to do instead.',
    );
  await reportFindings(receiving, finalized);
  throw await toRejected(receiving.project, finalized);
}

/** Receives answers until one has the end marker, and returns it. */
async function receiveWhole(receiving: Receiving, earlier?: EarlierText): Promise<Received> {
  const { dialogue, held } = receiving;
  let goesOn = earlier;
  let heard = await receiveAnswer(receiving, goesOn);
  while (!heard.isDone || isEmpty(held)) {
    if (!heard.isDone && isCut(heard.answer)) {
      const { label } = dialogue.model;
      const { finish } = heard.answer;
      const why =
        finish === 'length'
          ? `was cut at ${label}'s limit`
          : `is incomplete: ${label} ended it ${describeEnd(heard.answer)}`;
      throw new TeddyError(
        'MODEL_INTERRUPTED',
        `The content of ${held.record.target} ${why}.`,
        describeResume(held.record),
      );
    }
    // The next answer continues the cut content, even in the middle of a line.
    const isSilent = heard.answer.text === goesOn?.text && heard.answer.calls.length === 0;
    goesOn = isSilent ? goesOn : undefined;
    askAgain(receiving, heard.answer, isSilent);
    heard = await receiveAnswer(receiving, goesOn);
  }
  return heard.answer;
}

/** Adds one answer and its continuations to the content. */
async function receiveAnswer(
  receiving: Receiving,
  earlier?: EarlierText,
): Promise<{ answer: Received; isDone: boolean }> {
  const { project, dialogue, held, destination, isRestart } = receiving;
  const answer = nothingReceived();
  const end = await watchForEnd(held, isRestart);
  const options = { isWanted: () => !end.isReached(answer), again: describeResume(held.record) };
  const pieces = streamNextAnswer(dialogue, answer, options, earlier);
  const endsOpen = held.content !== null && held.content.length > 0 && held.content.at(-1) !== newline;
  const source = toBytes(receiving, pieces, { end, isLineOpen: earlier === undefined && !isRestart && endsOpen });
  const { isDone, hasContent } = await receiveInto(project, destination, source, {
    isRestart,
    isAnswer: true,
    isCut: () => isCut(answer) && !end.isReached(answer),
    signal: dialogue.request.signal,
    onPrompt: () => undefined,
  }).catch((error: unknown) => {
    if (!(error instanceof TeddyError) || error.code !== 'INTERRUPTED') throw error;
    throw new TeddyError('INTERRUPTED', error.message, describeResume(held.record), { cause: error });
  });
  receiving.isRestart &&= !hasContent;
  return { answer, isDone };
}

const newline = 10;
const encoder = new TextEncoder();

/** Begins the answer on a new line when `isLineOpen`, because the previous answer ended in the middle of a line. */
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

function describeResume({ id, target }: WriteRecord): string {
  return `The part of ${target} that arrived is saved. \`teddy write ask --resume ${id}\` continues it; \`teddy write recover ${id}\` offers other options.`;
}

/** Returns true if something other than the model ended the answer. */
function isCut({ finish }: Received): boolean {
  return finish !== 'stop' && finish !== 'tool_calls';
}

function isEmpty({ write }: HeldWrite): boolean {
  return write.state.size === 0;
}

/** Asks for the rest. A model that made tool calls reads the request in their results. */
function askAgain(receiving: Receiving, { calls }: Received, isSilent: boolean): void {
  const { dialogue, held, listener } = receiving;
  const { record, write } = held;
  const { target, endMarker } = record;
  if (receiving.prompts >= write.limits.maxPrompts) {
    const missing = isEmpty(held) ? `sent no content for ${target}` : `not ended ${target} with ${endMarker}`;
    throw new TeddyError(
      'END_MISSING',
      `${dialogue.model.label} has ${missing}, though it was asked ${receiving.prompts} times.`,
      describeResume(record),
    );
  }
  receiving.prompts += 1;
  const text = isEmpty(held)
    ? `Validation failed: content cannot be empty. Output the content of ${target}, and end with ${endMarker} on its own line.`
    : renderIdlePrompt(endMarker);
  listener.onPrompt(text);
  if (calls.length > 0) refuseCalls(dialogue, calls, record, isEmpty(held) ? 'its' : 'the rest of its');
  else if (!isSilent) say(dialogue, text);
}

/** Refuses the calls, because no call can begin another session while this session receives content. */
function refuseCalls(
  dialogue: Dialogue,
  calls: ModelToolCall[],
  { target, endMarker }: WriteRecord,
  what: 'its' | 'the rest of its' = 'its',
): void {
  const problem =
    `Another write session is already active, for ${target}. Output ${what} content now, and end with ${endMarker} on its own ` +
    'line. Call again for another file after that.';
  for (const call of calls) answerCall(dialogue, call, renderToolError(problem));
}

/** Returns the findings as a model may see them. */
async function reportFindings({ project, listener }: Receiving, rejected: Rejected): Promise<string> {
  const message = await maskString(project.masker, rejected.message);
  listener.onFindings(message);
  return message;
}

async function askForCorrection(receiving: Receiving, answer: Received, rejected: Rejected): Promise<void> {
  const { dialogue } = receiving;
  const { findings, record } = rejected;
  const { target, endMarker } = record;
  const message = await reportFindings(receiving, rejected);
  refuseCalls(dialogue, answer.calls, record);
  const count = findings.length === 1 ? 'this' : `these ${findings.length} things`;
  const rest = `Send the whole corrected content of ${target}, and end with ${endMarker} on its own line.`;
  say(dialogue, `The content of ${target} was not accepted, for ${count}:\n\n${message}\n\n${rest}`);
  receiving.isRestart = true;
}

type Rejected = Extract<Finalized, { isWritten: false }>;

/** teddy accepts no further correction. */
async function toRejected(project: Project, { record, findings, reason }: Rejected): Promise<TeddyError> {
  const { id, target } = record;
  const [first] = findings;
  const place = first?.line === undefined ? '' : `line ${first.line}: `;
  const more = findings.length > 1 ? ` And ${findings.length - 1} more.` : '';
  const details = await maskString(project.masker, `${place}${first?.message ?? ''}`);
  return new TeddyError(
    'VALIDATION_FAILED',
    `${target} was not written: ${reason}. Validation failed: ${details}${more}`,
    `The content is saved: \`teddy write show ${id}\`; \`teddy write recover ${id} --finalize --force\` writes it unchanged.`,
  );
}

interface EndWatch {
  take(bytes: Uint8Array): void;
  /** Returns true if the answer has reached the end marker, even a marker at its very end without a line break. */
  isReached(answer: Received): boolean;
}

/** teddy does not continue an answer that was cut after its end marker. */
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

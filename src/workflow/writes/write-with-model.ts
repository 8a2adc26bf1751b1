/** Has a model write files: it announces each with one small call, and sends its content as plain text. */
import { TeddyError } from '../../errors.ts';
import type { Model, ModelRequest, ModelToolCall } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import { toLabel } from '../../session/entry.ts';
import { isOver, type WriteRecord, type WriteResult } from '../../write/write.ts';
import { maskMessage } from '../line/mask-message.ts';
import { maskString } from '../line/mask-text.ts';
import { describeEnd, whyEmpty, type Usage } from '../line/receive-answer.ts';
import { beginHeldWrite } from './begin.ts';
import { dispatch, type HeldWrite } from './held.ts';
import { beginAsk, finishAsk, isShownWhole, listLeftAsks, type Ask } from './keep-ask.ts';
import { answerCall, hearAnswer, newAnswer, openDialogue, say, type Dialogue } from './dialogue.ts';
import { receiveFromModel, refuseCalls, type FileFromModel, type FileListener } from './receive-from-model.ts';
import {
  beginTool,
  parseToolCall,
  renderBegun,
  renderToolError,
  writeProtocol,
} from '../../conversation/write-tool.ts';

export interface ModelWriteOptions {
  message: string;
  model: Model;
  parameters: ModelRequest['parameters'];
  /** The session for the entries; undefined for the line of HEAD. */
  session: string | undefined;
  signal: AbortSignal;
}

/** Hears what comes, and decides. */
export interface ModelListener extends FileListener {
  /** Hears words to the user, as they come. */
  onText(text: string): void;
  /** An answer without content is over. `isLast`: it called nothing. */
  onSaid(text: string, isLast: boolean): void;
  /** Asked once a file. Throws INTERRUPTED. */
  approve(record: WriteRecord): Promise<boolean>;
  onBegun(record: WriteRecord): void;
  onWritten(file: WrittenFile): void;
}

export interface WrittenFile {
  record: WriteRecord;
  result: WriteResult;
}

export interface ModelWritten {
  files: WrittenFile[];
  /** Counts the files that were announced, and not approved. */
  refused: number;
  /** Holds the words to the user of each answer. */
  said: string[];
  usage: Usage | null;
}

const maxFiles = 20;
const maxFailedCalls = 3;

/**
 * Ends when the model answers without a call. Throws EMPTY_ANSWER, WRITE_ACTIVE, VALIDATION_FAILED, END_MISSING, what the model
 * throws, and what keeps a line from taking an entry. Files that were committed by then stay committed; of one that was
 * not, what had arrived stays in staging.
 */
export async function writeWithModel(
  project: Project,
  options: ModelWriteOptions,
  listener: ModelListener,
): Promise<ModelWritten> {
  for (const left of await listLeftAsks(project)) {
    // Where a file was begun, its write session is offered instead.
    if ((await findLeftWrite(project, left.id)) !== null) continue;
    project.notices.info(
      `The message of an interrupted \`teddy write ask\` is kept (${toLabel(left.message, 60)}): \`teddy write ask --resume ${left.id}\` sends it again, \`git update-ref -d ${left.ref}\` forgets it.`,
    );
  }
  const { message } = await maskMessage(project, options);
  // The message is kept before the model is asked: a crash leaves it for `--resume`.
  return askModel(project, await beginAsk(project, message), options, listener);
}

export async function askModel(
  project: Project,
  ask: Ask,
  options: Omit<ModelWriteOptions, 'message'>,
  listener: ModelListener,
): Promise<ModelWritten> {
  const dialogue = openDialogue(project, options, [
    { role: 'system', content: writeProtocol },
    { role: 'user', content: ask.message },
  ]);
  return converse({ project, ask, dialogue, listener, session: options.session, written: nothingWritten() });
}

export interface Conversation {
  project: Project;
  /** Null for a session that nobody's message began. */
  ask: Ask | null;
  dialogue: Dialogue;
  listener: ModelListener;
  session: string | undefined;
  written: ModelWritten;
}

export function nothingWritten(): ModelWritten {
  return { files: [], refused: 0, said: [], usage: null };
}

/** Goes on until an answer calls nothing. A conversation that stops before that can be resumed. */
export async function converse(conversation: Conversation, pending: ModelToolCall[] = []): Promise<ModelWritten> {
  const { project, ask, written } = conversation;
  const result = await converseToEnd(conversation, pending).catch(async (error: unknown) => {
    // Where a file was begun, its error says how to go on.
    if (ask !== null && (await findLeftWrite(project, ask.id)) === null)
      project.notices.warn(`Your message is kept: \`teddy write ask --resume ${ask.id}\` sends it again.`);
    throw error;
  });
  if (ask !== null) {
    const isCut = !isShownWhole(ask.message, shownBesideMessage);
    await finishAsk(project, ask, { isKept: written.files.length > 0 && isCut });
  }
  return result;
}

/** The label of a file's entry also shows its intent and its size. */
const shownBesideMessage = 2;

/** Finds the write session of a message that is not over. There is one slot, and so one session. */
export async function findLeftWrite(project: Project, askId: string): Promise<string | null> {
  const found = await project.writes.list();
  return (
    found.find(({ record, state }) => record?.ask?.id === askId && state !== null && !isOver(state.phase))?.id ?? null
  );
}

async function converseToEnd(conversation: Conversation, pending: ModelToolCall[]): Promise<ModelWritten> {
  const { project, dialogue, listener, written } = conversation;
  let calls = pending;
  for (let failures = 0; ;) {
    if (calls.length === 0) calls = await hearCalls(conversation);
    if (calls.length === 0) return { ...written, usage: dialogue.usage };
    if (written.files.length >= maxFiles)
      throw new TeddyError(
        'MODEL_FAILED',
        `The model has written ${maxFiles} files, and wants to write more; it was stopped there.`,
        'All of them are committed. Ask for the rest with another message.',
      );
    const begun = await beginFirst(conversation, calls);
    failures = 'problem' in begun && !begun.isRefused ? failures + 1 : 0;
    if ('problem' in begun) {
      if (failures === maxFailedCalls)
        throw new TeddyError(
          'MODEL_FAILED',
          `${dialogue.model.label} has announced no file that can be written, ${maxFailedCalls} times; the last time: ${begun.problem}`,
          'Say more exactly which file it is, or use another model: --model <name>.',
        );
      calls = [];
    } else {
      const { held } = begun;
      calls = await takeFile(conversation, held, () => receiveFromModel(project, dialogue, held, listener));
    }
  }
}

async function hearCalls({ dialogue, listener, written }: Conversation): Promise<ModelToolCall[]> {
  const answer = newAnswer();
  const options = { isWanted: () => true, again: describeAgain(written) };
  for await (const text of hearAnswer(dialogue, answer, options)) listener.onText(text);
  if (answer.calls.length === 0 && answer.text.trim() === '' && written.files.length === 0) {
    throw new TeddyError(
      'EMPTY_ANSWER',
      `${dialogue.model.label} gave an empty answer${whyEmpty(answer)}.`,
      'Run the command again.',
    );
  }
  if (answer.finish === 'other')
    throw new TeddyError(
      'MODEL_INTERRUPTED',
      `${dialogue.model.label} ended its answer ${describeEnd(answer)}${answer.calls.length > 0 ? ', so that no file it announced was begun' : ''}.`,
      options.again,
    );
  if (answer.text.trim() !== '') {
    listener.onSaid(answer.text, answer.calls.length === 0);
    written.said.push(answer.text);
  }
  return answer.calls;
}

function describeAgain({ files }: ModelWritten): string {
  const [one] = files;
  if (one === undefined) return 'Nothing was written; run the command again.';
  const what = files.length === 1 ? `${one.record.target} is` : `${files.length} files are`;
  return `${what} committed; ask for the rest with another message, if there is one.`;
}

type Begun = { held: HeldWrite; result: string } | { problem: string; isRefused: boolean };

/** Tells the model what has become of each call. */
async function beginFirst(conversation: Conversation, calls: ModelToolCall[]): Promise<Begun> {
  const { dialogue } = conversation;
  const [first, ...others] = calls;
  if (first === undefined) throw new Error('An answer without calls begins nothing.');
  const begun = await beginOne(conversation, first);
  if ('problem' in begun && !begun.isRefused) {
    const problem = await maskString(conversation.project.masker, begun.problem);
    conversation.project.notices.warn(`What the model has announced was refused: ${problem}`);
  }
  answerCall(dialogue, first, 'held' in begun ? begun.result : renderToolError(begun.problem));
  if ('held' in begun) refuseCalls(dialogue, others, begun.held.record);
  else for (const call of others) answerCall(dialogue, call, renderToolError(notTaken));
  return begun;
}

const notTaken = 'One file is written at a time, and the call before this one was not taken. Call again for this one.';

async function beginOne(conversation: Conversation, call: ModelToolCall): Promise<Begun> {
  if (call.name !== beginTool.name) return toFailed(`There is no tool ${call.name}; call ${beginTool.name}.`);
  const announced = parseToolCall(call.arguments);
  if ('problem' in announced) return toFailed(announced.problem);
  const { project, session, ask, dialogue } = conversation;
  const { provider, model } = dialogue.model;
  try {
    const from = { writer: { provider, model }, ...(ask === null ? {} : { ask }) };
    const { begun, held } = await beginHeldWrite(project, { ...announced, ...from, session, hasController: true });
    for (const warning of begun.warnings) project.notices.warn(warning);
    if (await isApproved(conversation, held)) {
      conversation.listener.onBegun(begun.record);
      return { held, result: renderBegun(begun) };
    }
    return { problem: `The user does not want ${begun.record.target} to be written.`, isRefused: true };
  } catch (error) {
    if (!(error instanceof TeddyError) || !codesForModel.includes(error.code)) throw error;
    return toFailed(error.hint === undefined ? error.message : `${error.message} ${error.hint}`);
  }
}

/** The model can mend these; anything else is for the user. */
const codesForModel = ['BAD_TARGET', 'BAD_OPERATION', 'FILES_IN_THE_WAY', 'FILE_NOT_FOUND'];

function toFailed(problem: string): Begun {
  return { problem, isRefused: false };
}

/** A session that is not approved leaves no trace. */
async function isApproved({ listener, written }: Conversation, held: HeldWrite): Promise<boolean> {
  let approved = false;
  try {
    // A listener may be written without types: nothing but a yes is one.
    approved = (await listener.approve(held.record)) === true;
  } finally {
    if (!approved) {
      dispatch(held, { type: 'cancel' });
      await held.staged.remove();
      await held.staged.close();
    }
  }
  if (!approved) written.refused += 1;
  return approved;
}

/** Returns the calls that came in the same answer after the content, and closes the session. */
export async function takeFile(
  { dialogue, listener, written }: Conversation,
  held: HeldWrite,
  receive: () => Promise<FileFromModel>,
): Promise<ModelToolCall[]> {
  try {
    const { result, calls } = await receive();
    const file = { record: held.record, result };
    written.files.push(file);
    listener.onWritten(file);
    const { target } = file.record;
    if (calls.length === 0)
      say(
        dialogue,
        `${target} is written and committed as ${result.commit.slice(0, 10)}. If another file is wanted, call ` +
          `${beginTool.name} for it. If not, say in a sentence that it is done.`,
      );
    return calls;
  } finally {
    await held.staged.close();
  }
}

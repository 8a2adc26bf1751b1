/** Has a model write files: it announces each with one small call, and sends its content as plain text. */
import { TeddyError } from '../../errors.ts';
import type { Model, ModelMessage, ModelRequest, ModelToolCall } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import { toLabel } from '../../session/entry.ts';
import { isOver, type WriteRecord, type WriteResult } from '../../write/write.ts';
import { maskMessage } from '../line/mask-message.ts';
import { maskString } from '../line/mask-text.ts';
import type { Usage } from '../line/receive-answer.ts';
import { beginHeldWrite } from './begin.ts';
import { happen, type HeldWrite } from './held.ts';
import { beginAsk, finishAsk, isShownWhole, listLeftAsks, type Ask } from './keep-ask.ts';
import { answerCall, hearAnswer, newAnswer, openTalk, say, type Answer, type Talk } from './model-talk.ts';
import { receiveFromModel, refuseCalls, type FileFromModel, type FileListener } from './receive-from-model.ts';
import {
  beginTool,
  parseToolCall,
  renderBegun,
  renderToolError,
  writeProtocol,
} from '../../conversation/write-tool.ts';

export interface ModelWish {
  message: string;
  model: Model;
  parameters: ModelRequest['parameters'];
  /** Where the entries go; undefined: to the line of HEAD. */
  session: string | undefined;
  signal: AbortSignal;
}

/** Who hears what comes, and decides. */
export interface ModelListener extends FileListener {
  /** Words to the user, as they come. */
  onText(text: string): void;
  /** An answer without content is over. `isLast`: nothing was called in it. */
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
  /** How many files were announced, and not approved. */
  refused: number;
  /** Words to the user, an answer each. */
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
  wish: ModelWish,
  listener: ModelListener,
): Promise<ModelWritten> {
  await tellLeftAsks(project);
  const { message } = await maskMessage(project, wish);
  // Before the model is asked: a crash leaves it for `--resume`.
  return askModel(project, await beginAsk(project, message), wish, listener);
}

/** Where a file was begun, its write session is offered instead. */
async function tellLeftAsks(project: Project): Promise<void> {
  for (const { id, message, ref } of await listLeftAsks(project)) {
    if ((await findLeftWrite(project, id)) !== null) continue;
    project.notices.info(
      `The message of an interrupted \`teddy write ask\` is kept (${toLabel(message, 60)}): \`teddy write ask --resume ${id}\` sends it again, \`git update-ref -d ${ref}\` forgets it.`,
    );
  }
}

export async function askModel(
  project: Project,
  ask: Ask,
  wish: Omit<ModelWish, 'message'>,
  listener: ModelListener,
): Promise<ModelWritten> {
  const talk = openTalk(project, wish, toMessages(ask.message));
  return converse({ project, ask, talk, listener, session: wish.session, written: nothingWritten() });
}

export interface Conversation {
  project: Project;
  /** Null: of a session that nobody's message began. */
  ask: Ask | null;
  talk: Talk;
  listener: ModelListener;
  session: string | undefined;
  written: ModelWritten;
}

export function nothingWritten(): ModelWritten {
  return { files: [], refused: 0, said: [], usage: null };
}

function toMessages(message: string): ModelMessage[] {
  return [
    { role: 'system', content: writeProtocol },
    { role: 'user', content: message },
  ];
}

/** Until an answer calls nothing. What stops before that can be gone on with. */
export async function converse(conversation: Conversation, pending: ModelToolCall[] = []): Promise<ModelWritten> {
  const { project, ask, written } = conversation;
  const result = await talkToEnd(conversation, pending).catch(async (error: unknown) => {
    if (ask !== null) await tellKept(project, ask);
    throw error;
  });
  if (ask !== null) {
    const isCut = !isShownWhole(ask.message, shownBesideMessage);
    await finishAsk(project, ask, { isKept: written.files.length > 0 && isCut });
  }
  return result;
}

/** In the label of a file's entry: its intent, and its size. */
const shownBesideMessage = 2;

/** Where a file was begun, its error says how to go on. */
async function tellKept(project: Project, { id }: Ask): Promise<void> {
  const left = await findLeftWrite(project, id);
  if (left === null) project.notices.warn(`Your message is kept: \`teddy write ask --resume ${id}\` sends it again.`);
}

/** The write session of a message that is not over; there is one slot, and so one of them. */
export async function findLeftWrite(project: Project, askId: string): Promise<string | null> {
  const found = await project.writes.list();
  return (
    found.find(({ record, state }) => record?.ask?.id === askId && state !== null && !isOver(state.phase))?.id ?? null
  );
}

async function talkToEnd(conversation: Conversation, pending: ModelToolCall[]): Promise<ModelWritten> {
  const { project, talk, listener, written } = conversation;
  let calls = pending;
  for (let failures = 0; ;) {
    if (calls.length === 0) calls = await hearCalls(conversation);
    if (calls.length === 0) return { ...written, usage: talk.usage };
    refuseMore(written);
    const begun = await beginFirst(conversation, calls);
    failures = 'problem' in begun && !begun.isRefused ? failures + 1 : 0;
    if ('problem' in begun) {
      if (failures === maxFailedCalls) throw toUselessCalls(talk, begun.problem);
      calls = [];
    } else {
      const { held } = begun;
      calls = await takeFile(conversation, held, () => receiveFromModel(project, talk, held, listener));
    }
  }
}

async function hearCalls({ talk, listener, written }: Conversation): Promise<ModelToolCall[]> {
  const answer = newAnswer();
  const wish = { isWanted: () => true, again: describeAgain(written) };
  for await (const text of hearAnswer(talk, answer, wish)) listener.onText(text);
  refuseEmpty(talk, answer, written);
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

function refuseEmpty({ model }: Talk, { text, calls, finish }: Answer, { files }: ModelWritten): void {
  if (calls.length > 0 || text.trim() !== '' || files.length > 0) return;
  const reason = finish === 'length' ? ': it reached its limit before it said anything' : '';
  throw new TeddyError('EMPTY_ANSWER', `${model.label} gave an empty answer${reason}.`, 'Run the command again.');
}

function refuseMore({ files }: ModelWritten): void {
  if (files.length < maxFiles) return;
  throw new TeddyError(
    'MODEL_FAILED',
    `The model has written ${maxFiles} files, and wants to write more; it was stopped there.`,
    'All of them are committed. Ask for the rest with another message.',
  );
}

function toUselessCalls({ model }: Talk, problem: string): TeddyError {
  return new TeddyError(
    'MODEL_FAILED',
    `${model.label} has announced no file that can be written, ${maxFailedCalls} times; the last time: ${problem}`,
    'Say more exactly which file it is, or use another model: --model <name>.',
  );
}

type Begun = { held: HeldWrite; result: string } | { problem: string; isRefused: boolean };

/** The model knows what has become of each call. */
async function beginFirst(conversation: Conversation, calls: ModelToolCall[]): Promise<Begun> {
  const { talk } = conversation;
  const [first, ...others] = calls;
  if (first === undefined) throw new Error('An answer without calls begins nothing.');
  const begun = await beginOne(conversation, first);
  if ('problem' in begun && !begun.isRefused) {
    const problem = await maskString(conversation.project.masker, begun.problem);
    conversation.project.notices.warn(`What the model has announced was refused: ${problem}`);
  }
  answerCall(talk, first, 'held' in begun ? begun.result : renderToolError(begun.problem));
  if ('held' in begun) refuseCalls(talk, others, begun.held.record);
  else for (const call of others) answerCall(talk, call, renderToolError(notTaken));
  return begun;
}

const notTaken = 'One file is written at a time, and the call before this one was not taken. Call again for this one.';

async function beginOne(conversation: Conversation, call: ModelToolCall): Promise<Begun> {
  if (call.name !== beginTool.name) return toFailed(`There is no tool ${call.name}; call ${beginTool.name}.`);
  const wish = parseToolCall(call.arguments);
  if ('problem' in wish) return toFailed(wish.problem);
  const { project, session, ask } = conversation;
  try {
    const from = ask === null ? {} : { ask };
    const { begun, held } = await beginHeldWrite(project, { ...wish, ...from, session, hasController: true });
    for (const warning of begun.warnings) project.notices.warn(warning);
    if (await isApproved(conversation, held)) {
      conversation.listener.onBegun(begun.record);
      return { held, result: renderBegun(begun) };
    }
    return { problem: `The user does not want ${begun.record.target} to be written.`, isRefused: true };
  } catch (error) {
    if (error instanceof TeddyError && isForModel(error)) return toFailed(toText(error));
    throw error;
  }
}

function toFailed(problem: string): Begun {
  return { problem, isRefused: false };
}

/** Whoever says no leaves no trace of the session. */
async function isApproved({ listener, written }: Conversation, held: HeldWrite): Promise<boolean> {
  let approved = false;
  try {
    // Whoever is asked may be written without types: nothing but a yes is one.
    approved = (await listener.approve(held.record)) === true;
  } finally {
    if (!approved) await giveUp(held);
  }
  if (!approved) written.refused += 1;
  return approved;
}

async function giveUp(held: HeldWrite): Promise<void> {
  happen(held, { type: 'cancel' });
  await held.staged.remove();
  await held.staged.close();
}

/** What the model can do better; anything else is for the user. */
function isForModel({ code }: TeddyError): boolean {
  return ['BAD_TARGET', 'BAD_OPERATION', 'FILES_IN_THE_WAY', 'FILE_NOT_FOUND'].includes(code);
}

function toText({ message, hint }: TeddyError): string {
  return hint === undefined ? message : `${message} ${hint}`;
}

/** The calls that came in the same answer, after the content. The session is not held any more then. */
export async function takeFile(
  { talk, listener, written }: Conversation,
  held: HeldWrite,
  receive: () => Promise<FileFromModel>,
): Promise<ModelToolCall[]> {
  try {
    const { result, calls } = await receive();
    const file = { record: held.record, result };
    written.files.push(file);
    listener.onWritten(file);
    if (calls.length === 0) say(talk, describeWritten(file));
    return calls;
  } finally {
    await held.staged.close();
  }
}

function describeWritten({ record, result }: WrittenFile): string {
  return (
    `${record.target} is written and committed as ${result.commit.slice(0, 10)}. If another file is wanted, call ` +
    `${beginTool.name} for it. If not, say in a sentence that it is done.`
  );
}

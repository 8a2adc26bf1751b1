/** Has a model go on with a write session that a cut connection, an error or a crash has left. */
import type { ModelMessage } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import type { Phase, WriteRecord } from '../../write/write.ts';
import { maskMessage } from '../line/mask-message.ts';
import { maskString } from '../line/mask-text.ts';
import { replaceContent } from './append.ts';
import { readContent, type HeldWrite } from './held.ts';
import { takeUpAsk, type Ask } from './keep-ask.ts';
import { openTalk, type Talk } from './model-talk.ts';
import { correctWithModel, receiveFromModel, type FileFromModel } from './receive-from-model.ts';
import { takeUpWrite } from './recover.ts';
import {
  askModel,
  converse,
  findLeftWrite,
  nothingWritten,
  takeFile,
  type ModelListener,
  type ModelWish,
  type ModelWritten,
} from './write-with-model.ts';
import { beginTool, renderBegun, writeProtocol } from '../../conversation/write-tool.ts';

export interface ResumeWish extends Omit<ModelWish, 'message'> {
  /** Of the write session, or of the message that was to begin one. */
  id: string;
  /** What is to be said beside the intent of the session. */
  message: string | undefined;
}

/**
 * It goes on from the last line that was saved; what was whole is checked again, and corrected if need be. Throws
 * UNKNOWN_WRITE, WRITE_ACTIVE, LOCKED, STAGING_DAMAGED, and as `writeWithModel`.
 */
export async function resumeWithModel(
  project: Project,
  wish: ResumeWish,
  listener: ModelListener,
): Promise<ModelWritten> {
  const kept = (await project.writes.find(wish.id)) === null ? await takeUpAsk(project, wish.id) : null;
  const id = kept === null ? wish.id : await findLeftWrite(project, kept.id);
  if (kept !== null && id === null) return askAgain(project, kept, wish, listener);
  return goOnWithFile(project, { ...wish, id: id ?? wish.id }, listener);
}

/** No file was begun, or all that were are committed. */
async function askAgain(project: Project, kept: Ask, wish: ResumeWish, listener: ModelListener): Promise<ModelWritten> {
  const { message } = await maskMessage(project, wish);
  const asked = await maskString(project.masker, kept.message);
  const text = [asked, ...(message ? [message] : [])].join('\n\n');
  return askModel(project, { ...kept, message: text }, wish, listener);
}

async function goOnWithFile(project: Project, wish: ResumeWish, listener: ModelListener): Promise<ModelWritten> {
  const found = await project.writes.find(wish.id);
  const phase = found?.state?.phase ?? null;
  const { message } = await maskMessage(project, wish);
  const intent = await maskString(project.masker, found?.record?.intent ?? '');
  const held = await takeUpWrite(project, wish.id);
  const asked = held.record.ask && (await maskString(project.masker, held.record.ask.message));
  const talk = openTalk(project, wish, toMessages(project, { ...held.record, intent }, asked, message));
  const ask = held.record.ask ?? null;
  const conversation = { project, ask, talk, listener, session: wish.session, written: nothingWritten() };
  listener.onBegun(held.record);
  const receive = () => (isWhole(phase) ? correct(project, talk, held, listener) : goOn(project, talk, held, listener));
  return converse(conversation, await takeFile(conversation, held, receive));
}

/** Its end marker had come. */
function isWhole(phase: Phase | null): boolean {
  return phase !== null && !['awaiting_content', 'receiving', 'expired'].includes(phase);
}

/** As if it had been announced just now, in answer to the message that it was announced for. */
function toMessages(
  project: Project,
  record: WriteRecord,
  asked: string | undefined,
  message: string | undefined,
): ModelMessage[] {
  const { id, intent, target, operation, endMarker } = record;
  const call = {
    id: 'call_1',
    name: beginTool.name,
    arguments: JSON.stringify({ intent, target_file: target, operation }),
  };
  const result = renderBegun({
    record,
    directory: project.writes.directoryOf(id),
    instructions: `Now output content. End with ${endMarker} on its own line.`,
  });
  return [
    { role: 'system', content: writeProtocol },
    {
      role: 'user',
      content: [asked ?? `Write ${target} (${operation}): ${intent}`, ...(message ? [message] : [])].join('\n\n'),
    },
    { role: 'assistant', content: '', toolCalls: [call] },
    { role: 'tool', toolCallId: call.id, content: result },
  ];
}

async function correct(project: Project, talk: Talk, held: HeldWrite, listener: ModelListener): Promise<FileFromModel> {
  const { shown } = await readShown(project, held);
  talk.messages.push({ role: 'assistant', content: `${shown}${held.record.endMarker}` });
  return correctWithModel(project, talk, held, listener);
}

async function goOn(project: Project, talk: Talk, held: HeldWrite, listener: ModelListener): Promise<FileFromModel> {
  await dropMarkerPart(project, held);
  const earlier = await readShown(project, held);
  return receiveFromModel(project, talk, held, listener, earlier.text.trim() === '' ? undefined : earlier);
}

/** Whatever wrote it: nothing goes into a request unmasked. */
async function readShown(project: Project, held: HeldWrite): Promise<{ text: string; shown: string }> {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(await readContent(held));
  return { text, shown: await maskString(project.masker, text) };
}

/** The connection may have been cut within the end marker, which is no content. */
async function dropMarkerPart(project: Project, held: HeldWrite): Promise<void> {
  const content = await readContent(held);
  const start = content.lastIndexOf(10) + 1;
  const line = new TextDecoder().decode(content.subarray(start)).trimEnd();
  if (line !== '' && held.record.endMarker.startsWith(line)) {
    await replaceContent(project, held, content.slice(0, start));
  }
}

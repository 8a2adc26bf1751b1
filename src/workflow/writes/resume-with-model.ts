/** Has a model go on with a write session that a cut connection, an error or a crash has left. */
import type { ModelMessage } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import type { Phase, WriteRecord } from '../../write/write.ts';
import { maskMessage } from '../line/mask-message.ts';
import { maskString } from '../line/mask-text.ts';
import { replaceContent } from './append.ts';
import { readContent, type HeldWrite } from './held.ts';
import { takeUpAsk, type Ask } from './keep-ask.ts';
import { openDialogue, type Dialogue } from './dialogue.ts';
import { correctWithModel, receiveFromModel, type FileFromModel } from './receive-from-model.ts';
import { takeUpWrite } from './recover.ts';
import {
  askModel,
  converse,
  findLeftWrite,
  nothingWritten,
  takeFile,
  type ModelListener,
  type ModelWriteOptions,
  type ModelWritten,
} from './write-with-model.ts';
import { beginTool, renderBegun, writeProtocol } from '../../conversation/write-tool.ts';

export interface ResumeOptions extends Omit<ModelWriteOptions, 'message'> {
  /** The id of the write session, or of the message that was to begin one. */
  id: string;
  /** Says more than the intent of the session. */
  message: string | undefined;
}

/**
 * It goes on from the last line that was saved; what was whole is checked again, and corrected if need be. Throws
 * UNKNOWN_WRITE, WRITE_ACTIVE, LOCKED, STAGING_DAMAGED, and as `writeWithModel`.
 */
export async function resumeWithModel(
  project: Project,
  options: ResumeOptions,
  listener: ModelListener,
): Promise<ModelWritten> {
  const kept = (await project.writes.find(options.id)) === null ? await takeUpAsk(project, options.id) : null;
  const id = kept === null ? options.id : await findLeftWrite(project, kept.id);
  if (kept !== null && id === null) return askAgain(project, kept, options, listener);
  return goOnWithFile(project, { ...options, id: id ?? options.id }, listener);
}

/** Asks the message again: no file was begun, or all files are committed. */
async function askAgain(
  project: Project,
  kept: Ask,
  options: ResumeOptions,
  listener: ModelListener,
): Promise<ModelWritten> {
  const { message } = await maskMessage(project, options);
  const asked = await maskString(project.masker, kept.message);
  const text = [asked, ...(message ? [message] : [])].join('\n\n');
  return askModel(project, { ...kept, message: text }, options, listener);
}

async function goOnWithFile(project: Project, options: ResumeOptions, listener: ModelListener): Promise<ModelWritten> {
  const found = await project.writes.find(options.id);
  const phase = found?.state?.phase ?? null;
  const { message } = await maskMessage(project, options);
  const intent = await maskString(project.masker, found?.record?.intent ?? '');
  const held = await takeUpWrite(project, options.id);
  const asked = held.record.ask && (await maskString(project.masker, held.record.ask.message));
  const dialogue = openDialogue(project, options, toMessages(project, { ...held.record, intent }, asked, message));
  const ask = held.record.ask ?? null;
  const conversation = { project, ask, dialogue, listener, session: options.session, written: nothingWritten() };
  listener.onBegun(held.record);
  const calls = await takeFile(conversation, held, () => goOn(project, dialogue, held, listener, phase));
  return converse(conversation, calls);
}

/** Makes a conversation in which the file was announced just now, in answer to the message that it was announced for. */
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

async function goOn(
  project: Project,
  dialogue: Dialogue,
  held: HeldWrite,
  listener: ModelListener,
  phase: Phase | null,
): Promise<FileFromModel> {
  if (phase !== null && !['awaiting_content', 'receiving', 'expired'].includes(phase)) {
    // The end marker had come.
    const { shown } = await readShown(project, held);
    dialogue.messages.push({ role: 'assistant', content: `${shown}${held.record.endMarker}` });
    return correctWithModel(project, dialogue, held, listener);
  }
  await dropMarkerPart(project, held);
  const earlier = await readShown(project, held);
  return receiveFromModel(project, dialogue, held, listener, earlier.text.trim() === '' ? undefined : earlier);
}

/** Nothing goes into a request unmasked, whoever wrote it. */
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

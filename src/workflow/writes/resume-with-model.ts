/** Has a model go on with a write session that a cut connection, an error or a crash has left. */
import { userMessages } from '../../conversation/transcript.ts';
import { beginTool, renderBegun, writeProtocol } from '../../conversation/write-tool.ts';
import type { Model, ModelMessage, ModelRequest } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef } from '../../names.ts';
import { toShellWord } from '../../session/shell-word.ts';
import { readLine } from '../../view/view.ts';
import type { Phase, WriteRecord, WriteResult } from '../../write/write.ts';
import { findHeadLine } from '../line/find.ts';
import { maskString } from '../line/mask-text.ts';
import type { Usage } from '../line/receive-answer.ts';
import { replaceContent } from './append.ts';
import { openDialogue, type Dialogue } from './dialogue.ts';
import { findNewestWrites } from './find-target.ts';
import { readContent, type HeldWrite } from './held.ts';
import { correctWithModel, receiveFromModel, type FileFromModel, type FileListener } from './receive-from-model.ts';
import { takeUpWrite } from './recover.ts';

export interface ResumeOptions {
  /** The id of the write session. */
  id: string;
  model: Model;
  parameters: ModelRequest['parameters'];
  signal: AbortSignal;
}

/** Hears how the content comes. */
export interface ResumeListener extends FileListener {
  onBegun(record: WriteRecord): void;
}

export interface ResumedFile {
  record: WriteRecord;
  result: WriteResult;
  usage: Usage | null;
  /** The command that asks for the answer of the turn; null when no turn waits for one. */
  goesOn: string | null;
}

/**
 * It goes on from the last line that was saved; what was whole is checked again, and corrected if need be. Throws
 * UNKNOWN_WRITE, WRITE_ACTIVE, LOCKED, STAGING_DAMAGED, and as `receiveFromModel`.
 */
export async function resumeWithModel(
  project: Project,
  options: ResumeOptions,
  listener: ResumeListener,
): Promise<ResumedFile> {
  const found = await project.writes.find(options.id);
  const phase = found?.state?.phase ?? null;
  const held = await takeUpWrite(project, options.id);
  try {
    const dialogue = openDialogue(project, options, await toMessages(project, held.record));
    listener.onBegun(held.record);
    const { result } = await goOn(project, dialogue, held, listener, phase);
    return { record: held.record, result, usage: dialogue.usage, goesOn: await findWayOn(project, held.record) };
  } finally {
    await held.staged.close();
  }
}

/** Makes a conversation in which the file was announced just now, in answer to the message that it was announced for. */
async function toMessages(project: Project, record: WriteRecord): Promise<ModelMessage[]> {
  const { id, target, operation, endMarker } = record;
  const intent = await maskString(project.masker, record.intent);
  const asked = (await findMessage(project, record)) ?? `Write ${target} (${operation}): ${intent}`;
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
    { role: 'user', content: asked },
    { role: 'assistant', content: '', toolCalls: [call] },
    { role: 'tool', toolCallId: call.id, content: result },
  ];
}

/** The message of the turn that waits on the line of the file, masked. */
async function findMessage(project: Project, { line }: WriteRecord): Promise<string | undefined> {
  const { store } = project.repository;
  const found = line ?? (await findNewestWrites(project));
  const tip = found && (await store.resolve(found.ref));
  const latest = tip === null ? null : (await readLine(store, tip)).latest;
  const message = latest?.status === 'open' ? userMessages(latest.records).at(-1) : undefined;
  return message === undefined ? undefined : maskString(project.masker, message);
}

/** Names the branch where HEAD is not on it; off every session's branch, the command means the one of such files by itself. */
async function findWayOn(project: Project, record: WriteRecord): Promise<string | null> {
  if ((await findMessage(project, record)) === undefined) return null;
  const here = (await findHeadLine(project))?.ref ?? null;
  const line = record.line ?? (here === null ? null : await findNewestWrites(project));
  const isHere = line === null || line.ref === here;
  return isHere ? 'teddy write ask' : `teddy write ask --session ${toShellWord(shortRef(line.ref))}`;
}

async function goOn(
  project: Project,
  dialogue: Dialogue,
  held: HeldWrite,
  listener: FileListener,
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

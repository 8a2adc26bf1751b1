/** `WritePlanTool_begin` in a conversation: the model's next answer is the content of a file, through a write session. */
import { TeddyError } from '../../errors.ts';
import type { Model, ModelMessage, ModelRequest, ModelToolCall } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import { shortRef } from '../../names.ts';
import type { WriteRecord } from '../../write/write.ts';
import { maskString } from '../line/mask-text.ts';
import type { ReadyLine } from '../line/prepare.ts';
import type { Usage } from '../line/receive-answer.ts';
import { beginHeldWrite } from '../writes/begin.ts';
import { toFreeId, type Dialogue } from '../writes/dialogue.ts';
import { receiveFromModel } from '../writes/receive-from-model.ts';
import type { ChatListener, ToolOutcome } from './chat.ts';
import { beginTool, renderBegun, renderToolError, type BeginArguments } from '../../conversation/write-tool.ts';

export interface WritingModel {
  model: Model;
  request: Omit<ModelRequest, 'messages'>;
}

interface WritingContext {
  project: Project;
  line: ReadyLine;
  listener: ChatListener;
  writing: WritingModel;
}

export interface WrittenOutcome {
  outcome: ToolOutcome;
  usage: Usage | null;
  /** The model could not be heard to the end, and cannot be asked for more now. */
  failure: unknown;
}

/** The model gets one result for the file, however many answers it took; the content is in the file's own entry. */
export async function writeFile(
  { project, line, listener, writing }: WritingContext,
  messages: readonly ModelMessage[],
  call: ModelToolCall,
  { intent, target, operation }: BeginArguments,
): Promise<WrittenOutcome> {
  let dialogue: Dialogue | null = null;
  let record: WriteRecord | null = null;
  try {
    const head = await project.repository.workspace?.head();
    const session = head?.ref === line.ref ? undefined : shortRef(line.ref);
    const request = { intent, target, operation, session, hasController: true };
    const { begun, held } = await beginHeldWrite(project, request);
    try {
      for (const warning of begun.warnings) project.notices.warn(warning);
      ({ record } = begun);
      listener.file.onBegun(record);
      dialogue = openDialogue(writing, messages, call, renderBegun(begun));
      const { result } = await receiveFromModel(project, dialogue, held, listener.file);
      const output = JSON.stringify({
        session_id: record.id,
        status: 'completed',
        written_path: record.target,
        commit: result.commit,
        validation_summary: result.summary,
      });
      return { outcome: { output, isError: false }, usage: dialogue.usage, failure: null };
    } finally {
      await held.staged.close();
    }
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    const outcome = await toFailed(project, record, error);
    return { outcome, usage: dialogue?.usage ?? null, failure: isOfModel(error) ? error : null };
  }
}

/** The dialogue has only this call of the answer; the others have their turn before or after it. */
function openDialogue(
  { model, request }: WritingModel,
  messages: readonly ModelMessage[],
  call: ModelToolCall,
  begun: string,
): Dialogue {
  const id = toFreeId(messages, call.id);
  return {
    model,
    request,
    messages: [
      ...messages,
      { role: 'assistant', content: '', toolCalls: [{ ...call, id }] },
      { role: 'tool', toolCallId: id, content: begun },
    ],
    usage: null,
  };
}

async function toFailed(project: Project, record: WriteRecord | null, error: TeddyError): Promise<ToolOutcome> {
  const text = error.hint === undefined ? error.message : `${error.message} ${error.hint}`;
  const kept = record === null ? '' : ` What had arrived is in write session ${record.id}.`;
  const output = renderToolError(await maskString(project.masker, `${text}${kept}`));
  return { output, isError: true, ...(error.code === 'INTERRUPTED' ? { reason: 'aborted' as const } : {}) };
}

/** Tells an error of the model, the network or the user's interruption. */
function isOfModel({ code }: TeddyError): boolean {
  return code === 'INTERRUPTED' || code === 'NO_MODEL' || code.startsWith('MODEL_');
}

/** A request for a content offers these tools. */
export const writingTools = [beginTool];

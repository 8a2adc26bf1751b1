/**
 * A conversation's writing tools: `edit_file`, and `WritePlanTool_begin`, after which the model's next answer is a
 * file's content. Both use a write session, and the user sees the diff before teddy installs anything.
 */
import { TeddyError } from '../../errors.ts';
import type { EditFileCall } from '../../conversation/prompts/chat-tools.ts';
import { beginTool, renderBegun, renderToolError, type BeginArguments } from '../../conversation/prompts/write-tool.ts';
import type { Model, ModelMessage, ModelRequest, ModelToolCall } from '../../ports/model.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { EditAction } from '../../plan/actions/edit.ts';
import type { Problem } from '../../plan/match/problem.ts';
import type { Effect } from '../../plan/effects/effect.ts';
import { toEffect } from '../../plan/actions/actions.ts';
import { shortRef } from '../../names.ts';
import { parseRepoPath } from '../../session/paths/paths.ts';
import type { WriteResult } from '../../write/write.ts';
import { inspectWithTwins } from '../line/find-twin.ts';
import { maskString } from '../line/mask-text.ts';
import type { ReadyLine } from '../line/prepare.ts';
import type { Usage } from '../line/receive-answer.ts';
import { beginHeldWrite, dropHeldWrite, toInstructions, type WriteRequest } from '../writes/begin.ts';
import { toFreeId, type Dialogue } from '../writes/dialogue.ts';
import { receiveFromModel, type FileListener } from '../writes/receive-from-model.ts';
import { writeWhole } from '../writes/run-write.ts';
import { toFailure, type CallDecision, type ChatListener, type OnlyWrites, type ToolOutcome } from './chat.ts';
import { openChatFiles, reachPath } from './files.ts';
import { toNowhere } from './run-command-tool.ts';

export interface WritingModel {
  model: Model;
  request: Omit<ModelRequest, 'messages'>;
}

type HeldWrite = Awaited<ReturnType<typeof beginHeldWrite>>['held'];
export type CheckedChange = Parameters<NonNullable<FileListener['approveChange']>>[0];
/** A yes, or the user's words instead. */
export type Answer = Exclude<CallDecision, { allow: unknown }>;
/** Asks about a change. Throws INTERRUPTED. */
export type AskChange = (change: CheckedChange) => Promise<Answer>;

interface WritingContext {
  project: Project;
  line: ReadyLine;
  listener: ChatListener;
  signal: AbortSignal;
  writing: WritingModel;
  onlyWrites: OnlyWrites | undefined;
  left: OnlyWrites['left'];
  ask: AskChange;
}

export interface WrittenOutcome {
  /** The user's answer if it was not a yes; in that case nothing was written. */
  declined: Exclude<Answer, true> | null;
  outcome: ToolOutcome;
  usage: Usage | null;
  /** Set when the model's content was cut off, and teddy cannot ask the model for more now. */
  failure: unknown;
}

/**
 * Writes a file. The model receives one result for the file, however many answers it took; the content is in the file's
 * own entry.
 */
export async function writeFile(
  context: WritingContext,
  messages: readonly ModelMessage[],
  call: ModelToolCall,
  { intent, target, operation }: BeginArguments,
): Promise<WrittenOutcome> {
  const { project, listener, writing, left } = context;
  const writeContext: { dialogue: Dialogue | null; held: HeldWrite | null } = { dialogue: null, held: null };
  const asked = askOnce(context.ask);
  try {
    return await inSession(context, { intent, target, operation }, async (held) => {
      if (left === undefined && !(await isWanted(listener, held)))
        return toRefused(renderToolError(`The user does not want ${held.record.target} to be written.`));
      writeContext.held = held;
      listener.file.onBegun(held.record);
      const directory = project.writes.directoryOf(held.record.id);
      const begun = { record: held.record, directory, instructions: toInstructions(held.record) };
      const dialogue = openDialogue(writing, messages, call, renderBegun(begun));
      writeContext.dialogue = dialogue;
      const { result } = await receiveFromModel(project, dialogue, left ?? { held }, {
        ...listener.file,
        approveChange: asked.approve,
      });
      listener.file.onWritten?.({ record: held.record, result });
      return { declined: null, outcome: toWritten(held, result), usage: dialogue.usage, failure: null };
    });
  } catch (error) {
    if (!(error instanceof TeddyError)) throw error;
    const usage = writeContext.dialogue?.usage ?? null;
    const declined = asked.declined();
    if (declined !== null) return { declined, outcome: toFailure(error.message), usage, failure: null };
    const outcome = await toFailed(project, writeContext.held, error);
    return { declined: null, outcome, usage, failure: isForUser(error, context) ? error : null };
  }
}

/**
 * Asks whether the user wants the file; an unwanted file leaves no trace. The listener's author may not use types, so
 * anything but a yes means no.
 */
async function isWanted({ file }: ChatListener, held: HeldWrite): Promise<boolean> {
  let isYes = false;
  try {
    isYes = file.wants === undefined || (await file.wants(held.record)) === true;
  } finally {
    if (!isYes) await dropHeldWrite(held);
  }
  return isYes;
}

/** Edits a file. Leaves nothing in staging unless teddy is already replacing the file. Throws INTERRUPTED. */
export async function editFile(context: WritingContext, call: EditFileCall): Promise<WrittenOutcome> {
  const { project, line } = context;
  const files = await openChatFiles(context);
  const { workspace } = files;
  if (workspace === null) return toRefused(`edit_file: ${toNowhere(line.ref, 'no file can be edited')}`);
  const reached = await reachPath(context, files, call.path);
  // A FIND's errors quote the file and count its matches, so they are only for files that the model may read.
  const isWithheld = 'problem' in reached && !reached.isAbsent;
  const edit = isWithheld ? { problem: `${reached.problem}.` } : await findEdit(project, workspace, call);
  if ('problem' in edit) return toRefused(await maskString(project.masker, `edit_file ${call.path}: ${edit.problem}`));
  const { path, before, after } = edit;
  const count = call.edits.length;
  const intent = `${count} ${count === 1 ? 'edit' : 'edits'} of ${path}`;
  try {
    return await inSession(context, { intent, target: path, operation: 'overwrite' }, (held) =>
      installEdit(context, held, { before, after }),
    );
  } catch (error) {
    if (!(error instanceof TeddyError) || error.code === 'INTERRUPTED') throw error;
    const { code, message, hint } = error;
    const changed =
      'the file has changed on disk since the edits were applied to it; nothing was written. Read it again.';
    const text = code === 'TARGET_CHANGED' ? changed : [message, hint].filter(Boolean).join(' ');
    return toRefused(await maskString(project.masker, `edit_file ${path}: ${text}`));
  }
}

async function installEdit(
  { project, signal, ask }: WritingContext,
  held: HeldWrite,
  { before, after }: { before: Uint8Array; after: Uint8Array },
): Promise<WrittenOutcome> {
  const asked = askOnce(ask);
  const options = { base: before, content: after, signal, approve: asked.approve, refuses: ['secrets'] };
  const finalized = await writeWhole(project, held, options);
  if (finalized.isWritten)
    return { declined: null, outcome: toWritten(held, finalized.result), usage: null, failure: null };
  const declined = asked.declined();
  if (declined !== null) return { ...toRefused('The change was not approved.'), declined };
  return toRefused(`edit_file ${held.record.target}: ${finalized.message}`);
}

function toRefused(output: string): WrittenOutcome {
  return { declined: null, outcome: toFailure(output), usage: null, failure: null };
}

type FoundEdit = { path: string; before: Uint8Array; after: Uint8Array } | { problem: string };

async function findEdit(project: Project, workspace: Workspace, call: EditFileCall): Promise<FoundEdit> {
  const parsed = parseRepoPath(call.path, workspace.root);
  if ('problem' in parsed) return { problem: `${parsed.problem}.` };
  const at = { line: 1, column: 1 };
  const pairs = call.edits.map((edit) => ({ ...at, ...edit }));
  const action: EditAction = {
    ...at,
    type: 'EDIT',
    index: 1,
    description: null,
    path: parsed.path,
    matchAll: call.matchAll,
    pairs,
  };
  const inspect = inspectWithTwins(project, workspace);
  const outcome = await toEffect(action, { inspect, mask: (text) => maskString(project.masker, text) });
  if ('problems' in outcome)
    return { problem: outcome.problems.map((found) => describe(found, parsed.path)).join('\n') };
  const { before, after } = outcome.effect as Extract<Effect, { kind: 'write' }>;
  if (before === null || project.hash(before) === project.hash(after)) return { problem: 'the edits change nothing.' };
  return { path: parsed.path, before, after };
}

/** Describes a problem in the tool's words, because a plan's hints name its parameters and actions. */
function describe({ message, hint }: Problem, path: string): string {
  const reason = message.replace(`EDIT ${path}: `, '');
  return [reason, ...(hint === undefined ? [] : [hint])]
    .join(' ')
    .replace('`- **Match All:** true`', '`match_all`')
    .replace('Use CREATE for', `Use ${beginTool.name} for`);
}

/** Wraps a question and remembers an answer that was not a yes. */
function askOnce(ask: AskChange): {
  approve: (change: CheckedChange) => Promise<boolean>;
  declined(): WrittenOutcome['declined'];
} {
  let declined: WrittenOutcome['declined'] = null;
  return {
    async approve(change) {
      const decision = await ask(change);
      if (decision !== true) declined = decision;
      return decision === true;
    },
    declined: () => declined,
  };
}

async function inSession<Value>(
  { project, line, onlyWrites, left }: WritingContext,
  wanted: Pick<WriteRequest, 'intent' | 'target' | 'operation'>,
  use: (held: HeldWrite) => Promise<Value>,
): Promise<Value> {
  const head = await project.repository.workspace?.head();
  const isHere = onlyWrites?.isOffLine === true || head?.ref === line.ref;
  const session = isHere ? undefined : shortRef(line.ref);
  const begin = async () => {
    const { begun, held } = await beginHeldWrite(project, { ...wanted, session, hasController: true });
    for (const warning of begun.warnings) project.notices.warn(warning);
    return held;
  };
  const held = left?.held ?? (await begin());
  try {
    return await use(held);
  } finally {
    await held.staged.close();
  }
}

function toWritten({ record }: HeldWrite, result: WriteResult): ToolOutcome {
  const output = JSON.stringify({
    session_id: record.id,
    status: 'completed',
    written_path: record.target,
    commit: result.commit,
    validation_summary: result.summary,
  });
  return { output, isError: false };
}

/** Opens a dialogue that contains only this one of the answer's calls; the others run before or after it. */
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

async function toFailed(project: Project, held: HeldWrite | null, error: TeddyError): Promise<ToolOutcome> {
  // An error's hint in the middle of a file names commands that only the user can run.
  const rest = held === null ? (error.hint ?? '') : `What had arrived is in write session ${held.record.id}.`;
  const text = `${error.message.replace(/\.?$/, '.')} ${rest}`.trimEnd();
  const output = renderToolError(await maskString(project.masker, text));
  return { output, isError: true, ...(error.code === 'INTERRUPTED' ? { reason: 'aborted' as const } : {}) };
}

/**
 * Returns true if the error is for the user. When the user asks only for files, teddy reports errors that the model
 * cannot fix, because the user may have to pay for more.
 */
function isForUser({ code }: TeddyError, { onlyWrites }: WritingContext): boolean {
  if (onlyWrites !== undefined) return !codesForModel.includes(code);
  return code === 'INTERRUPTED' || code === 'NO_MODEL' || code.startsWith('MODEL_');
}

const codesForModel = ['BAD_TARGET', 'BAD_OPERATION', 'FILES_IN_THE_WAY', 'FILE_NOT_FOUND'];

/** The tools offered with a request for content. */
export const writingTools = [beginTool];

/** Runs an answer's calls one after the other, records each in staging as it ends, and saves them as one entry. */
import {
  abortedOutput,
  deniedOutput,
  toInstructedOutput,
  type AssistantRecord,
  type KnownRecord,
  type ToolResultRecord,
  type ToolUseRecord,
} from '../../conversation/records/record.ts';
import { chatTools, parseCall, type ParsedCall } from '../../conversation/prompts/chat-tools.ts';
import { isAllowed, toAllowable } from '../../conversation/prompts/allowed-commands.ts';
import { encodeRecord } from '../../conversation/records/transcript.ts';
import { TeddyError } from '../../errors.ts';
import type { AnswerTarget, StagedAnswer } from '../../ports/disk.ts';
import type { ModelMessage, ModelToolCall } from '../../ports/model.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid } from '../../names.ts';
import { parseObject } from '../../session/text/parse-object.ts';
import { keepStaged, type StagedReception } from '../turn/ask-model.ts';
import { noteAnswer, toTokens } from '../line/keep-answer.ts';
import { keepExchange } from '../line/keep-exchange.ts';
import { maskString } from '../line/mask-text.ts';
import type { ReadyLine } from '../line/prepare.ts';
import { sumUsage, type Usage } from '../line/receive-answer.ts';
import type { CallDecision, ChatListener, OnlyWrites, ShownCall, ToolOutcome } from './chat.ts';
import { performCall } from './perform-call.ts';
import {
  editFile,
  writeFile,
  type Answer,
  type AskChange,
  type CheckedChange,
  writingTools,
  type WritingModel,
} from './write-file.ts';
import { renderUnifiedDiff } from '../../plan/match/diff.ts';
import { toNotRun, watchResult, type CallWatch } from './watch-calls.ts';
import { toLabel } from '../../session/entries/entry.ts';

export interface CallRun {
  project: Project;
  line: ReadyLine;
  listener: ChatListener;
  signal: AbortSignal;
  onlyWrites: OnlyWrites | undefined;
  /** The file for this one call. */
  left: OnlyWrites['left'];
  /** The model to ask for a file's content. */
  writing: WritingModel;
  /** The messages that the model received before it made the calls. */
  messages: readonly ModelMessage[];
  watch: CallWatch;
}

export interface RunCalls {
  commit: Oid;
  /** The transcript's current records. */
  records: KnownRecord[];
  calls: ShownCall[];
  isDenied: boolean;
  /** The tokens of the answer, and of the answers requested during the calls. */
  usage: Usage | null;
}

interface Batch extends CallRun {
  place: AnswerTarget;
  journal: StagedAnswer;
  records: KnownRecord[];
  /** Why the batch ended early; the results of the remaining calls state the reason. */
  end: 'denied' | 'aborted' | null;
  /** Thrown once the batch is saved. */
  failure: unknown;
  usage: Usage | null;
}

/**
 * Runs the calls. Throws INTERRUPTED, and the model's errors when a file's content is cut off, but only after
 * everything is on the line.
 */
export async function runCalls(run: CallRun, reception: StagedReception): Promise<RunCalls> {
  const batch = await beginBatch(run, reception);
  const shown: ShownCall[] = [];
  for (const call of reception.received.calls) {
    const view = await toShownCall(run.project, call);
    shown.push(view);
    await runOne(batch, call, view);
  }
  // The user interrupted during the last call, so teddy may not ask anybody after it.
  if (run.signal.aborted) abort(batch, toInterrupted());
  const text = batch.records.map(encodeRecord).join('');
  const commit = await keepStaged(run.project, batch.place, text, batch.journal, () =>
    keepExchange(run.project, run.line, batch.place, batch.records, batch.usage),
  );
  if (batch.failure !== null) throw batch.failure;
  return {
    commit,
    records: batch.records,
    calls: shown,
    isDenied: batch.end === 'denied',
    usage: batch.usage,
  };
}

/** From here on, the calls are on disk with the text before them, which replaces the answer's own staging. */
async function beginBatch(run: CallRun, { place, received, staged }: StagedReception): Promise<Batch> {
  const { project } = run;
  const records = await toRecords(project, place, received);
  const ownPlace: AnswerTarget = { ...place, id: project.ids.entryId(), unit: 'exchange' };
  const journal = project.answers.begin(ownPlace);
  for (const record of records) journal.add(encodeRecord(record));
  await journal.save();
  await staged.discard();
  return { ...run, place: ownPlace, journal, records, end: null, failure: null, usage: received.usage };
}

async function toRecords(
  project: Project,
  { id }: AnswerTarget,
  received: StagedReception['received'],
): Promise<KnownRecord[]> {
  const timestamp = project.clock.now().toISOString();
  const said: AssistantRecord = {
    type: 'assistant',
    id,
    timestamp,
    message: { role: 'assistant', content: received.text },
    source: 'text',
    ...toTokens(received.usage),
  };
  return [
    ...noteAnswer(project, received),
    ...(received.text.trim() === '' ? [] : [said]),
    ...received.calls.map((call) => toCallRecord(project, call, timestamp)),
  ];
}

function toCallRecord(
  project: Project,
  { id, name, arguments: text }: ModelToolCall,
  timestamp: string,
): ToolUseRecord {
  return {
    type: 'tool_use',
    id: project.ids.entryId(),
    timestamp,
    tool_call_id: id,
    tool_name: name,
    tool_input: parseObject(text) ?? text,
  };
}

/** A command that changes more files has unpacked or built something, which git should ignore. */
const maxChangedFiles = 200;

async function runOne(batch: Batch, call: ModelToolCall, shown: ShownCall): Promise<void> {
  const { stuck } = batch.watch;
  const isRun = batch.end === null && stuck === null;
  const outcome = stuck === null || batch.end !== null ? await decide(batch, call, shown) : toNotRun(stuck);
  if (isRun) watchResult(batch.watch, call, outcome, !('problem' in parseCall(call)));
  const record: ToolResultRecord = {
    type: 'tool_result',
    id: batch.project.ids.entryId(),
    timestamp: batch.project.clock.now().toISOString(),
    tool_call_id: call.id,
    output: outcome.output,
    is_error: outcome.isError,
    ...(outcome.reason === undefined ? {} : { reason: outcome.reason }),
    ...(outcome.changed === undefined ? {} : { changed_files: outcome.changed.slice(0, maxChangedFiles) }),
  };
  batch.records.push(record);
  batch.journal.add(encodeRecord(record));
  await batch.journal.save();
  batch.listener.onResult(shown, outcome);
}

const denied: ToolOutcome = { output: deniedOutput, isError: true, reason: 'denied' };
const aborted: ToolOutcome = { output: abortedOutput, isError: true, reason: 'aborted' };

async function decide(batch: Batch, call: ModelToolCall, shown: ShownCall): Promise<ToolOutcome> {
  const { signal, listener } = batch;
  if (signal.aborted) abort(batch, toInterrupted());
  if (batch.end !== null) return batch.end === 'denied' ? denied : aborted;
  const parsed = parseCall(call, batch.onlyWrites === undefined ? chatTools : writingTools);
  if ('problem' in parsed) return { output: await maskString(batch.project.masker, parsed.problem), isError: true };
  try {
    if (isWriting(parsed)) return await write(batch, call, parsed, shown);
    const decision = shown.needsApproval ? await decideCommand(batch, parsed, shown) : true;
    if (decision !== true) return await decline(batch, decision);
    listener.onCall(shown);
    return await performCall({ ...batch, onOutput: listener.onOutput }, parsed);
  } catch (error) {
    if (!(error instanceof TeddyError) || (error.code !== 'INTERRUPTED' && !signal.aborted)) throw error;
    abort(batch, error);
    return aborted;
  }
}

/**
 * Decides on a command. Does not ask about a command that the user has already allowed, unless there is nobody to ask
 * at all.
 */
async function decideCommand({ project, line, listener }: Batch, call: ParsedCall, shown: ShownCall): Promise<Answer> {
  const allowed = await project.allowed.list(line.session);
  const isKnown = call.name === 'run_command' && isAllowed(allowed, call.command, call.cwd);
  const decision = isKnown && listener.approve !== null ? true : await askFor(listener, shown);
  if (typeof decision !== 'object' || !('allow' in decision)) return decision;
  const more = shown.allowable?.[decision.allow];
  if (more) await project.allowed.keep(line.session, [...allowed, more]);
  return true;
}

/** Asks the listener, whose author may not use types: anything that is neither exactly a yes nor an instruction means no. */
async function askFor({ approve }: ChatListener, shown: ShownCall): Promise<CallDecision> {
  const decision: unknown = await approve?.(shown);
  if (typeof decision !== 'object' || decision === null) return decision === true;
  if ('allow' in decision)
    return (decision.allow === 'line' || decision.allow === 'words') && shown.allowable?.[decision.allow]
      ? { allow: decision.allow }
      : false;
  if (!('instruction' in decision) || typeof decision.instruction !== 'string') return false;
  return decision.instruction.trim() !== '' && { instruction: decision.instruction };
}

async function toInstructed({ project }: Batch, instruction: string): Promise<ToolOutcome> {
  const output = await maskString(project.masker, toInstructedOutput(instruction));
  return { output, isError: false, reason: 'instructed' };
}

function abort(batch: Batch, error: unknown): void {
  batch.end = 'aborted';
  batch.failure ??= error;
}

function toInterrupted(): TeddyError {
  return new TeddyError('INTERRUPTED', 'Interrupted while tools were running; their results so far were saved.');
}

/** Asks about a change; a change cannot be allowed for the rest of the session. */
async function askChange(listener: ChatListener, shown: ShownCall): Promise<Answer> {
  const decision = await askFor(listener, shown);
  return typeof decision === 'object' && 'allow' in decision ? false : decision;
}

async function decline(batch: Batch, decision: Exclude<Answer, true>): Promise<ToolOutcome> {
  if (typeof decision === 'object') return toInstructed(batch, decision.instruction);
  batch.end = 'denied';
  return denied;
}

type WritingCall = Extract<ParsedCall, { name: 'WritePlanTool_begin' | 'edit_file' }>;

function isWriting(call: ParsedCall): call is WritingCall {
  return call.name === 'WritePlanTool_begin' || call.name === 'edit_file';
}

/** Writes a file; asks the user about the change as soon as the change is complete. */
async function write(batch: Batch, call: ModelToolCall, parsed: WritingCall, shown: ShownCall): Promise<ToolOutcome> {
  const { project, listener } = batch;
  if (listener.approve === null) return decline(batch, false);
  listener.onCall(shown);
  const ask: AskChange = async (change) => askChange(listener, { ...shown, ...(await toShownChange(project, change)) });
  const context = { ...batch, ask };
  const written =
    parsed.name === 'edit_file'
      ? await editFile(context, parsed)
      : await writeFile(context, batch.messages, call, parsed);
  batch.usage = sumUsage(batch.usage, written.usage);
  if (written.failure !== null) abort(batch, written.failure);
  return written.declined === null ? written.outcome : decline(batch, written.declined);
}

async function toShownChange(
  { masker }: Project,
  { path, before, after }: CheckedChange,
): Promise<Pick<ShownCall, 'detail' | 'isDiff'>> {
  const diff = renderUnifiedDiff(path, before, after);
  return { detail: await maskString(masker, diff === '' ? 'Nothing changes.' : diff), isDiff: true };
}

/** The longest tool name to show to the user. */
const maxNameLength = 60;
const maxTextLength = 100;

/**
 * Returns a call in the form shown before it runs. An incomprehensible call needs no approval: it does nothing, and its
 * result explains why.
 */
export async function toShownCall(project: Project, call: ModelToolCall): Promise<ShownCall> {
  const { id } = call;
  const parsed = parseCall(call);
  const masked = (text: string) => maskString(project.masker, text);
  const name = toLabel(await masked(call.name), maxNameLength);
  if ('problem' in parsed) return { id, name, summary: `${name} (not understood)`, detail: null, needsApproval: false };
  const { text, after } = describeCall(parsed);
  const [whole, rest] = [await masked(text), await masked(after)];
  const line = toLine(whole);
  // teddy never stores a command with a secret.
  const allowable = parsed.name === 'run_command' && whole === text ? toAllowable(parsed.command, parsed.cwd) : null;
  return {
    id,
    name,
    summary: [name, line, toLine(rest)].filter((part) => part !== '').join(' '),
    detail: line === whole.trimEnd() ? null : whole,
    ...(allowable === null ? {} : { allowable }),
    needsApproval: parsed.name === 'run_command' || isWriting(parsed),
  };
}

function toLine(text: string): string {
  return toLabel(text, maxTextLength);
}

/** Describes a call: `text` is the important part and may be cut; `after` always follows it. */
function describeCall(call: ParsedCall): { text: string; after: string } {
  switch (call.name) {
    case 'read_file':
      return { text: call.path, after: describeLines(call) };
    case 'list_files':
      return { text: [call.path ?? '', call.pattern ?? ''].filter((part) => part !== '').join(' '), after: '' };
    case 'search_text':
      return { text: JSON.stringify(call.query), after: call.path === null ? '' : `in ${call.path}` };
    case 'run_command':
      return { text: call.command, after: describePlace(call) };
    case 'edit_file':
      return { text: call.path, after: call.edits.length === 1 ? '' : `(${call.edits.length} edits)` };
    case 'WritePlanTool_begin':
      return { text: `${call.operation} ${call.target}`, after: `(${call.intent})` };
  }
}

function describeLines({ fromLine, toLine: last }: { fromLine: number | null; toLine: number | null }): string {
  if (fromLine === null && last === null) return '';
  return `lines ${fromLine ?? 1}-${last ?? ''}`;
}

function describePlace({ cwd, timeoutMs }: { cwd: string | null; timeoutMs: number | null }): string {
  const parts = [
    ...(cwd === null ? [] : [`in ${cwd}`]),
    ...(timeoutMs === null ? [] : [`for at most ${timeoutMs / 1000} s`]),
  ];
  return parts.length === 0 ? '' : `(${parts.join(', ')})`;
}

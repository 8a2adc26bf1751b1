/** Follows Gemini CLI's sessions. */
import { addToHead, type AgentContext, type OpenAgentLines } from '../../conversation/logs/agent-reader.ts';
import { recordsOf, rewritePlan, type PlanFile, type AgentRecords } from '../../conversation/logs/agent-records.ts';
import { addGeminiResult, geminiResponses, geminiText, geminiThoughts, toGeminiUsage } from '../google-parts.ts';
import type { SourcePosition } from '../../conversation/records/import-ids.ts';
import { asText, fieldsOf, hasText, isObject, setOf } from '../../conversation/records/import-values.ts';
import type { AgentLogFormat } from '../agent.ts';

export const geminiLog: AgentLogFormat = {
  isRecord: isGeminiLine,
  open: (context, state) => openLines(context, state),
};

type Fields = Record<string, unknown>;

const types = setOf('user gemini info warning error');
const settings = setOf('messages lastUpdated sessionId summary directories kind memoryScratchpad');

/** The part of an answer that the reader has already passed on; the program may write the answer again, with more. */
interface Given {
  id: string;
  text: boolean;
  thoughts: boolean;
  calls: string[];
  results: string[];
}

interface GeminiState {
  /** The last message; null before the first. */
  last: string | null;
  given?: Given;
  /** The last plan that the model wrote; the call that submits it names its file. */
  plan?: PlanFile | undefined;
  /** The IDs of the last messages. */
  known?: string[];
  /** The message that the next message follows; null when it follows none. */
  rewindTo?: string | null | undefined;
}

/** Begins what the program tells the model in the user's name when the model repeats itself. */
const loopNotice = 'System: Potential loop detected. ';

/** The number of messages to remember after a checkpoint. */
const knownMessages = 64;

/** The lines read from one log. */
interface GeminiLines {
  context: AgentContext;
  state: GeminiState;
  /** Maps a message's ID to the message before it. */
  before: Map<string, string | null>;
  known: Set<string>;
  isFromStart: boolean;
  /** An answer that the program may write again. */
  held: { object: Fields; place: SourcePosition } | null;
}

/**
 * A message that the program writes again replaces its first version, so this function holds an answer back until
 * something else begins. A list of messages repeats earlier ones, and may contain messages that no other line contains.
 */
const openLines: OpenAgentLines = (context, saved) => {
  const state: GeminiState = { last: null, ...saved };
  const isFromStart = Object.keys(saved).length === 0;
  const lines: GeminiLines = {
    context,
    state,
    before: new Map(),
    known: new Set(state.known),
    isFromStart,
    held: null,
  };
  return {
    read: (object, place) => readLine(lines, object, place),
    settle: () => flush(lines),
    heldLines: () => (lines.held === null ? 0 : 1),
    state: () => ({ ...state, known: [...lines.known].slice(-knownMessages) }),
  };
};

/** Returns true if the reader understands the line. */
function readLine(lines: GeminiLines, object: Fields, place: SourcePosition): boolean {
  const { context, state, before } = lines;
  const { sessionId, startTime, kind, directories, parentSessionId, type, $set: set, $rewindTo: target } = object;
  if (isObject(set)) return readSettings(lines, set, place);
  if (hasText(target)) {
    flush(lines);
    state.rewindTo = before.has(target) ? (before.get(target) ?? null) : `before ${target}`;
    return true;
  }
  if (types.has(asText(type) ?? '')) {
    readMessage(lines, object, place);
    return true;
  }
  if (!hasText(sessionId) || type !== undefined) return false;
  const cwd = Array.isArray(directories) ? directories[0] : undefined;
  const parentId = kind === 'subagent' ? parentSessionId : undefined;
  addToHead(context.head, { id: sessionId, startedAt: startTime, cwd, parentId });
  context.log.leaveOut('lines of bookkeeping');
  return true;
}

function readSettings(lines: GeminiLines, set: Fields, place: SourcePosition): boolean {
  const { head, log } = lines.context;
  const { messages, summary, sessionId, directories } = set;
  const list = Array.isArray(messages) ? messages.map(fieldsOf) : [];
  if (hasText(summary)) head.title ??= summary;
  addToHead(head, { id: sessionId, cwd: Array.isArray(directories) ? directories[0] : undefined });
  for (const message of list) readListed(lines, message, place);
  log.leaveOut('lines of bookkeeping');
  return Object.keys(set).every((key) => settings.has(key));
}

function readListed(lines: GeminiLines, message: Fields, place: SourcePosition): void {
  const { branches, log } = lines.context;
  const { id, type, content } = message;
  const text = geminiText(content, log);
  if (isContext(text)) return readContext(lines.context, text);
  if (lines.known.has(asText(id) ?? '')) return;
  if (!types.has(asText(type) ?? '')) return log.leaveOut('messages of unknown types');
  // The message may be before the checkpoint.
  if (!lines.isFromStart) branches.begin({ parent: `before ${asText(id) ?? ''}` });
  else if (text.includes('<state_snapshot>') && !(branches.isEmpty() && lines.held === null))
    readSummary(lines, message, text, place);
  else readMessage(lines, message, place);
}

function readSummary(lines: GeminiLines, { id, timestamp }: Fields, text: string, place: SourcePosition): void {
  flush(lines);
  lines.known.add(asText(id) ?? '');
  lines.context.branches.begin({});
  recordsOf(lines.context, place, timestamp).summary(text, id);
  lines.context.branches.end();
}

function readMessage(lines: GeminiLines, object: Fields, place: SourcePosition): void {
  const { context, state, held } = lines;
  const { id, type, timestamp, content } = object;
  const messageId = asText(id) ?? '';
  if (held !== null && held.object['id'] !== messageId) flush(lines);
  if (
    type === 'gemini' &&
    (state.given?.id === messageId || lines.held !== null || context.ids.isNew('message', messageId))
  ) {
    lines.held = { object, place };
    lines.known.add(messageId);
    return;
  }
  if (type === 'gemini' || !context.ids.isNew('message', messageId)) return context.log.leaveOut('repeated lines');
  begin(lines, messageId);
  if (type === 'user') readUser(lines, object, place);
  else recordsOf(context, place, timestamp).note(geminiText(content, context.log), id);
  context.branches.end();
}

function readUser({ context, state }: GeminiLines, object: Fields, place: SourcePosition): void {
  const { id, timestamp, content } = object;
  const records = recordsOf(context, place, timestamp);
  const text = geminiText(content, context.log);
  if (isContext(text)) return readContext(context, text);
  for (const response of geminiResponses(content)) {
    const callId = asText(response['id']) ?? '';
    // Most results also appear with their calls.
    if (state.given?.results.includes(callId) === true) context.log.leaveOut('repeated results');
    else {
      state.given?.results.push(callId);
      addGeminiResult(records, response, { id });
    }
  }
  if (text.startsWith(loopNotice)) records.note(text, id);
  else if (hasText(text)) records.message(text, id);
  else if (geminiResponses(content).length === 0) context.log.leaveOut('empty texts');
}

/** Reads the answer held back. */
function flush(lines: GeminiLines): void {
  const { context, state, held } = lines;
  if (held === null) return;
  lines.held = null;
  const id = asText(held.object['id']) ?? '';
  if (state.given?.id === id) context.branches.begin({});
  else {
    begin(lines, id);
    state.given = { id, text: false, thoughts: false, calls: [], results: [] };
  }
  readAnswer(context, held.object, held.place, { given: state.given, state });
  context.branches.end();
}

function begin({ context, state, before, known }: GeminiLines, id: string): void {
  const { rewindTo } = state;
  context.branches.begin(rewindTo === undefined ? { uuid: id } : { uuid: id, parent: rewindTo, goesOn: false });
  if (rewindTo !== undefined) state.last = rewindTo;
  delete state.rewindTo;
  before.set(id, state.last);
  known.add(id);
  state.last = id;
}

/** Returns true if the program wrote this text in the user's name, before the first prompt. */
function isContext(text: string): boolean {
  return text.trimStart().startsWith('<session_context>');
}

function readContext({ head, log }: AgentContext, text: string): void {
  head.cwd ??= /\*\*Workspace Directories:\*\*\n\s*- (.+)/.exec(text)?.[1] ?? null;
  log.leaveOut('instructions of the program');
}

interface Reading {
  given: Given;
  state: GeminiState;
}

function readAnswer(context: AgentContext, object: Fields, place: SourcePosition, { given, state }: Reading): void {
  const { id: answer } = given;
  const { timestamp, content, thoughts, toolCalls, model, tokens } = object;
  const records = recordsOf(context, place, timestamp);
  const thought = [...listThoughts(thoughts), geminiThoughts(content)].filter(hasText).join('\n');
  const text = geminiText(content, context.log);
  if (!given.thoughts && hasText(thought)) records.think(answer, thought, `${answer}-thoughts`);
  if (!given.text && hasText(text)) records.say(answer, text, answer);
  given.thoughts ||= hasText(thought);
  given.text ||= hasText(text);
  for (const call of (Array.isArray(toolCalls) ? toolCalls : []).map(fieldsOf))
    readCall(records, call, { given, state });
  context.units.usage(answer, toGeminiUsage(model, fieldsOf(tokens)));
}

function listThoughts(thoughts: unknown): string[] {
  const list = Array.isArray(thoughts) ? thoughts.map(fieldsOf) : [];
  return list.map(({ subject, description }) => [subject, description].filter(hasText).join(': '));
}

function readCall(records: AgentRecords, call: Fields, { given, state }: Reading): void {
  const { id, name, args, result, status } = call;
  const callId = asText(id) ?? '';
  if (!given.calls.includes(callId)) {
    given.calls.push(callId);
    const plan = name === 'exit_plan_mode' ? findPlan(state, fieldsOf(args)) : undefined;
    records.call(given.id, { callId, name: asText(name) ?? '', input: args, id, plan });
  }
  const [response] = geminiResponses(result);
  if (response === undefined || given.results.includes(callId)) return;
  given.results.push(callId);
  if (status === 'success') keepPlan(state, asText(name) ?? '', fieldsOf(args));
  addGeminiResult(records, { ...response, id: callId }, { status, id: `${callId}-result` });
}

/** Keeps the plan that the model writes to one of the agent's files in plan mode. */
function keepPlan(state: GeminiState, name: string, args: Fields): void {
  const { file_path: path, content, old_string: old, new_string: text } = args;
  if (!hasText(path) || !/[\\/]plans[\\/][^\\/]+\.md$/.test(path)) return;
  if (name !== 'write_file' && name !== 'replace') return;
  state.plan = rewritePlan(state.plan, { path, content, replaced: old, by: text });
}

function findPlan({ plan }: GeminiState, { plan_filename: name, plan_path: path }: Fields): string | undefined {
  const file = (asText(name) ?? asText(path) ?? '').split(/[\\/]/).at(-1);
  return plan !== undefined && plan.path.split(/[\\/]/).at(-1) === file ? plan.text : undefined;
}

function isGeminiLine(line: Fields): boolean {
  const { type, id, timestamp, sessionId, projectHash, $set, $rewindTo } = line;
  if (isObject($set) || hasText($rewindTo)) return true;
  return type === undefined
    ? hasText(sessionId) && hasText(projectHash)
    : hasText(type) && hasText(id) && hasText(timestamp) && 'content' in line && !('parentId' in line);
}

/** Follows pi's sessions. */
import { addToHead, type AgentContext, type OpenAgentLines } from '../../conversation/logs/agent-reader.ts';
import { recordsOf, type AgentRecords } from '../../conversation/logs/agent-records.ts';
import { toText, countOf, toUsage } from '../../conversation/logs/import-content.ts';
import type { SourcePosition } from '../../conversation/records/import-ids.ts';
import { asText, fieldsOf, hasText, isObject, setOf } from '../../conversation/records/import-values.ts';
import type { AgentLogFormat } from '../agent.ts';

export const piLog: AgentLogFormat = {
  isRecord: isPiLine,
  open: (context, state) => openLines(context, state),
};

type Fields = Record<string, unknown>;

const bookkeeping = setOf('model_change thinking_level_change label custom session_info');
const roles = setOf('user assistant toolResult bashExecution custom hookMessage branchSummary compactionSummary');

const openLines: OpenAgentLines = (context) => ({
  read: (object, place) => {
    const { type, id, parentId, timestamp } = object;
    if (type === 'session') {
      addToHead(context.head, { id, cwd: object['cwd'], startedAt: timestamp });
      context.log.leaveOut('lines of bookkeeping');
      return true;
    }
    // The user chooses a model before anybody speaks; at that point, a line without a parent follows nothing.
    const parent = parentId === null ? null : asText(parentId);
    if (!context.branches.begin({ uuid: asText(id), parent })) context.log.leaveOut('repeated lines');
    else {
      readEntry(context, object, place);
      context.branches.end();
    }
    const isSummary = type === 'compaction' || type === 'branch_summary' || type === 'custom_message';
    if (type === 'message') return roles.has(asText(fieldsOf(object['message'])['role']) ?? '');
    return isSummary || bookkeeping.has(asText(type) ?? '');
  },
});

function readEntry(context: AgentContext, object: Fields, place: SourcePosition): void {
  const { type, id, timestamp, summary, content, name } = object;
  const records = recordsOf(context, place, timestamp);
  if (type === 'message') return readMessage(context, records, fieldsOf(object['message']), { id, line: place.line });
  if (type === 'compaction') return records.summary(asText(summary) ?? '', id);
  if (type === 'branch_summary') return addBranchSummary(records, summary, id);
  if (type === 'custom_message') return records.note(toText(content, context.log), id);
  if (type === 'session_info' && hasText(name)) context.head.title = name;
  context.log.leaveOut('lines of bookkeeping');
}

function addBranchSummary(records: AgentRecords, summary: unknown, id: unknown): void {
  records.note(`The user left another branch of the conversation. A summary of it:\n\n${asText(summary) ?? ''}`, id);
}

/** A line's ID, which the first version of pi's format lacks. */
interface LineName {
  id: unknown;
  line: number;
}

function readMessage(context: AgentContext, records: AgentRecords, message: Fields, lineName: LineName): void {
  const { id } = lineName;
  const { role, content, toolCallId, isError, command, output, summary } = message;
  if (role === 'user') return records.message(toText(content, context.log), id);
  if (role === 'toolResult')
    return records.result({ callId: asText(toolCallId) ?? '', output: content, isError: isError === true, id });
  if (role === 'bashExecution')
    return records.note(`The user ran this command: ${asText(command) ?? ''}\n\n${asText(output) ?? ''}`, id);
  if (role === 'compactionSummary') return records.summary(asText(summary) ?? '', id);
  if (role === 'branchSummary') return addBranchSummary(records, summary, id);
  if (role === 'custom' || role === 'hookMessage') return records.note(toText(content, context.log), id);
  if (role === 'assistant') return readAnswer(context, records, message, lineName);
  context.log.leaveOut('lines of bookkeeping');
}

function readAnswer(context: AgentContext, records: AgentRecords, message: Fields, { id, line }: LineName): void {
  const answer = asText(id) ?? `line ${line}`;
  const { content, stopReason, errorMessage, model, provider, usage } = message;
  // The line's first record takes the line's ID.
  let first: unknown = id;
  const own = (): unknown => {
    const given = first;
    first = undefined;
    return given;
  };
  for (const block of (Array.isArray(content) ? content : []).map(fieldsOf)) {
    const { type, text, thinking, name, arguments: input } = block;
    if (type === 'thinking' && hasText(thinking)) records.think(answer, thinking, own());
    else if (type === 'toolCall')
      records.call(answer, { callId: asText(block['id']) ?? '', name: asText(name) ?? '', input, id: own() });
    else if (type === 'text' && hasText(text)) records.say(answer, text, own(), stopReason === 'aborted');
    else context.log.leaveOut(type === 'thinking' ? 'thoughts without words' : 'empty texts');
  }
  if (isObject(usage)) context.units.usage(answer, toPiUsage(model, provider, usage));
  if (stopReason === 'aborted') records.interrupt(own());
  if (stopReason === 'error') records.note(`The turn ended with an error: ${asText(errorMessage) ?? 'unknown'}`, own());
}

/** The program counts tokens that the cache read or wrote separately from the rest of the input. */
function toPiUsage(model: unknown, provider: unknown, usage: Fields) {
  const cached = countOf(usage['cacheRead']);
  const input = countOf(usage['input']) + cached + countOf(usage['cacheWrite']);
  const cost = fieldsOf(usage['cost'])['total'];
  return toUsage(model, provider, { input, output: countOf(usage['output']), cached }, cost);
}

function isPiLine({ type, id, parentId, timestamp, cwd, message, payload }: Fields): boolean {
  // Copilot's types contain a dot.
  if (!hasText(type) || type.includes('.') || timestamp === undefined || payload !== undefined) return false;
  if (type === 'session') return hasText(cwd);
  return hasText(fieldsOf(message)['role']) || (hasText(id) && parentId !== undefined);
}

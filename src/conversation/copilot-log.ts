/** Follows the sessions of Copilot: `events.jsonl`. */
import { addToHead, type AgentContext, type OpenAgentLines } from './agent-reader.ts';
import { recordsOf } from './agent-records.ts';
import type { SourcePosition } from './import-ids.ts';
import { countOf, toUsage } from './import-usage.ts';
import type { UnitUsage } from './importer.ts';
import { asText, fieldsOf, hasText, setOf } from './import-values.ts';

type Fields = Record<string, unknown>;

const bookkeeping = setOf(
  'session.start session.resume session.shutdown session.usage_record session.model_change session.info session.idle',
  'session.compaction_start session.truncation session.context_changed session.title_changed session.usage_info',
  'system.message hook.start hook.end assistant.turn_start assistant.turn_end assistant.intent tool.execution_start',
  'tool.execution_progress tool.execution_partial_result permission.requested permission.completed',
);

/** After these nothing of the turn goes on. */
const turnEnds = new Set(['assistant.turn_end', 'session.shutdown']);

/** The tokens of an answer stand before it, under the id of the call to the provider. */
interface CopilotState {
  usage?: { id: string; usage: UnitUsage };
}

type Reader = (context: AgentContext, object: Fields, place: SourcePosition, state: CopilotState) => void;

export const openCopilotLines: OpenAgentLines = (context, saved) => {
  const state = { ...saved } as CopilotState;
  return {
    read: (object, place) => {
      const type = asText(object['type']) ?? '';
      const read = readers.get(type);
      const { id, parentId, data } = object;
      const isKnown = read !== undefined || bookkeeping.has(type);
      const parent = parentId === null ? null : asText(parentId);
      if (!context.branches.begin({ uuid: asText(id), parent })) {
        context.log.leaveOut('repeated lines');
        return isKnown;
      }
      addHead(context, fieldsOf(data));
      if (type === 'session.usage_record') keepUsage(fieldsOf(data), state);
      if (read !== undefined && hasText(object['agentId'])) readOfAgent(context, object, place);
      else if (read !== undefined) read(context, object, place, state);
      else if (isKnown) context.log.leaveOut('lines of bookkeeping');
      if (turnEnds.has(type)) context.branches.endTurn();
      context.branches.end();
      return isKnown;
    },
    state: () => ({ ...state }),
  };
};

function addHead({ head }: AgentContext, { sessionId, copilotVersion, context, startTime }: Fields): void {
  if (!hasText(sessionId)) return;
  addToHead(head, { id: sessionId, version: copilotVersion, cwd: fieldsOf(context)['cwd'], startedAt: startTime });
}

function keepUsage({ usage: given }: Fields, state: CopilotState): void {
  const counts = fieldsOf(given);
  const { model, apiCallId } = counts;
  const [input, output] = [countOf(counts['inputTokens']), countOf(counts['outputTokens'])];
  const usage = toUsage(model, undefined, { input, output, cached: countOf(counts['cacheReadTokens']) });
  if (hasText(apiCallId)) state.usage = { id: apiCallId, usage };
}

const readers = new Map<string, Reader>([
  ['user.message', readMessage],
  ['assistant.message', readAnswer],
  ['assistant.reasoning', readThoughts],
  ['tool.execution_complete', readResult],
  ['abort', (context, { timestamp, id }, place) => recordsOf(context, place, timestamp).interrupt(id)],
  ['session.error', readError],
  ['session.warning', readError],
  ['session.compaction_complete', readSummary],
  ['subagent.started', readSubagent],
  ['subagent.completed', readSubagent],
  ['subagent.failed', readSubagent],
]);

function readMessage(context: AgentContext, { data, timestamp, id }: Fields, place: SourcePosition): void {
  recordsOf(context, place, timestamp).message(asText(fieldsOf(data)['content']) ?? '', id);
}

function readAnswer(context: AgentContext, object: Fields, place: SourcePosition, state: CopilotState): void {
  const { data, timestamp, id } = object;
  const { messageId, content, reasoningText, toolRequests, apiCallId, model } = fieldsOf(data);
  const answer = asText(messageId) ?? asText(id) ?? '';
  const records = recordsOf(context, place, timestamp);
  const [isSaid, calls] = [hasText(content), Array.isArray(toolRequests) ? toolRequests.map(fieldsOf) : []];
  if (hasText(reasoningText)) records.think(answer, reasoningText);
  if (hasText(content) || calls.length === 0) records.say(answer, asText(content) ?? '', id);
  for (const { toolCallId, name, arguments: input } of calls)
    records.call(answer, {
      callId: asText(toolCallId) ?? '',
      name: asText(name) ?? '',
      input,
      id: isSaid ? undefined : id,
    });
  const usage =
    hasText(apiCallId) && state.usage?.id === apiCallId ? state.usage.usage : toUsage(model, undefined, none);
  context.units.usage(answer, usage);
}

const none = { input: 0, output: 0 };

function readThoughts(context: AgentContext, { data, timestamp, id }: Fields, place: SourcePosition): void {
  const { messageId, reasoningId, content } = fieldsOf(data);
  const answer = asText(messageId) ?? asText(reasoningId) ?? asText(id) ?? '';
  recordsOf(context, place, timestamp).think(answer, asText(content) ?? '', id);
}

function readResult(context: AgentContext, { data, timestamp, id }: Fields, place: SourcePosition): void {
  const { toolCallId, success, result, error } = fieldsOf(data);
  const { message, code } = fieldsOf(error);
  const output = fieldsOf(result)['content'] ?? message ?? '';
  const reason = code === 'denied' || code === 'rejected' ? ('denied' as const) : undefined;
  const isError = success === false;
  recordsOf(context, place, timestamp).result({ callId: asText(toolCallId) ?? '', output, isError, reason, id });
}

function readError(context: AgentContext, { data, timestamp, id }: Fields, place: SourcePosition): void {
  recordsOf(context, place, timestamp).note(asText(fieldsOf(data)['message']) ?? '', id);
}

function readSummary(context: AgentContext, { data, timestamp, id }: Fields, place: SourcePosition): void {
  recordsOf(context, place, timestamp).summary(asText(fieldsOf(data)['summaryContent']) ?? '', id);
}

function readSubagent(context: AgentContext, { type, data, timestamp, id }: Fields, place: SourcePosition): void {
  const { agentName, agentDisplayName, toolCallId, error } = fieldsOf(data);
  const name = [agentDisplayName, agentName, toolCallId].find(hasText) ?? 'without a name';
  const event = (asText(type) ?? '').replace('subagent.', '');
  const why = hasText(error) ? `: ${error}` : '.';
  recordsOf(context, place, timestamp).note(`The sub-agent ${name} has ${event}${why}`, id);
}

/** The records of a sub-agent stand in the log of the session. */
function readOfAgent(context: AgentContext, object: Fields, place: SourcePosition): void {
  const { type, data, timestamp, id, agentId } = object;
  if ((asText(type) ?? '').startsWith('subagent.')) return readSubagent(context, object, place);
  const { content } = fieldsOf(data);
  if (type !== 'assistant.message' || !hasText(content)) return context.log.leaveOut('lines of sub-agents');
  recordsOf(context, place, timestamp).note(`The sub-agent ${asText(agentId) ?? ''} says:\n\n${content}`, id);
}

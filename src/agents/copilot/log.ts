/** Follows Copilot's sessions: `events.jsonl`. */
import { addToHead, type AgentContext, type OpenAgentLines } from '../../conversation/logs/agent-reader.ts';
import type { Tokens } from '../../session/entries/entry.ts';
import { recordsOf, rewritePlan, type PlanFile } from '../../conversation/logs/agent-records.ts';
import type { SourcePosition } from '../../conversation/records/import-ids.ts';
import { countOf, toUsage } from '../../conversation/logs/import-content.ts';
import { asText, fieldsOf, hasText, isObject, setOf } from '../../conversation/records/import-values.ts';
import type { UnitUsage } from '../../conversation/logs/importer.ts';
import type { AgentLogFormat } from '../agent.ts';

export const copilotLog: AgentLogFormat = {
  isRecord: ({ type, data, id, parentId }) => hasText(type) && isObject(data) && hasText(id) && parentId !== undefined,
  open: (context, state) => openLines(context, state),
};

type Fields = Record<string, unknown>;

const bookkeeping = setOf(
  'session.start session.resume session.shutdown session.usage_record session.model_change session.info session.idle',
  'session.compaction_start session.truncation session.context_changed session.title_changed session.usage_info',
  'system.message hook.start hook.end assistant.turn_start assistant.turn_end assistant.intent tool.execution_start',
  'tool.execution_progress tool.execution_partial_result permission.requested permission.completed',
  'session.remote_steerable_changed session.schedule_created session.schedule_cancelled session.schedule_rearmed',
  'session.autopilot_objective_changed session.mode_changed session.mode_notice_delivered session.permissions_changed',
  'session.session_limits_changed session.plan_changed session.todos_changed session.workspace_file_changed',
  'session.handoff session.usage_checkpoint session.context_cleared session.snapshot_rewind session.binary_asset',
  'session.auto_mode_resolved session.canvas.recorded session.canvas.removed session.tools_updated session.skills_loaded',
  'session.fusion_route_started session.fusion_route_failed session.fusion_resolved session.fusion_completed',
  'session.custom_agents_updated session.mcp_servers_loaded session.mcp_server_status_changed session.extensions_loaded',
  'session.background_tasks_changed assistant.usage assistant.idle model.call_failure model.call_finished',
  'assistant.fusion_phase_started assistant.fusion_phase_completed assistant.fusion_phase_failed skill.invoked',
  'tool.user_requested tool_search.activated subagent.configured subagent.selected subagent.deselected hook.progress',
  'system.notification pending_messages.modified user_input.requested user_input.completed command.queued',
  'command.execute command.completed exit_plan_mode.requested exit_plan_mode.completed external_tool.requested',
  'external_tool.completed elicitation.requested elicitation.completed',
);

/** An event of one of these types ends the turn. */
const turnEnds = new Set(['assistant.turn_end', 'session.shutdown']);

/** An answer's tokens come before the answer, under the ID of the call to the provider. */
interface CopilotState {
  usage?: { id: string; usage: UnitUsage };
  /** The tokens of the answers since the last total, and that total. */
  named?: Counts;
  total?: Counts;
  /** The plan in the session's folder, and the calls that change it and have no result yet. */
  plan?: PlanFile | undefined;
  writes?: Record<string, Fields>;
}

type Counts = Required<Pick<Tokens, 'input' | 'output' | 'cached'>>;
const none: Counts = { input: 0, output: 0, cached: 0 };

function mapCounts(map: (key: keyof Counts) => number): Counts {
  return { input: map('input'), output: map('output'), cached: map('cached') };
}

type Reader = (context: AgentContext, object: Fields, place: SourcePosition, state: CopilotState) => void;

const openLines: OpenAgentLines = (context, saved) => {
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
      if (type === 'session.shutdown') addRest(context, object, place, state);
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
  const { model, apiCallId } = fieldsOf(given);
  const tokens = countsOf(given);
  state.named = addCounts(state.named, tokens);
  if (hasText(apiCallId)) state.usage = { id: apiCallId, usage: toUsage(model, undefined, tokens) };
}

function countsOf(usage: unknown): Counts {
  const { inputTokens, outputTokens, cacheReadTokens } = fieldsOf(usage);
  return { input: countOf(inputTokens), output: countOf(outputTokens), cached: countOf(cacheReadTokens) };
}

function addCounts(one: Counts = none, other: Counts = none): Counts {
  return mapCounts((key) => one[key] + other[key]);
}

/**
 * Adds a note with the remaining tokens: older versions report only each answer's output, and the total when the
 * session ends.
 */
function addRest(
  context: AgentContext,
  { data, timestamp, id }: Fields,
  place: SourcePosition,
  state: CopilotState,
): void {
  const { modelMetrics, currentModel } = fieldsOf(data);
  const models = Object.entries(fieldsOf(modelMetrics));
  const total = models.map(([, metrics]) => countsOf(fieldsOf(metrics)['usage'])).reduce(addCounts, none);
  // A process that continued the session may have restarted the count.
  const before = state.total !== undefined && total.output >= state.total.output ? state.total : none;
  const rest = mapCounts((key) => Math.max(0, total[key] - before[key] - (state.named?.[key] ?? 0)));
  Object.assign(state, { total, named: none });
  if (rest.input + rest.output === 0) return;
  const text = `The session has used ${rest.input + rest.output} tokens that no answer names.`;
  const model = models.length === 1 ? models[0]?.[0] : currentModel;
  context.units.aside({ type: 'note', ...context.base(place, timestamp, id), text }, toUsage(model, undefined, rest));
}

const readers = new Map<string, Reader>([
  ['user.message', readMessage],
  ['assistant.message', readAnswer],
  ['assistant.reasoning', readThoughts],
  ['tool.execution_complete', readResult],
  ['abort', (context, { timestamp, id }, place) => recordsOf(context, place, timestamp).interrupt(id)],
  ['session.error', readError],
  ['session.warning', readError],
  ['session.task_complete', readTaskEnd],
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
  const { messageId, content, reasoningText, toolRequests, apiCallId, model, outputTokens } = fieldsOf(data);
  const answer = asText(messageId) ?? asText(id) ?? '';
  const records = recordsOf(context, place, timestamp);
  const [isSaid, calls] = [hasText(content), Array.isArray(toolRequests) ? toolRequests.map(fieldsOf) : []];
  if (hasText(reasoningText)) records.think(answer, reasoningText);
  if (hasText(content) || calls.length === 0) records.say(answer, asText(content) ?? '', id);
  for (const { toolCallId, name, arguments: input } of calls) {
    const callId = asText(toolCallId) ?? '';
    if (isPlanFile(fieldsOf(input)['path'])) state.writes = { ...state.writes, [callId]: fieldsOf(input) };
    // The call itself contains only a summary.
    const plan = name === 'exit_plan_mode' ? (state.plan?.text ?? asText(fieldsOf(input)['summary'])) : undefined;
    records.call(answer, { callId, name: asText(name) ?? '', input, id: isSaid ? undefined : id, plan });
  }
  const isCounted = hasText(apiCallId) && state.usage?.id === apiCallId;
  const own = { ...none, output: isCounted ? 0 : countOf(outputTokens) };
  state.named = addCounts(state.named, own);
  context.units.usage(answer, isCounted ? (state.usage?.usage ?? {}) : toUsage(model, undefined, own));
}

function readThoughts(context: AgentContext, { data, timestamp, id }: Fields, place: SourcePosition): void {
  const { messageId, reasoningId, content } = fieldsOf(data);
  const answer = asText(messageId) ?? asText(reasoningId) ?? asText(id) ?? '';
  recordsOf(context, place, timestamp).think(answer, asText(content) ?? '', id);
}

function isPlanFile(path: unknown): path is string {
  return typeof path === 'string' && /[\\/]session-state[\\/][^\\/]+[\\/]plan\.md$/.test(path);
}

/** Changes the plan with a call that has written its file. */
function keepPlan(state: CopilotState, callId: string, isError: boolean): void {
  const { [callId]: input, ...others } = state.writes ?? {};
  if (input === undefined) return;
  state.writes = others;
  const { path, file_text: content, old_str: replaced, new_str: by } = input;
  if (!isError && isPlanFile(path)) state.plan = rewritePlan(state.plan, { path, content, replaced, by });
}

function readResult(
  context: AgentContext,
  { data, timestamp, id }: Fields,
  place: SourcePosition,
  state: CopilotState,
): void {
  const { toolCallId, success, result, error } = fieldsOf(data);
  const { message, code } = fieldsOf(error);
  const output = fieldsOf(result)['content'] ?? message ?? '';
  const reason = code === 'denied' || code === 'rejected' ? ('denied' as const) : undefined;
  const isError = success === false;
  keepPlan(state, asText(toolCallId) ?? '', isError);
  recordsOf(context, place, timestamp).result({ callId: asText(toolCallId) ?? '', output, isError, reason, id });
}

function readError(context: AgentContext, { data, timestamp, id }: Fields, place: SourcePosition): void {
  recordsOf(context, place, timestamp).note(asText(fieldsOf(data)['message']) ?? '', id);
}

function readTaskEnd(context: AgentContext, { data, timestamp, id }: Fields, place: SourcePosition): void {
  recordsOf(context, place, timestamp).note(asText(fieldsOf(data)['summary']) ?? '', id);
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

/** Reads a sub-agent's records, which are in the session's log. */
function readOfAgent(context: AgentContext, object: Fields, place: SourcePosition): void {
  const { type, data, timestamp, id, agentId } = object;
  if ((asText(type) ?? '').startsWith('subagent.')) return readSubagent(context, object, place);
  const { content } = fieldsOf(data);
  if (type !== 'assistant.message' || !hasText(content)) return context.log.leaveOut('lines of sub-agents');
  recordsOf(context, place, timestamp).note(`The sub-agent ${asText(agentId) ?? ''} says:\n\n${content}`, id);
}

/** A history as the log of another agent's session, which that agent resumes as if it were its own. */
import type { Hash } from '../ports/project.ts';
import type { AgentName } from './agent-log.ts';
import type { AssistantBlock, History, HistoryCall, HistoryTurn } from './history.ts';
import { toUuid } from './import-ids.ts';
import { toTimestamp } from './import-values.ts';
import { markInterrupted, toOutputText, toProviderIds, toProviderName, toSaidText } from './provider-parts.ts';
import { renderResult } from './render-openai.ts';
import { toWellFormed, toWellFormedJson, toWellFormedValue } from './well-formed.ts';

/** The agents whose logs can be written. */
export const openableAgents = ['claude-code', 'codex'] as const satisfies AgentName[];
export type OpenableAgent = (typeof openableAgents)[number];

export interface AgentSession {
  /** A UUID, as the agent takes it; for Codex one of version 7. */
  id: string;
  /** The folder that the agent is started in. */
  cwd: string;
  /** ISO 8601; it stands for the times that the history lacks. */
  startedAt: string;
  /** Whose models Codex asks: it resumes no session without one. */
  provider: string;
}

/** The versions whose format is written. */
const claudeVersion = '2.1.330';
/** By this a reader knows that what has no model was said all the same. */
export const ownEntrypoint = 'git-teddy';
const codexVersion = '0.169.0';

/** One line of JSON each, without its end. Thinking is in no history. The same record has the same id in every log. */
export function renderAgentLog(agent: OpenableAgent, history: History, session: AgentSession, hash: Hash): string[] {
  const lines = agent === 'codex' ? codexLines(history, session) : claudeLines(history, session, hash);
  return lines.map(toWellFormedJson);
}

/** The records of one line; an answer and its calls share `answer`. */
type Item = { id: string; timestamp: string } & (
  | { kind: 'said'; text: string }
  | { kind: 'answer'; text: string; answer: string; isLast: boolean }
  | { kind: 'call'; call: HistoryCall; callId: string; answer: string }
  | { kind: 'result'; call: HistoryCall; callId: string }
);

function* toItems(history: History): Generator<Item> {
  const ids = toProviderIds(history);
  for (const turn of history.turns) {
    yield* toSaidItems(turn);
    for (const { texts, calls } of turn.steps) {
      const answer = (texts[0] ?? calls[0])?.id ?? '';
      const isLast = calls.length === 0;
      for (const block of texts) yield { ...base(block), kind: 'answer', text: toText(block), answer, isLast };
      const named = calls.map((call) => ({ call, callId: ids.get(call.callId) ?? call.callId }));
      for (const { call, callId } of named) yield { ...base(call), kind: 'call', call, callId, answer };
      for (const { call, callId } of named) yield { ...base(call.result), kind: 'result', call, callId };
    }
  }
}

function* toSaidItems(turn: HistoryTurn): Generator<Item> {
  const first = turn.steps[0]?.texts[0] ?? turn.steps[0]?.calls[0];
  if (turn.said.length === 0 && first !== undefined)
    yield { id: `${first.id} opening`, timestamp: first.timestamp, kind: 'said', text: toSaidText(turn) };
  for (const block of turn.said) yield { ...base(block), kind: 'said', text: toWellFormed(block.text) };
}

function base({ id, timestamp }: { id: string; timestamp: string }): { id: string; timestamp: string } {
  return { id, timestamp };
}

function toText(block: AssistantBlock): string {
  return toWellFormed(markInterrupted(block));
}

/** A line for each content block, each the child of the one before. */
function claudeLines(history: History, { id: sessionId, cwd, startedAt }: AgentSession, hash: Hash): object[] {
  let parentUuid: string | null = null;
  const lines: object[] = [];
  for (const item of toItems(history)) {
    const uuid = isUuid(item.id) ? item.id : toUuid(hash(item.id));
    const timestamp = toTimestamp(item.timestamp) ?? startedAt;
    const common = { isSidechain: false, userType: 'external', entrypoint: ownEntrypoint, cwd, sessionId };
    const rest = { version: claudeVersion, gitBranch: '' };
    lines.push({ parentUuid, ...common, ...rest, ...toClaudeMessage(item, hash), uuid, timestamp });
    parentUuid = uuid;
  }
  return lines;
}

function toClaudeMessage(item: Item, hash: Hash): object {
  if (item.kind === 'said') return { type: 'user', message: { role: 'user', content: item.text } };
  if (item.kind === 'result') {
    const { result } = item.call;
    const block = { type: 'tool_result', tool_use_id: item.callId, content: toOutputText(result) };
    const content = [result.isError ? { ...block, is_error: true } : block];
    return { type: 'user', message: { role: 'user', content } };
  }
  const content = [item.kind === 'answer' ? { type: 'text', text: item.text } : toClaudeCall(item.call, item.callId)];
  const isLast = item.kind === 'answer' && item.isLast;
  // Any model that is named, the agent would go back to, or warn about; an older version reads no answer without a model.
  const message = {
    id: `msg_${hash(item.answer).slice(0, 24)}`,
    type: 'message',
    role: 'assistant',
    model: '<synthetic>',
  };
  const end = { stop_reason: isLast ? 'end_turn' : 'tool_use', stop_sequence: null };
  return { type: 'assistant', message: { ...message, content, ...end, usage: { input_tokens: 0, output_tokens: 0 } } };
}

function toClaudeCall({ name, input }: HistoryCall, id: string): object {
  return { type: 'tool_use', id, name: toProviderName(name), input: toWellFormedValue(input) };
}

/** Each text stands there twice: as an item of the model's request, and as an event for the screen. */
function codexLines(history: History, { id, cwd, startedAt, provider }: AgentSession): object[] {
  const program = { originator: ownEntrypoint, cli_version: codexVersion, source: 'cli', model_provider: provider };
  const meta = { id, timestamp: startedAt, cwd, ...program };
  const lines: object[] = [{ timestamp: startedAt, type: 'session_meta', payload: meta }];
  for (const item of toItems(history)) {
    const timestamp = toTimestamp(item.timestamp) ?? startedAt;
    lines.push({ timestamp, type: 'response_item', payload: toCodexItem(item) });
    const event = toCodexEvent(item);
    if (event !== null) lines.push({ timestamp, type: 'event_msg', payload: event });
  }
  return lines;
}

function toCodexItem(item: Item): object {
  switch (item.kind) {
    case 'said':
      return { type: 'message', role: 'user', content: [{ type: 'input_text', text: item.text }] };
    case 'answer':
      return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: item.text }] };
    case 'call': {
      const call = { name: toProviderName(item.call.name), arguments: toWellFormedJson(item.call.input) };
      return { type: 'function_call', ...call, call_id: item.callId };
    }
    case 'result':
      return { type: 'function_call_output', call_id: item.callId, output: renderResult(item.call.result) };
  }
}

function toCodexEvent(item: Item): object | null {
  if (item.kind === 'said') return { type: 'user_message', message: item.text };
  return item.kind === 'answer' ? { type: 'agent_message', message: item.text } : null;
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(text);
}

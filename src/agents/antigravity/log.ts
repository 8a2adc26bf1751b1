/** Follows Antigravity's sessions: `transcript_full.jsonl`, one step a line, without the session's ID and without tokens. */
import { addToHead, type AgentContext, type OpenAgentLines } from '../../conversation/logs/agent-reader.ts';
import { recordsOf } from '../../conversation/logs/agent-records.ts';
import type { SourcePosition } from '../../conversation/records/import-ids.ts';
import { asText, fieldsOf, hasText, setOf } from '../../conversation/records/import-values.ts';
import type { AgentLogFormat } from '../agent.ts';

export const antigravityLog: AgentLogFormat = {
  isRecord: ({ step_index: step, source, type }) => typeof step === 'number' && hasText(source) && hasText(type),
  open: (context, state) => openLines(context, state),
};

type Fields = Record<string, unknown>;

interface AntigravityState {
  /** The model that the user last chose; each setting is named only when it changes. */
  model?: string;
  /** The IDs of the calls that have no result yet: results come in the order of the calls, and name none. */
  calls?: string[];
}

const bookkeeping = setOf('CONVERSATION_HISTORY SYSTEM_MESSAGE');

const openLines: OpenAgentLines = (context, saved) => {
  const state: AntigravityState = { ...saved };
  return {
    read: (object, place) => {
      const { step_index: step, source, type, created_at: createdAt } = object;
      if (typeof step !== 'number' || !hasText(type)) return false;
      addToHead(context.head, { startedAt: createdAt });
      context.branches.begin({});
      const isNew = context.ids.isNew('message', `step ${step}`);
      const isKnown = isNew ? readStep(context, object, place, state) : true;
      if (!isNew) context.log.leaveOut('repeated lines');
      if (source === 'MODEL' && type === 'PLANNER_RESPONSE' && state.calls?.length === 0) context.branches.endTurn();
      context.branches.end();
      return isKnown;
    },
    state: () => ({ ...state }),
  };
};

/** Returns false for an unknown type of step. */
function readStep(context: AgentContext, object: Fields, place: SourcePosition, state: AntigravityState): boolean {
  const { source, type, created_at: createdAt } = object;
  const content = asText(object['content']) ?? '';
  const records = recordsOf(context, place, createdAt);
  if (type === 'USER_INPUT') {
    state.model = chosenModel(content) ?? state.model ?? '';
    state.calls = [];
    records.message(/<USER_REQUEST>\n?([^]*?)\n?<\/USER_REQUEST>/.exec(content)?.[1] ?? content);
  } else if (type === 'PLANNER_RESPONSE') readAnswer(context, object, place, state);
  else if (type === 'CHECKPOINT') records.summary(content);
  else if (source === 'MODEL') readResult(context, object, place, state);
  else if (bookkeeping.has(asText(type) ?? '')) context.log.leaveOut('lines of bookkeeping');
  else return false;
  return true;
}

function chosenModel(content: string): string | undefined {
  return /^The user changed setting `Model Selection` from .*? to (.+?)\. /m.exec(content)?.[1];
}

function readAnswer(context: AgentContext, object: Fields, place: SourcePosition, state: AntigravityState): void {
  const { step_index: step, created_at: createdAt, thinking, content, tool_calls: list } = object;
  const records = recordsOf(context, place, createdAt);
  const answer = `step ${String(step)}`;
  if (hasText(thinking)) records.think(answer, thinking);
  if (hasText(content)) records.say(answer, content);
  const calls = (Array.isArray(list) ? list : []).map(fieldsOf);
  const ids = calls.map((_call, at) => `${answer} call ${at + 1}`);
  for (const [at, { name, args }] of calls.entries())
    records.call(answer, { callId: ids[at] ?? '', name: asText(name) ?? '', input: args });
  state.calls = [...(state.calls ?? []), ...ids];
  context.units.usage(answer, { provider: 'google', ...(hasText(state.model) ? { model: state.model } : {}) });
}

/** Reads what a tool answered. A command that failed has the status of one that did not. */
function readResult(context: AgentContext, object: Fields, place: SourcePosition, state: AntigravityState): void {
  const { created_at: createdAt, status, content } = object;
  const [callId, ...rest] = state.calls ?? [];
  if (callId === undefined) return context.log.leaveOut('results without calls');
  state.calls = rest;
  const output = asText(content) ?? '';
  const isError = status === 'ERROR' || /^\s*The command failed with exit code: /m.test(output);
  recordsOf(context, place, createdAt).result({ callId, output, isError });
}

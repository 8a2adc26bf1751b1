/** Builds a line's records, for agents that put several records with the same time on one line. */
import type { AgentContext } from './agent-reader.ts';
import { addSummary, interruptionNote, type LineContext } from './import-context.ts';
import { toOutput } from './import-content.ts';
import type { UnitUsage } from './importer.ts';
import type { SourcePosition } from '../records/import-ids.ts';
import { hasText, toInput } from '../records/import-values.ts';
import type { ResultReason } from '../records/record.ts';

/** Marks a log that teddy itself wrote; the readers accept answers without a model in it. */
export const ownEntrypoint = 'git-teddy';

interface AgentCall {
  callId: string;
  name: string;
  input: unknown;
  /** The record's ID, if the source has one. */
  id?: unknown;
  /** The submitted plan. */
  plan?: string | undefined;
}

interface AgentResult {
  callId: string;
  output: unknown;
  isError: boolean;
  reason?: ResultReason | undefined;
  id?: unknown;
}

export interface AgentRecords {
  message(text: string, id?: unknown): void;
  say(answer: string, text: string, id?: unknown, isPartial?: boolean): void;
  think(answer: string, text: string, id?: unknown): void;
  call(answer: string, call: AgentCall): void;
  result(result: AgentResult): void;
  note(text: string, id?: unknown): void;
  summary(text: string, id?: unknown): void;
  interrupt(id?: unknown): void;
}

interface HandedPlan {
  answer: string | null;
  /** The ID of the call or item that contains the plan. */
  id: string;
  callId?: string;
  text: string;
  /** The model, if the source names it before the plan. */
  by?: UnitUsage;
}

/** Adds a plan before the answer that submits it: the user may be waiting for the plan. Plans with equal IDs are one plan. */
export function addPlan(
  context: LineContext,
  place: SourcePosition,
  timestamp: unknown,
  { answer, id, callId, text, by }: HandedPlan,
): void {
  if (id === '' || !hasText(text)) return;
  const base = context.base(place, timestamp, `${id}/plan`);
  if (base.id !== `${id}/plan`) return;
  const of = callId === undefined ? {} : { tool_call_id: callId };
  context.units.plan(answer, { type: 'plan', ...base, file: 'plan.md', ...of }, text, by);
}

/** A plan in a file that the model wrote; the call that submits the plan does not contain its text. */
export interface PlanFile {
  path: string;
  text: string;
}

/** Returns the plan after a call that wrote the file at `path`; undefined when its text can no longer be known. */
export function rewritePlan(
  plan: PlanFile | undefined,
  { path, content, replaced, by }: { path: string; content: unknown; replaced?: unknown; by?: unknown },
): PlanFile | undefined {
  if (typeof content === 'string') return { path, text: content };
  if (plan?.path !== path || typeof replaced !== 'string' || typeof by !== 'string') return plan;
  const parts = plan.text.split(replaced);
  // The log does not tell which of several places was meant.
  return parts.length === 2 ? { path, text: parts.join(by) } : undefined;
}

/** Counts a text without words as omitted. */
export function recordsOf(context: AgentContext, place: SourcePosition, timestamp: unknown): AgentRecords {
  const { log, units } = context;
  const base = (id?: unknown) => context.base(place, timestamp, id);
  const ifSaid = (text: string, add: () => void, what = 'empty texts'): void =>
    hasText(text) ? add() : log.leaveOut(what);
  return {
    message: (content, id) =>
      ifSaid(content, () => {
        units.message({ type: 'user', ...base(id), message: { role: 'user', content }, source: context.source });
      }),
    say: (answer, content, id, isPartial = false) =>
      ifSaid(content, () => {
        const said = { ...base(id), message: { role: 'assistant' as const, content }, source: context.source };
        units.say(answer, isPartial ? { type: 'assistant_partial', ...said } : { type: 'assistant', ...said });
      }),
    think: (answer, text, id) =>
      ifSaid(text, () => units.think(answer, { type: 'thinking', ...base(id), text }), 'thoughts without words'),
    call: (answer, { callId, name, input, id, plan = '' }) => {
      addPlan(context, place, timestamp, { answer, id: callId, callId, text: plan });
      const of = base(id);
      const use = { tool_call_id: callId, tool_name: name, tool_input: toInput(input) };
      units.call(answer, callId === '' ? of.id : callId, { type: 'tool_use', ...of, ...use }, place);
    },
    result: ({ callId, output, isError, reason, id }) => {
      const given = reason === undefined ? {} : { reason };
      units.result(callId, { ...base(id), output: toOutput(output, log), is_error: isError, ...given }, place);
    },
    note: (text, id) => ifSaid(text, () => units.aside({ type: 'note', ...base(id), text })),
    summary: (text, id) => ifSaid(text, () => addSummary(context, base(id), text)),
    interrupt: (id) => units.interrupt({ type: 'note', ...base(id), text: interruptionNote }),
  };
}

/** Makes labels for entries that contain records of a conversation with teddy or with another program. */
import type { ImportUnit } from '../../conversation/logs/importer.ts';
import { isSummary } from '../../conversation/logs/import-report.ts';
import type { KnownRecord, ResultReason } from '../../conversation/records/record.ts';
import { findPlanTitle } from '../../plan/plan-comments.ts';
import { labelLimits, type Entry, type EntryKind } from '../../session/entries/entry.ts';
import { answerKinds } from '../../session/lines/line-order.ts';
import { formatCount } from '../../session/text/format-count.ts';
import type { Draft } from './append.ts';
import { toLabelLines } from './keep-answer.ts';

type Usage = Pick<Entry, 'provider' | 'model' | 'tokens' | 'costUsd'>;
type Label = Pick<Entry, 'title' | 'details'>;

const asides: KnownRecord['type'][] = ['note', 'thinking', 'orchestrator_meta', 'voice_interrupted'];

/**
 * The length to cut lines to. Labels show less, even after omissions, and a short line is cheaper to mask and measure
 * again.
 */
const keptCharacters = 4 * labelLimits.detail;

/** Describes an entry for its commit and makes its label from the masked records. Needs at least one unit. */
export function describeUnits(units: readonly ImportUnit[]): Pick<Draft, 'kind' | 'label' | 'trailers'> {
  const isPartial = units.at(-1)?.records.some(({ type }) => type === 'assistant_partial') === true;
  return {
    kind: toKind(units),
    label: (records, plan) => labelUnits(withMasked(units, records, plan)),
    trailers: { ...(isPartial ? { status: 'PARTIAL' } : {}), ...sumUsage(units) },
  };
}

/** Returns the units with these records, given in the same order, in place of their own. */
function withMasked(units: readonly ImportUnit[], records: readonly KnownRecord[], plan: string | undefined) {
  let at = 0;
  return units.map((unit) => {
    const own = records.slice(at, (at += unit.records.length));
    return { ...unit, records: own, ...(unit.plan === undefined ? {} : { plan: plan ?? '' }) };
  });
}

function labelUnits(units: readonly ImportUnit[]): Label {
  const [first] = units;
  if (first === undefined) throw new Error('An entry has at least one unit.');
  const { title, details } = units.length === 1 ? describeUnit(first) : describeMany(units);
  return { title: cut(title), details: details.slice(0, labelLimits.details).map(cut) };
}

/** Returns the last model that answered, and the total usage of all answers. */
function sumUsage(units: readonly ImportUnit[]): Usage {
  const last = units.findLast(({ model }) => model !== undefined);
  const tokens = units.map((unit) => unit.tokens).filter((one) => one !== undefined);
  const costs = units.map((unit) => unit.costUsd).filter((one) => one !== undefined);
  return {
    ...(last?.provider === undefined ? {} : { provider: last.provider }),
    ...(last?.model === undefined ? {} : { model: last.model }),
    ...(tokens.length === 0 ? {} : { tokens: tokens.reduce(addTokens) }),
    ...(costs.length === 0 ? {} : { costUsd: costs.reduce((sum, cost) => sum + cost, 0) }),
  };
}

function addTokens(
  one: NonNullable<Entry['tokens']>,
  other: NonNullable<Entry['tokens']>,
): NonNullable<Entry['tokens']> {
  const sum = (a = 0, b = 0) => a + b;
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cached: sum(one.cached, other.cached),
    reasoning: sum(one.reasoning, other.reasoning),
  };
}

function describeUnit({ records, plan }: ImportUnit): Label {
  if (plan !== undefined) {
    const { title, rest } = findPlanTitle(plan);
    return { title, details: rest };
  }
  const said = records.filter((record) => !asides.includes(record.type) && !isSummary(record));
  return describeRecords(said.length === 0 ? records : said);
}

/** `36 exchanges, 1 message`, with a description of the first few below. */
function describeMany(units: readonly ImportUnit[]): Label {
  const counts = (['exchange', 'message', 'reply'] as const).flatMap((kind) => {
    const count = units.filter((unit) => unit.kind === kind).length;
    return count === 0 ? [] : [`${formatCount(count)} ${inNumber(kind, count)}`];
  });
  const details = units
    .slice(0, labelLimits.details)
    .map((unit) => `${unit.kind}: ${describeUnit(unit).title.slice(0, keptCharacters)}`);
  return { title: counts.join(', '), details };
}

function inNumber(kind: ImportUnit['kind'], count: number): string {
  if (count === 1) return kind;
  return kind === 'reply' ? 'replies' : `${kind}s`;
}

/**
 * A `message` at the tip means that the turn waits for an answer, so units count as a message only when none of them is
 * an answer.
 */
function toKind(units: readonly ImportUnit[]): EntryKind {
  const kinds: EntryKind[] = units.map(({ kind }) => kind);
  return answerKinds.find((kind) => kinds.includes(kind)) ?? 'message';
}

function cut(line: string): string {
  return line.slice(0, keptCharacters);
}

/** Describes records for a commit: the first lines of a text, or the calls by name. */
export function describeRecords(records: readonly KnownRecord[]): Label {
  const calls = records.flatMap((record) => (record.type === 'tool_use' ? [record] : []));
  if (calls.length > 0) return describeCalls(records, calls);
  const [record] = records;
  if (record === undefined) return { title: '', details: [] };
  if (record.type === 'assistant_partial')
    return { ...toLabelLines(record.message.content), title: 'interrupted answer' };
  if (record.type === 'user' || record.type === 'assistant') {
    const words = 'file' in record.message ? record.message.file : record.message.content;
    return toLabelLines(isSummary(record) ? `note: ${words}` : words);
  }
  if (record.type === 'note' || record.type === 'thinking')
    return toLabelLines(`${record.type}: ${record.text.trim()}`);
  return { title: record.type === 'voice_interrupted' ? 'the user interrupted' : record.type, details: [] };
}

function describeCalls(
  records: readonly KnownRecord[],
  calls: readonly Extract<KnownRecord, { type: 'tool_use' }>[],
): Label {
  const details = calls.map(({ tool_name, tool_input, tool_call_id }, at) => {
    const result = records.find((record) => record.type === 'tool_result' && record.tool_call_id === tool_call_id);
    const outcome = result?.type === 'tool_result' ? describeOutcome(result) : '';
    return `${at + 1}. ${tool_name} ${JSON.stringify(tool_input) ?? ''}${outcome}`;
  });
  const names = calls.map(({ tool_name }) => tool_name);
  const title = names.length === 1 ? `call ${names[0]}` : `${names.length} calls: ${names.join(', ')}`;
  return { title, details };
}

const reasonWords: Record<ResultReason, string> = {
  denied: ': denied',
  instructed: ': not run, the user said what to do instead',
  aborted: ': aborted',
  recovered: ': interrupted by a crash',
};

function describeOutcome({ is_error, reason }: Extract<KnownRecord, { type: 'tool_result' }>): string {
  if (reason !== undefined) return reasonWords[reason];
  return is_error ? ': failed' : '';
}

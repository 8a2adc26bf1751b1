/** The parts of a message in Gemini's form, which Qwen Code also uses. */
import type { AgentRecords } from '../conversation/logs/agent-records.ts';
import { countOf, toUsage, toText } from '../conversation/logs/import-content.ts';
import { asText, fieldsOf, hasText, isObject } from '../conversation/records/import-values.ts';
import type { ImportLog } from '../conversation/logs/import-report.ts';
import type { UnitUsage } from '../conversation/logs/importer.ts';
import type { ResultReason } from '../conversation/records/record.ts';

type Fields = Record<string, unknown>;

/** Returns a content's text, which is a text or a list of parts; excludes thoughts. */
export function geminiText(content: unknown, log: ImportLog): string {
  if (typeof content === 'string') return content;
  const parts = (Array.isArray(content) ? content : [content]).map((part) => (hasText(part) ? { text: part } : part));
  return parts
    .map(fieldsOf)
    .filter(
      (part) => part['thought'] !== true && !isObject(part['functionCall']) && !isObject(part['functionResponse']),
    )
    .map(({ inlineData, ...part }) => toText([isObject(inlineData) ? toImage(inlineData) : part], log))
    .filter(hasText)
    .join('\n\n');
}

function toImage({ mimeType, data }: Fields): Fields {
  return { type: 'image', source: { media_type: mimeType, data } };
}

export function geminiThoughts(content: unknown): string {
  const parts = Array.isArray(content) ? content.map(fieldsOf) : [];
  const texts = parts.filter(({ thought }) => thought === true).map(({ text }) => asText(text) ?? '');
  return texts.filter(hasText).join('\n\n');
}

export function geminiCalls(content: unknown): Fields[] {
  return partsOf(content, 'functionCall');
}

export function geminiResponses(content: unknown): Fields[] {
  return partsOf(content, 'functionResponse');
}

function partsOf(content: unknown, key: string): Fields[] {
  const parts = Array.isArray(content) ? content : [];
  return parts.map((part) => fieldsOf(part)[key]).filter(isObject);
}

/** `status` is the program's report about the call. */
export function addGeminiResult(
  records: AgentRecords,
  response: Fields,
  { status, errorType, id }: { status?: unknown; errorType?: unknown; id?: unknown },
): void {
  const { output, error } = fieldsOf(response['response']);
  const isError = error !== undefined || (hasText(status) && status !== 'success');
  const said = output ?? error ?? response['response'] ?? '';
  const reason = isError ? toReason(status, errorType, asText(said) ?? '') : undefined;
  records.result({ callId: asText(response['id']) ?? '', output: said, isError, reason, id });
}

function toReason(status: unknown, errorType: unknown, said: string): ResultReason | undefined {
  if (status === 'cancelled') return 'aborted';
  return errorType === 'execution_denied' || said.startsWith('Tool execution blocked') ? 'denied' : undefined;
}

/** Adds up the input, because the counts list separately what a provider's tool has added. */
export function toGeminiUsage(model: unknown, tokens: Fields): UnitUsage {
  const [cached, reasoning] = [countOf(tokens['cached']), countOf(tokens['thoughts'])];
  const input = countOf(tokens['input']) + countOf(tokens['tool']);
  return toUsage(model, 'google', { input, output: countOf(tokens['output']) + reasoning, cached, reasoning });
}

/** Some providers include thoughts in the output, others count them separately; the total reveals which of the two. */
export function toQwenUsage(model: unknown, usage: Fields): UnitUsage {
  const input = countOf(usage['promptTokenCount']);
  const output = Math.max(countOf(usage['candidatesTokenCount']), countOf(usage['totalTokenCount']) - input);
  const [cached, reasoning] = [countOf(usage['cachedContentTokenCount']), countOf(usage['thoughtsTokenCount'])];
  return toUsage(model, undefined, { input, output, cached, reasoning });
}

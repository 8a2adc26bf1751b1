/** Finds calls and results among a content's blocks, where Anthropic's API mixes them with texts. */
import { asText, isObject } from './import-values.ts';

interface ContentCall {
  callId: string;
  name: string;
  input: unknown;
}

interface ContentResult {
  callId: string;
  output: unknown;
  isError: boolean;
}

/** Returns null when the block is not a call. */
export function toContentCall(block: unknown): ContentCall | null {
  if (!isObject(block) || block['type'] !== 'tool_use') return null;
  return { callId: asText(block['id']) ?? '', name: asText(block['name']) ?? '', input: block['input'] ?? {} };
}

/** Returns null when the block is not a result. */
export function toContentResult(block: unknown): ContentResult | null {
  if (!isObject(block) || block['type'] !== 'tool_result') return null;
  const { tool_use_id, content, is_error } = block;
  return { callId: asText(tool_use_id) ?? '', output: content ?? '', isError: is_error === true };
}

/** Returns a content's blocks without calls and results; returns any other value unchanged. */
export function withoutCalls(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.filter((block) => toContentCall(block) === null && toContentResult(block) === null);
}

/**
 * Splits a transcript line with calls or results in its content into several records, in block order. The first text
 * keeps the line's other fields, including its ID.
 */
export function splitContent(value: unknown): unknown[] {
  if (!isObject(value) || !isObject(value['message'])) return [value];
  const { message, timestamp } = value;
  const { content } = message as { content?: unknown };
  if (!Array.isArray(content) || (withoutCalls(content) as unknown[]).length === content.length) return [value];
  const records: Record<string, unknown>[] = [];
  let texts: unknown[] = [];
  let fields: Record<string, unknown> = value;
  const endText = () => {
    if (texts.length > 0) {
      records.push({ ...fields, message: { ...(message as object), content: texts } });
      fields = { type: value['type'], source: value['source'], timestamp };
    }
    texts = [];
  };
  for (const block of content) {
    const [call, result] = [toContentCall(block), toContentResult(block)];
    if (call === null && result === null) texts.push(block);
    else endText();
    if (call !== null) records.push({ type: 'tool_use', timestamp, ...toUse(call) });
    if (result !== null) records.push({ type: 'tool_result', timestamp, ...toResult(result) });
  }
  endText();
  return records;
}

function toUse({ callId, name, input }: ContentCall): Record<string, unknown> {
  return { tool_call_id: callId, tool_name: name, tool_input: input };
}

function toResult({ callId, output, isError }: ContentResult): Record<string, unknown> {
  return { tool_call_id: callId, output, is_error: isError };
}

/** Records of a conversation, in short form, and their result in every format. */
import { checkHistory } from './check-history.ts';
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import { toHistory } from '../../src/conversation/history/fold-history.ts';
import { historyFormats, type History, type HistoryFormat } from '../../src/conversation/history/history.ts';
import type { KnownRecord, ResultReason, TranscriptRecord } from '../../src/conversation/records/record.ts';
import { renderAnthropic } from '../../src/conversation/history/render-anthropic.ts';
import { renderMarkdown } from '../../src/conversation/history/render-history-markdown.ts';
import { renderJsonl } from '../../src/conversation/history/render-jsonl.ts';
import { renderOpenai } from '../../src/conversation/history/render-openai.ts';
import { encodeRecord } from '../../src/conversation/records/transcript.ts';

const timestamp = '2026-01-24T10:00:00.000Z';

export function user(id: string, content: string, source = 'text'): KnownRecord {
  return { type: 'user', id, timestamp, message: { role: 'user', content }, source };
}

export function assistant(id: string, content: string, source = 'text'): KnownRecord {
  return { type: 'assistant', id, timestamp, message: { role: 'assistant', content }, source };
}

export function partial(id: string, content: string): KnownRecord {
  return { type: 'assistant_partial', id, timestamp, message: { role: 'assistant', content }, source: 'text' };
}

/** Its record has the id `call-<callId>`. */
export function call(callId: string, input: unknown = { path: 'a.ts' }, id = `call-${callId}`): KnownRecord {
  return { type: 'tool_use', id, timestamp, tool_call_id: callId, tool_name: 'read_file', tool_input: input };
}

interface ResultOptions {
  id?: string;
  isError?: boolean;
  reason?: ResultReason;
}

/** Its record has the id `result-<callId>`. */
export function result(callId: string, output: unknown = 'done', options: ResultOptions = {}): KnownRecord {
  const { id = `result-${callId}`, isError = false, reason } = options;
  const record = { type: 'tool_result', id, timestamp, tool_call_id: callId, output, is_error: isError } as const;
  return reason === undefined ? record : { ...record, reason };
}

export const interrupted: KnownRecord = { type: 'voice_interrupted', id: 'cut', timestamp, details: {} };
export const meta: KnownRecord = { type: 'orchestrator_meta', id: 'meta', timestamp, details: { mode: 'voice' } };
export const note: KnownRecord = { type: 'note', id: 'note', timestamp, text: 'The answer was continued.' };

export function foldText(text: string, turn = '01'): History {
  return toHistory([{ turn, transcript: decodeTranscript(text) }]);
}

/** Through the bytes of a transcript. */
export function fold(...records: TranscriptRecord[]): History {
  return foldText(records.map(encodeRecord).join(''));
}

export function kindsOf({ repairs }: History): string[] {
  return repairs.map(({ kind }) => kind);
}

const renderers: Record<HistoryFormat, (history: History) => unknown> = {
  openai: renderOpenai,
  anthropic: renderAnthropic,
  jsonl: renderJsonl,
  markdown: renderMarkdown,
};

/**
 * Collects the findings of every check on every renderer's result, and the places where rereading it makes a
 * difference.
 */
export function findFaults(history: History): string[] {
  const faults = historyFormats.flatMap((format) =>
    checkHistory(format, renderers[format](history)).map((fault) => `${format}: ${fault}`),
  );
  const text = renderJsonl(history);
  const again = renderJsonl(foldText(text));
  return again === text ? faults : [...faults, `jsonl: read again it is\n${again}and was\n${text}`];
}

/** One message per line: `user: hi`, `assistant: text -> c1 read_file {"path":"a.ts"}`, `tool c1: done`. */
export function outline(history: History): string[] {
  return renderOpenai(history).map((message) => {
    if (message.role === 'tool') return `tool ${message.tool_call_id}: ${message.content}`;
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
    const shown = calls.map((made) => ` -> ${made.id} ${made.function.arguments}`);
    return `${message.role}: ${message.content ?? 'null'}${shown.join('')}`;
  });
}

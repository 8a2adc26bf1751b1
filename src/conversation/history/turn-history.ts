/** Turns a turn's records into the parts of its history, in their original order. */
import { toHistory } from './fold-history.ts';
import type { AssistantBlock, HistoryCall, HistoryResult, UserBlock } from './history.ts';
import { markInterrupted, toOutputText, toProviderName } from './provider-parts.ts';
import type { TranscriptRecord } from '../records/record.ts';
import { resolveFiles, type TurnFiles } from './resolve-files.ts';
import type { HistoryPart, TurnHistory } from '../../session/context/history-text.ts';
import type { TurnName } from '../../names.ts';

/** Never throws. A call comes before its result, even when several calls ran at the same time. */
export function toTurnHistory(turn: TurnName, records: readonly TranscriptRecord[], files: TurnFiles): TurnHistory {
  const decoded = { records: [...records], skipped: [], repaired: [] };
  const { transcript } = resolveFiles(turn, decoded, files);
  const { turns } = toHistory([{ turn, transcript }]);
  const parts = turns.flatMap(({ said, steps }) => [
    ...said.map(toMessage),
    ...steps.flatMap(({ texts, calls }) => [...texts.map(toReply), ...calls.flatMap(toCall)]),
  ]);
  return { turn, parts };
}

function toMessage({ text, source }: UserBlock): HistoryPart {
  if (source === 'report') return { title: 'Report', text, language: 'yaml', file: 'report.md' };
  return { title: `Message${toSpoken(source === 'voice_transcription')}`, text, language: 'text' };
}

function toReply(block: AssistantBlock): HistoryPart {
  const text = markInterrupted(block);
  if (block.source === 'plan') return { title: 'Plan', text, language: 'markdown', file: 'plan.md' };
  return { title: `Reply${toSpoken(block.source === 'voice_response')}`, text, language: 'markdown' };
}

function toSpoken(isSpoken: boolean): string {
  return isSpoken ? ' (spoken)' : '';
}

function toCall({ name, input, result }: HistoryCall): HistoryPart[] {
  return [
    // The name comes from a model and must not become a heading.
    { title: 'Tool call', tool: toProviderName(name), text: `${JSON.stringify(input)}\n`, language: 'json' },
    { title: toResultTitle(result), text: toOutputText(result), language: 'text' },
  ];
}

function toResultTitle({ isError, isSynthetic, reason }: HistoryResult): string {
  if (isSynthetic) return 'Result (missing)';
  if (reason !== undefined) return `Result (${reason})`;
  return isError ? 'Result (error)' : 'Result';
}

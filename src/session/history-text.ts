/** The earlier turns of a line, as the model reads them. */
import { renderFenced } from './fenced-text.ts';
import type { TurnName } from './names.ts';

export interface TurnHistory {
  turn: TurnName;
  /** All messages of the user, in order. */
  messages: readonly string[];
  /** `plan.md`, byte for byte. */
  plan: string | null;
  /** Answers that are not plans. */
  replies: readonly string[];
  /** `report.md`, byte for byte. */
  report: string | null;
}

/** Markdown, oldest turn first; everything that was said stands in a fence, exactly as it was. Empty without turns. */
export function renderHistory(turns: readonly TurnHistory[]): string {
  return turns.map(renderTurn).join('\n');
}

function renderTurn({ turn, messages, plan, replies, report }: TurnHistory): string {
  const parts = [
    ...messages.map((text) => renderPart('Message', text, 'text')),
    ...(plan === null ? [] : [renderPart('Plan', plan, 'markdown')]),
    ...replies.map((text) => renderPart('Reply', text, 'markdown')),
    ...(report === null ? [] : [renderPart('Report', report, 'yaml')]),
  ];
  return [`## Turn ${turn}\n`, ...parts].join('\n');
}

function renderPart(title: string, text: string, language: string): string {
  return `### ${title}\n\n${renderFenced(text, language)}`;
}

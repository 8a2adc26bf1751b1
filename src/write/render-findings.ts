/** Renders all findings as one message for the user or model that corrects the content. */
import { decodeText } from './candidate.ts';
import type { Limits } from '../session/settings/write-limits.ts';
import { takeLines } from './positions.ts';
import type { Finding } from './write.ts';

const around = 2;
const maxShownLength = 200;

/**
 * Shows each finding with two lines of context, and the number of further findings. `content` is the content as
 * received.
 */
export function renderFindings(
  findings: readonly Finding[],
  content: Uint8Array,
  { maxFindings }: Pick<Limits, 'maxFindings'>,
): string {
  // The content may be long, so do not decode it when there is nothing to quote.
  if (findings.length === 0) return '';
  const shown = findings.slice(0, maxFindings);
  const lines = takeLines(decodeText(content), new Set(shown.flatMap(({ line }) => linesAround(line))));
  const blocks = shown.map((finding, at) => renderFinding(finding, at + 1, lines));
  const more = findings.length - shown.length;
  const rest = more === 0 ? [] : [more === 1 ? 'And 1 more finding.' : `And ${more} more findings.`];
  return [...blocks, ...rest].join('\n\n');
}

function renderFinding({ check, message, line, column }: Finding, number: number, lines: Map<number, string>): string {
  const place = line === undefined ? '' : column === undefined ? `, line ${line}` : `, line ${line}, column ${column}`;
  const width = String((line ?? 0) + around).length;
  const quoted = linesAround(line).flatMap((each) => {
    const text = lines.get(each);
    if (text === undefined) return [];
    const shownText = each === line ? cutAround(text, column ?? 1) : cutAround(text, 1);
    return [`${each === line ? '>' : ' '} ${String(each).padStart(width)} | ${toVisible(shownText)}`.trimEnd()];
  });
  return [`${number}. ${check}${place}: ${message}`, ...quoted].join('\n');
}

function linesAround(line: number | undefined): number[] {
  if (line === undefined) return [];
  return Array.from({ length: 2 * around + 1 }, (_, at) => line - around + at).filter((each) => each > 0);
}

/** Returns the part of a long line around the column. */
function cutAround(text: string, column: number): string {
  if (text.length <= maxShownLength) return text;
  const start = Math.max(0, Math.min(column - 1 - maxShownLength / 2, text.length - maxShownLength));
  const end = start + maxShownLength;
  return `${start > 0 ? '…' : ''}${text.slice(start, end)}${end < text.length ? '…' : ''}`;
}

/** Replaces each character that is invisible, or that would change the surrounding text, with its number. */
function toVisible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|\p{Cs}/gu, (character) => {
    if (character === '\t') return character;
    return `<U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`;
  });
}

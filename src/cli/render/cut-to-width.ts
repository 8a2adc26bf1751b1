/**
 * Computes widths as a terminal shows them: East Asian wide characters and emoji take two columns, combining marks take
 * none.
 */
import { eastAsianWidth } from 'get-east-asian-width';

export function widthOf(text: string): number {
  return isPlain(text) ? text.length : measure(text).reduce((sum, { columns }) => sum + columns, 0);
}

/** Pads the text with spaces to a width. */
export function padTo(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)));
}

/** Cuts a line to fit, with `…` at its end. `columns` may be infinite. */
export function cutToWidth(text: string, columns: number): string {
  const room = Math.max(columns, 1);
  if (widthOf(text) <= room) return text;
  let used = 0;
  let kept = '';
  for (const one of measure(text)) {
    used += one.columns;
    if (used > room - 1) break;
    kept += one.character;
  }
  return `${kept.trimEnd()}…`;
}

/** Wraps the text at words into lines that fit. `columns` may be infinite. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && widthOf(last) + 1 + widthOf(word) <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function isPlain(text: string): boolean {
  return !/[^\x20-\x7e]/.test(text);
}

/**
 * Measures single characters. `Intl.Segmenter` would find whole clusters, but takes 8 ms to start; `toVisible` shows
 * characters that join clusters as text.
 */
function measure(text: string): { character: string; columns: number }[] {
  let before = 0;
  return [...text].map((character) => {
    const columns = columnsOf(character, before);
    if (columns > 0) before = columns;
    return { character, columns };
  });
}

/** `before` is the width of the character that a mark combines with. */
function columnsOf(character: string, before: number): number {
  // The variation selector turns a narrow symbol into an emoji.
  if (character === '\uFE0F') return before === 1 ? 1 : 0;
  if (/[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u1160-\u11FF]/u.test(character)) return 0;
  if (before === 2 && /\p{Emoji_Modifier}/u.test(character)) return 0;
  return eastAsianWidth(character.codePointAt(0) ?? 0);
}

/** A long text is cut with a word, and one that was cut may be cut again: the number is that of all that is missing. */
import { formatCount } from './format-count.ts';

const mark = /\n\[(\d{1,3}(?:,\d{3})*) more characters are left out\]/g;

export function toCutMark(count: number): string {
  return `\n[${formatCount(count)} more characters are left out]`;
}

/** How many characters a text had before it was cut. */
export function countWhole(text: string): number {
  let count = text.length;
  for (const [found, number = ''] of text.matchAll(mark)) count += Number(number.replaceAll(',', '')) - found.length;
  return count;
}

/** `shown`: what was made of the beginning of `text`, and stands in its place. */
export function cutText(text: string, max: number, shown = text): string {
  return text.length <= max ? shown : shown.slice(0, max) + toCutMark(countWhole(text) - max);
}

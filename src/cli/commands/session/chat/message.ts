/** The lines that are typed or pasted at the prompt, until they are one message. */

export interface Gathering {
  readonly lines: readonly string[];
  /** Lines end at three quotes, not at the end of a line. */
  readonly isQuoted: boolean;
}

export const nothingGathered: Gathering = { lines: [], isQuoted: false };

const quotes = '"""';

/** A pasted line is taken as it is: what stands in it ends nothing and begins nothing. */
export function gatherLine(
  { lines, isQuoted }: Gathering,
  line: string,
  { isPasted }: { isPasted: boolean },
): Gathering | { message: string } {
  if (isPasted) return { lines: [...lines, line], isQuoted };
  if (isQuoted) return gatherQuoted(lines, line);
  if (lines.length === 0 && line.trimStart().startsWith(quotes))
    return gatherQuoted([], line.trimStart().slice(quotes.length));
  if (line.endsWith('\\')) return { lines: [...lines, line.slice(0, -1)], isQuoted };
  return toMessage([...lines, line]);
}

function gatherQuoted(lines: readonly string[], line: string): Gathering | { message: string } {
  const text = line.trimEnd();
  if (!text.endsWith(quotes)) return { lines: [...lines, line], isQuoted: true };
  return toMessage([...lines, text.slice(0, -quotes.length)]);
}

/** Without empty lines around it: those come of pasting and of quotes on lines of their own. */
function toMessage(lines: readonly string[]): { message: string } {
  return { message: lines.join('\n').replace(/^(?:[^\S\n]*\n)+|\s+$/g, '') };
}

/** A text as lines whose white space at both ends is known apart: what the matchers that forgive white space compare. */

/**
 * `start` to `end` is the line with its newline, in UTF-16 units. `body` has no white space at its ends; a blank line has
 * an empty `body` and no `indent`.
 */
export interface Line {
  start: number;
  end: number;
  indent: string;
  body: string;
  /** The line as it is, without its newline. */
  content: string;
}

export function splitLines(text: string): Line[] {
  const lines: Line[] = [];
  for (let start = 0; start < text.length;) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline + 1;
    lines.push(toLine({ start, end }, text.slice(start, newline === -1 ? end : newline)));
    start = end;
  }
  return lines;
}

function toLine({ start, end }: Pick<Line, 'start' | 'end'>, content: string): Line {
  let [first, last] = [0, content.length];
  // A pattern such as /[ \t]+$/ is quadratic in a long run of spaces.
  while (last > 0 && isSpace(content.charCodeAt(last - 1))) last -= 1;
  while (first < last && isSpace(content.charCodeAt(first))) first += 1;
  // Named one by one: a spread takes several times as long, and a large file has many lines.
  return { start, end, content, indent: content.slice(0, first), body: content.slice(first, last) };
}

/** Space, tab, and a carriage return too many. Every other character, a no-break space as well, has to be the same. */
function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0d;
}

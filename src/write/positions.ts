/** Finds positions in a text. Lines and columns count from 1; a column is a UTF-16 unit, as editors count. */

export interface Position {
  line: number;
  column: number;
}

/** Returns a function from offsets to positions. With offsets in ascending order, it reads the text only once. */
export function locator(text: string): (offset: number) => Position {
  let line = 1;
  let start = 0;
  return (offset) => {
    if (offset < start) [line, start] = [1, 0];
    for (let end = text.indexOf('\n', start); end !== -1 && end < offset; end = text.indexOf('\n', start)) {
      line += 1;
      start = end + 1;
    }
    return { line, column: offset - start + 1 };
  };
}

/** Returns the line around an offset, without its ending. */
export function lineAround(text: string, offset: number): string {
  const start = offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
  const end = text.indexOf('\n', offset);
  return text.slice(start, end === -1 ? text.length : end).replace(/\r$/, '');
}

/** Returns the wanted lines that exist, without their endings. */
export function takeLines(text: string, wanted: ReadonlySet<number>): Map<number, string> {
  const taken = new Map<number, string>();
  const last = Math.max(0, ...wanted);
  let start = 0;
  for (let line = 1; line <= last && start < text.length; line += 1) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    if (wanted.has(line)) taken.set(line, text.slice(start, end).replace(/\r$/, ''));
    start = end + 1;
  }
  return taken;
}

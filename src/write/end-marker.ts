/** The line that ends the content: `DONE`, or a custom marker for a session whose content itself has a line `DONE`. */

const newline = 10;

export function isEndMarker(text: string): boolean {
  return /^DONE(?:-[0-9a-f]{8})?$/.test(text);
}

/** `random` must be eight hexadecimal digits in lower case. */
export function toOwnMarker(random: string): string {
  const marker = `DONE-${random}`;
  if (!isEndMarker(marker)) throw new Error(`An end marker is made of eight hexadecimal digits, not of ${random}.`);
  return marker;
}

/** Returns true if a line of the text, inside a code fence or not, would pass for the marker. */
export function hasBareMarker(bytes: Uint8Array, marker: string): boolean {
  const mark = new TextEncoder().encode(marker);
  for (let start = 0; start < bytes.length;) {
    if (isMarkerLine(bytes, start, mark)) return true;
    const end = bytes.indexOf(newline, start);
    if (end === -1) return false;
    start = end + 1;
  }
  return false;
}

function isMarkerLine(bytes: Uint8Array, start: number, mark: Uint8Array): boolean {
  for (let at = 0; at < mark.length; at += 1) if (bytes[start + at] !== mark[at]) return false;
  let end = start + mark.length;
  while (end < bytes.length && isPadding(bytes[end])) end += 1;
  return end === bytes.length || bytes[end] === newline;
}

/** Returns true if the byte is a space, tab or carriage return, which may follow a marker in its line. */
export function isPadding(byte: number | undefined): boolean {
  return byte === 32 || byte === 9 || byte === 13;
}

/** The prompt for a writer that has fallen silent. */
export function renderIdlePrompt(endMarker: string): string {
  return `If you're finished, reply ${endMarker} on its own line. Otherwise continue writing.`;
}

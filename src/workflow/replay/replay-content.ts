/** Whether bytes are what git would have made of others when it took them in. */

/** `normalised`: the same but for what git itself changes on the way into a blob: line endings, `$Id$`. */
type ContentVerdict = 'same' | 'normalised' | 'different';

export function compareContent(replayed: Uint8Array, recorded: Uint8Array): ContentVerdict {
  if (isEqual(replayed, recorded)) return 'same';
  const [mine, theirs] = [toBytesText(replayed), toBytesText(recorded)];
  const ways = [withLineFeeds, withoutIds, (text: string) => withoutIds(withLineFeeds(text))];
  return ways.some((clean) => clean(mine) === theirs) ? 'normalised' : 'different';
}

/** As `text` and `core.autocrlf` do: either every line ending becomes LF, or none is touched. */
function withLineFeeds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** As `ident` does. */
function withoutIds(text: string): string {
  return text.replace(/\$Id:[^$\n]*\$/g, '$Id$$');
}

/** A character for each byte: nothing is lost where the bytes are no text. */
function toBytesText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

export function isEqual(a: Uint8Array | null, b: Uint8Array | null): boolean {
  return a === null || b === null ? a === b : Buffer.compare(a, b) === 0;
}

/** Checks that git could have stored the given bytes from other bytes. */
import { equalBytes } from '../../session/text/bytes.ts';

/** The conversions that git itself performs when it stores a file. */
export type Conversion = 'line endings' | '$Id$';

/** `normalised` means equal except for conversions. */
type ContentVerdict = 'same' | 'normalised' | 'different';

const ways: { by: Conversion[]; clean(text: string): string }[] = [
  { by: ['line endings'], clean: withLineFeeds },
  { by: ['$Id$'], clean: withoutIds },
  { by: ['line endings', '$Id$'], clean: (text) => withoutIds(withLineFeeds(text)) },
];

export function compareContent(replayed: Uint8Array, recorded: Uint8Array): ContentVerdict {
  if (equalBytes(replayed, recorded)) return 'same';
  return findConversions(replayed, recorded) === null ? 'different' : 'normalised';
}

/** Returns the conversions that turn the first into the second; null when none do. */
export function findConversions(replayed: Uint8Array, recorded: Uint8Array): Conversion[] | null {
  const [mine, theirs] = [toBytesText(replayed), toBytesText(recorded)];
  return ways.find(({ clean }) => clean(mine) === theirs)?.by ?? null;
}

/** Does the same as `text` and `core.autocrlf`: converts every line ending to LF, or none. */
function withLineFeeds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** Does the same as `ident`. */
function withoutIds(text: string): string {
  return text.replace(/\$Id:[^$\n]*\$/g, '$Id$$');
}

/** Maps each byte to a character, so that nothing is lost when the bytes are not text. */
function toBytesText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

const maxDiffLines = 40;

/** Cuts a diff after its beginning, which is enough to recognize the difference; git can show the rest. */
export function cutDiff(diff: string): string {
  const lines = diff.replace(/\n$/, '').split('\n');
  if (lines.length <= maxDiffLines) return diff;
  return `${lines.slice(0, maxDiffLines).join('\n')}\n... ${lines.length - maxDiffLines} more lines\n`;
}

/** Whether bytes are what git would have made of others when it took them in. */
import { equalBytes } from '../../session/text/bytes.ts';

/** git itself makes these changes on the way into a blob: line endings, `$Id$`. */
export type Conversion = 'line endings' | '$Id$';

/** `normalised`: the same but for conversions. */
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

/** The conversions that make the second of the first; null: none does. */
export function findConversions(replayed: Uint8Array, recorded: Uint8Array): Conversion[] | null {
  const [mine, theirs] = [toBytesText(replayed), toBytesText(recorded)];
  return ways.find(({ clean }) => clean(mine) === theirs)?.by ?? null;
}

/** Does the work of `text` and `core.autocrlf`: either every line ending becomes LF, or none is touched. */
function withLineFeeds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** Does the work of `ident`. */
function withoutIds(text: string): string {
  return text.replace(/\$Id:[^$\n]*\$/g, '$Id$$');
}

/** A character for each byte: nothing is lost where the bytes are no text. */
function toBytesText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}

const maxDiffLines = 40;

/** The beginning of a diff: a difference is shown to be recognised, and the rest can be asked of git. */
export function cutDiff(diff: string): string {
  const lines = diff.replace(/\n$/, '').split('\n');
  if (lines.length <= maxDiffLines) return diff;
  return `${lines.slice(0, maxDiffLines).join('\n')}\n... ${lines.length - maxDiffLines} more lines\n`;
}

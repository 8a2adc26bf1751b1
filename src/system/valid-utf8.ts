import { isUtf8 } from 'node:buffer';

/**
 * How many bytes, from the beginning, are text: UTF-8 up to the first byte that is not. A NUL ends it too, since after a power
 * cut a file may have a hole where nothing was written.
 */
export function validUtf8Length(bytes: Uint8Array): number {
  const nul = bytes.indexOf(0);
  const text = Buffer.from(bytes.subarray(0, nul === -1 ? bytes.length : nul));
  if (isUtf8(text)) return text.length;
  const replaced = Buffer.from(text.toString('utf8'));
  let length = text.findIndex((byte, at) => byte !== replaced[at]);
  if (length === -1) length = text.length;
  // The mark for a broken character may begin with the same bytes as that character.
  while (!isUtf8(text.subarray(0, length))) length -= 1;
  return length;
}

/** How the lines of a file end. */
import type { Base } from './write.ts';

const lf = 0x0a;
const cr = 0x0d;

/** `none`: there is no line that ends. */
export function lineEndingsOf(bytes: Uint8Array): Base['lineEndings'] {
  let [hasLf, hasCrlf] = [false, false];
  for (let at = bytes.indexOf(lf); at !== -1 && !(hasLf && hasCrlf); at = bytes.indexOf(lf, at + 1)) {
    if (at > 0 && bytes[at - 1] === cr) hasCrlf = true;
    else hasLf = true;
  }
  if (hasLf && hasCrlf) return 'mixed';
  return hasCrlf ? 'crlf' : hasLf ? 'lf' : 'none';
}

export function endsInNewline(bytes: Uint8Array): boolean {
  return bytes.length > 0 && bytes[bytes.length - 1] === lf;
}

export function beginsWithBom(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

/** Null when the bytes are not UTF-8. A byte order mark stays in the text, so that encoding gives the same bytes. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Spaces, tabs and ends of lines alone. */
export function isWhiteSpace(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 32 || (byte >= 9 && byte <= 13));
}

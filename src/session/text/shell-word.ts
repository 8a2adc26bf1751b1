/** A word as a POSIX shell reads it back: quoted only where it has to be. */
export function toShellWord(text: string): string {
  return /^[\p{L}\p{N}_./+:@%=-]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Writes a word for a POSIX shell, quoted only when necessary. */
export function toShellWord(text: string): string {
  return /^[\p{L}\p{N}_./+:@%=-]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

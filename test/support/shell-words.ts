/**
 * The words in a command line, as a shell splits them; null if only a shell could: pipes, variables, patterns, escapes.
 */
export function readWords(line: string): string[] | null {
  const words: string[] = [];
  let rest = line.trim();
  while (rest !== '') {
    const [word = ''] = /^(?:[^\s"'|&;<>()$`\\*?[\]~#{}]|"[^"$`\\]*"|'[^']*')+/.exec(rest) ?? [];
    const after = rest.slice(word.length);
    if (word === '' || /^\S/.test(after)) return null;
    words.push(
      word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, double?: string, single?: string) => double ?? single ?? ''),
    );
    rest = after.trimStart();
  }
  return words;
}

/** Any text as a fenced block of Markdown, so that nothing in it can be confused with what stands around it. */

const noFinalNewline = '\\ No newline at end of file\n';

/**
 * The fence is longer than any run of back-ticks inside. As in a diff, the line `\ No newline at end of file` after
 * the closing fence says that the last newline inside is not part of the text. Ends in a newline.
 */
export function renderFenced(text: string, language = ''): string {
  const fence = '`'.repeat(Math.max(3, longestRunOfBackticks(text) + 1));
  const complete = text === '' || text.endsWith('\n');
  return `${fence}${language}\n${text}${complete ? '' : '\n'}${fence}\n${complete ? '' : noFinalNewline}`;
}

/** A fence's language: the extension of the file name, or nothing. */
export function fenceLanguage(path: string): string {
  return /\.([A-Za-z0-9]{1,10})$/.exec(path)?.[1] ?? '';
}

function longestRunOfBackticks(text: string): number {
  let longest = 0;
  for (const run of text.matchAll(/`+/g)) longest = Math.max(longest, run[0].length);
  return longest;
}

/** Renders any text as a fenced block of Markdown, so that nothing in it can be confused with the text around it. */

const noFinalNewline = '\\ No newline at end of file\n';

/**
 * Renders the block, with a fence longer than any run of back-ticks inside. As in a diff, the line `\ No newline at end
 * of file` after the closing fence means that the last newline inside does not belong to the text. The result ends in a
 * newline.
 */
export function renderFenced(text: string, language = ''): string {
  const fence = '`'.repeat(Math.max(3, longestRunOfBackticks(text) + 1));
  const complete = text === '' || text.endsWith('\n');
  return `${fence}${language}\n${text}${complete ? '' : '\n'}${fence}\n${complete ? '' : noFinalNewline}`;
}

/** Returns the language of a fence: the extension of the file name, or nothing. */
export function fenceLanguage(path: string): string {
  return /\.([A-Za-z0-9]{1,10})$/.exec(path)?.[1] ?? '';
}

function longestRunOfBackticks(text: string): number {
  let longest = 0;
  for (const run of text.matchAll(/`+/g)) longest = Math.max(longest, run[0].length);
  return longest;
}

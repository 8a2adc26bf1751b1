/** Renders any text as a fenced Markdown block, so that nothing in the text can be confused with its surroundings. */

const noFinalNewline = '\\ No newline at end of file\n';

/**
 * Renders the block, with a fence longer than any run of back-ticks inside. As in a diff, the line `\ No newline at end
 * of file` after the closing fence means that the last newline inside is not part of the text. The result ends in a
 * newline.
 */
export function renderFenced(text: string, language = ''): string {
  const fence = '`'.repeat(Math.max(3, longestRunOfBackticks(text) + 1));
  const complete = text === '' || text.endsWith('\n');
  return `${fence}${language}\n${text}${complete ? '' : '\n'}${fence}\n${complete ? '' : noFinalNewline}`;
}

/** Returns the language of a fence: the file name's extension, or nothing. */
export function fenceLanguage(path: string): string {
  return /\.([A-Za-z0-9]{1,10})$/.exec(path)?.[1] ?? '';
}

function longestRunOfBackticks(text: string): number {
  let longest = 0;
  for (const run of text.matchAll(/`+/g)) longest = Math.max(longest, run[0].length);
  return longest;
}

/** The beginning of a diff: a difference is shown to be recognised, and the rest can be asked of git. */

const maxDiffLines = 40;

export function cutDiff(diff: string): string {
  const lines = diff.replace(/\n$/, '').split('\n');
  if (lines.length <= maxDiffLines) return diff;
  return `${lines.slice(0, maxDiffLines).join('\n')}\n... ${lines.length - maxDiffLines} more lines\n`;
}

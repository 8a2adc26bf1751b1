/** Colors a unified diff for a terminal. */
import type { Style, Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';
import type { Piece } from '../../plan/match/word-diff.ts';

type PairWords = (lines: readonly string[]) => Map<number, Piece[]>;

/**
 * Colors the diff only after control characters are visible, so that a file's own escape sequences have no effect.
 * `pairWords` emphasizes words that differ; it is a parameter because the code that compares words takes time to load.
 */
export function colorDiff(
  terminal: Terminal,
  diff: string,
  stream: 'stdout' | 'stderr' = 'stderr',
  pairWords?: PairWords,
): string {
  const lines = toVisible(diff.trimEnd()).split('\n');
  const words = pairWords?.(lines);
  return lines
    .map((line, at) => {
      if (/^(?:\+\+\+|---) /.test(line)) return terminal.style('bold', line, stream);
      const color = line.startsWith('+') ? 'green' : line.startsWith('-') ? 'red' : null;
      if (color === null) return line.startsWith('@@') ? terminal.style('cyan', line, stream) : line;
      const pieces = words?.get(at) ?? [{ text: line.slice(1), isChanged: false }];
      const style = ({ text, isChanged }: Piece): string => {
        const styles = (isChanged ? [color, 'inverse'] : color) as Style;
        return terminal.style(styles, text, stream);
      };
      return mergeSign(line, pieces).map(style).join('');
    })
    .join('\n');
}

/** Joins the sign with the unchanged text after it into a single run of color. */
function mergeSign(line: string, [first, ...rest]: Piece[]): Piece[] {
  const sign = line.slice(0, 1);
  if (!first || first.isChanged) return [{ text: sign, isChanged: false }, ...(first ? [first] : []), ...rest];
  return [{ text: sign + first.text, isChanged: false }, ...rest];
}

/** The lines in a context's three levels, in the order in which they apply. */
import { type ContextLine, parseContextLine } from './context-lines.ts';
import { isPattern } from './context-target.ts';

type ContextLevel = 'global' | 'session' | 'turn';

/** A line's position; `line` counts from 1 within its level, and `text` is the line as written. */
export interface LinePosition {
  level: ContextLevel;
  line: number;
  text: string;
}

/** A line that is not blank or a comment. `refusal` explains why teddy does not follow it. */
interface PlacedLine {
  line: ContextLine;
  place: LinePosition;
  refusal: { kind: 'refused'; reason: string } | null;
}

/** teddy matches each pattern against every project file, so without a limit a model's list could take minutes. */
const maxPatterns = 100;
const tooMany = {
  kind: 'refused' as const,
  reason: `the list has more than ${maxPatterns} patterns; name directories`,
};

/**
 * Reads the levels. `global` and `session` contain the text of the user's lists; `turn` contains the lines of the
 * turn's own list.
 */
export function readLevels(levels: { global: string; session: string; turn: readonly string[] }): PlacedLine[] {
  let patterns = 0;
  const read = (level: ContextLevel, texts: readonly string[]) =>
    texts.flatMap((text, index): PlacedLine[] => {
      const line = parseContextLine(text);
      if (line === null) return [];
      const counts = level === 'turn' && !line.literal && isPattern(line.text);
      if (counts) patterns += 1;
      const refusal = counts && patterns > maxPatterns ? tooMany : null;
      return [{ line, place: { level, line: index + 1, text: text.trim() }, refusal }];
    });
  return [
    ...read('global', levels.global.split('\n')),
    ...read('session', levels.session.split('\n')),
    ...read('turn', levels.turn),
  ];
}

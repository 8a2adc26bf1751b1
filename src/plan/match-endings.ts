/** The line endings of a file, kept apart from its text: FIND and REPLACE are read without them, and they are put back. */

export type LineEnding = '\n' | '\r\n';

/** `text` has `\n` for every ending; `endings` are those of the file, in order, or the one that all of its lines have. */
export interface EndedText {
  text: string;
  endings: LineEnding | LineEnding[];
}

/** What `start` to `end` of a text becomes, in UTF-16 units. */
export interface Replaced {
  start: number;
  end: number;
  replacement: string;
}

/** Only `\r\n` becomes `\n`, so that `renderEndings` gives the same text again. */
export function splitEndings(text: string): EndedText {
  if (!text.includes('\n')) return { text, endings: [] };
  if (!text.includes('\r\n')) return { text, endings: '\n' };
  const isMixed = /(?<!\r)\n/.test(text);
  return { text: toNewlines(text), endings: isMixed ? listEndings(text) : '\r\n' };
}

export function renderEndings({ text, endings }: EndedText): string {
  if (endings === '\n') return text;
  if (endings === '\r\n') return text.replaceAll('\n', endings);
  return text
    .split('\n')
    .map((line, at) => line + (endings[at] ?? ''))
    .join('');
}

export function toNewlines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

export function listEndings(text: string): LineEnding[] {
  return (text.match(/\r?\n/g) ?? []) as LineEnding[];
}

/**
 * Replaces places that are in order and do not overlap. In a file of mixed endings a line that stays keeps its own, a new
 * one takes that of the line it replaces, else that of the line before it; `own` are the plan's, for a file without any.
 */
export function replaceEnded({ text, endings }: EndedText, replaced: Replaced[], own: LineEnding[]): EndedText {
  const parts: string[] = [];
  let end = 0;
  for (const place of replaced) {
    parts.push(text.slice(end, place.start), place.replacement);
    end = place.end;
  }
  parts.push(text.slice(end));
  const next = typeof endings === 'string' ? endings : replaceEach(text, endings, replaced, own);
  return { text: parts.join(''), endings: next };
}

function replaceEach(text: string, endings: LineEnding[], replaced: Replaced[], own: LineEnding[]): LineEnding[] {
  const next: LineEnding[] = [];
  let at = 0;
  let taken = 0;
  for (const { start, end, replacement } of replaced) {
    for (; at < start; at += 1) if (text[at] === '\n') next.push(endings[taken++]!);
    const removed = text.slice(start, end).split('\n');
    const old = endings.slice(taken, taken + removed.length - 1);
    const around = endings[taken + old.length] ?? endings[taken - 1];
    const fresh = chooseEndings({ removed, added: replacement.split('\n'), old, around, own });
    for (const ending of fresh) next.push(ending);
    taken += old.length;
    at = end;
  }
  for (; taken < endings.length; taken += 1) next.push(endings[taken]!);
  return next;
}

interface Change {
  /** Lines; what stands behind the last ending is the last of them. */
  removed: string[];
  added: string[];
  /** The endings of `removed`. */
  old: LineEnding[];
  /** That of the line in which the place ends, or of the one before. */
  around: LineEnding | undefined;
  own: LineEnding[];
}

function chooseEndings({ removed, added, old, around, own }: Change): LineEnding[] {
  const count = added.length - 1;
  const kept = countKept(removed, added);
  const near = old[0] ?? around;
  const chosen: LineEnding[] = [];
  for (let at = 0; at < count; at += 1) {
    const place = at >= count - kept ? old.length - count + at : Math.min(at, old.length - kept - 1);
    const beside = near === undefined ? own[at] : (chosen.at(-1) ?? near);
    chosen.push(old[place] ?? beside ?? '\n');
  }
  return chosen;
}

/** How many ended lines at the end of a place stay. Those at its beginning have the endings that they had in any case. */
function countKept(removed: string[], added: string[]): number {
  const most = Math.min(removed.length, added.length) - 1;
  let kept = 0;
  while (kept < most && removed.at(-2 - kept) === added.at(-2 - kept)) kept += 1;
  return kept;
}

/** As `before` does, a text that is not empty ends with a line ending or without one. */
export function keepFinalNewline(before: EndedText, after: EndedText): EndedText {
  const { text, endings } = after;
  if (before.text === '' || text === '' || before.text.endsWith('\n') === text.endsWith('\n')) return after;
  const isEnded = text.endsWith('\n');
  const last = typeof before.endings === 'string' ? before.endings : before.endings.at(-1);
  const changed = isEnded ? text.slice(0, -1) : `${text}\n`;
  if (typeof endings === 'string') return { text: changed, endings };
  return { text: changed, endings: isEnded ? endings.slice(0, -1) : [...endings, last ?? '\n'] };
}

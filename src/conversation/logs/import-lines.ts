/** Cuts a text that comes in pieces into lines, and a line into its JSON objects. */
import { isObject, parseJson } from '../../session/text/parse-object.ts';
import { mendLine, type RecordForm } from '../records/mend-line.ts';

export interface SourceLine {
  /** From 1. */
  number: number;
  /** Without its line end; null: longer than what can be held. */
  text: string | null;
}

/** Blank lines are counted and not given. */
export interface LineCutter {
  push(text: string): SourceLine[];
  end(): SourceLine[];
}

const maxLineChars = 64 * 1024 * 1024;

/** Takes time linear in the text, wherever it was cut. */
export function openLines(maxChars = maxLineChars): LineCutter {
  let parts: string[] = [];
  let chars = 0;
  let number = 0;
  const keep = (part: string): void => {
    chars += part.length;
    // The rest of a line that is too long is only counted.
    if (chars > maxChars) parts = [];
    else if (part !== '') parts.push(part);
  };
  const finish = (): SourceLine[] => {
    number += 1;
    const text = chars > maxChars ? null : withoutEnd(parts.join(''), number);
    [parts, chars] = [[], 0];
    return text === '' ? [] : [{ number, text }];
  };
  const push = (text: string): SourceLine[] => {
    const lines: SourceLine[] = [];
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      keep(text.slice(from, end));
      lines.push(...finish());
      from = end + 1;
    }
    keep(text.slice(from));
    return lines;
  };
  return { push, end: () => (chars === 0 ? [] : finish()) };
}

export interface LineObjects {
  objects: Record<string, unknown>[];
  /** The repair of the line; null when it needed none. */
  mended: string | null;
  /** A part of it is torn, and none of the objects. */
  isTorn?: boolean;
  /** Why there is something in the line that is none of the objects; null: there is nothing else. */
  lost: string | null;
}

/** The JSON objects of a line: one, or what can be read of a damaged one; `isRecord` as for `mendLine`. Never throws. */
export function readObjects(line: string, isRecord?: RecordForm): LineObjects {
  const value = parseJson(line);
  const none = { objects: [], mended: null };
  if (isObject(value)) return { ...none, objects: [value], lost: null };
  if (value !== undefined) return { ...none, lost: 'not a JSON object' };
  const mended = mendLine(line, isRecord);
  if (typeof mended === 'string') return { ...none, lost: mended };
  const { values, isTorn, reason } = mended;
  return { objects: values.filter(isObject), mended: reason, isTorn, lost: null };
}

function withoutEnd(line: string, number: number): string {
  const text = (number === 1 ? line.replace(/^\uFEFF/, '') : line).replace(/\r$/, '');
  return text.trim() === '' ? '' : text;
}

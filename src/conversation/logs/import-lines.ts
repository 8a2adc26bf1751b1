/** Cuts a text that arrives in pieces into lines, and a line into its JSON objects. */
import { isObject, parseJson } from '../../session/text/parse-object.ts';
import { repairLine, type RecordForm } from '../records/repair-line.ts';

export interface SourceLine {
  /** Counted from 1. */
  number: number;
  /** The text without its line end; null for an overlong line. */
  text: string | null;
}

/** Counts blank lines but does not return them. */
export interface LineCutter {
  push(text: string): SourceLine[];
  end(): SourceLine[];
}

const maxLineChars = 64 * 1024 * 1024;

/** Takes time linear in the length of the text, and returns the same lines wherever the pieces were cut. */
export function openLines(maxChars = maxLineChars): LineCutter {
  let parts: string[] = [];
  let chars = 0;
  let number = 0;
  const keep = (part: string): void => {
    chars += part.length;
    // For the rest of an overlong line, only count characters.
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
  /** How the line was repaired; null when it was not. */
  repaired: string | null;
  /** Part of the line is torn and missing from the objects. */
  isTorn?: boolean;
  /** Why part of the line is missing from the objects; null when nothing is missing. */
  lost: string | null;
}

/**
 * Finds a line's JSON objects: one, or the readable parts of a damaged line. `isRecord` is as in `repairLine`. Never
 * throws.
 */
export function readObjects(line: string, isRecord?: RecordForm): LineObjects {
  const value = parseJson(line);
  const none = { objects: [], repaired: null };
  if (isObject(value)) return { ...none, objects: [value], lost: null };
  if (value !== undefined) return { ...none, lost: 'not a JSON object' };
  const repaired = repairLine(line, isRecord);
  if (typeof repaired === 'string') return { ...none, lost: repaired };
  const { values, isTorn, reason } = repaired;
  return { objects: values.filter(isObject), repaired: reason, isTorn, lost: null };
}

function withoutEnd(line: string, number: number): string {
  const text = (number === 1 ? line.replace(/^\uFEFF/, '') : line).replace(/\r$/, '');
  return text.trim() === '' ? '' : text;
}

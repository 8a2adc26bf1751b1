/** Finds the tokens that `secret-forms.ts` lists. */
import type { FoundSecret } from '../../session/masks/mask.ts';
import { isVaried } from '../../session/masks/secret-values.ts';
import { escaped, forms, marked } from './secret-forms.ts';

export interface FormRow {
  kind: string;
  mark: string;
  /** The expression that must match before the mark; undefined when the token begins with the mark. */
  before?: string;
  behind: string;
}

/** Longer marks come first, so that teddy tries them first at the same place. */
export function formRows(): FormRow[] {
  const rows: FormRow[] = [
    ...forms.flatMap(([kind, starts, behind]) => starts.split(' ').map((mark) => ({ kind, mark, behind }))),
    ...marked.map(([kind, mark, before, behind]) => ({ kind, mark, before, behind })),
  ];
  return rows.sort((a, b) => b.mark.length - a.mark.length);
}

/**
 * Returns a function that takes each mark of `text` from left to right and adds its token to `found`. The tokens may
 * overlap.
 */
export function formReader(text: string, found: FoundSecret[]): (row: FormRow, at: number) => void {
  /** The end of the last token recognized by its beginning; no other token begins inside it. */
  let taken = 0;
  return (row, at) => {
    const isStart = row.before === undefined;
    if (isStart && (at < taken || !isEdge(text, at))) return;
    const secret = isStart ? readBehind(text, at, row) : readAround(text, at, row);
    if (secret === null) return;
    found.push(secret);
    if (isStart) taken = secret.end;
  };
}

const escapeBefore = new RegExp(`(?:${escaped})$`);
/** The longest escape is a color with nine digits. */
const longestEscape = 11;

/** Returns true if a word begins here, possibly after an escape. */
export function isEdge(text: string, at: number): boolean {
  return !/[A-Za-z0-9]/.test(text.charAt(at - 1)) || escapeBefore.test(text.slice(Math.max(0, at - longestEscape), at));
}

function readBehind(text: string, at: number, { kind, mark, behind }: FormRow): FoundSecret | null {
  const expression = compile(`${behind}(?![A-Za-z0-9])`, 'y');
  expression.lastIndex = at + mark.length;
  const match = expression.exec(text);
  if (match === null) return null;
  const body = match[1] ?? match[0];
  if (!isVaried(body)) return null;
  const start = match[1] === undefined ? at : expression.lastIndex - body.length;
  return { start, end: start + trimDot(text.slice(start, expression.lastIndex)).length, kind };
}

/** The longest form has 76 characters before its mark, and an escape may precede them. */
const mostBefore = 96;

function readAround(text: string, at: number, { kind, mark, before, behind }: FormRow): FoundSecret | null {
  const head = compile(`${before}$`, '').exec(text.slice(Math.max(0, at - mostBefore), at))?.[0];
  const tail = compile(`${behind}(?![A-Za-z0-9])`, 'y');
  tail.lastIndex = at + mark.length;
  if (head === undefined || !tail.test(text)) return null;
  // Removes `bot`, which precedes the token in a URL's path.
  const start = at - head.replace(/^bot/, '').length;
  const token = trimDot(text.slice(start, tail.lastIndex));
  return isVaried(token) ? { start, end: start + token.length, kind } : null;
}

/** Removes a final dot, which may end a sentence. */
function trimDot(token: string): string {
  return token.endsWith('.') ? token.slice(0, -1) : token;
}

/** Compiled on demand, because few texts need more than one or two expressions. */
const compiled = new Map<string, RegExp>();

function compile(source: string, flags: string): RegExp {
  const expression = compiled.get(source) ?? new RegExp(source, flags);
  compiled.set(source, expression);
  return expression;
}

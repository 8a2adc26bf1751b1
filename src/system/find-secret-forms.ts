/** Finds the tokens of `secret-forms.ts`, all in one pass: a further row of the table costs nothing. */
import type { FoundSecret } from '../session/mask.ts';
import { isVaried } from '../session/secret-values.ts';
import { escaped, forms, marked } from './secret-forms.ts';

/** Time grows in step with the text's length. What is found may overlap. */
export function findByForm(text: string): FoundSecret[] {
  return [...findStarts(text), ...marked.flatMap(([kind, mark, ...around]) => findMarked(text, kind, mark, around))];
}

interface Row {
  kind: string;
  start: string;
  rest: string;
}

/** The rows by their first two characters, those with a longer beginning first. Made for the first text: most commands mask none. */
let rowsByHead: Map<number, Row[]> | undefined;

function indexRows(): Map<number, Row[]> {
  const index = new Map<number, Row[]>();
  const rows = forms.flatMap(([kind, starts, rest]) => starts.split(' ').map((start): Row => ({ kind, start, rest })));
  for (const row of rows.sort((a, b) => b.start.length - a.start.length)) {
    const head = toHead(row.start, 0);
    index.set(head, [...(index.get(head) ?? []), row]);
  }
  return index;
}

/** Other characters than those of ASCII share the number of one of its pairs. */
function toHead(text: string, at: number): number {
  return ((text.charCodeAt(at) & 127) << 7) | (text.charCodeAt(at + 1) & 127);
}

const [other, inWord, escapes] = [0, 1, 2];
const classes = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /[A-Za-z0-9]/.test(character) ? inWord : /[\\%[]/.test(character) ? escapes : other;
});

/** No expression does this: one with so many beginnings takes longer to compile than most texts to search. */
function findStarts(text: string): FoundSecret[] {
  const found: FoundSecret[] = [];
  const index = (rowsByHead ??= indexRows());
  const escape = new RegExp(escaped, 'y');
  let before = other;
  /** The places where a word begins although a letter stands before it. */
  let edge = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (before !== inWord || at === edge) {
      const rows = index.get(toHead(text, at));
      const secret = rows === undefined ? null : findAt(text, at, rows);
      if (secret !== null) {
        found.push(secret);
        at = secret.end - 1;
      }
    }
    const code = text.charCodeAt(at);
    before = code < 128 ? (classes[code] ?? other) : other;
    if (before !== escapes) continue;
    escape.lastIndex = at;
    if (escape.test(text)) edge = escape.lastIndex;
  }
  return found;
}

function findAt(text: string, at: number, rows: Row[]): FoundSecret | null {
  for (const { kind, start, rest } of rows) {
    if (!text.startsWith(start, at)) continue;
    const expression = compile(`${rest}(?![A-Za-z0-9])`, 'y');
    expression.lastIndex = at + start.length;
    const match = expression.exec(text);
    if (match === null) continue;
    const body = match[1] ?? match[0];
    const begin = match[1] === undefined ? at : expression.lastIndex - body.length;
    if (isVaried(body))
      return { start: begin, end: begin + trimDot(text.slice(begin, expression.lastIndex)).length, kind };
  }
  return null;
}

/** The longest of them has 76 characters before its mark, and before those an escape may stand. */
const mostBefore = 96;

function findMarked(text: string, kind: string, mark: string, [before, behind]: [string, string]): FoundSecret[] {
  const found: FoundSecret[] = [];
  for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + 1)) {
    const head = compile(`${before}$`, '').exec(text.slice(Math.max(0, at - mostBefore), at))?.[0];
    const tail = compile(`${behind}(?![A-Za-z0-9])`, 'y');
    tail.lastIndex = at + mark.length;
    if (head === undefined || !tail.test(text)) continue;
    // The name of a bot's path in an address.
    const start = at - head.replace(/^bot/, '').length;
    const token = trimDot(text.slice(start, tail.lastIndex));
    if (isVaried(token)) found.push({ start, end: start + token.length, kind });
  }
  return found;
}

/** The dot may be that of a sentence. */
function trimDot(token: string): string {
  return token.endsWith('.') ? token.slice(0, -1) : token;
}

/** Few texts need more than one or two. */
const compiled = new Map<string, RegExp>();

function compile(source: string, flags: string): RegExp {
  const expression = compiled.get(source) ?? new RegExp(source, flags);
  compiled.set(source, expression);
  return expression;
}

/** Extended regular expressions of POSIX, with what GNU adds, as the engine of JavaScript reads them. */
import { TeddyError } from '../errors.ts';

interface Translated {
  /** For the flag `u`, and one line at a time. */
  source: string;
  /** Every match holds one text of each group as it is, apart from its case. Empty: nothing is known of matches. */
  needed: string[][];
}

/** A part of an expression; `literal`: the only text that it matches. */
interface Part extends Translated {
  literal?: string;
}

interface Cursor {
  text: string;
  at: number;
  /** `\1` stands for a group by its number, so that those have to be counted as they are written. */
  hasReferences: boolean;
}

/** Whether it is a valid expression, git decides; this one throws USAGE for what it does not know. `flags`: `g`, `i`. */
export function translateRegex(text: string, flags = ''): { expression: RegExp; needed: string[][] } {
  const cursor = { text, at: 0, hasReferences: /\\[1-9]/.test(text) };
  const { source, needed } = readAlternatives(cursor);
  if (cursor.at < text.length) throw unknownPartError(text.slice(cursor.at));
  try {
    return { expression: new RegExp(source, `${flags}u`), needed };
  } catch {
    throw unknownPartError(text);
  }
}

function unknownPartError(part: string): TeddyError {
  return new TeddyError(
    'USAGE',
    `teddy cannot read ${JSON.stringify(part)} in the expression.`,
    'Write it in another way, or leave out -E to search for plain text.',
  );
}

function readAlternatives(cursor: Cursor, depth = 0): Translated {
  const options = [readSequence(cursor, depth)];
  while (cursor.text[cursor.at] === '|') {
    cursor.at += 1;
    options.push(readSequence(cursor, depth));
  }
  const [only] = options;
  if (options.length === 1 && only !== undefined) return only;
  // A match is one of any of them.
  const best = options.map(({ needed }) => sortNeeded(needed)[0]);
  return {
    source: options.map(({ source }) => source).join('|'),
    needed: best.every((group) => group !== undefined) ? [best.flat()] : [],
  };
}

/** The group that says most comes first: its shortest text is the longest. */
export function sortNeeded(needed: readonly string[][]): string[][] {
  const shortest = (group: string[]) => Math.min(...group.map((text) => text.length));
  return needed.toSorted((a, b) => shortest(b) - shortest(a));
}

function readSequence(cursor: Cursor, depth: number): Translated {
  const parts: Translated[] = [];
  let run = '';
  const endRun = () => {
    if (run !== '') parts.push({ source: '', needed: [[run]] });
    run = '';
  };
  while (cursor.at < cursor.text.length && !endsSequence(cursor, depth)) {
    const part = readRepeated(cursor, depth);
    if (part.literal === undefined) endRun();
    else run += part.literal;
    parts.push(part);
  }
  endRun();
  return { source: parts.map(({ source }) => source).join(''), needed: parts.flatMap(({ needed }) => needed) };
}

/** A closing parenthesis that closes nothing is a text. */
function endsSequence({ text, at }: Cursor, depth: number): boolean {
  return text[at] === '|' || (text[at] === ')' && depth > 0);
}

const interval = /^\{(\d*)(?:(,)(\d*))?\}/;

function readRepeated(cursor: Cursor, depth: number): Part {
  let part = readAtom(cursor, depth);
  for (;;) {
    const rest = cursor.text.slice(cursor.at, cursor.at + 16);
    const [whole, least = '', comma, most = ''] = interval.exec(rest) ?? [/^[*+?]/.exec(rest)?.[0]];
    if (whole === undefined) return part;
    cursor.at += whole.length;
    const times = whole.length === 1 ? whole : `{${least || 0}${comma === undefined ? '' : `,${most}`}}`;
    const isNeeded = whole === '+' || Number(least) > 0;
    part = { source: `(?:${part.source})${times}`, needed: isNeeded ? toNeeded(part) : [] };
  }
}

function toNeeded({ literal, needed }: Part): string[][] {
  return literal === undefined ? needed : [[literal]];
}

function readAtom(cursor: Cursor, depth: number): Part {
  const character = String.fromCodePoint(cursor.text.codePointAt(cursor.at) ?? 0);
  cursor.at += character.length;
  if (character === '.') return { source: '[^]', needed: [] };
  if (character === '^' || character === '$') return { source: `(?:${character})`, needed: [] };
  if (character === '[') return readBrackets(cursor);
  if (character === '(') return readGroup(cursor, depth);
  if (character === '\\') return readEscape(cursor);
  return toLiteral(character);
}

function toLiteral(character: string): Part {
  return { source: escapeLiteral(character), needed: [], literal: character };
}

/** Returns an expression with the flag `u`. */
export function escapeLiteral(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

function readGroup(cursor: Cursor, depth: number): Part {
  const { source, needed } = readAlternatives(cursor, depth + 1);
  if (cursor.text[cursor.at] !== ')') throw unknownPartError(cursor.text);
  cursor.at += 1;
  return { source: `(${cursor.hasReferences ? '' : '?:'}${source})`, needed };
}

const word = '\\p{L}\\p{M}\\p{N}_';
const isWord = `[${word}]`;
/** The escapes of GNU; any other character behind a backslash is itself. */
const escapes: Record<string, string> = {
  w: isWord,
  W: `[^${word}]`,
  s: '\\s',
  S: '\\S',
  b: `(?:(?<=${isWord})(?!${isWord})|(?<!${isWord})(?=${isWord}))`,
  B: `(?:(?<=${isWord})(?=${isWord})|(?<!${isWord})(?!${isWord}))`,
  '<': `(?:(?<!${isWord})(?=${isWord}))`,
  '>': `(?:(?<=${isWord})(?!${isWord}))`,
  '`': '(?:^)',
  "'": '(?:$)',
};

function readEscape(cursor: Cursor): Part {
  const character = String.fromCodePoint(cursor.text.codePointAt(cursor.at) ?? 0);
  cursor.at += character.length;
  if (/[1-9]/.test(character)) return { source: `(?:\\${character})`, needed: [] };
  const source = escapes[character];
  return source === undefined ? toLiteral(character) : { source, needed: [] };
}

/** The classes of POSIX. */
const classes: Record<string, string> = {
  alpha: '\\p{L}\\p{M}',
  digit: '0-9',
  alnum: '\\p{L}\\p{M}\\p{Nd}',
  upper: '\\p{Lu}',
  lower: '\\p{Ll}',
  space: '\\s',
  blank: ' \\t',
  punct: '\\p{P}\\p{S}',
  cntrl: '\\p{Cc}',
  xdigit: '0-9A-Fa-f',
  graph: '\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}',
  print: '\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Zs}',
};

/** A backslash is a text here, and a closing bracket at the beginning as well. */
function readBrackets(cursor: Cursor): Part {
  const isNegated = cursor.text[cursor.at] === '^';
  if (isNegated) cursor.at += 1;
  let source = '';
  for (const begin = cursor.at; cursor.text[cursor.at] !== ']' || cursor.at === begin;) source += readMember(cursor);
  cursor.at += 1;
  return { source: `[${isNegated ? '^' : ''}${source}]`, needed: [] };
}

function readMember(cursor: Cursor): string {
  const rest = cursor.text.slice(cursor.at);
  const [name, known] = /^\[:(\w+):\]/.exec(rest) ?? [];
  if (name !== undefined && classes[known ?? ''] !== undefined) {
    cursor.at += name.length;
    return classes[known ?? ''] ?? '';
  }
  const first = readEnd(cursor);
  // At the end a hyphen is a text.
  if (!/^-[^\]]/.test(cursor.text.slice(cursor.at, cursor.at + 2))) return first;
  cursor.at += 1;
  return `${first}-${readEnd(cursor)}`;
}

/** One character; `[.x.]` and `[=x=]` are ways to write it. */
function readEnd(cursor: Cursor): string {
  const rest = cursor.text.slice(cursor.at);
  const [whole, , written] = /^\[([.=])(.)\1\]/u.exec(rest) ?? [];
  const character = written ?? /^(?!\[[.:=])./u.exec(rest)?.[0];
  if (character === undefined) throw unknownPartError(rest);
  cursor.at += (whole ?? character).length;
  return character.replace(/[\\\]^[-]/, '\\$&');
}

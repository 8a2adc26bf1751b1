/** Reads YAML written by teddy itself, and leaves all other YAML to the parser. */

interface Cursor {
  lines: readonly string[];
  at: number;
}

/** Thrown and caught only in this module: the full parser must read the text. */
const unknown = new Error('not plain');

/**
 * Matches characters that the lexer treats specially, and line ends that teddy does not write. Control characters above
 * U+007E are text to the lexer.
 */
const special = /(?![\n\t\u007F-\u009F])\p{Cc}|^\uFEFF/u;

/** Returns the value that the parser would return for this text; null when the result is unclear or may be an error. */
export function readPlainYaml(text: string): { value: unknown } | null {
  if (!text.endsWith('\n') || special.test(text)) return null;
  const cursor: Cursor = { lines: text.slice(0, -1).split('\n'), at: 0 };
  try {
    const value = readMap(cursor, 0);
    return cursor.at === cursor.lines.length ? { value } : null;
  } catch (error) {
    if (error !== unknown) throw error;
    return null;
  }
}

/** No report is indented more deeply. */
const maxIndent = 24;
const keyed = /^([A-Za-z_][\w-]*|"[^"\\]+"):(?: (.+))?$/;

/** Reads a map. `first` is the map's first line when it follows a dash. */
function readMap(cursor: Cursor, indent: number, first?: string): object {
  if (indent > maxIndent) throw unknown;
  const map: Record<string, unknown> = {};
  for (let line = first ?? takeLine(cursor, indent); line !== null; line = takeLine(cursor, indent)) {
    const [, name = '', text] = keyed.exec(line) ?? [];
    const key = name.startsWith('"') ? name.slice(1, -1) : name;
    if (name === '' || isReserved(name) || key === '__proto__' || Object.hasOwn(map, key)) throw unknown;
    map[key] = text === undefined ? readBelow(cursor, indent + 2) : readScalar(cursor, indent + 2, text);
  }
  return map;
}

function readBelow(cursor: Cursor, indent: number): unknown {
  const line = takeLine(cursor, indent);
  if (line === null) throw unknown;
  return line.startsWith('- ') ? readList(cursor, indent, line) : readMap(cursor, indent, line);
}

function readList(cursor: Cursor, indent: number, first: string): unknown[] {
  const list: unknown[] = [];
  for (let line: string | null = first; line !== null; line = takeLine(cursor, indent)) {
    if (!line.startsWith('- ')) throw unknown;
    const item = line.slice(2);
    list.push(keyed.test(item) ? readMap(cursor, indent + 2, item) : readScalar(cursor, indent + 2, item));
  }
  return list;
}

/** Takes the next line without its indentation; null when the line belongs to an outer value. */
function takeLine(cursor: Cursor, indent: number): string | null {
  const line = cursor.lines[cursor.at];
  if (line === undefined) return null;
  const found = line.search(/[^ ]/);
  // An empty line, or a line that continues the value above it.
  if (found < 0 || found > indent) throw unknown;
  if (found < indent) return null;
  cursor.at += 1;
  return line.slice(indent);
}

/** Reads a scalar. `indent` is the indentation of a block's lines. */
function readScalar(cursor: Cursor, indent: number, text: string): unknown {
  if (/^\|2?[-+]?$/.test(text)) return readBlock(cursor, indent, text);
  if (text === '[]') return [];
  if (text === '{}') return {};
  if (text.startsWith('{ ')) return readFlow(text);
  if (text.startsWith('"')) return readQuoted(text);
  if (text.startsWith("'")) return readSingleQuoted(text);
  return readPlain(text);
}

function readBlock(cursor: Cursor, indent: number, style: string): string {
  const margin = ' '.repeat(indent);
  const begin = cursor.at;
  for (let line = cursor.lines[cursor.at]; line !== undefined; line = cursor.lines[cursor.at]) {
    if (line !== '' && !line.startsWith(margin)) break;
    cursor.at += 1;
  }
  const block = cursor.lines.slice(begin, cursor.at).map((line) => line.slice(indent));
  // The first line with text sets the indentation, unless the style does.
  const first = block.find((line) => line !== '');
  if (first === undefined || (style[1] !== '2' && first.startsWith(' '))) throw unknown;
  // A regular expression would restart at each of many empty lines.
  let count = block.length;
  while (block[count - 1] === '') count -= 1;
  if (style.endsWith('+')) return block.map((line) => `${line}\n`).join('');
  return `${block.slice(0, count).join('\n')}${style.endsWith('-') ? '' : '\n'}`;
}

/** Reads a quoted text with JSON's escapes. A single regular expression would use V8's stack for each character. */
function readQuoted(text: string): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    throw unknown;
  }
}

function readSingleQuoted(text: string): string {
  const inner = text.slice(1, -1);
  if (text.length < 2 || !text.endsWith("'") || inner.replaceAll("''", '').includes("'")) throw unknown;
  return inner.replaceAll("''", "'");
}

const number = /^(?:0|[1-9]\d{0,14}|(?:0|[1-9]\d{0,8})\.\d{1,9})$/;
/** Matches text that the parser would read as a number or might; the parser decides. */
const numeric = /^[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|0[ox][\da-fA-F]+|\.(?:inf|nan))$/i;
/** Matches one-line text that the package `yaml` quotes. */
const quotedByYaml = /^[\t ,[\]{}#&*!|>'"%@`]|^[?-]$|^[?-][ \t]|:[ \t]|[\t ]#|[\t :]$/;

function readPlain(text: string): unknown {
  const [value = ''] = /^\d+(?= # [a-z]+$)/.exec(text) ?? [text];
  if (number.test(value)) return Number(value);
  if (isReserved(value)) return toReserved(value);
  if (value === '~' || numeric.test(value) || quotedByYaml.test(value)) throw unknown;
  return value;
}

/** Reads `{ temperature: 0.2, seed: 7 }`, as in a log's front matter. */
function readFlow(text: string): object {
  if (!text.endsWith(' }')) throw unknown;
  const map: Record<string, unknown> = {};
  for (const pair of text.slice(2, -2).split(', ')) {
    const [, key = '', value = ''] = /^([A-Za-z]\w*): ([A-Za-z0-9][\w./-]*)$/.exec(pair) ?? [];
    if (key === '' || isReserved(key) || Object.hasOwn(map, key)) throw unknown;
    map[key] = readPlain(value);
  }
  return map;
}

function isReserved(text: string): boolean {
  return /^(?:null|true|false)$/i.test(text);
}

function toReserved(text: string): boolean | null {
  if (text === 'null') return null;
  if (text !== 'true' && text !== 'false') throw unknown;
  return text === 'true';
}

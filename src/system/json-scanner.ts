/**
 * Checks whether a text is JSON, without making values of it.
 *
 * It does the work of `jsonc-parser` (3.3.1), whose `visit` overflows the stack at 200,000 brackets and reports a bad escape at the
 * beginning of its string; and of `JSON.parse`, which takes several times the text's size in memory and does not always say where
 * it fails. It may go when `jsonc-parser` does not recurse.
 */

export interface JsonDialect {
  comments: boolean;
  trailingCommas: boolean;
}

export interface JsonError {
  offset: number;
  message: string;
}

interface Scan extends JsonDialect {
  text: string;
  at: number;
  end: number;
  error: JsonError | null;
}

type Expected = 'value' | 'first value' | 'key' | 'first key' | 'comma';

const brace = 0x7b;
const bracket = 0x5b;
const closing: Record<number, number> = { [brace]: 0x7d, [bracket]: 0x5d };
const names: Record<number, string> = { [brace]: 'object', [bracket]: 'array' };

/** Checks the text from `from` to `to` as one value, however deep it is nested. Null: it is JSON. */
export function findJsonError(text: string, dialect: JsonDialect, from = 0, to = text.length): JsonError | null {
  // Not spread: V8 gives each spread object another shape, and compiles the scanner anew for it.
  const { comments, trailingCommas } = dialect;
  const scan: Scan = { comments, trailingCommas, text, at: from, end: to, error: null };
  const open: number[] = [];
  let expected: Expected | 'end' = 'value';
  for (;;) {
    skipSpace(scan);
    if (scan.error !== null) return scan.error;
    if (scan.at >= scan.end) return expected === 'end' ? null : failEnd(scan, open.at(-1));
    expected = take(scan, open, expected);
    if (scan.error !== null) return scan.error;
  }
}

/** Takes one token, and says what has to follow. */
function take(scan: Scan, open: number[], expected: Expected | 'end'): Expected | 'end' {
  const code = scan.text.charCodeAt(scan.at);
  const inside = open[open.length - 1] ?? 0;
  if (expected === 'end') return fail(scan, 'Something follows the end of the value');
  if (isEnd(scan, code, inside, expected)) {
    scan.at += 1;
    open.pop();
    return open.length === 0 ? 'end' : 'comma';
  }
  if (expected === 'comma') return takeComma(scan, code, inside);
  if (expected === 'key' || expected === 'first key') return takeKey(scan, code, expected);
  if (code === brace || code === bracket) {
    scan.at += 1;
    open.push(code);
    return code === brace ? 'first key' : 'first value';
  }
  takeScalar(scan, code);
  return open.length === 0 ? 'end' : 'comma';
}

function isEnd({ trailingCommas }: Scan, code: number, inside: number, expected: Expected): boolean {
  if (inside === 0 || code !== closing[inside]) return false;
  return expected === 'comma' || expected.startsWith('first') || trailingCommas;
}

function takeComma(scan: Scan, code: number, inside: number): Expected {
  if (code !== 0x2c) return fail(scan, `Expected a comma or the end of the ${names[inside]}`);
  scan.at += 1;
  return inside === brace ? 'key' : 'value';
}

function takeKey(scan: Scan, code: number, expected: Expected): Expected {
  if (code !== 0x22) {
    const isTrailing = code === 0x7d && expected === 'key';
    return fail(scan, isTrailing ? 'A comma stands before the end of the object' : 'Expected a name in double quotes');
  }
  takeString(scan);
  if (scan.error === null) skipSpace(scan);
  if (scan.error !== null) return 'value';
  if (scan.text.charCodeAt(scan.at) !== 0x3a || scan.at >= scan.end) return fail(scan, 'Expected a colon');
  scan.at += 1;
  return 'value';
}

function takeScalar(scan: Scan, code: number): void {
  if (code === 0x22) takeString(scan);
  else if (code === 0x2d || (code >= 0x30 && code <= 0x39)) takeNumber(scan);
  else takeWord(scan, code);
}

function takeString(scan: Scan): void {
  const { text, end } = scan;
  for (let at = scan.at + 1; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      scan.at = at + 1;
      return;
    }
    if (code === 0x5c) {
      const length = escapeLength(text, at);
      if (length === 0 || at + length > end) return void fail(scan, 'Bad escape in a string', at);
      at += length - 1;
    } else if (code < 0x20) {
      return void fail(scan, code === 0x0a ? 'A string goes beyond its line' : 'A control character in a string', at);
    }
  }
  fail(scan, 'A string is not closed');
}

function escapeLength(text: string, at: number): number {
  const next = text[at + 1] ?? '';
  if (next === 'u') return /^[0-9a-f]{4}$/i.test(text.slice(at + 2, at + 6)) ? 6 : 0;
  return next !== '' && '"\\/bfnrt'.includes(next) ? 2 : 0;
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])/y;

function takeNumber(scan: Scan): void {
  number.lastIndex = scan.at;
  if (!number.test(scan.text)) return void fail(scan, 'Bad number');
  scan.at = number.lastIndex;
}

const word = /(?:true|false|null)(?![\w$])/y;

function takeWord(scan: Scan, code: number): void {
  word.lastIndex = scan.at;
  if (word.test(scan.text)) scan.at = word.lastIndex;
  else if (code === 0x5d) fail(scan, 'A comma stands before the end of the array');
  else fail(scan, 'Expected a value');
}

function skipSpace(scan: Scan): void {
  for (; scan.at < scan.end; scan.at += 1) {
    const code = scan.text.charCodeAt(scan.at);
    if (code === 0x2f && scan.comments) skipComment(scan);
    else if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    if (scan.error !== null) return;
  }
}

/** Up to its last character. */
function skipComment(scan: Scan): void {
  const { text, at, end } = scan;
  const isLine = text[at + 1] === '/';
  if (!isLine && text[at + 1] !== '*') return void fail(scan, 'Expected a value');
  const close = isLine ? text.indexOf('\n', at) : text.indexOf('*/', at + 2);
  if (close === -1 && !isLine) return void fail(scan, 'A comment is not closed');
  scan.at = close === -1 ? end - 1 : isLine ? close : close + 1;
}

function failEnd(scan: Scan, inside: number | undefined): JsonError {
  const name = inside === undefined ? undefined : names[inside];
  fail(scan, name === undefined ? 'There is no value' : `The text ends inside of an ${name}`);
  return scan.error as unknown as JsonError;
}

function fail(scan: Scan, message: string, offset = scan.at): Expected {
  scan.error = { offset, message: `${message}.` };
  return 'value';
}

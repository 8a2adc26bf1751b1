/** Reads the entries in `.env` files, in enough detail to determine their values. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../disk/system-error.ts';

const maxBytes = 1024 * 1024;
const entry = /^\uFEFF?[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*/gm;
const examples = /\.(?:example|sample|template|dist|defaults)$/;

/** Includes the names that direnv and editors use, but not `.env.example` and similar names. */
export function isDotenvName(name: string): boolean {
  return /^\.env(?:rc|[._~-].*)?$|\.env$/i.test(name) && !examples.test(name);
}

/** Returns the name and value of every entry in a directory's `.env` files. */
export async function readDotenv(directory: string): Promise<[name: string, value: string][]> {
  const names = (await readdir(directory)).filter(isDotenvName);
  const texts = await Promise.all(names.sort().map((name) => readText(join(directory, name))));
  return texts.flatMap(parseDotenv);
}

/** teddy cannot show a file that this user cannot read, and none of the user's commands can print it. */
async function readText(path: string): Promise<string> {
  try {
    const found = await stat(path);
    return found.isFile() && found.size <= maxBytes ? decode(await readFile(path)) : '';
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'EACCES', 'EPERM'].includes(errorCode(error) ?? '')) return '';
    throw error;
  }
}

/** A shell on Windows writes UTF-16 by default. */
function decode(bytes: Buffer): string {
  const isWide = bytes[0] === 0xff && bytes[1] === 0xfe;
  return isWide ? bytes.toString('utf16le') : bytes.toString('utf8').replaceAll('\0', '');
}

/** Parses `KEY=value`, including `export`, quotes, multi-line quoted values, and comments after the value. */
export function parseDotenv(text: string): [name: string, value: string][] {
  const entries: [string, string][] = [];
  entry.lastIndex = 0;
  for (let found = entry.exec(text); found !== null; found = entry.exec(text)) {
    const { value, end } = readValue(text, entry.lastIndex);
    entries.push([found[1] ?? '', value]);
    entry.lastIndex = end;
  }
  return entries;
}

function readValue(text: string, start: number): { value: string; end: number } {
  const quote = text[start] ?? '';
  const close = ['"', "'", '`'].includes(quote) ? findClosing(text, start + 1, quote) : -1;
  if (close !== -1) {
    const inner = text.slice(start + 1, close);
    return { value: quote === '"' ? unescape(inner) : inner, end: close + 1 };
  }
  const newline = text.indexOf('\n', start);
  const end = newline === -1 ? text.length : newline;
  const line = text.slice(start, end);
  return { value: line.replace(/[ \t]#.*$/s, '').trim(), end };
}

function findClosing(text: string, start: number, quote: string): number {
  for (let at = text.indexOf(quote, start); at !== -1; at = text.indexOf(quote, at + 1)) {
    if (quote !== '"' || text[at - 1] !== '\\') return at;
  }
  return -1;
}

function unescape(text: string): string {
  return text.replace(/\\([nrt"\\$])/g, (_, letter: string) => ({ n: '\n', r: '\r', t: '\t' })[letter] ?? letter);
}

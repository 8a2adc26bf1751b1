/** Rows of words in the cache, for facts that are slow to find out and never change. */
import type { Oid } from '../../names.ts';
import type { Cache } from '../../ports/git.ts';

export async function readRows(cache: Cache, key: string): Promise<string[][]> {
  const text = new TextDecoder().decode((await cache.read(key)) ?? new Uint8Array());
  return text.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ')]));
}

export async function writeRows(cache: Cache, key: string, rows: readonly string[][]): Promise<void> {
  await cache.write(key, [new TextEncoder().encode(rows.map((row) => `${row.join(' ')}\n`).join(''))]);
}

const forgottenKey = 'deleted-tips';

/** Records deliberately deleted tips, so that the doctor does not report their commits as lost entries. */
export async function recordDeletedTips(cache: Cache, tips: readonly Oid[]): Promise<void> {
  await writeRows(cache, forgottenKey, [...(await readRows(cache, forgottenKey)), ...tips.map((oid) => [oid])]);
}

export async function readForgotten(cache: Cache): Promise<ReadonlySet<string>> {
  return new Set((await readRows(cache, forgottenKey)).flat());
}

/** Many rows, sorted by name; each row begins with its name and a space. Only requested rows become strings. */
export interface NamedRows {
  get(name: string): string | undefined;
  toMap(): Map<string, string>;
}

/** Reads the rows; `latin1` is faster for pure ASCII. */
export async function readNamedRows(cache: Cache, key: string, encoding: 'latin1' | 'utf8'): Promise<NamedRows> {
  const bytes = (await cache.read(key)) ?? new Uint8Array();
  return openRows(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding));
}

export async function writeNamedRows(cache: Cache, key: string, rows: ReadonlyMap<string, string>): Promise<NamedRows> {
  const names = [...rows.keys()].sort();
  const text = names.map((name) => `${name} ${rows.get(name)}\n`).join('');
  await cache.write(key, [Buffer.from(text)]);
  return openRows(text);
}

function openRows(kept: string): NamedRows {
  const text = kept.slice(0, kept.lastIndexOf('\n') + 1);
  let next = 0;
  return {
    get(name) {
      // Callers that request many rows request them sorted by name.
      const isNext = text.startsWith(name, next) && text[next + name.length] === ' ';
      const at = isNext ? next : findRow(text, name);
      if (at < 0) return undefined;
      const end = text.indexOf('\n', at);
      next = end + 1;
      return text.slice(at + name.length + 1, end);
    },
    toMap() {
      const rows = new Map<string, string>();
      for (const row of text.split('\n')) {
        const gap = row.indexOf(' ');
        if (gap > 0) rows.set(row.slice(0, gap), row.slice(gap + 1));
      }
      return rows;
    },
  };
}

/** Finds a row by binary search; -1 when no row has this name. */
function findRow(text: string, name: string): number {
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const at = middle === low ? low : text.lastIndexOf('\n', middle - 1) + 1;
    const other = text.slice(at, text.indexOf(' ', at));
    if (other === name) return at;
    if (other < name) low = text.indexOf('\n', at) + 1;
    else high = at;
  }
  return -1;
}

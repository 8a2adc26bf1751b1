/**
 * An index of what lists show of a line, kept by the name of its ref and its tip: only changed tips are read again. git says each time which
 * refs there are and where they stand; what a commit says never changes. Like all of the cache, it may be gone at any time.
 */
import type { Cache, RefTip } from '../ports/git.ts';
import { isOid, type Oid, type RefName } from '../names.ts';
import type { Entry } from './entry.ts';
import { parseJson } from './parse-object.ts';

/** The part of an entry that lists need: it does without the commit. */
export type EntryHead = Pick<Entry, 'kind' | 'session' | 'turn' | 'id' | 'created' | 'title' | 'status'>;

export interface NearestHead {
  oid: Oid;
  entry: EntryHead;
}

interface IndexedLine {
  /** Null: no entry is at or below the tip. */
  nearest: NearestHead | null;
  /** All else that a list tells of the line, as plain JSON: whoever makes lists knows what it means. */
  told?: Told | undefined;
}

type Told = Readonly<Record<string, readonly (string | number | boolean | null)[]>>;

export interface LineIndex {
  get(ref: RefName, tip: Oid): IndexedLine | undefined;
  /** The same without what else is told of it: that is read of the lines that are shown. */
  nearest(ref: RefName, tip: Oid): NearestHead | null | undefined;
  set(ref: RefName, tip: Oid, line: IndexedLine): void;
  /** These are all refs below `prefixes`: what the index has of others there is of no use any more. */
  setListed(prefixes: readonly string[], tips: readonly RefTip[]): void;
  /** Keeps what is new, if it is so much. */
  save(least?: number): Promise<void>;
}

const cacheKey = 'lines';
/** A row that is not kept is read again next time, which takes less than to write all of them for it. */
const rewrittenFor = 1000;

const opened = new WeakMap<Cache, Promise<LineIndex>>();

/** One for each cache: what was read once is true for as long as the process lives. */
export function openLineIndex(cache: Cache): Promise<LineIndex> {
  const index = opened.get(cache) ?? readIndex(cache);
  opened.set(cache, index);
  return index;
}

async function readIndex(cache: Cache): Promise<LineIndex> {
  const kept = await cache.read(cacheKey);
  const text = kept === null ? '' : new TextDecoder().decode(kept);
  const rows = new Map<string, string>();
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\n', at);
    if (end < 0) break;
    const gap = text.indexOf(' ', at);
    if (gap < end) rows.set(text.slice(at, gap), text.slice(gap + 1, end));
    at = end + 1;
  }
  const known = new Map<string, { tip: Oid; line: IndexedLine }>();
  let changes = 0;
  let isGone = (_name: string) => false;

  const find = <Found>(
    ref: RefName,
    tip: Oid,
    decode: (row: string) => Found,
    toFound: (line: IndexedLine) => Found,
  ) => {
    const name = toName(ref);
    const own = known.get(name);
    if (own !== undefined) return own.tip === tip ? toFound(own.line) : undefined;
    const row = rows.get(name);
    return row?.startsWith(`${tip} `) === true ? decode(row.slice(tip.length + 1)) : undefined;
  };

  return {
    get: (ref, tip) => find(ref, tip, decodeRow, (line) => line),
    nearest: (ref, tip) => find(ref, tip, decodeNearest, ({ nearest }) => nearest),
    set(ref, tip, line) {
      known.set(toName(ref), { tip, line });
      changes += 1;
    },
    setListed(prefixes, tips) {
      let there: ReadonlySet<string> | null = null;
      isGone = (name) => {
        there ??= new Set(tips.map(({ ref }) => toName(ref)));
        return prefixes.some((one) => name.startsWith(one)) && !there.has(name);
      };
    },
    async save(least = 1) {
      if (changes < least || changes * rewrittenFor < rows.size) return;
      changes = 0;
      for (const [name, { tip, line }] of known) rows.set(name, `${tip} ${encodeRow(line)}`);
      known.clear();
      for (const name of rows.keys()) if (isGone(name)) rows.delete(name);
      const lines = Array.from(rows, ([name, row]) => `${name} ${row}\n`);
      await cache.write(cacheKey, [new TextEncoder().encode(lines.join(''))]);
    },
  };
}

/** ASCII, so that a row takes a byte for each character. No name of a ref has a backslash in it. */
function toName(ref: RefName): string {
  return toAscii(ref);
}

function toAscii(text: string): string {
  return text.replace(/[^\0-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Behind a tab, which JSON has only as an escape, stands all else that is told of the line. */
function encodeRow({ nearest, told }: IndexedLine): string {
  const entry = nearest?.entry;
  const row = nearest && entry && [nearest.oid, ...heads.map((name) => entry[name] ?? null)];
  return toAscii(JSON.stringify(row) + (told === undefined ? '' : `\t${JSON.stringify(told)}`));
}

const heads = ['kind', 'session', 'turn', 'id', 'created', 'title', 'status'] as const;

function decodeRow(row: string): IndexedLine | undefined {
  const nearest = decodeNearest(row);
  if (nearest === undefined) return undefined;
  const gap = row.indexOf('\t');
  return gap < 0 ? { nearest } : { nearest, told: parseJson(row.slice(gap + 1)) as Told };
}

/** Undefined for what another version may have written. */
function decodeNearest(row: string): NearestHead | null | undefined {
  const gap = row.indexOf('\t');
  const list = parseJson(gap < 0 ? row : row.slice(0, gap));
  if (list === null) return null;
  if (!Array.isArray(list) || list.length !== 1 + heads.length) return undefined;
  const [oid, kind, session, turn, id, created, title, status] = list as unknown[];
  const texts = [oid, kind, session, id, created, title, turn ?? '', status ?? ''];
  if (!texts.every((one) => typeof one === 'string') || !isOid(oid as string)) return undefined;
  const entry = { kind, session, turn, id, created, title, ...(status === null ? {} : { status }) };
  return { oid: oid as Oid, entry: entry as EntryHead };
}

/**
 * An index of the facts that lists show about a line, keyed by ref name and tip, so that teddy rereads only changed
 * tips. The refs and their tips always come from git; a commit's content never changes. Like the rest of the cache, the
 * index may disappear at any time.
 */
import type { Cache, RefTip, SessionSource } from '../../ports/git.ts';
import { isOid, mainLineRef, parseLineRef, type Oid, type RefName } from '../../names.ts';
import { readNamedRows, writeNamedRows } from '../entries/cached-rows.ts';
import type { Entry } from '../entries/entry.ts';
import { parseJson } from '../text/parse-object.ts';
import { entryMs } from '../entries/logged-entry.ts';
import { findNearestEntries } from '../entries/nearest-entry.ts';

/** The part of an entry that lists need without reading its commit. */
export type EntryHead = Pick<Entry, (typeof heads)[number]>;

export interface NearestHead {
  oid: Oid;
  entry: EntryHead;
}

interface IndexedLine {
  /** Null when no entry is at or below the tip. */
  nearest: NearestHead | null;
  /** Everything else that lists show about the line, as plain JSON; the code that makes the lists defines the fields. */
  fields?: IndexedFields | undefined;
}

export type IndexedFields = Readonly<Record<string, readonly (string | number | boolean | null)[]>>;

export interface LineIndex {
  /** Looks up a line. Parses its `fields` only on access. */
  get(ref: RefName, tip: Oid): IndexedLine | undefined;
  /** Returns when a local main line's nearest entry was made; NaN for any other line, or an unindexed one. */
  mainMs(ref: RefName, tip: Oid): number;
  set(ref: RefName, tip: Oid, line: IndexedLine): void;
  /** Names all existing refs below `prefixes`; `save` then drops all other refs below them from the index. */
  setListed(prefixes: readonly string[], tips: readonly RefTip[]): void;
  /** Saves the changes if there are at least `least` of them. */
  save(least?: number): Promise<void>;
}

const cacheKey = 'lines';
/** A save needs at least one change per this many rows: rereading a row later is cheaper than rewriting all rows. */
const rewrittenFor = 1000;

const opened = new WeakMap<Cache, Promise<LineIndex>>();

/** Opens a cache's index, once per process, because its rows never become outdated. */
export function openLineIndex(cache: Cache): Promise<LineIndex> {
  const index = opened.get(cache) ?? readIndex(cache);
  opened.set(cache, index);
  return index;
}

async function readIndex(cache: Cache): Promise<LineIndex> {
  let rows = await readNamedRows(cache, cacheKey, 'latin1');
  const known = new Map<string, { tip: Oid; line: IndexedLine }>();
  let changes = 0;
  let isGone = (_name: string) => false;

  /** Returns the row; empty when there is none for this tip. */
  const findRow = (name: string, tip: Oid): string => {
    const row = rows.get(name) ?? '';
    return row.startsWith(`${tip} `, row.indexOf(' ') + 1) ? row : '';
  };

  return {
    get(ref, tip) {
      const name = toAscii(ref);
      const own = known.get(name);
      if (own !== undefined) return own.tip === tip ? own.line : undefined;
      const row = findRow(name, tip);
      return row === '' ? undefined : decodeRow(row.slice(row.indexOf(tip) + tip.length + 1));
    },
    mainMs(ref, tip) {
      const name = toAscii(ref);
      return known.has(name) ? Number.NaN : Number.parseFloat(findRow(name, tip));
    },
    set(ref, tip, line) {
      known.set(toAscii(ref), { tip, line });
      changes += 1;
    },
    setListed(prefixes, tips) {
      let there: ReadonlySet<string> | null = null;
      isGone = (name) => {
        there ??= new Set(tips.map(({ ref }) => toAscii(ref)));
        return prefixes.some((one) => name.startsWith(one)) && !there.has(name);
      };
    },
    async save(least = 1) {
      if (changes < least) return;
      const all = rows.toMap();
      if (changes * rewrittenFor < all.size) return;
      changes = 0;
      for (const [name, { tip, line }] of known) all.set(name, `${toMainMs(name, line)} ${tip} ${encodeRow(line)}`);
      known.clear();
      for (const name of all.keys()) if (isGone(name)) all.delete(name);
      rows = await writeNamedRows(cache, cacheKey, all);
    },
  };
}

/** Encodes text as ASCII, so that each character of a row takes one byte. Ref names contain no backslash. */
function toAscii(text: string): string {
  return text.replace(/[^\0-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function toMainMs(name: string, { nearest }: IndexedLine): number {
  const line = parseLineRef(name);
  return nearest && line?.branch === null && line.session === nearest.entry.session
    ? entryMs(nearest.entry)
    : Number.NaN;
}

/** Encodes a row: the nearest entry, a tab (which JSON always escapes), and the other fields. */
function encodeRow({ nearest, fields }: IndexedLine): string {
  const entry = nearest?.entry;
  const row = nearest && entry && [nearest.oid, ...heads.map((name) => entry[name] ?? null)];
  return toAscii(JSON.stringify(row) + (fields === undefined ? '' : `\t${JSON.stringify(fields)}`));
}

const heads = ['kind', 'session', 'turn', 'id', 'created', 'title', 'status'] as const;

/** Decodes a row; undefined when another version may have written it. */
function decodeRow(row: string): IndexedLine | undefined {
  const gap = row.indexOf('\t');
  const nearest = decodeNearest(gap < 0 ? row : row.slice(0, gap));
  if (nearest === undefined) return undefined;
  if (gap < 0) return { nearest };
  let fields: IndexedFields | undefined;
  return {
    nearest,
    get fields() {
      return (fields ??= parseJson(row.slice(gap + 1)) as IndexedFields);
    },
  };
}

function decodeNearest(row: string): NearestHead | null | undefined {
  const list = parseJson(row);
  if (list === null) return null;
  if (!Array.isArray(list) || list.length !== 1 + heads.length) return undefined;
  const [oid, kind, session, turn, id, created, title, status] = list as unknown[];
  const texts = [oid, kind, session, id, created, title, turn ?? '', status ?? ''];
  if (!texts.every((one) => typeof one === 'string') || !isOid(oid as string)) return undefined;
  const entry = { kind, session, turn, id, created, title, ...(status === null ? {} : { status }) };
  return { oid: oid as Oid, entry: entry as EntryHead };
}

/** Finds each tip's nearest entry, in the index, or in the commits of a tip that has moved. */
export async function findNearestHeads(
  project: SessionSource,
  index: LineIndex,
  tips: readonly RefTip[],
): Promise<(NearestHead | null)[]> {
  const known = tips.map(({ ref, oid }) => index.get(ref, oid)?.nearest);
  const changed = tips.flatMap(({ oid }, at) => (known[at] === undefined ? [oid] : []));
  const found = changed.length === 0 ? null : await findNearestEntries(project, changed);
  return tips.map(({ ref, oid }, at) => {
    const own = known[at];
    if (own !== undefined) return own;
    const nearest = found?.get(oid) ?? null;
    index.set(ref, oid, { nearest });
    return nearest;
  });
}

export interface Newest {
  limit: number;
  /** The latest acceptable time, so that an entry with a future time cannot make its line the newest. */
  latestMs: number;
  /** HEAD's branch, which is always listed. */
  head: RefName | null;
}

/** Finds local main lines that are not among the newest and are their session's only line, without decoding their rows. */
export async function findOlder(
  project: SessionSource,
  index: LineIndex,
  tips: readonly RefTip[],
  { limit, latestMs, head }: Newest,
): Promise<Set<RefName>> {
  const times = Float64Array.from(tips, ({ ref, oid }) => index.mainMs(ref, oid));
  const sorted = times.filter((ms) => ms <= latestMs).sort();
  const least = sorted.at(-limit) ?? 0;
  const untimed = tips.filter((_, at) => Number.isNaN(times[at]));
  const others = await findNearestHeads(project, index, untimed);
  const kept = new Set(others.map((nearest) => nearest && mainLineRef(nearest.entry.session)));
  const isOlder = (ref: RefName, ms = Number.NaN) => ms < least && ref !== head && !kept.has(ref);
  return new Set(tips.flatMap(({ ref }, at) => (isOlder(ref, times[at]) ? [ref] : [])));
}

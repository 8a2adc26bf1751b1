/** IDs for imported records: the source's own IDs if they are unique, otherwise IDs derived from the content. */
import type { Hash } from '../../ports/project.ts';

/** A position in a source. */
export interface SourcePosition {
  /** The line (from 1), or the message in a single JSON document. */
  line: number;
  text: string;
  /** The number of IDs made at this position so far. */
  made: number;
  /** The digest of the position's text; absent until it is first needed. */
  digest?: string;
}

export interface ImportIds {
  /** Returns true if this combination of words is new; the first words specify the kind of ID. */
  isNew(...words: string[]): boolean;
  /** Returns the source's ID if it is new, otherwise an ID that is the same for equal sources. */
  idFor(place: SourcePosition, sourceId?: unknown): string;
  digestOf(place: SourcePosition): string;
  /** Returns the memory, so that a later reader can continue with it. */
  memory(): IdMemory;
}

/** The most recent IDs, and the IDs before them. */
export type IdMemory = [recent: string[], older: string[]];

// At most two generations stay in memory: about 25 MB, enough for the lines in a 500 MB source.
const generationSize = 131_072;

export function toPlace(line: number, text: string): SourcePosition {
  return { line, text, made: 0 };
}

export function openImportIds(format: string, hash: Hash, maxIds = generationSize, known?: IdMemory): ImportIds {
  const memory = openIdMemory(maxIds, known);
  return {
    isNew: memory.isNew,
    memory: memory.all,
    idFor: (place, sourceId) =>
      typeof sourceId === 'string' && sourceId !== '' && memory.isNew('record', sourceId)
        ? sourceId
        : makeId(format, hash, place),
    digestOf: (place) => digestOf(place, hash),
  };
}

/** Remembers the last IDs that it was asked about: between `maxIds` and twice as many. */
export function openIdMemory(maxIds: number, known: IdMemory = [[], []]) {
  let [recent, older] = known.map((ids) => new Set(ids)) as [Set<string>, Set<string>];
  return {
    isNew: (...words: string[]): boolean => {
      // A template literal would keep each of its parts in memory besides the whole text.
      const id = words.join(' ');
      if (recent.has(id) || older.has(id)) return false;
      if (recent.size >= maxIds) [older, recent] = [recent, new Set()];
      recent.add(id);
      return true;
    },
    size: () => recent.size + older.size,
    all: (): IdMemory => [[...recent], [...older]],
  };
}

function makeId(format: string, hash: Hash, place: SourcePosition): string {
  place.made += 1;
  return toUuid(hash(`${format}\n${place.line}\n${place.made}\n${digestOf(place, hash)}`));
}

function digestOf(place: SourcePosition, hash: Hash): string {
  place.digest ??= hash(place.text);
  return place.digest;
}

/** UUID version 8 leaves its bits to the implementation. */
export function toUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

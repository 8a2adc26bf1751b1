/** Ids of imported records: those of the source where they are unique, else made from what the source says. */
import type { Hash } from '../../ports/project.ts';

/** Where something stands in a source. */
export interface SourcePosition {
  /** From 1; of one JSON document, the message. */
  line: number;
  text: string;
  /** How many ids were made for it. */
  made: number;
  /** The digest of its text, once it was needed. */
  digest?: string;
}

export interface ImportIds {
  /** Whether this is the first time that it is asked for; the first words say what it is. */
  isNew(...words: string[]): boolean;
  /** The id of the source, if it has one that nothing had before; else one that the same source always gives. */
  idFor(place: SourcePosition, sourceId?: unknown): string;
  digestOf(place: SourcePosition): string;
  /** Its memory, to go on with later. */
  memory(): IdMemory;
}

/** Ids that were asked for: the last ones, and those before them. */
export type IdMemory = [recent: string[], older: string[]];

// Two of these are kept at most: some 25 MB, and enough for the lines of a source of 500 MB.
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

/** Knows the last ids it was asked for: `maxIds` of them at least, twice as many at most. */
export function openIdMemory(maxIds: number, known: IdMemory = [[], []]) {
  let [recent, older] = known.map((ids) => new Set(ids)) as [Set<string>, Set<string>];
  return {
    isNew: (...words: string[]): boolean => {
      // A template would keep each of its parts in memory, besides the whole.
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

/** UUID version 8: its bits are the maker's own. */
export function toUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

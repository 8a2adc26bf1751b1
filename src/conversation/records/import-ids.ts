/** Ids of imported records: the source's own ids where they are unique, else ids derived from its content. */
import type { Hash } from '../../ports/project.ts';

/** A position in a source. */
export interface SourcePosition {
  /** The line (from 1), or the message in a single JSON document. */
  line: number;
  text: string;
  /** The number of ids made for it. */
  made: number;
  /** The digest of its text, once it was needed. */
  digest?: string;
}

export interface ImportIds {
  /** Tells whether these words are used for the first time; the first ones say what kind of id it is. */
  isNew(...words: string[]): boolean;
  /** Returns the source's id if it is new, else an id that is always the same for the same source. */
  idFor(place: SourcePosition, sourceId?: unknown): string;
  digestOf(place: SourcePosition): string;
  /** Returns its memory, to continue with later. */
  memory(): IdMemory;
}

/** The ids seen last, and those before them. */
export type IdMemory = [recent: string[], older: string[]];

// At most two generations are kept: some 25 MB, enough for the lines of a source of 500 MB.
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

/** Remembers the last ids it was asked about: between `maxIds` and twice as many. */
export function openIdMemory(maxIds: number, known: IdMemory = [[], []]) {
  let [recent, older] = known.map((ids) => new Set(ids)) as [Set<string>, Set<string>];
  return {
    isNew: (...words: string[]): boolean => {
      // A template literal would hold each of its parts in memory besides the whole.
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

/** UUID version 8 leaves its bits to whoever makes it. */
export function toUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

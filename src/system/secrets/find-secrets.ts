/** Finds the secrets in a text, whoever owns them. */
import type { FoundSecret } from '../../session/masks/mask.ts';
import { formReader, formRows, type FormRow } from './find-secret-forms.ts';
import { findParameters, placeReader, placeRows, type PlaceRow } from './secret-places.ts';
import { findByRules, ruleRows, type RuleRow } from './secret-rules.ts';

export interface FoundSecrets {
  /** Secrets recognized by their form. */
  formed: FoundSecret[];
  /** Secrets recognized by their context. */
  placed: FoundSecret[];
}

type Row = { form: FormRow } | { place: PlaceRow } | { rule: RuleRow };

/** Made for the first text, because most commands mask none. */
let findMarks: MarkFinder<Row> | undefined;

function makeFinder(): MarkFinder<Row> {
  return markFinder<Row>([
    ...formRows().map((form) => ({ mark: form.mark, value: { form } })),
    ...placeRows().map((place) => ({ mark: place.mark, value: { place } })),
    ...ruleRows().map((rule) => ({ mark: rule.mark, value: { rule } })),
  ]);
}

/** Takes time linear in the length of the text. The results may overlap. */
export async function findSecrets(text: string): Promise<FoundSecrets> {
  const [formed, placed, rules]: [FoundSecret[], FoundSecret[], Set<string>] = [[], findParameters(text), new Set()];
  const [readForm, readPlace] = [formReader(text, formed), placeReader(text, placed)];
  findMarks ??= makeFinder();
  findMarks(text, (row, at) => {
    if ('form' in row) readForm(row.form, at);
    else if ('place' in row) readPlace(row.place, at);
    else rules.add(row.rule.rule);
  });
  return { formed: [...formed, ...(await findByRules(text, rules))], placed };
}

/** Marks are ASCII and have at least two characters. The finder reports a two-character mark only when something follows it. */
type MarkFinder<T> = (text: string, onMark: OnMark<T>) => void;

type OnMark<T> = (value: T, at: number) => void;

interface Entry<T> {
  mark: string;
  value: T;
}

/** Reports marks at the same place in the order of `entries`, with two-character marks last. */
export function markFinder<T>(entries: readonly Entry<T>[]): MarkFinder<T> {
  /** Entries by their first three characters, or by both characters of a two-character mark. */
  const byHead = new Map<number, Entry<T>[]>();
  /** One bit for each three characters that can begin a mark; reading it is twice as fast as reading the map. */
  const heads = new Uint8Array(1 << 18);
  for (const entry of entries) {
    const pair = (entry.mark.charCodeAt(0) << 7) | entry.mark.charCodeAt(1);
    const head = entry.mark.length === 2 ? toPairKey(pair) : (pair << 7) | entry.mark.charCodeAt(2);
    const same = byHead.get(head);
    if (same === undefined) byHead.set(head, [entry]);
    else same.push(entry);
    if (entry.mark.length === 2) heads.fill(0xff, pair << 4, (pair + 1) << 4);
    else heads[head >> 3]! |= 1 << (head & 7);
  }
  return (text, onMark) => {
    for (let at = seek(text, heads, 0); at !== -1; at = seek(text, heads, at + 1)) {
      const head = headAt(text, at);
      reportMatches(byHead.get(head), text, at, onMark);
      reportMatches(byHead.get(toPairKey(head >> 7)), text, at, onMark);
    }
  };
}

/** Maps other characters to the ASCII character with the same last seven bits. */
function headAt(text: string, at: number): number {
  return ((text.charCodeAt(at) & 127) << 14) | ((text.charCodeAt(at + 1) & 127) << 7) | (text.charCodeAt(at + 2) & 127);
}

/**
 * Returns the next place of one of `heads`, or -1. A separate function, because V8 compiles a frequently called
 * function sooner than one long loop.
 */
function seek(text: string, heads: Uint8Array, from: number): number {
  const { length } = text;
  if (from + 2 >= length) return -1;
  let head = headAt(text, from) >> 7;
  for (let last = from + 2; last < length; last += 1) {
    head = ((head << 7) & 0x1fffff) | (text.charCodeAt(last) & 127);
    if ((heads[head >> 3]! & (1 << (head & 7))) !== 0) return last - 2;
  }
  return -1;
}

function reportMatches<T>(same: readonly Entry<T>[] | undefined, text: string, at: number, onMark: OnMark<T>): void {
  if (same === undefined) return;
  for (const { mark, value } of same) {
    if (mark.length > 3 && text.charCodeAt(at + 3) !== mark.charCodeAt(3)) continue;
    if (text.startsWith(mark, at)) onMark(value, at);
  }
}

/** Returns a key that no three characters can have. */
function toPairKey(pair: number): number {
  return -1 - pair;
}

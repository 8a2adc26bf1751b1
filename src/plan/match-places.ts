/** Where FIND stands in a text. The matchers are tried in order; the first that finds any place decides. */

/** `lines`: whole lines, byte for byte. `part`: a part of a line, byte for byte. */
export type PlaceKind = 'lines' | 'part';

/** FIND and REPLACE, already in the line endings of the file that they are for. */
export interface Substitution {
  find: string;
  replace: string;
}

/** `start` to `end` of the text, in UTF-16 units, becomes `replacement`. */
export interface Place {
  start: number;
  end: number;
  replacement: string;
}

const matchers: readonly { kind: PlaceKind; findPlaces: (text: string, wanted: Substitution) => Place[] }[] = [
  { kind: 'lines', findPlaces: findWholeLines },
  { kind: 'part', findPlaces: findParts },
];

/** All places of the first kind that has one, in order; they may overlap. Null when FIND stands nowhere. */
export function findPlaces(text: string, wanted: Substitution): { kind: PlaceKind; places: Place[] } | null {
  for (const { kind, findPlaces } of matchers) {
    const places = findPlaces(text, wanted);
    if (places.length > 0) return { kind, places };
  }
  return null;
}

function findWholeLines(text: string, { find, replace }: Substitution): Place[] {
  if (text === '') return [];
  const needle = endLastLine(find, find);
  const replacement = replace === '' ? '' : endLastLine(replace, find);
  // A last line without a newline is a whole line, too.
  const starts = findAll(endLastLine(text, find), needle).filter((at) => at === 0 || text[at - 1] === '\n');
  return starts.map((start) => ({ start, end: Math.min(start + needle.length, text.length), replacement }));
}

function findParts(text: string, { find, replace }: Substitution): Place[] {
  const needle = withoutLastNewline(find);
  const replacement = withoutLastNewline(replace);
  if (joinsLines(needle, replacement)) return [];
  return findAll(text, needle).map((start) => ({ start, end: start + needle.length, replacement }));
}

/** A blank line at an edge of FIND would match the mere end of a line: unless REPLACE puts that back, two lines melt. */
function joinsLines(needle: string, replacement: string): boolean {
  const isLost = (edge: RegExp) => edge.test(needle) && !edge.test(replacement);
  return isLost(/^\r?\n/) || isLost(/\n$/);
}

function findAll(text: string, needle: string): number[] {
  const found: number[] = [];
  if (needle === '') return found;
  for (let at = text.indexOf(needle); at !== -1; at = text.indexOf(needle, at + 1)) found.push(at);
  return found;
}

function endLastLine(text: string, like: string): string {
  if (text.endsWith('\n')) return text;
  return text + (like.endsWith('\r\n') ? '\r\n' : '\n');
}

function withoutLastNewline(text: string): string {
  return text.replace(/\r?\n$/, '');
}

/** Reads the usable parts of a line that a crash has torn, joined with the next line, or filled with NUL characters. */
import { isObject, parseJson } from '../../session/text/parse-object.ts';

export interface RepairedLine {
  /** The objects on the line, in order. */
  values: unknown[];
  /** Part of the line is torn and missing from the objects. */
  isTorn: boolean;
  reason: string;
}

/** Returns true if an object's fields show that it is a log record; `before` is the preceding text on the line. */
export type RecordForm = (object: Record<string, unknown>, before: string) => boolean;

/** The beginning of every line that teddy writes. Inside a string, its quotes would be escaped. */
const recordStart = '{"type":"';

/**
 * The beginning of any object with a key. Inside a string, the quote would end the string, and valid JSON never
 * continues with these characters.
 */
const objectStart = /\{"[^\s\0",:}\]]/y;

const space = /[\s\0\uFEFF\u0085]/;

/**
 * Finds the objects in a line that is not valid JSON as a whole, or explains why there are none. Takes time linear in
 * the line's length. Without `isRecord`, the line must be teddy's own. With `isRecord`, accepts an object after a torn
 * record if the object is itself a record, and also accepts the object at the end of the line, wherever the preceding
 * one was torn.
 */
export function repairLine(line: string, isRecord?: RecordForm): RepairedLine | string {
  const { objects, hasRest } = findObjects(line, isRecord !== undefined);
  const last = isRecord === undefined ? null : findLast(line, objects.at(-1)?.end ?? 0);
  const found = last === null ? objects : [...objects, last];
  const whole = found.flatMap(({ start, end, isTorn }) => {
    // A block of NUL characters has replaced part of a text; the remaining text was really said.
    const value = parseJson(line.slice(start, end).replaceAll('\0', ''));
    const isTaken = !isTorn || isRecord === undefined || (isObject(value) && isRecord(value, line.slice(0, start)));
    return value !== undefined && isTaken ? [value] : [];
  });
  if (whole.length === 0) return /[^\s\0]/.test(line) ? 'not JSON' : 'NUL characters only';
  const isTorn = hasRest || whole.length < found.length;
  return { values: whole, isTorn, reason: toReason(line, whole.length, isTorn) };
}

function toReason(line: string, count: number, isTorn: boolean): string {
  const reasons = count > 1 ? [`${count} objects on one line`] : [];
  if (line.includes('\0')) reasons.push('NUL characters were left out');
  if (isTorn) reasons.push('a torn part was left out');
  return reasons.length > 0 ? reasons.join('; ') : 'the characters around the record were left out';
}

interface Found {
  start: number;
  end: number;
  /** A torn part precedes the object. */
  isTorn: boolean;
}

interface Scan {
  objects: Found[];
  ofAgent: boolean;
  /** Some text is outside the objects. */
  hasRest: boolean;
  /** The current object's start; -1 when there is none. */
  start: number;
  depth: number;
  inString: boolean;
  /** The last character that is not white space; empty at the start of an object. */
  before: string;
}

function findObjects(line: string, ofAgent: boolean): Pick<Scan, 'objects' | 'hasRest'> {
  const scan: Scan = { objects: [], ofAgent, hasRest: false, start: -1, depth: 0, inString: false, before: '' };
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === '{' && beginsObject(scan, line, at)) begin(scan, at);
    else if (scan.inString) at += passInString(scan, line, at);
    else pass(scan, line, at);
  }
  return { objects: scan.objects, hasRest: scan.hasRest || scan.start !== -1 };
}

/**
 * If an object or array expects a value, the next object is that value, even if it looks like a record: a tool's output
 * must not become a message because its line was torn.
 */
function beginsObject({ ofAgent, start, inString, before }: Scan, line: string, at: number): boolean {
  const isStart = () => (ofAgent ? startsObject(line, at) : line.startsWith(recordStart, at));
  if (inString) return isStart();
  const isValue = before === ':' || before === ',' || before === '[';
  return !isValue && (start === -1 || isStart());
}

function startsObject(line: string, at: number): boolean {
  objectStart.lastIndex = at;
  return objectStart.test(line);
}

function begin(scan: Scan, at: number): void {
  if (scan.start !== -1) scan.hasRest = true;
  Object.assign(scan, { start: at, depth: 1, inString: false, before: '{' });
}

/** Returns the number of following characters that belong to the current one. */
function passInString(scan: Scan, line: string, at: number): number {
  if (line[at] === '"') Object.assign(scan, { inString: false, before: '"' });
  return line[at] === '\\' && line[at + 1] !== '{' ? 1 : 0;
}

function pass(scan: Scan, line: string, at: number): void {
  const char = line[at] ?? '';
  if (space.test(char)) return;
  if (scan.start === -1) passOutside(scan, char);
  scan.before = char;
  if (scan.start === -1) return;
  if (char === '"') scan.inString = true;
  else if (char === '{' || char === '[') scan.depth += 1;
  else if (char === '}' || char === ']') leave(scan, at);
}

/** An object that continues like this was part of another object, the beginning of which is lost. */
function passOutside(scan: Scan, char: string): void {
  if (scan.before === '' && ',]}'.includes(char)) scan.objects.pop();
  scan.hasRest = true;
}

function leave(scan: Scan, at: number): void {
  scan.depth -= 1;
  if (scan.depth > 0) return;
  scan.objects.push({ start: scan.start, end: at + 1, isTorn: scan.hasRest });
  Object.assign(scan, { start: -1, before: '' });
}

/** Finds the object at the end of the line, if it begins after `from`. Read backward, it has only one possible start. */
function findLast(line: string, from: number): Found | null {
  let end = line.length;
  while (end > from && space.test(line[end - 1] ?? '')) end -= 1;
  if (line[end - 1] !== '}') return null;
  let depth = 0;
  for (let at = end - 1; at >= from; at -= 1) {
    const char = line[at];
    if (char === '"') at = stringStart(line, at);
    else if (char === '}' || char === ']') depth += 1;
    else if (char === '{' || char === '[') depth -= 1;
    if (depth === 0) return { start: at, end, isTorn: true };
  }
  return null;
}

/** Returns the start of a string that ends at `end`. */
function stringStart(line: string, end: number): number {
  let at = line.lastIndexOf('"', end - 1);
  for (; at > 0 && isEscaped(line, at); at = line.lastIndexOf('"', at - 1));
  return at;
}

function isEscaped(line: string, at: number): boolean {
  let before = at - 1;
  while (line[before] === '\\') before -= 1;
  return (at - before) % 2 === 0;
}

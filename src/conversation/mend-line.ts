/** Reads what it can of a line that a crash has torn, glued to the next one, or filled with NUL characters. */
import { parseJson } from '../session/parse-object.ts';

export interface MendedLine {
  /** The objects on it, in order. */
  values: unknown[];
  reason: string;
}

/** The start of every line that teddy writes. In a string its quotes would be escaped. */
const recordStart = '{"type":"';

const space = /[\s\0\uFEFF\u0085]/;

/** The objects of a line that is not JSON as a whole, or why there are none. Takes time linear in its length. */
export function mendLine(line: string): MendedLine | string {
  const { objects, hasRest } = findObjects(line);
  // A block of NUL characters in the middle has taken part of a text; the rest of it is still what was said.
  const values = objects.map((text) => parseJson(text.replaceAll('\0', '')));
  const whole = values.filter((value) => value !== undefined);
  if (whole.length === 0) return /[^\s\0]/.test(line) ? 'not JSON' : 'NUL characters only';
  return { values: whole, reason: toReason(line, whole.length, hasRest || whole.length < values.length) };
}

function toReason(line: string, count: number, isTorn: boolean): string {
  const reasons = count > 1 ? [`${count} objects on one line`] : [];
  if (line.includes('\0')) reasons.push('NUL characters were left out');
  if (isTorn) reasons.push('a part that is torn was left out');
  return reasons.length > 0 ? reasons.join('; ') : 'characters around it were left out';
}

interface Scan {
  objects: string[];
  /** Something stands outside of the objects. */
  hasRest: boolean;
  /** The start of the object that is being read; -1 when there is none. */
  start: number;
  depth: number;
  inString: boolean;
  /** The last character that is no white space; nothing at the beginning of an object's place. */
  before: string;
}

function findObjects(line: string): Pick<Scan, 'objects' | 'hasRest'> {
  const scan: Scan = { objects: [], hasRest: false, start: -1, depth: 0, inString: false, before: '' };
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === '{' && beginsObject(scan, line, at)) begin(scan, at);
    else if (scan.inString) at += passInString(scan, line, at);
    else pass(scan, line, at);
  }
  return { objects: scan.objects, hasRest: scan.hasRest || scan.start !== -1 };
}

/**
 * Where a value of an object or an array may stand, an object is part of that one, even if it looks like a record: the
 * output of a tool must not become a message because the line that held it was torn.
 */
function beginsObject({ start, inString, before }: Scan, line: string, at: number): boolean {
  if (inString) return line.startsWith(recordStart, at);
  const isValue = before === ':' || before === ',' || before === '[';
  return !isValue && (start === -1 || line.startsWith(recordStart, at));
}

function begin(scan: Scan, at: number): void {
  if (scan.start !== -1) scan.hasRest = true;
  Object.assign(scan, { start: at, depth: 1, inString: false, before: '{' });
}

/** How many characters after this one belong to it. */
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
  else if (char === '}' || char === ']') leave(scan, line, at);
}

/** An object that goes on like this was part of another one, whose beginning is gone. */
function passOutside(scan: Scan, char: string): void {
  if (scan.before === '' && ',]}'.includes(char)) scan.objects.pop();
  scan.hasRest = true;
}

function leave(scan: Scan, line: string, at: number): void {
  scan.depth -= 1;
  if (scan.depth > 0) return;
  scan.objects.push(line.slice(scan.start, at + 1));
  Object.assign(scan, { start: -1, before: '' });
}

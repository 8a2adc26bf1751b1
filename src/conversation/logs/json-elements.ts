/** Finds the messages in a JSON document that arrives in pieces, and never buffers more than one message. */

/** A message, or another member of the object that contains the messages. */
export type JsonPart =
  | { kind: 'element'; text: string }
  /** `text` is the JSON of `"key": value`. */
  | { kind: 'member'; text: string }
  /** A top-level object has ended. */
  | { kind: 'object'; hadElements: boolean }
  /** A part is too long to hold. */
  | { kind: 'too-long' };

export interface JsonElements {
  push(text: string): JsonPart[];
  /** Returns the parts that the end of the text completes; none after a whole document. */
  end(): JsonPart[];
}

const [quote, backslash, comma] = [34, 92, 44];
const [openBracket, closeBracket, openBrace, closeBrace] = [91, 93, 123, 125];
const maxPartChars = 64 * 1024 * 1024;

interface Scan {
  depth: number;
  /** The depth of the parts to extract. */
  partDepth: number;
  inElements: boolean;
  hadElements: boolean;
  inString: boolean;
  isEscaped: boolean;
  /** The current part's text from earlier pieces. */
  pieces: string[];
  chars: number;
  found: JsonPart[];
}

/**
 * Returns the elements of each top-level array, or of the `messages` member of each top-level object, exactly as
 * written; they need not be valid. Takes time linear in the length of the text, and finds equal parts however the text
 * is split into pieces.
 */
export function openJsonElements(maxChars = maxPartChars): JsonElements {
  const scan = beginScan();
  const push = (text: string): JsonPart[] => {
    let from = 0;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (scan.inString) at = passString(scan, text, at);
      else if (code === quote) scan.inString = true;
      else if (code === comma ? scan.depth === scan.partDepth : isBracket(code)) {
        if (!isCut(scan, code, text, from, at)) scan.depth += isOpening(code) ? 1 : -1;
        else {
          keep(scan, text.slice(from, at), maxChars);
          cut(scan, code, maxChars);
          from = at + 1;
        }
      }
    }
    keep(scan, text.slice(from), maxChars);
    return scan.found.splice(0);
  };
  const end = (): JsonPart[] => {
    finishPart(scan, maxChars);
    return scan.found.splice(0);
  };
  return { push, end };
}

function beginScan(): Scan {
  const place = { depth: 0, partDepth: 0, inElements: false, hadElements: false };
  return { ...place, inString: false, isEscaped: false, pieces: [], chars: 0, found: [] };
}

function isBracket(code: number): boolean {
  return isOpening(code) || code === closeBracket || code === closeBrace;
}

function isOpening(code: number): boolean {
  return code === openBracket || code === openBrace;
}

/** Returns the end of the string, or of the text if the string does not end. */
function passString(scan: Scan, text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (scan.isEscaped) scan.isEscaped = false;
    else if (code === backslash) scan.isEscaped = true;
    else if (code === quote) {
      scan.inString = false;
      return at;
    }
  }
  return text.length;
}

/** Returns true if a part ends before this character. */
function isCut(scan: Scan, code: number, text: string, from: number, at: number): boolean {
  if (!isOpening(code)) return scan.depth === scan.partDepth;
  if (scan.depth === 0) return true;
  if (code !== openBracket || scan.depth !== 1 || scan.inElements) return false;
  // A longer key cannot match.
  if (scan.chars + at - from > 64) return false;
  return /^\s*"messages"\s*:\s*$/.test(scan.pieces.join('') + text.slice(from, at));
}

function cut(scan: Scan, code: number, maxChars: number): void {
  if (code === comma) return finishPart(scan, maxChars);
  if (isOpening(code)) return enter(scan, code, maxChars);
  finishPart(scan, maxChars);
  if (scan.depth === 0) return;
  if (scan.depth === 1 && !scan.inElements) scan.found.push({ kind: 'object', hadElements: scan.hadElements });
  scan.depth -= 1;
  Object.assign(scan, { partDepth: scan.depth, inElements: false });
}

function enter(scan: Scan, code: number, maxChars: number): void {
  const isArray = code === openBracket;
  if (scan.depth > 0) [scan.pieces, scan.chars] = [[], 0];
  finishPart(scan, maxChars);
  const hadElements = scan.depth > 0 ? true : isArray;
  scan.depth += 1;
  Object.assign(scan, { partDepth: scan.depth, inElements: isArray, hadElements });
}

function keep(scan: Scan, piece: string, maxChars: number): void {
  scan.chars += piece.length;
  if (scan.chars > maxChars) scan.pieces = [];
  else if (piece !== '') scan.pieces.push(piece);
}

function finishPart(scan: Scan, maxChars: number): void {
  const isTooLong = scan.chars > maxChars;
  const text = scan.pieces.join('').trim();
  [scan.pieces, scan.chars] = [[], 0];
  if (isTooLong) scan.found.push({ kind: 'too-long' });
  else if (text !== '') scan.found.push({ kind: scan.inElements || scan.depth === 0 ? 'element' : 'member', text });
}

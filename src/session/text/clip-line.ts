/**
 * Shortens a line as it arrives, and never buffers more of the line than the limits allow. In JSON, or a quoted YAML
 * value, cuts each long text and drops a long list's last elements, so that the result still parses: a long text is
 * often followed by a short one that identifies it. Keeps only the beginning of any other line.
 */
import { formatCount } from './format-count.ts';

export interface LineLimits {
  /** The limit for a single text, in characters. */
  text: number;
  /** The limit for a line with cut texts. Beyond the limit, no element is added; beyond twice the limit, nothing is. */
  line: number;
}

interface ClippedLine {
  text: string;
  /** The number of omitted characters; in a text, as counted by a parser. */
  cut: number;
}

const [quote, backslash, comma, letterU] = [34, 92, 44, 117];
const [openBracket, closeBracket, openBrace, closeBrace] = [91, 93, 123, 125];
const structured = /^\s*(?:[[{]|(?:- )?(?:[\w-]+: )?")/;

export interface LineClip {
  push(piece: string): void;
  end(): ClippedLine;
  heldLength(): number;
}

/** The part of a line that has arrived so far. */
interface Clip {
  limits: LineLimits;
  kept: string;
  /** The number of omitted characters. */
  cut: number;
  /** The number of open lists and objects. */
  depth: number;
  /** `text` and `elements` skip everything up to the end of this text or list; `rest` skips to the end of the line. */
  skips: 'nothing' | 'text' | 'elements' | 'rest';
  /** The depth of the list that is losing elements. */
  level: number;
  inString: boolean;
  /** The number of characters left in an escape sequence; -1 when the next character determines it. */
  escape: number;
  /** The number of characters that the text may still have; when negative, the number of characters cut from it. */
  room: number;
}

const nothingYet = { kept: '', cut: 0, depth: 0, level: 0, escape: 0, room: 0 };

/** Begins a line. `head` is its beginning, which is also pushed. */
export function openLineClip(limits: LineLimits, head: string): LineClip {
  const clip: Clip = { ...nothingYet, limits, skips: 'nothing', inString: false };
  const isText = !structured.test(head);
  return {
    push: (piece) => {
      if (!isText && clip.kept.length > 2 * limits.line) clip.skips = 'rest';
      if (clip.skips === 'rest') clip.cut += piece.length;
      else if (isText) pushText(clip, piece);
      else pushStructured(clip, piece);
    },
    end: () => {
      if (clip.skips === 'text') clip.cut -= clip.room;
      if (isText && clip.cut > 0) clip.kept += ` ${toCutMark(clip.cut).trimStart()}`;
      return { text: clip.kept, cut: clip.cut };
    },
    heldLength: () => clip.kept.length,
  };
}

function pushText(clip: Clip, piece: string): void {
  const stays = piece.slice(0, clip.limits.text - clip.kept.length);
  clip.kept += stays;
  clip.cut += piece.length - stays.length;
  if (clip.cut > 0) clip.skips = 'rest';
}

function pushStructured(clip: Clip, piece: string): void {
  const { limits } = clip;
  let from = 0;
  for (let at = 0; at < piece.length; at += 1) {
    const left = clip.skips;
    if (clip.inString) at = passText(clip, piece, at);
    const code = piece.charCodeAt(at);
    if (clip.inString) {
      if (code === quote) endText(clip);
      else if (at < piece.length) {
        clip.kept += piece.slice(from, at);
        clip.skips = 'text';
        at -= 1;
      }
    } else if (code === quote) {
      clip.inString = true;
      // Beyond the line's limit, keep only the beginning of further texts.
      clip.room = clip.kept.length + at - from > limits.line ? 100 : limits.text;
    } else if (code === openBracket || code === openBrace) clip.depth += 1;
    else if (code === closeBracket || code === closeBrace) {
      if (left === 'elements' && clip.depth === clip.level) clip.skips = 'nothing';
      clip.depth -= 1;
    } else if (code === comma && left === 'nothing' && clip.depth > 1 && clip.kept.length + at - from > limits.line) {
      clip.kept += piece.slice(from, at);
      clip.skips = 'elements';
      clip.level = clip.depth;
      from = at;
    }
    if (left === 'nothing' || clip.skips !== 'nothing') continue;
    if (left === 'elements') clip.cut += at - from;
    from = at;
  }
  if (clip.skips === 'nothing') clip.kept += piece.slice(from);
  else if (clip.skips === 'elements') clip.cut += piece.length - from;
}

/** Finds the end of the text, of its room, or of the piece. Uses local variables, because it visits every character. */
function passText(clip: Clip, piece: string, start: number): number {
  const isKept = clip.skips === 'nothing';
  let [at, pending, room] = [start, clip.escape, clip.room];
  for (; at < piece.length; at += 1) {
    const code = piece.charCodeAt(at);
    if (pending > 0) pending -= 1;
    else if (pending < 0) pending = code === letterU ? 4 : 0;
    else if (code === quote || (isKept && room === 0)) break;
    else {
      room -= 1;
      if (code === backslash) pending = -1;
    }
  }
  clip.escape = pending;
  clip.room = room;
  return at;
}

function endText(clip: Clip): void {
  clip.inString = false;
  if (clip.skips !== 'text') return;
  clip.skips = 'nothing';
  clip.cut -= clip.room;
  // Escape the newline as JSON does.
  clip.kept += JSON.stringify(toCutMark(-clip.room)).slice(1, -1);
}

/** Matches the mark in a shortened text. A text may be shortened again; the number then counts all missing characters. */
const mark = /\n\[(\d{1,3}(?:,\d{3})*) more characters are left out\]/g;

export function toCutMark(count: number): string {
  return `\n[${formatCount(count)} more characters are left out]`;
}

/** Counts a text's characters before it was shortened. */
export function countWhole(text: string): number {
  let count = text.length;
  for (const [found, number = ''] of text.matchAll(mark)) count += Number(number.replaceAll(',', '')) - found.length;
  return count;
}

/** Shortens a text. `shown` is a rendering of the text; its beginning replaces the text. */
export function cutText(text: string, max: number, shown = text): string {
  return text.length <= max ? shown : shown.slice(0, max) + toCutMark(countWhole(text) - max);
}

/**
 * Shortens a line while it comes, and never holds more of it than its limits. Of JSON, or of a quoted value of YAML, it cuts each long
 * text and leaves out the last elements of a long list, so that what stays can be parsed: what follows a long text is often short and
 * says what the text is. Of anything else the beginning stays.
 */
import { formatCount } from './format-count.ts';

export interface LineLimits {
  /** Characters of one text. */
  text: number;
  /** Characters of a line, its texts being cut: then no element is added. Beyond twice as many, nothing is. */
  line: number;
}

interface ClippedLine {
  text: string;
  /** How many characters are left out; of a text, as its reader counts them. */
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

/** The part of a line that has come. */
interface Clip {
  limits: LineLimits;
  kept: string;
  /** Characters that are left out. */
  cut: number;
  /** Lists and objects that are open. */
  depth: number;
  /** `text`, `elements`: until the end of this text or list, nothing is kept; `rest`: to the end of the line. */
  skips: 'nothing' | 'text' | 'elements' | 'rest';
  /** The depth of the list whose elements are left out. */
  level: number;
  inString: boolean;
  /** Characters that still belong to an escape sequence; -1: the next one says how many. */
  escape: number;
  /** Characters that the text may still have; below 0: so many are left out of it. */
  room: number;
}

const nothingYet = { kept: '', cut: 0, depth: 0, level: 0, escape: 0, room: 0 };

/** `head`: how the line begins; it is pushed as well. */
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
      // Whoever has used up the line keeps the beginning of what else is said.
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

/** Where the text ends, or its room, or the piece. It is passed through character by character, so with variables of its own. */
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
  // Its newline is written as JSON writes it.
  clip.kept += JSON.stringify(toCutMark(-clip.room)).slice(1, -1);
}

/** A long text is cut with a word, and one that was cut may be cut again: the number is that of all that is missing. */
const mark = /\n\[(\d{1,3}(?:,\d{3})*) more characters are left out\]/g;

export function toCutMark(count: number): string {
  return `\n[${formatCount(count)} more characters are left out]`;
}

/** How many characters a text had before it was cut. */
export function countWhole(text: string): number {
  let count = text.length;
  for (const [found, number = ''] of text.matchAll(mark)) count += Number(number.replaceAll(',', '')) - found.length;
  return count;
}

/** `shown`: what was made of the beginning of `text`, and stands in its place. */
export function cutText(text: string, max: number, shown = text): string {
  return text.length <= max ? shown : shown.slice(0, max) + toCutMark(countWhole(text) - max);
}

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

/** `head`: how the line begins; it is pushed as well. */
export function openLineClip(limits: LineLimits, head: string): LineClip {
  const isText = !structured.test(head);
  const kept: string[] = [];
  let [length, cut, depth] = [0, 0, 0];
  /** `text`, `elements`: until the end of this text or list, nothing is kept; `rest`: to the end of the line. */
  let leavesOut: 'nothing' | 'text' | 'elements' | 'rest' = 'nothing';
  let leftDepth = 0;
  let inString = false;
  /** Characters that still belong to an escape sequence; -1: the next one says how many. */
  let escape = 0;
  /** Characters of the text so far, and how many there may be. */
  let [count, room] = [0, 0];

  function keep(piece: string): void {
    if (piece !== '') kept.push(piece);
    length += piece.length;
  }

  /** Where the text ends, or its room, or the piece. It is passed through character by character, so with variables of its own. */
  function passText(piece: string, start: number): number {
    const max = leavesOut === 'nothing' ? room : Infinity;
    let [at, pending, passed] = [start, escape, count];
    for (; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      if (pending > 0) pending -= 1;
      else if (pending < 0) pending = code === letterU ? 4 : 0;
      else if (code === quote || passed === max) break;
      else {
        passed += 1;
        if (code === backslash) pending = -1;
      }
    }
    [escape, count] = [pending, passed];
    return at;
  }

  function endText(): void {
    inString = false;
    if (leavesOut !== 'text') return;
    leavesOut = 'nothing';
    cut += count - room;
    // Its newline is written as JSON writes it.
    keep(JSON.stringify(toCutMark(count - room)).slice(1, -1));
  }

  function pushStructured(piece: string): void {
    let from = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const left = leavesOut;
      if (inString) at = passText(piece, at);
      const code = piece.charCodeAt(at);
      if (inString) {
        if (code === quote) endText();
        else if (at < piece.length) {
          keep(piece.slice(from, at));
          leavesOut = 'text';
          at -= 1;
        }
      } else if (code === quote) {
        inString = true;
        // Whoever has used up the line keeps the beginning of what else is said.
        [count, room] = [0, length + at - from > limits.line ? 100 : limits.text];
      } else if (code === openBracket || code === openBrace) depth += 1;
      else if (code === closeBracket || code === closeBrace) {
        if (left === 'elements' && depth === leftDepth) leavesOut = 'nothing';
        depth -= 1;
      } else if (code === comma && left === 'nothing' && depth > 1 && length + at - from > limits.line) {
        keep(piece.slice(from, at));
        [leavesOut, leftDepth, from] = ['elements', depth, at];
      }
      if (left === 'nothing' || leavesOut !== 'nothing') continue;
      if (left === 'elements') cut += at - from;
      from = at;
    }
    if (leavesOut === 'nothing') keep(piece.slice(from));
    else if (leavesOut === 'elements') cut += piece.length - from;
  }

  return {
    push(piece) {
      if (leavesOut === 'rest') cut += piece.length;
      else if (isText) {
        const stays = piece.slice(0, limits.text - length);
        keep(stays);
        cut += piece.length - stays.length;
        if (cut > 0) leavesOut = 'rest';
      } else if (length > 2 * limits.line) {
        leavesOut = 'rest';
        cut += piece.length;
      } else pushStructured(piece);
    },
    end() {
      if (leavesOut === 'text') cut += count - room;
      if (isText && cut > 0) keep(` ${toCutMark(cut).trimStart()}`);
      return { text: kept.join(''), cut };
    },
    heldLength: () => length,
  };
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

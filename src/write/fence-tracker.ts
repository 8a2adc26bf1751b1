/**
 * Whether a Markdown text that comes byte by byte is inside a code fence: the rules of CommonMark at the top level of a
 * document. Lists and quotes are no containers here, as in `plan/parse/scan.ts`; what is fenced inside one is indented.
 */
const newline = 10;
const carriageReturn = 13;
const tab = 9;
const space = 32;
const backtick = 96;
const tilde = 126;

/**
 * The part of a line. `run`: in the marks of a fence. `info`: behind an opening one. `end`: behind a closing one. `text`: no
 * fence.
 */
type Part = 'indent' | 'run' | 'info' | 'end' | 'text';

export interface FenceTracker {
  /** A fence is open, as of the lines that are whole. */
  isOpen(): boolean;
  /** The next byte. False: until the end of the line nothing matters any more. */
  take(byte: number): boolean;
}

export function trackFences(): FenceTracker {
  /** The mark of the open fence; 0 when there is none. */
  let openMark = 0;
  let openLength = 0;
  let part: Part = 'indent';
  let indent = 0;
  let mark = 0;
  let length = 0;

  function endLine(): void {
    const isRun = part === 'run' && length >= Math.max(openLength, 3);
    if (isRun || part === 'info' || part === 'end') {
      const isClosed = openLength > 0;
      openMark = isClosed ? 0 : mark;
      openLength = isClosed ? 0 : length;
    }
    part = 'indent';
    indent = 0;
  }

  function begin(byte: number): Part {
    if (byte === space) {
      indent += 1;
      return indent > 3 ? 'text' : 'indent';
    }
    if (openLength > 0 ? byte !== openMark : byte !== backtick && byte !== tilde) return 'text';
    mark = byte;
    length = 1;
    return 'run';
  }

  function goOn(byte: number): Part {
    if (byte === mark) {
      length += 1;
      return 'run';
    }
    if (openLength > 0) return isBlank(byte) && length >= openLength ? 'end' : 'text';
    return length >= 3 ? 'info' : 'text';
  }

  function next(byte: number): Part {
    if (part === 'indent') return begin(byte);
    if (part === 'run') return goOn(byte);
    if (part === 'end') return isBlank(byte) ? 'end' : 'text';
    // A backtick in what follows makes it code within a line.
    return part === 'info' && !(mark === backtick && byte === backtick) ? 'info' : 'text';
  }

  return {
    isOpen: () => openLength > 0,
    take(byte) {
      if (byte === newline) endLine();
      else part = next(byte);
      return part !== 'text';
    },
  };
}

function isBlank(byte: number): boolean {
  return byte === space || byte === tab || byte === carriageReturn;
}

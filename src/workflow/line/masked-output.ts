/** Shows a command's output on the terminal as it arrives, without its secrets. */
import { maskString } from './mask-text.ts';
import type { CommandResult } from '../../ports/files.ts';
import type { Masker } from '../../ports/project.ts';

type Stream = 'stdout' | 'stderr';

export interface MaskedOutput {
  add(stream: Stream, text: string): void;
  /** Shows the rest, and resolves once everything is shown. Rejects when masking fails. */
  end(): Promise<void>;
}

/** A secret may arrive in pieces, so teddy shows output in whole lines; a private key has at most this many lines. */
const maxKeyLines = 400;
/** A longer line is not text for people, and buffering it could use up all memory. */
const maxHeldLength = 1024 * 1024;
const tooLongNote = '[a line longer than 1 MiB is not shown]\n';
const keyBegin = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY/;
const keyEnd = /-----END [A-Z0-9 ]*PRIVATE KEY/;

export function maskedOutput(masker: Masker, show: (stream: Stream, text: string) => void): MaskedOutput {
  const pending: Record<Stream, Held> = { stdout: hold(''), stderr: hold('') };
  let shown: Promise<void> = Promise.resolve();
  let failure: unknown = null;

  const pass = (stream: Stream, text: string) => {
    if (text === '') return;
    shown = shown
      .then(async () => show(stream, (await masker.mask(text)).text))
      .catch((error: unknown) => void (failure ??= error));
  };
  return {
    add(stream, text) {
      const held = pending[stream];
      const next = held.isTooLong ? afterLine(text) : text;
      if (next === null) return;
      held.pieces.push(next);
      held.length += next.length;
      held.isTooLong = false;
      // Joined only when a line ends, because a long line may arrive in very many pieces.
      if (/[\r\n]/.test(next)) {
        const { whole, rest } = takeLines(held.pieces.join(''));
        pass(stream, whole);
        pending[stream] = hold(rest);
      }
      if (pending[stream].length <= maxHeldLength) return;
      pass(stream, tooLongNote);
      pending[stream] = { ...hold(''), isTooLong: true };
    },
    async end() {
      for (const stream of ['stdout', 'stderr'] as const) pass(stream, pending[stream].pieces.join(''));
      await shown;
      if (failure !== null) throw failure;
    },
  };
}

/** Output that is not shown yet because its line has not ended. */
interface Held {
  pieces: string[];
  length: number;
  /** True when the line is too long; teddy drops everything up to its end. */
  isTooLong: boolean;
}

function hold(text: string): Held {
  return { pieces: text === '' ? [] : [text], length: text.length, isTooLong: false };
}

/** Returns the text after the end of the line; null while the line has not ended. */
function afterLine(text: string): string | null {
  const end = text.search(/[\r\n]/);
  return end === -1 ? null : text.slice(end + 1);
}

/** Splits off the complete lines; keeps the lines of a private key together. */
function takeLines(text: string): { whole: string; rest: string } {
  const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1;
  const lines = text.slice(0, end);
  const begin = lines.search(keyBegin);
  const last = begin === -1 ? -1 : findLastBegin(lines, begin);
  const isOpen = last !== -1 && !keyEnd.test(lines.slice(last));
  const cut = isOpen && lines.slice(last).split('\n').length <= maxKeyLines ? last : end;
  return { whole: text.slice(0, cut), rest: text.slice(cut) };
}

function findLastBegin(lines: string, from: number): number {
  const last = lines.lastIndexOf('-----BEGIN ');
  return keyBegin.test(lines.slice(last)) ? last : from;
}

/** Shows a command's output as it arrives, until the command ends. */
export async function showMasked(
  masker: Masker,
  show: (stream: Stream, text: string) => void,
  run: (add: MaskedOutput['add']) => Promise<CommandResult>,
): Promise<CommandResult> {
  const output = maskedOutput(masker, show);
  const result = await run(output.add);
  await output.end();
  return result;
}

/** Masks the output as a whole; if it were cut first, part of a secret could remain. */
export async function maskResult(masker: Masker, result: CommandResult): Promise<CommandResult> {
  const [stdout, stderr] = await Promise.all([result.stdout, result.stderr].map((text) => maskString(masker, text)));
  return { ...result, stdout: stdout ?? '', stderr: stderr ?? '' };
}

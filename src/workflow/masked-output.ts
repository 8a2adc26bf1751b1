/** Output of a command for the terminal, as it comes, without its secrets. */
import type { Masker } from '../ports.ts';

type Stream = 'stdout' | 'stderr';

export interface MaskedOutput {
  add(stream: Stream, text: string): void;
  /** Shows what is left, and resolves when everything was shown. Rejects when something could not be masked. */
  end(): Promise<void>;
}

/** A secret may come in pieces; a line of output is whole, and a private key has as many lines as this at most. */
const maxKeyLines = 400;
const keyBegin = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY/;
const keyEnd = /-----END [A-Z0-9 ]*PRIVATE KEY/;

export function maskedOutput(masker: Masker, show: (stream: Stream, text: string) => void): MaskedOutput {
  const pending: Record<Stream, string[]> = { stdout: [], stderr: [] };
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
      // Joined only when a line ends: a long line may come in very many pieces.
      const held = pending[stream];
      held.push(text);
      if (!/[\r\n]/.test(text)) return;
      const { whole, rest } = takeLines(held.join(''));
      pending[stream] = rest === '' ? [] : [rest];
      pass(stream, whole);
    },
    async end() {
      for (const stream of ['stdout', 'stderr'] as const) pass(stream, pending[stream].join(''));
      await shown;
      if (failure !== null) throw failure;
    },
  };
}

/** The lines that are complete; those of a private key only together. */
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

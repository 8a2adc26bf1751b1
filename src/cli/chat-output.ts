/** What a command says while it runs, line by line: it comes in pieces that end anywhere, of two streams. */
import { visibleChunks } from './terminal.ts';

type Stream = 'stdout' | 'stderr';

export interface OutputLines {
  take(stream: Stream, text: string): void;
  /** The command is done: the rest is a line as well. */
  end(): void;
}

// Whoever draws progress on one line must not fill the memory with it.
const maxHeld = 8192;

export function openOutputLines(say: (line: string) => void): OutputLines {
  const held = { stdout: '', stderr: '' };
  let toChunk = { stdout: visibleChunks(), stderr: visibleChunks() };
  return {
    take(stream, text) {
      const lines = (held[stream] + toChunk[stream](text)).split('\n');
      held[stream] = lines.pop() ?? '';
      for (const line of lines) say(line);
      if (held[stream].length < maxHeld) return;
      say(held[stream]);
      held[stream] = '';
    },
    end() {
      for (const stream of ['stdout', 'stderr'] as const) {
        if (held[stream] !== '') say(held[stream]);
        held[stream] = '';
      }
      toChunk = { stdout: visibleChunks(), stderr: visibleChunks() };
    },
  };
}

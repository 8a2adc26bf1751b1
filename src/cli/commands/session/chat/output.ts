/** Shows a running command's output line by line. The output arrives on two streams, in pieces that may end anywhere. */
import { toWellFormed } from '../../../../conversation/records/well-formed.ts';
import { formatCount } from '../../../../session/text/format-count.ts';
import { visibleChunks } from '../../../terminal.ts';

type Stream = 'stdout' | 'stderr';

export interface OutputLines {
  take(stream: Stream, text: string): void;
  /** Shows the rest as a line when the command has ended. */
  end(): void;
}

// Limits the buffered text, because a program that draws its progress on one line must not fill the memory.
const maxHeld = 8192;
// Limits the lines shown, to keep the conversation in sight. The model and the history receive more of the output.
const maxFirst = 40;
const maxLast = 10;
const maxLength = 400;

/** Shows the first lines of a long output as they arrive. At the end, shows the number of omitted lines and the last lines. */
export function openOutputLines(say: (line: string) => void): OutputLines {
  const held = { stdout: '', stderr: '' };
  let toChunk = { stdout: visibleChunks(), stderr: visibleChunks() };
  let shown = openEnds(say);
  return {
    take(stream, text) {
      const lines = (held[stream] + toChunk[stream](text)).split('\n');
      held[stream] = lines.pop() ?? '';
      for (const line of lines) shown.add(line);
      if (held[stream].length < maxHeld) return;
      shown.add(held[stream]);
      held[stream] = '';
    },
    end() {
      for (const stream of ['stdout', 'stderr'] as const) {
        if (held[stream] !== '') shown.add(held[stream]);
        held[stream] = '';
      }
      shown.end();
      shown = openEnds(say);
      toChunk = { stdout: visibleChunks(), stderr: visibleChunks() };
    },
  };
}

function openEnds(say: (line: string) => void): { add(line: string): void; end(): void } {
  let count = 0;
  const last: string[] = [];
  return {
    add(line) {
      count += 1;
      const text = line.length <= maxLength ? line : `${toWellFormed(line.slice(0, maxLength))}...`;
      if (count <= maxFirst) return say(text);
      last.push(text);
      if (last.length > maxLast) last.shift();
    },
    end() {
      const leftOut = count - maxFirst - last.length;
      if (leftOut > 0) say(`... ${formatCount(leftOut)} ${leftOut === 1 ? 'line is' : 'lines are'} not shown`);
      last.forEach(say);
    },
  };
}

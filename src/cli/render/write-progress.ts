/** Shows the progress of files that a model writes, as a line that it redraws in place on a terminal. */
import { formatCount } from '../../session/text/format-count.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';

export interface WriteProgress {
  /** Shows that no part of the next answer has arrived yet. */
  wait(): void;
  content(target: string, received: { bytes: number; lines: number }): void;
  /** Removes the line until the next call. */
  hide(): void;
}

const redrawMs = 200;

export function showWriteProgress(terminal: Terminal): WriteProgress {
  let begunMs = performance.now();
  let timer: NodeJS.Timeout | null = null;
  let describe = (_elapsed: string) => '';
  const draw = () => {
    const elapsed = `${Math.floor((performance.now() - begunMs) / 1000)} s`;
    terminal.redraw(terminal.style('dim', describe(elapsed), 'stderr'));
  };
  const show = (next: (elapsed: string) => string) => {
    describe = next;
    timer ??= setInterval(draw, redrawMs).unref();
  };
  return {
    wait() {
      begunMs = performance.now();
      show((elapsed) => `Waiting for the model, ${elapsed}`);
    },
    content(target, { bytes, lines }) {
      show((elapsed) => {
        const counts = `${formatCount(lines)} lines, ${formatCount(bytes)} bytes`;
        return `Receiving ${toVisible(target)}, ${elapsed}, ${counts}`;
      });
    },
    hide() {
      if (timer !== null) clearInterval(timer);
      timer = null;
      terminal.redraw(null);
    },
  };
}

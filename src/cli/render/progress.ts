/** Shows the progress of an answer as a line on stderr, redrawn in place on a terminal, and its cost at the end. */
import { formatCount } from '../../session/text/format-count.ts';
import type { Usage } from '../../workflow/line/receive-answer.ts';
import type { Terminal } from '../terminal.ts';
import { toVisible } from '../../session/text/visible-text.ts';

export interface AnswerProgress {
  text(text: string): void;
  usage(usage: Usage): void;
  /** Removes the line. Returns the time since the progress display began. */
  end(): number;
}

const redrawMs = 200;
// An estimate until the endpoint reports: one token is about four bytes of English.
const bytesPerToken = 4;

/** `isStreamed` means that the same terminal shows the answer itself, so that its first characters replace the line. */
export function showProgress(terminal: Terminal, { isStreamed }: { isStreamed: boolean }): AnswerProgress {
  const begunMs = performance.now();
  let bytes = 0;
  let usage: Usage | null = null;
  const draw = () => {
    const line = describeProgress(performance.now() - begunMs, bytes, usage);
    terminal.redraw(terminal.style('dim', line, 'stderr'));
  };
  const timer = setInterval(draw, redrawMs);
  timer.unref();
  const stop = () => {
    clearInterval(timer);
    terminal.redraw(null);
  };
  return {
    text(text) {
      bytes += Buffer.byteLength(text);
      if (isStreamed) stop();
    },
    usage(told) {
      usage = told;
    },
    end() {
      stop();
      return performance.now() - begunMs;
    },
  };
}

/** Shows how long a command has been running. Returns a function that removes the line. */
export function showRunning(terminal: Terminal, what: string): () => void {
  const begunMs = performance.now();
  const timer = setInterval(() => {
    const elapsed = Math.floor((performance.now() - begunMs) / 1000);
    terminal.redraw(terminal.style('dim', `${what}, ${elapsed} s`, 'stderr'));
  }, 1000);
  timer.unref();
  return () => {
    clearInterval(timer);
    terminal.redraw(null);
  };
}

function describeProgress(elapsedMs: number, bytes: number, usage: Usage | null): string {
  const elapsed = `${Math.floor(elapsedMs / 1000)} s`;
  if (bytes === 0) return `Waiting for the answer, ${elapsed}`;
  const tokens = usage?.output ?? Math.ceil(bytes / bytesPerToken);
  const mark = usage === null ? '~' : '';
  return [
    `Receiving the answer, ${elapsed}`,
    `${mark}${formatCount(tokens)} tokens`,
    ...describeSpeed(tokens, elapsedMs),
    ...describeCost(usage),
  ].join(', ');
}

/**
 * Returns, for example, `gpt-5, 1,234 tokens in (1,024 cached), 567 out, 12.3 s, 46 tokens/s, $0.0123`, without the
 * unknown parts. The time is null when no model was asked. Omits the speed when the time includes tools or waiting for
 * the user.
 */
export function describeEffort(
  usage: CachedUsage | null,
  elapsedMs: number | null,
  { isOnlyModel = true, model = null }: { isOnlyModel?: boolean; model?: string | null } = {},
): string {
  const seconds = elapsedMs === null ? [] : [`${(elapsedMs / 1000).toFixed(1)} s`];
  return [
    ...(model === null ? [] : [toVisible(model)]),
    ...(usage === null ? [] : describeTokens(usage)),
    ...seconds,
    ...(isOnlyModel ? describeSpeed(usage?.output ?? 0, elapsedMs ?? 0) : []),
    ...describeCost(usage),
  ].join(', ');
}

type CachedUsage = Usage & { cached?: number };

function describeTokens({ input, output, cached = 0 }: CachedUsage): string[] {
  const known = cached === 0 ? '' : ` (${formatCount(cached)} cached)`;
  return [`${formatCount(input)} tokens in${known}`, `${formatCount(output)} out`];
}

// Returns nothing below one second or one token per second, because teddy cannot measure a speed from so little.
function describeSpeed(tokens: number, elapsedMs: number): string[] {
  const speed = elapsedMs < 1000 ? 0 : Math.round(tokens / (elapsedMs / 1000));
  return speed === 0 ? [] : [`${formatCount(speed)} token${speed === 1 ? '' : 's'}/s`];
}

function describeCost(usage: Usage | null): string[] {
  return usage?.costUsd === undefined ? [] : [`$${usage.costUsd.toFixed(4)}`];
}

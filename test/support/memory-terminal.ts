/**
 * Runs a command in a terminal in memory: keys go in, and the text that the terminal would show comes out. Like the line discipline
 * of a real terminal, it turns Ctrl-C into a signal and Ctrl-D into the end of the input, unless the program reads single keys.
 */
import { PassThrough, Writable } from 'node:stream';
import { runCommand } from '../../src/cli/run-cli.ts';
import type { CliContext } from '../../src/cli/context.ts';
import { memoryContext, type ContextOptions } from './cli-context.ts';
import { ctrlC, ctrlD, watchScreen, type TerminalRun } from './run-in-terminal.ts';

/** `more` is added to the command's context. */
export function runInMemoryTerminal(
  options: ContextOptions,
  more: Partial<CliContext> = {},
  { timeoutMs = 20_000 }: { timeoutMs?: number | undefined } = {},
): TerminalRun {
  const screen = watchScreen();
  const output = () =>
    Object.assign(
      new Writable({
        write(piece: Buffer, _encoding, done) {
          screen.show(piece.toString('utf8'));
          done();
        },
      }),
      { isTTY: true, columns: 100, rows: 40 },
    );
  const keys = new PassThrough();
  const stdin = Object.assign(keys, {
    isTTY: true,
    isRaw: false,
    setRawMode(isRaw: boolean) {
      stdin.isRaw = isRaw;
      return stdin;
    },
  });
  const env = { TERM: 'xterm-256color', ...options.env };
  const [stdout, stderr] = [output(), output()];
  const context: CliContext = { ...memoryContext({ ...options, env }), ...more, stdin, stdout, stderr, colorDepth: 8 };
  const exitCode = Promise.race([
    runCommand({
      ...context,
      exit(code) {
        screen.end(code);
        throw new Error('The process would have ended.');
      },
    }),
    screen.ended,
  ]);
  const timer = setTimeout(() => screen.end(137), timeoutMs);
  return {
    ...screen.withKeys((typed) => {
      if (stdin.isRaw) keys.write(typed);
      else if (typed === ctrlC) context.raise('SIGINT');
      else if (typed === ctrlD) keys.end();
      else {
        screen.show(typed);
        keys.write(typed);
      }
    }),
    exitCode: exitCode.then((code) => {
      clearTimeout(timer);
      screen.end(code);
      return code;
    }),
    async close() {
      context.raise('SIGHUP');
      keys.destroy();
      await exitCode;
    },
  };
}

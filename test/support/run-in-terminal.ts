/**
 * Runs the built executable in a pseudo terminal, as a person sits before it. The terminal is made by `script` of util-linux,
 * which every Debian has and which needs neither a native module nor a window; keys go in through its stdin.
 *
 *   const run = runInTerminal(['session', 'execute'], { cwd });
 *   await run.waitFor('[y,n,a,q,?]'); run.press('y\n'); expect(await run.exitCode).toBe(0);
 */
import { spawn, spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { expect } from 'vitest';
import { environmentOf, teddyPath } from './run-teddy.ts';

export const hasTerminal = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;
export const ctrlC = '\u0003';
export const ctrlD = '\u0004';

/** `shows` is part of the text that the terminal showed since the row before, up to `sees`. */
export type TerminalStep = readonly [sees: string, keys: string, shows?: string | RegExp];

export interface TerminalRun {
  press(keys: string): void;
  /** Waits for text that was not waited for yet; everything until it, without colours and with plain newlines. */
  waitFor(text: string): Promise<string>;
  /** Waits for each row's text, checks what the terminal showed before it, and types the row's keys. */
  play(...rows: TerminalStep[]): Promise<void>;
  /** Everything so far, with colours and any other codes sent to the terminal. */
  raw(): string;
  /** The same as `raw`, without colours, and with plain newlines. */
  text(): string;
  exitCode: Promise<number>;
  /** Closes its window: nothing can be read from it or written to it any more. */
  close(): Promise<void>;
}

export function runInTerminal(
  args: string[],
  options: {
    cwd: string;
    env?: Record<string, string | undefined>;
    timeoutMs?: number;
    /** The terminal's shell runs the command with this; `exec` if not given. */
    through?: string;
  },
): TerminalRun {
  const words = [process.execPath, teddyPath, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  const child = spawn(
    'script',
    ['-qefc', `stty rows 40 cols 100; ${options.through ?? 'exec'} ${words.join(' ')}`, '/dev/null'],
    {
      cwd: options.cwd,
      env: environmentOf({ TERM: 'xterm-256color', SHELL: '/bin/sh', ...options.env }),
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: true,
    },
  );
  const screen = watchScreen();
  child.stdout.setEncoding('utf8').on('data', screen.show);
  child.stdin.on('error', () => undefined);
  const exitCode = new Promise<number>((resolve, reject) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), options.timeoutMs ?? 20_000);
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      screen.end(code ?? -1);
      resolve(code ?? -1);
    });
  });
  return {
    ...screen.withKeys((keys) => void child.stdin.write(keys)),
    exitCode,
    close: async () => {
      child.kill('SIGKILL');
      await exitCode;
    },
  };
}

/** Keeps the text that a terminal shows, and notifies everyone who is waiting for a part of it. */
export function watchScreen() {
  let raw = '';
  let seen = 0;
  let isOver = false;
  const listeners = new Set<() => void>();
  const notify = () => listeners.forEach((listen) => listen());
  let resolveEnd: (code: number) => void = () => undefined;
  const ended = new Promise<number>((resolve) => (resolveEnd = resolve));
  const text = () => stripVTControlCharacters(raw).replaceAll('\r\n', '\n').replaceAll('\r', '');
  const waitFor = (wanted: string) =>
    new Promise<string>((resolve, reject) => {
      const check = () => {
        const at = text().indexOf(wanted, seen);
        if (at !== -1) {
          const until = text().slice(seen, at);
          seen = at + wanted.length;
          resolve(until);
        } else if (isOver) {
          reject(new Error(`Ended without ${JSON.stringify(wanted)}:\n${text()}`));
        } else {
          return;
        }
        listeners.delete(check);
      };
      listeners.add(check);
      check();
    });
  return {
    show: (piece: string) => ((raw += piece), notify()),
    end(code: number) {
      isOver = true;
      resolveEnd(code);
      notify();
    },
    ended,
    /** The members of a run whose keys are typed with this function. */
    withKeys: (press: (keys: string) => void) => ({
      raw: () => raw,
      text,
      waitFor,
      press,
      async play(...rows: TerminalStep[]) {
        for (const [sees, keys, shows = ''] of rows) {
          const shown = await waitFor(sees);
          if (typeof shows === 'string') expect(shown).toContain(shows);
          else expect(shown).toMatch(shows);
          if (keys !== '') press(keys);
        }
      },
    }),
  };
}

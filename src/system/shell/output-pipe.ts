/** One output stream of a child process, captured through a named pipe. */
import { execFile } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

export interface OutputPipe {
  /** The descriptor that the child gets. */
  readonly writeEnd: number;
  /** To be called once the child has its copy: only then the pipe can end. */
  closeWriteEnd(): void;
  /** Resolves when nobody can write any more, and after this time at the latest. */
  waitForEnd(atMostMs: number): Promise<void>;
  /** Gives both ends back. */
  release(): void;
  /** The captured output as UTF-8; bytes that are not UTF-8 have become U+FFFD. */
  text(): string;
  /** Whether there was more than was captured. */
  truncated(): boolean;
}

/**
 * Makes a named pipe at each path. The pipes that node makes are sockets, and a socket cannot be opened by its name: in a
 * script `echo oops >/dev/stderr` would fail.
 */
export async function makePipes(...paths: string[]): Promise<void> {
  await promisify(execFile)('mkfifo', ['-m', '600', ...paths]);
}

/** Captures the first `maxBytes`. All of the text goes to `onText` as it comes, whole characters only. */
export function openPipe(path: string, maxBytes: number, onText: (text: string) => void): OutputPipe {
  // First the end for reading, which waits for nobody; then neither does the other.
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeEnd = openSync(path, constants.O_WRONLY);
  const socket = new Socket({ fd: readEnd, readable: true, writable: false });
  const captured: Buffer[] = [];
  const bytes = { captured: 0, all: 0 };
  const live = new TextDecoder('utf-8', { ignoreBOM: true });
  const show = (text: string) => (text === '' ? undefined : onText(text));

  socket.on('data', (chunk: Buffer) => {
    const part = chunk.subarray(0, maxBytes - bytes.captured);
    if (part.length > 0) captured.push(part);
    bytes.captured += part.length;
    bytes.all += chunk.length;
    show(live.decode(chunk, { stream: true }));
  });
  socket.on('end', () => show(live.decode()));
  socket.on('error', () => socket.destroy());
  const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  let open = true;
  const closeWriteEnd = () => {
    if (open) closeSync(writeEnd);
    open = false;
  };
  const truncated = () => bytes.all > bytes.captured;

  return {
    writeEnd,
    closeWriteEnd,
    async waitForEnd(atMostMs) {
      const patience = new AbortController();
      await Promise.race([ended, sleep(atMostMs, undefined, { signal: patience.signal }).catch(() => undefined)]);
      patience.abort();
    },
    release() {
      closeWriteEnd();
      socket.destroy();
    },
    // The decoder holds back a character that the cut went through.
    text: () => new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(captured), { stream: truncated() }),
    truncated,
  };
}

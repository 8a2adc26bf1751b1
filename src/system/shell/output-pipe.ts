/** Captures one of a child process's output streams through a named pipe. */
import { execFile } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

export interface OutputPipe {
  /** The descriptor for the child. */
  readonly writeEnd: number;
  /** The caller must call this once the child has its copy; the pipe cannot end before that. */
  closeWriteEnd(): void;
  /** Resolves when nobody can write anymore, or after this time at the latest. */
  waitForEnd(atMostMs: number): Promise<void>;
  /** Closes both ends. */
  release(): void;
  /** The captured output as UTF-8, with U+FFFD for invalid bytes. */
  text(): string;
  /** True when the capture lacks some output. */
  truncated(): boolean;
}

/**
 * Makes a named pipe at each path. Node's own pipes are sockets, which nobody can open by name: `echo oops
 * >/dev/stderr` would fail in a script.
 */
export async function makePipes(...paths: string[]): Promise<void> {
  await promisify(execFile)('mkfifo', ['-m', '600', ...paths]);
}

/** Captures the first `maxBytes`. Passes all text to `onText` as it arrives, in whole characters. */
export function openPipe(path: string, maxBytes: number, onText: (text: string) => void): OutputPipe {
  // Opening the reading end first does not block, and opening the other end afterward does not block either.
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
    // The decoder holds back a character that the limit has cut in the middle.
    text: () => new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(captured), { stream: truncated() }),
    truncated,
  };
}

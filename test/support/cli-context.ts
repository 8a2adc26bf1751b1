/** A command's surroundings in memory: several commands run in one process, each with its own streams and folder. */
import { EventEmitter } from 'node:events';
import { Readable, Writable } from 'node:stream';
import type { CliContext } from '../../src/cli/context.ts';
import { teddyPath } from './teddy-path.ts';

export interface ContextOptions {
  words?: readonly string[];
  cwd?: string;
  /** The complete environment. */
  env?: Record<string, string | undefined>;
  stdin?: string | Uint8Array;
}

export interface MemoryContext extends CliContext {
  /** Everything that was printed so far; `printed` is both, in order. */
  read(): { stdout: string; stderr: string; printed: string };
}

export function memoryContext({ words = [], cwd = '/', env = {}, stdin = '' }: ContextOptions = {}): MemoryContext {
  const printed: Buffer[] = [];
  const [stdout, stderr] = [collector(printed), collector(printed)];
  const signals = new EventEmitter();
  return {
    words,
    env,
    stdin: Readable.from(stdin.length === 0 ? [] : [Buffer.from(stdin)]),
    stdout: stdout.stream,
    stderr: stderr.stream,
    colorDepth: 1,
    signals,
    raise: (name) => void signals.emit(name, name),
    exit(code) {
      throw new Error(`The command has ended the process with ${code}.`);
    },
    cwd: () => cwd,
    main: teddyPath,
    // The tests may be run by an agent.
    tree: { chain: async () => [], environment: async () => ({}), connected: async () => 1 },
    read: () => ({ stdout: stdout.text(), stderr: stderr.text(), printed: toText(printed) }),
  };
}

function toText(pieces: Buffer[]): string {
  return Buffer.concat(pieces).toString('utf8');
}

function collector(printed: Buffer[]): { stream: Writable; text(): string } {
  const pieces: Buffer[] = [];
  const stream = new Writable({
    write(piece: Buffer, _encoding, done) {
      const copy = Buffer.from(piece);
      pieces.push(copy);
      printed.push(copy);
      done();
    },
  });
  return { stream, text: () => toText(pieces) };
}

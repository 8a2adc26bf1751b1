/** Reads objects through one `git cat-file --batch-command` that lives as long as the command does. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { TeddyError } from '../errors.ts';
import { parseOid, type Oid } from '../session/names.ts';
import type { ObjectType } from './object-format.ts';
import type { GitRunner } from './run.ts';

export interface ObjectInfo {
  oid: Oid;
  type: ObjectType;
  size: number;
}

export interface ObjectReader {
  /** Null: no such object, or the name is ambiguous. A name is anything that `git rev-parse` takes, without newlines. */
  info(name: string): Promise<ObjectInfo | null>;
  contents(name: string): Promise<(ObjectInfo & { bytes: Buffer }) | null>;
  close(): Promise<void>;
}

interface Request {
  command: 'info' | 'contents';
  resolve(value: { info: ObjectInfo; bytes: Buffer } | null): void;
  reject(error: unknown): void;
}

export function objectReader(git: GitRunner): ObjectReader {
  let child: ChildProcessWithoutNullStreams | null = null;
  const waiting: Request[] = [];
  const input = byteQueue();

  function start(): ChildProcessWithoutNullStreams {
    const started = git.start(['cat-file', '--batch-command', '-z']);
    let said = '';
    started.stdout.on('data', (chunk: Buffer) => {
      input.push(chunk);
      answerAll();
    });
    started.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
    started.stdin.on('error', () => undefined);
    const fail = (reason: string) => {
      if (child !== started) return;
      child = null;
      input.clear();
      const error = new TeddyError('GIT_FAILED', `git cat-file ended: ${reason}`);
      for (const request of waiting.splice(0)) request.reject(error);
    };
    started.on('error', (error) => fail(error.message));
    started.on('close', (code) => fail(said.trim() || `exit code ${code}`));
    return started;
  }

  function answerAll(): void {
    while (waiting.length > 0) {
      const answer = input.takeAnswer(waiting[0]?.command === 'contents');
      if (answer === undefined) return;
      waiting.shift()?.resolve(answer);
    }
  }

  function ask(command: Request['command'], name: string): Promise<{ info: ObjectInfo; bytes: Buffer } | null> {
    // The answer for a missing object repeats its name, so a newline in it could pass for the next answer.
    if (/[\n\0]/.test(name)) return Promise.resolve(null);
    return new Promise((resolve, reject) => {
      waiting.push({ command, resolve, reject });
      child ??= start();
      child.stdin.write(`${command} ${name}\0`);
    });
  }

  return {
    info: async (name) => (await ask('info', name))?.info ?? null,
    async contents(name) {
      const answer = await ask('contents', name);
      return answer && { ...answer.info, bytes: answer.bytes };
    },
    async close() {
      const closing = child;
      if (!closing) return;
      child = null;
      await new Promise<void>((resolve) => {
        closing.once('close', () => resolve());
        closing.stdin.end();
      });
    },
  };
}

/** Bytes as they arrive; joined only when an answer is complete, so that a large object costs one copy. */
function byteQueue() {
  let chunks: Buffer[] = [];
  let length = 0;
  let needed = 0;

  return {
    push(chunk: Buffer): void {
      chunks.push(chunk);
      length += chunk.length;
    },
    clear(): void {
      chunks = [];
      length = needed = 0;
    },
    /** Undefined: not all of it is here yet. */
    takeAnswer(withContents: boolean): { info: ObjectInfo; bytes: Buffer } | null | undefined {
      if (length === 0 || length < needed) return undefined;
      const all = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
      chunks = [all];
      const end = all.indexOf(0x0a);
      if (end < 0) return undefined;
      const info = parseHeader(all.toString('utf8', 0, end));
      const total = end + 1 + (info && withContents ? info.size + 1 : 0);
      if (all.length < total) {
        needed = total;
        return undefined;
      }
      chunks = total === all.length ? [] : [all.subarray(total)];
      length = all.length - total;
      needed = 0;
      return info && { info, bytes: withContents ? all.subarray(end + 1, total - 1) : Buffer.alloc(0) };
    },
  };
}

function parseHeader(line: string): ObjectInfo | null {
  const match = /^([0-9a-f]{40,64}) (blob|tree|commit|tag) (\d+)$/.exec(line);
  return match ? { oid: parseOid(match[1] ?? ''), type: match[2] as ObjectType, size: Number(match[3]) } : null;
}

/** Reads objects through one `git cat-file --batch-command` that lives as long as the command does. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { TeddyError } from '../errors.ts';
import { isOid, parseOid, type Oid } from '../session/names.ts';
import { toGitFailure } from './git-failure.ts';
import { refuseOldGit } from './git-version.ts';
import type { ObjectType } from './object-format.ts';
import { isBeforeStart, maxStarts, type GitRunner } from './run.ts';

interface ObjectInfo {
  oid: Oid;
  type: ObjectType;
  size: number;
}

export interface ObjectReader {
  /** Null: no such object, or the name is ambiguous. A name is anything that `git rev-parse` takes. */
  info(name: string): Promise<ObjectInfo | null>;
  contents(name: string): Promise<(ObjectInfo & { bytes: Buffer }) | null>;
  close(): Promise<void>;
}

interface Request {
  command: 'info' | 'contents';
  name: string;
  resolve(value: { info: ObjectInfo; bytes: Buffer } | null): void;
  reject(error: unknown): void;
}

/** One child with the questions that it has not answered yet. */
interface Conversation {
  child: ChildProcessWithoutNullStreams;
  waiting: Request[];
  /** Questions that have not left. */
  unsent: string;
}

/**
 * While another git packs and prunes, a git that looks for an object can miss it: it is not loose any more, and the pack that has it
 * is not known yet. One that starts anew knows the packs of today. Where much is missing indeed, it is not asked for ever.
 */
const maxLooks = 3;
const maxLooksInAll = 32;
const lookAgainMs = 20;

export function objectReader(git: GitRunner): ObjectReader {
  let current: Conversation | null = null;
  let looksAgain = 0;
  const retired = new Set<Promise<void>>();
  let isClosed = false;
  let starts = 0;

  function start(): Conversation {
    const child = git.start(['cat-file', '--batch-command', '-z']);
    const conversation: Conversation = { child, waiting: [], unsent: '' };
    const input = byteQueue();
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      input.push(chunk);
      answerAll(conversation.waiting, input);
    });
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
    child.stdin.on('error', () => undefined);
    const end = (error: unknown) => {
      if (current === conversation) current = null;
      for (const request of conversation.waiting.splice(0)) request.reject(error);
    };
    child.on('error', (error) =>
      end(toGitFailure('cat-file', { exitCode: null, signal: null, stderr: error.message })),
    );
    child.on('close', (code, signal) => {
      if (isBeforeStart(signal) && !isClosed && (starts += 1) <= maxStarts) return askAgain(conversation);
      const error = toGitFailure('cat-file', { exitCode: code, signal, stderr: said });
      // It does not know what it was asked for.
      if (code === 129) void refuseOldGit(git).then(() => end(error), end);
      else end(error);
    });
    return conversation;
  }

  function askAgain(conversation: Conversation): void {
    if (current === conversation) current = null;
    for (const request of conversation.waiting.splice(0)) send(request);
  }

  function send(request: Request): void {
    current ??= start();
    const conversation = current;
    conversation.waiting.push(request);
    // Each write wakes git, which costs more than most answers: what is asked at once, or for what has just arrived, leaves in one.
    if (conversation.unsent === '') setImmediate(() => sendAll(conversation));
    conversation.unsent += `${request.command} ${request.name}\0`;
  }

  function sendAll(conversation: Conversation): void {
    if (conversation.unsent !== '') conversation.child.stdin.write(conversation.unsent);
    conversation.unsent = '';
  }

  function ask(command: Request['command'], name: string): Promise<{ info: ObjectInfo; bytes: Buffer } | null> {
    // After an error some questions may come late; a new child for them would keep the process alive.
    if (isClosed) return Promise.reject(new TeddyError('GIT_FAILED', 'The repository is closed.'));
    return new Promise((resolve, reject) => send({ command, name, resolve, reject }));
  }

  /** Its questions are answered still; the next one goes to a new child. */
  function retire(): void {
    if (current === null) return;
    sendAll(current);
    const { child } = current;
    current = null;
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    retired.add(ended);
    void ended.then(() => retired.delete(ended));
    child.stdin.end();
  }

  async function askForObject(command: Request['command'], oid: string) {
    let answer = await ask(command, oid);
    for (let looks = 1; answer === null && looks < maxLooks && looksAgain < maxLooksInAll && !isClosed; looks += 1) {
      looksAgain += 1;
      retire();
      await sleep(lookAgainMs);
      answer = await ask(command, oid);
    }
    return answer;
  }

  /** The answer for a missing object repeats its name, so a newline in it could pass for the next answer. */
  async function askSafely(command: Request['command'], name: string) {
    if (name.includes('\0')) return null;
    if (isOid(name)) return askForObject(command, name);
    if (!name.includes('\n')) return ask(command, name);
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', name];
    const { exitCode, stdout } = await git.run(args, { accept: [1, 128] });
    return exitCode === 0 ? ask(command, stdout.toString('utf8').trim()) : null;
  }

  return {
    info: async (name) => (await askSafely('info', name))?.info ?? null,
    async contents(name) {
      const answer = await askSafely('contents', name);
      return answer && { ...answer.info, bytes: answer.bytes };
    },
    async close() {
      isClosed = true;
      retire();
      await Promise.all(retired);
    },
  };
}

/** Throws DAMAGED_SESSION for what is missing, or another thing. */
export async function readObject(reader: ObjectReader, name: string, type: ObjectType): Promise<Buffer> {
  const found = await reader.contents(name);
  if (found?.type === type) return found.bytes;
  throw new TeddyError(
    'DAMAGED_SESSION',
    found ? `${name} is a ${found.type}, not a ${type}.` : `The ${type} ${name} is missing.`,
    'Try again if a `git gc --prune=now` is running; else see `git fsck`, or `git fetch --unshallow` in a shallow clone.',
  );
}

function answerAll(waiting: Request[], input: ReturnType<typeof byteQueue>): void {
  while (waiting.length > 0) {
    const answer = input.takeAnswer(waiting[0]?.command === 'contents');
    if (answer === undefined) return;
    waiting.shift()?.resolve(answer);
  }
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

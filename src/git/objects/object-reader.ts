/** Reads objects through one `git cat-file --batch-command`, which runs as long as teddy's command does. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { TeddyError } from '../../errors.ts';
import { isOid, type Oid } from '../../names.ts';
import { toGitFailure } from '../run/git-failure.ts';
import { refuseOldGit, isBeforeStart, lookAgainMs, maxLooks, maxStarts, type GitRunner } from '../run/run.ts';
import type { ObjectType } from '../../session/entries/object-format.ts';

interface ObjectInfo {
  oid: Oid;
  type: ObjectType;
  size: number;
}

export interface ObjectReader {
  /** Looks up an object by any name that `git rev-parse` accepts; null when there is none or the name is ambiguous. */
  info(name: string): Promise<ObjectInfo | null>;
  /** Reads an object. With `take`, which must be quick, passes the bytes on as they arrive and leaves `bytes` empty. */
  contents(name: string, take?: TakePiece): Promise<(ObjectInfo & { bytes: Buffer }) | null>;
  /** Sends later queries to a new git process. */
  renew(): void;
  close(): Promise<void>;
}

interface Answer {
  info: ObjectInfo;
  bytes: Buffer;
}

type TakePiece = (piece: Buffer) => void;

interface Question {
  command: 'info' | 'contents';
  name: string;
  take?: TakePiece | undefined;
}

interface Request extends Question {
  resolve(value: Answer | null): void;
  reject(error: unknown): void;
}

/** A child process and its unanswered queries. */
interface Conversation {
  child: ChildProcessWithoutNullStreams;
  waiting: Request[];
  /** The queries that have not been sent yet. */
  unsent: string;
}

/** Limits the repeated queries when many objects really are missing. */
const maxLooksInAll = 32;

/** The current conversation, and earlier ones that are ending. */
interface Asker {
  git: GitRunner;
  /** Null until the next query starts a conversation. */
  current: Conversation | null;
  /** Conversations that receive no more queries but have not ended yet. */
  retired: Set<Promise<void>>;
  looksAgain: number;
  starts: number;
  isClosed: boolean;
}

export function objectReader(git: GitRunner): ObjectReader {
  const asker: Asker = { git, current: null, retired: new Set(), looksAgain: 0, starts: 0, isClosed: false };
  return {
    info: async (name) => (await askSafely(asker, { command: 'info', name }))?.info ?? null,
    async contents(name, take) {
      const answer = await askSafely(asker, { command: 'contents', name, take });
      return answer && { ...answer.info, bytes: answer.bytes };
    },
    renew: () => renew(asker),
    async close() {
      asker.isClosed = true;
      renew(asker);
      await Promise.all(asker.retired);
    },
  };
}

/**
 * Asks git about a name. git's answer for a missing object repeats the name, so a newline in the name could make part
 * of it look like the next answer.
 */
async function askSafely(asker: Asker, question: Question): Promise<Answer | null> {
  const { name } = question;
  if (name.includes('\0')) return null;
  if (isOid(name)) return askUntilFound(asker, question);
  if (!name.includes('\n')) {
    const colon = name.indexOf(':');
    const [treeish, path] = [name.slice(0, colon), name.slice(colon + 1)];
    const isPath = colon > 0 && isOid(treeish) && path !== '';
    return isPath ? askForPath(asker, question, treeish, path) : ask(asker, question);
  }
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', name];
  const { exitCode, stdout } = await asker.git.run(args, { accept: [1, 128] });
  return exitCode === 0 ? ask(asker, { ...question, name: stdout.toString('utf8').trim() }) : null;
}

/**
 * Asks for the object at a path. git's answer does not distinguish a missing path from a missing parent tree, so check
 * the parent directory.
 */
async function askForPath(asker: Asker, question: Question, treeish: string, path: string): Promise<Answer | null> {
  const answer = await ask(asker, question);
  if (answer !== null) return answer;
  const slash = path.lastIndexOf('/');
  const parent = path.slice(0, Math.max(slash, 0));
  const folder =
    slash < 0
      ? await askUntilFound(asker, { command: 'contents', name: `${treeish}^{tree}` })
      : await askForPath(asker, { command: 'contents', name: `${treeish}:${parent}` }, treeish, parent);
  if (folder?.info.type !== 'tree') return null;
  const row = ` ${path.slice(slash + 1)}\0`;
  // A submodule's commit is not in this repository and need not be.
  const isExpected = folder.bytes.includes(row) && !folder.bytes.includes(`160000${row}`);
  return isExpected ? askUntilFound(asker, question) : null;
}

/** Asks repeatedly for an object that should exist. */
async function askUntilFound(asker: Asker, question: Question): Promise<Answer | null> {
  let answer = await ask(asker, question);
  for (let looks = 1; answer === null && looks < maxLooks && mayRetry(asker); looks += 1) {
    asker.looksAgain += 1;
    renew(asker);
    await sleep(lookAgainMs);
    answer = await ask(asker, question);
  }
  return answer;
}

function mayRetry({ looksAgain, isClosed }: Asker): boolean {
  return looksAgain < maxLooksInAll && !isClosed;
}

/** Retires the current child, which still answers its queries; the next query goes to a new one. */
function renew(asker: Asker): void {
  if (asker.current === null) return;
  const { child } = asker.current;
  sendAll(asker.current);
  asker.current = null;
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  asker.retired.add(ended);
  void ended.then(() => asker.retired.delete(ended));
  child.stdin.end();
}

function ask(asker: Asker, question: Question): Promise<Answer | null> {
  // After an error, some queries may arrive late. Starting a new child for them would keep this process alive.
  if (asker.isClosed) return Promise.reject(new TeddyError('GIT_FAILED', 'The repository is closed.'));
  return new Promise((resolve, reject) => send(asker, { ...question, resolve, reject }));
}

function send(asker: Asker, request: Request): void {
  asker.current ??= start(asker);
  const conversation = asker.current;
  conversation.waiting.push(request);
  // Each write wakes git, which costs more than most answers, so send all queries from one event loop turn together.
  if (conversation.unsent === '') setImmediate(() => sendAll(conversation));
  conversation.unsent += `${request.command} ${request.name}\0`;
}

function sendAll(conversation: Conversation): void {
  if (conversation.unsent !== '') conversation.child.stdin.write(conversation.unsent);
  conversation.unsent = '';
}

function start(asker: Asker): Conversation {
  const child = asker.git.start(['cat-file', '--batch-command', '-z']);
  const conversation: Conversation = { child, waiting: [], unsent: '' };
  const input = byteQueue();
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    input.push(chunk);
    answerAll(conversation.waiting, input);
  });
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
  child.stdin.on('error', () => undefined);
  const leave = () => {
    if (asker.current === conversation) asker.current = null;
    return conversation.waiting.splice(0);
  };
  const end = (error: unknown) => leave().forEach((request) => request.reject(error));
  child.on('error', (error) => end(toGitFailure('cat-file', { exitCode: null, signal: null, stderr: error.message })));
  child.on('close', (code, signal) => {
    // A query cannot be repeated when part of its answer has already been passed on.
    const isAskedAgain = isBeforeStart(signal) && !asker.isClosed && !input.isPassing();
    if (isAskedAgain && (asker.starts += 1) <= maxStarts) return leave().forEach((request) => send(asker, request));
    const error = toGitFailure('cat-file', { exitCode: code, signal, stderr: said });
    // Exit code 129 means that this version of git does not support the options.
    if (code === 129) void refuseOldGit(asker.git).then(() => end(error), end);
    else end(error);
  });
  return conversation;
}

/** Reads an object of the given type. Throws DAMAGED_SESSION when it is missing or has another type. */
export async function readObject(
  reader: ObjectReader,
  name: string,
  type: ObjectType,
  take?: TakePiece,
): Promise<Buffer> {
  const found = await reader.contents(name, take);
  if (found?.type === type) return found.bytes;
  throw new TeddyError(
    'DAMAGED_SESSION',
    found ? `${name} is a ${found.type}, not a ${type}.` : `The ${type} ${name} is missing.`,
    'If `git gc --prune=now` is running, wait for it and try again. Otherwise run `git fsck`, or `git fetch --unshallow` in a shallow clone.',
  );
}

function answerAll(waiting: Request[], input: ReturnType<typeof byteQueue>): void {
  for (let [request] = waiting; request !== undefined; [request] = waiting) {
    const answer = input.takeAnswer(request);
    if (answer === undefined) return;
    request.resolve(answer);
    waiting.shift();
  }
}

/**
 * Queues bytes as they arrive. Joins them only when an answer is complete, so that a large object is copied once and a
 * streamed object is not copied at all.
 */
function byteQueue() {
  let chunks: Buffer[] = [];
  let length = 0;
  let needed = 0;
  let passing: { info: ObjectInfo; left: number } | null = null;

  function keep(rest: Buffer): void {
    chunks = rest.length === 0 ? [] : [rest];
    length = rest.length;
    needed = 0;
  }

  /** Returns undefined until all the bytes and the final newline have arrived. */
  function pass(rest: Buffer, take: TakePiece): { info: ObjectInfo; bytes: Buffer } | undefined {
    if (passing === null) return undefined;
    const { info, left } = passing;
    const piece = rest.subarray(0, left);
    passing.left -= piece.length;
    keep(rest.subarray(piece.length));
    if (piece.length > 0) take(piece);
    if (length === 0) return undefined;
    keep(rest.subarray(piece.length + 1));
    passing = null;
    return { info, bytes: Buffer.alloc(0) };
  }

  return {
    push(chunk: Buffer): void {
      chunks.push(chunk);
      length += chunk.length;
    },
    isPassing: () => passing !== null,
    /** Returns undefined until the whole answer has arrived. */
    takeAnswer({ command, take }: Question): Answer | null | undefined {
      if (length === 0 || length < needed) return undefined;
      const all = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
      if (take && passing !== null) return pass(all, take);
      chunks = [all];
      const end = all.indexOf(0x0a);
      if (end < 0) return undefined;
      const info = parseHeader(all.toString('utf8', 0, end));
      if (take && info !== null) {
        passing = { info, left: info.size };
        return pass(all.subarray(end + 1), take);
      }
      const withContents = command === 'contents';
      const total = end + 1 + (info && withContents ? info.size + 1 : 0);
      if (all.length < total) {
        needed = total;
        return undefined;
      }
      keep(all.subarray(total));
      return info && { info, bytes: withContents ? all.subarray(end + 1, total - 1) : Buffer.alloc(0) };
    },
  };
}

function parseHeader(line: string): ObjectInfo | null {
  const match = /^([0-9a-f]{40,64}) (blob|tree|commit|tag) (\d+)$/.exec(line);
  return match ? { oid: match[1] as Oid, type: match[2] as ObjectType, size: Number(match[3]) } : null;
}

/** Reads many small files in a tree in one pass: one child lists them, and another returns their contents. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { TeddyError } from '../../errors.ts';
import type { FileBelow } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';
import { failureOf } from '../run/git-failure.ts';
import type { GitRunner } from '../run/run.ts';

interface Child {
  child: ChildProcessWithoutNullStreams;
  /** Null when the child succeeded. */
  failure: Promise<TeddyError | null>;
}

/** Yields the wanted files below a tree in git's order; links count as files. Both children work while the consumer does. */
export async function* readMany(
  git: GitRunner,
  tree: Oid,
  isWanted: (path: string) => boolean,
): AsyncGenerator<FileBelow[]> {
  const listing = start(git, ['ls-tree', '-r', '-z', '--full-tree', tree]);
  const contents = start(git, ['cat-file', '--batch', '--buffer']);
  const asked = passWanted(listing.child, contents.child, isWanted);
  try {
    let next = 0;
    for await (const answers of splitAnswers(contents.child.stdout))
      yield answers.map((bytes) => ({ path: asked[next++] ?? '', bytes }));
    const failure = (await listing.failure) ?? (await contents.failure);
    if (failure !== null) throw failure;
    if (next < asked.length) throw new TeddyError('GIT_FAILED', 'git cat-file ended too early.');
  } finally {
    // A consumer that stops early closes the pipes to both children.
    for (const { child } of [listing, contents]) for (const pipe of [child.stdin, child.stdout]) pipe.destroy();
  }
}

function start(git: GitRunner, args: string[]): Child {
  const child = git.start(args);
  child.stdin.on('error', () => undefined);
  return { child, failure: failureOf(args[0] ?? '', child) };
}

/** Requests each wanted file as soon as git lists it. The returned array collects their paths, in the order of the answers. */
function passWanted(
  listing: ChildProcessWithoutNullStreams,
  contents: ChildProcessWithoutNullStreams,
  isWanted: (path: string) => boolean,
): string[] {
  const asked: string[] = [];
  let rest: Buffer = Buffer.alloc(0);
  listing.stdin.end();
  listing.stdout.on('data', (chunk: Buffer) => {
    const all = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    // Decode only whole rows, because a piece may end within a character.
    const end = all.lastIndexOf(0) + 1;
    rest = all.subarray(end);
    let options = '';
    for (const row of all.toString('utf8', 0, end).split('\0')) {
      const tab = row.indexOf('\t');
      const path = row.slice(tab + 1);
      const [, type, oid] = row.slice(0, Math.max(tab, 0)).split(' ');
      if (type !== 'blob' || !isWanted(path)) continue;
      asked.push(path);
      options += `${oid}\n`;
    }
    contents.stdin.write(options);
  });
  listing.stdout.on('close', () => contents.stdin.end());
  return asked;
}

/** Splits repeated `<oid> blob <size>\n<bytes>\n`, cut into pieces anywhere, into the answers that each piece completes. */
async function* splitAnswers(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer[]> {
  let held: Buffer[] = [];
  let length = 0;
  let needed = 1;
  for await (const piece of pieces) {
    held.push(piece);
    length += piece.length;
    // Join a large file once, not once per piece.
    if (length < needed) continue;
    const all = held.length === 1 ? piece : Buffer.concat(held);
    const answers: Buffer[] = [];
    let start = 0;
    for (let answer = takeAnswer(all, start); ; answer = takeAnswer(all, start)) {
      needed = answer.end - start;
      if (answer.bytes === null) break;
      answers.push(answer.bytes);
      start = answer.end;
    }
    held = [all.subarray(start)];
    length = all.length - start;
    yield answers;
  }
}

/** Takes one answer. `bytes` is null while the answer is incomplete; `end` is the number of bytes that must have arrived. */
function takeAnswer(all: Buffer, start: number): { bytes: Buffer | null; end: number } {
  const newline = all.indexOf(0x0a, start);
  if (newline === -1) return { bytes: null, end: all.length + 1 };
  const header = all.toString('latin1', start, newline);
  const name = header.indexOf(' ');
  if (!header.startsWith(' blob ', name)) {
    const hint = 'Run `git fsck`, or `git fetch --unshallow` in a shallow clone.';
    throw new TeddyError('DAMAGED_SESSION', `The blob ${header.slice(0, name)} is missing.`, hint);
  }
  const end = newline + 1 + Number(header.slice(name + ' blob '.length)) + 1;
  return { bytes: all.length < end ? null : all.subarray(newline + 1, end - 1), end };
}

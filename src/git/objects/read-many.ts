/** Reads many small files of a tree in one go: one child lists them, another one hands out what is in them. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { TeddyError } from '../../errors.ts';
import type { FileBelow } from '../../ports/git.ts';
import type { Oid } from '../../names.ts';
import { failureOf } from '../run/git-failure.ts';
import type { GitRunner } from '../run/run.ts';

interface Child {
  child: ChildProcessWithoutNullStreams;
  /** Null: it has done its work. */
  failure: Promise<TeddyError | null>;
}

/** The wanted files below a tree, links as files, in git's order. Both children work while the consumer does. */
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
    // A consumer that stops early closes the pipes on both.
    for (const { child } of [listing, contents]) for (const pipe of [child.stdin, child.stdout]) pipe.destroy();
  }
}

function start(git: GitRunner, args: string[]): Child {
  const child = git.start(args);
  child.stdin.on('error', () => undefined);
  return { child, failure: failureOf(args[0] ?? '', child) };
}

/** Asks for each wanted file as it is listed; their paths, in the order of the answers, as they become known. */
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
    // Only whole rows: a character may be torn apart at the end of a piece.
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

/** `<oid> blob <size>\n<bytes>\n` again and again, in pieces cut anywhere: as many as each piece completes. */
async function* splitAnswers(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer[]> {
  let held: Buffer[] = [];
  let length = 0;
  let needed = 1;
  for await (const piece of pieces) {
    held.push(piece);
    length += piece.length;
    // A large file is joined once, not with every piece of it.
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

/** `bytes` null: not all of it is here yet; `end` is how far there has to be something. */
function takeAnswer(all: Buffer, start: number): { bytes: Buffer | null; end: number } {
  const newline = all.indexOf(0x0a, start);
  if (newline === -1) return { bytes: null, end: all.length + 1 };
  const header = all.toString('latin1', start, newline);
  const name = header.indexOf(' ');
  if (!header.startsWith(' blob ', name)) {
    const hint = 'See `git fsck`, or `git fetch --unshallow` in a shallow clone.';
    throw new TeddyError('DAMAGED_SESSION', `The blob ${header.slice(0, name)} is missing.`, hint);
  }
  const end = newline + 1 + Number(header.slice(name + ' blob '.length)) + 1;
  return { bytes: all.length < end ? null : all.subarray(newline + 1, end - 1), end };
}

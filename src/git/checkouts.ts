/** Blobs as a checkout would write them, many of them from one git. */
import { randomBytes } from 'node:crypto';
import { DamagedObjectError, type TeddyError } from '../errors.ts';
import type { Oid, RepoPath } from '../names.ts';
import type { GitRunner } from './run.ts';

interface Checkout {
  path: RepoPath;
  oid: Oid;
}

/** Each path once. Throws GIT_FAILED when one of the blobs is missing or refused by its filter. */
export async function readCheckouts(git: GitRunner, files: Checkout[]): Promise<Map<RepoPath, Uint8Array>> {
  // In a line, git takes the whitespace that a path begins with for part of what stands before the path.
  const [alone, together] = [files.filter(beginsWithSpace), files.filter((file) => !beginsWithSpace(file))];
  const read = await readTogether(git, together);
  for (const { path, oid } of alone)
    read.set(path, (await git.run(['cat-file', '--filters', `--path=${path}`, oid])).stdout);
  return read;
}

function beginsWithSpace({ path }: Checkout): boolean {
  return /^[ \t]/.test(path);
}

async function readTogether(git: GitRunner, files: Checkout[]): Promise<Map<RepoPath, Uint8Array>> {
  if (files.length === 0) return new Map();
  // The size that git tells is that of the blob, not of what the filters make of it: a word that nobody can know ends a file.
  const word = randomBytes(16).toString('hex');
  const input = files.map(({ path, oid }) => `${oid} ${path}\0`).join('');
  const args = ['cat-file', `--batch=%(objectname) %(objecttype) ${word}`, '--filters', '-z'];
  return splitAnswers((await git.run(args, { input })).stdout, files, word);
}

function splitAnswers(answers: Buffer, files: Checkout[], word: string): Map<RepoPath, Uint8Array> {
  const read = new Map<RepoPath, Uint8Array>();
  const headers = files.map(({ oid }) => `${oid} blob ${word}\n`);
  let at = 0;
  for (const [index, file] of files.entries()) {
    const [header = '', next] = headers.slice(index, index + 2);
    if (answers.toString('latin1', at, at + header.length) !== header) throw toRefusal(file);
    const start = at + header.length;
    // Every answer ends with a newline that is not the file's.
    const end = next === undefined ? answers.length - 1 : answers.indexOf(`\n${next}`, start);
    if (end < start) throw toRefusal(files[index + 1] ?? file);
    read.set(file.path, answers.subarray(start, end));
    at = end + 1;
  }
  return read;
}

function toRefusal({ path, oid }: Checkout): TeddyError {
  return new DamagedObjectError(
    `git cat-file has no file ${oid} for ${path}.`,
    'Run `git fsck` to see what is damaged.',
  );
}

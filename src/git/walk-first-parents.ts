/** Commits along first parents, newest first: a few by following them, many with the help of `git rev-list`. */
import type { Commit } from '../ports.ts';
import { parseOid, type Oid } from '../session/names.ts';
import type { GitRunner } from './run.ts';

interface FoundCommit {
  oid: Oid;
  commit: Commit;
}

interface CommitReader {
  readCommit(oid: Oid): Promise<Commit>;
  has(oid: Oid): Promise<boolean>;
}

/** Most walks end earlier, and to start a process takes as long as to read so many. */
const followedCommits = 48;
/** So many are asked for at a time: one by one, most of the time is spent on waiting. */
const commitsAtATime = 64;

export async function* walkFirstParents(
  git: GitRunner,
  reader: CommitReader,
  from: Oid,
  not: readonly Oid[],
): AsyncGenerator<FoundCommit> {
  if (not.length > 0) {
    yield* readListed(reader, git.lines(['rev-list', '--first-parent', from, '--not', ...not]));
    return;
  }
  let walked = 0;
  for (let next: Oid | undefined = from; next !== undefined; walked += 1) {
    // A shallow clone ends where the parent's object is missing.
    if (next !== from && !(await reader.has(next))) return;
    if (walked === followedCommits) {
      yield* walkOn(git, reader, next);
      return;
    }
    const commit: Commit = await reader.readCommit(next);
    yield { oid: next, commit };
    next = commit.parents[0];
  }
}

/** git fails where a parent is missing that no shallow clone says of; one by one, the walk would just end there. */
async function* walkOn(git: GitRunner, reader: CommitReader, from: Oid): AsyncGenerator<FoundCommit> {
  let last: Commit | null = null;
  try {
    for await (const found of readListed(reader, git.lines(['rev-list', '--first-parent', from]))) {
      last = found.commit;
      yield found;
    }
  } catch (error) {
    const parent: Oid | undefined = last?.parents[0];
    if (parent === undefined || (await reader.has(parent))) throw error;
  }
}

async function* readListed(reader: CommitReader, lines: AsyncIterable<string>): AsyncGenerator<FoundCommit> {
  const load = async (oid: Oid) => ({ oid, commit: await reader.readCommit(oid) });
  for await (const { oids, failure } of inBatches(lines)) {
    yield* await Promise.all(oids.map(load));
    if (failure !== null) throw failure.error;
  }
}

/** What was listed before a failure comes before it. */
async function* inBatches(
  lines: AsyncIterable<string>,
): AsyncGenerator<{ oids: Oid[]; failure: { error: unknown } | null }> {
  let oids: Oid[] = [];
  try {
    for await (const line of lines) {
      oids.push(parseOid(line));
      if (oids.length < commitsAtATime) continue;
      yield { oids, failure: null };
      oids = [];
    }
  } catch (error) {
    yield { oids, failure: { error } };
    return;
  }
  yield { oids, failure: null };
}

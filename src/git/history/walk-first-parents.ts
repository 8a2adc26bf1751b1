/** Walks commits along first parents, newest first: reads a few commits one by one, and many with `git rev-list`. */
import type { Commit, Store, WalkedCommit } from '../../ports/git.ts';
import { parseOid, type Oid } from '../../names.ts';
import { toGitFailure, type GitEnd } from '../run/git-failure.ts';
import type { GitRunner } from '../run/run.ts';

export interface FoundCommit {
  oid: Oid;
  commit: Commit;
}

type CommitReader = Pick<Store, 'readCommit'> & { has(oid: Oid): Promise<boolean> };

/** Most walks end earlier, and starting a process takes as long as reading this many commits. */
const followedCommits = 48;
/** Starting a process takes as long as reading this many commits one by one, and most of them are cached. */
const nearCommits = 16;
/** The number of commits per request; with one per request, the walk would spend most of its time waiting. */
const commitsAtATime = 64;

export async function* walkFirstParents(
  git: GitRunner,
  reader: CommitReader,
  from: Oid,
  not: readonly Oid[],
): AsyncGenerator<FoundCommit> {
  const near = await followTo(reader, from, not);
  if (near !== null) return yield* near;
  if (not.length > 0)
    return yield* readListed(reader, git.lines(['rev-list', '--first-parent', from, '--not', ...not]));
  let walked = 0;
  for (let next: Oid | undefined = from; next !== undefined; walked += 1) {
    // The history of a shallow clone ends at a missing parent.
    if (next !== from && !(await reader.has(next))) return;
    if (walked === followedCommits) return yield* walkOn(git, reader, next);
    const commit: Commit = await reader.readCommit(next);
    yield { oid: next, commit };
    next = commit.parents[0];
  }
}

/**
 * Returns the commits above the first one that is in `not`, newest first, if first parents soon reach it. Returns null
 * when only git can find them.
 */
export async function followTo(
  { readCommit }: Pick<CommitReader, 'readCommit'>,
  from: Oid,
  not: readonly Oid[],
): Promise<FoundCommit[] | null> {
  const [end, ...others] = new Set(not);
  if (end === undefined || others.length > 0) return null;
  const found: FoundCommit[] = [];
  for (let next: Oid | undefined = from; next !== end;) {
    // git itself reports a missing commit, or an object that is not a commit.
    const commit: Commit | null =
      next === undefined || found.length === nearCommits ? null : await readCommit(next).catch(() => null);
    if (next === undefined || commit === null) return null;
    found.push({ oid: next, commit });
    next = commit.parents[0];
  }
  return found;
}

/** Continues with git, which fails at a missing parent that is not a shallow boundary; the walk ends there without an error. */
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
  // git reads the commits of the next batch while the caller processes this one.
  let ready: Promise<FoundCommit[]> = Promise.resolve([]);
  let failed: { error: unknown } | null = null;
  for await (const { oids, failure } of inBatches(lines)) {
    const loading = Promise.all(oids.map(load));
    // The error surfaces when the batch is awaited.
    loading.catch(() => undefined);
    yield* await ready;
    [ready, failed] = [loading, failure];
  }
  yield* await ready;
  if (failed !== null) throw failed.error;
}

/** Groups the commits, and yields those that git listed before a failure together with the failure. */
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

/** Walks from many tips together. git lists each commit once, with its message. */
export async function* walkFirstParentsOf(git: GitRunner, tips: readonly Oid[]): AsyncGenerator<WalkedCommit> {
  if (tips.length === 0) return;
  const format = ['--no-commit-header', '--date=raw', '--format=%H %P%n%an <%ae> %ad%n%cn <%ce> %cd%n%B%x00'];
  const child = git.start(['rev-list', '--first-parent', ...format, '--stdin']);
  const errors: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
  child.stdin.on('error', () => undefined);
  const ended = new Promise<Omit<GitEnd, 'stderr'>>((resolve) => {
    child.on('error', () => resolve({ exitCode: null, signal: null }));
    child.on('close', (exitCode, signal) => resolve({ exitCode, signal }));
  });
  child.stdin.end(`${tips.join('\n')}\n`);
  try {
    let rest = '';
    for await (const chunk of child.stdout.setEncoding('utf8') as AsyncIterable<string>) {
      const records = (rest + chunk).split('\0');
      rest = records.pop() ?? '';
      for (const record of records) yield toWalked(record);
    }
  } finally {
    // A reader that stops early closes git's pipe.
    child.stdout.destroy();
  }
  const end = await ended;
  if (end.exitCode !== 0) throw toGitFailure('rev-list', { ...end, stderr: Buffer.concat(errors).toString('utf8') });
}

/** Parses `<commit> <parent> <parent>`, the author, the committer, and the message from the fourth line on. */
function toWalked(record: string): WalkedCommit {
  const [, ids = '', author = '', committer = '', message = ''] = /^\n?(.*)\n(.*)\n(.*)\n([^]*)$/.exec(record) ?? [];
  const [oid = '', parent = ''] = ids.split(' ');
  return { oid: parseOid(oid), parent: parent === '' ? null : parseOid(parent), author, committer, message };
}

/** Commits along first parents, newest first: a few by following them, many with the help of `git rev-list`. */
import type { Commit, Store, WalkedCommit } from '../../ports/git.ts';
import { parseOid, type Oid } from '../../names.ts';
import { toGitFailure, type GitEnd } from '../run/git-failure.ts';
import type { GitRunner } from '../run/run.ts';

export interface FoundCommit {
  oid: Oid;
  commit: Commit;
}

type CommitReader = Pick<Store, 'readCommit'> & { has(oid: Oid): Promise<boolean> };

/** Most walks end earlier, and to start a process takes as long as to read so many. */
const followedCommits = 48;
/** To start a process takes as long as to read so many one by one, of which most are known already. */
const nearCommits = 16;
/** So many are asked for at a time: one by one, most of the time is spent on waiting. */
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
    // A shallow clone ends where the parent's object is missing.
    if (next !== from && !(await reader.has(next))) return;
    if (walked === followedCommits) return yield* walkOn(git, reader, next);
    const commit: Commit = await reader.readCommit(next);
    yield { oid: next, commit };
    next = commit.parents[0];
  }
}

/**
 * The commits above the one in `not`, newest first, where first parents soon lead to it: it reaches none of them. Null: only git can say
 * which they are.
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
    // git tells of a commit that is missing, or that is none.
    const commit: Commit | null =
      next === undefined || found.length === nearCommits ? null : await readCommit(next).catch(() => null);
    if (next === undefined || commit === null) return null;
    found.push({ oid: next, commit });
    next = commit.parents[0];
  }
  return found;
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
  // While the commits of one batch are looked at, git reads those of the next.
  let ready: Promise<FoundCommit[]> = Promise.resolve([]);
  let failed: { error: unknown } | null = null;
  for await (const { oids, failure } of inBatches(lines)) {
    const loading = Promise.all(oids.map(load));
    // Whoever waits for it is told.
    loading.catch(() => undefined);
    yield* await ready;
    [ready, failed] = [loading, failure];
  }
  yield* await ready;
  if (failed !== null) throw failed.error;
}

/** Commits that were listed before a failure come before it. */
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

/** Walks from many tips at once: git lists each commit once, and sends its message along. */
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
    // A reader that stops early closes the pipe on git.
    child.stdout.destroy();
  }
  const end = await ended;
  if (end.exitCode !== 0) throw toGitFailure('rev-list', { ...end, stderr: Buffer.concat(errors).toString('utf8') });
}

/** `<commit> <parent> <parent>`, then the author, the committer, and the message from the fourth line on. */
function toWalked(record: string): WalkedCommit {
  const [, ids = '', author = '', committer = '', message = ''] = /^\n?(.*)\n(.*)\n(.*)\n([^]*)$/.exec(record) ?? [];
  const [oid = '', parent = ''] = ids.split(' ');
  return { oid: parseOid(oid), parent: parent === '' ? null : parseOid(parent), author, committer, message };
}

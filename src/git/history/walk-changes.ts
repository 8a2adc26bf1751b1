/** Walks commits along first parents, oldest first, with their changes, using only three child processes. */
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { DamagedObjectError, TeddyError } from '../../errors.ts';
import type { ChangedCommit, Commit, CommitChange, Store, TreeMode, WalkedCommit } from '../../ports/git.ts';
import { maxChangedPaths, pathCounter } from '../../session/paths/count-paths.ts';
import { parseOid, repoPathFromGit, type Oid } from '../../names.ts';
import { failureOf } from '../run/git-failure.ts';
import { lookAgainMs, maxLooks, type GitRunner } from '../run/run.ts';
import { followTo } from './walk-first-parents.ts';

/** The number of commits per request; git reads them while the caller receives their changes. */
const commitsAtATime = 64;
/** git is rarely silent for this long unless it is collecting more paths than fit in memory. */
const silenceMs = 250;

type Objects = Pick<Store, 'readCommit' | 'readTree'>;

type Step = Pick<WalkedCommit, 'oid' | 'parent'>;
type ListedChanges = Pick<ChangedCommit, 'oid' | 'changes'>;

export async function* walkChanges(
  git: GitRunner,
  objects: Objects,
  from: Oid,
  not: readonly Oid[],
): AsyncGenerator<ChangedCommit> {
  const steps = await listSteps(git, objects, from, not);
  let commits: Commit[] = [];
  let at = 0;
  for await (const changed of changesOf(git, objects, steps)) {
    if (at % commitsAtATime === 0)
      commits = await Promise.all(steps.slice(at, at + commitsAtATime).map(({ oid }) => objects.readCommit(oid)));
    yield { ...changed, commit: commits[at % commitsAtATime] as Commit };
    at += 1;
  }
}

/** Reports the commits' changes, in the given order. When git misses an object, another process resumes at that commit. */
export async function* changesOf(
  git: GitRunner,
  objects: Objects,
  steps: readonly Step[],
  looks = 1,
): AsyncGenerator<ListedChanges> {
  if (steps.length === 0) return;
  const diff = startDiff(git, steps);
  const told = readChanges(diff);
  try {
    for (const [at, { oid }] of steps.entries()) {
      const next = await failIfEndless(told.next(), diff, objects, steps, at).catch((error: unknown) => {
        if (looks === maxLooks || !(error instanceof DamagedObjectError)) throw error;
        return { done: true } as const;
      });
      if (next.done || next.value.oid !== oid) {
        if (looks === maxLooks)
          throw new DamagedObjectError(`git diff-tree did not report what ${oid} changed.`, 'Run `git fsck`.');
        await sleep(lookAgainMs);
        return yield* changesOf(git, objects, steps.slice(at), looks + 1);
      }
      yield next.value;
    }
  } finally {
    diff.end();
  }
}

async function listSteps(git: GitRunner, objects: Objects, from: Oid, not: readonly Oid[]): Promise<Step[]> {
  const near = await followTo(objects, from, not);
  if (near !== null) return near.toReversed().map(({ oid, commit }) => ({ oid, parent: commit.parents[0] ?? null }));
  // The tips of a remote with many sessions do not fit on a command line.
  const input = [from, ...not.map((oid) => `^${oid}`), ''].join('\n');
  const listed = await git.text(['rev-list', '--first-parent', '--parents', '--reverse', '--stdin'], { input });
  return listed === '' ? [] : listed.split('\n').map(toStep);
}

/** Reads the commit and its first parent; a merge's other parents do not belong to this line. */
function toStep(row: string): Step {
  const [oid = '', parent] = row.split(' ', 2);
  return { oid: parseOid(oid), parent: parent === undefined ? null : parseOid(parent) };
}

interface Diff {
  stdout: AsyncIterable<Buffer>;
  /** Null when the process succeeded. */
  failure: Promise<TeddyError | null>;
  /** Ends the process, which is safe at any moment because the process only reads. */
  end(): void;
}

function startDiff(git: GitRunner, steps: readonly Step[]): Diff {
  const flags = ['--stdin', '-r', '-z', '--raw', '--root', '--no-renames', '--always', '--no-abbrev'];
  const child = git.start(['diff-tree', ...flags]);
  for (const pipe of [child.stdin, child.stdout]) pipe.on('error', () => undefined);
  const failure = failureOf('diff-tree', child);
  // Pipe immediately, because output that is still unread when git ends is lost.
  const stdout = child.stdout.pipe(new PassThrough());
  child.stdin.end(steps.map(({ oid, parent }) => `${oid}${parent === null ? '' : ` ${parent}`}\n`).join(''));
  return {
    stdout,
    failure,
    end() {
      child.stdout.destroy();
      stdout.destroy();
      child.kill();
    },
  };
}

/** Throws when git is silent for a while and its current commit changes too many paths. */
async function failIfEndless<Value>(
  telling: Promise<Value>,
  diff: Diff,
  objects: Objects,
  steps: readonly Step[],
  at: number,
): Promise<Value> {
  let isTold = false;
  const heard = () => (isTold = true);
  telling.then(heard, heard);
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<void>((resolve) => (timer = setTimeout(resolve, silenceMs)));
  await Promise.race([telling.then(heard, heard), silence]);
  clearTimeout(timer);
  for (let next = at; next < steps.length && !isTold; next += 1) {
    const step = steps[next] as Step;
    if (!(await isEndless(objects, step))) continue;
    diff.end();
    throw toEndless(step.oid);
  }
  return telling;
}

/** Also returns false for objects that cannot be read, because git reports them. */
async function isEndless({ readCommit, readTree }: Objects, { oid, parent }: Step): Promise<boolean> {
  try {
    const [before, after] = [parent === null ? null : (await readCommit(parent)).tree, (await readCommit(oid)).tree];
    return (await pathCounter(readTree)(before, after)) > maxChangedPaths;
  } catch (error) {
    if (error instanceof TeddyError && error.code === 'DAMAGED_SESSION') return false;
    throw error;
  }
}

function toEndless(oid: Oid): TeddyError {
  return new TeddyError(
    'DAMAGED_SESSION',
    `The commit ${oid} changes more than ${maxChangedPaths} paths.`,
    'That is more than teddy reads. `git ls-tree` shows what its trees contain.',
  );
}

async function* readChanges({ stdout, failure }: Diff): AsyncGenerator<ListedChanges, undefined> {
  let told: ListedChanges | null = null;
  for await (const [header, path] of joinRows(stdout)) {
    if (path !== null) {
      told?.changes.push(toChange(header, path));
      if (told !== null && told.changes.length > maxChangedPaths) throw toEndless(told.oid);
    } else {
      if (told !== null) yield told;
      // git echoes an input line when it does not find the commit.
      if (header.includes('\n')) throw new DamagedObjectError(`git diff-tree did not find ${header.slice(0, 10)}.`);
      told = { oid: parseOid(header), changes: [] };
    }
  }
  const failed = await failure;
  if (failed !== null) throw failed;
  if (told !== null) yield told;
  return undefined;
}

/** Yields a commit's ID alone, or a change with the path that follows. */
async function* joinRows(pieces: AsyncIterable<Buffer>): AsyncGenerator<[header: string, path: string | null]> {
  let rest: Buffer = Buffer.alloc(0);
  let change: string | null = null;
  for await (const piece of pieces) {
    const all: Buffer = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    // Decode only whole fields, because a piece may end within a character.
    const end = all.lastIndexOf(0) + 1;
    rest = all.subarray(end);
    for (const field of end === 0 ? [] : all.toString('utf8', 0, end - 1).split('\0')) {
      if (change !== null) {
        yield [change, field];
        change = null;
      } else if (field.startsWith(':')) change = field;
      else yield [field, null];
    }
  }
}

/** Parses `:<mode> <mode> <oid> <oid> <letter>`; a missing side has the mode 000000. */
export function toChange(header: string, path: string): CommitChange {
  const [oldMode = '', mode = '', before = '', after = ''] = header.slice(1).split(' ');
  const isAdded = oldMode === '000000';
  const isDeleted = mode === '000000';
  return {
    path: repoPathFromGit(path),
    change: isAdded ? 'added' : isDeleted ? 'deleted' : 'modified',
    before: isAdded ? null : parseOid(before),
    after: isDeleted ? null : parseOid(after),
    oldMode: isAdded ? null : (oldMode as TreeMode),
    mode: isDeleted ? null : (mode as TreeMode),
  };
}

/** Moves refs through git itself, because only git handles reflogs, packed refs, work trees and ref backends correctly. */
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { TeddyError } from '../../errors.ts';
import type { RefTip, RefUpdate } from '../../ports/git.ts';
import { unwritten, adviseWrite } from '../run/git-failure.ts';
import { nameSome } from '../../session/text/name-some.ts';
import { parseOid, zeroOid, type Oid, type RefName } from '../../names.ts';
import { wasKilled, isBeforeStart, maxDeaths, maxStarts, type Environment, type GitRunner } from '../run/run.ts';

const lockWaitMs = 2000;

/**
 * Moves refs in one transaction, which changes nothing unless every ref is at its old value. If git dies and leaves
 * locks, releases them before the next attempt.
 */
export async function updateRefs(
  git: GitRunner,
  updates: RefUpdate[],
  reflog: string,
  releaseLocks: (atWork: { notedMs: number; latestMs: number }) => Promise<unknown>,
): Promise<'done' | 'moved'> {
  const deadline = performance.now() + lockWaitMs;
  for (let deaths = 0; ;) {
    const notedMs = Date.now();
    const refusal = await runTransaction(git, updates, reflog);
    if (refusal === null) return 'done';
    if (refusal === 'died') await releaseLocks({ notedMs, latestMs: Date.now() });
    const refs = updates.map((update) => update.ref);
    const tips = new Map((await listRefs(git, refs)).map(({ ref, oid }) => [ref, oid]));
    // A git that did not refuse may have moved the refs before it failed.
    const isThere = updates.every((update) => tips.get(update.ref) === (update.new ?? undefined));
    if (isThere && !/but expected|already exists|unable to resolve/.test(refusal)) return 'done';
    if (updates.some(({ ref, old }) => (tips.get(ref) ?? null) !== old)) return 'moved';
    if (refusal === 'died' && (deaths += 1) < maxDeaths) continue;
    const lock = findLock(refusal);
    if (lock === null) throw toRefError(updates, refusal);
    if (performance.now() > deadline) throw await toLockError(lock === 'reftable' ? await findTableLock(git) : lock);
    await sleep(20 + Math.random() * 60);
  }
}

/**
 * Returns the lock file that git reports as blocking it, `reftable` when git names no file, and null when nothing
 * blocks git. Only git can decide this, because only git knows where a ref backend keeps its locks.
 */
export function findLock(refusal: string): string | null {
  if (/cannot lock references/.test(refusal)) return 'reftable';
  return (
    /[Uu]nable to create (?:file )?'?([^'\n]+?(?:\.lock|packed-refs\.new))'?: File exists/.exec(refusal)?.[1] ?? null
  );
}

export function findTableLock(git: GitRunner): Promise<string> {
  return git.text(['rev-parse', '--path-format=absolute', '--git-path', 'reftable/tables.list.lock']);
}

/** Returns git's complaint about an update like this without performing the update; empty when git has none. */
export async function probeUpdates(git: GitRunner, updates: ProbedUpdate[], env: Environment = {}): Promise<string> {
  const lines = updates.map(({ ref, new: oid }) => (oid === null ? `delete ${ref}` : `update ${ref} ${oid}`));
  const input = ['start', ...lines, 'prepare', 'abort', ''].join('\n');
  return (await git.run(['update-ref', '--stdin'], { input, env, accept: [1, 128] })).stderr;
}

export interface ProbedUpdate {
  ref: RefName | 'HEAD' | 'ORIG_HEAD' | 'config';
  /** Null removes the ref. */
  new: Oid | null;
}

/**
 * Returns null when git committed the transaction, otherwise git's message; `died` when git was killed and may have
 * committed it.
 */
async function runTransaction(
  git: GitRunner,
  updates: RefUpdate[],
  reflog: string,
  starts = 1,
): Promise<string | null> {
  const child = git.start(['update-ref', '-m', reflog, '--stdin']);
  const stderr: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  child.stdout.resume();
  child.stdin.on('error', () => undefined);
  child.stdin.end(['start', ...updates.map(encodeUpdate), 'prepare', 'commit', ''].join('\n'));
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  if (isBeforeStart(signal) && starts < maxStarts) return runTransaction(git, updates, reflog, starts + 1);
  if (wasKilled(code, signal)) return 'died';
  return code === 0 ? null : Buffer.concat(stderr).toString('utf8').trim();
}

function encodeUpdate(update: RefUpdate): string {
  if (update.new === null) return `delete ${update.ref} ${update.old ?? ''}`.trimEnd();
  return `update ${update.ref} ${update.new} ${update.old ?? zeroOid(update.new)}`;
}

export async function listRefs(git: GitRunner, prefixes: string[]): Promise<RefTip[]> {
  const rows = await git.text(['for-each-ref', '--format=%(refname) %(objectname)', '--', ...prefixes.map(toPattern)]);
  return rows === ''
    ? []
    : rows.split('\n').map((row) => {
        const gap = row.indexOf(' ');
        return { ref: row.slice(0, gap) as RefName, oid: parseOid(row.slice(gap + 1)) };
      });
}

export async function findCommits(git: GitRunner, text: string, prefixes: string[]): Promise<Oid[]> {
  const globs = prefixes.map((prefix) => `--glob=${prefix.replace(/\/$/, '/*')}`);
  const rows = await git.text(['rev-list', '--first-parent', '--fixed-strings', `--grep=${text}`, ...globs]);
  return rows === '' ? [] : rows.split('\n').map(parseOid);
}

/** Appends `**` to a prefix with a glob, because git no longer treats a pattern as a prefix. */
function toPattern(prefix: string): string {
  return prefix.includes('*') && prefix.endsWith('/') ? `${prefix}**` : prefix;
}

function toRefError(updates: RefUpdate[], refusal: string): TeddyError {
  const names = nameSome(updates.map(({ ref }) => ref));
  const inTheWay = /'(refs\/[^']+)' exists; cannot create/.exec(refusal)?.[1];
  if (inTheWay !== undefined) {
    return new TeddyError(
      'BRANCH_IN_THE_WAY',
      `${inTheWay} is in the way of ${names}.`,
      `Rename it: \`git branch -m ${inTheWay.replace('refs/heads/', '')} <other>\`.`,
    );
  }
  if (/No space left on device|Disk quota exceeded/i.test(refusal)) {
    return new TeddyError(
      'DISK_FULL',
      `No space left while moving ${names}.`,
      'Free some space and run the command again.',
    );
  }
  if (/Permission denied|Read-only file system/i.test(refusal) || unwritten.test(refusal))
    return new TeddyError(
      'WRITE_FAILED',
      `${names} could not be moved: ${refusal.split('\n')[0]}`,
      adviseWrite(refusal),
    );
  const said = refusal === 'died' ? 'it was killed' : refusal;
  return new TeddyError('GIT_FAILED', `git could not move ${names}: ${said.split('\n').slice(0, 3).join(' ')}`);
}

/** Reports a foreign lock with its age; teddy never removes foreign locks. */
export async function toLockError(lock: string): Promise<TeddyError> {
  const since = await stat(lock).then(
    (found) => ` for ${Math.max(0, Math.round((Date.now() - found.mtimeMs) / 1000))} s`,
    () => '',
  );
  return new TeddyError(
    'LOCKED',
    `${lock} has been held by another process${since}.`,
    'Wait for that process. If none is running anymore, remove the file and run the command again.',
  );
}

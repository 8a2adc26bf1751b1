/** What git knows of how commits come from each other, beyond a line's own first parents. */
import { parseOid, type Oid } from '../session/names.ts';
import type { GitRunner } from './run.ts';

export async function mergeBase(git: GitRunner, commit: Oid, others: readonly Oid[]): Promise<Oid | null> {
  const { exitCode, stdout } = await git.run(['merge-base', commit, ...others], { accept: [1] });
  return exitCode === 0 ? parseOid(stdout.toString('utf8').trim()) : null;
}

export async function findReachable(git: GitRunner, text: string, from: Oid, not: readonly Oid[]): Promise<Oid[]> {
  const rows = await git.text(['rev-list', '--topo-order', '--fixed-strings', `--grep=${text}`, from, '--not', ...not]);
  return rows === '' ? [] : rows.split('\n').map(parseOid);
}

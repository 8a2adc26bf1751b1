/** Commits that nothing points at any more. */
import { parseOid, type Oid } from '../session/names.ts';
import type { GitRunner } from './run.ts';

/** Whatever another repository lends its objects for counts as reached; the heads of all work trees do. */
const everything = ['--all', '--alternate-refs'];

export async function listUnreachableCommits(git: GitRunner): Promise<Oid[]> {
  const format = '--batch-check=%(objecttype) %(objectname)';
  const [commits, reached] = await Promise.all([
    collect(git, ['cat-file', '--batch-all-objects', '--unordered', format], 'commit '),
    collect(git, ['rev-list', ...everything], ''),
  ]);
  return [...commits].filter((oid) => !reached.has(oid));
}

async function collect(git: GitRunner, args: string[], prefix: string): Promise<Set<Oid>> {
  const found = new Set<Oid>();
  for await (const line of git.lines(args)) if (line.startsWith(prefix)) found.add(line.slice(prefix.length) as Oid);
  return found;
}

export async function listReachedEntryIds(git: GitRunner): Promise<Set<string>> {
  const format = '--format=%(trailers:key=Teddy-Entry-Id,valueonly)';
  const found = await git.text(['log', ...everything, format, '--fixed-strings', '--grep=Teddy-Entry-Id: ']);
  return new Set(found.split('\n').filter((line) => line !== ''));
}

export async function listReflogCommits(git: GitRunner): Promise<Set<Oid>> {
  // Without `--stdin`, git prints its usage and fails where no reflog holds anything.
  const found = await git.text(['rev-list', '--no-walk=unsorted', '--reflog', '--ignore-missing', '--stdin']);
  return new Set(
    found
      .split('\n')
      .filter((line) => line !== '')
      .map(parseOid),
  );
}

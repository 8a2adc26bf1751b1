/** Finds lines in files with `git grep`, in the work tree or in a tree of the repository. */
import { TeddyError } from '../../errors.ts';
import type { TextHits, TextQuery, TreeQuery } from '../../ports/git.ts';
import { repoPathFromGit, type Oid, type RepoPath } from '../../names.ts';
import { errorCode } from '../../disk/system-error.ts';
import { toGitFailure } from '../run/git-failure.ts';
import type { GitRunner } from '../run/run.ts';

/** A regular expression may backtrack for longer than the user can wait. */
const defaultTimeoutMs = 10_000;
/** The number of matching lines that the search keeps for each file. */
const maxLinesOfFile = 1_000;
const maxLines = 20_000;
const maxErrorLength = 2_000;

export interface SearchLimits {
  timeoutMs?: number;
}

/** Searches the files on disk: tracked files, and untracked files that git does not ignore. */
export async function searchWorkTree(git: GitRunner, query: TextQuery, limits: SearchLimits = {}): Promise<TextHits[]> {
  // With `--untracked`, git also skips tracked files that match a pattern in .gitignore.
  const [tracked, all] = await Promise.all([
    search(git, query, [], limits),
    search(git, query, ['--untracked', '--exclude-standard'], limits),
  ]);
  return sortHits([...new Map([...tracked, ...all].map((hits) => [hits.path, hits])).values()]);
}

export async function searchTree(
  git: GitRunner,
  treeish: Oid,
  query: TextQuery,
  limits: SearchLimits = {},
): Promise<TextHits[]> {
  const found = await search(git, query, [], { ...limits, treeish });
  const prefix = `${treeish}:`.length;
  return sortHits(found.map((hits) => ({ ...hits, path: repoPathFromGit(hits.path.slice(prefix)) })));
}

/** The maximum length, in characters, of the names passed to one process. The system may accept less, and then reports it. */
const maxNames = 500_000;
/** git reads objects one by one, however many threads it uses, so several processes are faster for many trees. */
const processesAtOnce = 2;
const treesWorthAProcess = 250;
/** Ends only a hanging search, because a search takes time in proportion to the size of the texts. */
const treesTimeoutMs = 600_000;
const unknownTree = /unable to resolve revision|ambiguous argument|bad revision|unknown revision/;

/** Searches many trees. `exists` returns true if a tree is in the repository. */
export async function searchTrees(
  git: GitRunner,
  exists: (tree: string) => Promise<boolean>,
  trees: readonly string[],
  query: TreeQuery,
): Promise<{ tree: string; path: string }[]> {
  const batches = toBatches(trees);
  const found: { tree: string; path: string }[][] = [];
  for (let at = 0; at < batches.length; at += processesAtOnce) {
    const some = batches.slice(at, at + processesAtOnce);
    found.push(...(await Promise.all(some.map((batch) => searchBatch(git, exists, batch, query)))));
  }
  return found.flat();
}

function toBatches(trees: readonly string[]): string[][] {
  const length = trees.reduce((sum, tree) => sum + tree.length, 0);
  const worth = Math.min(processesAtOnce, Math.ceil(trees.length / treesWorthAProcess));
  const count = Math.max(worth, Math.ceil(length / maxNames));
  const size = Math.max(1, Math.ceil(trees.length / count));
  return Array.from({ length: Math.ceil(trees.length / size) }, (_, at) => trees.slice(at * size, (at + 1) * size));
}

async function searchBatch(
  git: GitRunner,
  exists: (tree: string) => Promise<boolean>,
  trees: readonly string[],
  query: TreeQuery,
): Promise<{ tree: string; path: string }[]> {
  const { texts, ignoresCase, paths, signal } = query;
  const options = ['-l', '-z', '--text', '--threads=1', '--full-name', '--no-color', '--no-recurse-submodules', '-F'];
  const patterns = [...(ignoresCase ? ['-i'] : []), ...texts.flatMap((text) => ['-e', text])];
  const globs = paths.map((path) => `:(top,glob)${path}`);
  const attempt = async (asked: readonly string[]) => {
    const names: string[] = [];
    const add = splitNames((name) => names.push(name));
    const args = ['grep', ...options, ...patterns, ...asked, '--', ...globs];
    return { names, ended: await grep(git, args, { signal, timeoutMs: treesTimeoutMs, add }) };
  };
  const answer = await attempt(trees).catch((error: unknown) => {
    if (errorCode(error) === 'E2BIG' && trees.length > 1) return null;
    throw error;
  });
  if (answer === null) {
    const half = Math.ceil(trees.length / 2);
    const search = (some: readonly string[]) => searchBatch(git, exists, some, query);
    return [...(await search(trees.slice(0, half))), ...(await search(trees.slice(half)))];
  }
  let { names, ended } = answer;
  if (ended.exitCode === 128 && unknownTree.test(ended.stderr)) {
    const isThere = await Promise.all(trees.map(exists));
    const there = trees.filter((_, at) => isThere[at]);
    if (there.length === 0) return [];
    ({ names, ended } = await attempt(there));
  }
  if (ended.exitCode !== 0 && ended.exitCode !== 1) throw toGitFailure('grep', { ...ended, signal: null });
  const known = new Set(trees);
  return names.map((name) => splitTree(known, name));
}

/** Splits `<tree>:<path>`; a blob has no path. Both parts may contain a colon. */
function splitTree(trees: ReadonlySet<string>, name: string): { tree: string; path: string } {
  if (trees.has(name)) return { tree: name, path: '' };
  let colon = name.indexOf(':');
  while (colon !== -1 && !trees.has(name.slice(0, colon))) colon = name.indexOf(':', colon + 1);
  if (colon === -1) throw new TeddyError('GIT_FAILED', `git grep named a tree that was not searched: ${name}`);
  return { tree: name.slice(0, colon), path: name.slice(colon + 1) };
}

function splitNames(onName: (name: string) => void): (chunk: Buffer) => void {
  let held = Buffer.alloc(0);
  return (chunk) => {
    held = Buffer.concat([held, chunk]);
    for (let end = held.indexOf(0); end !== -1; end = held.indexOf(0)) {
      onName(held.subarray(0, end).toString('utf8'));
      held = held.subarray(end + 1);
    }
  };
}

function sortHits(hits: TextHits[]): TextHits[] {
  return hits.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

type Limits = SearchLimits & { treeish?: Oid };

async function search(git: GitRunner, query: TextQuery, options: string[], limits: Limits): Promise<TextHits[]> {
  const attempt = async (syntax: '-P' | '-E' | '-F') => {
    const { hits, add } = collectHits();
    const { timeoutMs } = limits;
    const ended = await grep(git, toArguments(query, syntax, options, limits), {
      signal: query.signal,
      add,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    return { hits, ended };
  };
  const first = await attempt(query.isRegex ? '-P' : '-F');
  const { hits, ended } = /USE_LIBPCRE/.test(first.ended.stderr) ? await attempt('-E') : first;
  requireSearched(ended);
  return hits;
}

/** Overrides the user's `grep` configuration. `-e` keeps git from parsing the query as an option. */
function toArguments(
  { text, ignoresCase, path }: TextQuery,
  syntax: '-P' | '-E' | '-F',
  options: string[],
  { treeish }: Limits,
): string[] {
  return [
    'grep',
    '-n',
    '-z',
    '-I',
    '--full-name',
    '--no-color',
    '--no-column',
    '--no-recurse-submodules',
    ...options,
    syntax,
    ...(ignoresCase ? ['-i'] : []),
    '-e',
    text,
    ...(treeish === undefined ? [] : [treeish]),
    '--',
    path === null ? ':(top)' : `:(top,literal)${path}`,
    ':(top,exclude,literal).teddy',
  ];
}

interface Ended {
  exitCode: number | null;
  stderr: string;
}

interface GrepOptions extends SearchLimits {
  signal: AbortSignal;
  add(chunk: Buffer): void;
}

function grep(git: GitRunner, args: string[], { signal, timeoutMs, add }: GrepOptions): Promise<Ended> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(toInterrupted());
    const child = git.start(args);
    let stderr = '';
    const end = (error: TeddyError) => {
      reject(error);
      child.kill('SIGKILL');
    };
    const onAbort = () => end(toInterrupted());
    const timer = setTimeout(() => end(toTimedOut()), timeoutMs ?? defaultTimeoutMs);
    signal.addEventListener('abort', onAbort, { once: true });
    child.stdout.on('data', add);
    child.stderr.on('data', (chunk: Buffer) => (stderr = (stderr + chunk.toString('utf8')).slice(0, maxErrorLength)));
    child.stdin.on('error', () => undefined);
    child.stdin.end();
    child.on('error', (error) => end(toUnstarted(error)));
    child.on('close', (exitCode) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      resolve({ exitCode, stderr });
    });
  });
}

/** Throws unless git completed the search. Exit code 1 means that no line matched. */
function requireSearched({ exitCode, stderr }: Ended): void {
  if (exitCode === 0 || exitCode === 1) return;
  const said = stderr
    .trim()
    .split('\n')[0]
    ?.replace(/^fatal: /, '');
  throw new TeddyError(
    'ACTION_FAILED',
    `git could not search: ${said || `exit code ${exitCode}`}.`,
    'If the query is a regular expression, fix it, or search for plain text.',
  );
}

/** Collects rows of `<path> NUL <line> NUL <text> LF`. Skips the text, so a long line costs nothing. */
function collectHits(): { hits: TextHits[]; add(chunk: Buffer): void } {
  const found = new Map<RepoPath, TextHits>();
  const hits: TextHits[] = [];
  let kept = 0;
  const keep = (path: RepoPath, line: number) => {
    const known = found.get(path) ?? { path, lines: [] };
    if (!found.has(path)) hits.push(known);
    found.set(path, known);
    if (known.lines.length === maxLinesOfFile || kept === maxLines) return;
    known.lines.push(line);
    kept += 1;
  };
  return { hits, add: scanRows(keep) };
}

function scanRows(onRow: (path: RepoPath, line: number) => void): (chunk: Buffer) => void {
  let fields: string[] = [];
  let pieces: Buffer[] = [];
  return (chunk) => {
    for (let at = 0; at < chunk.length;) {
      const isText = fields.length === 2;
      const found = chunk.indexOf(isText ? 0x0a : 0, at);
      const end = found === -1 ? chunk.length : found;
      if (!isText) pieces.push(chunk.subarray(at, end));
      at = end + 1;
      if (found === -1) return;
      if (!isText) fields.push(Buffer.concat(pieces).toString('utf8'));
      if (fields.length === 2 && !isText) onRow(repoPathFromGit(fields[0] ?? ''), Number(fields[1]));
      if (isText) fields = [];
      pieces = [];
    }
  };
}

function toInterrupted(): TeddyError {
  return new TeddyError('INTERRUPTED', 'Interrupted while searching the project.');
}

function toTimedOut(): TeddyError {
  return new TeddyError(
    'ACTION_FAILED',
    'The search took too long and was stopped.',
    'Search in one directory, use a simpler expression, or search for plain text.',
  );
}

function toUnstarted(error: Error): TeddyError {
  return new TeddyError('GIT_FAILED', `git could not be started: ${error.message}`, undefined, { cause: error });
}

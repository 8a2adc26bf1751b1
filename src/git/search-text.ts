/** Finds lines in files with `git grep`: in the work tree, or in a tree of the repository. */
import { TeddyError } from '../errors.ts';
import type { TextHits, TextQuery, WordQuery } from '../ports/git.ts';
import { parseOid, repoPathFromGit, type Oid, type RepoPath } from '../names.ts';
import type { GitRunner } from './run.ts';

/** A regular expression may try more ways through a line than there is time for. */
const defaultTimeoutMs = 10_000;
/** The search remembers so many matching lines of a file. */
const maxLinesOfFile = 1_000;
const maxLines = 20_000;
const maxErrorLength = 2_000;

export interface SearchLimits {
  timeoutMs?: number;
}

/** Tracked files and untracked ones that git does not ignore, as they are on disk. */
export async function searchWorkTree(git: GitRunner, query: TextQuery, limits: SearchLimits = {}): Promise<TextHits[]> {
  // With `--untracked` git leaves out tracked files that a pattern of .gitignore names, too.
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

/** So many trees are named to one process. */
const treesAtOnce = 500;

export async function searchTrees(
  git: GitRunner,
  trees: readonly Oid[],
  { words, names, signal }: WordQuery,
  limits: SearchLimits = {},
): Promise<{ tree: Oid; path: RepoPath }[]> {
  const options = ['-l', '-z', '--text', '--full-name', '--no-color', '--no-recurse-submodules', '-F', '-i'];
  const found: { tree: Oid; path: RepoPath }[] = [];
  for (let at = 0; at < trees.length; at += treesAtOnce) {
    const asked = trees.slice(at, at + treesAtOnce);
    const patterns = words.flatMap((word) => ['-e', word]);
    const paths = names.flatMap((name) => [`:(top,literal)${name}`, `:(top,glob)**/${name}`]);
    const args = ['grep', ...options, '--all-match', ...patterns, ...asked, '--', ...paths];
    const files: string[] = [];
    requireSearched(await grep(git, args, { signal, ...limits, add: splitNames((name) => files.push(name)) }));
    for (const file of files) {
      const colon = file.indexOf(':');
      found.push({ tree: parseOid(file.slice(0, colon)), path: repoPathFromGit(file.slice(colon + 1)) });
    }
  }
  return found;
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

/** Whatever the user's configuration says of `grep`, is said here again; `-e` keeps the query from being an option. */
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

/** Exit code 1: there is no such line. */
function requireSearched({ exitCode, stderr }: Ended): void {
  if (exitCode === 0 || exitCode === 1) return;
  const said = stderr
    .trim()
    .split('\n')[0]
    ?.replace(/^fatal: /, '');
  throw new TeddyError(
    'ACTION_FAILED',
    `git could not search: ${said || `exit code ${exitCode}`}.`,
    'If the query is a regular expression, mend it, or search for plain text.',
  );
}

/** Rows are `<path> NUL <line> NUL <text> LF`; the text is passed over, so that a long line costs nothing. */
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
  return new TeddyError('INTERRUPTED', 'Interrupted while the project was searched.');
}

function toTimedOut(): TeddyError {
  return new TeddyError(
    'ACTION_FAILED',
    'The search took too long and was ended.',
    'Search in a directory, with a simpler expression, or for plain text.',
  );
}

function toUnstarted(error: Error): TeddyError {
  return new TeddyError('GIT_FAILED', `git could not be started: ${error.message}`, undefined, { cause: error });
}

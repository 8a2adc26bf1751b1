/** Asks git which commit introduced a line, in histories with replaced parents, using `git blame -S`. */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { TeddyError, tooShortError } from '../../errors.ts';
import { isOid, parseOid, repoPathFromGit, type Oid, type RepoPath } from '../../names.ts';
import type { Blame, BlamedRun, BlameQuery, Grafts, IgnoredRevisions, MarkedCommit } from '../../ports/git.ts';
import { falseOnSystemError } from '../../disk/system-error.ts';
import { toGitFailure } from '../run/git-failure.ts';
import type { GitRunner } from '../run/run.ts';

/** Runs blame and related queries. File names in the configuration are relative to `top`. */
export function gitBlame(git: GitRunner, top: string): Blame {
  return {
    lines: (query) => blameLines(git, query),
    ignored: () => readIgnored(git, top),
    findMarked: (marks, tips, not, since) => findMarked(git, marks, tips, not, since),
    followNames: (paths, tip, seconds) => followNames(git, paths, tip, seconds),
    findCircles: async (tips, grafts) =>
      findCircles(await readParents(git, [...tips, ...[...grafts.values()].flat()]), grafts),
  };
}

async function blameLines(git: GitRunner, query: BlameQuery): Promise<BlamedRun[]> {
  const { path, commit, ranges, grafts, moves = false, copies = false, ignored = [] } = query;
  const dir = grafts.size + ignored.length === 0 ? null : await mkdtemp(join(tmpdir(), 'teddy-blame-'));
  try {
    const [file, past] = dir === null ? [null, null] : [join(dir, 'grafts'), join(dir, 'ignored')];
    if (file !== null) await writeFile(file, renderGrafts(grafts));
    if (past !== null) await writeFile(past, ignored.map((oid) => `${oid}\n`).join(''));
    const args = [
      'blame',
      '--porcelain',
      // Blame the raw lines, and run no program from the configuration.
      '--no-textconv',
      // For the commits in an ignore-revs file, git would guess the origin of the lines.
      '--no-ignore-revs-file',
      ...(file === null ? [] : ['-S', file]),
      ...(past === null || ignored.length === 0 ? [] : ['-w', '--ignore-revs-file', past]),
      ...(moves ? ['-M'] : []),
      ...(copies ? ['-C'] : []),
      ...ranges.flatMap(([first, last]) => ['-L', `${first},${last}`]),
      ...(commit === null ? [] : [commit]),
      '--',
      path,
    ];
    const { exitCode, stdout, stderr } = await git.run(args, { accept: [128] });
    if (exitCode === 0) return requireLines(query, parsePorcelain(stdout));
    throw toFailure(query, { exitCode, signal: null, stderr });
  } finally {
    if (dir !== null) await rm(dir, { recursive: true, force: true });
  }
}

/** The longest list of ignored revisions that teddy reads, in bytes. */
const maxListBytes = 16 * 1024 * 1024;

/** Reads the configured lists of ignored revisions. An empty name drops the files before it. */
async function readIgnored(git: GitRunner, top: string): Promise<IgnoredRevisions> {
  const config = ['config', '--type=path', '-z', '--get-all', 'blame.ignoreRevsFile'];
  const { stdout, exitCode } = await git.run(config, { accept: [1, 128] });
  const names = exitCode === 0 ? stdout.toString('utf8').split('\0').slice(0, -1) : [];
  const found: IgnoredRevisions = { revisions: [], unread: exitCode === 128 ? ['a file that git cannot name'] : [] };
  for (const file of names.slice(names.lastIndexOf('') + 1)) {
    const path = resolve(top, file);
    const text = await stat(path)
      .then<string | false>((one) => (one.isFile() && one.size <= maxListBytes ? readFile(path, 'utf8') : false))
      .catch(falseOnSystemError);
    if (text === false) found.unread.push(file);
    const rows = (text || '').split('\n').map((row) => row.replace(/#.*/, '').trim());
    found.revisions.push(...rows.filter((row) => row !== '').map((row) => ({ file, text: row })));
  }
  return found;
}

function renderGrafts(grafts: Grafts): string {
  return [...grafts].map(([commit, parents]) => `${[commit, ...parents].join(' ')}\n`).join('');
}

/** Throws when a range ends after the file does, because git then silently returns fewer lines. */
function requireLines({ path, ranges }: BlameQuery, runs: BlamedRun[]): BlamedRun[] {
  const last = runs.at(-1);
  const count = last === undefined ? 0 : last.line + last.texts.length - 1;
  if (ranges.some(([, end]) => end > count)) throw tooShortError(path, count);
  return runs;
}

function toFailure({ path }: BlameQuery, end: { exitCode: number; signal: null; stderr: string }): TeddyError {
  const count = /has only (\d+) lines?/.exec(end.stderr)?.[1];
  if (count !== undefined) return tooShortError(path, Number(count));
  if (/no such path|cannot lstat/i.test(end.stderr))
    return new TeddyError('FILE_NOT_FOUND', `There is no file ${path}.`, '`git ls-files :/` lists the files.');
  return toGitFailure('blame', end);
}

/**
 * Parses rows of `<commit> <original line> <line> [<count>]`, header rows at each commit's first appearance, and the
 * text after a tab. git names the file again when a commit has lines from several files.
 */
function parsePorcelain(stdout: Buffer): BlamedRun[] {
  const paths = new Map<string, string>();
  const runs: BlamedRun[] = [];
  let run: (BlamedRun & { oid: string }) | null = null;
  let head: { oid: string; original: number; line: number } | null = null;
  for (const row of stdout.toString('utf8').split('\n')) {
    if (row.startsWith('\t')) {
      if (head === null) continue;
      const { oid, original, line } = head;
      head = null;
      const path = paths.get(oid) ?? '';
      const count: number = run?.oid === oid && run.path === path ? run.texts.length : 0;
      // Originally adjacent lines may now be separated by lines outside the query.
      const goesOn = count > 0 && run?.originalLine === original - count && run.line === line - count;
      if (run !== null && goesOn) run.texts.push(row.slice(1));
      else {
        run = { oid, commit: null, line, originalLine: original, path: repoPathFromGit(path), texts: [row.slice(1)] };
        if (!/^0+$/.test(oid)) run.commit = parseOid(oid);
        runs.push(run);
      }
    } else if (head === null) {
      const [oid = '', original = '', line = ''] = row.split(' ');
      if (isOid(oid)) head = { oid, original: Number(original), line: Number(line) };
    } else if (row.startsWith('filename ')) paths.set(head.oid, unquote(row.slice('filename '.length)));
  }
  return runs.map(({ commit, line, originalLine, path, texts }) => ({ commit, line, originalLine, path, texts }));
}

/** Undoes git's C-style quoting of a path with control characters, quotes or backslashes. */
function unquote(name: string): string {
  if (!name.startsWith('"')) return name;
  const escapes: Record<string, string> = { n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v' };
  return name
    .slice(1, -1)
    .replace(/\\([0-7]{3}|.)/g, (_, code: string) =>
      code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (escapes[code] ?? code),
    );
}

async function findMarked(
  git: GitRunner,
  marks: readonly string[],
  tips: readonly Oid[],
  not: readonly Oid[],
  since?: number,
): Promise<MarkedCommit[]> {
  const args = [
    'log',
    '--stdin',
    '--basic-regexp',
    ...marks.map((mark) => `--grep=^${mark}`),
    ...(since === undefined ? [] : [`--since=@${since}`]),
    '--no-show-signature',
    '--no-notes',
    '--no-color',
    '--encoding=UTF-8',
    // List the changes of commits with one parent in git's raw format.
    '--raw',
    '-z',
    '--no-abbrev',
    '--no-renames',
    '--no-relative',
    '--diff-merges=off',
    '--ignore-submodules=none',
    '--format=%H %P%n%ct%n%B',
  ];
  const input = [...tips, ...not.map((oid) => `^${oid}`)].map((oid) => `${oid}\n`).join('');
  return parseMarked((await git.run(args, { input })).stdout.toString('utf8'));
}

/** Parses parts that end in NUL: the formatted commit, then a description and a path for each change. */
function parseMarked(text: string): MarkedCommit[] {
  const found: MarkedCommit[] = [];
  const parts = text.split('\0');
  for (let at = 0; at < parts.length; at += 1) {
    const part = (parts[at] ?? '').replace(/^\n/, '');
    const change = /^:\d{6} (\d{6}) [0-9a-f]+ ([0-9a-f]+) [A-Z]\d*$/.exec(part);
    if (change !== null) {
      at += 1;
      const [, mode = '', oid = ''] = change;
      const blob = mode === '000000' ? null : (oid as Oid);
      found.at(-1)?.changes.push({ path: repoPathFromGit(parts[at] ?? ''), blob });
      continue;
    }
    const [names = '', seconds = '', ...message] = part.split('\n');
    const [oid = '', ...parents] = names.trim().split(' ');
    if (isOid(oid))
      found.push({
        oid,
        parents: parents.filter(isOid),
        seconds: Number(seconds),
        message: message.join('\n'),
        changes: [],
      });
  }
  return found;
}

/** Adds the later names of renamed files. git prints `R<similarity>`, the old name and the new name, each ended by NUL. */
async function followNames(
  git: GitRunner,
  paths: ReadonlySet<RepoPath>,
  tip: Oid,
  seconds: number,
): Promise<Set<RepoPath>> {
  const all = new Set(paths);
  if (paths.size === 0) return all;
  const what = ['--find-renames', '--diff-filter=R', '--name-status', '-z', '--no-relative', '--diff-merges=off'];
  const how = ['--reverse', '--format=', '--no-show-signature', '--no-notes', '--no-color', `--since=@${seconds}`];
  const { stdout } = await git.run(['log', ...what, ...how, tip, '--']);
  for (const [, from = '', to = ''] of stdout.toString('utf8').matchAll(/R\d+\0([^\0]+)\0([^\0]+)\0/g))
    if (all.has(repoPathFromGit(from))) all.add(repoPathFromGit(to));
  return all;
}

async function readParents(git: GitRunner, tips: readonly Oid[]): Promise<Map<string, readonly string[]>> {
  const input = tips.map((oid) => `${oid}\n`).join('');
  const rows = await git.text(['rev-list', '--parents', '--stdin'], { input });
  return new Map(
    rows.split('\n').map((row) => {
      const [oid = '', ...parents] = row.split(' ');
      return [oid, parents] as const;
    }),
  );
}

/** Finds the grafts to drop: the last graft of each cycle, until no cycle is left. */
function findCircles(parents: ReadonlyMap<string, readonly string[]>, grafts: Grafts): Set<Oid> {
  const dropped = new Set<Oid>();
  for (;;) {
    const kept = new Map<string, readonly string[]>([...grafts].filter(([commit]) => !dropped.has(commit)));
    const parentsOf = (oid: string) => (parents.has(oid) ? (kept.get(oid) ?? parents.get(oid) ?? []) : []);
    const circle = new Set(findCircle(parentsOf, parents.keys()));
    const grafted = [...kept.keys()].findLast((oid) => circle.has(oid));
    if (grafted === undefined) return dropped;
    dropped.add(grafted as Oid);
  }
}

/** Returns the commits of one cycle; null when there is none. Searches depth-first without recursion: histories are long. */
function findCircle(parentsOf: (oid: string) => readonly string[], all: Iterable<string>): string[] | null {
  const done = new Set<string>();
  const open = new Map<string, number>();
  for (const start of all) {
    const stack: { oid: string; parents: readonly string[]; next: number }[] = [];
    const enter = (oid: string) => {
      open.set(oid, stack.length);
      stack.push({ oid, parents: parentsOf(oid), next: 0 });
    };
    if (!done.has(start)) enter(start);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const parent = top.parents[top.next];
      top.next += 1;
      if (parent === undefined) {
        done.add(top.oid);
        open.delete(top.oid);
        stack.pop();
        continue;
      }
      const at = open.get(parent);
      if (at !== undefined) return stack.slice(at).map(({ oid }) => oid);
      if (!done.has(parent)) enter(parent);
    }
  }
  return null;
}

/**
 * The port's contract for searches, kept by git itself and by the in-memory one; and faults that only git can cause.
 */
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openRepository } from '../../src/git/repository.ts';
import { gitRunner, type GitRunner } from '../../src/git/run/run.ts';
import { searchTrees, searchWorkTree } from '../../src/git/history/search-text.ts';
import type { Repository, TextQuery, Workspace } from '../../src/ports/git.ts';
import type { Oid } from '../../src/names.ts';
import { path } from '../support/disk.ts';
import { memoryProject } from '../support/memory-repository.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

interface Backend {
  repository: Repository;
  workspace: Workspace;
  write(files: Record<string, string>): Promise<void>;
  close(): Promise<void>;
}

const first = {
  '.gitignore': 'made/\n',
  'a.txt': 'one needle\ntwo\nNeedle three\n',
  'src/[x] ü.txt': 'needle\n',
  'src/deep/b.txt': 'a.c needle\nabc\n',
  '.teddy/memos.yaml': '- needle\n',
};

async function openMemory(): Promise<Backend> {
  const project = await memoryProject(first);
  const { repository, write } = project;
  return { repository, workspace: repository.workspace, write, close: async () => undefined };
}

async function openGit(): Promise<Backend & { scratch: ScratchRepository }> {
  const scratch = await makeScratchRepository(first);
  const repository = await openRepository({ cwd: join(scratch.root, 'src'), env: process.env });
  const { workspace } = repository;
  if (workspace === null) throw new Error('There is no work tree.');
  return {
    scratch,
    repository,
    workspace,
    async write(files) {
      for (const [name, text] of Object.entries(files)) await scratch.write(name, text);
    },
    async close() {
      await repository.close();
      await scratch.close();
    },
  };
}

function queryOf(text: string, more: Partial<TextQuery> = {}): TextQuery {
  return { text, isRegex: false, ignoresCase: false, path: null, signal: new AbortController().signal, ...more };
}

const linesOf = (found: { path: string; lines: number[] }[]) =>
  found.map((hit) => `${hit.path} ${hit.lines.join(',')}`);

describe.each([
  ['in memory', openMemory],
  ['in git', openGit],
])('a search %s', (_, open) => {
  let backend: Backend;
  afterEach(() => backend.close());
  const search = async (text: string, more?: Partial<TextQuery>) =>
    linesOf(await backend.workspace.search(queryOf(text, more)));

  test('finds lines on disk, sorted by path, in untracked files as well, and none in .teddy', async () => {
    backend = await open();
    await backend.write({ 'new file.txt': 'x\nneedle\n', 'src/deep/b.txt': 'needle\nneedle' });
    expect(await search('needle')).toEqual(['a.txt 1', 'new file.txt 2', 'src/[x] ü.txt 1', 'src/deep/b.txt 1,2']);
  });

  test('leaves out ignored files and binary ones', async () => {
    backend = await open();
    await backend.write({ 'made/out.txt': 'needle\n', 'image.bin': '\0needle\n' });
    expect(await search('needle')).toEqual(['a.txt 1', 'src/[x] ü.txt 1', 'src/deep/b.txt 1']);
  });

  test('takes plain text literally, an expression as one, and ignores case on request', async () => {
    backend = await open();
    expect(await search('a.c')).toEqual(['src/deep/b.txt 1']);
    expect(await search('a\\wc', { isRegex: true })).toEqual(['src/deep/b.txt 2']);
    expect(await search('needle t', { ignoresCase: true })).toEqual(['a.txt 3']);
    expect(await search('nothing like it')).toEqual([]);
  });

  test('stays in the given directory or file, whatever characters their names have', async () => {
    backend = await open();
    expect(await search('needle', { path: path('src/deep') })).toEqual(['src/deep/b.txt 1']);
    expect(await search('needle', { path: path('src/[x] ü.txt') })).toEqual(['src/[x] ü.txt 1']);
    expect(await search('needle', { path: path('*.txt') })).toEqual([]);
  });

  test('finds lines as a commit has them', async () => {
    backend = await open();
    await backend.write({ 'a.txt': 'edited\n', 'new.txt': 'needle\n' });
    const head = (await backend.workspace.head()).oid as Oid;
    const found = await backend.repository.store.search(head, queryOf('needle'));
    expect(linesOf(found)).toEqual(['a.txt 1', 'src/[x] ü.txt 1', 'src/deep/b.txt 1']);
    const below = await backend.repository.store.search(head, queryOf('needle', { path: path('src/deep') }));
    expect(below).toEqual([{ path: 'src/deep/b.txt', lines: [1] }]);
  });

  test('reports an invalid expression, and an interruption', async () => {
    backend = await open();
    await expect(search('(', { isRegex: true })).rejects.toMatchObject({ code: 'ACTION_FAILED' });
    await expect(search('needle', { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'INTERRUPTED' });
  });
});

describe('a search with git grep', () => {
  let backend: Awaited<ReturnType<typeof openGit>>;
  afterEach(() => backend.close());
  const search = async (text: string, more?: Partial<TextQuery>) =>
    linesOf(await backend.workspace.search(queryOf(text, more)));

  test.each(['--open-files-in-pager=touch pwned', '-O', '--no-index', '-e', '--', '--cached', '-f/etc/hostname'])(
    'takes %s for the search text, not for an option',
    async (option) => {
      backend = await openGit();
      await backend.write({ 'options.txt': `x\n${option}\n` });
      const before = await backend.scratch.fingerprint();
      expect(await search(option)).toContain('options.txt 2');
      expect(await search(option, { isRegex: true })).toContain('options.txt 2');
      expect(await backend.scratch.fingerprint()).toEqual(before);
    },
  );

  test('finds tracked files that match a pattern in .gitignore', async () => {
    backend = await openGit();
    await backend.scratch.commit({ 'made/kept.txt': 'needle\n' });
    await backend.write({ 'made/out.txt': 'needle\n' });
    expect(await search('needle', { path: path('made') })).toEqual(['made/kept.txt 1']);
  });

  test('follows no link and looks into no other repository', async () => {
    backend = await openGit();
    const other = await makeScratchRepository({ 'o.txt': 'needle elsewhere\n' });
    await symlink(join(other.root, 'o.txt'), join(backend.scratch.root, 'link.txt'));
    await symlink(other.root, join(backend.scratch.root, 'linked'));
    await backend.scratch.git('init', '--quiet', 'nested');
    await backend.write({ 'nested/n.txt': 'needle elsewhere\n' });
    expect(await search('needle elsewhere')).toEqual([]);
    await other.close();
  });

  test('is the same whatever the user has configured for grep', async () => {
    backend = await openGit();
    const settings = {
      'grep.column': 'true',
      'grep.patternType': 'perl',
      'color.grep': 'always',
      'submodule.recurse': 'true',
    };
    for (const [key, value] of Object.entries(settings)) await backend.scratch.git('config', key, value);
    expect(await search('a.c')).toEqual(['src/deep/b.txt 1']);
  });

  test('keeps the first lines from a file with very many matches', async () => {
    backend = await openGit();
    await backend.write({ 'long.txt': 'straw\n'.repeat(3000) });
    const [found] = await backend.workspace.search(queryOf('straw'));
    expect(found?.path).toBe('long.txt');
    expect(found?.lines).toEqual(Array.from({ length: 1000 }, (_, at) => at + 1));
  });

  test('skips lines that are longer than a pipe’s buffer', async () => {
    backend = await openGit();
    await backend.write({ 'a.txt': `${'y'.repeat(300_000)}needle\nno\nneedle\n` });
    expect(await search('needle', { path: path('a.txt') })).toEqual(['a.txt 1,3']);
  });

  test('is ended when it takes too long, or when it is interrupted', async () => {
    backend = await openGit();
    await backend.write({ 'long.txt': 'straw and hay\n'.repeat(200_000) });
    const git = gitRunner(backend.scratch.root, process.env);
    await expect(searchWorkTree(git, queryOf('(s.*h)+y', { isRegex: true }), { timeoutMs: 1 })).rejects.toMatchObject({
      code: 'ACTION_FAILED',
      message: expect.stringContaining('took too long'),
    });
    const controller = new AbortController();
    const searching = searchWorkTree(git, queryOf('(s.*h)+y', { isRegex: true, signal: controller.signal }));
    controller.abort();
    await expect(searching).rejects.toMatchObject({ code: 'INTERRUPTED' });
  });
});

describe('a search in many trees with git grep', () => {
  let scratch: ScratchRepository;
  let trees: string[];
  const { signal } = new AbortController();
  const search = (git: GitRunner, asked: string[], text = 'needle') =>
    searchTrees(git, async () => false, asked, { texts: [text], ignoresCase: false, paths: ['**'], signal });

  beforeAll(async () => {
    scratch = await makeScratchRepository({ 'a/b.txt': 'needle\n' });
    const head = await scratch.git('rev-parse', 'HEAD');
    trees = Array.from({ length: 3000 }, () => `${head}:a`);
  });
  afterAll(() => scratch.close());

  /** Accepts arguments with this many characters in total. */
  function limited(most: number): { git: GitRunner; lengths: number[] } {
    const git = gitRunner(scratch.root, process.env);
    const lengths: number[] = [];
    const start: GitRunner['start'] = (args) => {
      const length = args.join(' ').length;
      if (length > most) throw Object.assign(new Error('spawn E2BIG'), { code: 'E2BIG' });
      lengths.push(length);
      return git.start(args);
    };
    return { git: { ...git, start }, lengths };
  }

  test('starts git once for many of them, and more often only if there is room for fewer', async () => {
    const roomy = limited(Infinity);
    expect(await search(roomy.git, trees.slice(0, 100))).toHaveLength(100);
    expect(roomy.lengths).toHaveLength(1);
    expect(await search(roomy.git, trees)).toHaveLength(3000);
    expect(roomy.lengths).toHaveLength(3);
    const small = limited(15_000);
    expect(await search(small.git, trees)).toHaveLength(3000);
    expect(small.lengths.length).toBeGreaterThan(8);
  });
});

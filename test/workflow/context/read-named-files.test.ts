import fc from 'fast-check';
import { beforeAll, expect } from 'vitest';
import type { Store, TreeFile } from '../../../src/ports/git.ts';
import { resolveContext } from '../../../src/session/context/context.ts';
import type { IsIgnored } from '../../../src/session/paths/ignore-rules.ts';
import { readIgnoreFiles } from '../../../src/session/paths/ignore-rules.ts';
import type { Oid } from '../../../src/names.ts';
import { openCodeTree } from '../../../src/workflow/context/code-tree.ts';
import { readNamedFiles } from '../../../src/workflow/context/code-tree.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const root = '/project';
const files = {
  'README.md': '# Notes\n',
  '.teddyignore': 'generated/\n*.log\n',
  '.teddy/memos.yaml': '- a fact\n',
  'src/app.ts': 'app\n',
  'src/[id].ts': 'id\n',
  'src/deep/.teddyignore': '!kept.log\n',
  'src/deep/a.ts': 'a\n',
  'src/deep/kept.log': 'kept\n',
  'src/deep/generated/b.ts': 'b\n',
  'docs/a b.md': 'spaces\n',
  'docs/trace.log': 'trace\n',
  'test/app.test.ts': 'test\n',
  'lib/x.ts': 'x\n',
};

let project: MemoryProject;
let store: Store;
let tip: Oid;
let all: TreeFile[];

beforeAll(async () => {
  project = await memoryProject(files);
  store = project.repository.store;
  tip = await project.tipOf('main');
  all = (await store.listTree(tip)).filter(({ path }) => !path.startsWith('.teddy/'));
});

async function resolve(lines: { session: string[]; turn: string[] }, tree: readonly TreeFile[]) {
  const rules = tree.filter(({ path }) => path.endsWith('.teddyignore'));
  const texts = rules.map(async ({ path, oid }) => ({
    directory: path.slice(0, -'/.teddyignore'.length),
    text: new TextDecoder().decode(await store.readBlob(oid)),
  }));
  const isIgnored: IsIgnored = readIgnoreFiles(await Promise.all(texts));
  const levels = { global: '', session: lines.session.join('\n'), turn: lines.turn };
  const { rules: followed, ...resolved } = await resolveContext(levels, tree, { root, isIgnored });
  return { ...resolved, places: followed.map(({ place, removes }) => ({ place, removes })) };
}

const name = fc.oneof(
  fc.constantFrom(...Object.keys(files)),
  fc.constantFrom(
    'src',
    'src/',
    'src/deep',
    'docs',
    'lib/',
    'test',
    '.',
    '/',
    './src',
    '/src/app.ts',
    `${root}/docs`,
    root,
  ),
  fc.constantFrom(
    'gone.ts',
    'src/gone/',
    'src/app.ts/below',
    '*.ts',
    'src/**/*.log',
    '.teddy',
    '.teddy/memos.yaml',
    '../x',
  ),
  fc.constantFrom(
    '`src/app.ts`',
    '[app](/src/app.ts)',
    '"docs/a b.md"',
    'docs/a b.md',
    'https://example.org/a',
    'src//deep',
  ),
);
const line = fc.tuple(fc.constantFrom('', '', '!'), name).map(([mark, text]) => mark + text);
const lists = fc.record({ session: fc.array(line, { maxLength: 5 }), turn: fc.array(line, { maxLength: 4 }) });

slowTest('files that lists name resolve in the same way as among all files', async () => {
  let walked = 0;
  await fc.assert(
    fc.asyncProperty(lists, async (lines) => {
      const named = await readNamedFiles(store, tip, [...lines.session, ...lines.turn], root);
      if (named === null) return;
      walked += 1;
      expect(await resolve(lines, named)).toEqual(await resolve(lines, all));
    }),
    { numRuns: 300 },
  );
  expect(walked).toBeGreaterThan(30);
});

test('only the named files are read', async () => {
  const named = await readNamedFiles(store, tip, ['src/app.ts', '# src', 'lib'], root);
  expect(named?.map(({ path }) => path)).toEqual(['.teddyignore', 'lib/x.ts', 'src/app.ts']);
});

test.each([['*.ts'], ['.'], [root]])('%s takes all files', async (text) => {
  expect(await readNamedFiles(store, tip, [text], root)).toBeNull();
});

test('a path that no file system could have is not looked up', async () => {
  expect(await readNamedFiles(store, tip, ['a/'.repeat(100_000)], root)).toEqual([]);
});

test('a listing is rendered once for the same code, and again when a file is added', async () => {
  const first = await openCodeTree(project, tip).listing();
  expect(first).toBe(
    Object.keys(files)
      .filter((path) => !path.startsWith('.teddy/'))
      .toSorted()
      .map((path) => (path.includes(' ') ? `"${path}"\n` : `${path}\n`))
      .join(''),
  );
  await project.commit('A fact\n', { '.teddy/memos.yaml': '- another fact\n' });
  const unread = {
    ...project,
    repository: { ...project.repository, store: { ...store, listTree: () => Promise.reject(new Error('read')) } },
  };
  expect(await openCodeTree(unread, await project.tipOf('main')).listing()).toBe(first);
  await project.commit('A file\n', { 'new.ts': 'new\n' });
  expect(await openCodeTree(project, await project.tipOf('main')).listing()).toContain('new.ts\n');
});

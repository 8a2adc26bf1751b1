import fc from 'fast-check';
import { expect } from 'vitest';
import {
  nextTurnList,
  parseTurnContext,
  renderTurnContext,
  type TouchedPath,
} from '../../src/session/context/context-lines.ts';
import { resolveContext } from '../../src/session/context/context.ts';
import type { Oid, RepoPath } from '../../src/names.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const oddPath = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.string({ unit: fc.constantFrom('a', '#', '!', '"', ' ', '\n', '\r', '\\', '*', '\u2028'), minLength: 1 }),
);

const textsOf = (previous: Parameters<typeof nextTurnList>[0]) => nextTurnList(previous).map(({ text }) => text);

test('turn.context contains ordinary paths literally, one per line', () => {
  const paths = ['src/app.ts', 'my notes.txt', 'app/[id]/page.tsx', 'c#/x.cs'];
  expect(renderTurnContext(paths)).toBe('src/app.ts\nmy notes.txt\napp/[id]/page.tsx\nc#/x.cs\n');
});

propertyTest('turn.context reproduces every path, whatever characters it has', () => {
  fc.assert(
    fc.property(fc.array(oddPath), (paths) => {
      expect(parseTurnContext(renderTurnContext(paths))).toEqual(paths);
    }),
  );
});

propertyTest('a file from the turn is found again, whatever its name', async () => {
  await fc.assert(
    fc.asyncProperty(oddPath, async (name) => {
      const path = `src/${name}` as RepoPath;
      const tree = [{ path, mode: '100644' as const, oid: 'a'.repeat(40) as Oid }];
      const turn = textsOf({ list: parseTurnContext(renderTurnContext([path])), vault: null, touched: [] });
      const { files, leftOut } = await resolveContext({ global: '', session: '', turn }, tree);
      expect([...files, ...leftOut].map((file) => file.path)).toEqual([path]);
    }),
  );
});

test('a deleted file from the turn is not read as a pattern', async () => {
  const tree = [{ path: 'a.ts' as RepoPath, mode: '100644' as const, oid: 'a'.repeat(40) as Oid }];
  const turn = textsOf({ list: ['[a].ts', '*.ts', 'b.ts'], vault: null, touched: [] });
  const { files } = await resolveContext({ global: '', session: '', turn }, tree);
  expect(files.map(({ path, source }) => [path, source.kind])).toEqual([
    ['[a].ts', 'absent'],
    ['*.ts', 'absent'],
    ['b.ts', 'absent'],
  ]);
});

test('the next list is this one plus the touched files, each once and with its origin', () => {
  const touched: TouchedPath[] = [
    { path: 'src/new.ts', by: 'CREATE' },
    { path: 'src/app.ts', by: 'EDIT' },
    { path: 'https://example.org/a?b=[1]', by: 'READ' },
  ];
  expect(nextTurnList({ list: ['src/app.ts', '#odd'], vault: null, touched })).toEqual([
    { text: 'src/app.ts', origin: 'list' },
    { text: '"#odd"', origin: 'list' },
    { text: 'src/new.ts', origin: 'CREATE' },
    { text: 'https://example.org/a?b=[1]', origin: 'READ' },
  ]);
});

test('a Context Vault replaces the list, even an empty one', () => {
  const touched: TouchedPath[] = [{ path: 'src/new.ts', by: 'CREATE' }];
  expect(textsOf({ list: ['src/app.ts'], vault: ['docs/', '!docs/b.md'], touched })).toEqual([
    'docs/',
    '!docs/b.md',
    'src/new.ts',
  ]);
  expect(textsOf({ list: ['src/app.ts'], vault: [], touched: [] })).toEqual([]);
});

test('equal lines in a vault count once, but a later line still wins', () => {
  const vault = ['a', 'b', 'a', '!a', 'a', 'b', 'b'];
  expect(textsOf({ list: [], vault, touched: [] })).toEqual(['a', 'b', '!a', 'a', 'b']);
});

test('pruned files are removed last, whatever their names and whoever named them', () => {
  const touched: TouchedPath[] = [
    { path: 'a.ts', by: 'PRUNE', isDropped: true },
    { path: '[x].ts', by: 'PRUNE', isDropped: true },
    { path: 'a.ts', by: 'READ' },
  ];
  expect(textsOf({ list: ['a.ts'], vault: ['src/', 'a.ts'], touched })).toEqual(['src/', 'a.ts', '!a.ts', '!"[x].ts"']);
});

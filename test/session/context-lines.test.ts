import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextTurnList, parseTurnContext, renderTurnContext } from '../../src/session/context-lines.ts';
import { resolveContext } from '../../src/session/context.ts';
import type { Oid, RepoPath } from '../../src/session/names.ts';

const oddPath = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.string({ unit: fc.constantFrom('a', '#', '!', '"', ' ', '\n', '\r', '\\', '*', '\u2028'), minLength: 1 }),
);

test('turn.context holds ordinary paths literally, one a line', () => {
  const paths = ['src/app.ts', 'my notes.txt', 'app/[id]/page.tsx', 'c#/x.cs'];
  expect(renderTurnContext(paths)).toBe('src/app.ts\nmy notes.txt\napp/[id]/page.tsx\nc#/x.cs\n');
});

test('whatever a path is made of, turn.context gives it back', () => {
  fc.assert(
    fc.property(fc.array(oddPath), (paths) => {
      expect(parseTurnContext(renderTurnContext(paths))).toEqual(paths);
    }),
  );
});

test('a file that the turn had is found again, whatever its name', () => {
  fc.assert(
    fc.property(oddPath, (name) => {
      const path = `src/${name}` as RepoPath;
      const tree = [{ path, mode: '100644' as const, oid: 'a'.repeat(40) as Oid }];
      const turn = nextTurnList({ list: parseTurnContext(renderTurnContext([path])), vault: null, touched: [] });
      const { files, leftOut } = resolveContext({ global: '', session: '', turn }, tree);
      expect([...files, ...leftOut].map((file) => file.path)).toEqual([path]);
    }),
  );
});

test('the next list is this one plus what was touched, each once', () => {
  const touched = ['src/new.ts', 'src/app.ts'] as RepoPath[];
  expect(nextTurnList({ list: ['src/app.ts', '#odd'], vault: null, touched })).toEqual([
    'src/app.ts',
    '"#odd"',
    'src/new.ts',
  ]);
});

test('a Context Vault takes the place of the list, even an empty one', () => {
  const touched = ['src/new.ts'] as RepoPath[];
  expect(nextTurnList({ list: ['src/app.ts'], vault: ['docs/', '!docs/b.md'], touched })).toEqual([
    'docs/',
    '!docs/b.md',
    'src/new.ts',
  ]);
  expect(nextTurnList({ list: ['src/app.ts'], vault: [], touched: [] })).toEqual([]);
});

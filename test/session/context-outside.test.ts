import { expect, test } from 'vitest';
import type { FileTarget } from '../../src/ports/files.ts';
import { outsidePaths, resolveOutsideFiles, type OutsideFacts } from '../../src/session/context/context-outside.ts';
import { resolveContext } from '../../src/session/context/context.ts';
import type { Oid, RepoPath } from '../../src/names.ts';

const bytes = new TextEncoder().encode('x');
const file: FileTarget = { kind: 'file', bytes, executable: false };

/** `path: shown`, `path: missing`, or the reason why not, for one line that is not in the tree. */
async function settle(
  level: 'session' | 'turn',
  found: NonNullable<ReturnType<OutsideFacts['disk']['get']>>,
  ignored = false,
) {
  const lists = { global: '', session: level === 'session' ? 'x.txt' : '', turn: level === 'turn' ? ['x.txt'] : [] };
  const context = await resolveContext(lists, []);
  expect(outsidePaths(context)).toEqual({ paths: ['x.txt'], pages: [] });
  const disk = new Map([['x.txt', found]]);
  const settled = resolveOutsideFiles(context, { disk, ignored: new Set(ignored ? ['x.txt'] : []), pages: new Map() });
  return settled.files[0]?.source.kind ?? settled.leftOut[0]?.reason;
}

test.each(['session', 'turn'] as const)('a %s list brings in a file on disk, and nothing more', async (level) => {
  expect(await settle(level, file)).toBe('stored');
  expect(await settle(level, { kind: 'absent' })).toBe('missing');
  expect(await settle(level, { kind: 'blocked', parent: 'x' as RepoPath })).toBe('missing');
  expect(await settle(level, { ...file, real: 'private/x.txt' as RepoPath })).toContain('name private/x.txt');
  expect(await settle(level, { kind: 'outside', link: 'x.txt' as RepoPath })).toContain('leads out of the project');
  expect(await settle(level, { kind: 'foreign', repository: 'sub' as RepoPath })).toContain('repository of its own');
  expect(await settle(level, { kind: 'special' })).toContain('a pipe');
  expect(await settle(level, { kind: 'directory' })).toContain('git tracks no file in it');
  expect(await settle(level, { kind: 'unreadable', reason: 'locked' })).toBe('locked');
});

test('only the user can bring in a file that git ignores', async () => {
  expect(await settle('session', file, true)).toBe('stored');
  expect(await settle('turn', file, true)).toContain('git ignores it');
});

test('a page is shown if it was fetched', async () => {
  const context = await resolveContext({ global: '', session: '', turn: ['https://a.org/x#1', 'https://a.org/y'] }, []);
  expect(outsidePaths(context)).toEqual({ paths: [], pages: ['https://a.org/x', 'https://a.org/y'] });
  const pages = new Map([['https://a.org/x', 'a'.repeat(40) as Oid]]);
  const { files, leftOut } = resolveOutsideFiles(context, { disk: new Map(), ignored: new Set(), pages });
  expect(files).toMatchObject([{ path: 'https://a.org/x#1', source: { kind: 'blob', oid: 'a'.repeat(40) } }]);
  expect(leftOut).toMatchObject([{ path: 'https://a.org/y', reason: expect.stringContaining('approved READ') }]);
});

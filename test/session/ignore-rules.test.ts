import fc from 'fast-check';
import { expect } from 'vitest';
import { readIgnoreFiles } from '../../src/session/paths/ignore-rules.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

test.each([
  ['*.log', 'a/b.log', true],
  ['/b.log', 'a/b.log', false],
  ['build/', 'x/build/y', true],
  ['build/', 'build', false],
  ['a/*.md', 'a/b/c.md', false],
  ['*\n!keep', 'keep', false],
  ['# b\n\\#b', '#b', true],
  ['Docs', 'docs/a', false],
  ['\uFEFFfirst\r\nsecond\r\n', 'first', true],
])('the root’s %j on %s: ignored is %s', (text, path, expected) => {
  expect(readIgnoreFiles([{ directory: '', text }])(path)).toBe(expected);
});

test('a nested file applies to its own directory, and overrides an upper one', () => {
  const isIgnored = readIgnoreFiles([
    { directory: 'lib/deep', text: '!x.log\n/top.md\n' },
    { directory: '', text: '*.log\nlib/tmp/\n' },
    { directory: 'lib', text: '# nothing\n\ndocs\n!tmp/\n' },
  ]);
  const ignored = ['a.log', 'lib/deep/y.log', 'lib/a/docs/b.md', 'lib/docs', 'lib/deep/top.md'];
  const kept = ['lib/deep/x.log', 'lib/deep/z/x.log', 'docs/b.md', 'lib/deep/z/top.md', 'lib/tmp/a', 'top.md'];
  expect([...ignored, ...kept].filter(isIgnored)).toEqual(ignored);
});

test('a nested file cannot re-include a path in an ignored directory, as in git', () => {
  const isIgnored = readIgnoreFiles([
    { directory: '', text: 'out/' },
    { directory: 'out', text: '!a' },
  ]);
  expect(isIgnored('out/a')).toBe(true);
});

test("a directory's name is not a pattern", () => {
  const isIgnored = readIgnoreFiles([{ directory: 'app/[id] *', text: '*.md\n/x' }]);
  expect(['app/[id] */a.md', 'app/[id] */x', 'app/i z/a.md', 'app/d x/x'].filter(isIgnored)).toEqual([
    'app/[id] */a.md',
    'app/[id] */x',
  ]);
});

propertyTest('deciding never fails, whatever the files contain', () => {
  const odd = fc.string({ unit: fc.constantFrom(...'ab*?[]!#\\/-^ \n{}()+.') });
  fc.assert(
    fc.property(odd, odd, (root, nested) => {
      const isIgnored = readIgnoreFiles([
        { directory: '', text: root },
        { directory: 'a', text: nested },
      ]);
      for (const path of ['a/b', 'b', 'a/[b]', '..a/b']) expect(typeof isIgnored(path)).toBe('boolean');
    }),
  );
});

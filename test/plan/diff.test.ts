import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect } from 'vitest';
import { renderUnifiedDiff } from '../../src/plan/match/diff.ts';
import { bytes } from '../support/disk.ts';
import { expectLinear } from '../support/growth.ts';
import { runs } from '../support/runs.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

const dir = mkdtempSync(join(tmpdir(), 'teddy-diff-'));
afterAll(() => rmSync(dir, { recursive: true }));

const diff = (before: string | null, after: string) =>
  renderUnifiedDiff('src/a.ts', before === null ? null : bytes(before), bytes(after));
const lines = (count: number, text = (i: number) => `line ${i}`) =>
  Array.from({ length: count }, (_, i) => `${text(i + 1)}\n`).join('');

test("a change has three lines of context and git's headers", () => {
  const after = lines(10).replace('line 5\n', 'line five\n');
  expect(diff(lines(10), after)).toBe(
    [
      '--- a/src/a.ts',
      '+++ b/src/a.ts',
      '@@ -2,7 +2,7 @@',
      ' line 2',
      ' line 3',
      ' line 4',
      '-line 5',
      '+line five',
      ' line 6',
      ' line 7',
      ' line 8',
      '',
    ].join('\n'),
  );
});

test('a new file comes from /dev/null', () => {
  expect(diff(null, 'a\nb\n')).toBe('--- /dev/null\n+++ b/src/a.ts\n@@ -0,0 +1,2 @@\n+a\n+b\n');
});

test('a missing final newline is marked', () => {
  expect(diff('a\n', 'a')).toContain('-a\n+a\n\\ No newline at end of file\n');
});

test('bytes that are not text are only reported as different', () => {
  expect(renderUnifiedDiff('a', new Uint8Array([0xff, 0xfe]), bytes('a'))).toBe('Binary files differ\n');
  expect(renderUnifiedDiff('a', null, new Uint8Array([0x61, 0]))).toBe('Binary files differ\n');
});

test('the diff is empty if nothing differs', () => {
  expect(diff('a\n', 'a\n')).toBe('');
  expect(renderUnifiedDiff('a', new Uint8Array([0xff]), new Uint8Array([0xff]))).toBe('');
});

slowTest('a file that changes everywhere is shown as one block, in linear time', async () => {
  const change = (count: number) => ({
    before: lines(count),
    after: lines(count, (i) => `other ${i}`).trimEnd(),
  });
  await expectLinear(30_000, change, ({ before, after }) => diff(before, after));
  const { before, after } = change(30_000);
  const text = diff(before, after);
  expect(text).toContain('@@ -1,30000 +1,30000 @@\n-line 1\n');
  expect(text.split('\n').filter((line) => line.startsWith('+other'))).toHaveLength(30_000);
  expect(text).toMatch(/\n\+other 30000\n\\ No newline at end of file\n$/);
});

slowTest('git applies the diff and gets the text after the change', () => {
  const content = fc
    .array(fc.constantFrom('a', 'b', 'c\r', '', ' d', '-', '+x', '\\ No'), { maxLength: 12 })
    .chain((parts) => fc.constantFrom('', '\n').map((end) => (parts.length === 0 ? '' : parts.join('\n') + end)));
  fc.assert(
    fc.property(content, content, (before, after) => {
      fc.pre(before !== after && before !== '' && after !== '');
      writeFileSync(join(dir, 'a'), before);
      const input = renderUnifiedDiff('a', bytes(before), bytes(after));
      const { status, stderr } = spawnSync('git', ['apply', '--unidiff-zero', '-'], {
        cwd: dir,
        input,
        encoding: 'utf8',
      });
      expect(stderr.replace(/.*white ?space.*\n/g, '')).not.toContain('error');
      expect(status).toBe(0);
      expect(readFileSync(join(dir, 'a'), 'utf8')).toBe(after);
    }),
    runs(60),
  );
});

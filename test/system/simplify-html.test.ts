import fc from 'fast-check';
import { expect, test } from 'vitest';
import { simplifyHtml } from '../../src/system/web/page-text.ts';
import { expectLinear } from '../support/growth.ts';
import { runs } from '../support/runs.ts';

test.each([
  ['<p>a</p>', '<p>a</p>'],
  ['a<script>x</script>b', 'ab'],
  ['a<SCRIPT src="x">if (a < b) {}</Script >b', 'ab'],
  ['a<script>"</scripty>"</script>b', 'ab'],
  ['a<style>p {}</style>b<svg width="1"><path/></svg>c', 'abc'],
  ['a<!-- <script> -->b', 'ab'],
  ['a<!-->b<!--->c<!---->d', 'abcd'],
  ['a<scripted>b</scripted><styles/>', 'a<scripted>b</scripted><styles/>'],
  ['a<script>never closed', 'a'],
  ['a<!-- never closed', 'a'],
  ['a<script>x</script', 'a'],
  ['İ<style>x</style>İ', 'İİ'],
  ['<svg/>a<p>b', ''],
])('%j becomes %j', (html, text) => {
  expect(simplifyHtml(html)).toBe(text);
});

test('the remaining parts keep the source’s order', () => {
  const part = fc.constantFrom('<script>', '</script>', '<!--', '-->', '<svg>', '</svg', '>', 'a', ' ', '<', '/');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
      const html = parts.join('');
      let at = 0;
      for (const char of simplifyHtml(html)) {
        at = html.indexOf(char, at) + 1;
        expect(at).toBeGreaterThan(0);
      }
    }),
    runs(100),
  );
});

test.each(['<script', '<script>', '<!--', '<!-- -->', '<svg></svg', '</script', '<script></script>', '<style><!--'])(
  'a megabyte of %s takes four times as long as a quarter of it',
  (part) => expectLinear(1024 * 1024, (size) => part.repeat(Math.ceil(size / part.length)), simplifyHtml),
);

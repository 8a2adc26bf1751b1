import { describe, expect } from 'vitest';
import { parseReport } from '../../src/plan/report/report-yaml.ts';
import { parseContextLog } from '../../src/session/context/context-log-parse.ts';
import { parseMemos } from '../../src/session/global/memos.ts';
import { readPlainYaml } from '../../src/session/yaml/plain-yaml.ts';
import { parseUntrustedYaml, yamlLimits } from '../../src/session/yaml/untrusted-yaml.ts';
import { expectLinear } from '../support/growth.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

/** A log with this text as its front matter. */
const asLog = (yaml: string) => `---\n${yaml}---\n<!-- teddy-0a system -->\nx\n<!-- teddy-0a message -->\nx\n`;

const readers: [name: string, read: (yaml: string) => unknown][] = [
  ['a report', parseReport],
  ['memos', parseMemos],
  ['front matter', (yaml) => parseContextLog(asLog(yaml))],
];

/** The reason for the refusal. */
function reasonOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    expect(error).toMatchObject({ code: 'DAMAGED_SESSION' });
    return (error as Error).message;
  }
  return 'it was read';
}

const many = (count: number, make: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => make(at)).join('');

/** Each is small, and of a kind that teddy never writes. */
const hostile: [what: string, make: (count: number) => string][] = [
  ['anchors', (count) => many(count, (at) => `a${at}: &a${at} 'x'\n`)],
  ['anchors of one name', (count) => many(count, (at) => `a${at}: &a 'x'\n`)],
  ['aliases', (count) => `a: &a 'x'\n${many(count, (at) => `b${at}: *a\n`)}`],
  ['anchored items', (count) => many(count, (at) => `- &a${at} x\n`)],
  ['anchors in brackets', (count) => `a: [${many(count, (at) => `&a${at} x, `)}]\n`],
  ['tags', (count) => many(count, (at) => `a${at}: !foo 'x'\n`)],
  ['directives', (count) => `${'%FOO x\n'.repeat(count)}---\na: b\n`],
  ['keys', (count) => many(count, (at) => `a${at}: 'x'\n`)],
  ['keys in brackets', (count) => `{${many(count, (at) => `k${at}: 1, `)}}\n`],
  ['equal keys', (count) => "a: 'x'\n".repeat(count)],
  ['errors', (count) => '- }\n'.repeat(count)],
  ['documents', (count) => "--- 'x'\n".repeat(count)],
  ['empty lines in a block', (count) => `a: |\n  x\n${'\n'.repeat(8 * count)}  y\n`],
  ['empty items', (count) => `a: [${','.repeat(count)}]\n`],
];

/** The same parser reads all of them; these get as far as a reader's work on a document. */
const parsed = hostile.filter(([what]) => /^(?:keys|equal keys|empty)/.test(what));

describe.each(readers)('%s', (_name, read) => {
  slowTest.each(read === parseReport ? hostile : parsed)('with many %s takes linear time', (_what, make) =>
    expectLinear(8000, make, (yaml) => reasonOf(() => read(yaml))),
  );
});

describe('text that no session has', () => {
  test.each([
    ["a: &a 'x'\n", 'line 1: it has an anchor (&a)'],
    ["a: 'x'\nb:\n  - *gone\n", 'line 3: it has an alias (*gone)'],
    ["a: !!binary 'x'\n", 'line 1: it has a tag (!!binary)'],
    ["%YAML 1.1\n---\na: 'x'\n", 'line 1: it has a directive (%YAML 1.1)'],
    ["a: 'x'\nb: 1\n'a': 2\n", 'line 3: the key "a" appears twice'],
    ['a: { b: 1, "b": 2 }\n', 'line 1: the key "b" appears twice'],
    ["? [a]\n: 'x'\n", 'line 1: it has a key that is not text'],
    [`${'- '.repeat(1000)}x\n`, 'it is nested more deeply than any report'],
    [`a: '${'x'.repeat(yamlLimits.length)}'\n`, 'it has 8,388,614 characters, but teddy reads at most 8,388,608'],
    [`[${'x, '.repeat(150_000)}]\n`, 'it has more than 250,000 parts'],
  ])('is refused with the reason: %.40j', (yaml, reason) => {
    expect(() => parseUntrustedYaml(yaml)).toThrow(reason);
  });

  test('is named if it is in a report, memos or a log', () => {
    expect(reasonOf(() => parseReport("a: &a 'x'\n"))).toMatch(/cannot be read: line 1: it has an anchor \(&a\)/);
    expect(reasonOf(() => parseMemos('- fine\n- &a x\n'))).toMatch(/memos\.yaml, line 2: it has an anchor \(&a\)/);
    expect(reasonOf(() => parseContextLog(asLog("a: &a 'x'\n")))).toMatch(/front matter.*: line 1: it has an anchor/);
  });
});

test('the same characters in texts and comments are just text and comments', () => {
  const yaml = `a: "&x *y !z %w"\nb: '&x *y !z'\nc: x &y *z !w\nd: |\n  &x\n  *y: !z\n  %YAML 1.1\n# &x *y !z\ne: >-\n  &x\nf: "x\n  &y\n  *z"\n`;
  expect(parseUntrustedYaml(yaml).document.toJS()).toEqual({
    a: '&x *y !z %w',
    b: '&x *y !z',
    c: 'x &y *z !w',
    d: '&x\n*y: !z\n%YAML 1.1\n',
    e: '&x',
    f: 'x &y *z',
  });
});

slowTest('a text of 60 MB in a report is read or refused, and the process survives', () => {
  const long = 'x'.repeat(60_000_000);
  expect(readPlainYaml(`a: "${long}"\n`)).toEqual({ value: { a: long } });
  expect(reasonOf(() => parseReport(`a: "${long}\\x41"\n`))).toMatch(/60,000,\d+ characters/);
});

import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { Document, parse, stringify } from 'yaml';
import { renderReport } from '../../src/plan/report/report-yaml.ts';
import type { Report } from '../../src/plan/report/report.ts';
import { parseTurnName, type Oid, type SessionId } from '../../src/names.ts';
import { readPlainYaml } from '../../src/session/yaml/plain-yaml.ts';
import { path } from '../support/disk.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const word = fc.constantFrom(
  'plain',
  'Two words',
  'a: b',
  'yes',
  'null',
  '12',
  '1e5',
  '- x',
  '#',
  'x #y',
  "it's",
  'ä',
  '',
  ' ',
  '~',
  'Say "x"',
  'Say "it\'s"',
  '3 files',
  '-x',
  '--all',
  './a',
  '../a',
  '$HOME',
  '✅ done',
  'x\n\n\n',
  '\n\n  x',
  '  two\n\ttab',
  'a\tb',
  '\uFEFFbom',
  'x\uFEFF',
  '\u0085\u007F',
  '?x',
  ':x',
  '1.2.3',
  '12:30',
  '0o17',
  '2026-01-24',
  '---',
  '...',
  '+',
);
const lines = fc.array(fc.oneof(word, fc.string({ unit: 'grapheme', maxLength: 6 })), { maxLength: 4 });
const text = fc.oneof(
  word,
  fc.string({ unit: 'binary', maxLength: 8 }),
  lines.map((all) => all.join('\n')),
);

const report: fc.Arbitrary<Report> = fc
  .record({
    title: text,
    command: text,
    stdout: text,
    error: fc.option(text),
    added: fc.array(text, { maxLength: 2 }),
    variable: fc.constantFrom('CI', '_X', 'y', 'NO', 'null'),
    line: fc.nat(),
  })
  .map(({ title, command, stdout, error, added, variable, line }) => ({
    version: 1,
    session: '20260124-bench' as SessionId,
    turn: parseTurnName('02'),
    plan: { title, sha256: '1'.repeat(63) + 'e', agent: 'pathfinder', model: null },
    run_summary: {
      status: 'SUCCESS',
      start_time: '2026-01-24T10:00:00.000Z',
      end_time: '2026-01-24T10:00:00.000Z',
      error,
    },
    memos: { added, removed: [], rejected: [] },
    action_logs: [
      {
        index: 1,
        action_type: 'EDIT',
        status: 'SUCCESS',
        params: { file_path: 'src/a.ts' },
        details: { match: 'lines', line },
      },
      {
        index: 2,
        action_type: 'EXECUTE',
        status: 'SUCCESS',
        params: { command, env: { [variable]: command } },
        details: { stdout, return_code: 0 },
      },
    ],
    changes: [{ path: path('src/a.ts'), change: 'added', before: null, after: '2'.repeat(40) as Oid, action: 1 }],
    validation_errors: [],
  }));

const frontMatter = `teddy-context: 1
session: 20260124-bench
turn: "01"
agent: pathfinder
model: gpt-5.1
parameters: { temperature: 0.2, seed: 7, stream: true }
tokens: 7301 # estimate
boundary: teddy-0a1b2c3d
`;

/** Including the order of the keys. */
function expectSame(yaml: string): void {
  const plain = readPlainYaml(yaml);
  if (plain !== null) expect(JSON.stringify(plain.value)).toBe(JSON.stringify(parse(yaml, { logLevel: 'error' })));
}

/** These come between and around the parts of a document. */
const spaces = ['\n', '\n  ', '\n    ', ' ', '\t', '\r\n'];
const marks = [
  ': ',
  ':',
  '- ',
  '\n- ',
  '\n  - ',
  '|',
  '|-',
  '|+',
  "''",
  '"',
  "'",
  '#',
  ' # x',
  '[]',
  '{}',
  '{ a: 1 }',
  ', ',
  '---',
  '...',
];
const scalars = [
  'a',
  'b',
  'null',
  'true',
  'True',
  '0',
  '12',
  '007',
  '1.5',
  '-1',
  '1e3',
  '\\n',
  '\\u0041',
  '&a ',
  '*a',
  '!!str ',
  '3 x',
  '-x',
  './x',
  '$x',
  '(x',
];
const piece = fc.constantFrom(...spaces, ...marks, ...scalars, 'a: ', '\nb: ', '\na:');

describe('the plain reader', () => {
  propertyTest('reads any report like the parser', () => {
    fc.assert(
      fc.property(report, (given) => expectSame(renderReport(given))),
      runs(100),
    );
  });

  propertyTest('reads every report that teddy writes', () => {
    fc.assert(
      fc.property(report, (given) => {
        expect(readPlainYaml(renderReport(given))).toEqual({ value: given });
      }),
      runs(100),
    );
  });

  propertyTest('reads like the parser after any change to a document', () => {
    const cut = fc.record({
      given: report,
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      length: fc.nat(12),
      more: fc.array(piece, { maxLength: 3 }),
    });
    const changed = cut.map(({ given, at, length, more }) => {
      const yaml = renderReport(given);
      const start = Math.floor(at * yaml.length);
      return yaml.slice(0, start) + more.join('') + yaml.slice(start + length);
    });
    const made = fc.array(piece, { maxLength: 14 }).map((pieces) => `a: ${pieces.join('')}\n`);
    fc.assert(fc.property(fc.oneof(changed, made), expectSame), runs(1000));
  });

  test('leaves to the parser everything that it would read differently, or refuse', () => {
    const ids = ['1'.repeat(40), `1e${'1'.repeat(38)}`, `${'1'.repeat(63)}e`].map((id) => `a: ${id}\n`);
    const blocks = ['\n   ', '\n \n  y', '\n   \n  y', '\n   y\n    ', '\n\n\nb: 1'].flatMap((rest) => [
      `a: |\n  x${rest}\n`,
      `a: |-\n  x${rest}\n`,
    ]);
    const quoted = ["'", "'''", "'x''", "'it''s'", "'a' b", "'x'  "].map((text) => `a: ${text}\n`);
    for (const yaml of [...ids, ...blocks, ...quoted, 'a: b\na: c\n', 'a:\n  b: { c: 1, c: 2 }\n', 'a: -0\n'])
      expectSame(yaml);
  });

  test.each(['Say "x"', '3 files', '-x', '✅ done', './a: b', 'x\n\n\n', '\u0007'])('reads the title %j', (a) => {
    const yaml = new Document({ a }).toString({ doubleQuotedAsJSON: true, lineWidth: 0 });
    expect(readPlainYaml(yaml)).toEqual({ value: { a } });
  });

  test("reads the usual report and a log's front matter", () => {
    expect(readPlainYaml(frontMatter)).toEqual({ value: parse(frontMatter) });
    const usual = stringify({ a: [{ b: 'one\ntwo\n', c: 'x y' }], d: [], e: { f: null, g: 'one\ntwo' } });
    expect(readPlainYaml(usual)).toEqual({ value: parse(usual) });
  });
});

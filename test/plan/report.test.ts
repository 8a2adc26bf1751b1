import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { parse } from 'yaml';
import { parseReport, renderReport, reportJsonSchema } from '../../src/plan/report/report-yaml.ts';
import type { ActionDetails } from '../../src/plan/effects/action-details.ts';
import type { ActionLog, Report } from '../../src/plan/report/report.ts';
import { type Oid, parseTurnName, type SessionId } from '../../src/names.ts';
import { path } from '../support/disk.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const oid = (digit: string) => digit.repeat(40) as Oid;

const full: Report = {
  version: 1,
  session: '20260124-add-user-auth' as SessionId,
  turn: parseTurnName('02'),
  plan: { title: 'Add the login route', sha256: 'a'.repeat(64), grammar: 2, agent: 'pathfinder', model: null },
  run_summary: {
    status: 'FAILURE',
    start_time: '2026-01-24T10:00:00.000Z',
    end_time: '2026-01-24T10:00:02.000Z',
    error: null,
  },
  memos: { added: ['uses tabs'], removed: [], rejected: [] },
  action_logs: [
    {
      index: 1,
      action_type: 'EDIT',
      status: 'SUCCESS',
      params: { file_path: 'src/app.ts', description: 'register the route' },
      approved_by: 'user',
      modified_by_user: false,
      duration_ms: 3,
      details: { match: 'lines', line: 12 },
    },
    {
      index: 2,
      action_type: 'EXECUTE',
      status: 'FAILURE',
      params: { command: 'npm test', cwd: '.', env: { CI: 'yes' } },
      details: { return_code: 1, failed_command: 'npm test', stdout: 'one\n  two\n', stderr: '', timed_out: false },
    },
  ],
  changes: [{ path: path('src/app.ts'), change: 'modified', before: oid('1'), after: oid('2'), action: 1 }],
  validation_errors: [],
};

function thrownBy(yaml: string): unknown {
  try {
    return parseReport(yaml);
  } catch (error) {
    return error;
  }
}

describe('rendering', () => {
  test('orders the keys as in the specification, with output lines as a literal block', () => {
    expect(renderReport(full)).toBe(`version: 1
session: 20260124-add-user-auth
turn: "02"
plan:
  title: Add the login route
  sha256: ${'a'.repeat(64)}
  grammar: 2
  agent: pathfinder
  model: null
run_summary:
  status: FAILURE
  start_time: "2026-01-24T10:00:00.000Z"
  end_time: "2026-01-24T10:00:02.000Z"
  error: null
memos:
  added:
    - uses tabs
  removed: []
  rejected: []
action_logs:
  - index: 1
    action_type: EDIT
    status: SUCCESS
    params:
      file_path: src/app.ts
      description: register the route
    approved_by: user
    modified_by_user: false
    duration_ms: 3
    details:
      match: lines
      line: 12
  - index: 2
    action_type: EXECUTE
    status: FAILURE
    params:
      command: npm test
      cwd: "."
      env:
        CI: "yes"
    details:
      return_code: 1
      failed_command: npm test
      stdout: |
        one
          two
      stderr: ""
      timed_out: false
changes:
  - path: src/app.ts
    change: modified
    before: "${'1'.repeat(40)}"
    after: "${'2'.repeat(40)}"
    action: 1
validation_errors: []
`);
  });

  test("ignores the keys' order in memory", () => {
    const reverse = <T extends object>(value: T) => Object.fromEntries(Object.entries(value).reverse()) as T;
    const logs = full.action_logs.map(({ details = {}, ...log }) => reverse({ ...log, details: reverse(details) }));
    const reversed = reverse({ ...full, plan: reverse(full.plan), action_logs: logs });
    expect(renderReport(reversed)).toBe(renderReport(full));
  });

  test('writes the same value twice in full', () => {
    const shared = { file_path: 'a' };
    const log: ActionLog = { index: 1, action_type: 'READ', status: 'SUCCESS', params: shared };
    expect(renderReport({ ...full, action_logs: [log, { ...log, index: 2 }] })).not.toMatch(/[&*]a1/);
  });

  test('puts text that a literal block cannot contain on one line, as in JSON', () => {
    const error = 'the first line of the output\r\nthe second line of the output\r\n';
    const summary = { ...full.run_summary, error };
    expect(renderReport({ ...full, run_summary: summary })).toContain(`error: ${JSON.stringify(error)}\n`);
  });

  test('does not fold long lines', () => {
    const title = 'word '.repeat(100).trim();
    expect(renderReport({ ...full, plan: { ...full.plan, title } })).toContain(`title: ${title}\n`);
  });
});

describe('a rendered report is read back exactly', () => {
  const nasty = [
    '02',
    'yes',
    'null',
    '~',
    '1e3',
    '2026-01-24',
    '2026-01-24T10:00:00.000Z',
    '',
    ' ',
    ' \n',
    '\n ',
    '\n',
    '\n\n',
    ' lead\n  in\n',
    '\n  a\n b',
    'trail \t\nnext  ',
    'ends in spaces\n   ',
    'a\n\n\n',
    'tab\there\n\tand here\n',
    'crlf\r\nlf\ncr\r',
    '\u0000\u0007\u001b[31mred\u001b[0m\u007f\u0085\u009b',
    '\u2028\u2029\uFEFF',
    '\uD800 alone',
    'ü 漢 🧸\n🧸',
    '- a: b # c',
    '---\na: 1\n...\n%TAG',
    '? x',
    '"quoted" \'both\'',
    '{ a: [1] }',
    '&anchor *alias !tag | >',
    'key: |\n  text',
    'x'.repeat(5_000),
    '<<',
    '0x1f',
    '=',
    '1:30',
  ];
  const text = fc.oneof(
    fc.constantFrom(...nasty),
    fc.string({ unit: fc.nat(0xffff).map((code) => String.fromCharCode(code)) }),
    fc.string({ unit: fc.constantFrom(' ', '\n', '\t', 'a', '#', ':', '-', '\r', '|', '"') }),
  );
  const texts = fc.array(text, { maxLength: 3 });
  const position = fc.integer({ min: 1, max: 99_999 });
  const time = fc
    .date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') })
    .map((at) => at.toISOString());
  const object = fc.option(fc.constantFrom(oid('0'), oid('9'), oid('e'), 'c'.repeat(64) as Oid));
  const key = text.filter((name) => name !== '__proto__');

  const details: fc.Arbitrary<ActionDetails> = fc.record(
    {
      reason: text,
      match: text,
      line: position,
      matches: fc.array(fc.record({ pair: position, match: text, line: position }), { maxLength: 2 }),
      return_code: fc.integer({ min: 0, max: 255 }),
      failed_command: text,
      failed_line: position,
      stdout: text,
      stderr: text,
      timed_out: fc.boolean(),
      truncated: fc.boolean(),
      output_file: text,
      answer: text,
    },
    { requiredKeys: [] },
  );
  const log: fc.Arbitrary<ActionLog> = fc.record(
    {
      index: position,
      action_type: fc.constantFrom('CREATE', 'EDIT', 'READ', 'EXECUTE', 'PROMPT', 'INVOKE'),
      status: fc.constantFrom('SUCCESS', 'FAILURE', 'SKIPPED', 'ABORTED'),
      params: fc.dictionary(key, fc.oneof(text, fc.integer(), fc.boolean(), fc.dictionary(key, text)), {
        noNullPrototype: true,
      }),
      approved_by: fc.constantFrom('user', 'flag', 'none'),
      modified_by_user: fc.boolean(),
      duration_ms: fc.nat(),
      details,
    },
    { requiredKeys: ['index', 'action_type', 'status', 'params'] },
  );
  const report: fc.Arbitrary<Report> = fc.record({
    version: fc.constant(1),
    session: fc.constantFrom(full.session, '20260124-1' as SessionId),
    turn: fc.constantFrom(full.turn, parseTurnName('08'), parseTurnName('100'), parseTurnName('02-branch-01')),
    plan: fc.record({
      title: text,
      sha256: fc.constantFrom('0'.repeat(64), '1e'.repeat(32), 'f'.repeat(64)),
      agent: fc.option(text),
      model: fc.option(text),
    }),
    run_summary: fc.record({
      status: fc.constantFrom('SUCCESS', 'FAILURE', 'VALIDATION_FAILED', 'SKIPPED', 'ABORTED'),
      start_time: time,
      end_time: time,
      error: fc.option(text),
    }),
    memos: fc.record({ added: texts, removed: texts, rejected: texts }),
    action_logs: fc.array(log, { maxLength: 3 }),
    changes: fc.array(
      fc.record({
        path: text.map(path),
        change: fc.constantFrom('added', 'modified', 'deleted'),
        before: object,
        after: object,
        action: position,
      }),
      { maxLength: 2 },
    ),
    validation_errors: fc.array(
      fc.record(
        { line: position, column: position, message: text, hint: text, action: position },
        { requiredKeys: ['line', 'column', 'message'] },
      ),
      { maxLength: 2 },
    ),
  });

  test.each(nasty.map((value) => [JSON.stringify(value).slice(0, 60), value]))('%s', (_, value) => {
    const stdout: Report = { ...full, memos: { added: [value], removed: [], rejected: [] } };
    expect(parseReport(renderReport(stdout))).toEqual(stdout);
    expect(parse(renderReport(stdout), { version: '1.1' })).toMatchObject({ memos: { added: [value] } });
  });

  propertyTest('any report', () => {
    fc.assert(
      fc.property(report, (any) => {
        expect(parseReport(renderReport(any))).toEqual(any);
      }),
      runs(200),
    );
  });
});

describe('reading', () => {
  test('refuses a damaged report with the name of the fault', () => {
    const yaml = renderReport(full);
    const cases: [string, RegExp][] = [
      [yaml.replace('status: FAILURE', 'status: GREAT'), /run_summary\.status is not SUCCESS or FAILURE/],
      [yaml.replace('turn: "02"', 'turn: 2'), /turn is not of type string/],
      [yaml.replace('turn: "02"', 'turn: two'), /turn is not valid/],
      [yaml.replace('version: 1', 'version: 2'), /version is not 1/],
      [yaml.replace('index: 1', 'index: one'), /action_logs\.0\.index is not of type/],
      [yaml.replace('index: 1', 'index: 1.5'), /action_logs\.0\.index is not of type int/],
      [yaml.replace('index: 1', 'index: 0'), /action_logs\.0\.index is not valid/],
      [yaml.replace('CI: "yes"', 'CI: 1'), /action_logs\.1\.params\.env is not valid/],
      [yaml.slice(0, 80), /plan\.sha256 is not of type string/],
      ['- [', /cannot be read/],
      ['', /the document is not of type object/],
    ];
    for (const [damaged, message] of cases) {
      expect(thrownBy(damaged)).toMatchObject({ code: 'DAMAGED_SESSION', message: expect.stringMatching(message) });
    }
  });

  test('finds no grammar in reports from before grammars had versions, and a higher one in later ones', () => {
    const { grammar: _, ...plan } = full.plan;
    const before = renderReport({ ...full, plan });
    expect(before).toBe(renderReport(full).replace('  grammar: 2\n', ''));
    expect(parseReport(before)).toEqual({ ...full, plan });
    expect(parseReport(renderReport({ ...full, plan: { ...plan, grammar: 7 } })).plan.grammar).toBe(7);
    expect(thrownBy(renderReport(full).replace('grammar: 2', 'grammar: two'))).toMatchObject({
      message: expect.stringContaining('plan.grammar'),
    });
  });

  test("leaves out a later version's keys", () => {
    expect(parseReport(`${renderReport(full)}later: 1\n`)).toEqual(full);
  });
});

test('the JSON Schema names the fields in a report and the required ones, and allows others', () => {
  expect(reportJsonSchema()).toMatchObject({
    type: 'object',
    required: Object.keys(full),
    properties: {
      plan: { required: ['title', 'sha256', 'agent', 'model'], properties: { grammar: { type: 'integer' } } },
      run_summary: { properties: { status: { enum: expect.arrayContaining(['VALIDATION_FAILED']) } } },
    },
  });
  expect(reportJsonSchema()).not.toHaveProperty('additionalProperties');
});

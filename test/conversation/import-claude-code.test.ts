import { describe, expect, test } from 'vitest';
import { abortedOutput } from '../../src/conversation/records/record.ts';
import { followPath } from '../../src/conversation/logs/rewinds.ts';
import { unitLimits } from '../../src/conversation/logs/import-unit.ts';
import {
  faultsOf,
  importedAt,
  importFixture,
  importLines,
  importOptions,
  outline,
  openImporter,
} from '../support/import-source.ts';

const missing = '"The source of this conversation holds no result of this call"';

function line(type: string, uuid: string, content: unknown, more: object = {}): object {
  const message = { role: type, content, ...(type === 'assistant' ? { id: `msg-of-${uuid}` } : {}) };
  return { type, uuid, parentUuid: null, isSidechain: false, sessionId: 's', message, ...more };
}
const text = (said: string) => [{ type: 'text', text: said }];
const call = (id: string) => [{ type: 'tool_use', id, name: 'Read', input: { path: id } }];
const result = (id: string) => [{ type: 'tool_result', tool_use_id: id, content: `of ${id}` }];
const of = (id: string) => ({ message: { role: 'assistant', id } });

describe('a Claude Code session', () => {
  const { units, report, title } = importFixture('claude-code', 'claude-code.jsonl');

  test('becomes messages, exchanges and replies, and joins answers that are split over lines', () => {
    expect(outline(units)).toEqual([
      'message: note The user ran /clear. | user Add a login route, please. 🙂',
      'exchange: thinking Let me look. | assistant I look at the routes and the tests. | call Read | call Bash | ' +
        'result "1→export const routes = [];" | error [{"type":"text","text":"1 failed"},{"type":"text","text":"[image/png, 1 KB, left out]"}]',
      'message: user and a logout route',
      'exchange: call Edit | error "The user doesn\'t want to proceed with this tool use." | ' +
        'note The user interrupted the model here.',
      'message: user Only the login route.',
      'reply: assistant_partial Both routes are | note The user interrupted the model here.',
      'reply: assistant [The conversation was compacted here. The summary of what stands above:]\n\n' +
        'This session is being continued from a previous conversation. Ada wants a login route.',
      'message: user What does it look like?\n\n[image/png, 1 KB, left out]',
      `exchange: note API Error: 529 overloaded | call Write | error ${missing}`,
    ]);
    expect(faultsOf(units)).toEqual([]);
  });

  test("keeps the source's ids and times, and the input of the calls", () => {
    expect(units[0]?.records.slice(1)).toEqual([
      {
        type: 'user',
        id: 'a1b2c3d4-0000-4000-8000-000000000004',
        timestamp: '2026-01-24T10:00:02.000Z',
        message: { role: 'user', content: 'Add a login route, please. 🙂' },
        source: 'import',
      },
    ]);
    expect(units[1]?.records[2]).toMatchObject({
      tool_call_id: 'toolu_01',
      tool_input: { file_path: '/home/ada/shop/routes.ts' },
    });
  });

  test('reports the parts left out, and their kinds', () => {
    expect(title).toBe('Login route for the shop');
    expect(report).toEqual({
      lines: 28,
      records: 20,
      summaries: 1,
      skipped: { count: 0, issues: [] },
      repaired: { count: 1, issues: [{ line: 28, text: 'call toolu_04 has no result: one that says so was added' }] },
      leftOut: [
        { what: 'titles', count: 1 },
        { what: 'lines of bookkeeping', count: 3 },
        { what: 'notices of the program', count: 2 },
        { what: 'lines of side chains', count: 2 },
        { what: 'images', count: 2 },
        { what: 'repeated lines', count: 1 },
      ],
    });
  });
});

describe("Claude Code's lines", () => {
  test("a log with only side chains is a subagent's, and its messages are imported", () => {
    const side = { isSidechain: true };
    const { units, report } = importLines('claude-code', [
      line('user', '1', 'Find the tests.', side),
      line('assistant', '2', text('There are two.'), side),
    ]);
    expect(outline(units)).toEqual(['message: user Find the tests.', 'reply: assistant There are two.']);
    expect(report.leftOut).toEqual([]);
  });

  test('a compaction summary at the start is a user message', () => {
    const summary = line('user', '1', 'Ada wants a route.', { isCompactSummary: true });
    expect(outline(importLines('claude-code', [summary, line('assistant', '2', text('I go on.'))]).units)).toEqual([
      'message: user Ada wants a route.',
      'reply: assistant I go on.',
    ]);
  });

  test('a result that comes after the next answer has begun still answers its call', () => {
    const lines = [
      line('assistant', '1', call('a')),
      line('assistant', '2', text('Meanwhile')),
      line('user', '3', result('a')),
    ];
    const { units, report } = importLines('claude-code', lines);
    expect(outline(units)).toEqual(['exchange: call Read | result "of a"', 'reply: assistant Meanwhile']);
    expect(report.repaired.count).toBe(0);
  });

  test('an answer is emitted as soon as the next one begins, and no sooner', () => {
    const importer = openImporter('claude-code', importOptions);
    const push = (one: object) => outline(importer.push(`${JSON.stringify(one)}\n`));
    expect(push(line('assistant', '1', call('a')))).toEqual([]);
    expect(push(line('user', '2', result('a')))).toEqual([]);
    expect(push(line('assistant', '3', text('Next')))).toEqual(['exchange: call Read | result "of a"']);
  });

  test('a prompt that is queued while tools run waits for their results, and so do later ones', () => {
    const attachment = { type: 'queued_command', prompt: 'Hurry up', commandMode: 'prompt' };
    const lines = [
      line('assistant', '1', null, { message: { role: 'assistant', id: 'm', content: call('a') } }),
      line('attachment', '2', null, { attachment }),
      line('assistant', '3', null, { message: { role: 'assistant', id: 'm', content: call('b') } }),
      line('user', '4', 'Well?'),
      line('assistant', '5', text('Soon.')),
      line('user', '6', result('b')),
      line('user', '7', result('a')),
      line('assistant', '8', text('Done.')),
    ];
    const { units, report } = importLines('claude-code', lines);
    expect(outline(units)).toEqual([
      'exchange: call Read | call Read | result "of a" | result "of b"',
      'message: user Hurry up',
      'message: user Well?',
      'reply: assistant Soon.',
      'reply: assistant Done.',
    ]);
    expect(report).toMatchObject({ skipped: { count: 0 }, repaired: { count: 0 }, records: 8 });
  });

  test('a result that arrives after the queue is full is reported, and everything else appears once', () => {
    const messages = Array.from({ length: unitLimits.queuedUnits + 1 }, (_, at) =>
      line('user', `u${at}`, `Well ${at}`),
    );
    const lines = [line('assistant', '1', call('a')), ...messages, line('user', '3', result('a'))];
    const { units, report } = importLines('claude-code', lines);
    const said = messages.map((_, at) => `message: user Well ${at}`);
    expect(outline(units)).toEqual([`exchange: call Read | error ${missing}`, ...said]);
    expect(report.skipped.issues.map(({ text: why }) => why)).toEqual([
      'a result of call a, which is not waiting for one',
    ]);
  });

  test('a call that appears twice in an answer is one call', () => {
    const first = line('assistant', '1', call('a'), of('m'));
    const lines = [first, { ...first, uuid: '2' }, line('user', '3', result('a'))].map((one, index) =>
      index < 2 ? { ...one, message: { role: 'assistant', id: 'm', content: call('a') } } : one,
    );
    const { units, report } = importLines('claude-code', lines);
    expect(outline(units)).toEqual(['exchange: call Read | result "of a"']);
    expect(report.skipped.issues).toEqual([{ line: 2, text: 'call a occurs twice' }]);
  });

  test('an interrupted call counts as aborted', () => {
    const lines = [line('assistant', '1', call('a')), line('user', '2', text('[Request interrupted by user]'))];
    const [unit] = importLines('claude-code', lines).units;
    expect(unit?.records[1]).toMatchObject({ output: abortedOutput, is_error: true, reason: 'aborted' });
  });

  test('a message that quotes the interruption mark is kept', () => {
    const lines = [line('user', '1', 'What is [Request interrupted by user]?')];
    expect(outline(importLines('claude-code', lines).units)).toEqual([
      'message: user What is [Request interrupted by user]?',
    ]);
  });

  test('a slash command is the text that the user typed', () => {
    const typed =
      '<command-message>review</command-message><command-name>/review</command-name><command-args>a b</command-args>';
    const lines = [line('user', '1', typed), line('user', '2', 'The prompt of it', { isMeta: true })];
    expect(outline(importLines('claude-code', lines).units)).toEqual(['message: user /review a b']);
  });

  test('a task that reports back while the model works is not the user', () => {
    const attachment = { type: 'queued_command', prompt: 'done', commandMode: 'task-notification' };
    expect(importLines('claude-code', [{ type: 'attachment', uuid: '1', attachment }]).units).toEqual([]);
  });

  test("the user's own title takes precedence over the program's", () => {
    const lines = [
      { type: 'custom-title', customTitle: 'Routes' },
      { type: 'ai-title', aiTitle: 'Adding routes' },
    ];
    expect(importLines('claude-code', lines).title).toBe('Routes');
  });

  test("a record without a time gets the import's, and a time in another zone is converted to UTC", () => {
    const lines = [line('user', '1', 'a'), line('user', '2', 'b', { timestamp: '2026-01-24T12:00:00+02:00' })];
    const times = importLines('claude-code', lines).units.map(({ records }) => records[0]?.timestamp);
    expect(times).toEqual([importedAt, '2026-01-24T10:00:00.000Z']);
  });

  test('damaged lines are skipped or repaired and counted, and the others are read', () => {
    const good = line('user', '1', 'a');
    const lines = [
      '\uFEFF{"type":"user","uuid":',
      '7',
      '[]',
      '{}',
      `\0\0\0${JSON.stringify(good)}`,
      '',
      `${JSON.stringify(line('user', '2', 'b'))}${JSON.stringify(line('user', '3', 'c'))}\r`,
    ];
    const { units, report } = importLines('claude-code', lines);
    expect(outline(units)).toEqual(['message: user a', 'message: user b', 'message: user c']);
    expect(report.skipped.issues.map((issue) => issue.line)).toEqual([1, 2, 3, 4]);
    expect(report.repaired.issues.map((issue) => issue.line)).toEqual([5, 7]);
    expect(report.lines).toBe(6);
  });

  test('of a hundred and fifty skipped lines all are counted, and the first hundred are named', () => {
    const { skipped } = importLines(
      'claude-code',
      Array.from({ length: 150 }, () => 'x'),
    ).report;
    expect([skipped.count, skipped.issues.length, skipped.issues.at(-1)?.line]).toEqual([150, 100, 100]);
  });
});

describe('a rewind', () => {
  const prompt = (uuid: string, parentUuid: string | null, more: object = {}) =>
    line('user', uuid, uuid, { parentUuid, ...more });
  const answer = (uuid: string, parentUuid: string) => line('assistant', uuid, text(uuid), { parentUuid });
  const first = [prompt('u1', null), answer('a1', 'u1')];

  /**
   * Splits a log into the current line and every attempt, each with its earlier messages, and reports the lines they
   * begin on.
   */
  function split(lines: readonly object[]): { leaves: (number | null)[]; lines: string[][]; begins: number[] } {
    const importer = openImporter('claude-code', importOptions);
    const units = [...importer.push(lines.map((one) => `${JSON.stringify(one)}\n`).join('')), ...importer.end()];
    const rewinds = importer.rewinds?.() ?? null;
    if (rewinds === null) return { leaves: [], lines: [], begins: [] };
    const { main, attempts } = rewinds;
    return {
      leaves: attempts.map(({ leaves }) => leaves),
      lines: [main, ...attempts.map(({ path }) => path)].map((path) =>
        outline(units.filter(followPath(path))).map((one) => one.replace(/^.* /, '')),
      ),
      begins: attempts.map(({ line: number }) => number),
    };
  }

  test('leaves the last typed prompt in the current line, and the others as attempts', () => {
    const again = [prompt('u3', 'a1'), answer('a3', 'u3'), prompt('u4', 'a3')];
    expect(split([...first, prompt('u2', 'a1'), answer('a2', 'u2'), ...again])).toEqual({
      leaves: [null],
      lines: [
        ['u1', 'a1', 'u3', 'a3', 'u4'],
        ['u1', 'a1', 'u2', 'a2'],
      ],
      begins: [3],
    });
  });

  test('within an attempt that was abandoned later leaves that attempt', () => {
    const abandoned = [prompt('u2', 'a1'), answer('a2', 'u2'), prompt('u3', 'a2'), prompt('u4', 'a2')];
    expect(split([...first, ...abandoned, prompt('u5', 'a1'), answer('a5', 'u5')])).toEqual({
      leaves: [null, 0],
      lines: [
        ['u1', 'a1', 'u5', 'a5'],
        ['u1', 'a1', 'u2', 'a2', 'u4'],
        ['u1', 'a1', 'u2', 'a2', 'u3'],
      ],
      begins: [3, 5],
    });
  });

  test('to the very first prompt has nothing before it', () => {
    expect(split([...first, prompt('u2', null), answer('a2', 'u2')]).lines).toEqual([
      ['u2', 'a2'],
      ['u1', 'a1'],
    ]);
  });

  test('keeps an attempt that was resumed', () => {
    const lines = [...first, prompt('u2', 'a1'), prompt('u3', 'a1'), answer('a3', 'u3'), answer('a2', 'u2')];
    expect(split(lines).lines).toEqual([
      ['u1', 'a1', 'u2', 'a2'],
      ['u1', 'a1', 'u3', 'a3'],
    ]);
  });

  test('is not assumed if an answer has several calls, or if the program speaks', () => {
    const calls = [['x', 'u2'] as const, ['y', 'x'] as const].map(([id, parentUuid]) =>
      line('assistant', id, call(id), { parentUuid, message: { role: 'assistant', id: 'm', content: call(id) } }),
    );
    const results = ['x', 'y'].map((id) => line('user', `r-${id}`, result(id), { parentUuid: id }));
    const notices = [prompt('m', 'a1', { isMeta: true }), prompt('n', 'x', { isMeta: true })];
    const end = [
      line('user', 'i', text('[Request interrupted by user]'), { parentUuid: 'r-y' }),
      prompt('c', 'i', { isCompactSummary: true }),
    ];
    expect(split([...first, prompt('u2', 'a1'), ...calls, ...results, ...notices, ...end]).lines).toEqual([]);
  });

  test('is also assumed if two programs continue from one place, answer by answer', () => {
    const lines = [...first, prompt('u2', 'a1'), prompt('v2', 'a1'), answer('b2', 'v2'), answer('a2', 'u2')];
    expect(split([...lines, prompt('v3', 'b2'), prompt('u3', 'a2')]).lines).toEqual([
      ['u1', 'a1', 'u2', 'a2', 'u3'],
      ['u1', 'a1', 'v2', 'b2', 'v3'],
    ]);
  });
});

import { describe, expect, test } from 'vitest';
import { chatTools, parseCall } from '../../src/conversation/prompts/chat-tools.ts';

const call = (name: string, values: unknown) =>
  parseCall({ id: 'call_1', name, arguments: typeof values === 'string' ? values : JSON.stringify(values) });
const problemOf = (name: string, values: unknown) => {
  const parsed = call(name, values);
  return 'problem' in parsed ? parsed.problem : null;
};

const tooLong =
  /^`edits` has 20[12] lines, and takes 200 at most: a longer text goes through WritePlanTool_begin, as plain text/;

describe('the tools in a conversation', () => {
  test('are the four for the project, the one that edits a file and the one that begins one', () => {
    expect(chatTools.map(({ name }) => name)).toEqual([
      'read_file',
      'list_files',
      'search_text',
      'run_command',
      'edit_file',
      'WritePlanTool_begin',
    ]);
  });

  test.each(chatTools)("accept in $name only the schema's properties, and describe each", ({ parameters }) => {
    expect(parameters).toMatchObject({ type: 'object', additionalProperties: false });
    const { properties, required } = parameters as { properties: Record<string, unknown>; required: string[] };
    for (const property of Object.values(properties))
      expect(property).toMatchObject({
        type: expect.stringMatching(/^(?:string|integer|boolean|array)$/),
        description: expect.any(String),
      });
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(required));
  });
});

describe('a call', () => {
  test.each([
    ['read_file', { path: 'a.ts' }, { path: 'a.ts', fromLine: null, toLine: null }],
    ['read_file', { path: 'a.ts', from_line: 3, to_line: 3 }, { path: 'a.ts', fromLine: 3, toLine: 3 }],
    ['list_files', '', { path: null, pattern: null }],
    ['list_files', { path: './', pattern: null }, { path: null, pattern: null }],
    ['list_files', { path: 'src', pattern: '*.ts' }, { path: 'src', pattern: '*.ts' }],
    ['search_text', { query: ' a ' }, { query: ' a ', isRegex: false, path: null, ignoresCase: false }],
    [
      'search_text',
      { query: 'a+', is_regex: true, ignore_case: true, path: 'src' },
      { query: 'a+', isRegex: true, path: 'src', ignoresCase: true },
    ],
    ['run_command', { command: 'make' }, { command: 'make', cwd: null, timeoutMs: null }],
    ['run_command', { command: 'make', cwd: 'app', timeout_s: 5 }, { command: 'make', cwd: 'app', timeoutMs: 5000 }],
    [
      'edit_file',
      { path: 'a.ts', edits: [{ find: 'a', replace: '' }], match_all: true },
      { path: 'a.ts', edits: [{ find: 'a', replace: '' }], matchAll: true },
    ],
    [
      'WritePlanTool_begin',
      { intent: 'Explain it', target_file: 'guide.md', operation: 'create' },
      { intent: 'Explain it', target: 'guide.md', operation: 'create' },
    ],
  ])('to %s with %j returns its values', (name, values, expected) => {
    expect(call(name, values)).toEqual({ name, ...expected });
  });

  test('to edit_file with 200 lines returns its values', () => {
    const edits = [
      { find: 'a', replace: 'x\n'.repeat(198) },
      { find: 'b', replace: '' },
    ];
    expect(call('edit_file', { path: 'a', edits })).toMatchObject({ edits });
  });

  test.each([
    ['edit_file', { path: 'a', edits: [] }, /^`edits` is empty\. Call edit_file again with path, edits, match_all/],
    ['edit_file', { path: 'a', edits: 'x' }, /^`edits` is not a list\./],
    [
      'edit_file',
      { path: 'a', edits: [{ find: 'a' }] },
      /^Edit 1 of `edits` does not have the texts `find` and `replace`/,
    ],
    ['edit_file', { path: 'a', edits: [{ find: 'a', replace: 'x\n'.repeat(200) }] }, tooLong],
    ['edit_file', { path: 'a', edits: [{ find: 'a\r\n'.repeat(201), replace: '' }] }, tooLong],
    ['edit_file', { path: 'a', edits: Array(101).fill({ find: 'a', replace: 'b' }) }, tooLong],
    ['write_file', {}, /^There is no tool "write_file"\. The tools are read_file, .*WritePlanTool_begin\.$/],
    [
      'read_file',
      '{"path":"a',
      /^The arguments are not a JSON object\. Call read_file again with path, from_line \(optional\)/,
    ],
    ['read_file', '[]', /^The arguments are not a JSON object\./],
    ['read_file', {}, /^The parameter `path` is required\./],
    ['read_file', { path: null }, /^The parameter `path` is required\./],
    ['read_file', { path: 7 }, /^`path` is not a text\./],
    ['read_file', { path: 'a', from_line: 0 }, /^`from_line` is not a whole number from 1\./],
    ['read_file', { path: 'a', from_line: '2' }, /^`from_line` is not a whole number/],
    ['read_file', { path: 'a', from_line: 1.5 }, /^`from_line` is not a whole number/],
    ['read_file', { path: 'a', from_line: 3, to_line: 2 }, /^`to_line` comes before `from_line`\./],
    ['read_file', { path: 'a', content: 'x', toString: 1 }, /^There is no parameter "content", "toString"\./],
    ['search_text', { query: '' }, /^`query` is empty\./],
    ['search_text', { query: 'a\nb' }, /^`query` has more than one line\./],
    ['search_text', { query: 'a'.repeat(1001) }, /^`query` has more than 1000 characters\./],
    ['search_text', { query: 'a', is_regex: 'yes' }, /^`is_regex` is not true or false\./],
    ['run_command', { command: ' \n' }, /^`command` is empty\./],
    ['run_command', { command: 'a\0b' }, /^`command` has a NUL character\./],
    ['run_command', { command: 'a', timeout_s: 100_000 }, /^`timeout_s` is not a whole number from 1 to 86400\./],
    [
      'WritePlanTool_begin',
      { target_file: 'a', operation: 'create', intent: 'i', content: 'x' },
      /content is never part of a call/,
    ],
  ])('to %s with %j is answered with advice', (name, values, problem) => {
    expect(problemOf(name, values)).toMatch(problem);
  });
});

import { describe, expect, test } from 'vitest';
import type { Action, ParsedPlan, Problem } from '../../src/plan/plan.ts';
import type { FileTarget } from '../../src/ports.ts';
import { toEffect } from '../../src/plan/validate-action.ts';
import { runVirtually } from '../../src/plan/validate.ts';
import { bytes, diskOf, path } from '../support/disk.ts';

type Draft = Action extends infer A
  ? A extends Action
    ? Omit<A, 'index' | 'line' | 'column' | 'description'>
    : never
  : never;

const create = (name: string, content: string, overwrite = false): Draft => ({
  type: 'CREATE',
  path: path(name),
  content,
  overwrite,
});
const edit = (name: string, ...pairs: [string | null, string][]): Draft => ({
  type: 'EDIT',
  path: path(name),
  matchAll: false,
  pairs: pairs.map(([find, replace], i) => ({ find, replace, line: 100 + i, column: 3 })),
});
const read = (name: string): Draft => ({
  type: 'READ',
  resource: { kind: 'path', path: path(name) },
  lines: '10-20',
});
const execute = (script: string, cwd = '.'): Draft => ({
  type: 'EXECUTE',
  script,
  expectedOutcome: null,
  cwd,
  env: { CI: '1' },
  timeoutMs: 5_000,
  allowFailure: false,
  tail: null,
});

function toAction(draft: Draft, i: number): Action {
  return { ...draft, index: i + 1, line: 10 * (i + 1), column: 1, description: null };
}

function planOf(drafts: Draft[], problems: Problem[] = []): ParsedPlan {
  const plan = {
    title: 'A plan',
    metadata: {},
    rationale: null,
    contextVault: null,
    memos: [],
    actions: drafts.map(toAction),
    message: drafts.length === 0 ? 'Hello' : null,
  };
  return { plan, problems, notes: [] };
}

async function run(disk: Record<string, string | FileTarget>, ...drafts: Draft[]) {
  return await runVirtually(planOf(drafts), diskOf(disk));
}

async function problemOf(disk: Record<string, string | FileTarget>, draft: Draft): Promise<string> {
  const { problems, effects } = await run(disk, draft);
  expect(effects).toEqual([]);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatchObject({ line: expect.any(Number), action: 1 });
  return problems[0]?.message ?? '';
}

describe('the whole plan', () => {
  test('stacked changes are checked as they will run', async () => {
    const { problems, effects } = await run(
      {},
      create('src/a.ts', 'one\n'),
      edit('src/a.ts', ['one\n', 'two\n']),
      edit('src/a.ts', ['two\n', 'three\n']),
      read('src/a.ts'),
      execute('ls', 'src'),
    );
    expect(problems).toEqual([]);
    expect(effects).toMatchObject([
      { kind: 'write', action: 1, path: 'src/a.ts', before: null, after: bytes('one\n'), matches: [] },
      { action: 2, before: bytes('one\n'), after: bytes('two\n'), matches: [{ pair: 1, kind: 'lines', line: 1 }] },
      { action: 3, before: bytes('two\n'), after: bytes('three\n') },
      { kind: 'read', action: 4, path: 'src/a.ts', lines: '10-20' },
      { kind: 'command', action: 5, script: 'ls', cwd: 'src', env: { CI: '1' }, timeoutMs: 5_000 },
    ]);
  });

  test('a second CREATE of the same file is found before anything runs', async () => {
    const { problems } = await run({}, create('a', '1'), create('a', '2'), create('a/b', '3'));
    expect(problems.map(({ action, message }) => [action, message])).toEqual([
      [2, 'CREATE a: the file exists already.'],
      [3, 'CREATE a/b: `a` is a file, not a directory.'],
    ]);
  });

  test('the problems of the parser and of all actions come in the order of the text', async () => {
    const parsed = planOf(
      [edit('no.ts', ['a\n', 'b\n']), execute(' \n')],
      [{ line: 15, column: 1, message: 'stray text' }],
    );
    const { problems } = await runVirtually(parsed, diskOf({}));
    expect(problems.map(({ line }) => line)).toEqual([10, 15, 20]);
    expect(parsed.problems).toHaveLength(1);
  });

  test('what the parser has found at a place is not said twice', async () => {
    const known = { line: 10, column: 1, action: 1, message: 'The script is empty.' };
    const { problems } = await runVirtually(planOf([execute(''), execute('')], [known]), diskOf({}));
    expect(problems).toMatchObject([known, { line: 20, action: 2 }]);
  });

  test('after a command the files are taken to be as before it', async () => {
    const { problems } = await run({ a: 'one\n' }, execute('rm a'), edit('a', ['one\n', 'two\n']));
    expect(problems).toEqual([]);
  });

  test('a plan with a message and no action is valid', async () => {
    expect(await run({})).toEqual({ problems: [], effects: [] });
  });
});

describe('CREATE', () => {
  test('a file that is there is only replaced with Overwrite', async () => {
    expect(await problemOf({ a: 'old' }, create('a', 'new'))).toBe('CREATE a: the file exists already.');
    const { effects } = await run({ a: 'old' }, create('a', 'new', true));
    expect(effects).toMatchObject([{ kind: 'write', before: bytes('old'), after: bytes('new') }]);
  });

  test('what is no file is never replaced, not even with Overwrite', async () => {
    expect(await problemOf({ 'a/b': '' }, create('a', '', true))).toBe('CREATE a: it is a directory.');
    expect(await problemOf({ a: '' }, create('a/b', '', true))).toContain('`a` is a file');
    expect(await problemOf({ a: { kind: 'special' } }, create('a', '', true))).toContain('a device');
  });

  test('a symlink that leads out of the project is refused', async () => {
    const outside: FileTarget = { kind: 'outside', link: path('link') };
    expect(await problemOf({ 'link/b': outside }, create('link/b', ''))).toContain(
      '`link` is a symlink that leads out',
    );
    expect(await problemOf({ link: outside }, create('link', ''))).toContain('it is a symlink that leads out');
  });
});

describe('EDIT', () => {
  test('the target has to be a file that exists', async () => {
    expect(await problemOf({}, edit('a', ['x\n', 'y\n']))).toBe('EDIT a: there is no such file.');
    expect(await problemOf({ 'a/b': '' }, edit('a', ['x\n', 'y\n']))).toBe('EDIT a: it is a directory.');
    expect(await problemOf({ a: { kind: 'outside', link: path('a') } }, edit('a', ['x\n', 'y\n']))).toContain(
      'symlink',
    );
  });

  test('a file that is not UTF-8 is refused', async () => {
    const latin: FileTarget = { kind: 'file', bytes: new Uint8Array([0x66, 0xfc, 0x72, 0x0a]), executable: false };
    expect(await problemOf({ a: latin }, edit('a', ['f\n', 'y\n']))).toBe('EDIT a: the file is not UTF-8 text.');
    expect(await problemOf({ a: latin }, edit('a', [null, 'y\n']))).toBe('EDIT a: the file is not UTF-8 text.');
  });

  test('an EDIT without a pair is refused', async () => {
    expect(await problemOf({ a: 'x' }, edit('a'))).toBe('EDIT a: there is nothing to replace.');
  });

  test('every pair that does not apply is a problem at its own place', async () => {
    const { problems, effects } = await run({ a: 'x\nx\n' }, edit('a', ['q\n', ''], ['x\n', 'y\n']));
    expect(effects).toEqual([]);
    expect(problems).toMatchObject([
      { line: 100, column: 3, action: 1, message: 'EDIT a: FIND 1 was not found; no part of the file is like it.' },
      { line: 101, column: 3, action: 1, message: 'EDIT a: FIND 2 matches 2 places, expected one: lines 1, 2.' },
    ]);
  });

  test('a byte order mark and CRLF are kept in the bytes', async () => {
    const { effects } = await run({ a: '\uFEFFü\r\nx\r\n' }, edit('a', ['x\n', 'y\n']));
    expect(effects).toMatchObject([{ after: bytes('\uFEFFü\r\ny\r\n') }]);
  });
});

describe('READ', () => {
  test('a local target has to be there; a directory will do', async () => {
    expect(await problemOf({}, read('a'))).toBe('READ a: there is no such path.');
    expect(await problemOf({ a: { kind: 'outside', link: path('a') } }, read('a'))).toContain('symlink');
    expect((await run({ 'a/b': '' }, read('a'))).problems).toEqual([]);
  });

  test('a URL is not supported yet', async () => {
    const url: Draft = { type: 'READ', resource: { kind: 'url', url: 'https://example.org/' }, lines: null };
    expect(await problemOf({}, url)).toContain('not supported yet');
  });
});

describe('EXECUTE', () => {
  test('an empty script is refused', async () => {
    expect(await problemOf({}, execute(' \n\n'))).toBe('EXECUTE: the script is empty.');
  });

  test('cwd has to be a directory inside the project', async () => {
    expect(await problemOf({}, execute('ls', 'src'))).toBe('EXECUTE: cwd src: there is no such path.');
    expect(await problemOf({ a: '' }, execute('ls', 'a'))).toBe('EXECUTE: cwd a: it is a file.');
    expect(await problemOf({}, execute('ls', '../other'))).toContain('leaves the project');
    expect(await problemOf({ a: { kind: 'outside', link: path('a') } }, execute('ls', 'a'))).toContain('symlink');
    expect((await run({ 'a/b': '' }, execute('ls', 'a'))).problems).toEqual([]);
  });
});

describe('the other actions', () => {
  test('a question is shown as it is', async () => {
    const { effects } = await run({}, { type: 'CHAT_WITH_USER', text: 'Which one?' }, { type: 'PROMPT', text: 'And?' });
    expect(effects).toEqual([
      { kind: 'ask', action: 1, text: 'Which one?' },
      { kind: 'ask', action: 2, text: 'And?' },
    ]);
  });

  test.each(['PRUNE', 'INVOKE', 'RESEARCH'] as const)('%s is not supported yet', async (type) => {
    expect(await problemOf({}, { type, params: {}, body: '' })).toBe(`${type} is not supported yet.`);
  });
});

test('one action can be asked again, against the files as they are by then', async () => {
  const action = toAction(edit('a', ['one\n', 'two\n']), 0);
  expect(await toEffect(action, diskOf({ a: 'zero\none\n' }))).toMatchObject({ effect: { matches: [{ line: 2 }] } });
  expect(await toEffect(action, diskOf({ a: 'two\n' }))).toMatchObject({
    problems: [{ message: expect.stringContaining('already applied') }],
  });
});

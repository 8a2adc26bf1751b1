import { describe, expect, test } from 'vitest';
import type { Problem } from '../../src/plan/match/problem.ts';
import type { Action, ParsedPlan } from '../../src/plan/plan.ts';
import type { Resource } from '../../src/plan/actions/action.ts';
import type { FileTarget } from '../../src/ports/files.ts';
import { toEffect } from '../../src/plan/actions/actions.ts';
import { runVirtually } from '../../src/plan/validate.ts';
import type { RepoPath } from '../../src/names.ts';
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
const fetch = (url: string): Draft => ({ type: 'READ', resource: { kind: 'url', url }, lines: null });
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
  return await runVirtually(planOf(drafts), { inspect: diskOf(disk) });
}

async function problemOf(disk: Record<string, string | FileTarget>, draft: Draft): Promise<string> {
  const { problems, effects } = await run(disk, draft);
  expect(effects).toEqual([]);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatchObject({ line: expect.any(Number), action: 1 });
  return problems[0]?.message ?? '';
}

describe('the plan as a whole', () => {
  test('has stacked changes checked as they will run', async () => {
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

  test('has a second CREATE of the same file found before anything runs', async () => {
    const { problems } = await run({}, create('a', '1'), create('a', '2'), create('a/b', '3'));
    expect(problems.map(({ action, message }) => [action, message])).toEqual([
      [2, 'CREATE a: the file exists already.'],
      [3, 'CREATE a/b: `a` is a file, not a directory.'],
    ]);
  });

  test('has the problems by the parser and in all actions in the order of the text', async () => {
    const parsed = planOf(
      [edit('no.ts', ['a\n', 'b\n']), execute(' \n')],
      [{ line: 15, column: 1, message: 'stray text' }],
    );
    const { problems } = await runVirtually(parsed, { inspect: diskOf({}) });
    expect(problems.map(({ line }) => line)).toEqual([10, 15, 20]);
    expect(parsed.problems).toHaveLength(1);
  });

  test("has a parser's problem at a place reported once", async () => {
    const known = { line: 10, column: 1, action: 1, message: 'The script is empty.' };
    const { problems } = await runVirtually(planOf([execute(''), execute('')], [known]), { inspect: diskOf({}) });
    expect(problems).toMatchObject([known, { line: 20, action: 2 }]);
  });

  test('has the files assumed unchanged after a command', async () => {
    const { problems } = await run({ a: 'one\n' }, execute('rm a'), edit('a', ['one\n', 'two\n']));
    expect(problems).toEqual([]);
  });

  test('is valid with a message and no action', async () => {
    expect(await run({})).toEqual({ problems: [], effects: [] });
  });
});

describe('a name that differs only in case or Unicode form', () => {
  const absent = { 'readme.md': { kind: 'absent', twin: path('README.md') } } as const;
  const prune: Draft = { type: 'PRUNE', resource: { kind: 'path', path: path('readme.md') } };

  test('is not a problem for a new file', async () => {
    expect(await problemOf(absent, create('readme.md', 'a'))).toBe(
      'CREATE readme.md: no clone on macOS or Windows can hold it beside `README.md`, whose name differs only in case.',
    );
  });

  test.each([
    ['EDIT', edit('readme.md', ['a', 'b'])],
    ['READ', read('readme.md')],
    ['PRUNE', prune],
  ])('is a question to %s', async (_type, draft) => {
    expect(await problemOf(absent, draft)).toMatch(
      /there is no such path; did you mean `README\.md`, whose name differs only in case\.$/,
    );
  });

  test('that becomes equal only by percent-decoding names no other file, but is a question', async () => {
    const link = { 'a b.md': { kind: 'absent', twin: path('a%20b.md') } } as const;
    expect(await run(link, create('a b.md', '1'))).toMatchObject({ problems: [] });
    expect(await problemOf(link, edit('a b.md', ['a', 'b']))).toContain(
      'did you mean `a%20b.md`, whose % is written %25 in a link',
    );
  });

  test.each([
    ['a.txt', 'A.txt', '`a.txt`, whose name differs only in case'],
    ['src/a.txt', 'SRC/b.txt', '`src`, whose name differs only in case'],
    ['caf\u00e9', 'cafe\u0301', '`caf\u00e9`, whose name differs only in its Unicode form'],
  ])('is found within a plan: %j, then %j', async (first, second, twin) => {
    const { problems } = await run({}, create(first, '1'), create(second, '2'));
    expect(problems).toMatchObject([{ action: 2, message: expect.stringContaining(twin) }]);
  });
});

describe('CREATE', () => {
  test('replaces an existing file only with Overwrite', async () => {
    expect(await problemOf({ a: 'old' }, create('a', 'new'))).toBe('CREATE a: the file exists already.');
    const { effects } = await run({ a: 'old' }, create('a', 'new', true));
    expect(effects).toMatchObject([{ kind: 'write', before: bytes('old'), after: bytes('new') }]);
  });

  test('never replaces anything but a file, not even with Overwrite', async () => {
    expect(await problemOf({ 'a/b': '' }, create('a', '', true))).toBe('CREATE a: it is a directory.');
    expect(await problemOf({ a: '' }, create('a/b', '', true))).toContain('`a` is a file');
    expect(await problemOf({ a: { kind: 'special' } }, create('a', '', true))).toContain('a device');
  });

  test('refuses a symlink that leads out of the project', async () => {
    const outside: FileTarget = { kind: 'outside', link: path('link') };
    expect(await problemOf({ 'link/b': outside }, create('link/b', ''))).toContain(
      '`link` is a symlink that leads out',
    );
    expect(await problemOf({ link: outside }, create('link', ''))).toContain('it is a symlink that leads out');
  });
});

describe('EDIT', () => {
  test('needs an existing file as its target', async () => {
    expect(await problemOf({}, edit('a', ['x\n', 'y\n']))).toBe('EDIT a: there is no such file.');
    expect(await problemOf({ 'a/b': '' }, edit('a', ['x\n', 'y\n']))).toBe('EDIT a: it is a directory.');
    expect(await problemOf({ a: { kind: 'outside', link: path('a') } }, edit('a', ['x\n', 'y\n']))).toContain(
      'symlink',
    );
  });

  test('refuses a file that is not UTF-8', async () => {
    const latin: FileTarget = { kind: 'file', bytes: new Uint8Array([0x66, 0xfc, 0x72, 0x0a]), executable: false };
    expect(await problemOf({ a: latin }, edit('a', ['f\n', 'y\n']))).toBe('EDIT a: the file is not UTF-8 text.');
    expect(await problemOf({ a: latin }, edit('a', [null, 'y\n']))).toBe('EDIT a: the file is not UTF-8 text.');
  });

  test('is refused without a pair', async () => {
    expect(await problemOf({ a: 'x' }, edit('a'))).toBe('EDIT a: there is nothing to replace.');
  });

  test('reports every pair that does not apply at its own place', async () => {
    const { problems, effects } = await run({ a: 'x\nx\n' }, edit('a', ['q\n', ''], ['x\n', 'y\n']));
    expect(effects).toEqual([]);
    expect(problems).toMatchObject([
      { line: 100, column: 3, action: 1, message: 'EDIT a: FIND 1 was not found; no part of the file is like it.' },
      { line: 101, column: 3, action: 1, message: 'EDIT a: FIND 2 matches 2 places, expected one: lines 1, 2.' },
    ]);
  });

  test('keeps a byte order mark and CRLF in the bytes', async () => {
    const { effects } = await run({ a: '\uFEFFü\r\nx\r\n' }, edit('a', ['x\n', 'y\n']));
    expect(effects).toMatchObject([{ after: bytes('\uFEFFü\r\ny\r\n') }]);
  });
});

describe('READ', () => {
  test('needs an existing local target; a directory will do', async () => {
    expect(await problemOf({}, read('a'))).toBe('READ a: there is no such path.');
    expect(await problemOf({ a: { kind: 'outside', link: path('a') } }, read('a'))).toContain('symlink');
    expect((await run({ 'a/b': '' }, read('a'))).problems).toEqual([]);
  });

  test('refuses a file behind a symlink in the project, with the name to use', async () => {
    const target: FileTarget = { kind: 'file', bytes: bytes('x\n'), executable: false, real: path('private/plan.txt') };
    const refused = 'READ way/plan.txt: it goes through a symbolic link; name private/plan.txt, where it leads.';
    expect(await problemOf({ 'way/plan.txt': target }, read('way/plan.txt'))).toBe(refused);
    // Even after an EDIT, which the link leads to its file.
    const { problems } = await run({ 'way/plan.txt': target }, edit('way/plan.txt', ['x', 'y']), read('way/plan.txt'));
    expect(problems).toMatchObject([{ action: 2, message: refused }]);
  });

  test.each(['.env', 'config/.env.local', 'deploy/server.pem', '.ssh/known_hosts', 'ID_RSA'])(
    'cannot show %s, which is named like a secret',
    async (name) => {
      expect(await problemOf({ [name]: 'TOKEN=1\n' }, read(name))).toBe(
        `READ ${name}: named like a secret; only the user's own global.context or session.context can show it.`,
      );
    },
  );

  test('refuses a directory of secrets, but not one that is merely named like a file of secrets', async () => {
    expect(await problemOf({ '.ssh/config': '' }, read('.ssh'))).toContain('named like a secret');
    expect((await run({ '.env/bin/python': '' }, read('.env'))).problems).toEqual([]);
    expect((await run({ '.env.example': '' }, read('.env.example'))).problems).toEqual([]);
  });

  test('refuses ignored files, and asks git once and only about the files it names', async () => {
    const asked: string[][] = [];
    const world = {
      inspect: diskOf({ 'dist/x': '', 'src/a': '', b: '' }),
      findIgnored: async (paths: RepoPath[]) => {
        asked.push(paths);
        return paths.filter((name) => name.startsWith('dist/'));
      },
    };
    const plan = planOf([read('dist/x'), edit('b', [null, 'c']), read('src/a')]);
    const { problems, effects } = await runVirtually(plan, world);
    expect(problems).toMatchObject([
      { action: 1, message: expect.stringMatching(/^READ dist\/x: git ignores it; only the user's own /) },
    ]);
    expect(effects.map(({ action }) => action)).toEqual([2, 3]);
    expect(asked).toEqual([['dist/x', 'src/a']]);
    await runVirtually(planOf([create('c', ''), fetch('https://example.org')]), world);
    expect(asked).toHaveLength(1);
  });

  test('fetches a public page by its one spelling', async () => {
    const { problems, effects } = await run({}, fetch('HTTPS://Example.org/a#b'));
    expect(problems).toEqual([]);
    expect(effects).toEqual([{ kind: 'fetch', action: 1, url: 'https://example.org/a', lines: null }]);
  });

  test.each([
    ['http://example.org/', 'only `https://` is fetched, not `http://`'],
    ['file:///etc/passwd', 'only `https://` is fetched, not `file://`'],
    ['https://localhost:8443/', 'it names this machine'],
    ['https://0x7f.1/', '127.0.0.1 is not a public address'],
    ['https://[::ffff:169.254.169.254]/', '[::ffff:a9fe:a9fe] is not a public address'],
  ])('refuses %s before anything runs', async (url, reason) => {
    expect(await problemOf({}, fetch(url))).toBe(`READ ${url}: ${reason}.`);
  });
});

describe('PRUNE', () => {
  test('accepts any path and any URL, whether it exists or not', async () => {
    const prune = (resource: Resource): Draft => ({ type: 'PRUNE', resource });
    const { problems, effects } = await run(
      { '.env': '' },
      prune({ kind: 'path', path: path('gone.ts') }),
      prune({ kind: 'path', path: path('.env') }),
      prune({ kind: 'url', url: 'http://example.org/' }),
    );
    expect(problems).toEqual([]);
    expect(effects).toEqual([
      { kind: 'prune', action: 1, resource: 'gone.ts' },
      { kind: 'prune', action: 2, resource: '.env' },
      { kind: 'prune', action: 3, resource: 'http://example.org/' },
    ]);
  });
});

describe('EXECUTE', () => {
  test('refuses an empty script', async () => {
    expect(await problemOf({}, execute(' \n\n'))).toBe('EXECUTE: the script is empty.');
  });

  test('needs a directory inside the project as its cwd', async () => {
    expect(await problemOf({}, execute('ls', 'src'))).toBe('EXECUTE: cwd src: there is no such path.');
    expect(await problemOf({ a: '' }, execute('ls', 'a'))).toBe('EXECUTE: cwd a: it is a file.');
    expect(await problemOf({}, execute('ls', '../other'))).toContain('leaves the project');
    expect(await problemOf({ a: { kind: 'outside', link: path('a') } }, execute('ls', 'a'))).toContain('symlink');
    expect((await run({ 'a/b': '' }, execute('ls', 'a'))).problems).toEqual([]);
  });
});

describe('CHAT_WITH_USER', () => {
  test('shows a question unchanged', async () => {
    const { effects } = await run({}, { type: 'CHAT_WITH_USER', text: 'Which one?' }, { type: 'PROMPT', text: 'And?' });
    expect(effects).toEqual([
      { kind: 'ask', action: 1, text: 'Which one?' },
      { kind: 'ask', action: 2, text: 'And?' },
    ]);
  });
});

describe('RESEARCH', () => {
  const research = (...queries: string[]): Draft => ({ type: 'RESEARCH', queries });

  test('is a problem without a search command, and passes its queries to an existing one', async () => {
    const plan = planOf([research('node streams', 'backpressure')]);
    const found = await runVirtually(plan, { inspect: diskOf({}), canSearch: async () => true });
    expect(found).toMatchObject({
      problems: [],
      effects: [{ kind: 'search', action: 1, queries: ['node streams', 'backpressure'] }],
    });
    const refused = await runVirtually(plan, { inspect: diskOf({}), canSearch: async () => false });
    expect(refused.problems).toMatchObject([{ action: 1, message: 'RESEARCH: no search command configured.' }]);
    expect(refused.problems[0]?.hint).toContain('git config teddy.searchCommand <command>');
  });

  test('refuses a query that the command would take for an option', async () => {
    expect(await problemOf({}, research('fine', '--output=a'))).toContain('the query "--output=a" begins with `-`');
  });

  test('reads the setting only for a plan that has one', async () => {
    const world = { inspect: diskOf({}), canSearch: () => Promise.reject(new Error('asked')) };
    expect((await runVirtually(planOf([create('a', '')]), world)).problems).toEqual([]);
    await expect(runVirtually(planOf([research('a')]), world)).rejects.toThrow('asked');
  });
});

describe('INVOKE', () => {
  const invoke = (agent: string): Draft => ({ type: 'INVOKE', agent, text: 'Go on.' });

  test('hands over only to a known agent', async () => {
    const world = { inspect: diskOf({}), listAgents: async () => ['dev', 'scribe'] };
    const { problems, effects } = await runVirtually(planOf([invoke('scribe'), invoke('nobody')]), world);
    expect(effects).toEqual([{ kind: 'invoke', action: 1, agent: 'scribe', text: 'Go on.' }]);
    expect(problems).toMatchObject([
      { action: 2, message: 'INVOKE nobody: there is no such agent.', hint: 'Choose one of: dev, scribe.' },
    ]);
  });

  test('lists the agents only for a plan that names one', async () => {
    const world = { inspect: diskOf({}), listAgents: () => Promise.reject(new Error('listed')) };
    expect((await runVirtually(planOf([create('a', '')]), world)).problems).toEqual([]);
    await expect(runVirtually(planOf([invoke('dev')]), world)).rejects.toThrow('listed');
  });
});

test('one action can be rechecked against the current files', async () => {
  const action = toAction(edit('a', ['one\n', 'two\n']), 0);
  expect(await toEffect(action, { inspect: diskOf({ a: 'zero\none\n' }) })).toMatchObject({
    effect: { matches: [{ line: 2 }] },
  });
  expect(await toEffect(action, { inspect: diskOf({ a: 'two\n' }) })).toMatchObject({
    problems: [{ message: expect.stringContaining('already applied') }],
  });
});

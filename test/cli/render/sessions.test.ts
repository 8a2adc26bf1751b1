import { expect, test } from 'vitest';
import { renderSessions, takeFirst } from '../../../src/cli/render/sessions.ts';
import { widthOf } from '../../../src/cli/render/cut-to-width.ts';
import { openTerminal, type Terminal } from '../../../src/cli/terminal.ts';
import type { SessionId } from '../../../src/names.ts';
import { sortNewest, type ListedSession } from '../../../src/workflow/review/list-sessions.ts';
import { memoryContext } from '../../support/cli-context.ts';

const now = new Date('2026-01-24T12:00:00.000Z');
const wide = (columns: number): Terminal => ({ ...openTerminal(memoryContext(), 'never'), columns });

function listed(name: string, more: Partial<ListedSession> = {}): ListedSession {
  return {
    session: `20260124-${name}` as SessionId,
    line: `teddy/20260124-${name}`,
    remote: null,
    remotes: [],
    created: '2026-01-24T09:00:00.000Z',
    turns: 1,
    status: 'closed',
    last: 'report: SUCCESS Do it',
    conversationBranches: [],
    current: false,
    archived: false,
    state: 'closed',
    title: 'Do it',
    updated: '2026-01-24T09:00:00.000Z',
    agent: null,
    model: null,
    awaitsVerdict: false,
    committed: null,
    byNote: null,
    beside: null,
    ...more,
  };
}

test('a row has mark, name, turns, age, state and title, in columns', () => {
  const rows = renderSessions(
    wide(80),
    [
      listed('short', { current: true, state: 'pending', title: 'Say so', turns: 12 }),
      listed('a-longer-name', { updated: '2026-01-21T09:00:00.000Z', conversationBranches: ['x'] }),
      listed('far', { state: 'remote', remote: 'b', remotes: ['a', 'b'] }),
      listed('renamed', { line: 'feature/x', state: 'failed' }),
      listed('refused', { state: 'failed', last: 'report: ABORTED Do it' }),
    ],
    now.getTime(),
  );
  expect(rows).toBe(
    [
      '* 20260124-short          12 turns  3 h     pending plan  Say so',
      '  20260124-a-longer-name  1 turn    3 days  closed        Do it (+1 branch)',
      '  20260124-far            1 turn    3 h     only on a, b  Do it',
      '  20260124-renamed        1 turn    3 h     failed        Do it on feature/x',
      '  20260124-refused        1 turn    3 h     aborted       Do it',
      '',
    ].join('\n'),
  );
});

test('a row ends with the other work tree where its session is checked out, whole', () => {
  const sessions = [listed('here', { current: true }), listed('there', { title: 'A title '.repeat(20) })];
  const root = '/home/ada/projects/a long way from here/.git/teddy/worktrees/20260124-there';
  const branch = 'teddy/20260124-there';
  const trees = [
    { path: root, branch },
    { path: '/other', branch: `${branch}--02-branch-01` },
  ];
  const rows = renderSessions(wide(80), sessions, now.getTime(), new Map([['20260124-there' as SessionId, trees]]));
  expect(rows.trimEnd().split('\n')).toEqual([
    '* 20260124-here   1 turn  3 h  closed  Do it',
    expect.stringMatching(
      /^ {2}20260124-there  1 turn  3 h  closed  A title .*…  in \/home\/.*there, in \/other \(teddy\/20260124-there--02-branch-01\)$/,
    ) as string,
  ]);
});

test('the title is cut so that rows fit, in any script', () => {
  const title = '日本語のとても長い題名がここにあります。'.repeat(5);
  const sessions = [
    listed('авторизация', { title }),
    listed('日本', { title }),
    listed('plain', { title: 'x'.repeat(200) }),
  ];
  for (const columns of [80, 120]) {
    const rows = renderSessions(wide(columns), sessions, now.getTime()).trimEnd().split('\n');
    for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(columns);
    expect(new Set(rows.map((row) => widthOf(row.slice(0, row.indexOf('3 h'))))).size).toBe(1);
    expect(Math.max(...rows.map(widthOf))).toBe(columns);
  }
});

test('a long name leaves the other rows room for their titles', () => {
  const more = { turns: 128, state: 'pending', title: 'x'.repeat(200), updated: '2026-01-13T12:00:00.000Z' } as const;
  const sessions = [listed('short', more), listed('long-'.repeat(9), more)];
  for (const columns of [76, 80, 120])
    expect(widthOf(renderSessions(wide(columns), sessions, now.getTime()).split('\n')[0] ?? '')).toBe(columns);
});

test('a long name is cut so that titles stand below each other, and of a narrow row the model goes first', () => {
  const more = { agent: 'claude-code', model: 'claude-opus', title: 'Add a route' };
  const sessions = [listed('short', more), listed('claude-add-a-login-route-and-a-page', more)];
  const render = (columns: number) => renderSessions(wide(columns), sessions, now.getTime()).trimEnd().split('\n');
  expect(render(80)).toEqual([
    '  20260124-short                1 turn  3 h  closed  Add a route [claude-code]',
    '  20260124-claude-add-a-login…  1 turn  3 h  closed  Add a route [claude-code]',
  ]);
  expect(render(120)[1]).toContain('  Add a route [claude-code, claude-opus]');
  expect(render(Number.POSITIVE_INFINITY)[1]).toContain('20260124-claude-add-a-login-route-and-a-page  1 turn');
});

test('the newest step comes first; one from the future is no newest one', () => {
  const at = (name: string, updated: string) => listed(name, { updated });
  const sorted = sortNewest(
    [at('old', '2026-01-02'), at('future', '2030-01-01'), at('new', '2026-01-20'), at('middle', '2026-01-10')],
    now,
  );
  expect(sorted.map(({ session }) => session.slice(9))).toEqual(['new', 'middle', 'old', 'future']);
});

test('a limit takes the first, and the current session is always on the first page', () => {
  const many = Array.from({ length: 60 }, (_, at) => listed(`s${at}`, { current: at === 55 }));
  const names = (limit: number, sessions = many) => takeFirst(sessions, limit).map(({ session }) => session.slice(9));
  expect(names(50)).toEqual(['s55', ...Array.from({ length: 49 }, (_, at) => `s${at}`)]);
  expect(names(2)).toEqual(['s55', 's0']);
  expect(names(Number.POSITIVE_INFINITY)).toHaveLength(60);
  expect(names(3, many.slice(50))).toEqual(['s55', 's50', 's51']);
  expect(names(8, many.slice(50))).toEqual(Array.from({ length: 8 }, (_, at) => `s${50 + at}`));
});

/** `undo` and `rewind` as commands: what they print, and what they refuse. What git and the disk make of them is in e2e/undo. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { createAction, editAction, planOf } from '../support/teddy-project.ts';

let teddy: MemoryTeddy;

beforeEach(async () => {
  teddy = await openMemoryTeddy({ files: { 'a.txt': 'a\n', 'b.txt': 'b\n' } });
});
afterEach(() => teddy.close());

async function turn(...actions: string[]): Promise<void> {
  await teddy.plan(planOf(...actions));
  await teddy.ok('session', 'execute', '-y');
}

test('undo names the turns that there are where there is nothing to take back', async () => {
  await teddy.begin('undo');
  await turn(editAction('a.txt', 'a', 'A'), createAction('deep/er/new.txt', 'new\n'));
  expect(await teddy.ok('session', 'undo')).toMatch(/^2 files of turn 01 taken back, undo [0-9a-f]{10}\n$/);
  expect((await teddy.subjects())[0]).toBe('turn 01 undo: 2 files of turn 01 taken back');
  const nothing = await teddy.refuses('NOTHING_TO_UNDO', 3, ['session', 'undo']);
  expect(nothing).toContain('`teddy undo 01` puts turn 01 back');
  const named = await teddy.refuses('NOTHING_TO_UNDO', 3, ['session', 'undo', '-s', 'undo']);
  expect(named).toContain('`teddy log -s undo` shows the turns; `teddy undo -s undo 01` puts');
  await teddy.refuses('UNKNOWN_TURN', 2, ['session', 'undo', '07']);
});

test('a file that was edited since the turn stops it; --partial takes back the others', async () => {
  const { memory: project } = teddy;
  await teddy.begin('partial');
  await turn(editAction('a.txt', 'a', 'A'), editAction('b.txt', 'b', 'B'));
  await project.write({ 'a.txt': 'mine\n', 'untracked.txt': 'untracked\n' });
  const refused = await teddy.refuses('FILE_MODIFIED', 3, ['session', 'undo']);
  expect(refused).toContain('a.txt (it has changed since the turn)');
  expect(await project.read('b.txt')).toBe('B\n');
  expect(JSON.parse(await teddy.ok('session', 'undo', '--partial', '--json'))).toMatchObject({
    schema: 'teddy.session-undo/1',
    turn: '01',
    restored: ['b.txt'],
    left: [{ path: 'a.txt', reason: 'it has changed since the turn' }],
  });
  expect(await project.read('a.txt')).toBe('mine\n');
  expect(await project.read('b.txt')).toBe('b\n');
  const left = await teddy.refuses('FILE_MODIFIED', 3, ['session', 'undo', '01', '--partial']);
  expect(left).toContain('a.txt (it has changed since the turn)');
});

test('rewind switches to the end of a turn, and the next turn goes on after it', async () => {
  const { memory: project } = teddy;
  const session = await teddy.begin('rewind');
  await turn(editAction('a.txt', 'a', 'A'));
  const report = await project.tipOf(`teddy/${session}`);
  await turn(editAction('a.txt', 'A', 'AA'));
  const tip = await project.tipOf(`teddy/${session}`);
  const branch = `teddy/${session}--02-branch-01`;
  expect(await teddy.ok('session', 'rewind', '1')).toBe(`${branch}\n`);
  expect(await project.repository.workspace.head()).toEqual({ ref: `refs/heads/${branch}`, oid: report });
  expect(await project.read('a.txt')).toBe('A\n');
  await turn(createAction('made.txt', 'made\n'));
  expect((await teddy.subjects()).slice(0, 4)).toEqual([
    'turn 02 report: SUCCESS Try it',
    'turn 02 plan: Try it',
    'turn 02 message: Do it',
    'turn 01 report: SUCCESS Try it',
  ]);
  expect(await project.tipOf(`teddy/${session}`)).toBe(tip);
  expect(JSON.parse(await teddy.ok('session', 'rewind', '01', '--json'))).toMatchObject({
    schema: 'teddy.session-rewind/1',
    line: `teddy/${session}--02-branch-02`,
    turn: '01',
    commit: report,
  });
});

test('the switch that is refused names what can be done with this command', async () => {
  const { memory: project } = teddy;
  const session = await teddy.begin('ways');
  await turn(editAction('a.txt', 'a', 'A'));
  await turn(editAction('a.txt', 'A', 'AA'));
  await project.write({ 'a.txt': 'mine\n' });
  const rewound = await teddy.run(['session', 'rewind', '01']);
  expect(rewound).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('[FILES_IN_THE_WAY]') as string });
  expect(rewound.stderr).not.toContain('--no-switch');
  await teddy.refuses('UNKNOWN_TURN', 2, ['session', 'rewind', '09']);
  const branched = await teddy.run(['session', 'branch', '01']);
  expect(branched.exitCode).toBe(3);
  expect(branched.stderr).toContain('To make it without switching: --no-switch.');
  await teddy.ok('session', 'branch', '01', '--no-switch');
  expect(await teddy.repo.git('branch', '--show-current')).toBe(`teddy/${session}`);
});

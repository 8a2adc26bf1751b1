/**
 * A command reads its line and parses its plan once, and passes both on; it rereads only if somebody else was faster.
 */
import { expect, test, vi } from 'vitest';
import { parsePlan } from '../../../src/plan/parse/parse.ts';
import type { RepoPath } from '../../../src/names.ts';
import { given } from '../../support/given.ts';
import { withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { command, create, edit, memos, run, say, session } from '../../support/turns.ts';

vi.mock('../../../src/plan/parse/parse.ts', { spy: true });

interface Readings {
  plans: number;
  /** How often the session's turns were listed, which is the first step in reading a line. */
  lines: number;
}

async function readingsOf(
  project: MemoryProject,
  use: (counted: MemoryProject) => Promise<unknown>,
): Promise<Readings> {
  const { repository } = project;
  let lines = 0;
  const readDir: typeof repository.store.readDir = (commit, path) => {
    if (path === (`.teddy/sessions/${session}` as RepoPath)) lines += 1;
    return repository.store.readDir(commit, path);
  };
  vi.mocked(parsePlan).mockClear();
  await use({ ...project, repository: { ...repository, store: { ...repository.store, readDir } } });
  return { plans: vi.mocked(parsePlan).mock.calls.length, lines };
}

const pending = (actions: string[], ...sections: string[]) =>
  given.plannedTurn(actions, sections, { 'a.txt': 'a\n', 'b.txt': 'b\n' });

const edits = [edit('a.txt', 'a', 'A'), edit('b.txt', 'b', 'B')];

test.each<[string, () => Promise<MemoryProject>, Parameters<typeof run>[1]]>([
  ['two actions', () => pending(edits), {}],
  ['a command', () => pending([create('c.txt'), command('true')]), {}],
  ['part of a plan', () => pending(edits), { only: [2] }],
  ['an invalid plan', () => pending([edit('a.txt', 'nothing', 'x')]), {}],
  ['a plan with memos', () => pending(edits, memos('[+] Remember this')), { memos: { kind: 'yes' } }],
  ['a rejected plan', () => pending(edits), { reject: 'no' }],
])('the line is read and the plan parsed once to execute %s', async (_, make, request) => {
  const project = await make();
  expect(await readingsOf(project, (counted) => run(counted, request))).toEqual({ plans: 1, lines: 1 });
});

test("the line is read and the plan parsed once if the user's edits become a separate entry", async () => {
  const project = await pending(edits);
  await project.write({ 'b.txt': 'b\nmine\n' });
  expect(await readingsOf(project, (counted) => run(counted))).toEqual({ plans: 1, lines: 1 });
});

test('the plan is parsed once more after a lost race', async () => {
  const project = await pending(edits);
  const racing = withRace(project, () => project.commit('Mine\n', { 'own.txt': 'x\n' }));
  expect(await readingsOf(racing, (counted) => run(counted))).toMatchObject({ plans: 2 });
});

test('a message in the next turn parses the previous turn’s plan once', async () => {
  const project = await pending(edits);
  await run(project);
  // The line is read before the message, and again after the answer: others may have added to it meanwhile.
  const ask = (counted: MemoryProject) => say(counted, 'And now?', 'It is done.');
  expect(await readingsOf(project, ask)).toEqual({ plans: 1, lines: 2 });
});

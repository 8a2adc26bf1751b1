/** The page of all sessions: what each was asked for, what it changed, what it cost, and what waits for the user. */
import { expect, test, vi } from 'vitest';
import { overviewReader } from '../../../src/workflow/review/count-all-costs.ts';
import { memoryProject } from '../../support/memory-repository.ts';
import { create, edit, planOf, run, say, session, start, turn } from '../../support/turns.ts';

test('tells what a session was first asked for and how its code differs from its start', async () => {
  const project = await memoryProject({ 'README.md': 'one\ntwo\n' });
  await start(project);
  const read = overviewReader(project);
  expect(await read()).toMatchObject([{ session, asked: null, changed: [0, 0, 0], waiting: [] }]);
  await turn(project, 'Make it\n\nand more', create('a.txt', 'a\nb\n'));
  await turn(project, 'Change it', edit('README.md', 'two', '2'));
  expect(await read()).toMatchObject([{ asked: 'Make it', changed: [2, 3, 1], spent: { answers: 2 } }]);
  // A commit of the user's own counts too, although it is no step of the session.
  await project.commit('Mine\n', { 'own.txt': 'x\n' });
  expect(await read()).toMatchObject([{ changed: [3, 4, 1] }]);
});

test('compares no commits twice, not even in the next process, and shows the newest session first', async () => {
  const project = await memoryProject();
  for (const name of ['old', 'new']) {
    await project.switchTo('main');
    await start(project, name);
    await turn(project, `Do ${name}`, create(`${name}.txt`));
  }
  const compare = vi.spyOn(project.repository.store, 'diffTrees');
  const read = overviewReader(project);
  const first = await read();
  expect(first.map(({ asked }) => asked)).toEqual(['Do new', 'Do old']);
  const count = compare.mock.calls.length;
  expect(await read()).toEqual(first);
  const cache = { ...project.repository.cache };
  expect(await overviewReader({ ...project, repository: { ...project.repository, cache } })()).toEqual(first);
  expect(compare.mock.calls.length).toBe(count);
});

test('tells whose plan waits for this user', async () => {
  const project = await memoryProject();
  await start(project);
  await say(project, 'Make it', planOf([create('a.txt')]));
  project.configuration.set('teddy.approvals', '1');
  const read = overviewReader(project);
  expect(await read()).toMatchObject([{ state: 'pending', waiting: [] }]);
  project.identity.text = 'Bea <bea@example.com> 1769248800 +0000';
  expect(await read()).toMatchObject([{ waiting: [{ turn: '01', from: 'ada@example.org' }] }]);
  project.configuration.delete('teddy.approvals');
  await run(project);
  expect(await read()).toMatchObject([{ state: 'closed', waiting: [] }]);
});

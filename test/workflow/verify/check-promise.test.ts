/** `verify --require-promise`: runs that changed more than the plans name. */
import { beforeEach, expect, test } from 'vitest';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { giveVerdict } from '../../../src/workflow/run/give-verdict.ts';
import { verifySession } from '../../../src/workflow/verify/session.ts';
import { given } from '../../support/given.ts';
import { memoryRemote } from '../../support/memory-remotes.ts';
import type { MemoryProject } from '../../support/memory-repository.ts';
import { command, create, edit, line, planOf, say, turn } from '../../support/turns.ts';

let project: MemoryProject;

beforeEach(async () => {
  project = await given.session({ 'a.txt': 'one\n', 'lock.json': '{}\n' });
  project.command.run = async () => {
    await project.write({ 'lock.json': '{ "a": 1 }\n' });
    return {};
  };
});

async function broken(isStrict = false): Promise<string[]> {
  const { lines } = await verifySession(project, { all: true, fsck: false, requirePromise: { isStrict } });
  return lines.flatMap(({ violations }) =>
    violations.map(({ rule, turn: name, path, message }) => `${rule} ${name} ${path}: ${message}`),
  );
}

test('a file that a command changed and no plan names is a fault', async () => {
  await turn(project, 'One', edit('a.txt', 'one', 'ONE'), command('npm install'));
  expect(await broken()).toEqual([
    'promise 01 lock.json: Action 2 changed this file, which no plan on the branch names.',
  ]);
});

test('it is none if another plan names the file, unless each run has to keep its own', async () => {
  await turn(project, 'One', create('b.txt'), command('npm install'));
  await turn(project, 'Two', edit('lock.json', '"a": 1', '"a": 2'));
  expect(await broken()).toEqual([]);
  expect(await broken(true)).toEqual([
    'promise 01 null: The run did not do exactly what its plan says: changed beyond the plan: lock.json (by action 2).',
  ]);
});

test('it is none if the turn was undone', async () => {
  await turn(project, 'One', command('npm install'));
  expect(await broken()).toHaveLength(1);
  await undoTurn(project, {});
  expect(await broken()).toEqual([]);
});

test('it is none if the base branch allows the file, and the session’s own file does not count', async () => {
  await project.commit('My own\n', { '.teddy/config.yaml': 'promise.allow: [lock.json]\n' });
  await turn(project, 'One', command('npm install'));
  expect(await broken()).toHaveLength(1);
  await project.switchTo('main');
  await project.commit('Allow\n', { '.teddy/config.yaml': "promise.allow: ['*.json']\n" });
  await project.switchTo(line);
  expect(await broken()).toEqual([]);
});

test('each branch that may be the base has to allow the file', async () => {
  await turn(project, 'One', command('npm install'));
  const main = await project.tipOf('main');
  await project.switchTo('main');
  const allowing = await project.commit('Allow\n', { '.teddy/config.yaml': 'promise.allow: lock.json\n' });
  for (const name of ['origin', 'other']) project.remotes.set(name, await memoryRemote());
  await project.setRef('refs/remotes/origin/main', allowing);
  expect(await broken()).toEqual([]);
  await project.setRef('refs/remotes/other/main', main);
  expect(await broken()).toHaveLength(1);
});

test('a rejected plan breaks no promise', async () => {
  await say(project, 'One', planOf([create('b.txt')]));
  await giveVerdict(project, { selector: line, turn: '01', verdict: 'rejected', text: 'No.' });
  expect(await broken(true)).toEqual([]);
});

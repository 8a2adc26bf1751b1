import { expect, test } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { beginHeldWrite, beginWrite } from '../../../src/workflow/writes/begin.ts';
import { finalizeHeld } from '../../../src/workflow/writes/finalize.ts';
import { dispatch } from '../../../src/workflow/writes/held.ts';
import { findWrite, listWrites } from '../../../src/workflow/writes/list.ts';
import { given } from '../../support/given.ts';

const full = () => Promise.reject(new TeddyError('DISK_FULL', 'The disk is full.'));

/** A controller whose content is only in memory. */
async function beginInMemory(operation: string) {
  const project = await given.session();
  const { held } = await beginHeldWrite(project, { intent: 'x', target: 'a.txt', operation, hasController: true });
  held.content = Buffer.from('text\n');
  held.isTolerant = true;
  dispatch(held, { type: 'content', bytes: 5, lines: 1, atMs: project.clock.now().getTime() });
  return { project, held };
}

test('a session whose commit no save has recorded is gone afterwards, and is not offered again', async () => {
  const { project, held } = await beginInMemory('create');
  held.staged.save = full;
  held.staged.dropContent = full;
  expect(await finalizeHeld(project, held)).toMatchObject({ isWritten: true });
  expect(await project.read('a.txt')).toBe('text\n');
  expect(await listWrites(project)).toEqual([]);
  expect(project.said.filter((text) => text.startsWith('warning'))).toHaveLength(1);
  await beginWrite(project, { intent: 'x', target: 'b.txt', operation: 'create', hasController: true });
});

test('content that cannot be removed after the commit is a warning, not a failure', async () => {
  const { project, held } = await beginInMemory('create');
  held.staged.dropContent = full;
  expect(await finalizeHeld(project, held)).toMatchObject({ isWritten: true });
  expect(await findWrite(project, held.record.id)).toMatchObject({ stage: 'committed' });
  expect(project.said).toContainEqual('warning: a.txt is committed, but: The disk is full.');
});

test('a failure outside the disk is never taken for one of the disk', async () => {
  const { project, held } = await beginInMemory('create');
  held.staged.dropContent = () => Promise.reject(new Error('It was closed.'));
  await expect(finalizeHeld(project, held)).rejects.toThrow('It was closed.');
});

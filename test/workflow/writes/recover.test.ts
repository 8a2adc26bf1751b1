import { expect, test } from 'vitest';
import { appendWrite } from '../../../src/workflow/writes/append.ts';
import { beginHeldWrite, beginWrite } from '../../../src/workflow/writes/begin.ts';
import { cleanWrites, sweepWrites } from '../../../src/workflow/writes/clean.ts';
import { finalizeWrite } from '../../../src/workflow/writes/finalize.ts';
import { findWrite, listWrites } from '../../../src/workflow/writes/list.ts';
import { discardWrite, finalizeLeft, claimLeftover, claimWrite } from '../../../src/workflow/writes/recover.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const wish = { intent: 'A guide', target: 'docs/guide.md', operation: 'create' };

/** A dead controller that has saved this much. */
async function orphan(project: MemoryProject, content: string): Promise<string> {
  const { held } = await beginHeldWrite(project, { ...wish, hasController: true });
  const { staged, write } = held;
  await staged.save(bytes(content), { ...write.state, phase: 'receiving', size: content.length });
  await staged.close();
  const left = project.writing.get(staged.record.id);
  if (left === undefined) throw new Error('It was not begun.');
  left.isAlive = false;
  return staged.record.id;
}

async function keptRefs(project: MemoryProject): Promise<string[]> {
  const refs = await project.repository.store.listRefs('refs/teddy/keep/writes/');
  return Promise.all(
    refs.map(async ({ ref, oid }) => `${ref} ${Buffer.from(await project.repository.store.readBlob(oid)).toString()}`),
  );
}

test('a dead controller’s session is orphaned, blocks nobody, and can be finished by anyone', async () => {
  const project = await given.session();
  const id = await orphan(project, 'text\n');
  expect(await findWrite(project, id)).toMatchObject({ status: 'active', stage: 'orphaned', size: 5 });
  const other = await beginWrite(project, { ...wish, target: 'other.md', hasController: false });
  await expect(finalizeLeft(project, id, false)).rejects.toMatchObject({ code: 'WRITE_ACTIVE' });
  await finalizeWrite(project, { id: other.record.id, content: bytes('other\n') });
  expect(await finalizeLeft(project, id, false)).toMatchObject({ isWritten: true });
  expect(await project.read('docs/guide.md')).toBe('text\n');
});

test('the end marker is not content, although the line was cut after it', async () => {
  const project = await given.session();
  expect(await finalizeLeft(project, await orphan(project, 'text\nDONE'), false)).toMatchObject({ isWritten: true });
  expect(await project.read('docs/guide.md')).toBe('text\n');
});

test('an orphan is resumed where it stopped', async () => {
  const project = await given.session();
  const id = await orphan(project, 'one\n');
  const held = await claimWrite(project, id);
  expect(held.write.state).toMatchObject({ phase: 'receiving', size: 4 });
  await held.staged.close();
  await appendWrite(project, { id, offset: 4, bytes: bytes('two\n') });
  await finalizeWrite(project, { id });
  expect(await project.read('docs/guide.md')).toBe('one\ntwo\n');
});

test('a failed session can still be finished, and a committed one cannot be resumed', async () => {
  const project = await given.session();
  const { record } = await beginWrite(project, { ...wish, target: 'a.json', hasController: false });
  await appendWrite(project, { id: record.id, bytes: bytes('{ "a": }\n') });
  for (let tries = 0; tries < 3; tries += 1) await finalizeWrite(project, { id: record.id });
  expect(await findWrite(project, record.id)).toMatchObject({ stage: 'failed', reason: '3 validations failed' });
  // A refusal after it was resumed does not mark its content as cut, which a model would be asked to continue.
  for (let times = 0; times < 2; times += 1) {
    const { held, isWhole } = await claimLeftover(project, record.id);
    expect(isWhole).toBe(true);
    await held.staged.close();
  }
  expect(await finalizeLeft(project, record.id, true)).toMatchObject({ isWritten: true });
  await expect(claimWrite(project, record.id)).rejects.toMatchObject({ code: 'UNKNOWN_WRITE' });
});

test('a damaged session cannot be resumed, and is kept when it is cleared', async () => {
  const project = await given.session();
  const id = await orphan(project, 'text\n');
  const left = project.writing.get(id);
  if (left) left.state = null;
  expect(await findWrite(project, id)).toMatchObject({ status: 'failed', stage: 'damaged' });
  await expect(claimWrite(project, id)).rejects.toMatchObject({ code: 'STAGING_DAMAGED' });
  await expect(finalizeWrite(project, { id })).rejects.toMatchObject({ code: 'STAGING_DAMAGED' });
  expect(await cleanWrites(project)).toMatchObject([{ id, target: 'docs/guide.md', kept: [expect.any(String)] }]);
  expect(await keptRefs(project)).toEqual([`refs/teddy/keep/writes/${id} text\n`]);
});

test('orphans under an hour are offered, older ones are cleared and kept, held ones are left alone', async () => {
  const project = await given.session();
  expect(await sweepWrites(project)).toEqual({ orphans: [], cleaned: [] });
  const id = await orphan(project, 'text\n');
  expect(await sweepWrites(project)).toMatchObject({ orphans: [{ id, stage: 'orphaned', size: 5 }], cleaned: [] });
  project.writeLimits.orphanMs = 1;
  const { record } = await beginWrite(project, { ...wish, target: 'held.md', hasController: false });
  expect(await sweepWrites(project)).toMatchObject({ orphans: [], cleaned: [{ id, target: 'docs/guide.md' }] });
  expect(await keptRefs(project)).toEqual([`refs/teddy/keep/writes/${id} text\n`]);
  expect((await listWrites(project)).map((write) => write.id)).toEqual([record.id]);
});

test('a committed session is not an orphan, is cleared silently, and leaves nothing to keep', async () => {
  const project = await given.session();
  const { record } = await beginWrite(project, { ...wish, hasController: false });
  await finalizeWrite(project, { id: record.id, content: bytes('text\n') });
  expect(await sweepWrites(project)).toEqual({ orphans: [], cleaned: [] });
  project.writeLimits.orphanMs = 1;
  expect(await sweepWrites(project)).toEqual({ orphans: [], cleaned: [] });
  expect(await listWrites(project)).toHaveLength(1);
  // The clock advances a second with every look, and the result is kept for an hour.
  for (let second = 0; second < 3600; second += 1) project.clock.now();
  expect(await sweepWrites(project)).toEqual({ orphans: [], cleaned: [] });
  expect(await listWrites(project)).toEqual([]);
  expect(await keptRefs(project)).toEqual([]);
});

test('a discarded session cannot be brought back', async () => {
  const project = await given.session();
  const id = await orphan(project, 'text\n');
  await discardWrite(project, id);
  expect(await listWrites(project)).toEqual([]);
  await expect(discardWrite(project, id)).rejects.toMatchObject({ code: 'UNKNOWN_WRITE' });
});

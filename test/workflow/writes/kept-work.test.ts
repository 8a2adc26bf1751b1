/** Somebody's files and staged content are never lost to a write, or removed during one. */
import { expect } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import { writeLimits } from '../../../src/session/settings/write-limits.ts';
import { appendWrite } from '../../../src/workflow/writes/append.ts';
import { beginHeldWrite, beginWrite, type WriteRequest } from '../../../src/workflow/writes/begin.ts';
import { cancelWrite, cleanWrites, sweepWrites, type CleanedWrite } from '../../../src/workflow/writes/clean.ts';
import { describeCleaned } from '../../../src/cli/render/write.ts';
import { finalizeHeld, finalizeWrite, type Finalized } from '../../../src/workflow/writes/finalize.ts';
import { findWrite } from '../../../src/workflow/writes/list.ts';
import { discardWrite, finalizeLeft, claimWrite } from '../../../src/workflow/writes/recover.ts';
import { given } from '../../support/given.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { line, start } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const controlled: WriteRequest = { intent: 'x', target: 'a', operation: 'create', hasController: true };
const bytes = (text: string) => new TextEncoder().encode(text);

async function begin(project: MemoryProject, content: string, more: Partial<WriteRequest> = {}): Promise<string> {
  const wish = { intent: 'Try', target: 'new.txt', operation: 'create', hasController: false, ...more };
  const { record } = await beginWrite(project, wish);
  if (content !== '') await appendWrite(project, { id: record.id, bytes: bytes(content) });
  return record.id;
}

function written(finalized: Finalized) {
  if (!finalized.isWritten) throw new Error(`Not written: ${finalized.message}`);
  return finalized.result;
}

async function storyOf(project: MemoryProject, branch: string): Promise<string[]> {
  const story: string[] = [];
  for await (const { commit } of project.repository.store.firstParents(await project.tipOf(branch))) {
    const entry = decodeEntry(commit.message);
    if (entry) story.unshift(entry.kind);
  }
  return story;
}

/** The entry cannot be made: the target is in place, and the phase records it. */
async function stopBeforeCommit(project: MemoryProject, id: string): Promise<void> {
  const treeOfPaths = () => Promise.reject(new Error('git is gone'));
  const workspace = { ...project.repository.workspace, treeOfPaths };
  const broken = { ...project, repository: { ...project.repository, workspace } };
  await expect(finalizeWrite(broken, { id })).rejects.toThrow('git is gone');
  expect(await findWrite(project, id)).toMatchObject({ stage: 'installed' });
}

slowTest("the user's own edits to the target become a user’s commit before they are replaced", async () => {
  const project = await given.session({ 'a.txt': 'committed\n' });
  await project.write({ 'a.txt': 'edited\n' });
  const id = await begin(project, 'written\n', { target: 'a.txt', operation: 'overwrite' });
  const { commit } = written(await finalizeWrite(project, { id }));
  expect(await storyOf(project, line)).toEqual(['start', 'snapshot', 'write']);
  const [parent = ''] = (await project.repository.store.readCommit(commit)).parents;
  expect(await project.readAt(parent as typeof commit, 'a.txt')).toBe('edited\n');
  expect(await project.readAt(commit, 'a.txt')).toBe('written\n');
});

test('an append’s entry adds only the appended content', async () => {
  const project = await given.session({ 'a.txt': 'committed\n' });
  await project.write({ 'a.txt': 'committed\nedited\n' });
  const id = await begin(project, 'added\n', { target: 'a.txt', operation: 'append' });
  const { commit } = written(await finalizeWrite(project, { id }));
  const [parent = ''] = (await project.repository.store.readCommit(commit)).parents;
  expect(await project.readAt(parent as typeof commit, 'a.txt')).toBe('committed\nedited\n');
});

test('a target that matches the line needs no snapshot', async () => {
  const project = await given.session({ 'a.txt': 'committed\n' });
  written(
    await finalizeWrite(project, { id: await begin(project, 'one\n', { target: 'a.txt', operation: 'overwrite' }) }),
  );
  written(
    await finalizeWrite(project, { id: await begin(project, 'two\n', { target: 'a.txt', operation: 'overwrite' }) }),
  );
  expect(await storyOf(project, line)).toEqual(['start', 'write', 'write']);
});

test('a file that no commit has is saved before it is replaced, which is reported', async () => {
  const project = await given.session();
  await project.write({ 'mine.txt': 'precious\n' });
  const id = await begin(project, 'written\n', { target: 'mine.txt', operation: 'overwrite' });
  written(await finalizeWrite(project, { id }));
  const [kept] = await project.repository.store.listRefs(`refs/teddy/keep/writes/${id}`);
  expect(kept && Buffer.from(await project.repository.store.readBlob(kept.oid)).toString()).toBe('precious\n');
  expect(project.said.join('\n')).toContain('mine.txt was not in any commit; its old content is kept');
  expect(await storyOf(project, line)).toEqual(['start', 'write']);
});

test('empty content is refused, and the received content stays', async () => {
  const project = await given.session();
  const id = await begin(project, 'received\n');
  await expect(finalizeWrite(project, { id, content: bytes('') })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  expect((await findWrite(project, id)).size).toBe(9);
});

test('a write that lacks only its entry can neither be cancelled, discarded nor cleared', async () => {
  const project = await given.session();
  const id = await begin(project, 'text\n');
  await stopBeforeCommit(project, id);
  await expect(cancelWrite(project, id)).rejects.toMatchObject({ code: 'WRITE_FINALIZING' });
  await expect(discardWrite(project, id)).rejects.toMatchObject({ code: 'WRITE_FINALIZING' });
  Object.assign(project.writeLimits, { orphanMs: 1, idleExpiryMs: 1 });
  expect(await sweepWrites(project)).toMatchObject({ orphans: [{ id }], cleaned: [] });
  expect(await cleanWrites(project)).toEqual([]);
  expect(project.said.join('\n')).toContain(`teddy write recover ${id} --finalize`);
  written(await finalizeLeft(project, id, false));
  expect(await storyOf(project, line)).toEqual(['start', 'write']);
});

test('a session that died while writing its file is discarded along with the partial file', async () => {
  const project = await given.session();
  const id = await begin(project, 'text\n');
  const filesOf = () => ({ ...project.filesOf('/project'), installNew: () => Promise.reject(new Error('killed')) });
  await expect(finalizeWrite({ ...project, filesOf }, { id })).rejects.toThrow('killed');
  expect(await findWrite(project, id)).toMatchObject({ stage: 'installing' });
  const removed: string[] = [];
  const removeLeftovers = async (path: string) => void removed.push(path);
  await discardWrite({ ...project, filesOf: () => ({ ...project.filesOf('/project'), removeLeftovers }) }, id);
  expect(removed).toEqual(['new.txt']);
});

test('content that was forced once is checked again when the session is resumed', async () => {
  const project = await given.session();
  const id = await begin(project, '{ "a": }\n', { target: 'a.json' });
  const treeOfPaths = () => Promise.reject(new Error('git is gone'));
  const workspace = { ...project.repository.workspace, treeOfPaths };
  const broken = { ...project, repository: { ...project.repository, workspace } };
  await expect(finalizeWrite(broken, { id, force: true })).rejects.toThrow('git is gone');
  await project.write({ 'a.json': null });
  await expect(finalizeWrite(project, { id })).rejects.toMatchObject({ code: 'TARGET_CHANGED' });
  expect(await finalizeLeft(project, id, false)).toMatchObject({ isWritten: false, findings: [{ check: 'syntax' }] });
});

test('a cleared committed session is listed on request, and not mentioned elsewhere', async () => {
  const project = await given.session();
  const id = await begin(project, 'text\n');
  written(await finalizeWrite(project, { id }));
  const cleaned = await cleanWrites(project);
  expect(cleaned).toMatchObject([{ id, target: 'new.txt', isCommitted: true }]);
  expect(describeCleaned(cleaned[0] as CleanedWrite)).toBe(
    `Cleared the write session ${id} of new.txt, which is committed.`,
  );
  const other = await begin(project, 'text\n', { target: 'other.txt' });
  written(await finalizeWrite(project, { id: other }));
  project.writeLimits.resultMs = 0;
  expect(await sweepWrites(project)).toEqual({ orphans: [], cleaned: [] });
  await expect(findWrite(project, other)).rejects.toMatchObject({ code: 'UNKNOWN_WRITE' });
});

test('content that is added while a session is cleared is refused, not lost', async () => {
  const project = await given.session();
  const id = await begin(project, 'one\n');
  project.writeLimits.idleExpiryMs = 1;
  const { readContent } = project.writes;
  let attempt: Promise<unknown> | undefined;
  project.writes.readContent = async (wanted) => {
    project.writeLimits = { ...writeLimits };
    attempt ??= appendWrite(project, { id, bytes: bytes('two\n') }).catch((error: unknown) => error);
    await attempt;
    return readContent(wanted);
  };
  expect(await cleanWrites(project)).toHaveLength(1);
  expect(await attempt).toMatchObject({ code: 'LOCKED' });
});

test('a controller that has been silent for long keeps its session, which is offered to nobody', async () => {
  const project = await given.session();
  const { held } = await beginHeldWrite(project, controlled);
  await held.staged.save(bytes('one\n'), { ...held.write.state, phase: 'receiving', size: 4 });
  // A server holds no session between two requests.
  await held.staged.close({ goesOn: true });
  const { id } = held.record;
  await expect(finalizeLeft(project, id, false)).rejects.toMatchObject({ code: 'LOCKED' });
  await expect(discardWrite(project, id)).rejects.toMatchObject({ code: 'LOCKED' });
  Object.assign(project.writeLimits, { orphanMs: 1, idleExpiryMs: 1 });
  expect(await sweepWrites(project)).toEqual({ orphans: [], cleaned: [] });
  expect(await cleanWrites(project)).toEqual([]);
});

test('an orphan can be cancelled while another session is active', async () => {
  const project = await given.session();
  const { held } = await beginHeldWrite(project, controlled);
  await held.staged.close();
  const left = project.writing.get(held.record.id);
  if (left) left.isAlive = false;
  await begin(project, 'text\n');
  await cancelWrite(project, held.record.id);
  await expect(findWrite(project, held.record.id)).rejects.toMatchObject({ code: 'UNKNOWN_WRITE' });
});

test('a failed session is not an interrupted one', async () => {
  const project = await given.session();
  const id = await begin(project, '{ "a": }\n', { target: 'a.json' });
  await finalizeWrite(project, { id });
  await finalizeWrite(project, { id });
  expect(await sweepWrites(project)).toEqual({ orphans: [], cleaned: [] });
});

test('bytes that no save had confirmed are reported, and kept in git once the rest is committed', async () => {
  const project = await given.session();
  const id = await begin(project, 'one\n');
  const left = project.writing.get(id);
  if (left) left.tail = bytes('half a li');
  await appendWrite(project, { id, bytes: bytes('two\n') });
  expect(project.said.join('\n')).toContain('9 bytes that no save had confirmed are set aside');
  written(await finalizeWrite(project, { id }));
  expect(await project.read('new.txt')).toBe('one\ntwo\n');
  const [kept] = await project.repository.store.listRefs(`refs/teddy/keep/writes/${id}`);
  expect(kept && Buffer.from(await project.repository.store.readBlob(kept.oid)).toString()).toBe('half a li');
});

test('a target that has become a directory counts as changed, and the content can be written elsewhere', async () => {
  const project = await given.session({ 'a.txt': 'one\n' });
  const id = await begin(project, 'text\n', { target: 'a.txt', operation: 'overwrite' });
  await project.write({ 'a.txt': null });
  await project.write({ 'a.txt/b.txt': 'in a directory\n' });
  await expect(finalizeWrite(project, { id })).rejects.toMatchObject({
    code: 'TARGET_CHANGED',
    hint: expect.stringContaining(`teddy write recover ${id} --output`) as string,
  });
  expect(await findWrite(project, id)).toMatchObject({ stage: 'failed', size: 5 });
});

test('a deleted line is not offered as a place to return to', async () => {
  const project = await memoryProject();
  const { ref } = await start(project);
  const id = await begin(project, 'text\n');
  await project.switchTo('main');
  await expect(finalizeWrite(project, { id })).rejects.toMatchObject({
    code: 'NOT_ON_LINE',
    hint: expect.stringContaining(`git switch ${line}`) as string,
  });
  await project.repository.store.updateRefs(
    [{ ref, old: (await project.repository.store.resolve(ref)) ?? null, new: null }],
    'gone',
  );
  await expect(finalizeWrite(project, { id })).rejects.toMatchObject({
    code: 'NOT_ON_LINE',
    hint: `\`teddy write recover ${id} --output <file>\` writes the content elsewhere.`,
  });
});

test('an obstacle on the way is reported with how to continue, and with the losses', async () => {
  const project = await given.session();
  const full = () =>
    Promise.reject(new TeddyError('DISK_FULL', 'new.txt could not be written: no space.', 'Free some.'));
  const filesOf = () => ({ ...project.filesOf('/project'), installNew: full });
  const id = await begin(project, 'text\n');
  await expect(finalizeWrite({ ...project, filesOf }, { id })).rejects.toMatchObject({
    code: 'DISK_FULL',
    hint: `The received content is kept. Once the problem is fixed: \`teddy write recover ${id} --finalize\`.`,
  });
  written(await finalizeLeft(project, id, false));

  const request = { intent: 'x', target: 'other.txt', operation: 'create', hasController: true };
  const { held } = await beginHeldWrite(project, request);
  Object.assign(held, {
    isTolerant: true,
    content: bytes('in memory\n'),
    write: { ...held.write, state: { ...held.write.state, size: 10 } },
  });
  held.staged.save = full;
  await expect(finalizeHeld({ ...project, filesOf }, held)).rejects.toMatchObject({
    code: 'DISK_FULL',
    hint: expect.stringContaining('The last 10 bytes of the content were only in memory') as string,
  });
});

test('nothing is written in the middle of a merge, only afterwards', async () => {
  const project = await given.session();
  const id = await begin(project, 'text\n');
  project.state.operation = 'merge';
  await expect(finalizeWrite(project, { id })).rejects.toMatchObject({ code: 'OPERATION_IN_PROGRESS' });
  expect(await project.read('new.txt')).toBeNull();
  project.state.operation = null;
  written(await finalizeWrite(project, { id }));
});

test('the session for all other files is looked for before any byte arrives', async () => {
  const project = await memoryProject();
  const { session, ref } = written(await finalizeWrite(project, { id: await begin(project, 'one\n') }));
  project.linked.push({ root: '/elsewhere', ref } as (typeof project.linked)[number]);
  await expect(begin(project, '', { target: 'b.txt' })).rejects.toMatchObject({ code: 'LINE_CHECKED_OUT' });
  expect(session).toMatch(/-writes$/);
});

test("Ctrl-C reaches the user's own checker, and nothing is written", async () => {
  const project = await given.session();
  project.configuration.set('teddy.validate.*.txt.command', 'check');
  const id = await begin(project, 'text\n');
  const controller = new AbortController();
  project.command.run = async (_, signal) => {
    controller.abort();
    return { aborted: signal.aborted };
  };
  await expect(finalizeWrite(project, { id, signal: controller.signal })).rejects.toMatchObject({
    code: 'INTERRUPTED',
  });
  expect(await project.read('new.txt')).toBeNull();
});

test('bytes that are not UTF-8 are repaired after corrections have failed, and not before', async () => {
  const project = await given.session();
  const { record } = await beginWrite(project, {
    intent: 'x',
    target: 'a.txt',
    operation: 'create',
    hasController: false,
  });
  const content = Uint8Array.of(97, 255, 10);
  expect(await finalizeWrite(project, { id: record.id, content })).toMatchObject({
    isWritten: false,
    findings: [{ check: 'utf-8', line: 1, column: 2 }],
  });
  const { notes } = written(await finalizeWrite(project, { id: record.id, content }));
  expect(await project.read('a.txt')).toBe('a\uFFFD\n');
  expect(notes.join()).toContain('U+FFFD');
});

test('a resumed session whose content was complete takes nothing more', async () => {
  const project = await given.session();
  const id = await begin(project, 'text\n');
  await stopBeforeCommit(project, id);
  const held = await claimWrite(project, id);
  expect(held.write.state.phase).toBe('installed');
  await held.staged.close();
});

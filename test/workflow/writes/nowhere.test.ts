/** Files for a line that no work tree has checked out: committed on its branch, and written to no work tree. */
import { expect, test } from 'vitest';
import { appendWrite } from '../../../src/workflow/writes/append.ts';
import { beginHeldWrite, beginWrite, type WriteRequest } from '../../../src/workflow/writes/begin.ts';
import { cancelWrite } from '../../../src/workflow/writes/clean.ts';
import { finalizeHeld, finalizeWrite } from '../../../src/workflow/writes/finalize.ts';
import { finalizeLeft } from '../../../src/workflow/writes/recover.ts';
import { newSession } from '../../../src/workflow/line/new-session.ts';
import { shortRef, type RepoPath } from '../../../src/names.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { start } from '../../support/turns.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

/** `other` is on its own branch; HEAD is on `add-login`. */
async function open(files?: Record<string, string>) {
  const project = await memoryProject(files);
  const other = await newSession(project, { name: 'other', switch: false });
  await start(project);
  const wish = (more: Partial<WriteRequest> = {}): WriteRequest => ({
    intent: 'A guide',
    target: 'docs/guide.md',
    operation: 'create',
    session: other.session,
    ...more,
  });
  return { project, ref: other.ref, wish };
}

async function readOn({ repository: { store } }: MemoryProject, ref: string, path: string): Promise<string | null> {
  const tip = await store.resolve(ref);
  const file = tip === null ? null : await store.readFile(tip, path as RepoPath);
  return file === null ? null : Buffer.from(file.bytes).toString();
}

test('the file is committed on its branch, but in no work tree; another line is written meanwhile', async () => {
  const { project, ref, wish } = await open();
  const { record } = await beginWrite(project, wish());
  const here = await beginWrite(project, wish({ session: undefined }));
  await finalizeWrite(project, { id: here.record.id, content: bytes('here\n') });
  await appendWrite(project, { id: record.id, bytes: bytes('there\n') });
  const finalized = await finalizeWrite(project, { id: record.id });
  const note = `The file is on ${shortRef(ref)}, which no work tree had checked out when the write began.`;
  expect(finalized).toMatchObject({ isWritten: true, result: { ref, notes: [note] } });
  expect(await readOn(project, ref, 'docs/guide.md')).toBe('there\n');
  expect(await project.read('docs/guide.md')).toBe('here\n');
  expect(await finalizeWrite(project, { id: record.id })).toEqual(finalized);
});

test('an overwrite and an append start from the branch’s file', async () => {
  const { project, ref, wish } = await open({ 'README.md': '# One\n' });
  await project.write({ 'README.md': '# Mine\n' });
  const first = await beginWrite(project, wish({ target: 'README.md', operation: 'append' }));
  expect(first.record.base).toMatchObject({ sha256: project.hash('# One\n'), size: 6 });
  await finalizeWrite(project, { id: first.record.id, content: bytes('more\n') });
  expect(await readOn(project, ref, 'README.md')).toBe('# One\nmore\n');
  const second = await beginWrite(project, wish({ target: 'README.md', operation: 'overwrite' }));
  await finalizeWrite(project, { id: second.record.id, content: bytes('# Two\n\nmore\n') });
  expect(await readOn(project, ref, 'README.md')).toBe('# Two\n\nmore\n');
  expect(await project.read('README.md')).toBe('# Mine\n');
});

test.each([
  ['a create of a file on the branch', { target: 'README.md' }, 'FILES_IN_THE_WAY'],
  ['an append to a file missing on the branch', { operation: 'append' }, 'FILE_NOT_FOUND'],
  ['a directory', { target: 'src' }, 'BAD_TARGET'],
  ['a path below a file', { target: 'README.md/x' }, 'BAD_TARGET'],
  ['a name that macOS treats as the same', { target: 'readme.md' }, 'BAD_TARGET'],
])('%s is refused', async (_, more, code) => {
  const { project, wish } = await open({ 'README.md': 'x\n', 'src/a.ts': 'a\n' });
  await expect(beginWrite(project, wish(more))).rejects.toMatchObject({ code });
});

test('a target that has changed on the branch since is left unchanged', async () => {
  const { project, ref, wish } = await open({ 'README.md': '# One\n' });
  const rewrite = { target: 'README.md', operation: 'overwrite' };
  const { record } = await beginWrite(project, wish(rewrite));
  await cancelWrite(project, record.id);
  const { held } = await beginHeldWrite(project, wish({ ...rewrite, hasController: true }));
  const left = project.writing.get(held.record.id);
  if (left) left.isAlive = false;
  const second = await beginWrite(project, wish(rewrite));
  await finalizeWrite(project, { id: second.record.id, content: bytes('# Two\n') });
  held.content = bytes('# Three\n');
  held.write = { ...held.write, state: { ...held.write.state, phase: 'receiving', size: 8 } };
  await expect(finalizeHeld(project, held)).rejects.toMatchObject({ code: 'TARGET_CHANGED' });
  expect(await readOn(project, ref, 'README.md')).toBe('# Two\n');
});

test('if a work tree has the line by then, the file is written there as well', async () => {
  const { project, ref, wish } = await open();
  const { record } = await beginWrite(project, wish());
  await project.repository.workspace?.switchTo(ref);
  await finalizeWrite(project, { id: record.id, content: bytes('text\n') });
  expect(await readOn(project, ref, 'docs/guide.md')).toBe('text\n');
  expect(await project.read('docs/guide.md')).toBe('text\n');
});

test.each(['installing', 'installed'] as const)(
  'a session that was killed while it was %s is finished',
  async (phase) => {
    const { project, ref, wish } = await open();
    const { record } = await beginWrite(project, wish());
    await appendWrite(project, { id: record.id, bytes: bytes('text\n') });
    const left = project.writing.get(record.id);
    if (!left?.state) throw new Error('It was not begun.');
    const sha256 = project.hash('text\n');
    const summary = { passed: [], failed: [], skipped: [] };
    const tip = await project.repository.store.resolve(ref);
    if (record.line === null) throw new Error('It was begun for a line.');
    const install = { sha256, contentSha256: sha256, tip, ...record.line, summary, notes: [], isForced: false };
    left.state = { ...left.state, phase, install };
    expect(await finalizeLeft(project, record.id, false)).toMatchObject({ isWritten: true });
    expect(await readOn(project, ref, 'docs/guide.md')).toBe('text\n');
  },
);

import { expect } from 'vitest';
import type { Project } from '../../../src/ports/project.ts';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import { appendWrite } from '../../../src/workflow/writes/append.ts';
import { beginWrite, type WriteRequest } from '../../../src/workflow/writes/begin.ts';
import { finalizeWrite, type Finalized } from '../../../src/workflow/writes/finalize.ts';
import { findWrite } from '../../../src/workflow/writes/list.ts';
import { given } from '../../support/given.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { line } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

async function begin(project: MemoryProject, content: string | null, more: Partial<WriteRequest> = {}) {
  const wish = { intent: 'A guide', target: 'docs/guide.md', operation: 'create', hasController: false, ...more };
  const { record } = await beginWrite(project, wish);
  if (content !== null) await appendWrite(project, { id: record.id, bytes: bytes(content) });
  return record.id;
}

/** How many of this write's entries are on a branch. */
async function countEntries(project: MemoryProject, branch: string, id: string): Promise<number> {
  const { store } = project.repository;
  let count = 0;
  for await (const { commit } of store.firstParents(await project.tipOf(branch))) {
    if (decodeEntry(commit.message)?.write?.id === id) count += 1;
  }
  return count;
}

function written(finalized: Finalized) {
  if (!finalized.isWritten) throw new Error(`Not written: ${finalized.message}`);
  return finalized.result;
}

test('the content is in its file and in one entry on the line, which changes nothing else', async () => {
  const project = await given.session();
  await project.write({ 'mine.txt': 'mine\n' });
  const before = await project.tipOf(line);
  const id = await begin(project, '# Guide\n\nRead it.\n');
  const { commit, sha256, summary } = written(await finalizeWrite(project, { id }));
  expect(await project.read('docs/guide.md')).toBe('# Guide\n\nRead it.\n');
  expect(await project.tipOf(line)).toBe(commit);
  const { store } = project.repository;
  expect((await store.diffTrees(before, commit)).map(({ path, change }) => [path, change])).toEqual([
    ['docs/guide.md', 'added'],
  ]);
  expect(decodeEntry((await store.readCommit(commit)).message)).toMatchObject({
    kind: 'write',
    title: 'create docs/guide.md',
    sha256,
    write: { id, intent: 'A guide', validation: expect.stringContaining('passed: ') },
  });
  expect(sha256).toBe(project.hash('# Guide\n\nRead it.\n'));
  expect(summary.failed).toEqual([]);
  expect(await findWrite(project, id)).toMatchObject({ status: 'completed', stage: 'committed', result: { commit } });
  expect(await project.read('mine.txt')).toBe('mine\n');
});

test('finalizing again returns the same result without a second commit, or 404 for other content', async () => {
  const project = await given.session();
  const id = await begin(project, null);
  const first = written(await finalizeWrite(project, { id, content: bytes('text\n') }));
  expect(written(await finalizeWrite(project, { id, content: bytes('text\n') }))).toEqual(first);
  expect(written(await finalizeWrite(project, { id }))).toEqual(first);
  await expect(finalizeWrite(project, { id, content: bytes('other\n') })).rejects.toMatchObject({
    code: 'UNKNOWN_WRITE',
  });
  expect(await countEntries(project, line, id)).toBe(1);
});

test('content that is passed in replaces the received content', async () => {
  const project = await given.session();
  const id = await begin(project, 'received\n');
  written(await finalizeWrite(project, { id, content: bytes('given\n') }));
  expect(await project.read('docs/guide.md')).toBe('given\n');
});

test('an append adds to the existing file, byte for byte', async () => {
  const project = await given.session({ 'a.txt': 'one\r\ntwo\r\n' });
  const id = await begin(project, 'three\r\n', { target: 'a.txt', operation: 'append' });
  written(await finalizeWrite(project, { id }));
  expect(await project.read('a.txt')).toBe('one\r\ntwo\r\nthree\r\n');
});

test('off every line, the entries go to one session named writes, and HEAD stays', async () => {
  const project = await memoryProject();
  const head = await project.repository.workspace.head();
  const first = written(await finalizeWrite(project, { id: await begin(project, 'one\n') }));
  const second = written(await finalizeWrite(project, { id: await begin(project, 'two\n', { target: 'b.txt' }) }));
  expect(first.session).toMatch(/^\d{8}-writes$/);
  expect(second.session).toBe(first.session);
  expect(second.notes).toEqual([
    `The commit is on teddy/${first.session} because HEAD is not on a session's branch; here, git shows the file as an uncommitted change.`,
  ]);
  expect(await project.repository.workspace.head()).toEqual(head);
  expect(await project.readAt(second.commit, 'docs/guide.md')).toBe('one\n');
  expect(await project.readAt(second.commit, 'b.txt')).toBe('two\n');
});

test('a note names the other work tree that has the file', async () => {
  const project = await given.session();
  const id = await begin(project, 'text\n');
  const elsewhere = { ...project, repository: { ...project.repository, workspace: null } };
  const { notes } = written(await finalizeWrite(elsewhere, { id }));
  expect(notes).toEqual([`The file is in /project, where ${line.replace('refs/heads/', '')} is checked out.`]);
});

test('empty content is refused without using up a correction', async () => {
  const project = await given.session();
  const id = await begin(project, null);
  await expect(finalizeWrite(project, { id })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    message: 'Validation failed: content cannot be empty',
  });
  await expect(finalizeWrite(project, { id, content: bytes('') })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  written(await finalizeWrite(project, { id, content: bytes('text\n') }));
});

test('findings are returned with their places, nothing is written, and a correction is accepted', async () => {
  const project = await given.session();
  const id = await begin(project, '{ "a": 1,\n  "b": }\n', { target: 'a.json' });
  const first = await finalizeWrite(project, { id });
  expect(first).toMatchObject({ isWritten: false, reason: null, findings: [{ line: 2 }] });
  expect(first.isWritten ? '' : first.message).toContain('"b": }');
  expect(await project.read('a.json')).toBeNull();
  expect(await findWrite(project, id)).toMatchObject({ status: 'active', stage: 'needs_corrections' });
  written(await finalizeWrite(project, { id, content: bytes('{ "a": 1 }\n') }));
  expect(await project.read('a.json')).toBe('{ "a": 1 }\n');
});

test('a secret in the content is found, and the message does not show it', async () => {
  const project = await given.session();
  project.secrets.set('hunter2', 'password');
  const finalized = await finalizeWrite(project, { id: await begin(project, 'one\nhunter2\n') });
  expect(finalized).toMatchObject({ isWritten: false, findings: [{ check: 'secrets' }] });
  expect(JSON.stringify(finalized)).not.toContain('hunter2');
  expect(finalized.isWritten ? '' : finalized.message).toContain('[masked: password]');
});

test('three failures stop the corrections, even if the same fault is found each time', async () => {
  const project = await given.session();
  const same = await begin(project, '{ "a": }\n', { target: 'a.json' });
  await finalizeWrite(project, { id: same });
  expect(await finalizeWrite(project, { id: same })).toMatchObject({ reason: null });
  expect(await finalizeWrite(project, { id: same })).toMatchObject({ reason: '3 validations failed' });
  expect(await findWrite(project, same)).toMatchObject({ status: 'failed', stage: 'failed' });
  await expect(finalizeWrite(project, { id: same, content: bytes('{}\n') })).rejects.toMatchObject({
    code: 'UNKNOWN_WRITE',
  });
  const third = await begin(project, null, { target: 'b.json' });
  await finalizeWrite(project, { id: third, content: bytes('{ "a": }\n') });
  await finalizeWrite(project, { id: third, content: bytes('\n{ "a": }\n') });
  expect(await finalizeWrite(project, { id: third, content: bytes('\n\n{ "a": }\n') })).toMatchObject({
    isWritten: false,
    reason: '3 validations failed',
  });
  expect(Buffer.from((await project.writes.readContent(third))?.verified ?? []).toString()).toBe('\n\n{ "a": }\n');
});

test('content with findings is written if that is forced, and the label records it', async () => {
  const project = await given.session();
  const id = await begin(project, '{ "a": }\n', { target: 'a.json' });
  const { commit } = written(await finalizeWrite(project, { id, force: true }));
  expect(await project.read('a.json')).toBe('{ "a": }\n');
  const { message } = await project.repository.store.readCommit(commit);
  expect(decodeEntry(message)?.write?.validation).toMatch(/^forced: /);
});

test.each([
  ['appeared', {}, { 'docs/guide.md': 'theirs\n' }],
  ['vanished', { target: 'README.md', operation: 'overwrite' }, { 'README.md': null }],
  ['changed', { target: 'README.md', operation: 'append' }, { 'README.md': 'theirs\n' }],
])('a target that %s since the session began is left unchanged, and the content stays', async (_, more, files) => {
  const project = await given.session({ 'README.md': '# Notes\n' });
  const id = await begin(project, 'ours\n', more);
  await project.write(files);
  const tip = await project.tipOf(line);
  await expect(finalizeWrite(project, { id })).rejects.toMatchObject({
    code: 'TARGET_CHANGED',
    message: 'Target changed since the session began.',
  });
  for (const [path, text] of Object.entries(files)) expect(await project.read(path)).toBe(text);
  expect(await project.tipOf(line)).toBe(tip);
  expect(await findWrite(project, id)).toMatchObject({ stage: 'failed', size: 5 });
});

test('a work tree that has left the line is refused, and after switching back the file is written', async () => {
  const project = await given.session();
  const id = await begin(project, 'text\n');
  await project.switchTo('main');
  await expect(finalizeWrite(project, { id })).rejects.toMatchObject({ code: 'NOT_ON_LINE' });
  await project.switchTo(line.replace('refs/heads/', ''));
  written(await finalizeWrite(project, { id }));
});

/** Fails at the n-th call to a port that finalizing makes, before or after the call has done its work. */
function breakAt(project: MemoryProject, at: number, isAfter: boolean): { project: Project; calls: string[] } {
  const calls: string[] = [];
  const wrap = <Port extends object>(port: Port, names: string[]): Port =>
    new Proxy(port, {
      get(target, name, receiver) {
        const value: unknown = Reflect.get(target, name, receiver);
        if (typeof value !== 'function' || !names.includes(String(name))) return value;
        return async (...args: unknown[]) => {
          calls.push(String(name));
          const isHere = calls.length === at;
          if (isHere && !isAfter) throw new Error(`broken before ${String(name)}`);
          const result: unknown = await Reflect.apply(value, target, args);
          if (isHere) throw new Error(`broken after ${String(name)}`);
          return result;
        };
      },
    });
  const { repository, writes, filesOf } = project;
  const open: typeof writes.open = async (id) => {
    const staged = await writes.open(id);
    return staged && wrap(staged, ['save', 'replace', 'read', 'dropContent']);
  };
  return {
    calls,
    project: {
      ...project,
      writes: { ...writes, open },
      filesOf: (root) => wrap(filesOf(root), ['install', 'installNew']),
      repository: { ...repository, workspace: wrap(repository.workspace, ['treeOfPaths', 'publish']) },
    },
  };
}

slowTest.each([
  ['create', null],
  ['overwrite', 'before\n'],
  ['append', 'before\n'],
])('interrupted at any call, a finalize of %s is resumed, and there is exactly one entry', async (operation, base) => {
  const isWhole = (text: string | null) =>
    text === base || text === (operation === 'append' ? 'before\ntext\n' : 'text\n');
  for (let at = 1, hasEnded = false; !hasEnded; at += 1) {
    for (const isAfter of [false, true]) {
      const project = await given.session(base === null ? {} : { 'a.txt': base });
      const id = await begin(project, 'text\n', { target: 'a.txt', operation });
      const broken = breakAt(project, at, isAfter);
      const failure = await finalizeWrite(broken.project, { id }).then(
        () => null,
        (error: Error) => error.message,
      );
      hasEnded = broken.calls.length < at;
      expect(failure === null).toBe(hasEnded);
      expect(isWhole(await project.read('a.txt'))).toBe(true);
      written(await finalizeWrite(project, { id }));
      expect(await countEntries(project, line, id), `${at} ${failure}`).toBe(1);
      expect(await project.read('a.txt')).toBe(operation === 'append' ? 'before\ntext\n' : 'text\n');
      expect(await findWrite(project, id)).toMatchObject({ status: 'completed' });
    }
  }
});

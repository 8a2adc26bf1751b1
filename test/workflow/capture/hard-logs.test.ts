/** A captured line where the state of its log is lost, the log is odd, or the user works on the line as well. */
import { describe, expect, test } from 'vitest';
import { decodeTranscript } from '../../../src/conversation/decode-transcript.ts';
import { shortRef } from '../../../src/names.ts';
import { openFollower, type FollowOptions } from '../../../src/workflow/capture/follow-log.ts';
import { verifySession } from '../../../src/workflow/verify/session.ts';
import { memoryCapture, type MemoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';

const path = '/home/user/.claude/projects/-project/s1.jsonl';
const options: FollowOptions = { cwd: null, isOurs: async () => true, isLeftOut: () => false };
const main = 'teddy/20260124-claude-code-add-a-file';

const base = { sessionId: 's1', cwd: '/project', version: '2.1.330', timestamp: '2026-01-24T10:00:00.000Z' };
const toLine = (value: object) => `${JSON.stringify({ ...base, ...value })}\n`;
const said = (uuid: string, parentUuid: string | null, content: string) =>
  toLine({ type: 'user', uuid, parentUuid, message: { role: 'user', content } });
const answered = (uuid: string, parentUuid: string, text: string) =>
  toLine({
    type: 'assistant',
    uuid,
    parentUuid,
    message: { id: uuid, role: 'assistant', content: [{ type: 'text', text }], stop_reason: 'end_turn' },
  });
const odd = (number: number, text = 'x') => toLine({ type: `from-the-future-${number}`, text });

const first = said('u1', null, 'Add a file') + answered('a1', 'u1', 'It is there.');
const second = said('u2', 'a1', 'And another') + answered('a2', 'u2', 'Done.');

async function capture(project: MemoryProject, logs: MemoryCapture, text: string): Promise<void> {
  logs.files.set(path, text);
  const follower = await openFollower(project, logs, { agent: 'claude-code', path }, options);
  await follower.advance();
  await follower.settle();
}

async function filesOf(project: MemoryProject, line: string, name: string): Promise<Record<string, string>> {
  const { store } = project.repository;
  const files: Record<string, string> = {};
  for (const { path: file, oid } of await store.listTree(await project.tipOf(line)))
    if (file.endsWith(name)) files[file.split('/').at(-2) ?? ''] = new TextDecoder().decode(await store.readBlob(oid));
  return files;
}

async function textsOf(project: MemoryProject, line: string): Promise<Record<string, string[]>> {
  const files = Object.entries(await filesOf(project, line, 'transcript.jsonl'));
  return Object.fromEntries(
    files.map(([turn, text]) => [
      turn,
      decodeTranscript(text).records.flatMap((record) =>
        (record.type === 'user' || record.type === 'assistant') && 'content' in record.message
          ? [record.message.content]
          : [],
      ),
    ]),
  );
}

async function linesOf(project: MemoryProject): Promise<string[]> {
  return (await project.repository.store.listRefs('refs/heads/teddy/')).map(({ ref }) => shortRef(ref));
}

async function faultsOf(project: MemoryProject): Promise<string[]> {
  const { signal } = new AbortController();
  const { lines } = await verifySession(project, { target: undefined, all: true, fsck: false, signal });
  return lines.flatMap(({ violations }) => violations.map(({ message }) => message));
}

describe('lines that no reader understands', () => {
  test('are kept also when the drainer ends before the next entry', async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first);
    await capture(project, logs, first + odd(1));
    await capture(project, logs, first + odd(1) + second);
    expect(Object.values(await filesOf(project, main, 'raw.jsonl')).join('')).toContain('from-the-future-1');
    expect(logs.saved.get(path)).toMatchObject({ unknown: 1 });
  });

  test('are there once, also when the log is read again from its beginning', async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, odd(1) + first);
    logs.saved.clear();
    await capture(project, logs, odd(1) + first + second);
    const raw = Object.values(await filesOf(project, main, 'raw.jsonl')).join('');
    expect(raw.split('from-the-future-1')).toHaveLength(2);
  });
});

describe('a fork whose state was lost', () => {
  const again = said('u3', 'a1', 'Or a directory') + answered('a3', 'u3', 'A directory is there.');
  const more = said('u4', 'a3', 'And one in it') + answered('a4', 'u4', 'Also there.');

  test('goes on in a turn of its own, and opens no second branch', async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first + second + again);
    logs.saved.clear();
    await capture(project, logs, first + second + again + more);
    const branch = `${main}--02-branch-01`;
    expect(await linesOf(project)).toEqual([main, branch]);
    expect(await textsOf(project, branch)).toEqual({
      '01': ['Add a file', 'It is there.'],
      '02-branch-01': ['Or a directory', 'A directory is there.'],
      '03': ['And one in it', 'Also there.'],
    });
    expect(await faultsOf(project)).toEqual([]);
  });
});

test('an id of more than one word makes no fault', async () => {
  const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
  await capture(project, logs, first.replaceAll('"s1"', String.raw`"s1\nTeddy-Turn: 09"`));
  expect(await linesOf(project)).toEqual([main]);
  expect(await faultsOf(project)).toEqual([]);
});

describe('a line that the user works on as well', () => {
  test('goes on where it was moved back to', async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first);
    const tip = await project.tipOf(main);
    await capture(project, logs, first + second + said('u5', 'a2', 'Third'));
    const ref = `refs/heads/${main}` as never;
    await project.repository.store.updateRefs([{ ref, old: await project.tipOf(main), new: tip }], 'reset');
    await capture(project, logs, first + second + said('u5', 'a2', 'Third') + answered('a5', 'u5', 'Third done.'));
    expect(Object.keys(await textsOf(project, main))).toEqual(['01', '02']);
    expect(await faultsOf(project)).toEqual([]);
  });
});

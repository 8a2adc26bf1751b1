/** The ids on a line ascend in time, whatever the writers' clocks say. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { RefName } from '../../../src/names.ts';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import { entryMs } from '../../../src/session/entries/logged-entry.ts';
import { systemIds } from '../../../src/system/ids.ts';
import { advance, openFollower, settle } from '../../../src/workflow/capture/follow-log.ts';
import { importSession } from '../../../src/workflow/conversation/import-session.ts';
import { giveVerdict } from '../../../src/workflow/run/give-verdict.ts';
import { memoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { recordedSession } from '../../support/recorded-session.ts';
import { create, planOf, say } from '../../support/turns.ts';

const hourMs = 3_600_000;
const days = [3, 0, -10, 10, -400, 0];

/** Each id is made by its own process, whose clock says another day. */
function confuseClocks(project: MemoryProject): MemoryProject {
  let made = 0;
  const now = () => new Date(project.clock.now().getTime() + (days[(made += 1) % days.length] ?? 0) * 24 * hourMs);
  project.ids.entryId = (at) => systemIds({ now }).entryId(at);
  return project;
}

/** The times of the entries on each line, oldest first; an entry that is earlier than its session is named. */
async function timesOf({ repository: { store } }: MemoryProject) {
  const lines = new Map<RefName, number[]>();
  const kinds = new Set<string>();
  const early: string[] = [];
  for (const { ref, oid } of await store.listRefs('refs/heads/teddy/')) {
    const times: number[] = [];
    for await (const { commit } of store.firstParents(oid)) {
      const entry = decodeEntry(commit.message);
      if (entry === null) continue;
      times.unshift(entryMs(entry));
      kinds.add(entry.kind);
      if (entryMs(entry) < Date.parse(entry.created)) early.push(`${ref}: ${entry.kind}`);
    }
    if (times.length > 0) lines.set(ref, times);
  }
  return { lines, kinds, early };
}

async function expectAscending(project: MemoryProject) {
  const { lines, kinds, early } = await timesOf(project);
  for (const [ref, times] of lines) expect(times, ref).toEqual([...new Set(times)].toSorted((a, b) => a - b));
  expect(early).toEqual([]);
  return { lines, kinds };
}

describe('if the clock jumps between any two entries', () => {
  test('every entry is later than the one before it, on every line', async () => {
    const project = await recordedSession(confuseClocks);
    await say(project, 'One more', planOf([create('more.txt')]));
    await giveVerdict(project, { verdict: 'rejected', text: 'no' });
    const { lines, kinds } = await expectAscending(project);
    expect(lines.size).toBe(5);
    expect([...kinds].toSorted()).toEqual([
      'approval',
      'branch',
      'exchange',
      'memo',
      'message',
      'plan',
      'reply',
      'report',
      'snapshot',
      'start',
      'undo',
    ]);
  });

  test('so is every imported entry, and a conversation branch’s first entry is later than its fork point', async () => {
    const project = confuseClocks(await memoryProject());
    const line = (uuid: string, parentUuid: string | null, type: 'user' | 'assistant', content: string) =>
      `${JSON.stringify({ uuid, parentUuid, type, sessionId: 's1', cwd: '/project', version: '2.1.330', timestamp: '2026-01-24T10:00:00.000Z', message: { role: type, content: type === 'user' ? content : [{ type: 'text', text: content }] } })}\n`;
    const text = [
      line('u1', null, 'user', 'Add a login'),
      line('a1', 'u1', 'assistant', 'It is there.'),
      line('u2', 'a1', 'user', 'And a logout'),
      line('a2', 'u2', 'assistant', 'Done.'),
      line('u3', 'a1', 'user', 'And a logout button'),
      line('a3', 'u3', 'assistant', 'Done as well.'),
    ].join('');
    const source = {
      path: 's1.jsonl',
      sizeBytes: text.length,
      read() {
        async function* pieces() {
          yield { text, bytes: text.length };
        }
        return { pieces: pieces(), sha256: () => createHash('sha256').update(text).digest('hex') };
      },
    };
    await importSession(project, { source, signal: new AbortController().signal });
    expect((await expectAscending(project)).lines.size).toBe(2);
  });
});

describe('an agent’s log whose clock was set back', () => {
  const lines = [
    ['u1', null, 'user', 'Add a login', '2026-01-24T10:00:00.000Z'],
    ['a1', 'u1', 'assistant', 'It is there.', '2026-01-14T10:00:00.000Z'],
    ['u2', 'a1', 'user', 'And a logout', '2026-01-27T10:00:00.000Z'],
    ['a2', 'u2', 'assistant', 'Done.', '2026-01-27T10:00:00.000Z'],
    // The second message was retyped.
    ['u3', 'a1', 'user', 'And a logout button', '2026-01-01T10:00:00.000Z'],
    ['a3', 'u3', 'assistant', 'Done as well.', '2026-01-24T10:00:00.000Z'],
  ] as const;
  const text = lines
    .map(
      ([uuid, parentUuid, type, said, timestamp]) =>
        `${JSON.stringify({ uuid, parentUuid, type, timestamp, sessionId: 's1', cwd: '/project', version: '2.1.330', message: type === 'user' ? { role: type, content: said } : { id: uuid, role: type, model: 'm', content: [{ type: 'text', text: said }], stop_reason: 'end_turn' } })}\n`,
    )
    .join('');

  async function capture(project: MemoryProject, times: number): Promise<void> {
    for (let count = 0; count < times; count += 1) {
      const logs = memoryCapture('claude-code');
      const log = { agent: 'claude-code', path: '/home/user/.claude/projects/-project/s1.jsonl' } as const;
      logs.files.set(log.path, text);
      const options = { cwd: null, isOurs: async () => true, isLeftOut: () => false };
      const follower = await openFollower(project, logs, log, options);
      await advance(follower);
      await settle(follower);
    }
  }

  test('gives ascending ids, the same ones on each read, and no second branch when it is reread', async () => {
    const [project, other] = await Promise.all([memoryProject(), memoryProject()]);
    await capture(project, 2);
    await capture(other, 1);
    const { lines: found } = await expectAscending(project);
    expect([...found.values()].map(({ length }) => length).toSorted()).toEqual([5, 6]);
    expect(found).toEqual((await timesOf(other)).lines);
  });
});

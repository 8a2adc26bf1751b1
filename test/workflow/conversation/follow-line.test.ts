import { beforeEach, describe, expect, test } from 'vitest';
import type { KnownRecord } from '../../../src/conversation/records/record.ts';
import type { Oid, RefName } from '../../../src/names.ts';
import { appendRecords } from '../../../src/workflow/line/append-records.ts';
import { followLine, type LineEvent, type LinePosition } from '../../../src/workflow/conversation/follow-line.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, planOf, run, say, session } from '../../support/turns.ts';

let project: MemoryProject;

beforeEach(async () => {
  project = await given.session();
});

const timestamp = '2026-01-24T10:00:00.000Z';

function user(id: string, content = id): KnownRecord {
  return { type: 'user', id, timestamp, message: { role: 'user', content }, source: 'text' };
}

function assistant(id: string, content = id): KnownRecord {
  return { type: 'assistant', id, timestamp, message: { role: 'assistant', content }, source: 'voice_response' };
}

function exchange(id: string): KnownRecord[] {
  const call = { tool_call_id: `call-${id}`, timestamp };
  return [
    { type: 'tool_use', id: `${id}-use`, ...call, tool_name: 'read_file', tool_input: {} },
    { type: 'tool_result', id: `${id}-result`, ...call, output: 'text', is_error: false },
  ];
}

const append = async (...records: KnownRecord[]) =>
  (await appendRecords(project, { selector: session, records })).commit;

interface Following {
  /** Returns the events since the last look, until there are no more. */
  look(): Promise<LineEvent[]>;
  /** After the end, nothing is looked at any more. */
  isDone(): boolean;
  stop(): Promise<void>;
}

async function follow(after: LinePosition | null = null, selector = session): Promise<Following> {
  const stop = new AbortController();
  let wake = () => undefined as void;
  let paused = () => undefined as void;
  let isDone = false;
  const pause = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
      paused();
    });
  const followed = await followLine(project, { selector, after, pause, signal: stop.signal });
  let seen: LineEvent[] = [];
  const read = async () => {
    for await (const event of followed.events) seen.push(event);
    isDone = true;
    paused();
  };
  let reading: Promise<void> | null = null;
  return {
    async look() {
      const idle = new Promise<void>((resolve) => (paused = resolve));
      if (reading === null) reading = read();
      else wake();
      await Promise.race([idle, reading]);
      const events = seen;
      seen = [];
      return events;
    },
    isDone: () => isDone,
    async stop() {
      stop.abort();
      wake();
      await reading;
    },
  };
}

/** `record 02 message u1`, with the position. */
function told(events: LineEvent[]): string[] {
  return events.map((event) => {
    if (event.kind === 'end') return `end ${event.reason}`;
    if (event.kind === 'begin' || event.kind === 'reset') return event.kind;
    const { turn, kind } = event.entry;
    const record = event.kind === 'record' && event.record.type !== 'other' ? ` ${event.record.id}` : '';
    return `${event.kind} ${turn} ${kind}${record} #${event.position.count}`;
  });
}

const positionOf = (event: LineEvent | undefined): LinePosition => {
  if (event === undefined || event.kind === 'end') throw new Error('It has no position.');
  return event.position;
};

describe('following a line', () => {
  test('begins at the tip, and reports every appended record with its commit and turn', async () => {
    await append(user('before'));
    const following = await follow();
    expect(await following.look()).toEqual([
      { kind: 'begin', position: { commit: await project.tipOf(line), count: null } },
    ]);
    const commit = await append(assistant('a1', 'Yes'));
    const events = await following.look();
    expect(told(events)).toEqual(['record 01 reply a1 #1']);
    expect(events[0]).toMatchObject({ position: { commit, count: 1 }, record: assistant('a1', 'Yes') });
    expect(await following.look()).toEqual([]);
  });

  test('reports the records in one unit one by one, and several entries oldest first', async () => {
    const following = await follow();
    await following.look();
    await append(user('u1'));
    await append(...exchange('x'));
    await append(assistant('a1'));
    await append(user('u2'));
    expect(told(await following.look())).toEqual([
      'record 01 message u1 #1',
      'record 01 exchange x-use #1',
      'record 01 exchange x-result #2',
      'record 01 reply a1 #1',
      'record 02 message u2 #1',
    ]);
  });

  test('resumes exactly after any event', async () => {
    const from = await project.tipOf(line);
    await append(user('u1'));
    await append(...exchange('x'));
    await project.write({ 'README.md': '# Mine\n' });
    await project.commit('Mine');
    await append(assistant('a1'));
    const [, ...all] = await (await follow({ commit: from, count: null })).look();
    expect(all).toHaveLength(4);
    for (const [at, event] of all.entries()) {
      const [begin, ...rest] = await (await follow(positionOf(event))).look();
      expect(begin).toEqual({ kind: 'begin', position: positionOf(event) });
      expect(rest).toEqual(all.slice(at + 1));
    }
  });

  test('reports a plan with its text, and an entry without records separately', async () => {
    const following = await follow();
    await following.look();
    const plan = planOf([create('a.txt')]);
    await say(project, 'Make it', plan);
    await run(project);
    const events = await following.look();
    expect(told(events)).toEqual([
      expect.stringMatching(/^record 01 message .+ #1$/) as string,
      expect.stringMatching(/^record 01 plan .+ #1$/) as string,
      'entry 01 report #1',
    ]);
    expect(events[1]).toMatchObject({ record: { source: 'plan', message: { role: 'assistant', content: plan } } });
  });

  test('does not repeat records that a user’s commit removed and the next entry restores', async () => {
    const following = await follow();
    await append(user('u1'));
    await following.look();
    await project.commit('Lose it', { [`.teddy/sessions/${session}/01/transcript.jsonl`]: null });
    await append(assistant('a1'));
    expect(told(await following.look())).toEqual(['record 01 reply a1 #1']);
  });

  test('reports a rewritten transcript from its first changed line on', async () => {
    await append(user('u1'));
    await append(assistant('a1'));
    const following = await follow();
    await following.look();
    const path = `.teddy/sessions/${session}/01/transcript.jsonl`;
    const message = (await project.repository.store.readCommit(await project.tipOf(line))).message;
    const lines = ((await project.readAt(await project.tipOf(line), path)) ?? '').split('\n');
    await project.commit(message, { [path]: [lines[0], lines[1]?.replaceAll('a1', 'a2'), ''].join('\n') });
    expect(told(await following.look())).toEqual(['record 01 reply a2 #1']);
    await project.commit(message, { [path]: `${lines[0]}` });
    expect(told(await following.look())).toEqual(['entry 01 reply #1']);
  });

  test('reports a force-moved line once, and follows it from its new tip', async () => {
    const old = await append(user('u1'));
    await append(assistant('a1'));
    const following = await follow();
    await following.look();
    await project.setRef(`refs/heads/${line}`, old);
    expect(await following.look()).toEqual([{ kind: 'reset', position: { commit: old, count: null } }]);
    await append(assistant('a2'));
    expect(told(await following.look())).toEqual(['record 01 reply a2 #1']);
  });

  test.each([
    ['is not on the line', 'f'.repeat(40)],
    ['is older than the session', null],
  ])('answers a position that %s with a reset', async (_, unknown) => {
    const commit = (unknown ?? (await project.tipOf('main'))) as Oid;
    expect(told(await (await follow({ commit, count: 1 })).look())).toEqual(['begin', 'reset']);
  });

  test.each([
    ['deleted', false],
    ['archived', true],
  ])('ends when a branch was %s', async (reason, isArchived) => {
    const following = await follow();
    await following.look();
    const tip = await project.tipOf(line);
    if (isArchived) await project.setRef(`refs/teddy/archive/2026-01/${session}`, tip);
    await project.repository.store.updateRefs(
      [{ ref: `refs/heads/${line}` as RefName, old: tip, new: null }],
      'teddy: test',
    );
    expect(told(await following.look())).toEqual([`end ${reason}`]);
    expect(following.isDone()).toBe(true);
  });

  test('follows a line that only a remote has once it is continued here', async () => {
    const tip = await append(user('u1'));
    await project.setRef(`refs/remotes/origin/${line}`, tip);
    await project.switchTo('main');
    await project.repository.store.updateRefs(
      [{ ref: `refs/heads/${line}` as RefName, old: tip, new: null }],
      'teddy: test',
    );
    const following = await follow();
    expect(await following.look()).toEqual([{ kind: 'begin', position: { commit: tip, count: null } }]);
    expect(await following.look()).toEqual([]);
    await append(assistant('a1'));
    expect(told(await following.look())).toEqual(['record 01 reply a1 #1']);
  });

  test('ends with its signal', async () => {
    const following = await follow();
    await following.look();
    await following.stop();
    expect(following.isDone()).toBe(true);
  });

  test('reports an unknown session immediately', async () => {
    await expect(follow(null, 'nowhere')).rejects.toMatchObject({ code: 'UNKNOWN_SESSION' });
  });
});

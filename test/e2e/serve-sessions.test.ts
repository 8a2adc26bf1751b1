import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ServerRecord } from '../../src/ports/disk.ts';
import { openEvents, type EventClient } from '../support/event-client.ts';
import type { RunningTeddy } from '../support/run-teddy.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;
let running: RunningTeddy[];
let clients: EventClient[];

beforeEach(async () => {
  project = await openTeddyProject();
  session = await project.begin('talk');
  running = [];
  clients = [];
});

afterEach(async () => {
  for (const client of clients) client.close();
  for (const { kill } of running) kill('SIGTERM');
  await Promise.all(running.map(({ result }) => result));
  await project.close();
});

/** Ready to be called. */
async function serve(): Promise<RunningTeddy & { record: ServerRecord }> {
  const run = project.start(['serve', '--port', '0'], { timeoutMs: 170_000 });
  running.push(run);
  await run.waitForOutput(/The token is in /);
  const path = join(project.repo.root, '.git', 'teddy', 'server.json');
  return { ...run, record: JSON.parse(await readFile(path, 'utf8')) as ServerRecord };
}

async function call({ url, token }: ServerRecord, method: string, path: string, body?: object) {
  const response = await fetch(`${url}/api/sessions${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const say = (record: ServerRecord, id: string, content: string, role: 'user' | 'assistant' = 'user') =>
  call(record, 'POST', `/${session}/entries`, { type: role, id, message: { role, content }, source: 'text' });

async function listen(record: ServerRecord, headers: Record<string, string> = {}): Promise<EventClient> {
  const client = await openEvents(record, `/api/sessions/${session}/events`, headers);
  clients.push(client);
  await client.until(1);
  return client;
}

/** `message 01 Hello`, with `-` for what is no text. */
function told({ events }: EventClient): string[] {
  return events.slice(1).map(({ event, data }) => {
    const record = data['record'] as { message?: { content: string } } | undefined;
    const said = event === 'record' ? (record?.message?.content ?? '-').split('\n')[0] : event;
    return `${String(data['entry'])} ${String(data['turn'])} ${said ?? ''}`;
  });
}

describe('teddy serve, for front ends', () => {
  test('what is said in voice and what the command line does are one session, and a client hears all of it', async () => {
    const { record } = await serve();
    const client = await listen(record);
    expect(await say(record, 'u1', 'Hello')).toMatchObject({ status: 200, body: { turn: '01', isNew: true } });
    expect(await say(record, 'a1', 'Good day', 'assistant')).toMatchObject({ status: 200, body: { turn: '01' } });
    await project.plan(createPlan('a.txt', 'A\n'), 'Make a.txt');
    await project.ok('session', 'execute', '-y');
    await client.until(6);
    expect(told(client)).toEqual([
      'message 01 Hello',
      'reply 01 Good day',
      'message 02 Make a.txt',
      'plan 02 # Try it',
      'report 02 entry',
    ]);
    const commits = client.events.slice(1).map(({ data }) => data['commit']);
    const line = await project.repo.git('log', '--first-parent', '--reverse', '--format=%H', '-5', `teddy/${session}`);
    expect(commits).toEqual(line.split('\n'));
    const { body } = await call(record, 'GET', `/${session}/history`);
    expect(body).toMatchObject({ session, format: 'openai', commit: commits.at(-1) });
    expect(JSON.stringify(body['messages'])).toContain('Good day');
  });

  test('a client that was away while the server was killed goes on with the next one, without loss or repetition', async () => {
    const first = await serve();
    const before = await listen(first.record);
    await say(first.record, 'u1', 'one');
    await before.until(2);
    first.kill('SIGKILL');
    await first.result;
    await before.ended;
    await project.plan('No plan, an answer.', 'two');
    const { record } = await serve();
    const after = await listen(record, { 'Last-Event-ID': before.events.at(-1)?.id ?? '' });
    await say(record, 'u3', 'three');
    await after.until(4);
    expect([...told(before), ...told(after)]).toEqual([
      'message 01 one',
      'message 01 two',
      'reply 01 No plan, an answer.',
      'message 02 three',
    ]);
    // The same again, as from a client that has lost the answer: there is still one of it.
    expect(await say(record, 'u3', 'three')).toMatchObject({ status: 200, body: { isNew: false } });
    expect(await say(record, 'u3', 'other')).toMatchObject({ status: 409, body: { code: 'ENTRY_EXISTS' } });
  });
});

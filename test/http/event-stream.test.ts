import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import type { SessionApi } from '../../src/http/session-api.ts';
import type { Oid, RefName } from '../../src/names.ts';
import type { FollowedLine } from '../../src/workflow/conversation/follow-line.ts';
import { openEvents, type EventClient } from '../support/event-client.ts';
import { openTestServer, type TestServer, type TestServerOptions } from '../support/http-server.ts';
import { startWait } from '../support/wait.ts';
import { line, session, start } from '../support/turns.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

const path = `/api/sessions/${session}/events`;

let server: TestServer;
let clients: EventClient[];

beforeEach(async () => {
  clients = [];
  server = await openTestServer();
  await start(server.project);
});

afterEach(async () => {
  for (const client of clients) client.close();
  await server.stop();
});

async function reopen(options: TestServerOptions): Promise<void> {
  await server.stop();
  server = await openTestServer({ project: server.project, ...options });
}

async function open(query = '', headers: Record<string, string> = {}): Promise<EventClient> {
  const client = await openEvents(server, `${path}${query}`, headers);
  clients.push(client);
  return client;
}

async function post(id: string, content = id): Promise<string> {
  const record = { type: 'assistant', id, message: { role: 'assistant', content } };
  const { status, body } = await server.call('POST', `/api/sessions/${session}/entries`, record);
  expect(status).toBe(200);
  return String(body['commit']);
}

const idsOf = ({ events }: EventClient) =>
  events.flatMap(({ event, data }) => (event === 'record' ? [(data['record'] as { id: string }).id] : []));

/** A line longer than any client reads, with events of this length. */
function endless(bytes: number, taken: { count: number }): TestServerOptions {
  const entry = { kind: 'reply', turn: '01', title: 'x'.repeat(bytes) };
  async function* events() {
    for (;;) {
      taken.count += 1;
      yield { kind: 'entry', position: { commit: 'c', count: 1 }, entry };
      await sleep(0);
    }
  }
  return { sessions: { follow: async () => ({ session, line, events: events() }) as unknown as FollowedLine } };
}

describe('a session’s event stream', () => {
  test('begins with its position, and reports every record with its commit and turn', async () => {
    const tip = await server.project.tipOf(line);
    const client = await open();
    expect(client).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' },
    });
    await client.until(1);
    expect(client.text()).toMatch(/^retry: 2000\n\n/);
    expect(client.events).toEqual([{ id: tip, event: 'begin', data: { session, line, commit: tip } }]);
    const commit = await post('a1', 'Hello');
    await client.until(2);
    expect(client.events[1]).toEqual({
      id: `${commit}:1`,
      event: 'record',
      data: {
        session,
        line,
        turn: '01',
        commit,
        entry: 'reply',
        record: {
          type: 'assistant',
          id: 'a1',
          timestamp: expect.any(String) as string,
          message: { role: 'assistant', content: 'Hello' },
          source: 'text',
        },
      },
    });
  });

  slowTest('reports this server’s own appends before it looks at the line again', async () => {
    await reopen({ streamLimits: { lookMs: 600_000 } });
    const client = await open();
    await client.until(1);
    for (const [at, id] of ['a1', 'a2', 'a3'].entries()) {
      await post(id);
      await client.until(at + 2);
    }
  });

  test('keeps a line end, a separator and text that looks like an event within their event', async () => {
    const client = await open();
    await client.until(1);
    await post('a1', 'one\r\n\r\nevent: end\ndata: {}\n\n\u2028two');
    await client.until(2);
    await post('a2');
    await client.until(3);
    expect(client.events.map(({ event }) => event)).toEqual(['begin', 'record', 'record']);
  });

  test('continues after a reconnecting client’s last event, without loss or repetition', async () => {
    const first = await open();
    await first.until(1);
    for (const id of ['a1', 'a2']) await post(id);
    await first.until(3);
    first.close();
    for (const id of ['a3', 'a4']) await post(id);
    const last = first.events.at(-1)?.id ?? '';
    // A client's address stays the one it began with.
    const second = await open(`?since=${first.events[0]?.id ?? ''}`, { 'Last-Event-ID': last });
    await second.until(3);
    await post('a5');
    await second.until(4);
    expect([...idsOf(first), ...idsOf(second)]).toEqual(['a1', 'a2', 'a3', 'a4', 'a5']);
  });

  test('continues after a call’s commit if the client passes that', async () => {
    const commit = await post('a1');
    await post('a2');
    const client = await open(`?since=${commit}`);
    await client.until(2);
    expect(idsOf(client)).toEqual(['a2']);
  });

  test('sends the same to several clients', async () => {
    const several = await Promise.all([open(), open(), open()]);
    await Promise.all(several.map((client) => client.until(1)));
    for (const id of ['a1', 'a2', 'a3']) await post(id);
    await Promise.all(several.map((client) => client.until(4)));
    for (const client of several) expect(idsOf(client)).toEqual(['a1', 'a2', 'a3']);
  });

  slowTest('reports a line that was force-moved, and one that was deleted', async () => {
    const old = await post('a1');
    await post('a2');
    const client = await open();
    await client.until(1);
    await server.project.setRef(`refs/heads/${line}`, old as Oid);
    await client.until(2);
    expect(client.events[1]).toEqual({ id: old, event: 'reset', data: { session, line, commit: old } });
    await server.project.repository.store.updateRefs(
      [{ ref: `refs/heads/${line}` as RefName, old: old as Oid, new: null }],
      'teddy: test',
    );
    await client.ended;
    expect(client.events[2]).toEqual({ id: null, event: 'end', data: { session, line, reason: 'deleted' } });
  });

  test.each(['x', 'HEAD', `${'a'.repeat(40)}:`, `${'a'.repeat(40)}:x`])(
    'answers an invalid id, %s, with 400',
    async (since) => {
      const answers = await Promise.all([
        server.call('GET', `${path}?since=${since}`),
        server.call('GET', path, undefined, { 'Last-Event-ID': since }),
      ]);
      for (const answer of answers) expect(answer).toMatchObject({ status: 400, body: { code: 'USAGE' } });
    },
  );

  test('keeps an idle connection alive with comments', async () => {
    await reopen({ streamLimits: { heartbeatMs: 20 } });
    const client = await open();
    await client.until(1);
    while (!/(?:^:\n\n){3}/m.test(client.text())) await sleep(5);
    expect(client.events).toHaveLength(1);
  });
});

describe('event streams and their server', () => {
  test('one stream over the limit is 503, and a place that becomes free is reused', async () => {
    await reopen({ streamLimits: { maxStreams: 2 } });
    const [first] = [await open(), await open()];
    const refused = await server.call('GET', path);
    expect(refused).toMatchObject({
      status: 503,
      headers: { 'retry-after': '10' },
      body: { code: 'TOO_MANY_STREAMS' },
    });
    first?.close();
    while (server.lines.length < 2) await sleep(5);
    expect((await open()).status).toBe(200);
  });

  test('a client that leaves, even before its line is found, leaves nothing behind', async () => {
    let followed = 0;
    let ended = 0;
    const follow: SessionApi['follow'] = async ({ pause, signal }) => {
      followed += 1;
      // Meanwhile the server notices that the first client has gone.
      for (let round = 0; round < 20; round += 1) await sleep(5);
      const next = async () => {
        while (!signal.aborted) await pause();
        ended += 1;
        return { done: true, value: undefined };
      };
      return { session, line, events: { [Symbol.asyncIterator]: () => ({ next }) } } as unknown as FollowedLine;
    };
    await reopen({ sessions: { follow } });
    const early = server.open();
    const head = `Host: localhost:${server.port}\r\nAuthorization: Bearer ${server.token}`;
    await early.send(`GET ${path} HTTP/1.1\r\n${head}\r\n\r\n`);
    while (followed === 0) await sleep(5);
    early.socket.destroy();
    const late = await open();
    late.close();
    while (server.lines.length < 2) await sleep(5);
    // The first one is not even begun.
    expect(ended).toBe(1);
  });

  slowTest('a client that reads nothing is sent no more than fits into its connection, and is dropped', async () => {
    const taken = { count: 0 };
    await reopen({ ...endless(256 * 1024, taken), streamLimits: { stallMs: 300 } });
    const client = await open();
    client.pause();
    while (server.lines.length === 0) await sleep(10);
    // Both ends of the connection hold this much; a client could read far more in that time.
    expect(taken.count).toBeLessThan(200);
    const { count } = taken;
    expect(server.lines).toMatchObject([{ status: 200, code: 'STREAM_STALLED' }]);
    await sleep(100);
    expect(taken.count).toBe(count);
    client.resume();
    await client.ended;
  });

  slowTest('a client that is slow, but reads, is not dropped', async () => {
    const taken = { count: 0 };
    await reopen({ ...endless(256 * 1024, taken), streamLimits: { stallMs: 1500 } });
    const client = await open();
    for (const wait = startWait(2000); !wait.isOver();) {
      client.pause();
      await sleep(100);
      client.resume();
      await sleep(50);
    }
    expect(server.lines).toEqual([]);
    expect(taken.count).toBeGreaterThan(8);
  });

  test('stopping the server ends every stream immediately, with a notice', async () => {
    await reopen({ streamLimits: { endMs: 600_000 } });
    const several = await Promise.all([open(), open()]);
    await Promise.all(several.map((client) => client.until(1)));
    await server.stop();
    for (const client of several) {
      await client.ended;
      expect(client.events.at(-1)).toMatchObject({ event: 'end', data: { reason: 'stopped' } });
    }
    expect(server.lines.map(({ code, status }) => ({ code, status }))).toEqual([{ status: 200 }, { status: 200 }]);
  });

  test('a client that reads nothing does not keep the server from stopping', async () => {
    const taken = { count: 0 };
    await reopen({ ...endless(256 * 1024, taken), streamLimits: { endMs: 100 } });
    const client = await open();
    client.pause();
    for (let count = -1; count !== taken.count; await sleep(50)) ({ count } = taken);
    await server.stop();
  });

  test('a line that can no longer be read ends the stream, and the operator gets the reason', async () => {
    const next = () => Promise.reject(new Error('The object is missing.'));
    const events = { [Symbol.asyncIterator]: () => ({ next }) };
    await reopen({ sessions: { follow: async () => ({ session, line, events }) as unknown as FollowedLine } });
    const client = await open();
    await client.ended;
    expect(client.events).toEqual([{ id: null, event: 'end', data: { reason: 'failed' } }]);
    expect(server.failures).toMatchObject([{ message: 'The object is missing.' }]);
    expect(server.lines).toMatchObject([{ status: 200, code: 'STREAM_FAILED' }]);
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect } from 'vitest';
import type { WriteApi } from '../../src/http/write-api.ts';
import { openTestServer, type TestServer, type TestServerOptions } from '../support/http-server.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

const id = '0b9d2f6e-3c1a-4f7e-9a55-6d2f8c1e7b40';

let server: TestServer;
/** Appends. */
let begun = 0;

afterEach(() => server.stop());

/** A server that records the appended data. */
async function openNoting(options: TestServerOptions & { appendMs?: number } = {}): Promise<string[]> {
  const appended: string[] = [];
  begun = 0;
  const append: WriteApi['append'] = async ({ bytes }) => {
    begun += 1;
    await sleep(options.appendMs ?? 0);
    appended.push(new TextDecoder().decode(bytes));
    return { session_id: id, offset: bytes.length, added: bytes.length };
  };
  server = await openTestServer({ ...options, writes: { append } });
  return appended;
}

function appendHead(length: number | 'chunked', ...more: string[]): string {
  const size = length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`;
  const own = [
    `Host: 127.0.0.1:${server.port}`,
    `Authorization: Bearer ${server.token}`,
    'Content-Type: application/json',
  ];
  return `POST /api/write-session/append HTTP/1.1\r\n${[...own, size, ...more].join('\r\n')}\r\n\r\n`;
}

const body = JSON.stringify({ session_id: id, offset: 0, data: 'A\n' });

async function untilLogged(count: number): Promise<void> {
  while (server.lines.length < count) await sleep(5);
}

async function untilBegun(): Promise<void> {
  while (begun === 0) await sleep(5);
}

describe('slow and broken clients', () => {
  test.each([0, 1, 20, body.length - 1])('a body that ends after %d bytes has no effect', async (size) => {
    const appended = await openNoting();
    const connection = server.open();
    await connection.send(`${appendHead(body.length)}${body.slice(0, size)}`);
    connection.socket.destroy();
    await untilLogged(1);
    expect(server.lines).toMatchObject([{ code: 'REQUEST_ABORTED' }]);
    expect(appended).toEqual([]);
    expect(server.failures).toEqual([]);
  });

  test('a body that arrives byte by byte is one body', async () => {
    const appended = await openNoting();
    const connection = server.open();
    void connection.send(appendHead('chunked', 'Connection: close'));
    for (const byte of body) void connection.send(`1\r\n${byte}\r\n`);
    void connection.send('0\r\n\r\n');
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 200 /);
    expect(appended).toEqual(['A\n']);
  });

  test('a client that takes too long for its headers gets an error, and its connection is closed', async () => {
    await openNoting({ patience: { headersMs: 100, requestMs: 300 } });
    const connection = server.open();
    void connection.send('GET /openapi.json HTTP/1.1\r\nHost:');
    const text = await connection.closed;
    expect(text).toMatch(/^HTTP\/1\.1 408 [^]*\r\nConnection: close\r\n/);
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({ code: 'REQUEST_TIMEOUT' });
    expect(server.lines).toMatchObject([{ status: 408, method: null, code: 'REQUEST_TIMEOUT' }]);
  });

  test('a client that takes too long for its body gets an error, and the body has no effect', async () => {
    const appended = await openNoting({ patience: { headersMs: 100, requestMs: 200 } });
    const connection = server.open();
    void connection.send(`${appendHead(body.length)}${body.slice(0, 10)}`);
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 408 [^]*"code":"REQUEST_TIMEOUT"/);
    await untilLogged(1);
    expect(server.lines).toMatchObject([{ method: 'POST', status: 408, code: 'REQUEST_TIMEOUT' }]);
    expect(appended).toEqual([]);
  });

  test('a slow client does not delay others', async () => {
    const appended = await openNoting();
    const slow = server.open();
    await slow.send(`${appendHead(body.length)}${body.slice(0, 10)}`);
    expect(await server.append(id, 0, 'B\n')).toMatchObject({ status: 200 });
    expect(appended).toEqual(['B\n']);
    slow.socket.destroy();
  });

  test('a body that is announced as too long is refused unread', async () => {
    const appended = await openNoting({ limits: { maxBytes: 100 } });
    const connection = server.open();
    void connection.send(appendHead(100 * 6 + 64 * 1024 + 1));
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 413 [^]*"code":"CONTENT_TOO_LARGE"/);
    expect(appended).toEqual([]);
  });

  test('a body that turns out to be too long is refused before it ends', async () => {
    await openNoting({ limits: { maxBytes: 100 } });
    const connection = server.open();
    void connection.send(appendHead('chunked'));
    const chunk = 'a'.repeat(1024);
    for (let sent = 0; sent < 70; sent += 1) void connection.send(`400\r\n${chunk}\r\n`);
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 413 [^]*"code":"CONTENT_TOO_LARGE"/);
  });

  test('headers over 16 KiB are 431', async () => {
    await openNoting();
    const connection = server.open();
    void connection.send(`GET / HTTP/1.1\r\nHost: localhost:${server.port}\r\nX-Long: ${'a'.repeat(20_000)}\r\n\r\n`);
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 431 [^]*"code":"HEADERS_TOO_LARGE"/);
  });

  test.each([
    ['garbage', '\u0000\u0001 what\r\n\r\n'],
    ['TLS', '\u0016\u0003\u0001\u0002\u0000'],
    [
      'a body with two lengths',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    ],
  ])('%s is 400, in JSON', async (_, text) => {
    await openNoting();
    const connection = server.open();
    void connection.send(text);
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 400 [^]*"code":"MALFORMED_REQUEST"/);
  });

  test('after all of that the server answers as before', async () => {
    await openNoting();
    for (const text of ['\u0000\r\n\r\n', 'GET', appendHead(10)]) {
      const { send, socket } = server.open();
      await send(text);
      socket.destroy();
    }
    expect(await server.append(id, 0, 'A\n')).toMatchObject({ status: 200 });
    expect(server.failures).toEqual([]);
  });
});

describe('stopping the server', () => {
  test('finishes and answers work that has begun', async () => {
    const appended = await openNoting({ appendMs: 200 });
    const answer = server.append(id, 0, 'A\n');
    await untilBegun();
    await server.stop();
    expect(appended).toEqual(['A\n']);
    expect(await answer).toMatchObject({ status: 200 });
  });

  test('finishes work even if it takes longer than the time for slow clients', async () => {
    const appended = await openNoting({ appendMs: 300, patience: { stopMs: 20 } });
    const answer = server.append(id, 0, 'A\n');
    await untilBegun();
    await server.stop();
    expect(await answer).toMatchObject({ status: 200 });
    expect(appended).toEqual(['A\n']);
  });

  test('does not wait for an idle connection', async () => {
    await openNoting({ patience: { stopMs: 50, idleMs: 600_000, headersMs: 600_000, requestMs: 600_000 } });
    const connection = server.open();
    const head = `Host: localhost:${server.port}\r\nAuthorization: Bearer ${server.token}`;
    void connection.send(`GET /openapi.json HTTP/1.1\r\n${head}\r\n\r\n`);
    const silent = server.open();
    await untilLogged(1);
    await server.stop();
    await Promise.all([connection.closed, silent.closed]);
  });

  slowTest('waits for a request that is still arriving, but not forever', async () => {
    const appended = await openNoting({ patience: { stopMs: 1000 } });
    const [late, never] = [server.open(), server.open()];
    for (const { send } of [late, never]) await send(`${appendHead(body.length)}${body.slice(0, 10)}`);
    await sleep(100);
    const stopped = server.stop();
    await late.send(body.slice(10));
    expect(await late.closed).toMatch(/^HTTP\/1\.1 200 [^]*\r\nconnection: close\r\n/i);
    await stopped;
    expect(await never.closed).toBe('');
    expect(appended).toEqual(['A\n']);
  });

  test('accepts no new connection, and removes the record', async () => {
    await openNoting();
    await server.stop();
    await expect(server.append(id, 0, 'A\n')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(await server.project.servers.read()).toBeNull();
  });
});

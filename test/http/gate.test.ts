import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestServer, type TestServer } from '../support/http-server.ts';

const unknownId = '0b9d2f6e-3c1a-4f7e-9a55-6d2f8c1e7b40';
const calls: [string, string][] = [
  ['POST', '/api/write-session/begin'],
  ['POST', '/api/write-session/append'],
  ['POST', '/api/write-session/finalize'],
  ['GET', `/api/write-session/status/${unknownId}`],
  ['GET', '/api/write-session'],
  ['DELETE', `/api/write-session/${unknownId}`],
  ['GET', '/openapi.json'],
  ['GET', '/nothing'],
  ['OPTIONS', '/api/write-session/begin'],
];

let server: TestServer;

beforeAll(async () => {
  server = await openTestServer();
});

afterAll(() => server.stop());

/** Without the token, the other refusals come first. */
function knock(headers: Record<string, string | undefined>) {
  return server.call('GET', '/api/write-session', undefined, headers);
}

describe('access control', () => {
  test.each(calls)('%s %s is 401 without the token, and has no effect', async (method, path) => {
    const body = method === 'POST' ? { intent: 'try', target_file: 'a.md', operation: 'create' } : undefined;
    const answer = await server.call(method, path, body, { Authorization: undefined });
    expect(answer).toMatchObject({ status: 401, body: { code: 'TOKEN_REFUSED' } });
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(await server.project.writes.list()).toEqual([]);
  });

  test('only the complete token is accepted, with its scheme', async () => {
    const { token } = server;
    const wrong = ['Bearer', 'Bearer ', token, `Basic ${token}`, `Bearer ${token}x`, `Bearer ${token.slice(0, -1)}`];
    for (const authorization of [...wrong, `Bearer ${token.toLowerCase()}`, `Bearer x ${token}`]) {
      expect(await knock({ Authorization: authorization })).toMatchObject({ status: 401 });
    }
    expect(await knock({ Authorization: `bearer ${token}` })).toMatchObject({ status: 200 });
  });

  test('the token is not accepted in the address', async () => {
    const answer = await server.call('GET', `/api/write-session?token=${server.token}`, undefined, {
      Authorization: undefined,
    });
    expect(answer).toMatchObject({ status: 401 });
  });

  test('every name of the loopback address is a valid host', async () => {
    for (const name of ['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]']) {
      expect(await knock({ Host: `${name}:${server.port}` })).toMatchObject({ status: 200 });
    }
  });

  test('any other host is 403, even with the token', async () => {
    const { port } = server;
    const others = [
      '127.0.0.1',
      'localhost',
      `example.org:${port}`,
      `localhost.example.org:${port}`,
      `0.0.0.0:${port}`,
    ];
    for (const host of [...others, `localhost:${port + 1}`]) {
      expect(await knock({ Host: host })).toMatchObject({ status: 403, body: { code: 'HOST_REFUSED' } });
    }
  });

  test('an invalid host is 400', async () => {
    for (const host of [`127.0.0.1:${server.port}.example.org`, `x@localhost:${server.port}`, 'a b']) {
      expect(await knock({ Host: host })).toMatchObject({ status: 400, body: { code: 'MALFORMED_REQUEST' } });
    }
  });

  test('a host that is sent twice is refused', async () => {
    const connection = server.open();
    const token = `Authorization: Bearer ${server.token}`;
    void connection.send(`GET /openapi.json HTTP/1.1\r\nHost: localhost:${server.port}\r\nHost: example.org\r\n`);
    void connection.send(`${token}\r\nConnection: close\r\n\r\n`);
    expect(await connection.closed).toMatch(/^HTTP\/1\.1 40[03] /);
  });

  test('pages of other origins are 403, even with the token', async () => {
    const { port } = server;
    const others = ['http://example.org', 'null', `https://127.0.0.1:${port}`, `http://127.0.0.1:${port + 1}`];
    for (const origin of [...others, `http://localhost:${port}`, '']) {
      expect(await knock({ Origin: origin })).toMatchObject({ status: 403, body: { code: 'ORIGIN_REFUSED' } });
    }
    expect(await knock({ Origin: `http://127.0.0.1:${port}` })).toMatchObject({ status: 200 });
  });

  test('no response lets a page of another origin read it', async () => {
    const answers = [await knock({}), await knock({ Origin: 'http://example.org' })];
    for (const { headers } of answers) {
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  test('the host is checked first, then the origin, then the token', async () => {
    const all = { Host: 'example.org', Origin: 'http://example.org', Authorization: undefined };
    expect((await knock(all)).body['code']).toBe('HOST_REFUSED');
    expect((await knock({ ...all, Host: `localhost:${server.port}` })).body['code']).toBe('ORIGIN_REFUSED');
    expect((await knock({ Authorization: undefined })).body['code']).toBe('TOKEN_REFUSED');
  });

  test('a refused request is in the log', async () => {
    server.lines.length = 0;
    await knock({ Host: 'example.org' });
    expect(server.lines).toMatchObject([{ status: 403, code: 'HOST_REFUSED' }]);
  });
});

/** Requests to local servers, which a proxy reaches by the name `server.test`. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createPlainServer, type AddressInfo } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { NotSent } from '../../src/web/proxy.ts';
import { open, request } from '../../src/web/request.ts';
import { makeCertificate, startHttpsServer } from '../support/https-server.ts';
import { startProxyServer, type ProxyServer } from '../support/proxy-server.ts';

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let respond: Respond;
let got: IncomingMessage[];
let port: number;
const closing: (() => unknown)[] = [];
const certificate = makeCertificate('server.test');

beforeEach(async () => {
  got = [];
  server = createServer((incoming, response) => {
    got.push(incoming);
    respond(incoming, response);
  });
  port = await listen(server);
});

afterEach(async () => {
  vi.unstubAllEnvs();
  for (const close of closing.splice(0)) await close();
});

async function listen(one: Server): Promise<number> {
  await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve));
  closing.push(() => (one.closeAllConnections(), one.close()));
  return (one.address() as AddressInfo).port;
}

async function useProxy(options: Parameters<typeof startProxyServer>[0], words = ''): Promise<ProxyServer> {
  const proxy = await startProxyServer(options);
  closing.push(() => proxy.close());
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY']) vi.stubEnv(name, `http://${words}${proxy.host}`);
  return proxy;
}

const get = async (path = '/', headers = {}) => request(`http://127.0.0.1:${port}${path}`, { headers });
const textOf = async (path?: string) => (await get(path)).text();

describe('a body', () => {
  const text = 'ünï '.repeat(100_000);

  test.each([
    ['gzip', gzipSync],
    ['X-GZip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['identity', Buffer.from],
  ])('in %s is unpacked', async (encoding, pack) => {
    respond = (_, response) => response.writeHead(200, { 'content-encoding': encoding }).end(pack(Buffer.from(text)));
    expect(await textOf()).toBe(text);
    expect(got[0]?.headers['accept-encoding']).toBe('gzip, deflate, br');
  });

  test('that is cut yields all received bytes, and then the error', async () => {
    for (const pack of [(bytes: Buffer) => bytes, gzipSync]) {
      respond = (_, response) => {
        const packed = pack(Buffer.from('first second'));
        response.writeHead(200, pack === gzipSync ? { 'content-encoding': 'gzip' } : {});
        response.write(packed.subarray(0, packed.length - 2), () => setTimeout(() => response.destroy(), 20));
      };
      let text = '';
      const read = async () => {
        for await (const bytes of (await get()).body) text += Buffer.from(bytes).toString();
      };
      await expect(read()).rejects.toThrow('the connection was closed');
      expect(text).toMatch(/^first seco/);
    }
  });

  test('that is shorter or longer than its length is an error', async () => {
    respond = (_, response) => {
      response.writeHead(200, { 'content-length': 10 }).write('short', () => response.destroy());
    };
    await expect(textOf()).rejects.toThrow('the connection was closed');
    respond = ({ socket }) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nlonger');
    expect(await textOf()).toBe('lo');
  });

  test.each([204, 304])('is empty with %i', async (status) => {
    respond = (_, response) => response.writeHead(status).end();
    const response = await get();
    expect([response.status, await response.text()]).toEqual([status, '']);
  });

  test('follows an early hint', async () => {
    respond = (_, response) => {
      response.writeProcessing();
      response.end('then');
    };
    expect(await textOf()).toBe('then');
  });

  test('that is cancelled or abandoned ends its connection', async () => {
    const closed: Promise<unknown>[] = [];
    respond = (_, response) => {
      closed.push(new Promise((resolve) => response.on('close', resolve)));
      response.write('and so on');
    };
    (await get()).body.cancel?.();
    for await (const _ of (await get()).body) break;
    await Promise.all(closed);
    expect(closed).toHaveLength(2);
  });
});

describe('an interrupted request', () => {
  test('ends immediately: before, in the headers, in the body, and while a proxy is silent', async () => {
    const reason = new Error('enough');
    await expect(request(`http://127.0.0.1:${port}/`, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    respond = () => controller.abort(reason);
    await expect(request(`http://127.0.0.1:${port}/`, { signal: controller.signal })).rejects.toBe(reason);

    const later = new AbortController();
    respond = (_, response) => response.write('x', () => setTimeout(() => later.abort(reason), 20));
    const response = await request(`http://127.0.0.1:${port}/`, { signal: later.signal });
    await expect(response.text()).rejects.toBe(reason);

    const proxy = await useProxy({ isSilent: true });
    for (const scheme of ['http', 'https']) {
      const last = new AbortController();
      const asked = request(`${scheme}://server.test/`, { signal: last.signal });
      await Promise.race([asked, expect.poll(() => proxy.asked.length).toBe(scheme === 'http' ? 1 : 2)]);
      last.abort(reason);
      await expect(asked).rejects.toBe(reason);
    }
  });
});

describe('a redirect', () => {
  const keys = { authorization: 'Bearer k', cookie: 'c=1', 'x-api-key': 'k', accept: 'a/b' };

  test('is an answer unless following is requested', async () => {
    respond = (_, response) => response.writeHead(302, { location: '/b' }).end();
    expect((await get()).status).toBe(302);
  });

  test('passes keys and cookies only to the same origin', async () => {
    const other = await listen(
      createServer((incoming, response) => {
        got.push(incoming);
        response.end('there');
      }),
    );
    respond = ({ url }, response) =>
      response.writeHead(302, { location: url === '/a' ? '/b' : `http://127.0.0.1:${other}/c` }).end();
    const response = await request(`http://127.0.0.1:${port}/a`, { headers: keys, redirects: 5 });
    expect(await response.text()).toBe('there');
    expect(got.map(({ headers }) => headers['authorization'])).toEqual(['Bearer k', 'Bearer k', undefined]);
    expect(got[2]?.headers).toMatchObject({ accept: 'a/b' });
    expect(got[2]?.headers).not.toHaveProperty('cookie');
    expect(got[2]?.headers).not.toHaveProperty('x-api-key');
  });

  test('in a circle ends', async () => {
    respond = (_, response) => response.writeHead(302, { location: '/a' }).end();
    const response = await request(`http://127.0.0.1:${port}/a`, { redirects: 5 });
    expect([response.status, got.length]).toEqual([302, 6]);
  });

  test.each([301, 302, 303, 307, 308])('after a POST is not followed: %i', async (status) => {
    respond = (_, response) => response.writeHead(status, { location: '/b' }).end();
    const response = await request(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}', redirects: 5 });
    expect([response.status, got.length]).toEqual([status, 1]);
  });
});

describe('behind a proxy', () => {
  test('a plain request names its full address, and the proxy’s credentials go only to the proxy', async () => {
    const proxy = await useProxy({ leadsTo: port }, 'ada:w%40rd@');
    respond = ({ headers }, response) => response.end(headers.host);
    const response = await request('http://server.test/a?b=c', { method: 'POST', body: 'x' });
    expect(await response.text()).toBe('server.test');
    expect(proxy.asked).toEqual([`POST http://server.test/a?b=c Basic ${btoa('ada:w@rd')}`]);
  });

  test('this machine is asked directly', async () => {
    const proxy = await useProxy({});
    respond = (_, response) => response.end('direct');
    expect(await textOf()).toBe('direct');
    expect(proxy.asked).toEqual([]);
  });

  test.skipIf(certificate === null)('a TLS server is reached through a tunnel, which sees no header', async () => {
    if (certificate === null) return;
    const secure = await startHttpsServer(certificate, ({ headers }, response) =>
      response.end(headers['authorization']),
    );
    closing.push(() => secure.close());
    const proxy = await useProxy({ leadsTo: secure.port }, 'ada:w%rd@');
    const url = new URL('https://server.test/a');
    const incoming = await open(url, { ca: certificate.cert, headers: { authorization: 'Bearer k' } });
    expect(Buffer.concat(await incoming.toArray()).toString()).toBe('Bearer k');
    expect(secure.requests).toEqual(['GET server.test/a']);
    expect(proxy.asked).toEqual([`CONNECT server.test:443 Basic ${btoa('ada:w%rd')}`]);
    const unknown = request('https://server.test/a', {});
    await expect(unknown).rejects.toMatchObject({ advice: expect.stringContaining('NODE_EXTRA_CA_CERTS') as string });
    const misnamed = open(new URL('https://other.test/'), { ca: certificate.cert });
    await expect(misnamed).rejects.toThrow(/by the proxy .*: Hostname.* does not match/);
  });

  test.each([
    [407, 'http', "Put the proxy's user name and password in HTTP_PROXY, as http://user:password@host:port"],
    [407, 'https', "Put the proxy's user name and password in HTTPS_PROXY, as http://user:password@host:port"],
    [403, 'https', "Ask the proxy's operator to allow server.test, or add it to NO_PROXY"],
    [302, 'https', "Ask the proxy's operator to allow server.test, or add it to NO_PROXY"],
    [502, 'https', undefined],
  ])('its refusal is reported: %i over %s', async (refuses, scheme, advice) => {
    const { host } = await useProxy({ refuses }, 'ada:word@');
    const error = await request(`${scheme}://server.test/`, {}).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NotSent);
    const variable = `${scheme.toUpperCase()}_PROXY`;
    const message = `the proxy http://${host} (${variable}) answered ${refuses} when asked for server.test`;
    expect(error).toMatchObject({ message, advice });
  });

  test.each(['http', 'https'])('an unreachable proxy is named without its password: %s', async (scheme) => {
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY']) vi.stubEnv(name, 'http://ada:word@127.0.0.1:1');
    const label = `the proxy http://127.0.0.1:1 (${scheme.toUpperCase()}_PROXY)`;
    await expect(request(`${scheme}://server.test/`, {})).rejects.toThrow(`by ${label}: connect ECONNREFUSED`);
  });

  test('a proxy that hangs up is named', async () => {
    const slammed = createPlainServer((socket) => void socket.destroy());
    await new Promise<void>((resolve) => slammed.listen(0, '127.0.0.1', resolve));
    closing.push(() => slammed.close());
    vi.stubEnv('HTTPS_PROXY', `http://127.0.0.1:${(slammed.address() as AddressInfo).port}`);
    await expect(request('https://server.test/', {})).rejects.toThrow(
      /^by the proxy http:\/\/127\.0\.0\.1:\d+ \(HTTPS_PROXY\): /,
    );
  });
});

test('requests that share a connection and a signal do not end each other, and leave nothing behind', async () => {
  const warned = vi.fn<(warning: Error) => void>();
  process.on('warning', warned);
  closing.push(() => process.off('warning', warned));
  respond = (_, response) => response.end('quick');
  const timed = await request(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(200) });
  await timed.text();
  await new Promise((resolve) => setImmediate(resolve));
  respond = (_, response) => void setTimeout(() => response.end('slow'), 400);
  expect(await textOf()).toBe('slow');
  expect(got[1]?.socket).toBe(got[0]?.socket);
  respond = (_, response) => response.end('quick');
  const { signal } = new AbortController();
  for (let count = 0; count < 20; count += 1) await (await request(`http://127.0.0.1:${port}/`, { signal })).text();
  expect(warned).not.toHaveBeenCalled();
});

import { createServer as createPlainServer, type AddressInfo } from 'node:net';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { isPublicAddress } from '../../src/session/masks/public-address.ts';
import { pageFetcher } from '../../src/system/web/page-fetcher.ts';
import { systemLookup } from '../../src/system/web/page-fetcher.ts';
import { makeCertificate, startHttpsServer, type HttpsServer, type Respond } from '../support/https-server.ts';
import { startProxyServer, type ProxyServer } from '../support/proxy-server.ts';

const certificate = makeCertificate('site.test', 'other.test', 'inside.test');
if (certificate === null) process.emitWarning('openssl is missing: fetching pages is not tested.');

const loopback = { address: '127.0.0.1', family: 4 };
/** The targets of the names in these tests; the server itself counts as public, and nothing else on this machine. */
const names: Record<string, { address: string; family: number }[]> = {
  'site.test': [loopback],
  'other.test': [loopback],
  'inside.test': [loopback, { address: '10.0.0.1', family: 4 }],
  'metadata.google.internal': [{ address: '169.254.169.254', family: 4 }],
  'nowhere.test': [],
};

const packFast = (bytes: Uint8Array) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });

let server: HttpsServer;
let respond: Respond;
let looked: string[];

describe.skipIf(certificate === null)('a page', () => {
  beforeEach(async () => {
    looked = [];
    respond = (_, response) => response.end();
    if (certificate) server = await startHttpsServer(certificate, (...args) => respond(...args));
  });

  afterEach(() => server.close());

  const lookup = async (host: string) => {
    looked.push(host);
    const found = names[host];
    if (!found) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND' });
    return found;
  };
  const isPublic = (address: string) => address === loopback.address || isPublicAddress(address);

  function fetch(path: string, options: Parameters<typeof pageFetcher>[0] = {}, signal = new AbortController().signal) {
    const url = path.startsWith('/') ? `https://site.test:${server.port}${path}` : path;
    const trusted = { lookup, isPublic, ...(certificate ? { ca: certificate.cert } : {}) };
    return pageFetcher({ ...trusted, ...options }).fetch(url, signal);
  }

  const failed = (message: RegExp) => ({ code: 'PAGE_FAILED', message: expect.stringMatching(message) });
  const refused = (message: RegExp) => ({ code: 'PAGE_REFUSED', message: expect.stringMatching(message) });

  /** Answers with this. */
  function serve(body: Uint8Array | string, headers: Record<string, string> = {}, status = 200) {
    respond = (_, response) => {
      response.writeHead(status, { 'content-type': 'text/plain', ...headers });
      response.end(body);
    };
  }

  /** Each path redirects to its mapped value. */
  function redirect(targets: Record<string, string>, status = 302) {
    respond = ({ url = '' }, response) => {
      const location = targets[url];
      response.writeHead(location === undefined ? 200 : status, {
        'content-type': 'text/plain',
        ...(location === undefined ? {} : { location }),
      });
      response.end('the end');
    };
  }

  describe('that exists', () => {
    test('comes as text with its type, from the named host', async () => {
      serve('héllo\n', { 'content-type': 'Text/Plain; charset=utf-8' });
      const page = await fetch('/a%20b?c=d#e');
      const url = `https://site.test:${server.port}/a%20b?c=d`;
      expect(page).toEqual({ url, contentType: 'text/plain', text: 'héllo\n' });
      expect(server.requests).toEqual([`GET site.test:${server.port}/a%20b?c=d`]);
      expect(looked).toEqual(['site.test']);
    });

    test('is requested without cookies, credentials and versions', async () => {
      respond = (_, response) => {
        response.writeHead(302, { location: '/next', 'set-cookie': 'id=1' });
        response.end();
        respond = (_request, next) => next.writeHead(200, { 'content-type': 'text/plain' }).end('x');
      };
      await fetch('/');
      const sent = Object.keys(server.headers).toSorted();
      expect(sent).toEqual(['accept', 'accept-encoding', 'connection', 'host', 'user-agent']);
      expect(server.headers['user-agent']).toBe('teddy');
    });

    test.each([
      ['gzip', gzipSync],
      ['br', brotliCompressSync],
      ['deflate', deflateSync],
    ])('is unpacked from %s', async (encoding, pack) => {
      serve(pack('packed\n'), { 'content-encoding': encoding });
      expect(await fetch('/')).toMatchObject({ text: 'packed\n' });
    });

    test.each([
      ['text/plain; charset=ISO-8859-1', 'für', [0x66, 0xfc, 0x72]],
      ['text/plain; charset="windows-1251"', 'Я', [0xdf]],
      ['text/plain;charset=Shift_JIS', '日', [0x93, 0xfa]],
      ['text/plain', 'ü\uFFFD', [0xc3, 0xbc, 0xff]],
    ])('with %s is decoded', async (type, text, bytes) => {
      serve(Uint8Array.from(bytes), { 'content-type': type });
      expect((await fetch('/')).text).toBe(text);
    });

    test('in HTML may declare its charset itself, and loses invisible parts', async () => {
      const html = '<meta charset="iso-8859-1"><script>let a</script><p>f\u00fcr';
      serve(Buffer.from(html, 'latin1'), { 'content-type': 'text/html' });
      expect((await fetch('/')).text).toBe('<meta charset="iso-8859-1"><p>f\u00fcr');
    });

    test.each(['application/json', 'application/ld+json', 'application/xml', 'image/svg+xml', 'text/x-rust'])(
      'may be %s',
      async (type) => {
        serve('{}', { 'content-type': type });
        expect(await fetch('/')).toMatchObject({ contentType: type, text: '{}' });
      },
    );
  });

  describe('that is unavailable', () => {
    test.each([304, 401, 404, 500])('answers %i', async (status) => {
      serve('', {}, status);
      await expect(fetch('/')).rejects.toMatchObject(failed(new RegExp(`: it answered ${status} [A-Z]`)));
    });

    test.each(['application/octet-stream', 'image/png', 'application/pdf', 'video/mp4', 'text', 'textual/plain'])(
      'is not text but %s',
      async (type) => {
        serve('x', { 'content-type': type });
        await expect(fetch('/')).rejects.toMatchObject(failed(/it is not text but /));
      },
    );

    test('has no type, an unknown charset or encoding, or NUL characters', async () => {
      respond = (_, response) => response.end('x');
      await expect(fetch('/')).rejects.toMatchObject(failed(/it has no content type/));
      serve('x', { 'content-type': 'text/plain; charset=klingon' });
      await expect(fetch('/')).rejects.toMatchObject(failed(/charset "klingon" is not known/));
      serve('x', { 'content-encoding': 'zstd' });
      await expect(fetch('/')).rejects.toMatchObject(failed(/encoding "zstd" is not known/));
      serve('a\0b');
      await expect(fetch('/')).rejects.toMatchObject(failed(/has NUL characters/));
    });

    test('is broken or cut off', async () => {
      serve('no gzip', { 'content-encoding': 'gzip' });
      await expect(fetch('/')).rejects.toMatchObject(failed(/cannot be unpacked: incorrect header check/));
      serve(gzipSync('cut off here').subarray(0, 20), { 'content-encoding': 'gzip' });
      await expect(fetch('/')).rejects.toMatchObject(failed(/cannot be unpacked: unexpected end/));
      serve('no brotli', { 'content-encoding': 'br' });
      await expect(fetch('/')).rejects.toMatchObject(failed(/cannot be unpacked: /));
      respond = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' });
        response.write('some');
        setTimeout(() => response.destroy(), 20);
      };
      await expect(fetch('/')).rejects.toMatchObject(failed(/could not be fetched: /));
    });

    test('has a host that is unknown, has no address, or does not listen', async () => {
      await expect(fetch('https://unknown.test/')).rejects.toMatchObject(failed(/ENOTFOUND/));
      await expect(fetch('https://nowhere.test/')).rejects.toMatchObject(failed(/nowhere\.test has no address/));
      await server.close();
      await expect(fetch('/')).rejects.toMatchObject(failed(/connection refused/));
    });

    test('has another host’s certificate, or an untrusted one', async () => {
      names['wrong.test'] = [loopback];
      await expect(fetch(`https://wrong.test:${server.port}/`)).rejects.toMatchObject(failed(/altnames/));
      const env = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
      try {
        const unknown = pageFetcher({ lookup, isPublic }).fetch(
          `https://site.test:${server.port}/`,
          new AbortController().signal,
        );
        await expect(unknown).rejects.toMatchObject(failed(/self.signed certificate/));
      } finally {
        if (env === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
        else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = env;
      }
      expect(server.requests).toEqual([]);
    });
  });

  describe('that is large or slow', () => {
    const limit = { maxBytes: 1000 };

    test('is read up to the limit, and not a byte further', async () => {
      serve('x'.repeat(1000));
      expect((await fetch('/', limit)).text).toHaveLength(1000);
      serve('x'.repeat(1001));
      await expect(fetch('/', limit)).rejects.toMatchObject(failed(/larger than 1000 bytes/));
    });

    test.each([
      ['gzip', gzipSync],
      ['br', packFast],
    ])('is not unpacked beyond 1 MiB from %s, however small the download', async (encoding, pack) => {
      const bomb = pack(Buffer.alloc(64 * 1024 * 1024));
      serve(bomb, { 'content-encoding': encoding });
      const before = process.memoryUsage().arrayBuffers;
      await expect(fetch('/')).rejects.toMatchObject(failed(/larger than 1048576 bytes/));
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1024 * 1024);
    });

    test('is abandoned in the middle of an endless body', async () => {
      let written = 0;
      respond = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        const more = () => {
          written += 1;
          if (!response.destroyed) response.write('x'.repeat(1000), () => setImmediate(more));
        };
        more();
      };
      await expect(fetch('/')).rejects.toMatchObject(failed(/larger than/));
      expect(written).toBeLessThan(20_000);
    });

    test('is abandoned after the timeout: in the body, before the headers, and in the look-up', async () => {
      const timing = { timeoutMs: 300 };
      const late = failed(/it took longer than 0\.3 s/);
      respond = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' });
        const timer = setInterval(() => response.write('x'), 20);
        response.on('close', () => clearInterval(timer));
      };
      await expect(fetch('/', timing)).rejects.toMatchObject(late);
      respond = () => undefined;
      await expect(fetch('/', timing)).rejects.toMatchObject(late);
      const never = () => new Promise<never>(() => undefined);
      await expect(fetch('/', { ...timing, lookup: never })).rejects.toMatchObject(late);
    });

    test('has one timeout for all its redirects', async () => {
      respond = ({ url }, response) => {
        setTimeout(() => response.writeHead(302, { location: `${url}x` }).end(), 150);
      };
      await expect(fetch('/', { timeoutMs: 400 })).rejects.toMatchObject(failed(/took longer/));
    });

    test('is abandoned when the user interrupts', async () => {
      const controller = new AbortController();
      respond = () => controller.abort();
      await expect(fetch('/', {}, controller.signal)).rejects.toMatchObject({ code: 'INTERRUPTED' });
      await expect(fetch('/', {}, AbortSignal.abort())).rejects.toMatchObject({ code: 'INTERRUPTED' });
      expect(server.requests).toHaveLength(1);
    });
  });

  describe('that redirects', () => {
    test.each([301, 302, 303, 307, 308])('with %i is followed, and reports the final URL', async (status) => {
      redirect({ '/a': 'b', '/b': `https://other.test:${server.port}/c` }, status);
      const page = await fetch('/a');
      expect(page).toMatchObject({ url: `https://other.test:${server.port}/c`, text: 'the end' });
      expect(looked).toEqual(['site.test', 'site.test', 'other.test']);
    });

    test('is followed five times, but not six', async () => {
      redirect({ '/1': '/2', '/2': '/3', '/3': '/4', '/4': '/5', '/5': '/6', '/0': '/1' });
      expect((await fetch('/1')).url).toMatch(/\/6$/);
      await expect(fetch('/0')).rejects.toMatchObject(failed(/more than 5 times/));
    });

    test('in a circle is abandoned', async () => {
      redirect({ '/a': '/b', '/b': '/a' });
      await expect(fetch('/a')).rejects.toMatchObject(failed(/more than 5 times/));
      expect(server.requests).toHaveLength(6);
    });

    test.each([
      ['http://site.test/', /only `https:\/\/` is fetched/],
      ['file:///etc/passwd', /only `https:\/\/` is fetched/],
      ['https://169.254.169.254/latest/meta-data/', /169\.254\.169\.254 is not a public address/],
      ['https://[::ffff:10.0.0.1]/', /is not a public address/],
      ['//2130706433/', /127\.0\.0\.1 is not a public address/],
      ['https://localhost/', /names this machine/],
      ['https://ada:word@site.test/', /user name or a password/],
      ['https://metadata.google.internal/', /leads to 169\.254\.169\.254, which is not a public address/],
      ['https://inside.test/', /leads to 10\.0\.0\.1, which is not a public address/],
    ])('to %s is refused', async (target, reason) => {
      redirect({ '/a': target });
      await expect(fetch('/a')).rejects.toMatchObject(refused(reason));
      expect(server.requests).toHaveLength(1);
    });

    test('nowhere, or to an invalid URL, has failed', async () => {
      serve('', {}, 302);
      await expect(fetch('/')).rejects.toMatchObject(failed(/without saying where/));
      serve('', { location: 'https://[' }, 302);
      await expect(fetch('/')).rejects.toMatchObject(failed(/without saying where/));
    });
  });

  describe('that is never fetched', () => {
    test.each(['http://site.test/', 'https://localhost/', 'https://127.0.0.1/', 'https://[::1]/', 'nonsense'])(
      '%s is refused before anything is looked up',
      async (url) => {
        await expect(fetch(url)).rejects.toMatchObject(refused(/ is not fetched: /));
        expect(looked).toEqual([]);
      },
    );

    test('on a host with one private address among public ones is refused, whichever comes first', async () => {
      await expect(fetch(`https://inside.test:${server.port}/`)).rejects.toMatchObject(refused(/10\.0\.0\.1/));
      expect(server.requests).toEqual([]);
    });

    test('on this machine is refused by default', async () => {
      const byDefault = pageFetcher({ lookup, ...(certificate ? { ca: certificate.cert } : {}) });
      const page = byDefault.fetch(`https://site.test:${server.port}/`, new AbortController().signal);
      await expect(page).rejects.toMatchObject(refused(/site\.test leads to 127\.0\.0\.1/));
      expect(server.requests).toEqual([]);
    });

    test('under a name that the system resolves to this machine is refused', async () => {
      const page = pageFetcher({ lookup: () => systemLookup('localhost') }).fetch(
        `https://site.test:${server.port}/`,
        new AbortController().signal,
      );
      await expect(page).rejects.toMatchObject(refused(/site\.test leads to (?:127\.0\.0\.1|::1), which/));
    });
  });

  test('whose name leads elsewhere after the check is not looked up again', async () => {
    // Counts connections to the second answer's address.
    let reached = 0;
    const trap = createPlainServer((socket) => {
      reached += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => trap.listen(server.port, '127.0.0.2', resolve));
    expect((trap.address() as AddressInfo).address).toBe('127.0.0.2');
    let answers = 0;
    const rebinding = async () => {
      answers += 1;
      return [answers === 1 ? loopback : { address: '127.0.0.2', family: 4 }];
    };
    try {
      serve('checked');
      expect(await fetch('/', { lookup: rebinding })).toMatchObject({ text: 'checked' });
      expect([answers, reached, server.requests.length]).toEqual([1, 0, 1]);
      // The next request looks up the name again, and is refused because of the result.
      await expect(fetch('/', { lookup: rebinding })).rejects.toMatchObject(refused(/127\.0\.0\.2/));
      expect(reached).toBe(0);
    } finally {
      await new Promise((resolve) => trap.close(resolve));
    }
  });

  describe('behind a proxy', () => {
    let proxy: ProxyServer;

    beforeEach(async () => {
      proxy = await startProxyServer({ leadsTo: server.port });
      for (const name of ['HTTPS_PROXY', 'NODE_USE_ENV_PROXY']) vi.stubEnv(name, `http://ada:word@${proxy.host}`);
    });

    afterEach(async () => {
      vi.unstubAllEnvs();
      await proxy.close();
    });

    const allowed = { readsThroughProxy: () => Promise.resolve(true) };

    test('is refused before anything is looked up or requested, until the user has allowed it', async () => {
      const error = await fetch('/').catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        ...refused(new RegExp(`behind the proxy http://${proxy.host} \\(HTTPS_PROXY\\), it is unknown`)),
        hint: expect.stringContaining('`git config teddy.readThroughProxy true`') as string,
      });
      expect([looked, proxy.asked]).toEqual([[], []]);
    });

    test('is read through the proxy if the user has allowed that, and no name is looked up here', async () => {
      redirect({ '/a': 'https://other.test/b' });
      expect(await fetch('/a', allowed)).toMatchObject({ url: 'https://other.test/b', text: 'the end' });
      expect(looked).toEqual([]);
      const words = `Basic ${btoa('ada:word')}`;
      expect(proxy.asked).toEqual([`CONNECT site.test:${server.port} ${words}`, `CONNECT other.test:443 ${words}`]);
      expect(server.headers).not.toHaveProperty('proxy-authorization');
    });

    test.each([
      'https://10.0.0.1/',
      'https://[fd00::1]/',
      'https://localhost/',
      'https://127.0.0.1/',
      'http://site.test/',
    ])('%s stays refused, even after a redirect', async (url) => {
      await expect(fetch(url, allowed)).rejects.toMatchObject(refused(/ is not fetched: /));
      expect(proxy.asked).toEqual([]);
      redirect({ '/a': url });
      await expect(fetch('/a', allowed)).rejects.toMatchObject(refused(/ is not fetched: /));
      expect(proxy.asked).toHaveLength(1);
    });

    test('is read directly, and checked, if NO_PROXY names its host', async () => {
      vi.stubEnv('NO_PROXY', 'site.test');
      serve('direct');
      expect(await fetch('/')).toMatchObject({ text: 'direct' });
      expect(looked).toEqual(['site.test']);
      redirect({ '/a': 'https://other.test/' });
      await expect(fetch('/a')).rejects.toMatchObject(refused(/behind the proxy/));
    });
  });

  test('with an unknown certificate names the variable for it', async () => {
    const unknown = pageFetcher({ lookup, isPublic }).fetch(
      `https://site.test:${server.port}/`,
      new AbortController().signal,
    );
    await expect(unknown).rejects.toMatchObject({
      ...failed(/self-signed certificate \(DEPTH_ZERO_SELF_SIGNED_CERT\)/),
      hint: expect.stringContaining('NODE_EXTRA_CA_CERTS') as string,
    });
  });
});

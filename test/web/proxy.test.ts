import { expect, test } from 'vitest';
import { findProxy } from '../../src/web/proxy.ts';

const find = (url: string, env: Record<string, string>) => findProxy(new URL(url), env)?.url.href ?? null;

test.each([
  ['http://a.example/', { http_proxy: 'http://p:1' }, 'http://p:1/'],
  ['http://a.example/', { HTTP_PROXY: 'http://p:1' }, 'http://p:1/'],
  ['http://a.example/', { HTTP_PROXY: 'http://upper:1', http_proxy: 'http://lower:1' }, 'http://lower:1/'],
  ['http://a.example/', { HTTP_PROXY: 'http://upper:1', http_proxy: '' }, null],
  ['http://a.example/', { HTTPS_PROXY: 'http://p:1' }, null],
  ['https://a.example/', { HTTPS_PROXY: 'http://p:1' }, 'http://p:1/'],
  ['https://a.example/', { HTTP_PROXY: 'http://p:1' }, null],
  ['https://a.example/', { ALL_PROXY: 'p:1' }, 'http://p:1/'],
  ['https://a.example/', { all_proxy: 'http://all:1', https_proxy: 'https://own:1' }, 'https://own:1/'],
  ['https://a.example/', { https_proxy: ' proxy.example:3128 ' }, 'http://proxy.example:3128/'],
  ['https://a.example/', { https_proxy: 'ada:w@p:1' }, 'http://ada:w@p:1/'],
  ['https://a.example/', {}, null],
])('%s with %j', (url, env, proxy) => expect(find(url, env)).toBe(proxy));

test.each([
  'localhost',
  'localhost.',
  'api.localhost',
  '127.0.0.1',
  '127.9.9.9',
  '2130706433',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '0.0.0.0',
])('%s never goes through a proxy', (host) => {
  expect(find(`http://${host}:8080/v1`, { ALL_PROXY: 'http://p:1', HTTP_PROXY: 'http://p:1' })).toBeNull();
});

test.each([
  ['*', 'https://a.example/', true],
  ['example', 'https://a.example/', true],
  ['a.example', 'https://a.example/', true],
  ['a.example', 'https://b.a.example/', true],
  ['.example', 'https://a.example/', true],
  ['*.example', 'https://a.example/', true],
  ['.a.example', 'https://a.example/', true],
  ['A.Example', 'https://a.example./', true],
  ['a.example.', 'https://a.example/', true],
  ['x, a.example', 'https://a.example/', true],
  ['x a.example', 'https://a.example/', true],
  ['ample', 'https://a.example/', false],
  ['b.example', 'https://a.example/', false],
  ['', 'https://a.example/', false],
  ['a.example:443', 'https://a.example/', true],
  ['a.example:80', 'https://a.example/', false],
  ['a.example:8443', 'https://a.example:8443/', true],
  ['bücher.example', 'https://bücher.example/', true],
  ['10.1.2.3', 'https://10.1.2.3/', true],
  ['10.0.0.0/8', 'https://10.1.2.3/', true],
  ['10.0.0.0/8', 'https://11.1.2.3/', false],
  ['10.0.0.0/8', 'https://a.example/', false],
  ['10.0.0.0/99', 'https://10.1.2.3/', false],
  ['2001:db8::1', 'https://[2001:db8::1]/', true],
  ['[2001:DB8:0::1]', 'https://[2001:db8::1]/', true],
  ['[2001:db8::1]:443', 'https://[2001:db8::1]/', true],
  ['[2001:db8::1]:80', 'https://[2001:db8::1]/', false],
  ['2001:db8::/32', 'https://[2001:db8::1]/', true],
])('NO_PROXY=%s and %s: %j', (exceptions, url, isDirect) => {
  for (const name of ['NO_PROXY', 'no_proxy']) {
    expect(find(url, { HTTPS_PROXY: 'http://p:1', [name]: exceptions }) === null, name).toBe(isDirect);
  }
});

test.each(['socks5://p:1', 'socks5h://ada:word@p:1', 'ftp://ada:word@p:1'])(
  '%s is refused, and nothing is sent without the proxy',
  (proxy) => {
    expect(() => find('https://a.example/', { ALL_PROXY: proxy })).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^ALL_PROXY names a \w+:\/\/ proxy, but/) }),
    );
  },
);

test('an invalid address is refused without its password', () => {
  expect(() => find('https://a.example/', { https_proxy: 'http://ada:word@[' })).toThrow(
    'https_proxy does not contain the address of a proxy',
  );
});

test('the label shows no user name and no password', () => {
  const proxy = findProxy(new URL('https://a.example/'), { https_proxy: 'http://ada:word@p:3128' });
  expect(proxy?.label).toBe('the proxy http://p:3128 (https_proxy)');
});

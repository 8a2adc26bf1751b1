import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { parsePageUrl } from '../../src/session/masks/urls.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const reasonOf = (url: string) => {
  const parsed = parsePageUrl(url);
  return 'problem' in parsed ? parsed.problem : `it is fetched: ${parsed.url}`;
};

describe('a URL', () => {
  test.each([
    ['https://example.org', 'https://example.org/'],
    ['HTTPS://Example.ORG/a b?q=1#part', 'https://example.org/a%20b?q=1'],
    ['https://example.org:8443/x', 'https://example.org:8443/x'],
    ['https://example.org:443/', 'https://example.org/'],
    ['https://8.8.8.8/', 'https://8.8.8.8/'],
    ['https://[2606:4700:4700::1111]/', 'https://[2606:4700:4700::1111]/'],
    ['https://ex\u0430mple.org/', 'https://xn--exmple-4nf.org/'],
  ])('%s has one spelling', (written, url) => {
    expect(parsePageUrl(written)).toEqual({ url });
  });

  test.each([
    'http://example.org',
    'file:///etc/passwd',
    'ftp://example.org/',
    'data:text/plain,x',
    'blob:https://x/y',
  ])('%s is not fetched: its scheme is not https', (url) =>
    expect(reasonOf(url)).toMatch(/^only `https:\/\/` is fetched, not `\w+:\/\/`$/),
  );

  test.each(['https://ada@example.org/', 'https://ada:word@example.org/', 'https://:word@example.org/'])(
    '%s is not fetched: it has credentials',
    (url) => expect(reasonOf(url)).toBe('it has a user name or a password in it'),
  );

  test.each(['https://localhost', 'https://LOCALHOST:8443/', 'https://localhost./', 'https://a.localhost/'])(
    '%s is not fetched: it is this machine',
    (url) => expect(reasonOf(url)).toBe('it names this machine'),
  );

  test.each([
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://127.0.0.1./',
    'https://１２７.0.0.1/',
    'https://127。0。0。1/',
    'https://%31%32%37.0.0.1/',
    'https://[::1]/',
    'https://[::ffff:169.254.169.254]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://169.254.169.254/latest/meta-data/',
    'https://0/',
    'https://10.0.0.1:8443/',
    'https:\\\\192.168.0.1\\x',
    'https:192.168.0.1',
    'https:///192.168.0.1/',
  ])('%s is not fetched: it is not a public address', (url) => {
    expect(reasonOf(url)).toMatch(/ is not a public address$/);
  });

  test.each(['', 'example.org', 'https://', 'https://[::1', 'https://256.1.1.1/', 'https://a b/', 'https://x:99999/'])(
    '%j is not fetched: it is not a URL',
    (url) => expect(reasonOf(url)).toBe('it is not a valid URL'),
  );

  propertyTest('any text gets a result', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.webUrl()), (url) => typeof reasonOf(url) === 'string'));
  });
});

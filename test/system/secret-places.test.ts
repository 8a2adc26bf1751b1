import { describe, expect, test } from 'vitest';
import { masker } from '../../src/system/secrets/masker.ts';
import { findSecrets } from '../../src/system/secrets/find-secrets.ts';
import { expectLinear } from '../support/growth.ts';
import { letters } from '../support/planted-secrets.ts';

const settings = { get: async () => undefined };
const notices = { info: () => undefined, warn: () => undefined };
const mask = async (text: string) => (await masker({ environment: {}, root: null, settings, notices }).mask(text)).text;

const hex = (length: number, seed: number) => letters(length, seed, '0123456789abcdef');
/** These have no form of their own: only the place shows what they are. */
const opaque = [
  letters(24, 1),
  hex(32, 2),
  `${letters(12, 3)}.${letters(14, 4)}_${letters(9, 5)}`,
  `${letters(30, 6)}==`,
];
const login = (user: string, password: string) => Buffer.from(`${user}:${password}`).toString('base64');

describe('credentials in a header', () => {
  test.each(opaque)('include a bearer token, however it is written (%#)', async (token) => {
    for (const [before, after] of [
      ['Authorization: Bearer ', ''],
      ['> authorization: bearer ', '\r\n> accept: */*'],
      ['Proxy-Authorization: BEARER ', '\n'],
      ["curl -H 'Authorization: Bearer ", "' https://api.acme.io"],
      ['{"Authorization":"Bearer ', '","Accept":"*/*"}'],
      ['{\\"Authorization\\": \\"Bearer ', '\\"}'],
      ['headers: { Authorization: `Bearer ', '` }'],
      ['headers["Authorization"] = "Bearer ', '"'],
      ['-H Authorization:%20Bearer%20', '"'],
      ['const auth = "Bearer ', '";'],
    ] as const)
      expect(await mask(`${before}${token}${after}`)).toBe(`${before}[masked: bearer token]${after}`);
  });

  test.each(opaque)('include other schemes’ tokens, and those without a scheme (%#)', async (token) => {
    for (const [before, after] of [
      ['Authorization: token ', ''],
      ['Authorization: ApiKey ', '\n'],
      ['"Authorization": "SSWS ', '"'],
      ['Authorization: Splunk ', ' x'],
      ["'Authorization': '", "'"],
      ['authorization=', ' '],
    ] as const)
      expect(await mask(`${before}${token}${after}`)).toBe(`${before}[masked: authorization]${after}`);
  });

  test('include a user and a password in base64', async () => {
    for (const credentials of [
      login('ada', letters(9, 7)),
      login('Aladdin', 'open sesame'),
      login('', 'k9!x'),
      login('a@b.io', 'é1ü2ß3'),
    ])
      for (const [before, after] of [
        ['Authorization: Basic ', '\n'],
        ["-H 'authorization: basic ", "'"],
        ['"Basic ', '"'],
      ] as const)
        expect(await mask(`${before}${credentials}${after}`)).toBe(`${before}[masked: basic auth]${after}`);
  });

  test('keep their kind if the token’s form is known', async () => {
    const token = `glpat${'-'}${letters(20, 8)}`;
    for (const before of ['Authorization: Bearer ', 'PRIVATE-TOKEN: ', 'https://a.io/?private_token=', 'gitlab_token='])
      expect(await mask(`${before}${token}`)).toBe(`${before}[masked: gitlab token]`);
  });

  test.each([
    'Authorization: Bearer <token>',
    'Authorization: Bearer $TOKEN',
    'Authorization: Bearer ${{ secrets.GITHUB_TOKEN }}',
    'Authorization: Bearer YOUR_ACCESS_TOKEN',
    'Authorization: Bearer your-token-goes-here',
    'Authorization: Bearer xxxxxxxxxxxxxxxxxxxxxxxx',
    'Authorization: Bearer eyJhbGciOiJIUzI1NiJ9...',
    'Authorization: Basic dXNlcjpwYXNzd29yZA==',
    'Authorization: Basic <credentials>, and basic authentication',
    'headers.Authorization = request.headers.authorization',
    'headers: { Authorization: options.authToken2 }',
    'Authorization: `Bearer ${token}`, Authorization: f"Bearer {token}", "Bearer " + apiToken2',
    'The bearer tokens of RFC6750 are bearer credentials. Basic functionality4you',
  ])('exclude look-alikes: %s', async (text) => {
    expect(await mask(text)).toBe(text);
  });
});

describe('tokens in addresses', () => {
  test.each(opaque.map((token) => encodeURIComponent(token)))('are masked (%#)', async (token) => {
    const names =
      'access_token token api_key apikey api-key key client_secret auth password sig X-Amz-Signature X-Goog-Signature x-oss-security-token';
    for (const name of names.split(' '))
      for (const [before, after] of [
        [`https://api.acme.io/v1?${name}=`, ''],
        [`GET /v1?page=2&${name}=`, '&x=1 HTTP/1.1'],
        [`<a href="/v1?a=b&amp;${name}=`, '">'],
        [`https://acme.io/callback#${name}=`, ')'],
      ] as const)
        expect(await mask(`${before}${token}${after}`)).toBe(`${before}[masked: url token]${after}`);
  });

  test.each([
    'https://api.acme.io/v1?access_token=<token>&page=1234567890123',
    'https://api.acme.io/v1?access_token=YOUR_ACCESS_TOKEN',
    'https://api.acme.io/v1?access_token=${token} ?token={token} ?token=%s ?token=xxxxxxxxxxxxxxxxx',
    `https://acme.io/blob?oid=${hex(40, 9)}&v=${letters(20, 9)}`,
    'const f=a?key=event.keyCode2Name:b&&token=levels.at(-12345678901);',
    'https://acme.io/?sort_key=created-at&keyword=production-cluster',
  ])('exclude look-alikes: %s', async (text) => {
    expect(await mask(text)).toBe(text);
  });
});

test('a password on curl’s command line is masked', async () => {
  for (const [before, after] of [
    ['curl -u ada:', ' https://acme.io'],
    ['$ curl -sS --user "ada:', '" https://acme.io'],
    ["curl https://acme.io -u 'ada:", "'"],
  ] as const)
    expect(await mask(`${before}${letters(12, 10)}${after}`)).toBe(`${before}[masked: basic auth]${after}`);
  for (const text of [
    'curl -u ada:$PASSWORD x',
    'curl -u ada:password x',
    'docker run -u 1000:10001 x',
    'curl -u ada x',
  ])
    expect(await mask(text)).toBe(text);
});

describe('values assigned to a credential’s name', () => {
  test.each([
    ['HEROKU_API_KEY=', '123e4567-e89b-12d3-a456-426614174000', '\n'],
    ['datadog_api_key: ', hex(32, 11), '\n'],
    ['"twilioAuthToken": "', hex(32, 12), '"'],
    ["export CLOUDFLARE_API_KEY='", hex(37, 13), "'"],
    ['AZURE_CLIENT_SECRET := "', letters(34, 14), '"'],
    ['aws_session_token = ', `${letters(100, 15)}//`, '\n'],
    ['{"access_token":"', letters(40, 16), '","expires_in":3600}'],
    ['{\\"refresh_token\\": \\"', letters(40, 17), '\\"}'],
    ['config["client-secret"] = "', letters(32, 18), '";'],
    ['PRIVATE_TOKEN_2=', letters(32, 19), ''],
    ['X-Heroku-Api-Key: ', letters(32, 20), '\n'],
    ['MY_CLIENT_SECRET => "', letters(40, 21), '"'],
  ])('are masked: %s', async (before, secret, after) => {
    expect(await mask(`${before}${secret}${after}`)).toBe(`${before}[masked: credential]${after}`);
  });

  test.each([
    'const apiKey = process.env.HEROKU_API_KEY2345;',
    'apiKey: options.apiKeyOfTheService123(),',
    'access_token = "your_access_token_123"',
    'API_KEY=${{ secrets.DATADOG_API_KEY_1234 }}',
    'API_KEY=sk-test-0123456789',
    'client_secret: "<your-client-secret-12345>"',
    `"integrity": "sha512-${letters(86, 22)}=="`,
    `cacheKey = "${hex(40, 23)}"; publicKeyToken="b77a5c561934e089"; keyboard = "${hex(40, 24)}"`,
    'sessionKey = "123e4567-e89b-12d3-a456-426614174000"',
    `"accessKey": "user-name-of-the-cluster", commit: ${hex(40, 25)}`,
  ])('exclude look-alikes: %s', async (text) => {
    expect(await mask(text)).toBe(text);
  });
});

test('masking takes linear time, whatever place the text repeats', async () => {
  const repeated = [
    'Bearer a',
    'Authorization: ',
    '?token=',
    '&a=aaaaaaaaaaaa',
    'curl -u ',
    'curl ',
    'key=',
    'Key: a1b2',
    '-key',
  ];
  for (const piece of repeated)
    await expectLinear(
      262_144,
      (size) => piece.repeat(Math.ceil(size / piece.length)),
      (text) => findSecrets(text),
    );
});

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lintSource } from '@secretlint/core';
import { creator, rules } from '@secretlint/secretlint-rule-preset-recommend';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TeddyError } from '../../src/errors.ts';
import type { Masker } from '../../src/ports/project.ts';
import { masker, type MaskerOptions } from '../../src/system/secrets/masker.ts';
import { unusedRules } from '../../src/system/secrets/secret-rules.ts';
import { letters, lookAlikes, secretsByRule } from '../support/planted-secrets.ts';
import { expectLinear } from '../support/growth.ts';
import { runs } from '../support/runs.ts';

function maskerOf(more: Partial<MaskerOptions> = {}): Masker {
  const settings = { get: async () => undefined };
  const notices = { info: () => undefined, warn: () => undefined };
  return masker({ environment: {}, root: null, settings, notices, ...more });
}

async function mask(text: string, more: Partial<MaskerOptions> = {}): Promise<string> {
  const { text: masked } = await maskerOf(more).mask(text);
  // A masked text may be masked again on its way to a line.
  expect((await maskerOf(more).mask(masked)).text).toBe(masked);
  return masked;
}

const ruleNames = rules
  .map(({ meta }) => meta.id.replace('@secretlint/secretlint-rule-', ''))
  .filter((name) => !unusedRules.has(name));

describe('secrets recognized by their form', () => {
  test('have two examples and two look-alikes for every rule in the preset', () => {
    expect(Object.keys(secretsByRule).sort()).toEqual(ruleNames.toSorted());
    expect(Object.keys(lookAlikes).sort()).toEqual(ruleNames.toSorted());
    for (const name of ruleNames) {
      expect(secretsByRule[name]?.length, name).toBeGreaterThanOrEqual(2);
      expect(lookAlikes[name]?.length, name).toBeGreaterThanOrEqual(2);
    }
  });

  describe.each(ruleNames)('%s', (name) => {
    test.each(secretsByRule[name] ?? [])('masks all of %#', async ({ before, secret, after, kind }) => {
      for (const [head, tail] of [
        ['', ''],
        ['first line\n', '\nlast line\n'],
        ['\uFEFF', '\r\n'],
      ]) {
        const text = `${head}${before}${secret}${after}${tail}`;
        expect(await mask(text)).toBe(`${head}${before}[masked: ${kind}]${after}${tail}`);
      }
    });

    test.each(lookAlikes[name] ?? [])('leaves the look-alike %# unchanged', async (text) => {
      expect(await mask(text)).toBe(text);
    });
  });

  describe('passwords in URLs', () => {
    const word = letters(12, 45);
    const inUrl = (host: string, scheme = 'https') => `${scheme}://ida:${word}@${host}`;

    test.each([
      'localhost',
      'localhost:5432/x',
      'db.localhost/x',
      '127.0.0.1:5432/x',
      '[::1]:5432/x',
      'db:5432/x',
      'shop.test',
      'test/x',
      '${DB_HOST}/x',
      'example.com.acme.io/x',
      'notexample.com/x',
      'example.dev/x',
      'invalid.acme.io/x',
      'db.example.com,db.acme.io:27017/x',
      'localhost/x?owner=ada@example.com',
    ])('are masked if the host is %s', async (host) => {
      expect(await mask(`a ${inUrl(host)} b`)).toBe(`a https://[masked: basic auth]@${host} b`);
      for (const scheme of ['postgres', 'postgresql', 'jdbc:mysql', 'mongodb', 'mongodb+srv']) {
        expect(await mask(`a ${inUrl(host, scheme)} b`)).toBe(
          `a ${scheme}://ida:[masked: database password]@${host} b`,
        );
      }
      for (const scheme of ['redis', 'amqp', 'smtp', 'ssh']) {
        expect(await mask(`"${inUrl(host, scheme)}"`)).toBe(`"${scheme}://ida:[masked: url password]@${host}"`);
      }
    });

    test.each([
      'example.com',
      'example.net:5432/x',
      'example.org.',
      'EXAMPLE.com/x',
      'db.example.com/x?a=b@c',
      'a.b.example.net/x',
      'example/x',
      'db.example/x',
      'invalid',
      'db.invalid:80/x',
      'a.example.com:27017,b.example.com:27017/x',
    ])('are left if the host is %s, which is reserved for documentation', async (host) => {
      for (const scheme of ['http', 'https', 'ftp', 'postgres', 'mysql', 'mongodb', 'redis', 'amqp']) {
        for (const text of [`${inUrl(host, scheme)}`, `(${inUrl(host, scheme)})`, `"${inUrl(host, scheme)}", "b"`]) {
          expect(await mask(text)).toBe(text);
        }
      }
    });

    test('may contain an @, or have no user before them', async () => {
      expect(await mask(`redis://:${word}@localhost`)).toBe('redis://:[masked: url password]@localhost');
      expect(await mask(`postgres://ida:${word}@${word}@localhost/x`)).toBe(
        'postgres://ida:[masked: database password]@localhost/x',
      );
      expect(await mask(`mongodb://ida:${word}@example.com@db.acme.io/x`)).toBe(
        'mongodb://ida:[masked: database password]@db.acme.io/x',
      );
    });

    test.each([
      'http://localhost:8080/ and postgres://localhost:5432/x',
      '{"url":"http://localhost:3000","mail":"ida@acme.io"}',
      "{'url':'redis://localhost:6379','mail':'ida@acme.io'}",
      'http://localhost:3000,ida@acme.io',
      '[here](http://localhost:3000)(ida@acme.io)',
      'postgres://ida:password@localhost/x and http://user:{password}@localhost:80/',
      'redis://:${REDIS_PASSWORD}@localhost $x amqp://ida:$PASSWORD@rabbit.test smtp://ida:<password>@localhost',
      'postgres://ida:xxxx@localhost/x postgres://ida:****@localhost/x',
      'ssh://git@github.com:22/ada/notes.git git@github.com:ada/notes.git ssh://git@localhost:2222',
      'https://registry.acme.io:8080/@scope/name',
    ])('are not found in %s', async (text) => {
      expect(await mask(text)).toBe(text);
    });
  });

  test('are masked in spite of comments in the text', async () => {
    const { before, secret, after } = secretsByRule['github']?.[0] ?? { before: '', secret: '', after: '' };
    const line = `${before}${secret}${after}`;
    for (const comment of [
      'disable',
      'disable-line',
      'disable-next-line',
      'disable @secretlint/secretlint-rule-github',
    ]) {
      const masked = await mask(`/* secretlint-${comment} */ ${line}\n${line} // secretlint-${comment}\n`);
      expect(masked).not.toContain(secret);
    }
  });

  test('are masked if secretlint itself reports them', async () => {
    const cases = Object.values(secretsByRule).flat();
    for (const { before, secret, after } of cases) {
      const content = `${before}${secret}${after}`;
      const config = { rules: [{ id: creator.meta.id, rule: creator }] };
      const source = { content, filePath: 'text.txt', ext: '.txt', contentType: 'text' } as const;
      const { messages } = await lintSource({ source, options: { noPhysicFilePath: true, config } });
      if (messages.length > 0) expect((await maskerOf().mask(content)).count).toBeGreaterThan(0);
    }
  });

  test('include private keys that are encrypted, in PGP, in JSON, or cut', async () => {
    const lines = [1, 2, 3].map((at) => letters(64, at));
    const [begin, end] = (['BEGIN', 'END'] as const).map((word) => (type: string) => `-----${word} ${type}-----`);
    const keys = [
      [begin?.('ENCRYPTED PRIVATE' + ' KEY'), ...lines, end?.('ENCRYPTED PRIVATE' + ' KEY')],
      [
        begin?.('RSA PRIVATE' + ' KEY'),
        'Proc-Type: 4,ENCRYPTED',
        'DEK-Info: AES-256-CBC,0011',
        '',
        ...lines,
        end?.('RSA PRIVATE' + ' KEY'),
      ],
      [begin?.('PGP PRIVATE' + ' KEY BLOCK'), '', ...lines, '=abcd', end?.('PGP PRIVATE' + ' KEY BLOCK')],
      [begin?.('PRIVATE' + ' KEY'), ...lines],
    ];
    for (const key of keys) {
      expect(await mask(`a\n${key.join('\n')}\nb: c\n`)).toBe('a\n[masked: private key]\nb: c\n');
      expect(await mask(`a\r\n${key.join('\r\n')}\r\nb: c\r\n`)).toBe('a\r\n[masked: private key]\r\nb: c\r\n');
    }
    expect(await mask(JSON.stringify({ key: keys[1]?.join('\n'), more: 1 }))).toBe(
      '{"key":"[masked: private key]","more":1}',
    );
    const cut = `-----BEGIN PRIVATE KEY-----\n${letters(20, 1)}...\n-----END PRIVATE KEY-----\n`;
    expect(await mask(cut)).toBe(cut);
  });

  test('include private keys with text before their lines, on one line, or with only their end', async () => {
    const [begin, end] = ['BEGIN', 'END'].map((word) => `-----${word} RSA PRIVATE${' KEY-----'}`);
    const body = Array.from({ length: 20 }, (_, at) => letters(64, at)).concat(letters(30, 21));
    const key = [begin, ...body, end];
    const quotes: ((line: string | undefined, at: number) => string)[] = [
      (line) => `> ${line}`,
      (line) => `-${line}`,
      (line, at) => `${String(at + 1).padStart(6)}\t${line}`,
      (line, at) => `key.pem:${at + 1}:${line}`,
      (line) => `  "${line}\\n" +`,
      (line) => `2026-01-24T10:00:00Z app | ${line}`,
    ];
    for (const quote of quotes) {
      const quoted = key.map(quote);
      const first = quoted[0]?.slice(0, -(begin?.length ?? 0)) ?? '';
      for (const newline of ['\n', '\r\n']) {
        const whole = await mask(`a${newline}${quoted.join(newline)}${newline}z`);
        expect(whole).toMatch(/^a\r?\n.*\[masked: private key\].*\r?\nz$/);
        expect(whole.includes(first) || first.includes(':') || first.includes('"')).toBe(true);
        const cut = await mask(`a${newline}${quoted.slice(0, 6).join(newline)}${newline}z`);
        expect(cut).toMatch(/^a\r?\n.*\[masked: private key\]\r?\nz$/);
        const tail = await mask(`a b c${newline}${quoted.slice(-6).join(newline)}${newline}z`);
        expect(tail).toContain('[masked: private key]');
        for (const line of body) expect(whole + cut + tail).not.toContain(line);
      }
    }
    expect(await mask(`x ${key.join(' ')} y`)).toBe('x [masked: private key] y');
  });

  test('exclude text that merely mentions private keys', async () => {
    const [begin, end] = ['BEGIN', 'END'].map((word) => `-----${word} PRIVATE${' KEY-----'}`);
    const prose = 'A key begins with a line of its own and ends with one, and what is between is base64. '.repeat(3);
    for (const text of [`${begin}\n${prose}\n${end}\n`, `${begin} ${prose}`, `${prose}\n${end}\n`, `${begin}${end}`]) {
      expect(await mask(text)).toBe(text);
    }
  });

  test('are masked in UTF-16 text that was read as UTF-8', async () => {
    const secret = 'gh' + `p_${letters(36, 3)}`;
    const environment = { DEPLOY_TOKEN: `Zx9-${letters(20, 5)}` };
    for (const text of [`t = ${secret}\n`, `t = ${environment.DEPLOY_TOKEN}\n`]) {
      const little = Buffer.from(text, 'utf16le');
      for (const wide of [little, Buffer.from(little).swap16()]) {
        const masked = await mask(wide.toString('utf8'), { environment });
        expect(masked).toContain('[masked: ');
        expect(masked.replaceAll('\0', '')).toMatch(/^t = \[masked: (?:github token|env DEPLOY_TOKEN)\]\n$/);
      }
    }
  });

  test('are reported by kind and line, never shown', async () => {
    const secret = 'gh' + `p_${letters(36, 3)}`;
    const masked = await maskerOf().mask(`one\ntwo ${secret}\nthree\n${secret} ${secret}\n`);
    expect(masked.found).toEqual([2, 4, 4].map((line) => ({ kind: 'github token', line })));
    expect(masked.count).toBe(3);
    expect(JSON.stringify(masked)).not.toContain(secret);
  });
});

describe('values of variables', () => {
  const value = `Zx9-${letters(20, 5)}`;

  test('are masked everywhere if the variable is named like a secret', async () => {
    const environment = { DEPLOY_TOKEN: value, HOME_PAGE: `other${value}`, EMPTY_TOKEN: '', UNSET_TOKEN: undefined };
    expect(await mask(`a=${value};b=x${value}y`, { environment })).toBe(
      'a=[masked: env DEPLOY_TOKEN];b=x[masked: env DEPLOY_TOKEN]y',
    );
  });

  test('are masked by the longest if they contain each other, and all if they overlap', async () => {
    const environment = { A_KEY: value, B_KEY: `${value}-more-9Q`, C_KEY: `ore-9Q${letters(12, 6)}1` };
    expect(await mask(`[${value}-more-9Q]`, { environment })).toBe('[[masked: env B_KEY]]');
    expect(await mask(`[${value}-more-9Q${letters(12, 6)}1]`, { environment })).toBe('[[masked: env B_KEY]]');
    expect(await mask(`[${value}]`, { environment })).toBe('[[masked: env A_KEY]]');
  });

  test('are found in JSON in JSON, in lower-case escapes, in hex, and in base64 after anything', async () => {
    const odd = `q"${letters(10, 7)}/+\\9é`;
    const environment = { ODD_SECRET: odd };
    const masked = '[masked: env ODD_SECRET]';
    const once = JSON.stringify({ odd });
    expect(await mask(JSON.stringify({ once }), { environment })).toBe(`{"once":"{\\"odd\\":\\"${masked}\\"}"}`);
    const lower = encodeURIComponent(odd).replace(/%../g, (code) => code.toLowerCase());
    expect(await mask(`?x=${lower}&y`, { environment })).toBe(`?x=${masked}&y`);
    const hex = Buffer.from(odd).toString('hex');
    expect(await mask(`${hex} ${hex.toUpperCase()}`, { environment })).toBe(`${masked} ${masked}`);
    for (const before of ['', 'a', 'ab', 'abc', 'user:', 'user:p', '{"a":'])
      for (const after of ['', '!', '!!', '!!!', '"}'])
        for (const form of ['base64', 'base64url'] as const) {
          const text = Buffer.from(`${before}${odd}${after}`).toString(form);
          const found = await mask(text, { environment });
          expect(found).toContain(masked);
          // The rest has at most part of a byte of the secret at each end.
          const [head = '', tail = ''] = found.split(masked);
          expect(head.length).toBeLessThanOrEqual(Math.ceil((before.length * 8) / 6));
          expect(tail.replaceAll('=', '').length).toBeLessThanOrEqual(Math.ceil((after.length * 8) / 6) + 1);
        }
  });

  test('are found as JSON and URLs write them, and line by line', async () => {
    const odd = `q"${letters(10, 7)}/+\\9`;
    const lines = `${letters(30, 8)}7\n${letters(30, 9)}8`;
    const environment = { ODD_SECRET: odd, LINES_SECRET: lines };
    expect(await mask(JSON.stringify({ odd }), { environment })).toBe('{"odd":"[masked: env ODD_SECRET]"}');
    expect(await mask(`?x=${encodeURIComponent(odd)}`, { environment })).toBe('?x=[masked: env ODD_SECRET]');
    expect(await mask(`x\n${lines}\ny`, { environment })).toBe('x\n[masked: env LINES_SECRET]\ny');
    expect(await mask(`y ${letters(30, 9)}8`, { environment })).toBe('y [masked: env LINES_SECRET]');
  });

  test('leave masks alone if they equal a mask’s text', async () => {
    const environment = { ODD_KEY: '[masked: env ODD_KEY]', DEPLOY_TOKEN: value };
    const once = await mask(`a ${value} b`, { environment });
    expect(once).toBe('a [masked: env DEPLOY_TOKEN] b');
    expect(await mask(once, { environment })).toBe(once);
  });

  describe('in .env files', () => {
    let root: string;
    beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'teddy-masker-'))));
    afterEach(() => rm(root, { recursive: true }));

    test('are masked from .env and .env.local, but not from .env.example', async () => {
      const [a, b, c, d] = [1, 2, 3, 4].map((at) => `${at}${letters(20, at + 20)}`);
      await writeFile(join(root, '.env'), `# first\nexport API_KEY="${a}"\nDB_PASSWORD='${b}' # it\nNAME=${d}\n`);
      await writeFile(join(root, '.env.local'), `auth_token = ${c} # the token\r\n`);
      await writeFile(join(root, '.env.example'), `OTHER_KEY=${d}\n`);
      expect(await mask(`${a} ${b} ${c} ${d}`, { root })).toBe(
        `[masked: env API_KEY] [masked: env DB_PASSWORD] [masked: env auth_token] ${d}`,
      );
    });

    test('are found with a byte order mark, in UTF-16, for direnv, and in the other work trees', async () => {
      const values = [1, 2, 3, 4].map((at) => `${at}${letters(20, at + 40)}`);
      const [a, b, c, d] = values;
      const other = await mkdtemp(join(tmpdir(), 'teddy-masker-'));
      await writeFile(join(root, '.env'), `\uFEFFA_TOKEN=${a}\n`);
      await writeFile(join(root, '.env.local'), Buffer.from(`\uFEFFB_TOKEN=${b}\r\n`, 'utf16le'));
      await writeFile(join(root, '.envrc'), `export C_TOKEN=${c}\n`);
      await writeFile(join(other, '.env'), `D_TOKEN=${d}\n`);
      const findOtherRoots = async () => [root, other, join(root, 'unplugged')];
      expect(await mask(values.join(' '), { root, findOtherRoots })).toBe(
        ['A', 'B', 'C', 'D'].map((name) => `[masked: env ${name}_TOKEN]`).join(' '),
      );
      await rm(other, { recursive: true });
    });

    test('are masked in a .env file in any directory if that file is shown', async () => {
      const text = `API_KEY=${letters(20, 51)}1\nNAME=x\n`;
      const show = async (path: string) => (await maskerOf().mask(text, path)).text;
      expect(await show('packages/api/.env')).toBe('API_KEY=[masked: env API_KEY]\nNAME=x\n');
      expect(await show('packages/api/.env.example')).toBe(text);
      expect(await show('packages/api/notes.md')).toBe(text);
    });

    test('are masked completely if a quoted key has several lines', async () => {
      const lines = [letters(40, 31), letters(40, 32)];
      await writeFile(join(root, '.env'), `A_KEY="${lines.join('\n')}"\nB_KEY="${lines.join('\\n')}x"\n`);
      expect(await mask(`> ${lines.join('\n')}.`, { root })).toBe('> [masked: env A_KEY].');
    });

    test('fail with MASKING_FAILED if the root is missing, instead of staying unmasked', async () => {
      const gone = join(root, 'gone');
      await expect(mask('text', { root: gone })).rejects.toMatchObject({ code: 'MASKING_FAILED' });
    });
  });
});

describe('the setting', () => {
  const secret = 'gh' + `p_${letters(36, 4)}`;
  const settingsOf = (value: string | undefined) => ({
    get: async (name: string) => (name === 'redact' ? value : undefined),
  });

  test('as false masks nothing, and says so once', async () => {
    const said: string[] = [];
    const notices = { info: () => undefined, warn: (text: string) => void said.push(text) };
    const off = maskerOf({ settings: settingsOf('false'), notices });
    expect(await off.mask(secret)).toEqual({ text: secret, count: 0, found: [] });
    await off.mask(secret);
    expect(said).toEqual([expect.stringContaining('NOT masked')]);
  });

  test('as true masks, and so does its absence', async () => {
    expect(await mask(secret, { settings: settingsOf('true') })).toBe('[masked: github token]');
    expect(await mask(secret, { settings: settingsOf(undefined) })).toBe('[masked: github token]');
  });

  test('with an invalid value masks nothing and lets nothing through', async () => {
    const refused = new TeddyError('BAD_SETTING', 'teddy.redact is "nope".');
    const settings = { get: () => Promise.reject(refused) };
    await expect(mask(secret, { settings })).rejects.toBe(refused);
  });
});

describe('any text', () => {
  const cases = Object.values(secretsByRule).flat();
  const environment = { DEPLOY_TOKEN: `Zx9-${letters(20, 5)}` };
  const plain = fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.replaceAll(/[\w:/@.=-]{20,}/g, ''));

  test('without a secret is not changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 400 }), async (text) => {
        expect(await mask(text, { environment })).toBe(text);
      }),
      runs(100),
    );
  });

  test('keeps the text around its secrets, and masking it again changes nothing', async () => {
    const part = fc.oneof(
      plain.map((text) => ({ text })),
      fc.nat(cases.length - 1).map((at) => ({ at })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 12 }), async (parts) => {
        const toText = (shown: (at: number) => string) =>
          parts.map((piece) => ('text' in piece ? piece.text : `\n${shown(piece.at)}\n`)).join('');
        const text = toText((at) => `${cases[at]?.before}${cases[at]?.secret}${cases[at]?.after}`);
        const once = await mask(text, { environment });
        expect(once).toBe(toText((at) => `${cases[at]?.before}[masked: ${cases[at]?.kind}]${cases[at]?.after}`));
        expect(await mask(once, { environment })).toBe(once);
      }),
      runs(100),
    );
  });
});

describe('code without a secret', () => {
  const packages = [
    'yaml',
    'diff',
    'clipanion',
    'esbuild',
    'fast-check',
    'isomorphic-git',
    'prettier',
    '@types/node',
    'vite/dist',
    'openai',
  ];

  test.each(packages)('is not changed in %s', async (name) => {
    const texts = await readTexts(join(new URL('../../node_modules', import.meta.url).pathname, name));
    expect(texts.length).toBeGreaterThan(0);
    const one = maskerOf();
    for (const { path, text } of texts) expect((await one.mask(text)).found, path).toEqual([]);
  });
});

/** Up to 300 text files below a directory. */
async function readTexts(directory: string): Promise<{ path: string; text: string }[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile() && /\.(?:[cm]?[jt]s|md|json|ya?ml)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(paths.slice(0, 300).map(async (path) => ({ path, text: await readFile(path, 'utf8') })));
}

test('masking takes linear time, even if every line has a secret', async () => {
  const lines = (count: number) =>
    Array.from({ length: count }, (_, at) => `t = gh${'p_'}${letters(36, at)}\n`).join('');
  const near = (count: number) => 'https://aa:bb SG.aa. mysql://a:b xoxb-1- shpat_ ops_ey npm_ AKIA '.repeat(count);
  const keys = (count: number) => `-----BEGIN PRIVATE KEY-----\n${'A'.repeat(99)}\n`.repeat(count);
  for (const make of [lines, near, keys]) {
    const unit = make(1).length;
    await expectLinear(262_144, (size) => make(Math.ceil(size / unit)), mask);
  }
});

import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lintSource } from '@secretlint/core';
import { creator, rules } from '@secretlint/secretlint-rule-preset-recommend';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Masker } from '../../src/ports.ts';
import { masker, type MaskerOptions } from '../../src/system/masker.ts';
import { unusedRules } from '../../src/system/secret-rules.ts';
import { letters, lookAlikes, secretsByRule } from '../support/planted-secrets.ts';

function maskerOf(more: Partial<MaskerOptions> = {}): Masker {
  const settings = { get: async () => undefined };
  const notices = { info: () => undefined, warn: () => undefined };
  return masker({ environment: {}, root: null, settings, notices, ...more });
}

async function mask(text: string, more: Partial<MaskerOptions> = {}): Promise<string> {
  return (await maskerOf(more).mask(text)).text;
}

const ruleNames = rules
  .map(({ meta }) => meta.id.replace('@secretlint/secretlint-rule-', ''))
  .filter((name) => !unusedRules.has(name));

describe('secrets that are told by their form', () => {
  test('every rule of the preset has two secrets and two look-alikes', () => {
    expect(Object.keys(secretsByRule).sort()).toEqual(ruleNames.toSorted());
    expect(Object.keys(lookAlikes).sort()).toEqual(ruleNames.toSorted());
    for (const name of ruleNames) {
      expect(secretsByRule[name]?.length, name).toBeGreaterThanOrEqual(2);
      expect(lookAlikes[name]?.length, name).toBeGreaterThanOrEqual(2);
    }
  });

  describe.each(ruleNames)('%s', (name) => {
    test.each(secretsByRule[name] ?? [])('masks the whole of %#', async ({ before, secret, after, kind }) => {
      for (const [head, tail] of [
        ['', ''],
        ['first line\n', '\nlast line\n'],
        ['\uFEFF', '\r\n'],
      ]) {
        const text = `${head}${before}${secret}${after}${tail}`;
        expect(await mask(text)).toBe(`${head}${before}[masked: ${kind}]${after}${tail}`);
      }
    });

    test.each(lookAlikes[name] ?? [])('leaves the look-alike %# as it is', async (text) => {
      expect(await mask(text)).toBe(text);
    });
  });

  test('a comment in the text switches nothing off', async () => {
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

  test('whatever secretlint itself reports is masked', async () => {
    const cases = Object.values(secretsByRule).flat();
    for (const { before, secret, after } of cases) {
      const content = `${before}${secret}${after}`;
      const config = { rules: [{ id: creator.meta.id, rule: creator }] };
      const source = { content, filePath: 'text.txt', ext: '.txt', contentType: 'text' } as const;
      const { messages } = await lintSource({ source, options: { noPhysicFilePath: true, config } });
      if (messages.length > 0) expect((await maskerOf().mask(content)).count).toBeGreaterThan(0);
    }
  });

  test('a private key is masked also when it is encrypted, of PGP, in JSON, or cut', async () => {
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

  test('kinds and lines are told, never the secret', async () => {
    const secret = 'gh' + `p_${letters(36, 3)}`;
    const masked = await maskerOf().mask(`one\ntwo ${secret}\nthree\n${secret} ${secret}\n`);
    expect(masked.found).toEqual([2, 4, 4].map((line) => ({ kind: 'github token', line })));
    expect(masked.count).toBe(3);
    expect(JSON.stringify(masked)).not.toContain(secret);
  });
});

describe('values of variables', () => {
  const value = `Zx9-${letters(20, 5)}`;

  test('the value of a variable that is named like a secret is masked wherever it stands', async () => {
    const environment = { DEPLOY_TOKEN: value, HOME_PAGE: `other${value}`, EMPTY_TOKEN: '', UNSET_TOKEN: undefined };
    expect(await mask(`a=${value};b=x${value}y`, { environment })).toBe(
      'a=[masked: env DEPLOY_TOKEN];b=x[masked: env DEPLOY_TOKEN]y',
    );
  });

  test('of values that contain each other the longest is masked, and of those that overlap all', async () => {
    const environment = { A_KEY: value, B_KEY: `${value}-more-9Q`, C_KEY: `ore-9Q${letters(12, 6)}1` };
    expect(await mask(`[${value}-more-9Q]`, { environment })).toBe('[[masked: env B_KEY]]');
    expect(await mask(`[${value}-more-9Q${letters(12, 6)}1]`, { environment })).toBe('[[masked: env B_KEY]]');
    expect(await mask(`[${value}]`, { environment })).toBe('[[masked: env A_KEY]]');
  });

  test('a value is found as JSON and URLs write it, and line by line', async () => {
    const odd = `q"${letters(10, 7)}/+\\9`;
    const lines = `${letters(30, 8)}7\n${letters(30, 9)}8`;
    const environment = { ODD_SECRET: odd, LINES_SECRET: lines };
    expect(await mask(JSON.stringify({ odd }), { environment })).toBe('{"odd":"[masked: env ODD_SECRET]"}');
    expect(await mask(`?x=${encodeURIComponent(odd)}`, { environment })).toBe('?x=[masked: env ODD_SECRET]');
    expect(await mask(`x\n${lines}\ny`, { environment })).toBe('x\n[masked: env LINES_SECRET]\ny');
    expect(await mask(`y ${letters(30, 9)}8`, { environment })).toBe('y [masked: env LINES_SECRET]');
  });

  test('a value that is the text of a mask leaves masks alone', async () => {
    const environment = { ODD_KEY: '[masked: env ODD_KEY]', DEPLOY_TOKEN: value };
    const once = await mask(`a ${value} b`, { environment });
    expect(once).toBe('a [masked: env DEPLOY_TOKEN] b');
    expect(await mask(once, { environment })).toBe(once);
  });

  describe('of .env files', () => {
    let root: string;
    beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'teddy-masker-'))));
    afterEach(() => rm(root, { recursive: true }));

    test('entries of .env and .env.local are masked, those of .env.example are not', async () => {
      const [a, b, c, d] = [1, 2, 3, 4].map((at) => `${at}${letters(20, at + 20)}`);
      await writeFile(join(root, '.env'), `# first\nexport API_KEY="${a}"\nDB_PASSWORD='${b}' # it\nNAME=${d}\n`);
      await writeFile(join(root, '.env.local'), `auth_token = ${c} # the token\r\n`);
      await writeFile(join(root, '.env.example'), `OTHER_KEY=${d}\n`);
      expect(await mask(`${a} ${b} ${c} ${d}`, { root })).toBe(
        `[masked: env API_KEY] [masked: env DB_PASSWORD] [masked: env auth_token] ${d}`,
      );
    });

    test('a key of several lines in quotes is masked whole', async () => {
      const lines = [letters(40, 31), letters(40, 32)];
      await writeFile(join(root, '.env'), `A_KEY="${lines.join('\n')}"\nB_KEY="${lines.join('\\n')}x"\n`);
      expect(await mask(`> ${lines.join('\n')}.`, { root })).toBe('> [masked: env A_KEY].');
    });

    test('a root that is gone is MASKING_FAILED, not an unmasked text', async () => {
      const gone = join(root, 'gone');
      await expect(mask('text', { root: gone })).rejects.toMatchObject({ code: 'MASKING_FAILED' });
    });
  });
});

describe('the setting', () => {
  const secret = 'gh' + `p_${letters(36, 4)}`;
  const settingsOf = (value: string) => ({ get: async (name: string) => (name === 'redact' ? value : undefined) });

  test('false masks nothing, and says so once', async () => {
    const said: string[] = [];
    const notices = { info: () => undefined, warn: (text: string) => void said.push(text) };
    const off = maskerOf({ settings: settingsOf('false'), notices });
    expect(await off.mask(secret)).toEqual({ text: secret, count: 0, found: [] });
    await off.mask(secret);
    expect(said).toEqual([expect.stringContaining('NOT masked')]);
  });

  test('true masks; anything else is BAD_SETTING', async () => {
    expect(await mask(secret, { settings: settingsOf('true') })).toBe('[masked: github token]');
    for (const value of ['no', 'off', '0', '', 'FALSE']) {
      await expect(mask(secret, { settings: settingsOf(value) })).rejects.toMatchObject({ code: 'BAD_SETTING' });
    }
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
    );
  });

  test('keeps what stands around its secrets, and is masked once and for all', async () => {
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
    );
  });
});

describe('code that holds no secret', () => {
  const packages = ['yaml', 'diff', 'clipanion', 'esbuild', 'fast-check', 'isomorphic-git', 'typescript/lib', 'openai'];

  test.each(packages)('%s is not changed', async (name) => {
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

test('time grows in step with the text, also where every line holds a secret', async () => {
  const lines = (count: number) =>
    Array.from({ length: count }, (_, at) => `t = gh${'p_'}${letters(36, at)}\n`).join('');
  const near = (count: number) => 'https://aa:bb SG.aa. mysql://a:b xoxb-1- shpat_ ops_ey npm_ AKIA '.repeat(count);
  const keys = (count: number) => `-----BEGIN PRIVATE KEY-----\n${'A'.repeat(99)}\n`.repeat(count);
  for (const make of [lines, near, keys]) {
    const unit = make(1).length;
    const timeOf = async (bytes: number) => {
      const text = make(Math.ceil(bytes / unit));
      const started = performance.now();
      await mask(text);
      return performance.now() - started;
    };
    await timeOf(65_536);
    const [small, large] = [await timeOf(131_072), await timeOf(1_048_576)];
    // Eight times the text; squared growth would be 64 times.
    expect(large).toBeLessThan(Math.max(small, 5) * 30);
    expect(large).toBeLessThan(3000);
  }
});

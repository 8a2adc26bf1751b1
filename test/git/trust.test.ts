import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { gitTrust } from '../../src/git/run/trust.ts';
import { parseOid } from '../../src/names.ts';

const one = parseOid('1'.repeat(40));
const two = parseOid('2'.repeat(40));
const three = parseOid('3'.repeat(40));
let dir: string;
const path = () => join(dir, 'teddy', 'trusted');

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'teddy-trust-'));
});

afterEach(() => rm(dir, { recursive: true }));

describe('the trusted set', () => {
  test('is empty at first, then has the added ids, for every process', async () => {
    expect(await gitTrust(dir).has(one)).toBe(false);
    await gitTrust(dir).add([one, two]);
    expect(await gitTrust(dir).has(two)).toBe(true);
    expect(await gitTrust(dir).has(three)).toBe(false);
    expect(await readFile(path(), 'utf8')).toBe(`${one}\n${two}\n`);
  });

  test('gets each id once, and adding nothing writes nothing', async () => {
    await gitTrust(dir).add([]);
    await expect(readFile(path())).rejects.toMatchObject({ code: 'ENOENT' });
    await gitTrust(dir).add([one]);
    await gitTrust(dir).add([one, two]);
    expect(await readFile(path(), 'utf8')).toBe(`${one}\n${two}\n`);
  });

  test('survives a torn line, which does not count', async () => {
    await gitTrust(dir).add([one]);
    await appendFile(path(), two.slice(0, 20));
    expect(await gitTrust(dir).has(two)).toBe(false);
    await gitTrust(dir).add([three]);
    for (const [oid, expected] of [
      [one, true],
      [two, false],
      [three, true],
    ] as const) {
      expect(await gitTrust(dir).has(oid)).toBe(expected);
    }
  });

  test('does not contain ids that merely begin like an added one', async () => {
    await gitTrust(dir).add([one]);
    await writeFile(path(), `${one}0\n`);
    expect(await gitTrust(dir).has(one)).toBe(false);
  });

  test('is an error if it cannot be read', async () => {
    await mkdir(path(), { recursive: true });
    await expect(gitTrust(dir).has(one)).rejects.toMatchObject({
      code: 'WRITE_FAILED',
      message: expect.stringContaining('trusted could not be read: illegal operation on a directory (EISDIR)'),
    });
  });

  test('loses nothing when many processes add at the same time', async () => {
    const oids = Array.from({ length: 20 }, (_, at) => parseOid(String(at).padStart(40, '0')));
    await Promise.all(oids.map((oid) => gitTrust(dir).add([oid])));
    for (const oid of oids) expect(await gitTrust(dir).has(oid)).toBe(true);
  });
});

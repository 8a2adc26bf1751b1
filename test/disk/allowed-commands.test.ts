import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { SessionId } from '../../src/names.ts';
import { allowedCommands } from '../../src/system/settings/settings.ts';

let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'allowed-'))));
afterEach(() => rm(dir, { recursive: true }));

test('allowed commands are kept for each session, and an unreadable list allows nothing', async () => {
  const [one, other] = ['20260101-one', '20260101-other'] as SessionId[];
  if (one === undefined || other === undefined) throw new Error('There are two.');
  const { list, keep } = allowedCommands(join(dir, 'allowed'));
  expect(await list(one)).toEqual([]);
  const allowed = [{ kind: 'words', text: 'npm test', cwd: null }] as const;
  await keep(one, allowed);
  expect(await list(one)).toEqual(allowed);
  expect(await list(other)).toEqual([]);
  expect((await stat(join(dir, 'allowed'))).mode & 0o777).toBe(0o700);
  const path = join(dir, 'allowed', `${one}.json`);
  await writeFile(path, JSON.stringify([{ kind: 'all', text: '', cwd: null }, ...allowed]));
  expect(await list(one)).toEqual(allowed);
  await writeFile(path, (await readFile(path, 'utf8')).slice(1));
  expect(await list(one)).toEqual([]);
});

test('a list that the system cannot return is an error', async () => {
  await mkdir(join(dir, '20260101-one.json'));
  const reading = allowedCommands(dir).list('20260101-one' as SessionId);
  await expect(reading).rejects.toMatchObject({ code: 'WRITE_FAILED', message: expect.stringContaining('EISDIR') });
});

import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ServerRecord, ServerRecords } from '../../src/ports/disk.ts';
import { serverRecords } from '../../src/system/runs/server-record.ts';

let dir: string;
let path: string;
let isAlive: boolean;
let servers: ServerRecords;

const record: ServerRecord = { url: 'http://127.0.0.1:5000', port: 5000, pid: process.pid, token: 'T' };

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'teddy-servers-'));
  path = join(dir, 'teddy', 'server.json');
  isAlive = true;
  servers = serverRecords({ path, bootId: async () => 'boot', isAlive: async () => isAlive });
});

afterEach(() => rm(dir, { recursive: true, force: true }));

/** Leaves it like another process. */
async function leaveClaim(pid: number): Promise<void> {
  const nonce = '0123456789abcdef0123456789abcdef';
  await writeFile(`${path}.lock`, JSON.stringify({ pid, bootId: 'boot', nonce }));
}

describe('a server’s record', () => {
  test('is readable only by its user, and contains what a client needs', async () => {
    const claim = await servers.claim();
    await claim.publish(record);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(record);
    expect(await servers.read()).toEqual(record);
  });

  test('is removed when the server ends, and another server may start', async () => {
    const claim = await servers.claim();
    await claim.publish(record);
    await claim.release();
    expect(await readdir(join(dir, 'teddy'))).toEqual([]);
    expect(await servers.read()).toBeNull();
    await (await servers.claim()).release();
  });

  test('makes a second server refuse to start, with the address of the first', async () => {
    await (await servers.claim()).publish(record);
    await expect(servers.claim()).rejects.toMatchObject({
      code: 'SERVER_RUNNING',
      exitCode: 3,
      message: expect.stringContaining('http://127.0.0.1:5000') as string,
    });
    expect(await servers.read()).toEqual(record);
  });

  test('has no address while the server is starting, and is in the way all the same', async () => {
    await servers.claim();
    await expect(servers.claim()).rejects.toMatchObject({
      code: 'SERVER_RUNNING',
      message: expect.stringContaining(String(process.pid)) as string,
    });
  });

  test('is replaced if the server is dead, whose address does not pass for a running one’s', async () => {
    await (await servers.claim()).publish({ ...record, pid: 4711 });
    await leaveClaim(4712);
    await expect(servers.claim()).rejects.toMatchObject({ message: expect.not.stringContaining('5000') as string });
    isAlive = false;
    await (await servers.claim()).publish(record);
    expect(await servers.read()).toEqual(record);
  });

  test('does not count if its server was killed: its token must not go to whoever has the port now', async () => {
    await (await servers.claim()).publish({ ...record, pid: 4711 });
    await leaveClaim(4711);
    expect(await servers.read()).toMatchObject({ pid: 4711 });
    isAlive = false;
    expect(await servers.read()).toBeNull();
    isAlive = true;
    await leaveClaim(4712);
    expect(await servers.read()).toBeNull();
    await rm(`${path}.lock`);
    expect(await servers.read()).toBeNull();
  });

  test.each(['', '{', 'null', '{"url":1}', '[]'])('does not count if it contains %j', async (text) => {
    await (await servers.claim()).publish(record);
    await writeFile(path, text);
    expect(await servers.read()).toBeNull();
  });

  test('is reported if its place cannot be written', async () => {
    await writeFile(join(dir, 'teddy'), 'a file');
    await expect(servers.claim()).rejects.toMatchObject({
      code: 'WRITE_FAILED',
      message: expect.stringContaining(path) as string,
    });
  });
});

/** A content that goes to a server in parts. */
import { expect, test } from 'vitest';
import { serverDestination } from '../../src/cli/commands/write/stream-to-server.ts';
import type { WriteApi } from '../../src/http/write-api.ts';
import type { Oid } from '../../src/names.ts';
import { TeddyError } from '../../src/errors.ts';
import { writeLimits } from '../../src/session/settings/write-limits.ts';
import { appendWrite } from '../../src/workflow/writes/append.ts';
import { beginWrite } from '../../src/workflow/writes/begin.ts';
import { given } from '../support/given.ts';
import { memoryProject } from '../support/memory-repository.ts';
import { initialState } from '../../src/write/write.ts';

async function openServer() {
  const parts: { offset: number; bytes: Uint8Array }[] = [];
  const server = { parts, failsAfter: Number.POSITIVE_INFINITY };
  const append: WriteApi['append'] = async ({ offset = 0, bytes }) => {
    if (parts.length >= server.failsAfter) throw new TeddyError('DISK_FULL', 'There is no space left.');
    parts.push({ offset, bytes });
    return { session_id: 'x', offset: offset + bytes.length, added: bytes.length };
  };
  const destination = serverDestination({
    project: await memoryProject(),
    writes: { append } as WriteApi,
    begun: { session_id: 'x', end_marker: 'DONE' } as Parameters<typeof serverDestination>[0]['begun'],
    target: 'a.txt',
    limits: writeLimits,
    nowMs: 0,
    server: 'http://127.0.0.1:5000',
  });
  return { server, save: (bytes: Uint8Array) => destination.save(bytes, initialState(0), false), destination };
}

/** Three bytes a character, so that no part of a round length ends with one. */
const long = Buffer.from('€'.repeat(1_500_000));

test('a long content is sent in parts of whole characters, one behind the other', async () => {
  const { server, save, destination } = await openServer();
  await save(long);
  expect(server.parts.length).toBeGreaterThan(1);
  let end = 0;
  for (const { offset, bytes } of server.parts) {
    expect(offset).toBe(end);
    expect(bytes.length).toBeLessThanOrEqual(2 * 1024 * 1024);
    expect(bytes.length % 3).toBe(0);
    end += bytes.length;
  }
  expect(Buffer.concat(server.parts.map(({ bytes }) => bytes)).equals(long)).toBe(true);
  expect(destination.savedBytes()).toBe(long.length);
});

test('after a failure in the middle all of it is sent again, to the same place', async () => {
  const { server, save, destination } = await openServer();
  server.failsAfter = 1;
  await expect(save(long)).rejects.toMatchObject({ code: 'DISK_FULL' });
  expect(destination.savedBytes()).toBe(0);
  server.failsAfter = Number.POSITIVE_INFINITY;
  await save(long);
  expect(server.parts.map(({ offset }) => offset).slice(0, 2)).toEqual([0, 0]);
  expect(destination.savedBytes()).toBe(long.length);
});

test('of a server that has died, only what it had not taken by then is kept', async () => {
  const project = await given.session();
  const { record } = await beginWrite(project, { intent: 'x', target: 'a.txt', operation: 'create' });
  let calls = 0;
  const append: WriteApi['append'] = async (request) => {
    calls += 1;
    if (calls > 1) throw new TeddyError('SERVER_UNREACHABLE', 'It does not answer.');
    const { size, added } = await appendWrite(project, request);
    return { session_id: record.id, offset: size, added };
  };
  const destination = serverDestination({
    project,
    writes: { append } as WriteApi,
    begun: { session_id: record.id, end_marker: 'DONE' } as Parameters<typeof serverDestination>[0]['begun'],
    target: 'a.txt',
    limits: writeLimits,
    nowMs: 0,
    server: 'http://127.0.0.1:5000',
  });
  const error = await destination.save(long, initialState(0), false).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'WRITE_FAILED' });
  const kept = await destination.keep?.(error);
  const oid = /cat-file blob ([0-9a-f]+) \| teddy write recover/.exec(kept?.hint ?? '')?.[1] ?? '';
  const staged = (await project.writes.readContent(record.id))?.verified ?? new Uint8Array();
  const rest = await project.repository.store.readBlob(oid as Oid);
  expect(staged.length).toBeGreaterThan(0);
  expect(Buffer.concat([staged, rest]).equals(long)).toBe(true);
});

import { createServer, type Server } from 'node:http';
import { createServer as createRawServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { TeddyError, type ErrorCode } from '../../src/errors.ts';
import { parseServerUrl, writeClient, type ClientOptions } from '../../src/http/client.ts';
import type { StatusAnswer } from '../../src/http/schemas.ts';
import type { WriteApi } from '../../src/http/write-api.ts';
import { writeLimits } from '../../src/session/settings/write-limits.ts';
import { showFinalized } from '../../src/cli/ask/finish-write.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { openTestServer, type TestServer, type TestServerOptions } from '../support/http-server.ts';
import { startWait } from '../support/wait.ts';

const id = '0b9d2f6e-3c1a-4f7e-9a55-6d2f8c1e7b40';
const bytes = (text: string) => new TextEncoder().encode(text);
const quick = { ...writeLimits, networkDelayMs: 5 };

let server: TestServer;
let said: string[];

function open(changes: Partial<ClientOptions> = {}): WriteApi {
  const { url, token } = server;
  return writeClient({ url, token, limits: quick, onRetry: (text) => void said.push(text), ...changes });
}

async function reopen(options: TestServerOptions): Promise<WriteApi> {
  await server.stop();
  server = await openTestServer(options);
  return open();
}

beforeEach(async () => {
  said = [];
  server = await openTestServer();
});

afterEach(() => server.stop());

describe('a client of the server', () => {
  test('takes a session from begin to its commit', async () => {
    const client = open();
    const begun = await client.begin({ intent: 'try', target: 'a.txt', operation: 'create' });
    expect(begun.end_marker).toBe('DONE');
    expect(await client.append({ id: begun.session_id, offset: 0, bytes: bytes('\uFEFFä\n') })).toMatchObject({
      offset: 6,
    });
    expect(await client.append({ id: begun.session_id, bytes: bytes('b\n') })).toMatchObject({ offset: 8, added: 2 });
    const written = await client.finalize({ id: begun.session_id, force: true });
    expect(written).toMatchObject({ success: true, written_path: 'a.txt' });
    expect(await client.status(begun.session_id)).toMatchObject({
      status: 'completed',
      commit: (written as { commit: string }).commit,
    });
    expect(await client.list()).toHaveLength(1);
    expect(await server.project.read('a.txt')).toContain('ä\nb\n');
  });

  test('can give up a session', async () => {
    const client = open();
    const begun = await client.begin({ intent: 'try', target: 'a.txt', operation: 'create', ownMarker: true });
    expect(begun.end_marker).toMatch(/^DONE-/);
    await client.cancel(begun.session_id);
    expect(await client.list()).toEqual([]);
  });

  test('gets the reason when a begin is refused', async () => {
    await server.begin('b.txt');
    await expect(open().begin({ intent: 'try', target: 'a.txt', operation: 'create' })).rejects.toMatchObject({
      code: 'WRITE_ACTIVE',
      exitCode: 3,
      message: 'Cannot start new session: Another write session is already active. Please wait for it to complete.',
    });
  });

  test('reports an invalid operation as a usage error', async () => {
    await expect(open().begin({ intent: 'try', target: 'a.txt', operation: 'remove' })).rejects.toMatchObject({
      code: 'BAD_OPERATION',
      exitCode: 2,
      message: "Cannot start new session: Invalid operation type. Must be 'create', 'overwrite', or 'append'.",
    });
  });

  test('gets the findings and the response for invalid content', async () => {
    const { session_id } = await server.begin('a.json');
    const rejected = await open().finalize({ id: session_id, content: bytes('{"a": }') });
    expect(rejected).toMatchObject({
      success: false,
      code: 'VALIDATION_FAILED',
      stage: 'needs_corrections',
      validation_summary: {},
    });
    const terminal = { say: () => undefined } as unknown as Terminal;
    expect(() => showFinalized({ terminal, printJson: null, server: server.url }, rejected)).toThrow(
      expect.objectContaining({
        code: 'VALIDATION_FAILED',
        message: expect.stringMatching(
          /^Content validation failed: line 1, column \d.*\. Please fix and try again\.$/s,
        ) as string,
        hint: expect.stringContaining(`--server ${server.url}`) as string,
      }),
    );
  });

  test('is told to split content that is too large', async () => {
    const client = await reopen({ limits: { maxBytes: 3 } });
    const { session_id } = await server.begin('a.txt');
    const tooLarge = {
      code: 'CONTENT_TOO_LARGE',
      message: 'Content too large (exceeds 10MB). Please split into smaller files.',
    };
    await expect(client.append({ id: session_id, offset: 0, bytes: bytes('abcd') })).rejects.toMatchObject(tooLarge);
    await expect(client.finalize({ id: session_id, content: bytes('abcd') })).rejects.toMatchObject(tooLarge);
  });

  test('gets the expected offset for an append in the wrong place', async () => {
    const { session_id } = await server.begin('a.txt');
    await expect(open().append({ id: session_id, offset: 7, bytes: bytes('a') })).rejects.toMatchObject({
      code: 'OFFSET_MISMATCH',
      expected: 0,
    });
  });

  test('distinguishes a session that has timed out from one that never existed', async () => {
    const unknown = () => Promise.reject(new TeddyError('UNKNOWN_WRITE', 'Session not found or expired.'));
    const status: StatusAnswer = {
      session_id: id,
      status: 'failed',
      stage: 'expired',
      created_at: null,
      saved_at: '',
      intent: null,
      target_file: null,
      operation: null,
      end_marker: null,
      size: 0,
      unverified_bytes: 0,
      findings: [],
      reason: null,
      written_path: null,
      commit: null,
    };
    const client = await reopen({ writes: { append: unknown, finalize: unknown, status: async () => status } });
    const timedOut = {
      code: 'UNKNOWN_WRITE',
      message: 'Session timed out after 5 minutes of inactivity. Please start over.',
    };
    await expect(client.append({ id, offset: 0, bytes: bytes('a') })).rejects.toMatchObject(timedOut);
    await expect(client.finalize({ id })).rejects.toMatchObject(timedOut);
    const other = await reopen({});
    await expect(other.finalize({ id })).rejects.toMatchObject({
      code: 'UNKNOWN_WRITE',
      message: 'Session not found or expired. Please start a new write session.',
    });
  });

  test('never sends content that is not UTF-8', async () => {
    const { session_id } = await server.begin('a.txt');
    const wish = { id: session_id, content: Uint8Array.of(0xc3, 0x28) };
    await expect(open().finalize(wish)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(server.lines).toHaveLength(1);
  });

  test('distinguishes a wrong token from a missing server', async () => {
    await expect(open({ token: 'x' }).list()).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
      exitCode: 5,
      message: expect.stringContaining('rejected the token') as string,
    });
    expect(said).toEqual([]);
  });

  test('does not treat a server failure as a network failure, and does not retry it', async () => {
    const client = await reopen({ writes: { list: () => Promise.reject(new Error('broken')) } });
    await expect(client.list()).rejects.toMatchObject({ message: 'An internal error occurred. Please try again.' });
    expect(server.lines).toHaveLength(1);
    expect(said).toEqual([]);
  });

  test.each(['LOCKED', 'TARGET_CHANGED', 'DISK_FULL', 'WRITE_FINALIZING'] as ErrorCode[])(
    'reports the server’s %s as the same error',
    async (code) => {
      const client = await reopen({ writes: { cancel: () => Promise.reject(new TeddyError(code, 'It failed.')) } });
      await expect(client.cancel(id)).rejects.toMatchObject({ code, message: 'It failed.' });
    },
  );
});

describe('the network', () => {
  test('is tried twice in all if the server is missing, and then it is exit code 5', async () => {
    const client = open();
    await server.stop();
    const calls = [
      () => client.begin({ intent: 'try', target: 'a.txt', operation: 'create' }),
      () => client.append({ id, offset: 0, bytes: bytes('a') }),
      () => client.finalize({ id }),
      () => client.status(id),
      () => client.list(),
      () => client.cancel(id),
    ];
    for (const call of calls) {
      said = [];
      await expect(call()).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE', exitCode: 5 });
      expect(said).toEqual(['Failed to connect to backend. Check if server is running. Retrying... (attempt 1/2)']);
    }
  });

  test('only saves the received content after an interruption, and gives up an empty session', async () => {
    const { session_id } = await server.begin('a.txt');
    const stopped = open({ signal: AbortSignal.abort() });
    expect(await stopped.append({ id: session_id, offset: 0, bytes: bytes('a') })).toMatchObject({ offset: 1 });
    const asked = server.lines.length;
    for (const call of [
      () => stopped.begin({ intent: 'try', target: 'b.txt', operation: 'create' }),
      () => stopped.finalize({ id: session_id }),
      () => stopped.list(),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: 'INTERRUPTED',
        hint: expect.stringContaining(`teddy write list --server ${server.url}`) as string,
      });
    }
    expect(server.lines).toHaveLength(asked);
    await stopped.cancel(session_id);
    expect(await open().list()).toEqual([]);
  });

  test('finishes a running append after an interruption, but does not wait forever', async () => {
    const { session_id } = await server.begin('a.txt');
    const controller = new AbortController();
    const sent = open({ signal: controller.signal }).append({ id: session_id, offset: 0, bytes: bytes('a') });
    controller.abort();
    expect(await sent).toMatchObject({ offset: 1 });
    const silent = createRawServer((socket) => void socket.on('error', () => undefined));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const wait = startWait(140);
    await expect(
      open({ url, signal: AbortSignal.abort(), closingMs: 150 }).append({ id, offset: 0, bytes: bytes('a') }),
    ).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(wait.isOver()).toBe(true);
    silent.close();
  });

  test('is retried after the configured delay', async () => {
    const client = open({ limits: { ...quick, networkDelayMs: 150 } });
    await server.stop();
    const wait = startWait(140);
    await expect(client.list()).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    expect(wait.isOver()).toBe(true);
  });

  test('repeats an append, but not a begin that may have arrived', async () => {
    let connections = 0;
    const cutting = createRawServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined).once('data', () => socket.destroy());
    });
    await new Promise<void>((resolve) => cutting.listen(0, '127.0.0.1', resolve));
    const client = open({ url: `http://127.0.0.1:${(cutting.address() as AddressInfo).port}` });
    await expect(client.begin({ intent: 'try', target: 'a', operation: 'create' })).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
    expect(connections).toBe(1);
    await expect(client.append({ id, offset: 0, bytes: bytes('a') })).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
    expect(connections).toBe(3);
    cutting.close();
  });

  test.each([
    [200, 'Hello'],
    [404, '<html>'],
    [500, '{"message":"other"}'],
  ])('is not our server if it answers %d with %j', async (status, text) => {
    const other: Server = createServer((_, response) => response.writeHead(status).end(text));
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const client = open({ url: `http://127.0.0.1:${(other.address() as AddressInfo).port}` });
    await expect(client.list()).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
      message: expect.stringContaining('not the way a teddy server does') as string,
    });
    other.close();
  });

  test('never gets the token through a redirect', async () => {
    const seen: (string | undefined)[] = [];
    const other = createServer((request, response) => {
      seen.push(request.url);
      response.writeHead(302, { Location: '/elsewhere' }).end();
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const client = open({ url: `http://127.0.0.1:${(other.address() as AddressInfo).port}` });
    await expect(client.list()).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    expect(seen).not.toContain('/elsewhere');
    other.close();
  });

  test('accepts only an address, with or without its slash', () => {
    expect(parseServerUrl('http://localhost:5000/')).toBe('http://localhost:5000');
    for (const text of ['', 'localhost:5000', 'ftp://x', 'http://a:b@localhost', 'http://x/y', 'http://x?y', '5000']) {
      expect(() => parseServerUrl(text)).toThrow(expect.objectContaining({ code: 'USAGE' }) as Error);
    }
  });
});

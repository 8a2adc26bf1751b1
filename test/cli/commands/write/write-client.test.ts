import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connectToServer, type ServerOptions } from '../../../../src/cli/commands/write/write-client.ts';
import { openTestServer, type TestServer } from '../../../support/http-server.ts';

let server: TestServer;
let said: string[];

beforeEach(async () => {
  said = [];
  server = await openTestServer();
});

afterEach(() => server.stop());

function ask(changes: Partial<ServerOptions> = {}) {
  const { url, project } = server;
  return connectToServer({ server: url, project, env: {}, say: (text) => void said.push(text), ...changes });
}

describe('the calls with --server', () => {
  test('the token of the own repository is found, also when the server is called localhost', async () => {
    expect(await (await ask()).list()).toEqual([]);
    expect(await (await ask({ server: `http://localhost:${server.port}` })).list()).toEqual([]);
  });

  test('the token of another server is that of the environment', async () => {
    const env = { TEDDY_SERVER_TOKEN: server.token };
    expect(await (await ask({ project: null, env })).list()).toEqual([]);
    await expect((await ask({ project: null, env: { TEDDY_SERVER_TOKEN: 'x' } })).list()).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
  });

  test('the token of the own server is sent to no other one', async () => {
    const headers: (string | undefined)[] = [];
    const other = createServer(({ headers: { authorization } }, response) => {
      headers.push(authorization);
      response.writeHead(401).end('{}');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const calls = await ask({ server: `http://127.0.0.1:${port}` });
    await expect(calls.list()).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE' });
    await new Promise((resolve) => other.close(resolve));
    expect(headers.map((header) => header?.trim())).toEqual(['Bearer']);
    await expect(ask({ server: 'http://example.org' })).rejects.toMatchObject({ code: 'USAGE' });
  });

  test('where no server is, it is tried twice, and the exit code is that of the network', async () => {
    const calls = await ask({ server: 'http://127.0.0.1:1' });
    await expect(calls.list()).rejects.toMatchObject({ code: 'SERVER_UNREACHABLE', exitCode: 5 });
    expect(said.join()).toContain('Retrying... (attempt 1/2)');
  });

  test('a session goes from begin to its commit, in the words of the local calls', async () => {
    const calls = await ask();
    const { session_id: id } = await calls.begin({
      intent: 'try',
      target: 'a.txt',
      operation: 'create',
      hasController: false,
    });
    expect(await calls.append({ id, bytes: new TextEncoder().encode('A\n') })).toEqual({
      session_id: id,
      offset: 2,
      added: 2,
    });
    expect(await calls.status(id)).toMatchObject({ stage: 'receiving', size: 2 });
    expect(await calls.finalize({ id })).toMatchObject({ success: true, written_path: 'a.txt' });
    expect(await calls.list()).toMatchObject([{ session_id: id, status: 'completed' }]);
    expect(said).toEqual([]);
  });
});

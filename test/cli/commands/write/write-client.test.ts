import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { connectToServer, type ServerOptions } from '../../../../src/cli/commands/write/write-client.ts';
import { runCommand } from '../../../../src/cli/run-cli.ts';
import { memoryContext } from '../../../support/cli-context.ts';
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

describe('the commands with --server', () => {
  /** Runs a command of `teddy write`, in the server's own repository. */
  async function run(args: string[], stdin = '') {
    const context = memoryContext({ words: ['write', ...args], cwd: '/repo', stdin });
    const exitCode = await runCommand({ ...context, openProject: async () => server.project });
    return { exitCode, ...context.read() };
  }
  const runThere = (args: string[], stdin = '') => run([...args, '--server', server.url], stdin);
  const wish = (target: string) => ['--target', target, '--operation', 'create', '--intent', 'A test'];

  test('print what they print without it: ids, offsets, findings, and the commit', async () => {
    const id = (await runThere(['begin', ...wish('a.json')])).stdout.trim();
    expect(await runThere(['append', id], '{ "a":')).toMatchObject({ exitCode: 0, stdout: '6\n' });
    expect(await runThere(['append', id, '--offset', '4'], '":')).toMatchObject({ exitCode: 0, stdout: '6\n' });
    expect((await runThere(['list', id])).stdout).toContain('create a.json: A test\n6 bytes');
    const wrong = await runThere(['finalize', id]);
    expect(wrong).toMatchObject({ exitCode: 1, stdout: '' });
    expect(wrong.stderr).toMatch(/^1\. syntax, line 1, column 7: /m);
    expect(wrong.stderr).toContain('error: Content validation failed: line 1, column 7: ');
    expect(wrong.stderr).toContain('Please fix and try again. [VALIDATION_FAILED]');
    const second = await runThere(['begin', ...wish('b.txt')]);
    expect(second).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('[WRITE_ACTIVE]') as string });
    expect(await runThere(['finalize', id], '{ "a": 1 }\n')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^a\.json [0-9a-f]{10}\n$/) as string,
    });
    expect((await runThere(['list'])).stdout).toContain(`${id}  committed`);
    const other = (await runThere(['begin', ...wish('b.txt')])).stdout.trim();
    expect(await runThere(['cancel', other])).toMatchObject({ exitCode: 0 });
    expect(await runThere(['append', other], 'x')).toMatchObject({ exitCode: 2 });
  });

  test('a stream arrives byte for byte; without DONE it stays there, and the printed commands go on with it', async () => {
    const content = 'Zeile äöü 🧸\r\nDONE.\n';
    const done = await runThere(['stream', ...wish('a.txt')], `${content}DONE\n`);
    expect(done).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^a\.txt /) as string });
    expect(await server.project.read('a.txt')).toBe(content);
    const cut = await runThere(['stream', ...wish('b.txt')], 'one\n');
    expect(cut).toMatchObject({ exitCode: 1, stdout: '' });
    const [finalize = '', goOn = ''] = [...cut.stderr.matchAll(/`teddy write ([^`]+)`/g)].map((match) => match[1]);
    expect(await run(goOn.split(' '), 'two\n')).toMatchObject({ exitCode: 0, stdout: '8\n' });
    expect(await run(finalize.split(' '))).toMatchObject({ exitCode: 0 });
    expect(await server.project.read('b.txt')).toBe('one\ntwo\n');
  });

  test('begin says nothing of sessions that were interrupted here', async () => {
    await run(['stream', ...wish('a.txt')], 'one\n');
    const begun = await runThere(['begin', ...wish('b.txt')]);
    expect(begun).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('interrupted') as string });
    await runThere(['cancel', begun.stdout.trim()]);
    expect((await run(['begin', ...wish('b.txt')])).stderr).toContain('interrupted');
  });
});

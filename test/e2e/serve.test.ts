import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ServerRecord } from '../../src/ports/disk.ts';
import { runTeddy, startTeddy, type RunningTeddy } from '../support/run-teddy.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let repo: ScratchRepository;
let running: RunningTeddy[];

beforeEach(async () => {
  repo = await makeScratchRepository();
  running = [];
});

afterEach(async () => {
  for (const { kill } of running) kill('SIGTERM');
  await Promise.all(running.map(({ result }) => result));
  await repo.close();
});

const recordPath = () => join(repo.root, '.git', 'teddy', 'server.json');

/** Ready to be called. */
async function serve(...args: string[]): Promise<RunningTeddy & { record: ServerRecord }> {
  const run = startTeddy(['serve', ...args], { cwd: repo.root, timeoutMs: 170_000 });
  running.push(run);
  await run.waitForOutput(/The token is in /);
  return { ...run, record: JSON.parse(await readFile(recordPath(), 'utf8')) as ServerRecord };
}

async function call({ url, token }: ServerRecord, method: string, path: string, body?: object) {
  const response = await fetch(`${url}/api/write-session${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

async function begin(record: ServerRecord, target: string): Promise<string> {
  const wish = { intent: 'try it', target_file: target, operation: 'create' };
  const { status, body } = await call(record, 'POST', '/begin', wish);
  expect({ status, body }).toMatchObject({ status: 200 });
  return String(body['session_id']);
}

describe('teddy serve', () => {
  test('a file goes from begin to one commit on the branch of its session', async () => {
    const { record, pid, kill, result } = await serve('--port', '0');
    const token = expect.stringMatching(/^[\w-]{43}$/) as string;
    expect(record).toEqual({ url: `http://127.0.0.1:${record.port}`, port: record.port, pid, token });
    expect((await stat(recordPath())).mode & 0o777).toBe(0o600);
    const id = await begin(record, 'docs/a.md');
    await call(record, 'POST', '/append', { session_id: id, offset: 0, data: '# Ä\n' });
    const { status, body } = await call(record, 'POST', '/finalize', { session_id: id });
    expect({ status, body }).toMatchObject({ status: 200, body: { written_path: 'docs/a.md' } });
    const commit = String(body['commit']);
    expect(await repo.git('log', '-1', '--format=%(trailers:key=Teddy-Write-Session,valueonly)', commit)).toContain(id);
    expect(await repo.git('show', `${commit}:docs/a.md`)).toBe('# Ä');
    expect(await repo.read('docs/a.md')).toBe('# Ä\n');
    kill('SIGTERM');
    const { exitCode, stdout, stderr } = await result;
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${record.url}\n` });
    const lines = stderr.split('\n').filter((line) => line.startsWith('{'));
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { path: '/api/write-session/begin', status: 200, session_id: id },
      { path: '/api/write-session/append', status: 200, session_id: id },
      { path: '/api/write-session/finalize', status: 200, session_id: id },
    ]);
    expect(stderr).not.toContain('Ä');
    expect(stderr).not.toContain(record.token);
    expect(await repo.list('.git/teddy')).not.toContain('server.json');
  });

  test('after a crash another server begins, and a client goes on where it was', async () => {
    const first = await serve('--port', '0');
    const id = await begin(first.record, 'a.txt');
    await call(first.record, 'POST', '/append', { session_id: id, offset: 0, data: 'one\n' });
    first.kill('SIGKILL');
    await first.result;
    const { record, waitForOutput } = await serve('--port', '0');
    await waitForOutput(new RegExp(`A write session was interrupted: .*teddy write recover ${id}`));
    expect(record.token).not.toBe(first.record.token);
    expect(await call(record, 'GET', `/status/${id}`)).toMatchObject({ body: { stage: 'orphaned', size: 4 } });
    expect(await call(record, 'POST', '/append', { session_id: id, offset: 0, data: 'one\ntwo\n' })).toMatchObject({
      status: 200,
      body: { offset: 8, added: 4 },
    });
    expect(await call(record, 'POST', '/finalize', { session_id: id })).toMatchObject({ status: 200 });
    expect(await repo.read('a.txt')).toBe('one\ntwo\n');
  });

  test('a finalize that is under way when it is to stop is finished and answered', async () => {
    await repo.git('config', 'teddy.validate.*.txt.command', `touch '${join(repo.root, '.git/validating')}'; sleep 1`);
    const { record, kill, result } = await serve('--port', '0');
    const id = await begin(record, 'a.txt');
    const answer = call(record, 'POST', '/finalize', { session_id: id, content: 'A\n' });
    while (!existsSync(join(repo.root, '.git/validating'))) await sleep(20);
    kill('SIGINT');
    expect(await answer).toMatchObject({ status: 200, body: { success: true } });
    expect((await result).exitCode).toBe(0);
    expect(await repo.read('a.txt')).toBe('A\n');
  });

  test('--port is taken exactly, or refused', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    const { exitCode, stderr } = await runTeddy(['serve', '--port', String(port)], { cwd: repo.root, asProcess: true });
    expect({ exitCode, stderr }).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(`Port ${port} is in use`) as string,
    });
    expect(await repo.list('.git/teddy')).not.toContain('server.json.lock');
    await new Promise((resolve) => taken.close(resolve));
    expect((await serve('--port', String(port))).record.port).toBe(port);
  });

  test('without --port it takes 5000 or one of the next, each repository its own', async () => {
    const other = await makeScratchRepository();
    const { record } = await serve();
    const second = startTeddy(['serve', '--json'], { cwd: other.root });
    await second.waitForOutput(/The token is in /);
    second.kill('SIGINT');
    const { exitCode, stdout } = await second.result;
    const { port, ...rest } = JSON.parse(stdout) as { port: number };
    expect({ exitCode, ...rest }).toMatchObject({ exitCode: 0, schema: 'teddy.serve/1', pid: second.pid });
    for (const one of [record.port, port]) expect(one >= 5000 && one < 5100).toBe(true);
    expect(port).not.toBe(record.port);
    await other.close();
  });
});

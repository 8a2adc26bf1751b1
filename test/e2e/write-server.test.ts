/** `teddy write --server`: the same commands, answered by `teddy serve`. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startWithOpenStdin } from '../support/open-stdin.ts';
import { teddyPath, type RunningTeddy } from '../support/run-teddy.ts';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let server: RunningTeddy;
let url: string;

beforeEach(async () => {
  project = await openTeddyProject();
  server = project.start(['serve', '--port', '0']);
  await server.waitForOutput(/http:\/\/127\.0\.0\.1:\d+\n/);
  url = `http://127.0.0.1:${(JSON.parse(await project.repo.read('.git/teddy/server.json')) as { port: number }).port}`;
});

afterEach(async () => {
  server.kill('SIGTERM');
  await server.result;
  await project.close();
});

const ask = (args: string[], stdin = '') => project.run(['write', ...args, '--server', url], { stdin });
const wish = (target: string) => ['--target', target, '--operation', 'create', '--intent', 'A test'];

test('a stream goes through a server, is checked as the user has set it by then, and what follows DONE is kept', async () => {
  const done = await ask(['stream', ...wish('a.txt')], 'one\nDONE\nBye.\n');
  expect(done).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^a\.txt /) as string });
  expect(done.stderr).toContain('The text after DONE (5 bytes) is not in a.txt');
  await project.repo.git('config', 'teddy.validate.*.txt.command', 'echo not today; exit 7');
  const refused = await ask(['stream', ...wish('b.txt')], 'text\nDONE\n');
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('not today') as string });
  expect(await project.repo.list('.')).not.toContain('b.txt');
});

const startStream = (target: string, to = ['--server', url]) =>
  startWithOpenStdin(project, ['write', 'stream', ...wish(target), ...to]);

const listed = async () => {
  const { sessions } = JSON.parse((await ask(['list', '--json'])).stdout) as { sessions: { session_id: string }[] };
  return sessions.map(({ session_id }) => session_id);
};

async function untilBegun(): Promise<string> {
  for (let tries = 0; tries < 100; tries += 1) {
    const [id] = await listed();
    if (id !== undefined) return id;
  }
  throw new Error('No session has begun.');
}

test('Ctrl-C leaves no empty session at the server; it sends what had come, and says how to go on there', async () => {
  const empty = startStream('a.txt');
  await untilBegun();
  empty.child.kill('SIGINT');
  expect(await empty.result).toMatchObject({ exitCode: 130 });
  expect(await listed()).toEqual([]);
  const { child, result } = startStream('a.txt');
  const id = await untilBegun();
  child.stdin.write('one\ntwo\nthr');
  // Less than what makes a save due: it is sent by the end alone.
  await new Promise((resolve) => setTimeout(resolve, 300));
  child.kill('SIGINT');
  const { exitCode, stderr } = await result;
  expect({ exitCode, stderr }).toEqual({
    exitCode: 130,
    stderr: expect.stringContaining('everything received so far is saved') as string,
  });
  for (const way of ['list', 'append', 'finalize', 'cancel'])
    expect(stderr).toMatch(new RegExp(`\`teddy write ${way} ${id} [^\`]*--server ${url}\``));
  expect((await ask(['list', id])).stdout).toContain('11 bytes');
  expect(await ask(['append', id], 'ee\n')).toMatchObject({ exitCode: 0, stdout: '14\n' });
  expect(await ask(['finalize', id])).toMatchObject({ exitCode: 0 });
  expect(await project.repo.read('a.txt')).toBe('one\ntwo\nthree\n');
});

const way = /`(git cat-file blob [0-9a-f]+ \| teddy write recover \S+ --continue --eof-is-done)`/;
/** The printed command as a shell runs it. */
const follow = (command: string) =>
  promisify(execFile)('sh', ['-c', command.replace('teddy', `'${process.execPath}' '${teddyPath}'`)], {
    cwd: project.repo.root,
  });

test.each<[when: string, before: string, after: string, code: number]>([
  ['before the first save, and no end comes', '', 'one\ntwo ü\n', 1],
  ['after a save, and the content is ended', 'one\n', 'two ü\nDONE\n', 5],
])('a server that dies %s loses nothing of stdin, and a command goes on with it', async (_, before, after, code) => {
  const { child, said, result } = startStream('a.txt');
  const id = await untilBegun();
  // The server knows it before its answer has come.
  while (!said().includes(id)) await new Promise((resolve) => setTimeout(resolve, 20));
  child.stdin.write(before);
  while (before !== '' && !said().includes('reply DONE')) await new Promise((resolve) => setTimeout(resolve, 20));
  server.kill('SIGKILL');
  await server.result;
  child.stdin.end(after);
  const { exitCode, stderr } = await result;
  expect({ exitCode, stderr }).toEqual({ exitCode: code, stderr: expect.stringMatching(way) as string });
  await follow(way.exec(stderr)?.[1] ?? '');
  expect(await project.repo.read('a.txt')).toBe('one\ntwo ü\n');
});

test('a server is asked from outside of every repository, with the token of the environment', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'teddy-outside-'));
  const { token } = JSON.parse(await project.repo.read('.git/teddy/server.json')) as { token: string };
  const outside = (args: string[], stdin = '', TEDDY_SERVER_TOKEN = token) =>
    project.run(['write', ...args, '--server', url], { cwd, stdin, env: { TEDDY_SERVER_TOKEN } });
  try {
    const id = (await outside(['begin', ...wish('a.txt')])).stdout.trim();
    expect(await outside(['append', id], 'one\n')).toMatchObject({ exitCode: 0, stdout: '4\n' });
    expect((await outside(['list', id])).stdout).toContain('create a.txt');
    expect((await outside(['list'])).stdout).toContain(id);
    expect(await outside(['finalize', id, '--received'])).toMatchObject({ exitCode: 0 });
    expect(await project.repo.read('a.txt')).toBe('one\n');
    const other = (await outside(['begin', ...wish('b.txt')])).stdout.trim();
    expect(await outside(['cancel', other])).toMatchObject({ exitCode: 0 });
    expect(await outside(['list'], '', 'wrong')).toMatchObject({ exitCode: 5 });
    expect(await outside(['stream', ...wish('b.txt')], 'x\nDONE\n')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('[NOT_A_REPOSITORY]'),
    });
    expect(await listed()).toEqual([id]);
  } finally {
    await rm(cwd, { recursive: true });
  }
});

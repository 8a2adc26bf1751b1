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

test('a file is announced, sent in parts, corrected and committed through a server', async () => {
  const id = (await ask(['begin', ...wish('a.json')])).stdout.trim();
  expect(await ask(['append', id], '{ "a":')).toMatchObject({ exitCode: 0, stdout: '6\n' });
  expect(await ask(['append', id, '--offset', '4'], '":')).toMatchObject({ exitCode: 0, stdout: '6\n' });
  expect((await ask(['list', id])).stdout).toContain('create a.json: A test\n6 bytes');
  const wrong = await ask(['finalize', id]);
  expect(wrong).toMatchObject({ exitCode: 1, stdout: '' });
  expect(wrong.stderr).toMatch(/^1\. syntax, line 1, column 7: /m);
  expect(wrong.stderr).toContain('error: Content validation failed: line 1, column 7: ');
  expect(wrong.stderr).toContain('Please fix and try again. [VALIDATION_FAILED]');
  expect(await ask(['finalize', id], '{ "a": 1 }\n')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringMatching(/^a\.json [0-9a-f]{10}\n$/),
  });
  expect((await ask(['list'])).stdout).toContain(`${id}  committed`);
});

test("a check of the user's that is set while the server runs counts", async () => {
  await project.repo.git('config', 'teddy.validate.*.txt.command', 'echo not today; exit 7');
  const refused = await ask(['stream', ...wish('a.txt')], 'text\nDONE\n');
  expect(refused.exitCode).toBe(1);
  expect(refused.stderr).toContain('not today');
  expect(await project.repo.list('.')).not.toContain('a.txt');
});

test('a stream goes to a server as it comes, byte for byte, and what follows DONE is kept', async () => {
  const content = 'Zeile äöü 🧸\r\nDONE.\n';
  const done = await ask(['stream', ...wish('a.txt')], `${content}DONE\nBye.\n`);
  expect(done).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^a\.txt /) });
  expect(await project.repo.read('a.txt')).toBe(content);
  expect(done.stderr).toContain('The text after DONE (5 bytes) is not in a.txt');
});

test('a stream without DONE stays with the server, and the commands that it names go on with it', async () => {
  const cut = await ask(['stream', ...wish('a.txt')], 'one\n');
  expect(cut).toMatchObject({ exitCode: 1, stdout: '' });
  const [finalize = '', goOn = ''] = [...cut.stderr.matchAll(/`teddy (write [^`]+)`/g)].map((match) => match[1]);
  expect(await project.run(goOn.split(' '), { stdin: 'two\n' })).toMatchObject({ exitCode: 0, stdout: '8\n' });
  expect(await project.run(finalize.split(' '))).toMatchObject({ exitCode: 0 });
  expect(await project.repo.read('a.txt')).toBe('one\ntwo\n');
});

test('one session is active at a time, and cancel frees it; an id that is not known is exit code 2', async () => {
  const id = (await ask(['begin', ...wish('a.txt')])).stdout.trim();
  const second = await ask(['begin', ...wish('b.txt')]);
  expect(second.exitCode).toBe(3);
  expect(second.stderr).toContain('Cannot start new session: Another write session is already active.');
  expect(await ask(['cancel', id])).toMatchObject({ exitCode: 0 });
  expect(await ask(['append', id], 'x')).toMatchObject({ exitCode: 2 });
  expect(await ask(['begin', ...wish('b.txt')])).toMatchObject({ exitCode: 0 });
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

test('Ctrl-C sends what had come to the server, and says how to go on there', async () => {
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
  ['before the first save, and the content is ended', '', 'one\ntwo ü\nDONE\n', 5],
  ['before the first save, and no end comes', '', 'one\ntwo ü\n', 1],
  ['after a save, and the content is ended', 'one\n', 'two ü\nDONE\n', 5],
  ['after a save, and no end comes', 'one\n', 'two ü\n', 1],
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

test('Ctrl-C before anything has come leaves no session at the server', async () => {
  const { child, result } = startStream('a.txt');
  await untilBegun();
  child.kill('SIGINT');
  expect(await result).toMatchObject({ exitCode: 130 });
  expect(await listed()).toEqual([]);
  expect(await ask(['begin', ...wish('b.txt')])).toMatchObject({ exitCode: 0 });
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

test('begin through a server says nothing of sessions that were interrupted here', async () => {
  const { child, result } = startStream('a.txt', []);
  child.stdin.write('one\n');
  // It asks only when everything is saved.
  await new Promise<void>((resolve) =>
    child.stderr.on('data', (text: string) => text.includes('reply DONE') && resolve()),
  );
  child.kill('SIGKILL');
  await result;
  const begun = await ask(['begin', ...wish('b.txt')]);
  expect(begun).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('interrupted') });
  await ask(['cancel', begun.stdout.trim()]);
  expect((await project.run(['write', 'begin', ...wish('b.txt')])).stderr).toContain('interrupted');
});

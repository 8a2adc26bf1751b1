/** `teddy write --server`: the same commands, answered by `teddy serve`. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningTeddy } from '../support/run-teddy.ts';
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
  expect((await ask(['status', id])).stdout).toContain('create a.json: A test\n6 bytes');
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

test('a stream goes to a server as it comes, byte for byte, and what follows DONE is kept', async () => {
  const content = 'Zeile äöü 🧸\r\nDONE.\n';
  const done = await ask(['stream', ...wish('a.txt')], `${content}DONE\nBye.\n`);
  expect(done).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^a\.txt /) });
  expect(await project.repo.read('a.txt')).toBe(content);
  expect(done.stderr).toContain('What came after DONE (5 bytes) is not in a.txt');
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

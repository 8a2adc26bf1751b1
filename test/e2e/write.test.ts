/** `teddy write` as processes: stdin that stays open, signals, kills, and the staging on a real disk. */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startWithOpenStdin } from '../support/open-stdin.ts';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

beforeEach(async () => {
  project = await openTeddyProject();
});

afterEach(() => project.close());

const startStream = (target: string, ...args: string[]) =>
  startWithOpenStdin(project, ['write', 'stream', '--target', target, '--operation', 'create', ...args]);
const saidBy = (said: () => string) => expect.poll(said, { interval: 20 });
const recover = (...args: string[]) => project.run(['write', 'recover', ...args]);

test('one of two streams is killed: the other goes on, and the killed one is told of, exported and finished', async () => {
  const { repo } = project;
  const [one, two] = [await project.begin('one', '--no-switch'), await project.begin('two')];
  const killed = startStream('a.md', '--session', one);
  const living = startStream('a.md', '--session', two);
  killed.child.stdin.write('# One\n');
  living.child.stdin.write('# Two\n');
  // A stream asks only when everything is saved.
  for (const { said } of [killed, living]) await saidBy(said).toContain('reply DONE');
  killed.child.kill('SIGKILL');
  await killed.result;
  const text = await project.ok('write', 'list');
  expect(text.match(/create a\.md on .*/g)?.toSorted()).toEqual([one, two].map((id) => `create a.md on teddy/${id}`));
  const { sessions } = JSON.parse(await project.ok('write', 'list', '--json')) as {
    sessions: { session_id: string; stage: string }[];
  };
  expect(sessions.map(({ stage }) => stage).toSorted()).toEqual(['orphaned', 'receiving']);
  const id = sessions.find(({ stage }) => stage === 'orphaned')?.session_id ?? '';
  await repo.git('config', 'teddy.write.maxBytes', 'soon');
  const begin = async () => (await project.run(['session', 'new', 'other', '--no-switch'])).stderr;
  expect(await begin()).toContain('warning: teddy.write.maxBytes is "soon"');
  await repo.git('config', '--unset', 'teddy.write.maxBytes');
  expect(await begin()).toContain(`teddy write recover ${id}`);

  const path = join(repo.root, '.git', 'rescued.txt');
  expect(await recover('--output', path)).toMatchObject({ exitCode: 0 });
  expect(await readFile(path, 'utf8')).toBe('# One\n');
  const again = await recover('--output', path);
  expect(again).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('[FILES_IN_THE_WAY]') as string });
  const cwd = join(repo.root, 'src');
  const { stdout } = await project.run(['doctor'], { cwd });
  const ways = [...stdout.matchAll(/`teddy (write recover [^`]+)`/g)].map(([, way = '']) => way.split(' '));
  expect(ways).toEqual([
    ['write', 'recover', id, '--show'],
    ['write', 'recover', id, '--finalize'],
  ]);
  for (const way of ways) expect(await project.run(way, { cwd })).toMatchObject({ exitCode: 0 });
  living.child.stdin.end('more\nDONE\n');
  expect(await living.result).toMatchObject({ exitCode: 0 });
  expect(await repo.git('show', `teddy/${one}:a.md`)).toBe('# One');
  expect(await repo.git('show', `teddy/${two}:a.md`)).toBe('# Two\nmore');
  expect(await repo.read('a.md')).toBe('# Two\nmore\n');
  expect(await repo.git('status', '--porcelain')).toBe('');
});

test('a marker of its own writes the file while stdin is still open, and what follows DONE is kept in git', async () => {
  const { child, said, result } = startStream('a.md', '--own-marker');
  await saidBy(said).toContain('End with');
  const marker = /End with (DONE-[0-9a-f]{8}) on its own line/.exec(said())?.[1] ?? '';
  child.stdin.write('DONE\n');
  await saidBy(said).toContain(`If you're finished, reply ${marker} on its own line. Otherwise continue writing.\n`);
  child.stdin.write(`${marker}\n`);
  expect(await result).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^a\.md /) });
  expect(await project.repo.read('a.md')).toBe('DONE\n');
  const wish = ['--target', 'notes.txt', '--operation', 'create'];
  const done = await project.run(['write', 'stream', ...wish], { stdin: 'tabs\t \r\nDONE \nI hope that helps.\n' });
  expect(await project.repo.read('notes.txt')).toBe('tabs\t \r\n');
  const oid = /git cat-file -p ([0-9a-f]+)/.exec(done.stderr)?.[1] ?? '';
  expect(await project.repo.git('cat-file', '-p', oid)).toBe('I hope that helps.');
  const refs = await project.repo.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/teddy/keep/writes');
  expect(refs).toMatch(new RegExp(`^refs/teddy/keep/writes/[0-9a-f-]{36} ${oid}`));
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s saves what has come, says how to go on, and exits with 130',
  async (name) => {
    const { child, said, result } = startStream('a.txt');
    child.stdin.write('half a line');
    await saidBy(said).toContain('Write session');
    await new Promise((resolve) => setTimeout(resolve, 300));
    child.kill(name);
    expect(await result).toMatchObject({
      exitCode: 130,
      stderr: expect.stringMatching(/write recover \S+ --continue/) as string,
    });
    const rest = await project.run(['write', 'recover', '--continue'], { stdin: ', and the rest\nDONE\n' });
    expect(rest.exitCode).toBe(0);
    expect(await project.repo.read('a.txt')).toBe('half a line, and the rest\n');
  },
);

test('damaged staging is exported with all its bytes, and staging that cannot be read stops no session', async () => {
  const begin = async (target: string, ...args: string[]) =>
    (
      await project.ok('write', 'begin', '--target', target, '--operation', 'create', '--intent', 'A test', ...args)
    ).trim();
  const id = await begin('a.txt');
  await project.run(['write', 'append', id], { stdin: 'one\ntwo\n' });
  await project.repo.write(`.git/teddy/write_sessions/${id}/state.json`, 'not JSON');
  const path = join(project.repo.root, '.git', 'rescued.txt');
  await project.ok('write', 'recover', id, '--output', path);
  expect(await readFile(path, 'utf8')).toContain('one\ntwo\n');
  await project.ok('write', 'recover', id, '--discard');
  await rm(join(project.repo.root, '.git/teddy/write_sessions'), { recursive: true });
  await project.repo.write('.git/teddy/write_sessions', 'a file');
  const made = await project.run(['session', 'new', 'more', '--no-switch']);
  expect(made).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('warning: The staging of the write') });
});

test('content comes byte for byte from a file', async () => {
  const { repo } = project;
  await project.begin('pictures');
  const wish = ['--target', 'image.png', '--operation', 'create', '--intent', 'A test'];
  const id = (await project.ok('write', 'begin', ...wish)).trim();
  await repo.write('.git/source.bin', Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256)));
  await project.ok('write', 'finalize', id, '--content', join(repo.root, '.git/source.bin'));
  const blob = await repo.git('hash-object', '--no-filters', '.git/source.bin');
  expect(await repo.git('rev-parse', 'HEAD:image.png')).toBe(blob);
  expect(await repo.git('status', '--porcelain')).toBe('');
});

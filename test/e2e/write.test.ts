/** `teddy write`: each command, what it prints and how it ends, and what stands in the repository after it. */
import { createHash } from 'node:crypto';
import { readdir, readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import { writeLimits } from '../../src/session/settings/write-limits.ts';
import { startWithOpenStdin } from '../support/open-stdin.ts';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

beforeEach(async () => {
  project = await openTeddyProject();
});

afterEach(() => project.close());

const begin = (target: string, operation: string, ...args: string[]) =>
  project.run(['write', 'begin', '--target', target, '--operation', operation, '--intent', 'A test', ...args]);
const beginId = async (target: string, operation = 'create') => (await begin(target, operation)).stdout.trim();
const stream = (stdin: string, target: string, operation: string, ...args: string[]) =>
  project.run(['write', 'stream', '--target', target, '--operation', operation, ...args], { stdin });
const json = async (...args: string[]) => JSON.parse(await project.ok(...args, '--json')) as Record<string, unknown>;
const writesRef = () => project.repo.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/teddy/*-writes');

const start = (args: string[]) => startWithOpenStdin(project, args);

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('It has never become so.');
}

/** A stream that was killed after it had saved this. */
async function killedStream(target: string, content: string): Promise<string> {
  const { child, said, result } = start(['write', 'stream', '--target', target, '--operation', 'create']);
  child.stdin.write(content);
  // It asks only when everything is saved.
  await until(() => said().includes('reply DONE'));
  child.kill('SIGKILL');
  await result;
  return /Write session (\S+)\./.exec(said())?.[1] ?? '';
}

/** Lets the last activity of a session be longer ago than a session without activity lives. */
async function endLongAgo(id: string): Promise<void> {
  const silent = { info: () => undefined, warn: () => undefined };
  const opened = await openProject({ cwd: project.repo.root, env: process.env, notices: silent });
  const staged = await opened.writes.open(id);
  if (staged === null) throw new Error('There is no such session.');
  const activityAt = Date.now() - writeLimits.idleExpiryMs;
  await staged.save(new Uint8Array(), { ...staged.state, activityAt });
  await staged.close({ goesOn: true });
  await opened.repository.close();
}

/** Lets the last save of a session be an hour ago. */
async function ageFiles(id: string): Promise<void> {
  const dir = join(project.repo.root, '.git/teddy/write_sessions', id);
  const hourAgo = new Date(Date.now() - writeLimits.orphanMs);
  for (const name of [...(await readdir(dir)), '.']) await utimes(join(dir, name), hourAgo, hourAgo);
}

test('of two streams for two lines one is killed: the other goes on, and both are committed, each on its line', async () => {
  const [one, two] = [await project.begin('one', '--no-switch'), await project.begin('two')];
  const streams = [one, two].map((session) =>
    start(['write', 'stream', '--target', 'a.md', '--operation', 'create', '--session', session]),
  );
  const [killed, living] = streams;
  if (!killed || !living) throw new Error('Two were started.');
  killed.child.stdin.write('# One\n');
  living.child.stdin.write('# Two\n');
  await until(() => streams.every(({ said }) => said().includes('reply DONE')));
  killed.child.kill('SIGKILL');
  await killed.result;
  const listed = (await json('write', 'list'))['sessions'] as { session_id: string; stage: string }[];
  expect(listed.map(({ stage }) => stage).toSorted()).toEqual(['orphaned', 'receiving']);
  const text = await project.ok('write', 'list');
  expect(text.match(/create a\.md on .*/g)?.toSorted()).toEqual([one, two].map((id) => `create a.md on teddy/${id}`));
  expect(await project.ok('write', 'list', listed[0]?.session_id ?? '')).toMatch(/^create a\.md on teddy\/\S+: /m);
  const id = listed.find(({ stage }) => stage === 'orphaned')?.session_id ?? '';
  const cwd = join(project.repo.root, 'src');
  const examined = await project.run(['doctor'], { cwd });
  const ways = [...examined.stdout.matchAll(/`teddy (write recover [^`]+)`/g)].map(([, way = '']) => way.split(' '));
  expect(ways).toEqual([
    ['write', 'recover', id, '--show'],
    ['write', 'recover', id, '--finalize'],
  ]);
  for (const way of ways) expect(await project.run(way, { cwd })).toMatchObject({ exitCode: 0 });
  living.child.stdin.end('more\nDONE\n');
  expect(await living.result).toMatchObject({ exitCode: 0 });
  expect(await project.repo.git('show', `teddy/${one}:a.md`)).toBe('# One');
  expect(await project.repo.git('show', `teddy/${two}:a.md`)).toBe('# Two\nmore');
  expect(await project.repo.read('a.md')).toBe('# Two\nmore\n');
  expect(await project.repo.git('status', '--porcelain')).toBe('');
});

describe('in steps', () => {
  test('begin prints the id alone, append where the next byte belongs, finalize the path and the commit', async () => {
    const begun = await begin('docs/guide.md', 'create');
    expect(begun.exitCode).toBe(0);
    expect(begun.stdout).toMatch(/^[0-9a-f-]{36}\n$/);
    const id = begun.stdout.trim();
    expect(begun.stderr).toContain(`teddy write append ${id}`);
    const append = (stdin: string, offset: string) =>
      project.run(['write', 'append', id, '--offset', offset], { stdin });
    expect(await project.run(['write', 'append', id], { stdin: '# Guide\n' })).toMatchObject({
      exitCode: 0,
      stdout: '8\n',
    });
    expect(await append('e\nDONE\n', '6')).toMatchObject({ exitCode: 0, stdout: '13\n' });
    const gap = await append('x', '14');
    expect(gap).toMatchObject({ exitCode: 3, stdout: '' });
    expect(gap.stderr).toContain('expected 13. [OFFSET_MISMATCH]');
    expect(await project.ok('write', 'show', id)).toBe('# Guide\nDONE\n');

    const before = await project.repo.fingerprint();
    const written = await project.run(['write', 'finalize', id]);
    expect(written).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^docs\/guide\.md [0-9a-f]{10}\n$/) });
    expect(written.stderr).toMatch(/Checks: passed: .*utf-8/);
    const content = '# Guide\nDONE\n';
    expect(await project.repo.read('docs/guide.md')).toBe(content);
    const { head, index, stash } = await project.repo.fingerprint();
    expect({ head, index, stash }).toEqual({ head: before.head, index: before.index, stash: before.stash });

    // The commit has exactly the file, and says of which session, what for, which bytes and how they were checked.
    const commit = written.stdout.trim().split(' ')[1] ?? '';
    expect(await project.repo.git('diff-tree', '-r', '--name-status', '--no-commit-id', commit)).toBe(
      'A\tdocs/guide.md',
    );
    const trailers = await project.repo.git('log', '-1', '--format=%(trailers:unfold)', commit);
    expect(trailers).toContain(`Teddy-Write-Session: ${id}\n`);
    expect(trailers).toContain('Teddy-Intent: A test\n');
    expect(trailers).toContain(`Teddy-Sha256: ${createHash('sha256').update(content).digest('hex')}\n`);
    expect(trailers).toMatch(/^Teddy-Validation: passed: .*utf-8/m);
    expect(await writesRef()).toMatch(/^teddy\/\d{8}-writes$/);
    expect(await project.repo.git('rev-parse', await writesRef())).toContain(commit);

    const again = await project.run(['write', 'finalize', id, '--received'], { stdin: 'not looked at' });
    expect(again.stdout).toBe(written.stdout);
    await project.refuses('UNKNOWN_WRITE', 2, ['write', 'finalize', id], { stdin: 'other\n' });
    expect(await project.repo.git('rev-parse', await writesRef())).toContain(commit);
    expect(await json('write', 'list', id)).toMatchObject({ sessions: [{ status: 'completed', stage: 'committed' }] });
  });

  test('what is found is shown with its lines, nothing is written, and a corrected content is taken on the line', async () => {
    await project.begin('pages');
    const id = await beginId('a.json');
    const wrong = await project.run(['write', 'finalize', id], { stdin: '{\n  "a": 1,\n  "b": \n}\n' });
    expect(wrong).toMatchObject({ exitCode: 1, stdout: '' });
    expect(wrong.stderr).toMatch(/syntax, line \d, column \d: /);
    expect(wrong.stderr).toContain('  2 |   "a": 1,\n  3 |   "b":\n> 4 | }\n');
    expect(wrong.stderr).toContain('[VALIDATION_FAILED]');
    expect(await project.repo.list('.')).not.toContain('a.json');
    expect(await json('write', 'list', id)).toMatchObject({
      sessions: [{ status: 'active', stage: 'needs_corrections' }],
    });
    expect(await project.run(['write', 'finalize', id], { stdin: '{ "a": 1 }\n' })).toMatchObject({ exitCode: 0 });
    expect((await project.subjects())[0]).toBe('write: create a.json');

    const forced = await beginId('b.json');
    expect(await project.run(['write', 'finalize', forced, '--force'], { stdin: '{\n' })).toMatchObject({
      exitCode: 0,
    });
    expect(await project.repo.git('log', '-1', '--format=%(trailers)')).toContain('forced: syntax');

    const bytes = Buffer.from(Array.from({ length: 512 }, (_, at) => at % 256));
    const file = join(project.repo.root, '.git/source.bin');
    await project.repo.write('.git/source.bin', bytes);
    const image = await beginId('image.png');
    expect(await project.run(['write', 'finalize', image, '--content', file])).toMatchObject({ exitCode: 0 });
    expect((await readFile(join(project.repo.root, 'image.png'))).equals(bytes)).toBe(true);
    expect(await project.repo.git('status', '--porcelain')).toBe('');
  });
});

describe('what is refused', () => {
  test('content over the limit, and any that comes after the session has timed out', async () => {
    await project.repo.git('config', 'teddy.write.maxBytes', '4');
    const id = await beginId('a.txt');
    const append = (stdin: string) => project.run(['write', 'append', id], { stdin });
    expect(await append('five\n')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(
        /^error: Content too large \(exceeds 4-byte\)\. Please split into smaller files\. \[CONTENT_TOO_LARGE\]$/m,
      ) as string,
    });
    expect(await append('two\n')).toMatchObject({ exitCode: 0 });
    await endLongAgo(id);
    expect(await append('x')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(
        /^error: Session timed out after 5 minutes of inactivity\. Please start over\. \[UNKNOWN_WRITE\]$/m,
      ) as string,
    });
  });
});

describe('stream', () => {
  test('writes and commits what comes before DONE, byte for byte, touches nothing else, and keeps in git what follows', async () => {
    const before = await project.repo.fingerprint();
    const content = '\n  indented\r\n\ttabs  \nDONE.\nWe are DONE\n';
    const done = await stream(`${content}DONE \nI hope that helps.\n`, 'notes.txt', 'create');
    expect(done).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^notes\.txt [0-9a-f]{10}\n$/) });
    expect(await project.repo.read('notes.txt')).toBe(content);
    const after = await project.repo.fingerprint();
    expect({ ...after, refs: [], workTree: {} }).toEqual({ ...before, refs: [], workTree: {} });
    expect(after.workTree).toEqual({ ...before.workTree, 'notes.txt': expect.any(String) });
    expect(await project.repo.git('log', '-1', '--format=%(trailers:key=Teddy-Intent)', await writesRef())).toContain(
      'create notes.txt',
    );
    const oid = /git cat-file -p ([0-9a-f]+)/.exec(done.stderr)?.[1] ?? '';
    expect(await project.repo.git('cat-file', '-p', oid)).toBe('I hope that helps.');
    const refs = await project.repo.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/teddy/keep/writes');
    expect(refs).toMatch(new RegExp(`^refs/teddy/keep/writes/[0-9a-f-]{36} ${oid}`));
  });

  test('a silent writer is asked on stderr, and a marker of its own writes the file while stdin is still open', async () => {
    const wish = ['--target', 'a.md', '--operation', 'create', '--own-marker'];
    const { child, said, result } = start(['write', 'stream', ...wish]);
    await until(() => said().includes('End with'));
    const marker = /End with (DONE-[0-9a-f]{8}) on its own line/.exec(said())?.[1] ?? '';
    child.stdin.write('DONE\n');
    await until(() =>
      said().includes(`If you're finished, reply ${marker} on its own line. Otherwise continue writing.\n`),
    );
    child.stdin.write(`${marker}\n`);
    expect(await result).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^a\.md /) });
    expect(await project.repo.read('a.md')).toBe('DONE\n');
  });

  test('SIGINT and SIGTERM save what has come, say how to go on, and exit with 130', async () => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) {
      const { child, said, result } = start(['write', 'stream', '--target', name, '--operation', 'create']);
      child.stdin.write('half a line');
      await until(() => said().includes('Write session'));
      await new Promise((resolve) => setTimeout(resolve, 300));
      child.kill(name);
      const { exitCode, stderr } = await result;
      expect(exitCode, name).toBe(130);
      expect(stderr, name).toMatch(/write recover \S+ --continue/);
      const rest = await project.run(['write', 'recover', '--continue'], { stdin: ', and the rest\nDONE\n' });
      expect(rest.exitCode, name).toBe(0);
      expect(await project.repo.read(name)).toBe('half a line, and the rest\n');
    }
  });
});

describe('recover', () => {
  test('a stream that was killed is an orphan: it blocks nobody, is told once a day, shown, exported and finished', async () => {
    const id = await killedStream('a.txt', 'one\ntwo\n');
    const made = await project.run(['session', 'new', 'other', '--no-switch', '--json']);
    expect(JSON.parse(made.stdout)).toMatchObject({ schema: 'teddy.session-new/1' });
    const told = `^A write session was interrupted: create a.txt, 8 bytes, .*teddy write recover ${id}, or with a model: .*${id}$`;
    expect(made.stderr).toMatch(new RegExp(told, 'm'));
    const other = await begin('b.txt', 'create');
    expect(other).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('interrupted') as string });
    await project.ok('write', 'cancel', other.stdout.trim());
    expect((await project.run(['session', 'list'])).stderr).not.toContain('interrupted');
    expect((await project.run(['write', 'list'])).stderr).toContain(`teddy write recover ${id}`);
    expect((await project.run(['write', 'show', id.slice(0, 6)])).stdout).toBe('one\ntwo\n');
    expect(await json('write', 'list', id.slice(0, 6))).toMatchObject({
      sessions: [{ session_id: id, status: 'active', stage: 'orphaned', size: 8 }],
    });

    const recover = (...args: string[]) => project.run(['write', 'recover', ...args]);
    const asked = await recover();
    expect(asked).toMatchObject({ exitCode: 2, stdout: '' });
    expect(asked.stderr).toContain('create a.txt, 8 bytes, ');
    for (const way of ['--continue', '--finalize', '--show', '--output', '--discard']) {
      expect(asked.stderr).toContain(`teddy write recover ${id} ${way}`);
    }
    for (const wrong of [['--show', '--discard'], ['--force'], ['--finalize', '--eof-is-done']])
      expect(await recover(id, ...wrong)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('[USAGE]') as string,
      });
    expect(await recover(id, '--show')).toMatchObject({ exitCode: 0, stdout: 'one\ntwo\n' });
    const path = join(project.repo.root, 'rescued.txt');
    expect(await recover('--output', path)).toMatchObject({ exitCode: 0 });
    expect(await readFile(path, 'utf8')).toBe('one\ntwo\n');
    const again = await recover('--output', path);
    expect(again.exitCode).toBe(3);
    expect(again.stderr).toContain('exists already. [FILES_IN_THE_WAY]');

    // Bytes that no save has confirmed are named, and shown only with --tail.
    const file = join('.git/teddy/write_sessions', id, 'content.txt');
    await project.repo.write(file, `${await project.repo.read(file)}tail`);
    const shown = await project.run(['write', 'show', id]);
    expect(shown.stdout).toBe('one\ntwo\n');
    expect(shown.stderr).toContain('4 bytes more are on disk');
    expect(await project.ok('write', 'show', id, '--tail')).toBe('one\ntwo\ntail');

    expect(await recover(id, '--finalize')).toMatchObject({ exitCode: 0 });
    expect(await project.repo.read('a.txt')).toBe('one\ntwo\n');
    expect((await recover()).exitCode).toBe(2);
  });

  test('one that is damaged cannot be finished, and can be exported with all its bytes', async () => {
    const id = await killedStream('a.txt', 'one\ntwo\n');
    await project.repo.write(`.git/teddy/write_sessions/${id}/state.json`, 'not JSON');
    expect(await json('write', 'list', id)).toMatchObject({ sessions: [{ status: 'failed', stage: 'damaged' }] });
    await project.refuses('STAGING_DAMAGED', 1, ['write', 'recover', id, '--finalize']);
    expect((await project.run(['write', 'recover', id])).stderr).not.toContain('--finalize');
    const path = join(project.repo.root, 'rescued.txt');
    await project.ok('write', 'recover', id, '--output', path);
    expect(await readFile(path, 'utf8')).toContain('one\ntwo\n');
    await project.ok('write', 'recover', id, '--discard');
    expect((await json('write', 'list'))['sessions']).toEqual([]);
  });

  test('what was set aside when it was opened again is named with its size, and printed behind all else with --tail', async () => {
    const id = await beginId('a.txt');
    const append = (stdin: string) => project.run(['write', 'append', id], { stdin });
    await append('one\n');
    const file = join('.git/teddy/write_sessions', id, 'content.txt');
    await project.repo.write(file, `${await project.repo.read(file)}lost`);
    expect(await append('two\n')).toMatchObject({ exitCode: 0, stdout: '8\n' });
    const line = 'tail-1.txt: 4 bytes not confirmed by a save were set aside';
    const shown = await project.run(['write', 'show', id]);
    expect(shown).toMatchObject({ stdout: 'one\ntwo\n', stderr: expect.stringContaining(line) });
    const all = await project.run(['write', 'show', id, '--tail']);
    expect(all).toMatchObject({ stdout: 'one\ntwo\nlost', stderr: expect.stringContaining(line) });
    for (const args of [
      ['list', id],
      ['recover', id, '--show'],
    ])
      expect((await project.run(['write', ...args])).stderr).toContain(line);
    const aside = [{ name: 'tail-1.txt', bytes: 4 }];
    for (const args of [
      ['show', id],
      ['recover', id, '--show'],
    ])
      expect(await json('write', ...args)).toMatchObject({ aside });
    expect(await json('write', 'list', id)).toMatchObject({ sessions: [{ session_id: id, aside }] });
  });

  test('one that is over an hour old is cleared away and kept; cancel --ended clears away any that is left over', async () => {
    const old = await killedStream('a.txt', 'one\n');
    await project.repo.git('config', 'teddy.write.maxBytes', 'soon');
    const made = await project.run(['session', 'new', 'other', '--no-switch']);
    expect(made.exitCode).toBe(0);
    expect(made.stderr).toContain('warning: teddy.write.maxBytes is "soon"');
    await project.repo.git('config', '--unset', 'teddy.write.maxBytes');
    await ageFiles(old);
    const cleared = await project.run(['session', 'new', 'next', '--no-switch']);
    expect(cleared.exitCode).toBe(0);
    expect(cleared.stderr).toContain(
      `Cleared the write session ${old} of a.txt; what it had received: git cat-file -p `,
    );
    expect((await project.run(['session', 'new', 'more', '--no-switch'])).stderr).not.toContain('write session');

    const id = await killedStream('a.txt', 'one\n');
    const active = await beginId('b.txt');
    const cleaned = await project.ok('write', 'cancel', '--ended');
    expect(cleaned).toContain(`Cleared the write session ${id} of a.txt`);
    const oid = /git cat-file -p ([0-9a-f]+)/.exec(cleaned)?.[1] ?? '';
    expect(await project.repo.git('cat-file', '-p', oid)).toBe('one');
    expect(await project.repo.git('for-each-ref', '--format=%(refname)', 'refs/teddy/keep/writes')).toContain(id);
    expect(await project.ok('write', 'cancel', '--ended')).toBe('');
    for (const wrong of [[active, '--ended'], ['--ended', '--server', 'http://127.0.0.1:1'], []])
      expect(await project.run(['write', 'cancel', ...wrong])).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('[USAGE]') as string,
      });
    expect((await json('write', 'list'))['sessions']).toMatchObject([{ session_id: active }]);
  });

  test('write sessions that cannot be looked at are warned of, and keep no session from being made', async () => {
    await project.repo.write('.git/teddy/write_sessions', 'a file');
    const made = await project.run(['session', 'new', 'other', '--no-switch']);
    expect(made).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('warning: The staging of the write') });
  });
});

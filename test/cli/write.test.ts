/** `teddy write`: each command, what it prints and how it ends, and what stands in the repository after it. */
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

let project: MemoryTeddy;

beforeEach(async () => {
  project = await openMemoryTeddy();
});

afterEach(() => project.close());

const unknownId = '3f0e9c1a-5d5e-4a08-9b0c-1f1d6c1f2a77';
const stream = (stdin: string, target: string, operation: string, ...args: string[]) =>
  project.run(['write', 'stream', '--target', target, '--operation', operation, ...args], { stdin });
/** A process that has ended leaves a stream that is cut off, for another one to take up. */
const endedStream = (stdin: string, target: string) =>
  project.run(['write', 'stream', '--target', target, '--operation', 'create'], { stdin, asProcess: true });
const begin = (target: string) =>
  project.run(['write', 'begin', '--target', target, '--operation', 'create', '--intent', 'A test']);
const json = async (...args: string[]) => JSON.parse(await project.ok(...args, '--json')) as Record<string, unknown>;

describe('what is refused', () => {
  test('a missing option and an offset that is none; a bad operation and a bad target have exit codes of their own', async () => {
    const rest = ['--target', 'a.txt', '--operation', 'create'];
    expect(await project.refuses('USAGE', 2, ['write', 'begin', ...rest])).toContain('needs --intent');
    expect(await project.refuses('USAGE', 2, ['write', 'stream', '--target', 'a.txt'])).toContain('needs --operation');
    await project.refuses('USAGE', 2, ['write', 'append', unknownId, '--offset', 'x']);
    const wish = (target: string, operation: string) =>
      project.run(['write', 'stream', '--target', target, '--operation', operation]);
    for (const [target, operation, exitCode, code] of [
      ['a.txt', 'replace', 2, '[BAD_OPERATION]'],
      ['../a.txt', 'create', 2, '[BAD_TARGET]'],
      ['README.md', 'create', 3, '[FILES_IN_THE_WAY]'],
      ['a.txt', 'append', 2, '[FILE_NOT_FOUND]'],
    ] as const)
      expect(await wish(target, operation)).toMatchObject({
        exitCode,
        stdout: '',
        stderr: expect.stringContaining(code) as string,
      });
    expect((await json('write', 'list'))['sessions']).toEqual([]);
  });

  test('an id that is not known is exit code 2 with each command, before anything is read', async () => {
    const before = await project.repo.fingerprint();
    for (const verb of ['append', 'finalize', 'list', 'show', 'cancel', 'recover']) {
      const { exitCode, stdout, stderr } = await project.run(['write', verb, verb === 'list' ? '../../x' : unknownId]);
      expect({ exitCode, stdout }, verb).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr, verb).toContain('[UNKNOWN_WRITE]');
    }
    expect(await project.repo.fingerprint()).toEqual(before);
  });
});

describe('--json', () => {
  test('each command prints one document with a schema', async () => {
    const begun = await json(
      'write',
      'begin',
      '--target',
      join(project.repo.root, 'a.md'),
      '--operation',
      'create',
      '--intent',
      'A test',
    );
    const id = String(begun['session_id']);
    expect(begun).toEqual({
      schema: 'teddy.write-begin/1',
      session_id: expect.any(String),
      status: 'active',
      stage: 'awaiting_content',
      target_file: 'a.md',
      session_dir: join(project.repo.root, '.git/teddy/write_sessions', id),
      end_marker: 'DONE',
      instructions: 'Now output content. End with DONE on its own line.',
      warnings: [],
    });
    const append = await project.run(['write', 'append', id, '--json'], { stdin: 'abc' });
    expect(JSON.parse(append.stdout)).toEqual({ schema: 'teddy.write-append/1', session_id: id, offset: 3, added: 3 });
    expect(await json('write', 'list', id)).toMatchObject({
      schema: 'teddy.write-list/1',
      sessions: [{ session_id: id, size: 3 }],
    });
    expect(await json('write', 'list')).toMatchObject({ schema: 'teddy.write-list/1', sessions: [{ session_id: id }] });
    expect(await json('write', 'show', id)).toMatchObject({ schema: 'teddy.write-show/1', content: 'abc' });
    expect(await json('write', 'finalize', id)).toMatchObject({
      schema: 'teddy.write-finalize/1',
      success: true,
      written_path: 'a.md',
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
    });
    const other = await json('write', 'begin', '--target', 'b.md', '--operation', 'create', '--intent', 'B');
    expect(await json('write', 'cancel', String(other['session_id']))).toMatchObject({
      schema: 'teddy.write-cancel/1',
    });
    expect(await json('write', 'cancel', '--ended')).toMatchObject({
      schema: 'teddy.write-cancel/1',
      sessions: [{ session_id: id }],
    });
    const streamed = await stream('{}\nDONE\n', 'c.json', 'create', '--json');
    expect(JSON.parse(streamed.stdout)).toMatchObject({ schema: 'teddy.write-stream/1', success: true });
  });

  test('findings are a document too, with exit code 1, and so are errors', async () => {
    const found = await stream('{\nDONE\n', 'a.json', 'create', '--json');
    expect(found.exitCode).toBe(1);
    expect(JSON.parse(found.stdout)).toMatchObject({
      schema: 'teddy.write-stream/1',
      success: false,
      findings: [{ check: 'syntax', line: expect.any(Number) }],
      validation_summary: { failed: ['syntax'] },
    });
    const cut = await stream('text\n', 'b.txt', 'create', '--json');
    expect(cut.exitCode).toBe(1);
    expect(JSON.parse(cut.stdout)).toMatchObject({ schema: 'teddy.error/1', error: { code: 'END_MISSING' } });
  });
});

describe('stream', () => {
  test('with --eof-is-done the end of stdin is enough, and nothing at all leaves no session behind', async () => {
    expect(await stream('one\n', 'a.txt', 'create', '--eof-is-done')).toMatchObject({ exitCode: 0 });
    expect(await stream('two\n', 'a.txt', 'append', '--eof-is-done')).toMatchObject({ exitCode: 0 });
    expect(await project.repo.read('a.txt')).toBe('one\ntwo\n');
    expect(await stream('', 'b.txt', 'create')).toMatchObject({ exitCode: 1 });
    expect((await json('write', 'list'))['sessions']).toMatchObject([
      { target_file: 'a.txt' },
      { target_file: 'a.txt' },
    ]);
  });

  test('without DONE, or with findings, nothing is written; recover finishes it, where that is forced', async () => {
    const cut = await endedStream('one\ntwo', 'a.txt');
    expect(cut).toMatchObject({ exitCode: 1, stdout: '' });
    expect(cut.stderr).toContain('[END_MISSING]');
    const command = /`teddy (write recover \S+ --finalize)`/.exec(cut.stderr)?.[1] ?? '';
    expect(await project.repo.list('.')).not.toContain('a.txt');
    expect(await project.run(['write', 'recover', '--show'])).toMatchObject({ stdout: 'one\ntwo' });
    await project.ok(...command.split(' '));
    expect(await project.repo.read('a.txt')).toBe('one\ntwo');

    const wrong = await endedStream('{\nDONE\n', 'a.json');
    expect(wrong).toMatchObject({ exitCode: 1, stdout: '' });
    expect(wrong.stderr).toContain('[VALIDATION_FAILED]');
    expect(await project.run(['write', 'recover', '--finalize'])).toMatchObject({ exitCode: 1 });
    await project.ok('write', 'recover', '--finalize', '--force');
    expect(await project.repo.read('a.json')).toBe('{\n');
  });
});

describe('in steps', () => {
  test('begin prints the id alone, append where the next byte belongs, finalize the path and the commit', async () => {
    const begun = await begin('docs/guide.md');
    expect(begun).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) as string });
    const id = begun.stdout.trim();
    expect(begun.stderr).toContain(`teddy write append ${id}`);
    const append = (stdin: string, ...args: string[]) => project.run(['write', 'append', id, ...args], { stdin });
    expect(await append('# Guide\n')).toMatchObject({ exitCode: 0, stdout: '8\n' });
    expect(await append('e\nDONE\n', '--offset', '6')).toMatchObject({ exitCode: 0, stdout: '13\n' });
    const gap = await append('x', '--offset', '14');
    expect(gap).toMatchObject({ exitCode: 3, stdout: '' });
    expect(gap.stderr).toContain('expected 13. [OFFSET_MISMATCH]');
    expect(await project.ok('write', 'show', id)).toBe('# Guide\nDONE\n');
    const written = await project.run(['write', 'finalize', id]);
    expect(written).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^docs\/guide\.md [0-9a-f]{10}\n$/) });
    expect(written.stderr).toMatch(/Checks: passed: .*utf-8/);
    const again = await project.run(['write', 'finalize', id, '--received'], { stdin: 'not looked at' });
    expect(again.stdout).toBe(written.stdout);
    await project.refuses('UNKNOWN_WRITE', 2, ['write', 'finalize', id], { stdin: 'other\n' });
  });

  test('findings are shown with their lines; a corrected content, or any with --force, is taken', async () => {
    await project.begin('pages');
    const id = (await begin('a.json')).stdout.trim();
    const wrong = await project.run(['write', 'finalize', id], { stdin: '{\n  "a": 1,\n  "b": \n}\n' });
    expect(wrong).toMatchObject({ exitCode: 1, stdout: '' });
    expect(wrong.stderr).toMatch(/syntax, line \d, column \d: /);
    expect(wrong.stderr).toContain('  2 |   "a": 1,\n  3 |   "b":\n> 4 | }\n');
    expect(wrong.stderr).toContain('[VALIDATION_FAILED]');
    expect(await json('write', 'list', id)).toMatchObject({ sessions: [{ stage: 'needs_corrections' }] });
    expect(await project.run(['write', 'finalize', id], { stdin: '{ "a": 1 }\n' })).toMatchObject({ exitCode: 0 });
    expect((await project.subjects())[0]).toBe('write: create a.json');
    const forced = (await begin('b.json')).stdout.trim();
    expect(await project.run(['write', 'finalize', forced, '--force'], { stdin: '{\n' })).toMatchObject({
      exitCode: 0,
    });
  });

  test('content over the limit is exit code 1, and any after the session has timed out exit code 2', async () => {
    await project.repo.git('config', 'teddy.write.maxBytes', '4');
    project.memory.writeLimits.maxBytes = 4;
    const id = (await begin('a.txt')).stdout.trim();
    const append = (stdin: string) => project.run(['write', 'append', id], { stdin });
    const large = await append('five\n');
    expect(large).toMatchObject({ exitCode: 1 });
    expect(large.stderr).toMatch(/^error: Content too large \(exceeds 4-byte\).* \[CONTENT_TOO_LARGE\]$/m);
    expect(await append('two\n')).toMatchObject({ exitCode: 0 });
    project.memory.writeLimits.idleExpiryMs = 1;
    const late = await append('x');
    expect(late).toMatchObject({ exitCode: 2 });
    expect(late.stderr).toMatch(/^error: Session timed out after .* of inactivity\. .* \[UNKNOWN_WRITE\]$/m);
  });
});

describe('recover', () => {
  const recover = (...args: string[]) => project.run(['write', 'recover', ...args]);
  /** The id of a stream that was cut off. */
  async function orphan(content: string): Promise<string> {
    return /write recover (\S+) /.exec((await endedStream(content, 'a.txt')).stderr)?.[1] ?? '';
  }

  test('what was interrupted is told once a day and by `list`, shown, exported and finished', async () => {
    const id = await orphan('one\ntwo\n');
    const made = await project.run(['session', 'new', 'other', '--no-switch', '--json']);
    expect(JSON.parse(made.stdout)).toMatchObject({ schema: 'teddy.session-new/1' });
    const told = `^A write session was interrupted: create a.txt, 8 bytes, .*teddy write recover ${id}, or with a model: .*${id}$`;
    expect(made.stderr).toMatch(new RegExp(told, 'm'));
    expect((await begin('b.txt')).stderr).not.toContain('interrupted');
    expect((await project.run(['session', 'list'])).stderr).not.toContain('interrupted');
    expect((await project.run(['write', 'list'])).stderr).toContain(`teddy write recover ${id}`);
    const asked = await recover();
    expect(asked).toMatchObject({ exitCode: 2, stdout: '' });
    expect(asked.stderr).toContain('create a.txt, 8 bytes, ');
    for (const way of ['--continue', '--finalize', '--show', '--output', '--discard'])
      expect(asked.stderr).toContain(`teddy write recover ${id} ${way}`);
    for (const wrong of [['--show', '--discard'], ['--force'], ['--finalize', '--eof-is-done']])
      await project.refuses('USAGE', 2, ['write', 'recover', id, ...wrong]);
    expect(await recover(id, '--show')).toMatchObject({ exitCode: 0, stdout: 'one\ntwo\n' });

    // Bytes that no save has confirmed are named, and shown only with --tail.
    const left = project.memory.writing.get(id);
    if (left) left.tail = Buffer.from('tail');
    const shown = await project.run(['write', 'show', id]);
    expect(shown).toMatchObject({ stdout: 'one\ntwo\n', stderr: expect.stringContaining('4 bytes more are on disk') });
    expect(await project.ok('write', 'show', id, '--tail')).toBe('one\ntwo\ntail');
  });

  test('what was set aside is named with its size, and printed last with --tail', async () => {
    const id = await orphan('one\ntwo\n');
    project.memory.writing.get(id)?.aside.push({ name: 'tail-1.txt', bytes: Buffer.from('lost') });
    const line = 'tail-1.txt: 4 bytes not confirmed by a save were set aside';
    for (const args of [
      ['list', id],
      ['show', id],
      ['recover', id, '--show'],
    ])
      expect((await project.run(['write', ...args])).stderr, args[0]).toContain(line);
    expect(await project.ok('write', 'show', id, '--tail')).toBe('one\ntwo\nlost');
    const aside = [{ name: 'tail-1.txt', bytes: 4 }];
    for (const args of [
      ['show', id],
      ['recover', id, '--show'],
    ])
      expect(await json('write', ...args)).toMatchObject({ aside });
    expect(await json('write', 'list', id)).toMatchObject({ sessions: [{ session_id: id, aside }] });
  });

  test('a damaged one cannot be finished, and that is not offered', async () => {
    const id = await orphan('one\ntwo\n');
    const left = project.memory.writing.get(id);
    if (left) left.state = null;
    await project.refuses('STAGING_DAMAGED', 1, ['write', 'recover', id, '--finalize']);
    expect((await recover(id)).stderr).not.toContain('--finalize');
    await project.ok('write', 'recover', id, '--discard');
    expect((await json('write', 'list'))['sessions']).toEqual([]);
  });

  test('what has ended is cleared away by the next command that makes something, and by cancel --ended', async () => {
    const id = await orphan('one\n');
    const active = (await begin('b.txt')).stdout.trim();
    const cleaned = await project.ok('write', 'cancel', '--ended');
    expect(cleaned).toContain(`Cleared the write session ${id} of a.txt; its content: git cat-file -p `);
    expect(await project.ok('write', 'cancel', '--ended')).toBe('');
    for (const wrong of [[active, '--ended'], ['--ended', '--server', 'http://127.0.0.1:1'], []])
      await project.refuses('USAGE', 2, ['write', 'cancel', ...wrong]);
    expect((await json('write', 'list'))['sessions']).toMatchObject([{ session_id: active }]);
    await project.ok('write', 'cancel', active);
    const old = await orphan('one\n');
    project.memory.writeLimits.orphanMs = 1;
    const next = () => project.run(['session', 'new', 'next', '--no-switch']);
    expect((await next()).stderr).toContain(`Cleared the write session ${old} of a.txt; `);
    expect((await next()).stderr).not.toContain('write session');
  });
});

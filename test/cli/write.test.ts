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

import { describe, expect, test } from 'vitest';
import type { RepoPath } from '../../../src/names.ts';
import { findChecker } from '../../../src/workflow/writes/run-checker.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';

const bytes = new TextEncoder().encode('x = 1\n');
const set = (project: MemoryProject, glob: string, command = 'check') =>
  project.configuration.set(`teddy.validate.${glob}.command`, command);

const find = (project: MemoryProject, path: string, signal?: AbortSignal) =>
  findChecker(project, { root: '/project' }, path as RepoPath, signal);

async function run(project: MemoryProject, path: string, signal?: AbortSignal) {
  const checker = await find(project, path, signal);
  return checker === null ? null : checker(bytes);
}

describe("the user's own checker", () => {
  test.each([
    ['*.py', 'src/a.py', true],
    ['*.py', 'a.pyc', false],
    ['src/**/*.{ts,tsx}', 'src/deep/a.tsx', true],
    ['src/**/*.{ts,tsx}', 'lib/a.ts', false],
    ['/a.py', 'a.py', true],
    ['/a.py', 'b/a.py', false],
    ['docs/', 'docs/a.md', true],
    ['a.command', 'a.command', true],
  ])('for %j runs for %s: %s', async (glob, path, runs) => {
    const project = await memoryProject();
    set(project, glob);
    expect((await find(project, path)) !== null).toBe(runs);
  });

  test('is null if none is set', async () => {
    const project = await memoryProject();
    project.configuration.set('teddy.validate.command', 'check');
    project.configuration.set('teddy.validate.*.py.other', 'check');
    set(project, '*.py', ' ');
    expect(await find(project, 'a.py')).toBeNull();
  });

  test('gets the content in a file with the target’s name, which is removed afterwards', async () => {
    const project = await memoryProject();
    set(project, '*.py', 'check it');
    const seen: unknown[] = [];
    project.command.run = async (script, _signal, _output, env) => {
      seen.push(script, env, project.scratched.get(env?.['TEDDY_FILE'] ?? ''));
      return { exitCode: 0 };
    };
    expect(await run(project, 'src/a.py')).toEqual([]);
    expect(seen).toEqual(['check it', { TEDDY_FILE: '/scratch/a.py', TEDDY_TARGET: 'src/a.py' }, bytes]);
    expect(project.scratched.size).toBe(0);
  });

  test('that does not exit with 0 makes a finding from its output, without secrets', async () => {
    const project = await memoryProject();
    project.secrets.set('hunter-two-9000', 'password');
    set(project, '*.py');
    project.command.run = async () => ({
      exitCode: 3,
      stdout: '/scratch/a.py:1:5: bad\n',
      stderr: 'with hunter-two-9000\n',
    });
    expect(await run(project, 'src/a.py')).toEqual([
      {
        check: 'checker',
        message: '`check` exited with 3: src/a.py:1:5: bad\nwith [masked: password]',
      },
    ]);
  });

  test('is cut after 2,000 characters', async () => {
    const project = await memoryProject();
    set(project, '*.py');
    project.command.run = async () => ({ exitCode: 1, stdout: 'a'.repeat(5000) });
    const [finding] = (await run(project, 'a.py')) ?? [];
    expect(finding?.message).toBe(`\`check\` exited with 1: ${'a'.repeat(2000)}…`);
  });

  test('that prints nothing, or does not end, makes a finding as well', async () => {
    const project = await memoryProject();
    project.configuration.set('teddy.timeout', '7');
    set(project, '*.py');
    project.command.run = async () => ({ exitCode: 1 });
    expect(await run(project, 'a.py')).toEqual([{ check: 'checker', message: '`check` exited with 1.' }]);
    project.command.run = async () => ({ exitCode: 124, timedOut: true });
    expect(await run(project, 'a.py')).toEqual([{ check: 'checker', message: '`check` did not finish within 7 s.' }]);
  });

  test('runs beside all other matching ones', async () => {
    const project = await memoryProject();
    set(project, '*.py', 'first');
    set(project, '*.ts', 'second');
    set(project, 'src/*', 'third');
    project.command.run = async () => ({ exitCode: 1 });
    expect((await run(project, 'src/a.py'))?.map(({ message }) => message)).toEqual([
      '`first` exited with 1.',
      '`third` exited with 1.',
    ]);
  });

  test('that is interrupted stops the work, and leaves no file', async () => {
    const project = await memoryProject();
    set(project, '*.py');
    project.command.run = async () => ({ exitCode: 130, aborted: true });
    await expect(run(project, 'a.py')).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(project.scratched.size).toBe(0);
  });

  test('with a glob that takes too long to match is refused by its key', async () => {
    const project = await memoryProject();
    set(project, '*a*b*c*d*');
    await expect(find(project, 'a.py')).rejects.toMatchObject({
      code: 'BAD_SETTING',
      message: expect.stringContaining('teddy.validate.*a*b*c*d*.command'),
    });
  });
});

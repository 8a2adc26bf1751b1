import { describe, expect, test } from 'vitest';
import { abortedOutput } from '../../../src/conversation/records/record.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { callTool } from '../../support/tool-calls.ts';
import { session } from '../../support/turns.ts';

const own = `.teddy/sessions/${session}/session.context`;

const onLine = () => given.session({ '.gitignore': 'out/\n', 'a.txt': 'a\n', 'src/b.txt': 'b\n' });

const runIn = (project: MemoryProject, values: object = {}, more: Parameters<typeof callTool>[3] = {}) =>
  callTool(project, 'run_command', { command: 'make', ...values }, more);

describe('run_command', () => {
  test('reports how the command ended, its output, and the files it changed', async () => {
    const project = await onLine();
    await project.write({ 'src/b.txt': 'edited by the user\n' });
    project.command.run = async (script) => {
      await project.write({ 'a.txt': 'changed\n', 'new.txt': 'n\n', 'out/made.txt': 'm\n' });
      return { stdout: `${script}\n`, stderr: 'careful' };
    };
    expect(await runIn(project)).toEqual({
      output: 'Exit code 0.\n--- stdout\nmake\n--- stderr\ncareful\n--- changed files\na.txt\nnew.txt\n',
      isError: false,
      changed: ['a.txt', 'new.txt'],
    });
    expect(await project.read('a.txt')).toBe('changed\n');
  });

  test('returns an error if the command fails, and reports if it asked for input', async () => {
    const project = await onLine();
    project.command.run = async () => ({ exitCode: 3, stderr: 'Go on? [y/N] ' });
    const { output, isError } = await runIn(project);
    expect(isError).toBe(true);
    expect(output).toMatch(/^Exit code 3\.\n--- stderr\nGo on\? \[y\/N\] \nThe command seems to wait for input\./);
  });

  test('names the processes that could not be ended', async () => {
    const project = await onLine();
    project.command.run = async () => ({ stillRunning: [12, 34] });
    const { output } = await runIn(project);
    expect(output).toBe('Exit code 0.\nThese processes that it started still run, and could not be ended: 12, 34.\n');
  });

  test('shows the last lines of a long output, which is masked as a whole first', async () => {
    const project = await onLine();
    project.secrets.set('hunter2hunter2', 'password');
    const half = 32 * 1024 - 7;
    const long = Array.from({ length: 150 }, (_, at) => `line ${at + 1}\n`).join('');
    project.command.run = async () => ({ stdout: long, stderr: `x hunter2hunter2${'y'.repeat(half)}` });
    const { output } = await runIn(project);
    expect(output.slice(0, 200)).toContain('--- stdout, its end; 391 characters before it are left out\nline 51\n');
    expect(output.includes(`left out\nssword]${'y'.repeat(half)}\n`)).toBe(true);
    expect(output.includes('hunter2')).toBe(false);
  });

  test('streams the output without secrets', async () => {
    const project = await onLine();
    project.secrets.set('hunter2hunter2', 'password');
    project.command.run = async (_, signal, onOutput) => {
      onOutput?.('stdout', 'a hunter2');
      onOutput?.('stdout', 'hunter2\n');
      return { aborted: signal.aborted };
    };
    const shown: string[] = [];
    await runIn(project, {}, { onOutput: (stream, text) => shown.push(`${stream} ${text}`) });
    expect(shown).toEqual(['stdout a [masked: password]\n']);
  });

  test('restores .teddy if the command wrote there, and reports it', async () => {
    const project = await onLine();
    const before = await project.read(own);
    project.command.run = async () => {
      await project.write({ [own]: '.env\n', '.teddy/evil.txt': 'e\n', '.teddy/config.yaml': 'model: mine\n' });
      return {};
    };
    const { output, isError } = await runIn(project);
    expect(await project.read(own)).toBe(before);
    expect(await project.read('.teddy/config.yaml')).toBeNull();
    expect(output).toBe(
      'Exit code 0.\n--- put back: no command changes files of .teddy/\n' +
        `${own}\n.teddy/config.yaml\n--- new in .teddy/, where no commit takes them\n.teddy/evil.txt\n`,
    );
    expect(isError).toBe(false);
  });

  test('restores it even if the command could not be run to its end', async () => {
    const project = await onLine();
    const before = await project.read(own);
    project.command.run = async () => {
      await project.write({ [own]: '.env\n' });
      throw new Error('The shell is gone.');
    };
    await expect(runIn(project)).rejects.toThrow('The shell is gone.');
    expect(await project.read(own)).toBe(before);
  });

  test('is aborted with the signal, and keeps the output printed by then', async () => {
    const project = await onLine();
    const controller = new AbortController();
    project.command.run = async (_, signal) => {
      controller.abort();
      return { aborted: signal.aborted, exitCode: 143, stdout: 'half\n' };
    };
    expect(await runIn(project, {}, { signal: controller.signal })).toEqual({
      output: `${abortedOutput}. The command was ended before it was done.\n--- stdout\nhalf\n`,
      isError: true,
      reason: 'aborted',
    });
  });

  test('takes its directory from the call, and its timeout from the call, else from the setting, else 120 s', async () => {
    const project = await onLine();
    const asked: [cwd: string, timeoutMs: number][] = [];
    const { shellOf } = project;
    project.shellOf = (root) => ({
      ...shellOf(root),
      run: async (script, options) => {
        asked.push([options.cwd, options.timeoutMs]);
        return { ...(await shellOf(root).run(script, options)), timedOut: true, exitCode: 124 };
      },
    });
    const { output } = await runIn(project, { timeout_s: 5, cwd: 'src' });
    await runIn(project);
    project.configuration.set('teddy.timeout', '7');
    await runIn(project);
    expect(asked).toEqual([
      ['src', 5_000],
      ['.', 120_000],
      ['.', 7_000],
    ]);
    expect(output).toBe('The command was ended after 5 s. Exit code 124.\n');
  });

  test('runs nothing if the line is not checked out, and explains how to change that', async () => {
    const project = await onLine();
    await project.switchTo('main');
    let isRun = false;
    project.command.run = async () => ((isRun = true), {});
    expect(await runIn(project, {}, { selector: session })).toEqual({
      output: expect.stringContaining(`\`git switch teddy/${session}\``),
      isError: true,
    });
    expect(isRun).toBe(false);
  });

  test.each([
    ['../x', 'it leaves the project with `..`'],
    ['.git', 'it is inside `.git`'],
    ['a.txt', 'it is a file'],
    ['nowhere', 'there is no such path'],
  ])('runs nothing in %s', async (cwd, reason) => {
    const project = await onLine();
    let isRun = false;
    project.command.run = async () => ((isRun = true), {});
    expect(await runIn(project, { cwd })).toEqual({ output: `run_command: cwd ${cwd}: ${reason}.`, isError: true });
    expect(isRun).toBe(false);
  });
});

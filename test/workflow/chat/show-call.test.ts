import { describe, expect, test } from 'vitest';
import { toShownCall } from '../../../src/workflow/chat/run-calls.ts';
import { memoryProject } from '../../support/memory-repository.ts';

const project = await memoryProject();
project.secrets.set('hunter2hunter2', 'password');

const shown = (name: string, values: unknown) =>
  toShownCall(project, {
    id: 'call_1',
    name,
    arguments: typeof values === 'string' ? values : JSON.stringify(values),
  });

describe('a call that is shown to a person', () => {
  test.each([
    ['read_file', { path: 'a.ts' }, 'read_file a.ts', false],
    ['read_file', { path: 'a.ts', from_line: 3 }, 'read_file a.ts lines 3-', false],
    ['read_file', { path: 'a.ts', to_line: 9 }, 'read_file a.ts lines 1-9', false],
    ['list_files', {}, 'list_files', false],
    ['list_files', { path: 'src', pattern: '*.ts' }, 'list_files src *.ts', false],
    ['search_text', { query: 'a "b"', path: 'src' }, 'search_text "a \\"b\\"" in src', false],
    ['run_command', { command: 'npm test' }, 'run_command npm test', true],
    [
      'run_command',
      { command: 'make\n', cwd: 'app', timeout_s: 9 },
      'run_command make (in app, for at most 9 s)',
      true,
    ],
    [
      'WritePlanTool_begin',
      { intent: 'Explain it', target_file: 'guide.md', operation: 'create' },
      'WritePlanTool_begin create guide.md (Explain it)',
      true,
    ],
  ])('of %s with %j is one complete line', async (name, values, summary, needsApproval) => {
    const allowable = name === 'run_command' ? { allowable: expect.anything() as unknown } : {};
    expect(await shown(name, values)).toEqual({
      id: 'call_1',
      name,
      summary,
      detail: null,
      needsApproval,
      ...allowable,
    });
  });

  test('has the full command beside it if that is long or has several lines', async () => {
    const several = 'cd src\nrm -rf out';
    expect(await shown('run_command', { command: several, cwd: 'app' })).toMatchObject({
      summary: 'run_command cd src rm -rf out (in app)',
      detail: several,
    });
    const long = `echo ${'a'.repeat(200)}; rm -rf out`;
    const { summary, detail } = await shown('run_command', { command: long });
    expect(summary).toBe(`run_command echo ${'a'.repeat(94)}…`);
    expect(detail).toBe(long);
  });

  test('hides nothing behind control characters or bidirectional overrides', async () => {
    const command = 'echo \u001b[2K\u202Eliam\rrm x';
    const { summary, detail } = await shown('run_command', { command });
    expect(summary).toBe('run_command echo  [2K liam rm x');
    expect(detail).toBe(command);
    expect((await shown('evil\u001b[31m\n', {})).summary).toBe('evil [31m (not understood)');
  });

  test('masks secrets before anything is cut', async () => {
    const command = `${'x'.repeat(95)} hunter2hunter2`;
    const { summary, detail } = await shown('run_command', { command });
    expect(summary).toBe(`run_command ${'x'.repeat(95)} [ma…`);
    expect(detail).toBe(`${'x'.repeat(95)} [masked: password]`);
    const begun = { intent: 'Use hunter2hunter2', target_file: 'a', operation: 'create' };
    expect((await shown('WritePlanTool_begin', begun)).summary).not.toContain('hunter2');
  });

  test('needs no approval if it cannot be parsed: nothing is run then', async () => {
    expect(await shown('run_command', '{"command":')).toEqual({
      id: 'call_1',
      name: 'run_command',
      summary: 'run_command (not understood)',
      detail: null,
      needsApproval: false,
    });
  });
});

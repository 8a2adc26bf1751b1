import { expect, test } from 'vitest';
import { findRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { verifyLine } from '../../../src/workflow/verify/line.ts';
import { parseReport } from '../../../src/plan/report/report-yaml.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, planOf, run, say, session, start } from '../../support/turns.ts';

const dir = `.teddy/sessions/${session}/01`;
const research = (...queries: string[]) => `### RESEARCH\n\n\`\`\`\n${queries.join('\n')}\n\`\`\`\n`;

/** A session with a pending plan for these actions, and a search command. */
async function pending(...actions: string[]): Promise<MemoryProject> {
  const project = await memoryProject({ 'README.md': '# Notes\n' });
  project.configuration.set('teddy.searchCommand', 'find-it --json');
  await start(project);
  await say(project, 'Do it', planOf(actions));
  return project;
}

test('each query runs the command once, and is passed outside the shell text', async () => {
  const project = await pending(research('node streams', '', '  $(touch a); "b"  '));
  const ran: unknown[] = [];
  project.command.run = async (script, _signal, _onOutput, env) => {
    ran.push({ script, env });
    return { stdout: `found ${ran.length}\n` };
  };
  const { report, commit } = await run(project);
  const script = 'find-it --json "$TEDDY_QUERY"';
  expect(ran).toEqual([
    { script, env: { TEDDY_QUERY: 'node streams' } },
    { script, env: { TEDDY_QUERY: '$(touch a); "b"' } },
  ]);
  expect(report.action_logs).toMatchObject([
    { action_type: 'RESEARCH', status: 'SUCCESS', params: { queries: 'node streams\n$(touch a); "b"' } },
  ]);
  expect(report.action_logs[0]?.details).toEqual({
    searches: [
      { query: 'node streams', return_code: 0, result: 'found 1\n' },
      { query: '$(touch a); "b"', return_code: 0, result: 'found 2\n' },
    ],
  });
  expect(parseReport((await project.readAt(commit, `${dir}/report.md`)) ?? '')).toEqual(report);
});

test('a long result is masked, cut to its first 100 lines, and kept complete beside the report', async () => {
  const project = await pending(research('many'));
  project.secrets.set('hunter2hunter2', 'password');
  const lines = Array.from({ length: 150 }, (_, at) => `row ${at + 1} hunter2hunter2\n`);
  project.command.run = async () => ({ stdout: lines.join('') });
  const { report, commit } = await run(project);
  const details = report.action_logs[0]?.details;
  expect(details?.output_file).toBe('output/1.log');
  const result = details?.searches?.[0]?.result ?? '';
  expect(result.split('\n').slice(98)).toEqual(['row 99 [masked: password]', 'row 100 [masked: password]', '']);
  const whole = (await project.readAt(commit, `${dir}/output/1.log`)) ?? '';
  expect(whole).toContain('--- query: many\n');
  expect(whole).toContain('row 150 [masked: password]\n');
  expect(whole).not.toContain('hunter2');
});

test('a failing command ends the action, with the earlier results', async () => {
  const project = await pending(research('one', 'two', 'three'), create('a.txt'));
  project.command.run = async (_script, _signal, _onOutput, env) =>
    env?.['TEDDY_QUERY'] === 'two' ? { exitCode: 7, stderr: 'offline\n' } : { stdout: 'x\n' };
  const { report } = await run(project);
  expect(report.action_logs.map(({ status }) => status)).toEqual(['FAILURE', 'SKIPPED']);
  expect(report.action_logs[0]?.details).toEqual({
    reason: 'the search command failed with exit code 7 for query 2: two',
    searches: [
      { query: 'one', return_code: 0, result: 'x\n' },
      { query: 'two', return_code: 7, result: '', stderr: 'offline\n' },
    ],
  });
});

test('a file that the search command makes belongs to the action', async () => {
  const project = await pending(create('a.txt'), research('one'));
  project.command.run = async () => {
    await project.write({ 'cache.txt': 'c\n' });
    return {};
  };
  const { report } = await run(project);
  expect(report.changes.map(({ path, action }) => [path, action])).toEqual([
    ['a.txt', 1],
    ['cache.txt', 2],
  ]);
});

test('without a search command the plan is refused before anything runs', async () => {
  const project = await pending(create('a.txt'), research('one'));
  project.configuration.delete('teddy.searchCommand');
  const { report } = await run(project);
  expect(report.run_summary.status).toBe('VALIDATION_FAILED');
  expect(report.validation_errors.map(({ message }) => message)).toEqual(['RESEARCH: no search command configured.']);
  expect(await project.read('a.txt')).toBeNull();
});

test('a search command that is missing when its action comes fails the action', async () => {
  const project = await pending(create('a.txt'), research('one'));
  const approve = {
    by: 'user' as const,
    begin: async () => undefined,
    answer: async () => null,
    output: () => undefined,
    during: <Value>(_started: object, use: () => Promise<Value>) => use(),
    done: () => undefined,
    action: async () => {
      project.configuration.delete('teddy.searchCommand');
      return { decision: 'yes' as const };
    },
  };
  const { report } = await run(project, { approver: approve });
  expect(report.action_logs[1]).toMatchObject({
    status: 'FAILURE',
    details: { reason: 'no search command configured' },
  });
});

test.each([true, false])(
  'the model’s prompt has RESEARCH only with a search command (%j), and verify accepts both prompts',
  async (isSet) => {
    const project = await memoryProject({ 'README.md': '# Notes\n' });
    if (isSet) project.configuration.set('teddy.searchCommand', 'find-it --json');
    await start(project);
    await say(project, 'Do it', planOf([create('a.txt')]));
    expect((await project.read(`${dir}/_context.log`))?.includes('### RESEARCH')).toBe(isSet);
    if (isSet) project.configuration.delete('teddy.searchCommand');
    else project.configuration.set('teddy.searchCommand', 'find-it');
    const verified = await verifyLine(project, await findRecorded(project, await project.tipOf(line)));
    expect(verified).toMatchObject({ violations: [], attested: 0 });
  },
);

/** Plans by hand: what is said of one that cannot work, and of one that nobody can approve. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { createAction, createPlan, editAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;

beforeEach(async () => {
  project = await openMemoryTeddy();
  await project.begin('plans');
});
afterEach(() => project.close());

test('a plan that cannot work is warned about at once, and reported VALIDATION_FAILED without running anything', async () => {
  const planned = await project.plan(
    planOf(
      createAction('ok.txt', 'ok\n'),
      editAction('src/app.ts', 'let c = 3;', 'let c = 4;'),
      '### RESEARCH\n- Description: look\n\n```\nquery\n```\n',
      '### DANCE\n- How: wildly\n',
      '### INVOKE\n- Agent: nobody\n\nGo on.\n',
    ),
  );
  expect(planned.stderr).toMatch(/warning: plan\.md:\d+:\d+: /);
  const status = await project.ok('status');
  expect(status).toMatch(/^Turn \d\d has a plan that is not valid: .+ \([3-9] problems\)\.$/m);
  expect(status).toContain('Next: teddy plan --instead -m "what to do instead"\n  or: teddy execute --replan 2\n');
  const executed = await project.run(['session', 'execute', '-y']);
  expect(executed).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/plan\.md:\d+:\d+: /) as string });
  const report = await project.report();
  expect(report.run_summary.status).toBe('VALIDATION_FAILED');
  const said = report.validation_errors.map(({ message }) => message).join('\n');
  for (const word of ['no search command configured', 'INVOKE nobody', 'DANCE']) expect(said).toContain(word);
  expect(await project.repo.list('.')).not.toContain('ok.txt');
});

test('an answer whose actions stand at the wrong level is said to be no valid plan, and what is printed next works', async () => {
  const answer = '# Make it\n\n## CREATE\n- **File Path:** a.txt\n\n```\nx\n```\n';
  const planned = await project.plan(answer);
  expect(planned.stderr).toContain('plan.md:3:1: Found the action "## CREATE" outside of the Action Plan');
  expect(planned.stderr).toContain(': an invalid plan was committed as ');
  expect(planned.stderr).toContain('Next: teddy plan --instead -m "..."');
  expect(await project.run(['session', 'execute', '-y'])).toMatchObject({ exitCode: 1 });
  // A plan without any action waits as well.
  expect((await project.plan('# None\n\n## Action Plan\n')).stderr).toContain('Next: teddy execute\n');
  expect(await project.run(['session', 'execute'])).toMatchObject({ exitCode: 0 });
});

test('without a terminal and without -y nothing is run; a plan is rejected with a reason, or without', async () => {
  await project.plan(createPlan('a.txt', 'a\n'));
  const said = await project.refuses('NOT_APPROVED', 4, ['session', 'execute']);
  for (const way of ['-y', '--reject']) expect(said).toContain(way);
  for (const wrong of ['--reject', '--memos=maybe'])
    await project.refuses('USAGE', 2, ['session', 'execute', '-y', wrong]);
  await project.ok('session', 'execute', '--reject=not what I meant');
  expect((await project.report()).run_summary).toMatchObject({ status: 'ABORTED', error: 'not what I meant' });
  await project.plan(createPlan('b.txt', 'b\n'));
  await project.ok('session', 'execute', '--reject');
  await project.plan(createPlan('c.txt', 'c\n'));
  await project.ok('session', 'reject', '-m', 'Smaller steps.');
  expect(await project.ok('status')).toContain('was aborted: Smaller steps.\n');
  await project.plan('# Only talk\n\n## Message\n\nHello.\n');
  await project.refuses('NO_PENDING_PLAN', 3, ['session', 'execute', '-y']);
});

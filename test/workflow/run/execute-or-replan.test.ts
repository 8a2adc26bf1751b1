import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import type { RepoPath } from '../../../src/names.ts';
import type { Model } from '../../../src/ports/model.ts';
import { toNoModel } from '../../../src/model/keyed-model.ts';
import { parseReport } from '../../../src/plan/report/report-yaml.ts';
import type { ExecuteRequest } from '../../../src/workflow/run/execute-plan.ts';
import { executeOrReplan, planInstead, type Replanning } from '../../../src/workflow/run/execute-or-replan.ts';
import type { Executed } from '../../../src/workflow/run/finish.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { approveAll, command, create, planOf, say, session, storyOfLine } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const missing = (path: string) => `### EDIT\n- **File Path:** ${path}\n\n#### REPLACE:\n\`\`\`\nx\n\`\`\`\n`;
const broken = planOf([missing('none.ts')]);
const otherwiseBroken = planOf([missing('other.ts')]);
const good = planOf([create('made.txt')]);

async function pending(plan: string, agent?: string): Promise<MemoryProject> {
  const project = await given.session();
  await say(project, 'Do it', plan, { agent });
  return project;
}

function replan(
  project: MemoryProject,
  model: Model | null,
  more: Partial<Replanning> = {},
  request: Partial<ExecuteRequest> = {},
) {
  return executeOrReplan(
    project,
    { approver: approveAll(), memos: { kind: 'none' }, signal: new AbortController().signal, ...request },
    {
      maxTries: 2,
      chooseModel: async () => ({ provider: 'recorded', name: model?.model ?? 'none', parameters: {}, model }),
      listen: () => ({ onText: () => undefined }),
      ...more,
    },
  );
}

const statuses = (runs: Executed[]) => runs.map(({ report }) => `${report.turn} ${report.run_summary.status}`);

describe('an invalid plan', () => {
  slowTest('is reported to the model with its problems, in its own turn, and the next plan is executed', async () => {
    const project = await pending(broken, 'debugger');
    const model = scriptedModel(good);
    const heard: string[] = [];
    const { executed, tries, stopped } = await replan(project, model, {
      listen: (attempt) => ({
        onText: () => undefined,
        onAsk: ({ turn, agent }) => heard.push(`asked ${attempt} in ${turn} as ${agent}`),
      }),
      onAnswered: ({ turn }) => heard.push(`answered ${turn}`),
      onExecuted: ({ report }) => heard.push(`executed ${report.turn}`),
    });
    expect(heard).toEqual(['executed 01', 'asked 1 in 02 as debugger', 'answered 02', 'executed 02']);
    expect(statuses([...tries, executed])).toEqual(['01 VALIDATION_FAILED', '02 SUCCESS']);
    expect(stopped).toBeNull();
    expect(await project.read('made.txt')).toBe('made.txt\n');
    expect((await storyOfLine(project)).slice(2)).toEqual([
      'message 01',
      'plan 01',
      'report 01',
      'message 02',
      'plan 02',
      'report 02',
    ]);
    const [problem] = tries[0]?.report.validation_errors ?? [];
    expect(problem?.message).toContain('none.ts');
    const asked = model.requests[0]?.messages.at(-1)?.content ?? '';
    const message = asked.slice(asked.indexOf('The plan of turn 01 is not valid'));
    expect(message).toContain(`- line ${problem?.line}, column ${problem?.column}, action 1: ${problem?.message}`);
    expect(message).toContain(broken);
    const report = await project.readAt(executed.commit, `.teddy/sessions/${session}/01/report.md`);
    expect(parseReport(report ?? '').run_summary.status).toBe('VALIDATION_FAILED');
  });

  test('is reported to nobody when no tries are allowed, and no model is looked for', async () => {
    const project = await pending(broken);
    const chooseModel = () => Promise.reject(new Error('looked for a model'));
    const { executed, tries, stopped } = await replan(project, null, { maxTries: 0, chooseModel });
    expect([statuses([executed]), tries, stopped]).toEqual([['01 VALIDATION_FAILED'], [], null]);
  });

  test('is left alone without a model, and no turn is opened that would stay unanswered', async () => {
    const project = await pending(broken);
    const { executed, stopped } = await replan(project, null);
    expect([statuses([executed]), stopped]).toEqual([['01 VALIDATION_FAILED'], null]);
    expect((await storyOfLine(project)).at(-1)).toBe('report 01');
  });

  test('goes to the model with its secrets masked', async () => {
    const project = await pending(planOf([missing('none.ts'), create('key.txt', 'key: planted-key\n')]));
    project.secrets.set('planted-key', 'test key');
    const model = scriptedModel(good);
    await replan(project, model);
    const sent = JSON.stringify(model.requests);
    expect(sent).not.toContain('planted-key');
    expect(sent.slice(sent.indexOf('The plan of turn 01 is not valid'))).toContain('key: [masked: test key]');
    const tip = await project.tipOf(`teddy/${session}`);
    const transcript = await project.readAt(tip, `.teddy/sessions/${session}/02/transcript.jsonl`);
    expect(transcript).toContain('[masked: test key]');
    expect(transcript).not.toContain('planted-key');
  });
});

const fixtureOf = (name: string) =>
  readFileSync(new URL(`../../../fixtures/answers/${name}.md`, import.meta.url), 'utf8');

test.each([
  ['actions-as-h2', 'Put it below `## Action Plan`, as `### CREATE`.'],
  ['last-action-as-h2', 'Put it below `## Action Plan`, as `### EXECUTE`.'],
  ['actions-as-h4', 'expected level 3'],
  ['no-action-plan-heading', 'Put it below `## Action Plan`, as `### CREATE`.'],
  ['sentence-at-the-end', 'Leave it out, or put it under `## Rationale` or `## Message`'],
  ['fence-at-the-end', 'Else leave it out, or make it an action of its own.'],
  ['old-and-new', '#### FIND:'],
  ['path-plain-remark', 'Give the path alone.'],
  ['background', 'start the server, use it and stop it in one script'],
])(
  'after the answer %s nothing runs; the model gets instructions, and its next plan is executed',
  async (name, advice) => {
    const project = await pending(fixtureOf(name));
    const model = scriptedModel(good);
    const { executed, tries } = await replan(project, model);
    expect(statuses([...tries, executed])).toEqual(['01 VALIDATION_FAILED', '02 SUCCESS']);
    expect(await project.read('src/login.ts')).toBeNull();
    const asked = model.requests[0]?.messages.at(-1)?.content ?? '';
    expect(asked.slice(asked.indexOf('The plan of turn 01 is not valid'))).toContain(advice);
  },
);

test('a valid plan is executed once, and no model is looked for', async () => {
  const project = await pending(good);
  const chooseModel = () => Promise.reject(new Error('looked for a model'));
  const { executed, tries } = await replan(project, null, { chooseModel });
  expect([statuses([executed]), tries]).toEqual([['01 SUCCESS'], []]);
});

test.each([
  ['that fails when it runs', []],
  ['that fails when it runs after an invalid one', [broken]],
])('a plan %s is not planned again', async (_, before) => {
  const failing = planOf([command('false')]);
  const [first = '', ...others] = [...before, failing];
  const project = await pending(first);
  project.command.run = async () => ({ exitCode: 1 });
  const { executed, tries, stopped } = await replan(project, scriptedModel(...others, good));
  expect(executed.report.run_summary.status).toBe('FAILURE');
  expect([tries.length, stopped]).toEqual([before.length, null]);
});

describe('new plans are requested', () => {
  slowTest('as often as allowed, and no more', async () => {
    const project = await pending(broken);
    const model = scriptedModel(otherwiseBroken, planOf([missing('third.ts')]), good);
    const { executed, tries, stopped } = await replan(project, model);
    expect(model.requests).toHaveLength(2);
    expect(statuses([...tries, executed])).toEqual([
      '01 VALIDATION_FAILED',
      '02 VALIDATION_FAILED',
      '03 VALIDATION_FAILED',
    ]);
    expect(stopped).toEqual({ reason: 'limit', maxTries: 2 });
  });

  slowTest('not when the same problems repeat, anywhere in the plan', async () => {
    const project = await pending(broken);
    const model = scriptedModel(`# Moved\n\n${broken.replace('# Do it\n', '## Rationale\n\nBecause.\n')}`, good);
    const { executed, stopped } = await replan(project, model);
    expect(model.requests).toHaveLength(1);
    expect(statuses([executed])).toEqual(['02 VALIDATION_FAILED']);
    expect(stopped).toEqual({ reason: 'same_problems' });
  });

  slowTest('not when the problems of an earlier try come back', async () => {
    const project = await pending(broken);
    const model = scriptedModel(otherwiseBroken, broken, good);
    const { stopped } = await replan(project, model, { maxTries: 9 });
    expect(model.requests).toHaveLength(2);
    expect(stopped).toEqual({ reason: 'same_problems' });
  });

  slowTest('not beyond the budget, which ends the tries without opening a turn', async () => {
    const project = await pending(broken);
    project.configuration.set('teddy.maxTurns', '2');
    const model = scriptedModel(otherwiseBroken, good);
    const { executed, stopped } = await replan(project, model);
    expect(statuses([executed])).toEqual(['02 VALIDATION_FAILED']);
    expect(stopped).toMatchObject({ reason: 'budget_spent', error: { code: 'BUDGET_SPENT' } });
    expect((await storyOfLine(project)).at(-1)).toBe('report 02');
  });

  test.each([
    ['a reply', 'I cannot.', 'reply 02'],
    ['an answer that is only text', '# No\n\n## Message\n\nI cannot.\n', 'plan 02'],
  ])('not after %s, since there is nothing to run', async (_, text, last) => {
    const project = await pending(broken);
    const { executed, tries, stopped } = await replan(project, scriptedModel(text, good));
    expect([statuses([executed]), tries]).toEqual([['01 VALIDATION_FAILED'], []]);
    expect(stopped).toEqual({ reason: 'no_plan', turn: '02' });
    expect((await storyOfLine(project)).at(-1)).toBe(last);
  });
});

slowTest('a model error ends the tries, with the report written and the message on the line', async () => {
  const project = await pending(broken);
  const model = scriptedModel(new TeddyError('MODEL_FAILED', 'The model failed.'));
  await expect(replan(project, model)).rejects.toMatchObject({ code: 'MODEL_FAILED' });
  expect((await storyOfLine(project)).slice(-2)).toEqual(['report 01', 'message 02']);
});

slowTest('Ctrl-C before another plan is requested opens no turn', async () => {
  const project = await pending(broken);
  const interruption = new AbortController();
  const onExecuted = () => interruption.abort();
  const done = replan(project, scriptedModel(good), { onExecuted }, { signal: interruption.signal });
  await expect(done).rejects.toMatchObject({ code: 'INTERRUPTED' });
  expect((await storyOfLine(project)).at(-1)).toBe('report 01');
});

slowTest('a valid plan without approval stays pending', async () => {
  const project = await pending(broken);
  const done = replan(project, scriptedModel(good), {}, { approver: null });
  await expect(done).rejects.toMatchObject({ code: 'NOT_APPROVED', message: expect.stringContaining('Turn 02') });
  expect((await storyOfLine(project)).at(-1)).toBe('plan 02');
});

test('a plan is not replaced without a model for another one, and the hint shows how to replace it by hand', async () => {
  const project = await pending(good);
  const missing = toNoModel({ name: 'openai', keyVariable: 'OPENAI_API_KEY' }, false, {});
  const choice = { provider: 'none' as const, name: 'none', parameters: {}, model: null, missing };
  const { signal } = new AbortController();
  const request = { message: 'Otherwise', selector: session, choice, signal, onText: () => undefined };
  await expect(planInstead(project, request, () => undefined)).rejects.toMatchObject({
    message: 'No model is configured. Nothing was changed.',
    hint: expect.stringContaining(`\`teddy plan -s ${session} --instead -m "..." --from <file>\``),
  });
  expect((await storyOfLine(project)).at(-1)).toBe('plan 01');
});

test('a plan is not replaced if the user’s edits could not be committed before another one', async () => {
  const project = await pending(good);
  const { workspace } = project.repository;
  const status = workspace.status.bind(workspace);
  workspace.status = async (options) => ({ ...(await status(options)), unmerged: ['src/app.ts' as RepoPath] });
  const choice = {
    provider: 'openai' as const,
    name: 'gpt',
    parameters: {},
    model: scriptedModel(good),
    missing: null,
  };
  const { signal } = new AbortController();
  const request = { message: 'Otherwise', selector: session, choice, signal, onText: () => undefined };
  await expect(planInstead(project, request, () => undefined)).rejects.toMatchObject({
    code: 'OPERATION_IN_PROGRESS',
    message: 'These files have merge conflicts: src/app.ts.',
  });
  expect((await storyOfLine(project)).at(-1)).toBe('plan 01');
});

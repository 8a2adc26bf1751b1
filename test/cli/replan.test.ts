/** A plan is not valid, and another one may be asked for. */
import { openMemoryBegun, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { ctrlC, type TerminalRun } from '../support/run-in-terminal.ts';
import { createPlan, editAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;

afterEach(() => project.close());

const misses = (find: string) => planOf(editAction('src/app.ts', find, 'x'));
const broken = misses('port = 1');
const good = createPlan('made.txt', 'made\n');
const withoutModel = { OPENAI_API_KEY: undefined, OPENAI_BASE_URL: undefined };

type Options = NonNullable<Parameters<typeof openMemoryBegun>[1]>;

async function begin(answers: NonNullable<Options['answers']>, more: Options = {}) {
  const begun = await openMemoryBegun('replanned', { answers, ...more });
  ({ project } = begun);
  await project.plan(broken);
  return begun.session;
}

const execute = (...args: string[]) => project.run(['session', 'execute', ...args]);
const results = (stdout: string) => stdout.split('\n').filter((line) => /^[A-Z_]+ turn/.test(line));
const lastSubject = async () => (await project.subjects())[0];

describe('with --replan', () => {
  test('the model is told what is wrong with its plan, and the plan it writes then is executed', async () => {
    const session = await begin([good]);
    const done = await execute('-y', '--replan', '2');
    expect(done.exitCode).toBe(0);
    expect(results(done.stdout)).toMatchObject([
      expect.stringMatching(/^VALIDATION_FAILED turn 01 of .*: 1 problem found in the plan$/),
      expect.stringMatching(/^SUCCESS turn 02 of /),
    ]);
    expect(done.stderr).toMatch(/^plan\.md:\d+:\d+: EDIT src\/app\.ts: .*FIND.*was not found/m);
    expect(done.stderr).toMatch(
      /^The plan is not valid; asking gpt-test at \S+ as pathfinder again in turn 02 of \S+, try 1 of 2 \.\.\.$/m,
    );
    expect(done.stderr.match(/^Next: |^See it: /gm)).toEqual(['See it: ']);
    expect(await project.repo.read('made.txt')).toBe('made\n');
    expect((await project.subjects()).slice(0, 5)).toMatchObject([
      'turn 02 report: SUCCESS Try it',
      'turn 02 plan: Try it',
      'turn 02 message: The plan of turn 01 is not valid, and none of it was run.',
      'turn 01 report: VALIDATION_FAILED Try it',
      'turn 01 plan: Try it',
    ]);
    expect((await project.report('01')).run_summary.status).toBe('VALIDATION_FAILED');
    const [request] = project.server.requests();
    const told = request?.messages[1]?.content.split('<!-- teddy-').at(-1) ?? '';
    const [problem] = (await project.report('01')).validation_errors;
    expect(told).toContain(`- line ${problem?.line}, column ${problem?.column}, action 1: ${problem?.message}`);
    expect(told).toContain(broken);
    expect(await project.repo.read(`.teddy/sessions/${session}/02/plan.md`)).toBe(good);
  });

  test('it ends at the budget, which is said after the problems, and no turn is left open', async () => {
    await begin([misses('port = 2'), good]);
    await project.repo.git('config', 'teddy.maxTurns', '2');
    const done = await execute('-y', '--replan', '5');
    expect(done.exitCode).toBe(1);
    expect(done.stderr).toMatch(
      /plan\.md:\d+:\d+:[\s\S]*warning: teddy did not ask for another plan. .*spent its budget/,
    );
    expect(done.stderr).toContain('git config teddy.maxTurns');
    expect(project.server.requests()).toHaveLength(1);
    expect(await lastSubject()).toContain('turn 02 report');
  });

  test('an answer that is no plan is shown, and nothing is run', async () => {
    await begin(['Which port do you mean?', good]);
    const done = await execute('-y', '--replan', '5');
    expect(done.exitCode).toBe(1);
    expect(done.stdout).toContain('Which port do you mean?\n');
    expect(done.stderr).toContain('The answer in turn 02 has nothing to run');
    expect(await lastSubject()).toContain('turn 02 reply');
  });

  test('a model that is missing is an error after the report, and nothing else is committed', async () => {
    await begin([]);
    const none = await project.run(['session', 'execute', '-y', '--replan', '1'], { env: withoutModel });
    expect(none.exitCode).toBe(5);
    expect(results(none.stdout)).toHaveLength(1);
    expect(none.stderr).toMatch(/plan\.md:[\s\S]*\[NO_MODEL\]/);
    expect(await lastSubject()).toContain('turn 01 report');
    await project.plan(misses('port = 3'));
    await project.repo.git('config', 'teddy.provider', 'manual');
    const manual = await execute('-y', '--replan', '1');
    expect(manual.exitCode).toBe(5);
    expect(manual.stderr).toMatch(/The provider is manual[\s\S]*\[NO_MODEL\]\nhint: .*--from/);
    expect(await lastSubject()).toContain('turn 02 report');
  });

  test('one JSON document tells the last plan, the tries before it, and why there was no other', async () => {
    await begin([misses('port = 22'), misses('port = 22'), good]);
    const done = await execute('-y', '--json', '--replan', '5');
    expect(done.exitCode).toBe(1);
    const problem = { message: expect.stringContaining('src/app.ts'), line: expect.any(Number), action: 1 };
    expect(JSON.parse(done.stdout)).toMatchObject({
      schema: 'teddy.execute/1',
      turn: '03',
      status: 'VALIDATION_FAILED',
      tries: [
        { turn: '01', status: 'VALIDATION_FAILED', commit: expect.any(String), problems: [problem] },
        { turn: '02', status: 'VALIDATION_FAILED', commit: expect.any(String), problems: [problem] },
      ],
      replanStopped: {
        reason: 'same_problems',
        message: 'The same problems occurred twice, so teddy did not ask for another plan.',
      },
    });
    await project.ok('session', 'plan', '-m', 'Well?');
    const plain = JSON.parse((await execute('-y', '--json')).stdout) as object;
    expect(plain).toMatchObject({ turn: '04', status: 'SUCCESS', tries: [], replanStopped: null });
  });

  test('a number that is none, and flags about the plan that is there, are refused before anything happens', async () => {
    await begin([good]);
    const before = await project.repo.fingerprint();
    for (const wrong of [
      ...['11', '-1', 'two', '1.5', ''].map((number) => ['-y', `--replan=${number}`]),
      ...['--only=1', '--skip=1', '--reject', '--dry-run'].map((other) => ['--replan=1', other]),
    ])
      expect(await execute(...wrong), wrong.join(' ')).toMatchObject({
        exitCode: 2,
        stdout: '',
        stderr: expect.stringContaining('[USAGE]') as string,
      });
    expect(await project.repo.fingerprint()).toEqual(before);
    expect((await execute('-y', '--replan=0', '--only=1')).exitCode).toBe(1);
    expect(project.server.requests()).toEqual([]);
  });
});

test('without --replan and without a terminal no other plan is asked for', async () => {
  await begin([good]);
  const done = await execute('-y');
  expect(done.exitCode).toBe(1);
  expect(done.stderr).toMatch(/^Next: teddy plan -m/m);
  expect(project.server.requests()).toEqual([]);
  expect(await lastSubject()).toContain('turn 01 report');
});

describe('in a terminal', () => {
  const ask = (env: Record<string, string | undefined> = {}, ...args: string[]): TerminalRun =>
    project.inTerminal(['session', 'execute', ...args], { env });

  test('two tries are made, each is announced and shown, and a valid plan is asked about', async () => {
    await begin([misses('port = 22'), good]);
    const run = ask();
    expect(await run.waitFor('The plan is not valid; asking gpt-test')).toContain('VALIDATION_FAILED turn 01');
    expect(await run.waitFor('try 1 of 2 ...')).toContain('in turn 02');
    expect(await run.waitFor('VALIDATION_FAILED turn 02')).toContain('port = 22');
    await run.waitFor('try 2 of 2 ...');
    await run.play(['Write this? [', 'y\n', 'made.txt']);
    expect(await run.exitCode).toBe(0);
    expect(await project.repo.read('made.txt')).toBe('made\n');
  });

  test('no third try is made', async () => {
    await begin([misses('port = 22'), misses('port = 333'), good]);
    const run = ask();
    await run.waitFor('teddy asked for 2 other plans');
    expect(await run.exitCode).toBe(1);
    expect(project.server.requests()).toHaveLength(2);
  });

  test('without a model, with --only and with --replan 0 nobody is asked, and no turn is opened', async () => {
    await begin([good]);
    for (const [turn, env, args] of [
      ['01', withoutModel, []],
      ['02', {}, ['--only=1']],
      ['03', {}, ['--replan=0']],
    ] as const) {
      const run = ask(env, ...args);
      await run.waitFor('Next: teddy plan -m');
      expect(await run.exitCode).toBe(1);
      expect(await lastSubject()).toContain(`turn ${turn} report`);
      await project.plan(broken);
    }
    expect(project.server.requests()).toEqual([]);
  });

  test('Ctrl-C while the model answers ends it with 130; what has come is kept', async () => {
    await begin([good], { chunkDelayMs: 100 });
    const run = ask();
    await run.play(['# Try it', ctrlC]);
    expect(await run.exitCode).toBe(130);
    expect(run.text()).toContain('[INTERRUPTED]');
    expect(await project.ok('session', 'show')).toContain('Answer (interrupted)');
  });
});

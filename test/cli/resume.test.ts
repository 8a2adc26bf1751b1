/** `teddy resume`: whatever the line waits for, one step a call. */
import { openMemoryBegun, openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { ctrlC, ctrlD, type TerminalRun } from '../support/run-in-terminal.ts';
import { createPlan, executeAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;

afterEach(() => project.close());

const answer = createPlan('made.txt', 'made\n');
const resume = ['session', 'resume'];
const lastLine = (text: string) => text.trimEnd().split('\n').at(-1);
const recordTypes = async (session: string) =>
  (await project.repo.read(`.teddy/sessions/${session}/01/transcript.jsonl`))
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { type: string }).type);

/** A turn whose message is committed, and which the model has refused to answer. */
async function openWithMessage(...answers: string[]): Promise<string> {
  project = await openMemoryTeddy({
    answers: [{ status: 401, body: { message: 'Incorrect API key provided' } }, ...answers],
  });
  const session = await project.begin('resumed');
  expect(await project.run(['session', 'plan', '-m', 'Make a file'])).toMatchObject({ exitCode: 5 });
  return session;
}

describe('without a terminal', () => {
  test('each call is one step: the open message is asked again as it was, its plan is executed, and then nothing waits', async () => {
    const session = await openWithMessage(answer);
    expect(await project.ok('status')).toBe(
      `On teddy/${session}.\nTurn 01 is waiting for an answer.\nNext: teddy resume\n  or: teddy plan --from <file>\n`,
    );
    const asked = await project.run(resume);
    expect(asked).toMatchObject({ exitCode: 0, stdout: answer });
    expect(asked.stderr).toContain(`Continuing turn 01 of ${session}: its message is waiting for an answer.\n`);
    expect(lastLine(asked.stderr)).toBe('Next: teddy execute');
    const [first, second] = project.server.requests();
    expect(second?.body).toEqual(first?.body);
    expect(await recordTypes(session)).toEqual(['user', 'assistant']);

    await project.refuses('NOT_APPROVED', 4, resume);
    const executed = await project.run([...resume, '-y']);
    expect(executed).toMatchObject({ exitCode: 0 });
    expect(executed.stderr).toContain(`Continuing turn 01 of ${session}: its plan is waiting to be executed.\n`);
    expect(executed.stdout).toContain('SUCCESS turn 01');
    expect(lastLine(executed.stderr)).toBe('Next: teddy plan -m "..."');
    expect(await project.repo.read('made.txt')).toBe('made\n');

    const said = await project.refuses('NOTHING_TO_RESUME', 3, resume);
    expect(said).toContain(`Nothing is waiting on teddy/${session}`);
    expect(said).toContain('`teddy plan -m "..."`');
    expect(await project.refuses('NOTHING_TO_RESUME', 3, [...resume, '-s', session, '-y'])).toContain(
      `\`teddy plan -s ${session} -m "..."\`, or talk with \`teddy chat -s ${session}\`.`,
    );
    expect(project.server.requests()).toHaveLength(2);
  });

  test('--json prints the one document of the step that was taken, on stdout alone', async () => {
    const session = await openWithMessage(answer);
    const asked = await project.run([...resume, '--json']);
    expect(JSON.parse(asked.stdout)).toMatchObject({ schema: 'teddy.plan/1', session, turn: '01', text: answer });
    const executed = await project.run([...resume, '-y', '--json']);
    expect(JSON.parse(executed.stdout)).toMatchObject({ schema: 'teddy.execute/1', turn: '01', status: 'SUCCESS' });
    expect(executed.stderr).toBe('');
    const nothing = await project.run([...resume, '--json']);
    expect(nothing.exitCode).toBe(3);
    expect(JSON.parse(nothing.stdout)).toMatchObject({ error: { code: 'NOTHING_TO_RESUME' } });
  });

  test('by hand, the file that the model is to be shown is named', async () => {
    const session = await openWithMessage();
    await project.repo.git('config', 'teddy.provider', 'manual');
    const resumed = await project.run(resume);
    expect(resumed).toMatchObject({ exitCode: 0, stdout: `.teddy/sessions/${session}/01/_context.log\n` });
    expect(resumed.stderr).toContain('teddy plan --from <file>');
    expect(project.server.requests()).toHaveLength(1);
  });

  test('a session that is not there is refused as everywhere', async () => {
    project = await openMemoryTeddy();
    await project.refuses('UNKNOWN_SESSION', 2, resume);
    await project.begin('one');
    await project.begin('one-more', '--no-switch');
    await project.refuses('UNKNOWN_SESSION', 2, [...resume, '-s', 'nowhere']);
    const said = await project.refuses('AMBIGUOUS_SESSION', 2, [...resume, '-s', 'on']);
    expect(said).toMatch(/`teddy resume -s \d{8}-one-more`/);
    await project.refuses('NOTHING_TO_RESUME', 3, [...resume, '-s', 'one']);
    await project.refuses('NOTHING_TO_RESUME', 3, [...resume, '-s', 'more']);
    await project.refuses('USAGE', 2, [...resume, 'one', '-s', 'one']);
    await project.refuses('UNKNOWN_AGENT', 2, [...resume, '20260124-one', '--with', 'nobody']);
    // A name leads there first.
    expect(await project.run([...resume, 'more'])).toMatchObject({
      exitCode: 0,
      stderr:
        'Switched to teddy/20260124-one-more.\nNothing is waiting in 20260124-one-more.\nNext: teddy plan -m "what you want"\n',
    });
    expect(await project.repo.git('symbolic-ref', '--short', 'HEAD')).toBe('teddy/20260124-one-more');
  });

  test('another line goes on where it is: its message without files, its plan only where it is checked out', async () => {
    const session = await openWithMessage(answer);
    await project.repo.git('switch', '--quiet', 'main');
    await project.begin('other');
    expect(await project.run([...resume, '-s', session])).toMatchObject({ exitCode: 0, stdout: answer });
    const said = await project.refuses('NOT_ON_LINE', 3, [...resume, '-s', session, '-y']);
    const [, command = ''] = /`teddy (execute [^`]*--worktree)`/.exec(said) ?? [];
    await project.ok(...command.split(' '), '-y');
    await project.refuses('NOTHING_TO_RESUME', 3, [...resume, '-s', session]);
    await project.refuses('NOTHING_TO_RESUME', 3, resume);
  });
});

describe('at a terminal', () => {
  const inTerminal = (env: Record<string, string> = {}, ...args: string[]): TerminalRun =>
    project.inTerminal([...resume, ...args], { env });

  async function openWithNothing(...answers: string[]): Promise<string> {
    const begun = await openMemoryBegun('asked', { answers });
    ({ project } = begun);
    return begun.session;
  }

  test('where nothing waits, the next message is asked for, planned, and its plan asked about in the next call', async () => {
    const session = await openWithNothing(answer);
    const run = inTerminal();
    await run.play(['Message: ', '  Make a file: ü \n', `Nothing is waiting in ${session}.\n`], ['[k]eep? ', 'k\n']);
    expect(await run.exitCode).toBe(0);
    expect(lastLine(run.text())).toBe('Next: teddy execute');
    expect(await project.subjects()).toContain('turn 01 message: Make a file: ü');

    const executing = inTerminal();
    await executing.play([',q,?] ', 'y\n', '+made']);
    expect(await executing.exitCode).toBe(0);
    expect((await project.report()).action_logs).toMatchObject([{ status: 'SUCCESS', approved_by: 'user' }]);
  });

  test('no message at the question for one changes nothing', async () => {
    await openWithNothing();
    const before = await project.repo.fingerprint();
    for (const [name, keys, exitCode] of [
      ['an empty line', '\n', 0],
      ['blanks', '  \n', 0],
      ['the end of input', ctrlD, 0],
      ['Ctrl-C', ctrlC, 130],
    ] as const) {
      const run = inTerminal();
      await run.play(['Message: ', keys]);
      expect(await run.exitCode, name).toBe(exitCode);
      expect(run.text(), name).toContain('teddy plan -m "..."');
      expect(await project.repo.fingerprint(), name).toEqual(before);
    }
  });

  test('--json asks for no message', async () => {
    await openWithNothing();
    const run = inTerminal({}, '--json');
    expect(await run.exitCode).toBe(3);
    expect(run.text()).toContain('"NOTHING_TO_RESUME"');
  });
});

test('a message of a conversation is asked again there, with its tools', async () => {
  project = await openMemoryTeddy({
    answers: [
      { text: '', toolCalls: [{ name: 'read_file', arguments: '{"path":"src/app.ts"}' }] },
      { status: 400, body: { message: 'No.' } },
      'It is a port.',
    ],
  });
  await project.begin('talk');
  expect((await project.run(['session', 'chat', '-m', 'What is it?'])).exitCode).toBe(5);
  const { exitCode, stdout } = await project.run(resume);
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'It is a port.\n' });
  const [, , again] = project.server.requests();
  expect(again?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
  expect(again?.body['tools']).toHaveLength(6);
});

test('a plan that fails ends as with execute, and the next step is named', async () => {
  project = await openMemoryTeddy();
  await project.begin('failing');
  project.memory.command.run = async () => ({ exitCode: 3 });
  await project.plan(planOf(executeAction('exit 3')));
  const failed = await project.run(['session', 'resume', '-y']);
  expect(failed).toMatchObject({ exitCode: 1 });
  expect(failed.stderr.trimEnd().split('\n').at(-1)).toBe('Next: teddy plan -m "..."');
  await project.plan(createPlan('README.md', 'x\n'));
  expect(await project.run(['session', 'resume', '-y'])).toMatchObject({ exitCode: 1 });
  expect((await project.report()).run_summary.status).toBe('VALIDATION_FAILED');
});

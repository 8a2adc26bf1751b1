/** `teddy chat` at a terminal: a conversation, its questions and commands, and Ctrl-C at any moment. */
import { afterEach, describe, expect, test } from 'vitest';
import type { ServerAnswer } from '../support/model-server.ts';
import { ctrlC, ctrlD, hasTerminal, runInTerminal, type TerminalRun } from '../support/run-in-terminal.ts';
import { createPlan, openBegun, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

const prompt = '\n> ';
const question = /Allow this\? /;
// The letters before these depend on the call.
const allow = ',n,i,?] ';

async function open(answers: ServerAnswer[], pace: { chunkSize?: number; chunkDelayMs?: number } = {}): Promise<void> {
  ({ project } = await openBegun('talk', { answers, ...pace }));
}

function chat(...args: string[]): TerminalRun {
  return runInTerminal(['session', 'chat', ...args], { cwd: project.repo.root, env: project.env });
}

function command(script: string): ServerAnswer {
  return call('run_command', { command: script });
}

function call(name: string, input: object, text = ''): ServerAnswer {
  return { text, toolCalls: [{ name, arguments: JSON.stringify(input) }] };
}

/** The messages of the last request, without the system's part. */
function sent(at = -1): { role: string; content: string }[] {
  return (
    project.server
      .requests()
      .at(at)
      ?.messages.filter(({ role }) => role !== 'system') ?? []
  );
}

describe.skipIf(!hasTerminal)('a conversation', () => {
  test('goes on from message to message, calls tools, and asks before a command', async () => {
    await open([
      call('read_file', { path: 'src/app.ts' }, 'I look at it.'),
      'It is 8080.',
      command('echo one; echo two >&2; echo changed > made.txt'),
      'Done.',
    ]);
    const run = chat();
    const start = await run.waitFor(prompt);
    expect(start).toMatch(/^Conversation in \d{8}-talk, with gpt-test at http:/m);
    expect(start).toContain('/help lists the commands');
    run.press('Which port?\r');
    const first = await run.waitFor(prompt);
    expect(first).toMatch(
      /I look at it\.\nread_file src\/app\.ts\n.*8080;\nIt is 8080\.\nTurn 01 is answered, committed as/s,
    );
    expect(first).not.toMatch(question);

    run.press('Run it\r');
    await run.play([allow, '?\r', 'run_command echo one; echo two >&2;'], [allow, 'y\r', 'y  yes, allow it once']);
    const second = await run.waitFor(prompt);
    expect(second).toMatch(/^ {2}one$/m);
    expect(second).toMatch(/^ {2}two$/m);
    expect(second).toMatch(/^ {2}Exit code 0\.$/m);
    expect(second).toMatch(/Done\.\nTurn 02 is answered/);
    run.press(ctrlD);
    expect(await run.exitCode).toBe(0);

    expect(
      sent()
        .map(({ content }) => content)
        .join('\n'),
    ).toContain('Which port?');
    expect(await project.repo.read('made.txt')).toBe('changed\n');
    expect((await project.subjects()).slice(0, 6)).toEqual([
      'turn 02 reply: Done.',
      'turn 02 exchange: call run_command',
      'turn 02 message: Run it',
      'turn 01 reply: It is 8080.',
      'turn 01 exchange: call read_file',
      'turn 01 message: Which port?',
    ]);
  });

  test('what was typed before a question of /execute approves nothing', async () => {
    await open([createPlan('a.txt', 'A\n')]);
    const run = chat();
    await run.play([prompt, '/plan Make a.txt\r']);
    await run.waitFor('/execute runs it');
    await run.play([prompt, '/execute\r'], ['/execute\n', 'y\r']);
    await run.waitFor(',q,?] ');
    await new Promise((resolve) => setTimeout(resolve, 300));
    await expect(project.repo.read('a.txt')).rejects.toThrow('ENOENT');
    run.press('n\r');
    await run.waitFor(prompt);
    // The letter is not in the edit line: Ctrl-D leaves only from an empty one.
    run.press(ctrlD);
    expect(await run.exitCode).toBe(0);
  });

  test('Ctrl-C ends a running command, and what it had done is kept', async () => {
    await open([command('echo be""gun; sleep 30; echo en""ded'), 'Fine.']);
    const run = chat('-y');
    await run.play([prompt, 'Run it\r'], ['begun', ctrlC], [prompt, '/retry\r', / {2}stopped\n/]);
    await run.waitFor('Fine.');
    await run.play([prompt, ctrlC]);
    expect(await run.exitCode).toBe(130);
    expect(JSON.stringify(sent())).toContain('Tool execution aborted by user');
    expect(run.text()).not.toContain('ended');
  });

  test('a second Ctrl-C leaves at once, without waiting for a command that does not end', async () => {
    await open([command('trap \'\' TERM INT; echo be""gun; for i in 1 2 3 4 5 6 7 8 9; do sleep 1; done'), 'Fine.']);
    const run = chat('-y');
    await run.play([prompt, 'Run it\r'], ['begun', ctrlC]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    run.press(ctrlC);
    expect(await run.exitCode).toBe(130);
    expect(run.text()).toContain('Exiting at once');
    const again = chat();
    await again.play([prompt, '/retry\r', '/retry asks again']);
    await again.waitFor('Fine.');
    await again.play([prompt, ctrlD]);
    expect(await again.exitCode).toBe(0);
    expect(JSON.stringify(sent())).toContain('was interrupted by a crash; its result is not known');
  });

  test('when the window is closed at the prompt or in an answer, it ends and keeps what has come', async () => {
    await open([{ text: 'One two three four five six seven eight nine ten' }], { chunkSize: 4, chunkDelayMs: 200 });
    // A shell within writes down how it has ended.
    const inner = `trap : HUP; "$@"; echo $? > .git/ended`;
    const through = `run() { sh -c '${inner}' sh "$@"; :; }; run`;
    const start = () => runInTerminal(['session', 'chat'], { cwd: project.repo.root, env: project.env, through });
    const ended = async () => {
      const read = () => project.repo.read('.git/ended').catch(() => '');
      await expect.poll(read, { timeout: 20_000, interval: 20 }).toBe('129\n');
      await project.repo.write('.git/ended', '');
    };
    const idle = start();
    await idle.waitFor(prompt);
    await idle.close();
    await ended();
    const run = start();
    await run.play([prompt, 'Count\r']);
    await run.waitFor('One two');
    await run.close();
    await ended();
    expect(await project.ok('session', 'history')).toMatch(/One two.*\[interrupted\]/);
  });

  test('SIGTERM in an answer ends the conversation with 130', async () => {
    await open([{ text: 'One two three four five six seven eight nine ten' }], { chunkSize: 4, chunkDelayMs: 200 });
    const through = 'echo $$ > .git/pid; exec';
    const run = runInTerminal(['session', 'chat'], { cwd: project.repo.root, env: project.env, through });
    await run.play([prompt, 'Count\r']);
    await run.waitFor('One two');
    process.kill(Number(await project.repo.read('.git/pid')), 'SIGTERM');
    expect(await run.exitCode).toBe(130);
  });
});

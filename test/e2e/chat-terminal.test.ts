/** `teddy session chat` at a terminal: a conversation, its questions and commands, and Ctrl-C at any moment. */
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
    expect(await run.waitFor(allow)).toContain('run_command echo one; echo two >&2;');
    run.press('?\r');
    expect(await run.waitFor(allow)).toContain('y  yes, allow it once');
    run.press('y\r');
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

  test('a and p allow commands for the rest of the session, and /allowed lists them and takes one back', async () => {
    await open([
      command('echo one'),
      'Ran.',
      command('echo two'),
      command('echo one'),
      'Ran.',
      command('echo one'),
      'No.',
    ]);
    const run = chat();
    await run.waitFor(prompt);
    run.press('Run it\r');
    expect(await run.waitFor('Allow this? [y,a,p,n,i,?] ')).toContain(
      'run_command echo one\np: every command that begins with "echo one"\n',
    );
    run.press('?\r');
    expect(await run.waitFor(allow)).toContain('do not ask again about commands that begin with `echo one`');
    run.press('a\r');
    expect(await run.waitFor(prompt)).toContain('Allowed for this session: echo one.');
    run.press('Again\r');
    expect(await run.waitFor(allow)).toContain('run_command echo two');
    run.press('p\r');
    expect(await run.waitFor(prompt)).toMatch(
      /Allowed for this session: echo two \.\.\.\..*run_command echo one\n {2}one\n/s,
    );
    run.press('/allowed\r');
    expect(await run.waitFor(prompt)).toContain('1  echo one\n2  echo two ...\n');
    run.press('/allowed drop 3\r');
    expect(await run.waitFor(prompt)).toContain('No allowed command has the number 3.');
    run.press('/allowed drop 1\r');
    expect(await run.waitFor(prompt)).toContain('teddy will ask about it again: echo one');
    run.press('Once more\r');
    await run.waitFor(allow);
    run.press('n\r');
    await run.waitFor(prompt);
    run.press(ctrlD);
    expect(await run.exitCode).toBe(0);
    expect(await project.repo.git('status', '--porcelain')).toBe('');
  });

  test('a call is not done when it is denied, when it is answered with an instruction, and after Ctrl-C', async () => {
    const call = command('echo no > made.txt');
    await open([call, 'As you wish.', call, 'So be it.', command('rm *.tmp')]);
    await project.repo.write('kept.tmp', 'kept\n');
    const run = chat();
    await run.waitFor(prompt);
    run.press('Run it\r');
    await run.waitFor(allow);
    run.press('n\r');
    expect(await run.waitFor(prompt)).toMatch(/ {2}denied\n.*say what the model should do instead/s);
    run.press('Leave it\r');
    expect(await run.waitFor(prompt)).toContain('As you wish.');
    expect(JSON.stringify(sent())).toContain('Tool execution denied by user');

    run.press('Run it again\r');
    await run.waitFor(allow);
    run.press('i\r');
    await run.waitFor('What should the model do instead? ');
    run.press('\r');
    await run.waitFor(allow);
    run.press('i\r');
    await run.waitFor('What should the model do instead? ');
    run.press('Use printf\r');
    expect(await run.waitFor(prompt)).toMatch(/ {2}not run; the model follows your instruction\n.*So be it\./s);
    expect(JSON.stringify(sent())).toContain('Nothing was run. The user says instead: Use printf');

    // The first words of this one say too little for p.
    run.press('Clean up\r');
    expect(await run.waitFor('Allow this? [y,a,n,i,?] ')).not.toContain('every command that begins');
    run.press('p\r');
    await run.waitFor('Allow this? [y,a,n,i,?] ');
    run.press(ctrlC);
    expect(await run.waitFor(prompt)).toContain('Stopped.');
    run.press('/quit\r');
    expect(await run.exitCode).toBe(0);
    expect(await project.repo.read('kept.tmp')).toBe('kept\n');
    await expect(project.repo.read('made.txt')).rejects.toThrow('ENOENT');
    expect((await project.subjects())[0]).toMatch(/^turn \d\d exchange: call run_command$/);
  });

  test('what was typed before a question of /execute approves nothing', async () => {
    await open([createPlan('a.txt', 'A\n')]);
    const run = chat();
    await run.waitFor(prompt);
    run.press('/plan Make a.txt\r');
    await run.waitFor('/execute runs it');
    await run.waitFor(prompt);
    run.press('/execute\r');
    await run.waitFor('/execute\n');
    run.press('y\r');
    await run.waitFor(',q,?] ');
    await new Promise((resolve) => setTimeout(resolve, 300));
    await expect(project.repo.read('a.txt')).rejects.toThrow('ENOENT');
    run.press('n\r');
    await run.waitFor(prompt);
    // The letter is not in the edit line: Ctrl-D leaves only from an empty one.
    run.press(ctrlD);
    expect(await run.exitCode).toBe(0);
  });

  test('Ctrl-C stops an answer, keeps its part, and the next message goes on', async () => {
    await open([{ text: 'One two three four five six seven eight nine ten' }, 'Fine.'], {
      chunkSize: 4,
      chunkDelayMs: 150,
    });
    const run = chat();
    await run.waitFor(prompt);
    run.press('Count\r');
    await run.waitFor('One two');
    run.press(ctrlC);
    const stopped = await run.waitFor(prompt);
    expect(stopped).toMatch(/what arrived \(\d+ characters\) was saved in turn 01/);
    expect(stopped).toContain('Stopped. Use /retry to ask again');
    expect(stopped).not.toContain('[INTERRUPTED]');
    run.press('Go on\r');
    await run.waitFor('Fine.');
    await run.waitFor(prompt);
    run.press(ctrlD);
    expect(await run.exitCode).toBe(0);
    const history = await project.ok('session', 'history', '--format', 'openai');
    expect(history).toMatch(/One two.*\[interrupted\]/);
    expect(JSON.stringify(sent())).toContain('One two');
  });

  test('Ctrl-C ends a running command, and what it had done is kept', async () => {
    await open([command('echo be""gun; sleep 30; echo en""ded'), 'Fine.']);
    const run = chat('-y');
    await run.waitFor(prompt);
    run.press('Run it\r');
    await run.waitFor('begun');
    run.press(ctrlC);
    expect(await run.waitFor(prompt)).toMatch(/ {2}stopped\n/);
    run.press('/retry\r');
    await run.waitFor('Fine.');
    await run.waitFor(prompt);
    run.press(ctrlC);
    expect(await run.exitCode).toBe(130);
    expect(JSON.stringify(sent())).toContain('Tool execution aborted by user');
    expect(run.text()).not.toContain('ended');
  });

  test('/plan, /execute, /undo, /branch and /history do what the commands of the shell do', async () => {
    await open([createPlan('a.txt', 'A\n'), 'Another way.']);
    const run = chat();
    await run.waitFor(prompt);
    run.press('/history\r');
    expect(await run.waitFor(prompt)).toContain('There are no messages yet.');
    run.press('/execute\r');
    expect(await run.waitFor(prompt)).toContain('[NO_PENDING_PLAN]');
    run.press('/plan Make a.txt\r');
    expect(await run.waitFor(prompt)).toMatch(
      /a plan with 1 action committed as .*Turn 01 has a pending plan: \/execute/s,
    );
    run.press('And more\r');
    const pending = await run.waitFor(prompt);
    expect(pending).toMatch(/\[PLAN_PENDING\]\nhint: {2}\/execute runs it\./);
    expect(project.server.requests()).toHaveLength(1);
    run.press('/execute\r');
    await run.waitFor(',q,?] ');
    run.press('y\r');
    expect(await run.waitFor(prompt)).toMatch(/SUCCESS turn 01 of \S+: 1 file changed/);
    run.press('/undo\r');
    expect(await run.waitFor(prompt)).toContain('1 file of turn 01 taken back');
    run.press('/branch 01 Do it differently\r');
    const branched = await run.waitFor(prompt);
    expect(branched).toMatch(/Switched to the new branch teddy\/\d{8}-talk--01-branch-01, turn 01-branch-01\./);
    expect(branched).toContain('Another way.');
    run.press('/history\r');
    expect(await run.waitFor('Another way.')).toContain('Do it differently');
    await run.waitFor(prompt);
    run.press('/quit\r');
    expect(await run.exitCode).toBe(0);
    expect((await project.repo.git('branch', '--show-current')).trim()).toMatch(/--01-branch-01$/);
    expect((await project.subjects())[0]).toBe('turn 01-branch-01 reply: Another way.');
  });

  test('a file that the model writes is asked about and committed', async () => {
    await open([
      call('WritePlanTool_begin', { intent: 'a guide', target_file: 'guide.md', operation: 'create' }),
      '# Guide\n\nDONE\n',
      'It is there.',
    ]);
    const run = chat();
    await run.waitFor(prompt);
    run.press('Write a guide\r');
    expect(await run.waitFor(allow)).toContain('WritePlanTool_begin create guide.md (a guide)');
    run.press('y\r');
    const written = await run.waitFor(prompt);
    expect(written).toMatch(/ {2}guide\.md was written and committed as [0-9a-f]{10}\n.*It is there\./s);
    run.press(ctrlD);
    expect(await run.exitCode).toBe(0);
    expect(await project.repo.read('guide.md')).toBe('# Guide\n\n');
    expect(await project.repo.git('log', '--format=%s', '-1', '--', 'guide.md')).toContain('write');
  });

  test('a second Ctrl-C leaves at once, without waiting for a command that does not end', async () => {
    await open([command('trap \'\' TERM INT; echo be""gun; for i in 1 2 3 4 5 6 7 8 9; do sleep 1; done'), 'Fine.']);
    const run = chat('-y');
    await run.waitFor(prompt);
    run.press('Run it\r');
    await run.waitFor('begun');
    run.press(ctrlC);
    await new Promise((resolve) => setTimeout(resolve, 300));
    run.press(ctrlC);
    expect(await run.exitCode).toBe(130);
    expect(run.text()).toContain('Exiting at once');
    const again = chat();
    expect(await again.waitFor(prompt)).toContain('/retry asks again');
    again.press('/retry\r');
    await again.waitFor('Fine.');
    await again.waitFor(prompt);
    again.press(ctrlD);
    expect(await again.exitCode).toBe(0);
    expect(JSON.stringify(sent())).toContain('was interrupted by a crash; its result is not known');
  });

  test('it stays on its line when HEAD is switched meanwhile', async () => {
    await open(['One.', 'Two.']);
    const branch = (await project.repo.git('branch', '--show-current')).trim();
    const run = chat();
    await run.waitFor(prompt);
    run.press('First\r');
    await run.waitFor('One.');
    await run.waitFor(prompt);
    await project.begin('newer');
    run.press('Second\r');
    await run.waitFor('Two.');
    await run.waitFor(prompt);
    run.press(ctrlD);
    expect(await run.exitCode).toBe(0);
    expect(await project.subjects(branch)).toContain('turn 02 reply: Two.');
    expect((await project.subjects())[0]).toMatch(/^start: \d{8}-newer$/);
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
    await run.waitFor(prompt);
    run.press('Count\r');
    await run.waitFor('One two');
    await run.close();
    await ended();
    expect(await project.ok('session', 'history')).toMatch(/One two.*\[interrupted\]/);
  });

  test('SIGTERM in an answer ends the conversation with 130', async () => {
    await open([{ text: 'One two three four five six seven eight nine ten' }], { chunkSize: 4, chunkDelayMs: 200 });
    const through = 'echo $$ > .git/pid; exec';
    const run = runInTerminal(['session', 'chat'], { cwd: project.repo.root, env: project.env, through });
    await run.waitFor(prompt);
    run.press('Count\r');
    await run.waitFor('One two');
    process.kill(Number(await project.repo.read('.git/pid')), 'SIGTERM');
    expect(await run.exitCode).toBe(130);
  });
});

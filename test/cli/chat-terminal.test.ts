/** `teddy chat` at a terminal: a conversation, its questions and commands. Signals and real commands are in e2e. */
import { openMemoryBegun, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, describe, expect } from 'vitest';
import type { ServerAnswer } from '../support/model-server.ts';
import { ctrlC, ctrlD, type TerminalRun } from '../support/run-in-terminal.ts';
import { createPlan } from '../support/teddy-project.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

let project: MemoryTeddy;

afterEach(() => project.close());

const prompt = '\n> ';
// The letters before these depend on the call.
const allow = ',n,i,?] ';

async function open(answers: ServerAnswer[], pace: { chunkSize?: number; chunkDelayMs?: number } = {}): Promise<void> {
  ({ project } = await openMemoryBegun('talk', { answers, ...pace }));
}

function chat(...args: string[]): TerminalRun {
  return project.inTerminal(['session', 'chat', ...args]);
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

describe('a conversation', () => {
  test('a long command is cut before the question and shown whole on e, with nothing hidden in it', async () => {
    const lines = Array.from({ length: 60 }, (_, at) => `echo line${at}`);
    await open([command(`${lines.join('\n')}\necho \u001b[8mhidden`), 'Done.']);
    const run = chat();
    await run.play([prompt, 'Run it\r']);
    const cut = await run.waitFor('Allow this? [y,n,i,e,?] ');
    expect(cut).toContain('  echo line10\n');
    expect(cut).not.toContain('echo line50');
    run.press('e\r');
    const whole = await run.waitFor('Allow this? [y,n,i,e,?] ');
    expect(whole).toContain('  echo line59\n  echo ␛[8mhidden\n');
    run.press('n\r');
    await run.play([prompt, ctrlD]);
    expect(await run.exitCode).toBe(0);
    expect(run.raw()).not.toContain('\u001b[8m');
  });

  slowTest('what was typed before a question is no answer to it, and stands at the next prompt', async () => {
    await open([command('sleep 0.2; echo ran'), 'Done.'], { chunkDelayMs: 300 });
    const run = chat();
    await run.play([prompt, 'Run it\r'], ['asking gpt-test', 'y\ry']);
    await run.waitFor(allow);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(run.text()).not.toContain('Exit code');
    run.press('n\r');
    await run.waitFor('say what the model should do instead.');
    await run.waitFor('> y\n. y');
    expect(project.server.requests()).toHaveLength(1);
    run.press(ctrlC);
    await run.play([prompt, ctrlC]);
    expect(await run.exitCode).toBe(130);
  });

  slowTest(
    'what is pasted while an answer comes is one text at the next prompt, and nothing in it is done',
    async () => {
      await open([{ text: 'One two three four' }, 'Five.'], { chunkSize: 4, chunkDelayMs: 200 });
      const run = chat('-y');
      await run.play([prompt, 'Count\r'], ['One', '\u001b[200~/plan one\r/undo\r\rpasted three\u001b[201~']);
      await run.waitFor('Turn 01 is answered');
      await run.waitFor('> /plan one\n. /undo\n. \n. pasted three');
      expect(project.server.requests()).toHaveLength(1);
      run.press(' and more\r');
      await run.waitFor('Five.');
      await run.waitFor(prompt);
      expect(sent().at(-1)?.content).toMatch(/\/plan one\n\/undo\n\npasted three and more$/);
      expect((await project.subjects())[0]).toBe('turn 02 reply: Five.');
      run.press(ctrlD);
      expect(await run.exitCode).toBe(0);
      expect(run.raw().split('\u001b[?2004l')).toHaveLength(2);
    },
  );

  slowTest('a command that is typed while an answer comes waits for Enter', async () => {
    await open([{ text: 'One two three four' }], { chunkSize: 4, chunkDelayMs: 200 });
    const run = chat('-y');
    await run.play([prompt, 'Count\r'], ['One', '/quit\r']);
    await run.waitFor('Turn 01 is answered');
    await run.waitFor('> /quit');
    await new Promise((resolve) => setTimeout(resolve, 300));
    run.press(ctrlC);
    await run.play([prompt, '/help\r']);
    await run.waitFor('/branch <turn>');
    await run.play([prompt, ctrlD]);
    expect(await run.exitCode).toBe(0);
  });

  test('a message of several lines is one message: typed, quoted or pasted', async () => {
    await open(['One.', 'Two.', 'Three.', 'Four.']);
    const run = chat();
    await run.play([prompt, 'first\\\rsecond\r']);
    await run.waitFor('One.');
    await run.waitFor(prompt);
    expect(sent().at(-1)?.content).toMatch(/first\nsecond$/);
    run.press('"""\ra\r\rb\r"""\r');
    await run.waitFor('Two.');
    await run.waitFor(prompt);
    expect(sent().at(-1)?.content).toMatch(/a\n\nb$/);
    run.press('\u001b[200~/quit\r"""\rlast\u001b[201~');
    await run.waitFor('last');
    expect(project.server.requests()).toHaveLength(2);
    run.press(ctrlC);
    await run.play([prompt, '\u001b[200~pasted\r"""\rlast\u001b[201~\r']);
    await run.waitFor('Three.');
    await run.waitFor(prompt);
    expect(sent().at(-1)?.content).toMatch(/pasted\n"""\nlast$/);
    // The up arrow brings it back as a whole.
    run.press('\u001b[A\r');
    await run.waitFor('Four.');
    await run.waitFor(prompt);
    expect(sent().at(-1)?.content).toMatch(/pasted\n"""\nlast$/);
    run.press(ctrlD);
    expect(await run.exitCode).toBe(0);
    expect(run.raw()).toContain('\u001b[?2004h');
    expect(run.raw().lastIndexOf('\u001b[?2004l')).toBeGreaterThan(run.raw().lastIndexOf('\u001b[?2004h'));
  });

  test('an empty line asks nobody, an unknown command is named and not sent, and two slashes send one', async () => {
    await open(['Sent.']);
    const run = chat();
    await run.play([prompt, '\r']);
    expect(await run.waitFor(prompt)).not.toContain('error:');
    run.press('/exceute\r');
    await run.play(
      [prompt, '/help\r', /There is no command \/exceute\. \[USAGE\]\nhint: {2}Is it \/execute\?/],
      [prompt, '', '/branch <turn> [text]'],
    );
    expect(project.server.requests()).toHaveLength(0);
    run.press('//etc/hosts is wrong\r');
    await run.waitFor('Sent.');
    expect(sent().at(-1)?.content).toMatch(/(?<!\/)\/etc\/hosts is wrong$/);
    await run.play([prompt, ctrlD]);
    expect(await run.exitCode).toBe(0);
  });

  test('/model, /agent, /add, /drop, /context, /cost and /diff look and change, and Tab completes files', async () => {
    await open(['Eight.', 'Nine.']);
    const run = chat();
    await run.waitFor(prompt);
    const say = async (keys: string) => {
      run.press(`${keys}\r`);
      return run.waitFor(prompt);
    };
    expect(await say('/model')).toContain('The model is gpt-test at ');
    expect(await say('/model gpt-other')).toContain('The model is gpt-other at ');
    expect(await say('/agent nobody')).toContain('There is no agent "nobody". [UNKNOWN_AGENT]');
    expect(await say('/agent dev')).toContain('The agent is dev.');
    expect(await say('/drop src/app.ts')).toMatch(/src\/app\.ts/);
    run.press('/add sr\t');
    await run.play(['/add src/', 'ap\t']);
    await run.waitFor('app.ts');
    expect(await say('')).toContain('+ src/app.ts  ');
    expect(await say('/context')).toMatch(/src\/app\.ts .*\n(?:.*\n)*Budget.* for gpt-other/);
    expect(await say('Which?')).toContain('gpt-other, ');
    expect(project.server.requests().at(-1)).toMatchObject({ model: 'gpt-other' });
    expect(await say('/cost')).toMatch(/gpt-other +Which\?/);
    expect(await say('/diff')).toContain('turn 01 of ');
    run.press(ctrlD);
    expect(await run.exitCode).toBe(0);
  });

  test('what fails is told in three lines, and the conversation goes on', async () => {
    const limit: ServerAnswer = { status: 429, headers: { 'retry-after': '0' } };
    const broken: ServerAnswer = { status: 500, headers: { 'retry-after': '0' } };
    await open([
      limit,
      limit,
      limit,
      limit,
      broken,
      broken,
      broken,
      broken,
      { cutAfter: 2, text: 'This answer is cut before it comes to its end.' },
      'At last.',
    ]);
    const run = chat();
    await run.play(
      [prompt, 'Hello\r'],
      [prompt, '/retry\r', /\[MODEL_RATE_LIMIT\]\nhint: {2}.*\n\/retry asks again\./],
      [prompt, '/retry\r', '[MODEL_FAILED]'],
      [prompt, '/retry\r', /This answer.*\[MODEL_INTERRUPTED\]/s],
    );
    await run.waitFor('At last.');
    await run.play([prompt, ctrlD]);
    expect(await run.exitCode).toBe(0);
    const subjects = await project.subjects();
    expect(subjects.filter((subject) => subject.startsWith('turn 01 message'))).toHaveLength(1);
  });

  test('/retry asks for a plan again where a plan was asked for', async () => {
    const broken: ServerAnswer = { status: 500, headers: { 'retry-after': '0' } };
    await open([broken, broken, broken, broken, createPlan('a.txt', 'A\n')]);
    const run = chat();
    await run.play(
      [prompt, '/plan Make a.txt\r'],
      [prompt, '/retry\r', '[MODEL_FAILED]'],
      [prompt, ctrlD, '/execute runs it'],
    );
    expect(await run.exitCode).toBe(0);
    // A conversation has tools, a plan has none.
    expect(project.server.requests().map(({ body }) => body['tools'])).toEqual(Array(5).fill(undefined));
  });

  test('escape sequences of a model are shown, not obeyed', async () => {
    await open([{ text: 'Look: \u001b[2J\u001b]0;title\u0007 \u202Eevil' }], { chunkSize: 3 });
    const run = chat();
    await run.play([prompt, 'Show\r'], [prompt, ctrlD, 'Look: ␛[2J␛]0;title␇ <U+202E>evil']);
    expect(await run.exitCode).toBe(0);
    for (const obeyed of ['\u001b[2J', '\u001b]0;', '\u202E']) expect(run.raw()).not.toContain(obeyed);
  });

  test('with --no-stream nothing of an answer is shown before it is whole', async () => {
    await open([{ text: 'One two three four five' }], { chunkSize: 4, chunkDelayMs: 60 });
    const run = chat('--no-stream');
    await run.play([prompt, 'Count\r']);
    await run.waitFor('One two three four five\n');
    expect(project.server.requests()[0]?.body).toMatchObject({ stream: false });
    await run.play([prompt, ctrlD]);
    expect(await run.exitCode).toBe(0);
  });

  test('without a model it ends with 5, after the message is safe', async () => {
    await open([]);
    const run = project.inTerminal(['session', 'chat'], {
      env: { OPENAI_BASE_URL: undefined, OPENAI_API_KEY: undefined },
    });
    await run.play([prompt, 'Hello\r']);
    expect(await run.exitCode).toBe(5);
    expect(run.text()).toMatch(/your message is committed; no model was asked\.\n.*\[NO_MODEL\]/s);
    const again = chat();
    await again.play([prompt, ctrlD, 'Turn 01 has a message without an answer: /retry asks again.']);
    expect(await again.exitCode).toBe(0);
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
    await run.play(
      [prompt, 'Run it\r'],
      ['Allow this? [y,a,p,n,i,?] ', '?\r', 'run_command echo one\np: every command that begins with "echo one"\n'],
      [allow, 'a\r', 'do not ask again about commands that begin with `echo one`'],
      [prompt, 'Again\r', 'Allowed for this session: echo one.'],
      [allow, 'p\r', 'run_command echo two'],
      [prompt, '/allowed\r', /Allowed for this session: echo two \.\.\.\..*run_command echo one\n/s],
      [prompt, '/allowed drop 3\r', '1  echo one\n2  echo two ...\n'],
      [prompt, '/allowed drop 1\r', 'No allowed command has the number 3.'],
      [prompt, 'Once more\r', 'teddy will ask about it again: echo one'],
      [allow, 'n\r'],
      [prompt, ctrlD],
    );
    expect(await run.exitCode).toBe(0);
  });

  test('a call is not done when it is denied, when it is answered with an instruction, and after Ctrl-C', async () => {
    const call = command('echo no > made.txt');
    await open([call, 'As you wish.', call, 'So be it.', command('rm *.tmp')]);
    await project.repo.write('kept.tmp', 'kept\n');
    const run = chat();
    await run.play(
      [prompt, 'Run it\r'],
      [allow, 'n\r'],
      [prompt, 'Leave it\r', / {2}denied\n.*say what the model should do instead/s],
      [prompt, '', 'As you wish.'],
    );
    expect(JSON.stringify(sent())).toContain('Tool execution denied by user');

    run.press('Run it again\r');
    await run.play(
      [allow, 'i\r'],
      ['What should the model do instead? ', '\r'],
      [allow, 'i\r'],
      ['What should the model do instead? ', 'Use printf\r'],
      [prompt, '', / {2}not run; the model follows your instruction\n.*So be it\./s],
    );
    expect(JSON.stringify(sent())).toContain('Nothing was run. The user says instead: Use printf');

    // The first words of this one say too little for p.
    run.press('Clean up\r');
    expect(await run.waitFor('Allow this? [y,a,n,i,?] ')).not.toContain('every command that begins');
    run.press('p\r');
    await run.play(['Allow this? [y,a,n,i,?] ', ctrlC], [prompt, '/quit\r', 'Stopped.']);
    expect(await run.exitCode).toBe(0);
    expect(await project.repo.read('kept.tmp')).toBe('kept\n');
    expect(await project.repo.list('.')).not.toContain('made.txt');
    expect((await project.subjects())[0]).toMatch(/^turn \d\d exchange: call run_command$/);
  });

  test('Ctrl-C stops an answer, keeps its part, and the next message goes on', async () => {
    await open([{ text: 'One two three four five six seven eight nine ten' }, 'Fine.'], {
      chunkSize: 4,
      chunkDelayMs: 150,
    });
    const run = chat();
    await run.play([prompt, 'Count\r'], ['One two', ctrlC]);
    const stopped = await run.waitFor(prompt);
    expect(stopped).toMatch(/the part that arrived \(\d+ characters\) was saved in turn 01/);
    expect(stopped).toContain('Stopped. Use /retry to ask again');
    expect(stopped).not.toContain('[INTERRUPTED]');
    run.press('Go on\r');
    await run.waitFor('Fine.');
    await run.play([prompt, ctrlD]);
    expect(await run.exitCode).toBe(0);
    const history = await project.ok('session', 'history', '--format', 'openai');
    expect(history).toMatch(/One two.*\[interrupted\]/);
    expect(JSON.stringify(sent())).toContain('One two');
  });

  test('/plan, /execute, /undo, /branch and /history do what the commands of the shell do', async () => {
    await open([createPlan('a.txt', 'A\n'), 'Another way.']);
    const run = chat();
    await run.play(
      [prompt, '/history\r'],
      [prompt, '/execute\r', 'There are no messages yet.'],
      [prompt, '/plan Make a.txt\r', '[NO_PENDING_PLAN]'],
      [prompt, 'And more\r', /a plan with 1 action committed as .*Turn 01 has a pending plan: \/execute/s],
    );
    const pending = await run.waitFor(prompt);
    expect(pending).toMatch(/\[PLAN_PENDING\]\nhint: {2}\/execute runs it\./);
    expect(project.server.requests()).toHaveLength(1);
    run.press('/execute\r');
    await run.play(
      [',q,?] ', 'y\r'],
      [prompt, '/undo\r', /SUCCESS turn 01 of \S+: 1 file changed/],
      [prompt, '/branch 01 Do it differently\r', '1 file of turn 01 taken back'],
    );
    const branched = await run.waitFor(prompt);
    expect(branched).toMatch(/Switched to the new branch teddy\/\d{8}-talk--01-branch-01, turn 01-branch-01\./);
    expect(branched).toContain('Another way.');
    run.press('/history\r');
    expect(await run.waitFor('Another way.')).toContain('Do it differently');
    await run.play([prompt, '/quit\r']);
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
    await run.play([prompt, 'Write a guide\r'], [allow, 'y\r', 'WritePlanTool_begin create guide.md (a guide)']);
    const written = await run.waitFor(prompt);
    expect(written).toMatch(/ {2}guide\.md was written and committed as [0-9a-f]{10}\n.*It is there\./s);
    run.press(ctrlD);
    expect(await run.exitCode).toBe(0);
    expect(await project.repo.read('guide.md')).toBe('# Guide\n\n');
    expect((await project.subjects()).join()).toContain('write: create guide.md');
  });

  test('it stays on its line when HEAD is switched meanwhile', async () => {
    await open(['One.', 'Two.']);
    const branch = (await project.repo.git('branch', '--show-current')).trim();
    const run = chat();
    await run.play([prompt, 'First\r']);
    await run.waitFor('One.');
    await run.waitFor(prompt);
    await project.begin('newer');
    run.press('Second\r');
    await run.waitFor('Two.');
    await run.play([prompt, ctrlD]);
    expect(await run.exitCode).toBe(0);
    expect(await project.subjects(branch)).toContain('turn 02 reply: Two.');
    expect((await project.subjects())[0]).toMatch(/^start: \d{8}-newer$/);
  });
});

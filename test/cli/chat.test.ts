/** `teddy chat -m` and `teddy say`, as scripts use them. */
import { openMemoryBegun, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, describe, expect, test } from 'vitest';
import type { ServerAnswer } from '../support/model-server.ts';
import { createPlan } from '../support/teddy-project.ts';

let project: MemoryTeddy;

afterEach(() => project.close());

async function open(
  answers: ServerAnswer[],
  pace: { chunkSize?: number; chunkDelayMs?: number } = {},
): Promise<string> {
  const begun = await openMemoryBegun('talk', { answers, ...pace });
  project = begun.project;
  return begun.session;
}

function call(name: string, input: object, text = ''): ServerAnswer {
  return { text, toolCalls: [{ name, arguments: JSON.stringify(input) }] };
}

const chat = (...args: string[]) => project.run(['session', 'chat', ...args]);
const tip = async () => (await project.repo.git('rev-parse', 'HEAD')).trim();

describe('one exchange', () => {
  test('the answer alone is on stdout, and everything else on stderr', async () => {
    const session = await open([call('read_file', { path: 'src/app.ts' }, 'I look at it.'), 'It is \u001b[2J8080.']);
    const { exitCode, stdout, stderr } = await chat('-m', 'Which port?');
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'It is ␛[2J8080.\n' });
    expect(stderr).toMatch(
      new RegExp(
        `^Turn 01 of ${session}: asking gpt-test .*\nI look at it\\.\nread_file src/app\\.ts\n {2}.*\nTurn 01 is answered, committed as [0-9a-f]{10}`,
      ),
    );
    expect(stderr).not.toContain('Waiting');
  });

  test('a call that is not understood is shown, with what is wrong with it', async () => {
    await open([
      {
        text: '',
        toolCalls: [
          { name: 'no_such_tool', arguments: '{}' },
          { name: 'WritePlanTool_begin', arguments: '{"content":"x"}' },
        ],
      },
      'Sorry.',
    ]);
    const { exitCode, stderr } = await chat('-m', 'Go');
    expect(exitCode).toBe(0);
    expect(stderr).toMatch(/^no_such_tool \(not understood\)\n {2}failed: There is no tool /m);
    expect(stderr).toMatch(/^WritePlanTool_begin \(not understood\)\n {2}failed: \S/m);
  });

  test('-m - reads the message from stdin, and no conversation is held without a terminal', async () => {
    await open(['Fine.']);
    const read = await project.run(['session', 'chat', '-m', '-'], { stdin: 'one\n\ntwo\n' });
    expect(read).toMatchObject({ exitCode: 0, stdout: 'Fine.\n' });
    expect(project.server.requests()[0]?.messages.at(-1)?.content).toMatch(/one\n\ntwo\n?$/);
    expect(await project.refuses('USAGE', 2, ['session', 'chat'], { stdin: 'Hello\n' })).toContain('-m -');
    const { exitCode, stdout } = await chat('--json');
    expect(exitCode).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ schema: 'teddy.error/1', error: { code: 'USAGE' } });
    await project.refuses('EMPTY_MESSAGE', 2, ['session', 'chat', '-m', '  ']);
  });

  test('an answer that is a plan says what runs it, and the next message waits for that', async () => {
    await open([createPlan('a.txt', 'A\n')]);
    const planned = await chat('-m', 'Make a.txt');
    expect(planned).toMatchObject({ exitCode: 0, stdout: createPlan('a.txt', 'A\n') });
    expect(planned.stderr).toMatch(/Turn 01 is a plan with 1 action, committed.*\nNext: teddy execute\n$/s);
    await project.refuses('PLAN_PENDING', 3, ['session', 'chat', '-m', 'And more']);
    await project.ok('session', 'execute', '-y');
    expect(await project.repo.read('a.txt')).toBe('A\n');
  });

  test('a failing model is 5, and the message is committed once however often it is sent', async () => {
    const broken: ServerAnswer = { status: 500, headers: { 'retry-after': '0' } };
    await open([broken, broken, broken, broken, { cutAfter: 2, text: 'Cut before it comes to its end, so.' }, 'Fine.']);
    expect(await chat('-m', 'Hello')).toMatchObject({ exitCode: 5, stdout: '' });
    const cut = await chat('-m', 'Hello');
    expect(cut.exitCode).toBe(5);
    expect(cut.stderr).toContain('[MODEL_INTERRUPTED]');
    expect(await chat('-m', 'Hello')).toMatchObject({ exitCode: 0, stdout: 'Fine.\n' });
    const subjects = await project.subjects();
    expect(subjects.filter((subject) => subject.includes(' message: '))).toEqual(['turn 01 message: Hello']);
  });

  test('without a model it is 5 after the message is committed, also in JSON', async () => {
    await open([]);
    const env = { OPENAI_BASE_URL: undefined, OPENAI_API_KEY: undefined };
    const none = await project.run(['session', 'chat', '-m', 'Hello'], { env });
    expect(none).toMatchObject({ exitCode: 5, stdout: '' });
    expect(none.stderr).toContain('your message is committed');
    expect((await project.subjects())[0]).toBe('turn 01 message: Hello');
    const json = await project.run(['session', 'chat', '--json', '-m', 'Hello'], { env });
    expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: 'NO_MODEL' } });
  });
});

describe('say', () => {
  const say = (...args: string[]) => project.run(['session', 'say', ...args]);
  const records = async (session: string, turn = '01') => {
    const text = await project.repo.read(`.teddy/sessions/${session}/${turn}/transcript.jsonl`);
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };

  test('what was spoken is one commit each, and the next turn knows all of it', async () => {
    const session = await open(['As you said.']);
    const first = await say('--voice', '-m', 'Where is the port set?');
    expect(first).toMatchObject({ exitCode: 0, stdout: `01 ${(await tip()).slice(0, 10)}\n` });
    expect(first.stderr).toBe(`Turn 01 of ${session}: the message was added.\n`);
    await say('--voice', '--role', 'assistant', '--interrupted', '-m', 'In src');
    await say('--voice', '--interrupted');
    await say('--role', 'assistant', '-m', 'In src/app.ts.');
    expect((await records(session)).map(({ type, source, message }) => [type, source, message])).toEqual([
      ['user', 'voice_transcription', { role: 'user', content: 'Where is the port set?' }],
      ['assistant_partial', 'voice_response', { role: 'assistant', content: 'In src' }],
      ['voice_interrupted', undefined, undefined],
      ['assistant', 'text', { role: 'assistant', content: 'In src/app.ts.' }],
    ]);
    expect(await project.subjects()).toHaveLength(6);
    expect(await chat('-m', 'Go on')).toMatchObject({ exitCode: 0, stdout: 'As you said.\n' });
    const sent = JSON.stringify(project.server.requests()[0]?.messages);
    for (const said of ['Where is the port set?', 'In src', 'In src/app.ts.']) expect(sent).toContain(said);
  });

  test('an id that is there already adds nothing, and with other content it is refused', async () => {
    const session = await open([]);
    const args = ['--id', 'voice-1', '-m', 'Hello', '--json'];
    const first = JSON.parse((await say(...args)).stdout) as Record<string, unknown>;
    expect(first).toMatchObject({ schema: 'teddy.say/1', session, turn: '01', entry: 'message', isNew: true });
    const again = JSON.parse((await say(...args)).stdout) as Record<string, unknown>;
    expect(again).toEqual({ ...first, isNew: false });
    expect((await say('--id', 'voice-1', '-m', 'Hello')).stderr).toContain(
      'this record was already there, so nothing was added.',
    );
    await project.refuses('ENTRY_EXISTS', 3, ['session', 'say', '--id', 'voice-1', '-m', 'Other']);
    expect(await records(session)).toHaveLength(1);
  });

  test('what is not UTF-8, or too long, is refused and not added', async () => {
    await open([]);
    const before = await tip();
    const stdin = new Uint8Array([0x61, 0xff, 0x62]);
    for (const verb of ['say', 'chat']) {
      expect(await project.refuses('USAGE', 2, ['session', verb, '-m', '-'], { stdin })).toContain(
        'is not UTF-8 text.',
      );
    }
    const large = await project.refuses('CONTENT_TOO_LARGE', 1, ['session', 'say', '-m', '-'], {
      stdin: 'a'.repeat(11 * 1024 * 1024),
    });
    expect(large).toContain('The text is longer than 10 MiB.');
    expect(large).not.toContain('maxBytes');
    expect(await tip()).toBe(before);
  });

  test('what says nothing, or contradicts itself, is refused', async () => {
    await open([]);
    await project.refuses('EMPTY_MESSAGE', 2, ['session', 'say']);
    await project.refuses('EMPTY_MESSAGE', 2, ['session', 'say', '--interrupted']);
    await project.refuses('EMPTY_MESSAGE', 2, ['session', 'say', '-m', ' ']);
    await project.refuses('EMPTY_MESSAGE', 2, ['session', 'say', '-m', '-'], { stdin: '' });
    await project.refuses('USAGE', 2, ['session', 'say', '--role', 'system', '-m', 'x']);
    await project.refuses('USAGE', 2, ['session', 'say', '-m', 'x', '--message', 'y']);
    await project.refuses('USAGE', 2, ['session', 'say', '--role', 'user', '--interrupted', '-m', 'x']);
  });
});

describe('a call', () => {
  const command = { text: '', toolCalls: [{ name: 'run_command', arguments: '{"command":"echo ran > made.txt"}' }] };

  test('is in the one document of --json, with the answer', async () => {
    const session = await open([command, { text: 'It failed.', usage: { prompt_tokens: 10, completion_tokens: 5 } }]);
    project.memory.command.run = async () => ({ exitCode: 3 });
    const { exitCode, stdout, stderr } = await chat('-y', '--json', '-m', 'Run it');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'teddy.chat/1',
      session,
      line: `teddy/${session}`,
      turn: '01',
      entry: 'reply',
      commit: await project.repo.git('rev-parse', 'HEAD'),
      text: 'It failed.',
      calls: [{ name: 'run_command', summary: 'run_command echo ran > made.txt', outcome: 'failed' }],
      usage: { output: expect.any(Number) },
    });
  });

  test('that nobody can approve is denied: 4, and what ran before it is kept', async () => {
    const read = { name: 'read_file', arguments: '{"path":"src/app.ts"}' };
    await open([{ ...command, toolCalls: [read, ...command.toolCalls] }, command]);
    const denied = await chat('-m', 'Run it');
    expect(denied).toMatchObject({ exitCode: 4, stdout: '' });
    expect(denied.stderr).toMatch(/\[NOT_APPROVED\]\nhint: {2}Use -y to approve/);
    expect(denied.stderr).toContain('run_command echo ran > made.txt\n  denied\n');
    const json = await chat('--json', '-m', 'Run it again');
    expect(json).toMatchObject({ exitCode: 4, stderr: '' });
    expect(JSON.parse(json.stdout)).toMatchObject({
      entry: 'exchange',
      text: null,
      calls: [{ name: 'run_command', outcome: 'denied' }],
    });
    const history = await project.ok('session', 'history', '--format', 'openai');
    for (const text of ['export const port', 'Tool execution denied by user']) expect(history).toContain(text);
  });
});

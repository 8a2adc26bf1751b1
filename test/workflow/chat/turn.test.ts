/** A conversation: the line after each step, and what the model is sent. */
import { describe, expect } from 'vitest';
import { given } from '../../support/given.ts';
import { checkHistory } from '../../support/check-history.ts';
import { toOpenaiMessages } from '../../support/openai-messages.ts';
import { TeddyError } from '../../../src/errors.ts';
import type { AnswerTarget } from '../../../src/ports/disk.ts';
import type { SessionId } from '../../../src/names.ts';
import type { ModelRequest } from '../../../src/ports/model.ts';
import { encodeRecord } from '../../../src/conversation/records/transcript.ts';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import { appendRecords } from '../../../src/workflow/line/append-records.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { chat, command, notedListener, readme, toolCall } from '../../support/chat.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { assistant, call, recordsOf, result, user } from '../../support/records.ts';
import { scriptedModel, type ScriptedModel } from '../../support/scripted-model.ts';
import { create, line, planOf, run, say, session, storyOfLine } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const begun = ["'First commit'", 'start'];

const typesOf = async (project: MemoryProject, turn = '01') =>
  (await recordsOf(project, turn)).map((record) =>
    record.type === 'tool_result' && record.reason ? `${record.type} ${record.reason}` : record.type,
  );

/** The rest of the request, beside the system prompt and the message in the log. */
function following(request: ModelRequest | undefined): unknown[] {
  return (request?.messages ?? []).slice(2);
}

function expectValid(model: ScriptedModel): void {
  for (const { messages } of model.requests) expect(checkHistory('openai', toOpenaiMessages(messages))).toEqual([]);
}

async function entryAt(project: MemoryProject) {
  return decodeEntry((await project.repository.store.readCommit(await project.tipOf(line))).message);
}

describe('a message', () => {
  test('is on the line before the model is asked, and its answer is a reply', async () => {
    const project = await given.session();
    const seen: string[][] = [];
    const model = scriptedModel({
      texts: ['It is ', 'a test.'],
      meanwhile: async () => void seen.push(await storyOfLine(project)),
    });
    const outcome = await chat(project, 'What is this?', model);
    expect(seen).toEqual([[...begun, 'message 01']]);
    expect(outcome).toMatchObject({
      kind: 'answered',
      turn: '01',
      entry: 'reply',
      text: 'It is a test.',
      exchanges: 0,
    });
    expect(await storyOfLine(project)).toEqual([...begun, 'message 01', 'reply 01']);
    expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual([
      'read_file',
      'list_files',
      'search_text',
      'run_command',
      'edit_file',
      'WritePlanTool_begin',
    ]);
  });

  test('that is answered with a plan waits for the plan’s execution', async () => {
    const project = await given.session();
    expect(await chat(project, 'Make a file.', planOf([create('a.txt')]))).toMatchObject({ entry: 'plan', actions: 1 });
    await expect(chat(project, 'And another.', 'No.')).rejects.toMatchObject({ code: 'PLAN_PENDING' });
    await run(project);
    expect(await chat(project, 'And another.', 'Yes.')).toMatchObject({ turn: '02', entry: 'reply' });
  });

  test('whose answer the endpoint ended badly has none of its calls run', async () => {
    const project = await given.session();
    const calls = [{ id: 'a', name: 'run_command', arguments: '{"command":"touch made"}' }];
    const model = scriptedModel({ texts: ['I run it.'], calls, finish: 'other', said: 'SAFETY' }, 'Done.');
    await expect(chat(project, 'Run it.', model)).rejects.toMatchObject({ code: 'MODEL_INTERRUPTED' });
    expect(model.requests).toHaveLength(1);
    expect(await entryAt(project)).toMatchObject({ kind: 'reply', status: 'PARTIAL' });
  });

  test('is asked together with the earlier messages, typed or spoken, in either mode', async () => {
    const project = await given.session();
    await appendRecords(project, { records: [user('a', 'My dog is Rex.', 'voice_transcription')] });
    await appendRecords(project, { records: [assistant('b', 'Nice.', 'voice_response')] });
    const model = scriptedModel('Rex.', planOf([create('a.txt')]));
    await chat(project, 'What is his name?', model);
    await say(project, 'Write it down.', model);
    const [first, second] = model.requests.map(({ messages }) => messages[1]?.content ?? '');
    expect(first).toContain('My dog is Rex.');
    expect(first).toContain('Nice.');
    expect(second).toContain('What is his name?');
  });

  test('that is interrupted before the model is asked is kept, and nobody is asked', async () => {
    const project = await given.session();
    const model = scriptedModel('Never.');
    const listener = notedListener();
    const chatting = chat(project, 'Hello', model, { signal: AbortSignal.abort(), listener });
    await expect(chatting).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(model.requests).toEqual([]);
    expect(listener.noted).toEqual([]);
    expect(await storyOfLine(project)).toEqual([...begun, 'message 01']);
    expect(await chat(project, undefined, 'Hi.')).toMatchObject({ turn: '01', entry: 'reply' });
  });

  test('that is empty is refused, as is none at all if no message waits', async () => {
    const project = await given.session();
    for (const message of ['  ', undefined]) {
      await expect(chat(project, message, 'x')).rejects.toMatchObject({ code: 'EMPTY_MESSAGE' });
    }
    expect(await storyOfLine(project)).toEqual(begun);
  });

  test('stays if no model is configured', async () => {
    const project = await given.session();
    expect(await chat(project, 'Hello', null)).toMatchObject({ kind: 'open', turn: '01' });
    expect(await chat(project, undefined, 'Hi.')).toMatchObject({ turn: '01', entry: 'reply' });
    expect(await typesOf(project)).toEqual(['user', 'assistant']);
  });
});

describe('tools', () => {
  test('and their results are one entry, and go back to the model in the order of the calls', async () => {
    const project = await given.session();
    const model = scriptedModel(
      {
        texts: ['I look.'],
        calls: [readme('call_a'), toolCall('call_b', 'list_files')],
        usage: { inputTokens: 5, outputTokens: 2 },
      },
      { texts: ['Notes.'], usage: { inputTokens: 7, outputTokens: 1 } },
    );
    const listener = notedListener();
    const outcome = await chat(project, 'What is in it?', model, { listener });
    expect(outcome).toMatchObject({ kind: 'answered', exchanges: 1, text: 'Notes.', usage: { input: 12, output: 3 } });
    expect(await storyOfLine(project)).toEqual([...begun, 'message 01', 'exchange 01', 'reply 01']);
    expect(await typesOf(project)).toEqual([
      'user',
      'assistant',
      'tool_use',
      'tool_use',
      'tool_result',
      'tool_result',
      'assistant',
    ]);
    expect(following(model.requests[1])).toMatchObject([
      { role: 'assistant', content: 'I look.', toolCalls: [{ id: 'call_a', name: 'read_file' }, { id: 'call_b' }] },
      { role: 'tool', toolCallId: 'call_a', content: expect.stringContaining('# Notes') as string },
      { role: 'tool', toolCallId: 'call_b' },
    ]);
    expectValid(model);
    expect(listener.noted.filter((note) => !note.startsWith('call'))).toEqual([
      'ask 1',
      'text I look.',
      'result read_file done',
      'result list_files done',
      'ask 2',
      'text Notes.',
    ]);
  });

  test('are on the line before the model is asked again', async () => {
    const project = await given.session();
    const failed = new TeddyError('MODEL_FAILED', 'Failed.');
    await expect(chat(project, 'Look.', scriptedModel({ texts: [], calls: [readme('a')] }, failed))).rejects.toBe(
      failed,
    );
    expect(await storyOfLine(project)).toEqual([...begun, 'message 01', 'exchange 01']);
    const model = scriptedModel('Notes.');
    expect(await chat(project, undefined, model)).toMatchObject({ turn: '01' });
    expect(following(model.requests[0])).toMatchObject([{ role: 'assistant' }, { role: 'tool', toolCallId: 'a' }]);
    expect(await typesOf(project)).toEqual(['user', 'tool_use', 'tool_result', 'assistant']);
  });

  test('that are called in two steps are two entries and two messages', async () => {
    const project = await given.session();
    const model = scriptedModel(
      { texts: [], calls: [readme('a')] },
      { texts: [], calls: [readme('b')] },
      'Twice the same.',
    );
    await chat(project, 'Look twice.', model);
    expect(await storyOfLine(project)).toEqual([...begun, 'message 01', 'exchange 01', 'exchange 01', 'reply 01']);
    expect(following(model.requests[2]).map((message) => (message as { role: string }).role)).toEqual([
      'assistant',
      'tool',
      'assistant',
      'tool',
    ]);
    expectValid(model);
  });

  test('with the same id in two answers are kept apart', async () => {
    const project = await given.session();
    const model = scriptedModel(
      { texts: [], calls: [readme('call_1')] },
      { texts: [], calls: [readme('call_1')] },
      'Done.',
    );
    await chat(project, 'Look twice.', model);
    expectValid(model);
    expect(await typesOf(project)).toEqual(['user', 'tool_use', 'tool_result', 'tool_use', 'tool_result', 'assistant']);
  });

  test.each([
    ['that do not exist', toolCall('a', 'launch_rocket')],
    ['with arguments that are not JSON', toolCall('a', 'read_file', '{"path": "RE')],
    ['with arguments that are not an object', toolCall('a', 'read_file', '[1]')],
  ])('%s get an error, and the model continues', async (_, wrong) => {
    const project = await given.session();
    const model = scriptedModel({ texts: [], calls: [wrong] }, 'Sorry.');
    expect(await chat(project, 'Go.', model)).toMatchObject({ kind: 'answered', text: 'Sorry.' });
    expect(await recordsOf(project)).toMatchObject([{}, {}, { type: 'tool_result', is_error: true }, {}]);
    expectValid(model);
  });

  slowTest('that are called forever are stopped, and all their entries are kept', async () => {
    const project = await given.session();
    const model = scriptedModel(...Array.from({ length: 60 }, (_, at) => ({ texts: [], calls: [readme(`c${at}`)] })));
    const error = await chat(project, 'Go.', model).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'MODEL_STUCK', message: expect.stringContaining('50 times') as string });
    expect(model.requests).toHaveLength(50);
    expect((await storyOfLine(project)).filter((entry) => entry.startsWith('exchange'))).toHaveLength(50);
  });

  test('that are malformed in the same way three times are stopped, and their entries are kept', async () => {
    const project = await given.session();
    const cut = (at: number) => toolCall(`c${at}`, 'read_file', `{"path": "${at}`);
    const wrong = (at: number) => ({ texts: [], calls: [cut(at)] });
    const good = { texts: [], calls: [readme('r')] };
    const model = scriptedModel(good, wrong(0), wrong(1), good, wrong(2), wrong(3));
    const error = await chat(project, 'Go.', model).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'MODEL_STUCK',
      message: expect.stringMatching(
        /^the scripted model has made the same call in vain 3 times: The arguments are not a JSON object\..* teddy ended the turn there/,
      ) as string,
    });
    expect(model.requests).toHaveLength(5);
    expect((await storyOfLine(project)).filter((entry) => entry.startsWith('exchange'))).toHaveLength(5);
    expect(await chat(project, undefined, 'Sorry.')).toMatchObject({ turn: '01', text: 'Sorry.' });
  });

  test('end the turn if one fails alike three times; each has a result, and the next message is sent', async () => {
    const project = await given.session();
    const bad = (id: string) => toolCall(id, 'read_file', { path: 'none.txt' });
    const calls = [bad('a'), readme('b'), bad('c'), bad('d'), readme('e')];
    const error = await chat(project, 'Go.', scriptedModel({ texts: [], calls })).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'MODEL_STUCK',
      exitCode: 5,
      message: expect.stringContaining('none.txt') as string,
    });
    const results = (await recordsOf(project)).flatMap((record) => (record.type === 'tool_result' ? [record] : []));
    expect(results.map(({ tool_call_id: id, is_error: isError }) => [id, isError])).toEqual([
      ['a', true],
      ['b', false],
      ['c', true],
      ['d', true],
      ['e', true],
    ]);
    expect(results.at(-1)?.output).toMatch(/^Not run: the turn was ended/);
    const next = scriptedModel('I see.');
    expect(await chat(project, 'Stop reading it.', next)).toMatchObject({ text: 'I see.' });
    expectValid(next);
  });

  test('are not stopped if one fails again after a change in between', async () => {
    const project = await given.session();
    project.command.run = async (script) => ({ exitCode: script === 'npm test' ? 1 : 0 });
    const one = (id: string, script: string) => ({ texts: [], calls: [command(id, script)] });
    const scripts = ['npm test', 'npm test', 'make', 'npm test', 'npm test', 'make', 'npm test'];
    const model = scriptedModel(...scripts.map((script, at) => one(`c${at}`, script)), 'Done.');
    expect(await chat(project, 'Go.', model)).toMatchObject({ text: 'Done.' });
  });

  test('that fail ten times in a row end the turn', async () => {
    const project = await given.session();
    const bad = (at: number) => ({ texts: [], calls: [toolCall(`c${at}`, 'read_file', { path: `none${at}.txt` })] });
    const failing = Array.from({ length: 9 }, (_, at) => bad(at));
    const model = scriptedModel(...failing, { texts: [], calls: [readme('r')] }, ...failing, bad(20), 'Never.');
    await expect(chat(project, 'Go.', model)).rejects.toMatchObject({
      code: 'MODEL_STUCK',
      message: expect.stringContaining('has made 10 calls in a row that failed') as string,
    });
    expect(model.requests).toHaveLength(20);
  });

  test('beyond fifty are not run', async () => {
    const project = await given.session();
    const calls = Array.from({ length: 52 }, (_, at) => readme(`c${at}`));
    const listener = notedListener();
    const chatting = chat(project, 'Go.', scriptedModel({ texts: [], calls }), { listener });
    await expect(chatting).rejects.toMatchObject({
      code: 'MODEL_STUCK',
      message: expect.stringContaining('50 times') as string,
    });
    expect(listener.noted.filter((noted) => noted === 'result read_file done')).toHaveLength(50);
    expect(listener.noted.filter((noted) => noted === 'result read_file failed')).toHaveLength(2);
  });

  test('that are malformed in different ways are not stopped that early', async () => {
    const project = await given.session();
    const wrong = ['{"path', '{}', '[1]', '{"path": 1}', '{"a": 1}'].map((text, at) => ({
      texts: [],
      calls: [toolCall(`c${at}`, 'read_file', text)],
    }));
    expect(await chat(project, 'Go.', scriptedModel(...wrong, 'Sorry.'))).toMatchObject({ text: 'Sorry.' });
  });

  test('whose results do not fit are left out of the request, the oldest first, and stay on the line', async () => {
    const project = await given.session();
    await project.write({ 'big.txt': 'word '.repeat(3000) });
    await project.stage('big.txt');
    project.configuration.set('teddy.contextTokens', '8000');
    const big = (id: string) => toolCall(id, 'read_file', { path: 'big.txt' });
    const model = scriptedModel({ texts: [], calls: [big('a')] }, { texts: [], calls: [big('b')] }, 'Read.');
    await chat(project, 'Read it twice.', model);
    const results = following(model.requests[2]).filter((message) => (message as { role: string }).role === 'tool');
    expect(results).toMatchObject([
      { content: expect.stringMatching(/^\[left out to fit/) as string },
      { content: expect.stringMatching(/^word word/) as string },
    ]);
    expect(project.said).toContain('warning: Left out to fit the budget: 1 result of tools of turn 01.');
    expect(JSON.stringify(await recordsOf(project)).split('word word word').length).toBeGreaterThan(1000);
    expectValid(model);
  });

  test('stop when the budget is spent', async () => {
    const project = await given.session();
    project.configuration.set('teddy.maxTokens', '10');
    const usage = { inputTokens: 9, outputTokens: 9 };
    const model = scriptedModel({ texts: [], calls: [readme('a')], usage }, 'Too late.');
    await expect(chat(project, 'Go.', model)).rejects.toMatchObject({ code: 'BUDGET_SPENT' });
    expect(model.requests).toHaveLength(1);
    expect(await storyOfLine(project)).toEqual([...begun, 'message 01', 'exchange 01']);
  });
});

describe('a tool that needs approval', () => {
  const calls = [readme('a'), command('b', 'rm -rf build'), readme('c')];

  test('runs after a yes', async () => {
    const project = await given.session();
    const ran: string[] = [];
    project.command.run = async (script) => {
      ran.push(script);
      return { stdout: 'fine\n' };
    };
    const model = scriptedModel({ texts: [], calls: [command('b', 'make')] }, 'Built.');
    await chat(project, 'Build.', model, { listener: notedListener(true) });
    expect(ran).toEqual(['make']);
    expect(following(model.requests[1])).toMatchObject([{}, { content: expect.stringContaining('fine') as string }]);
  });

  test.each([[1], ['true'], ['no'], [{}], [{ instruction: ' ' }], [{ instruction: 1 }], [undefined], [Promise]])(
    'is denied by %j, which is not a yes',
    async (answer) => {
      const project = await given.session();
      project.command.run = () => Promise.reject(new Error('It ran.'));
      const model = scriptedModel({ texts: [], calls });
      const approve = () => Promise.resolve(answer as boolean);
      expect(await chat(project, 'Clean.', model, { listener: notedListener(approve) })).toMatchObject({
        kind: 'denied',
      });
    },
  );

  test('and is answered with an instruction is not run; the model gets it, and the turn continues', async () => {
    const project = await given.session();
    const ran: string[] = [];
    project.command.run = async (script) => (ran.push(script), {});
    project.secrets.set('hunter2', 'password');
    const answers = [{ instruction: 'Use trash in place of rm; it is hunter2.\n' }, true];
    const listener = notedListener(async () => answers.shift() ?? false);
    const file = toolCall('c', 'WritePlanTool_begin', { intent: 'x', target_file: 'a.txt', operation: 'create' });
    const model = scriptedModel(
      { texts: [], calls: [command('b', 'rm -rf build'), command('d', 'make')] },
      { texts: [], calls: [file] },
      'Some text.\nDONE\n',
      'As you like.',
    );
    answers.push({ instruction: 'Not this file.' });
    expect(await chat(project, 'Clean.', model, { listener })).toMatchObject({
      kind: 'answered',
      text: 'As you like.',
    });
    expect(ran).toEqual(['make']);
    expect(await typesOf(project)).toEqual([
      'user',
      'tool_use',
      'tool_use',
      'tool_result instructed',
      'tool_result',
      'tool_use',
      'tool_result instructed',
      'assistant',
    ]);
    const told = 'Nothing was run. The user says instead: Use trash in place of rm; it is [masked: password].';
    expect(following(model.requests[1])[1]).toMatchObject({ role: 'tool', toolCallId: 'b', content: told });
    expect(following(model.requests[3]).at(-1)).toMatchObject({
      content: 'Nothing was run. The user says instead: Not this file.',
    });
    expect(listener.noted).toContain('result run_command instructed');
    expectValid(model);
  });

  test('and is allowed by its first words is not asked about again in the session, unless it has an operator', async () => {
    const project = await given.session();
    const ran: string[] = [];
    project.command.run = async (script) => (ran.push(script), {});
    const asked: string[] = [];
    const listener = notedListener(async ({ summary, allowable }) => {
      asked.push(summary);
      return allowable?.words ? { allow: 'words' } : true;
    });
    const scripts = ['npm test', 'npm test -- a', 'npm test; ls', 'npm tests'];
    const calls = scripts.map((script, at) => command(`c${at}`, script));
    await chat(project, 'Test.', scriptedModel({ texts: [], calls }, 'Fine.'), { listener });
    expect(ran).toEqual(scripts);
    expect(asked).toEqual(['run_command npm test', 'run_command npm test; ls', 'run_command npm tests']);
    expect(await project.allowed.list(session as SessionId)).toMatchObject([{ text: 'npm test' }]);
    const nobody = scriptedModel({ texts: [], calls: [command('n', 'npm test')] });
    expect(await chat(project, 'Again.', nobody, { listener: notedListener(null) })).toMatchObject({ kind: 'denied' });
  });

  test('and contains a secret is not remembered', async () => {
    const project = await given.session();
    project.secrets.set('hunter2', 'password');
    const listener = notedListener(async () => ({ allow: 'line' as const }));
    const model = scriptedModel({ texts: [], calls: [command('c', 'login hunter2')] });
    expect(await chat(project, 'Log in.', model, { listener })).toMatchObject({ kind: 'denied' });
    expect(await project.allowed.list(session as SessionId)).toEqual([]);
  });

  test.each([
    ['that is denied', false],
    ['that nobody can be asked about', null],
  ])('%s ends the turn: earlier results stay, the remaining calls are denied as well', async (_, answer) => {
    const project = await given.session();
    project.command.run = () => Promise.reject(new Error('It ran.'));
    const model = scriptedModel({ texts: ['I clean up.'], calls });
    const outcome = await chat(project, 'Clean.', model, { listener: notedListener(answer) });
    expect(outcome).toMatchObject({ kind: 'denied', turn: '01' });
    expect(await typesOf(project)).toEqual([
      'user',
      'assistant',
      'tool_use',
      'tool_use',
      'tool_use',
      'tool_result',
      'tool_result denied',
      'tool_result denied',
    ]);
    expect((await recordsOf(project)).at(-1)).toMatchObject({
      output: 'Tool execution denied by user',
      is_error: true,
    });
    expect(await storyOfLine(project)).toEqual([...begun, 'message 01', 'exchange 01']);
    // The turn has ended: the next message opens another, and the model learns of the denial.
    const next = scriptedModel('As you like.');
    expect(await chat(project, 'Do not.', next)).toMatchObject({ turn: '02' });
    expect(next.requests[0]?.messages[1]?.content).toContain('Tool execution denied by user');
  });

  test('keeps the finished results if it is interrupted, and the turn waits', async () => {
    const project = await given.session();
    const controller = new AbortController();
    project.command.run = async () => {
      controller.abort();
      return { aborted: true, stdout: 'half\n' };
    };
    const model = scriptedModel({ texts: [], calls });
    const chatting = chat(project, 'Clean.', model, { signal: controller.signal });
    await expect(chatting).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(await typesOf(project)).toEqual([
      'user',
      'tool_use',
      'tool_use',
      'tool_use',
      'tool_result',
      expect.stringContaining('tool_result'),
      'tool_result aborted',
    ]);
    expect((await recordsOf(project)).at(-1)).toMatchObject({ output: 'Tool execution aborted by user' });
    expect(project.staged).toEqual([]);
    const next = scriptedModel('Going on.');
    expect(await chat(project, undefined, next)).toMatchObject({ turn: '01' });
    expectValid(next);
  });

  test('that is interrupted as the last one in its answer ends the turn there, with its result', async () => {
    const project = await given.session();
    const controller = new AbortController();
    project.command.run = async () => {
      controller.abort();
      return { aborted: true, stdout: 'half\n' };
    };
    const model = scriptedModel({ texts: [], calls: [command('a', 'make')] }, 'Not to be asked for.');
    const chatting = chat(project, 'Build.', model, { signal: controller.signal });
    await expect(chatting).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(model.requests).toHaveLength(1);
    expect(await typesOf(project)).toEqual(['user', 'tool_use', 'tool_result aborted']);
  });

  test('does not run after an interruption at the question', async () => {
    const project = await given.session();
    const controller = new AbortController();
    const listener = notedListener(async () => {
      controller.abort();
      throw new TeddyError('INTERRUPTED', 'Interrupted.');
    });
    const model = scriptedModel({ texts: [], calls: [command('a', 'make'), command('b', 'make')] });
    const chatting = chat(project, 'Build.', model, { listener, signal: controller.signal });
    await expect(chatting).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(await typesOf(project)).toEqual([
      'user',
      'tool_use',
      'tool_use',
      'tool_result aborted',
      'tool_result aborted',
    ]);
  });
});

describe('a change by a command', () => {
  test('is in the next snapshot, with new files, but without ignored files and other people’s work', async () => {
    const project = await given.session();
    await project.commit('Ignore', { '.gitignore': '*.log\n' });
    project.command.run = async () => {
      await project.write({
        'README.md': '# Changed\n',
        'made.txt': 'made\n',
        'dir/deep.txt': 'deep\n',
        'x.log': 'log\n',
      });
      return {};
    };
    await chat(project, 'Go.', scriptedModel({ texts: [], calls: [command('a', 'make')] }, 'Made.'));
    expect((await recordsOf(project))[2]).toMatchObject({
      changed_files: expect.arrayContaining(['README.md', 'made.txt', 'dir/deep.txt']) as string[],
    });
    await project.write({ 'mine.txt': 'mine\n' });
    await chat(project, 'Next.', 'Yes.');
    const tip = await project.tipOf(line);
    expect(await project.readAt(tip, 'README.md')).toBe('# Changed\n');
    expect(await project.readAt(tip, 'made.txt')).toBe('made\n');
    expect(await project.readAt(tip, 'dir/deep.txt')).toBe('deep\n');
    expect(await project.readAt(tip, 'x.log')).toBeNull();
    expect(await project.readAt(tip, 'mine.txt')).toBeNull();
    expect(await storyOfLine(project)).toContain('snapshot');
  });

  slowTest('is not in the snapshot if the user or the setting excludes it', async () => {
    const project = await given.session();
    project.command.run = async () => {
      await project.write({ 'made.txt': 'made\n', 'kept.txt': 'kept\n' });
      return {};
    };
    await chat(project, 'Go.', scriptedModel({ texts: [], calls: [command('a', 'make')] }, 'Made.'));
    await project.write({ 'made.txt': null });
    project.configuration.set('teddy.snapshot', 'none');
    await chat(project, 'Next.', 'Yes.');
    expect(await storyOfLine(project)).not.toContain('snapshot');
    project.configuration.delete('teddy.snapshot');
    await chat(project, 'Next.', 'Yes.');
    expect(await project.readAt(await project.tipOf(line), 'kept.txt')).toBe('kept\n');
  });
});

describe('a file', () => {
  const beginFile = toolCall('w', 'WritePlanTool_begin', {
    intent: 'Greet.',
    target_file: 'hello.txt',
    operation: 'create',
  });

  test('is written from the next answer and committed, and the model gets the result', async () => {
    const project = await given.session();
    const model = scriptedModel(
      { texts: ['I write it.'], calls: [beginFile] },
      { texts: ['Hello.\nDO', 'NE\n'], usage: { inputTokens: 3, outputTokens: 4 } },
      'It is there.',
    );
    expect(await chat(project, 'Write hello.txt.', model)).toMatchObject({
      text: 'It is there.',
      usage: { input: 3, output: 4 },
    });
    expect(await project.read('hello.txt')).toBe('Hello.\n');
    expect(await storyOfLine(project)).toEqual(
      [...begun, 'message 01', 'write 01', 'exchange 01', 'reply 01'].map((entry) =>
        entry === 'write 01' ? (expect.stringMatching(/^write/) as string) : entry,
      ),
    );
    const told = following(model.requests[2]);
    expect(told).toMatchObject([
      { role: 'assistant', content: 'I write it.' },
      { role: 'tool', content: expect.stringContaining('"written_path":"hello.txt"') as string },
    ]);
    expect(JSON.stringify(told)).not.toContain('Hello.');
    expect(following(model.requests[1])).toMatchObject([
      { role: 'assistant', toolCalls: [{ id: 'w' }] },
      { role: 'tool', content: expect.stringContaining('"end_marker":"DONE"') as string },
    ]);
    expectValid(model);
  });

  slowTest('is requested with a call that has its own id, even if the server gives every call the same', async () => {
    const project = await given.session();
    const again = toolCall('r', 'WritePlanTool_begin', { intent: 'x', target_file: 'a.txt', operation: 'create' });
    const model = scriptedModel(
      { texts: [], calls: [readme('r')] },
      { texts: [], calls: [again] },
      'A\nDONE\n',
      'Done.',
    );
    await chat(project, 'Write.', model);
    expect(await project.read('a.txt')).toBe('A\n');
    expectValid(model);
  });

  test('that cannot be begun is an error to the model', async () => {
    const project = await given.session();
    const bad = toolCall('w', 'WritePlanTool_begin', { intent: 'x', target_file: '../out.txt', operation: 'create' });
    const model = scriptedModel({ texts: [], calls: [bad] }, 'I see.');
    expect(await chat(project, 'Write.', model)).toMatchObject({ text: 'I see.' });
    expect(await recordsOf(project)).toMatchObject([{}, {}, { is_error: true }, {}]);
  });

  test('whose model is cut off keeps the received content, reports it, and the turn waits', async () => {
    const project = await given.session();
    const lost = new TeddyError('MODEL_INTERRUPTED', 'Lost.');
    const model = scriptedModel({ texts: [], calls: [beginFile, readme('r')] }, { texts: ['Hel'], error: lost });
    await expect(chat(project, 'Write.', model)).rejects.toMatchObject({ code: 'MODEL_INTERRUPTED' });
    expect(await typesOf(project)).toEqual(['user', 'tool_use', 'tool_use', 'tool_result', 'tool_result aborted']);
    expect([...project.writing.values()]).toHaveLength(1);
    expect(await project.read('hello.txt')).toBeNull();
  });
});

describe('an answer that is interrupted', () => {
  test('is kept in part, once, and requested anew without that part', async () => {
    const project = await given.session();
    const lost = new TeddyError('MODEL_INTERRUPTED', 'Lost.');
    const model = scriptedModel(
      { texts: [], calls: [readme('a')] },
      { texts: ['It is'], error: lost },
      'It is a test.',
    );
    await expect(chat(project, 'Tell.', model)).rejects.toBe(lost);
    expect(await typesOf(project)).toEqual(['user', 'tool_use', 'tool_result', 'assistant_partial']);
    await chat(project, undefined, model);
    expect(following(model.requests[2])).toMatchObject([{ role: 'assistant' }, { role: 'tool' }]);
    expect(await typesOf(project)).toEqual(['user', 'tool_use', 'tool_result', 'assistant_partial', 'assistant']);
  });

  test('is not sent again with the tools of the answer that replaced it', async () => {
    const project = await given.session();
    const lost = new TeddyError('MODEL_INTERRUPTED', 'Lost.');
    const failed = new TeddyError('MODEL_FAILED', 'Failed.');
    const model = scriptedModel(
      { texts: ['It i'], error: lost },
      { texts: ['I look.'], calls: [readme('a')] },
      failed,
      'It is a test.',
    );
    await expect(chat(project, 'Tell.', model)).rejects.toBe(lost);
    await expect(chat(project, undefined, model)).rejects.toBe(failed);
    await chat(project, undefined, model);
    expect(following(model.requests[3])).toMatchObject([{ role: 'assistant', content: 'I look.' }, { role: 'tool' }]);
    expect(await typesOf(project)).toEqual([
      'user',
      'assistant_partial',
      'assistant',
      'tool_use',
      'tool_result',
      'assistant',
    ]);
  });

  test('is shown to the model if the user sends another message instead', async () => {
    const project = await given.session();
    const lost = new TeddyError('MODEL_INTERRUPTED', 'Lost.');
    const model = scriptedModel({ texts: ['The sky is'], error: lost }, 'Green.');
    await expect(chat(project, 'Which colour?', model)).rejects.toBe(lost);
    expect(await chat(project, 'I mean grass.', model)).toMatchObject({ turn: '01' });
    const shown = model.requests[1]?.messages[1]?.content ?? '';
    expect(shown).toContain('Which colour?');
    expect(shown).toContain('The sky is');
    expect(shown.endsWith('I mean grass.')).toBe(true);
    expect(await typesOf(project)).toEqual(['user', 'assistant_partial', 'user', 'assistant']);
  });

  test('does not answer a plan request sent instead: its tools are in that request’s history', async () => {
    const project = await given.session();
    const failed = new TeddyError('MODEL_FAILED', 'Failed.');
    const model = scriptedModel({ texts: [], calls: [readme('a')] }, failed, planOf([create('a.txt')]));
    await expect(chat(project, 'Do it.', model)).rejects.toBe(failed);
    await say(project, undefined, model);
    const { messages, tools } = model.requests[2] as ModelRequest;
    expect(messages).toHaveLength(2);
    expect(tools).toBeUndefined();
    expect(messages[1]?.content).toContain('read_file');
    expect(await typesOf(project)).toEqual(['user', 'tool_use', 'tool_result', 'assistant']);
  });
});

describe('a message sent while the model answers', () => {
  const spoken = { records: [user('v', 'Wait.', 'voice_transcription')] };

  test('is kept, waits for its own answer, and the first answer is kept all the same', async () => {
    const project = await given.session();
    const model = scriptedModel(
      { texts: ['An answer.'], meanwhile: async () => void (await appendRecords(project, spoken)) },
      'I wait.',
    );
    expect(await chat(project, 'Tell.', model)).toMatchObject({ kind: 'answered', turn: '01' });
    const [first, , answer] = await recordsOf(project);
    expect(answer).toMatchObject({ type: 'assistant', reply_to: first?.type === 'user' ? first.id : '' });
    expect(await chat(project, undefined, model)).toMatchObject({ turn: '01', text: 'I wait.' });
    const shown = model.requests[1]?.messages[1]?.content ?? '';
    expect(shown.endsWith('Wait.')).toBe(true);
    for (const text of ['Tell.', 'An answer.']) expect(shown.split(text)).toHaveLength(2);
    expect(await typesOf(project)).toEqual(['user', 'user', 'assistant', 'assistant']);
    await expect(chat(project, undefined, model)).rejects.toMatchObject({ code: 'EMPTY_MESSAGE' });
  });

  test('and answered elsewhere loses neither the tools’ results nor the answer', async () => {
    const project = await given.session();
    const others = async () => {
      await appendRecords(project, { records: [assistant('o', 'Somebody else answers.', 'voice_response')] });
      await appendRecords(project, { records: [user('n', 'Next.')] });
    };
    const model = scriptedModel({ texts: [], calls: [readme('a')], meanwhile: others }, 'Late, but here.');
    expect(await chat(project, 'Tell.', model)).toMatchObject({ kind: 'answered', turn: '01' });
    expect(await typesOf(project, '01')).toEqual(['user', 'assistant', 'tool_use', 'tool_result', 'assistant']);
    expect(await typesOf(project, '02')).toEqual(['user']);
  });

  test('in another conversation is added, with a notice that it waits; no tool runs twice', async () => {
    const project = await given.session();
    const second = scriptedModel();
    const other = async () => {
      await expect(chat(project, 'Me too.', second)).rejects.toMatchObject({
        code: 'LOCKED',
        message: expect.stringContaining('Your message was added to turn 01') as string,
      });
    };
    const model = scriptedModel({ texts: ['An answer.'], meanwhile: other }, 'Yours.');
    await chat(project, 'Tell.', model);
    expect(second.requests).toEqual([]);
    expect(await chat(project, undefined, model)).toMatchObject({ turn: '01', text: 'Yours.' });
    expect(await typesOf(project)).toEqual(['user', 'user', 'assistant', 'assistant']);
  });
});

describe('an entry that could not be appended', () => {
  test('is put on the line by the same process’s next message, before the model is asked', async () => {
    const project = await given.session();
    const { workspace } = project.repository;
    const { publish } = workspace;
    let entries = 0;
    const locked = new TeddyError('LOCKED', 'Locked.');
    workspace.publish = async (publication) => {
      entries += 1;
      if (entries === 2) throw locked;
      return publish(publication);
    };
    const model = scriptedModel({ texts: [], calls: [readme('a')] }, 'Notes.');
    await expect(chat(project, 'Look.', model)).rejects.toBe(locked);
    expect(await typesOf(project)).toEqual(['user']);
    await chat(project, 'And now?', model);
    expect(await typesOf(project)).toEqual(['user', 'tool_use', 'tool_result', 'user', 'assistant']);
    expect(model.requests[1]?.messages[1]?.content).toContain('# Notes');
    expect(project.staged).toEqual([]);
  });
});

describe('a message that came after an interruption', () => {
  test('is sent to the model, with everything before it', async () => {
    const project = await given.session();
    const lost = new TeddyError('MODEL_INTERRUPTED', 'Lost.');
    const model = scriptedModel({ texts: ['I look.'], calls: [readme('a')] }, lost, 'I wait.');
    await expect(chat(project, 'Tell.', model)).rejects.toBe(lost);
    await appendRecords(project, { records: [user('v', 'Wait for me.', 'voice_transcription')] });
    await chat(project, undefined, model);
    const shown = model.requests[2]?.messages[1]?.content ?? '';
    expect(shown.endsWith('Wait for me.')).toBe(true);
    for (const text of ['Tell.', 'I look.', 'read_file']) expect(shown).toContain(text);
    expect(following(model.requests[2])).toEqual([]);
    expect(await typesOf(project)).toEqual(['user', 'assistant', 'tool_use', 'tool_result', 'user', 'assistant']);
  });
});

describe('calls that a crash has interrupted', () => {
  const place: AnswerTarget = {
    id: '019bf000-0000-7000-8000-00000000abcd',
    session: session as never,
    turn: '01' as never,
    ref: `refs/heads/${line}` as never,
    recordCount: 1,
    provider: 'openai',
    model: 'gpt-test',
    agent: 'pathfinder',
    unit: 'exchange',
    isChat: true,
  };
  const journal = [assistant('t', 'I look.'), call('a'), call('b', 'run_command', { command: 'make' }), result('a')];

  async function beginOpen(): Promise<MemoryProject> {
    const project = await given.session();
    await chat(project, 'Look.', null);
    return project;
  }

  test('keep the results that exist, and the others get one that reports an unknown outcome', async () => {
    const project = await beginOpen();
    project.staged.push({ place, text: journal.map(encodeRecord).join('') });
    const model = scriptedModel('I see.');
    await chat(project, undefined, model);
    // Another model is asked now, so the request differs, but it contains the message once.
    expect(await storyOfLine(project)).toEqual([...begun, 'message 01', 'exchange 01', 'message 01', 'reply 01']);
    expect(await typesOf(project)).toEqual([
      'user',
      'assistant',
      'tool_use',
      'tool_use',
      'tool_result',
      'tool_result recovered',
      'assistant',
    ]);
    expect(following(model.requests[0])).toHaveLength(3);
    expectValid(model);
    expect(project.staged).toEqual([]);
    expect(project.said.join('\n')).toContain(
      '2 tool calls from an interrupted command, 1 without a result, were saved in turn 01.',
    );
  });

  test('are flagged, and the text before them is not kept a second time', async () => {
    const project = await beginOpen();
    const ofText: AnswerTarget = { ...place, id: 't', unit: undefined } as never;
    project.staged.push({ place: ofText, text: 'I look.' }, { place, text: journal.map(encodeRecord).join('') });
    await chat(project, undefined, null);
    expect(await entryAt(project)).toMatchObject({ kind: 'exchange', status: 'RECOVERED' });
    expect(await typesOf(project)).toEqual([
      'user',
      'assistant',
      'tool_use',
      'tool_use',
      'tool_result',
      'tool_result recovered',
    ]);
  });

  test('are not kept twice if the entry existed already', async () => {
    const project = await beginOpen();
    await appendRecords(project, { records: [...journal, result('b')] });
    project.staged.push({ place, text: journal.map(encodeRecord).join('') });
    await chat(project, undefined, null);
    expect(await storyOfLine(project)).toEqual([...begun, 'message 01', 'exchange 01']);
  });

  test('leave nothing if none of them had been recorded', async () => {
    const project = await beginOpen();
    project.staged.push({ place, text: '{"type":"tool_u' });
    await chat(project, undefined, null);
    expect(await storyOfLine(project)).toEqual([...begun, 'message 01']);
  });
});

test('on a conversation branch the request keeps its turn’s context and all of its messages, once each', async () => {
  const project = await given.session();
  await chat(project, 'First.', 'One.');
  await chat(project, 'Second.', 'Two.');
  await branchSession(project, { turn: '02', switch: true });
  const lost = new TeddyError('MODEL_INTERRUPTED', 'Lost.');
  const model = scriptedModel({ texts: ['Not so'], error: lost }, { texts: ['Nor so'], error: lost }, 'So.');
  await expect(chat(project, 'Another second.', model)).rejects.toBe(lost);
  await expect(chat(project, 'Or a third.', model)).rejects.toBe(lost);
  const outcome = await chat(project, 'The last.', model);
  expect(outcome).toMatchObject({ turn: '02-branch-01', entry: 'reply' });
  const shown = model.requests[2]?.messages[1]?.content ?? '';
  for (const text of ['First.', 'One.', 'Another second.', 'Not so', 'Or a third.', 'Nor so', 'The last.']) {
    expect(shown.split(text)).toHaveLength(2);
  }
  expect(shown).not.toContain('Two.');
});

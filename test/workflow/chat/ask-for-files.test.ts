/**
 * A model that is asked for files in a turn of a conversation: its content, its corrections, and the line afterwards.
 */
import { describe, expect } from 'vitest';
import { userMessages } from '../../../src/conversation/records/transcript.ts';
import { TeddyError } from '../../../src/errors.ts';
import type { Model, ModelMessage, ModelToolCall } from '../../../src/ports/model.ts';
import type { Oid } from '../../../src/names.ts';
import { readLine } from '../../../src/view/view.ts';
import { readStatus } from '../../../src/workflow/review/read-status.ts';
import { askForFiles } from '../../../src/workflow/chat/ask-for-files.ts';
import type { ChatListener, ChatOutcome, WrittenFile } from '../../../src/workflow/chat/chat.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel, type ScriptedAnswer } from '../../support/scripted-model.ts';
import { quickTest as test } from '../../support/slow-test.ts';
import { line, session, start as startSession, storyOfLine } from '../../support/turns.ts';

let ids = 0;

function call(target: string, operation = 'create', intent = `Make ${target}`): ModelToolCall {
  const text = JSON.stringify({ intent, target_file: target, operation });
  return { id: `call_${(ids += 1)}`, name: 'WritePlanTool_begin', arguments: text };
}

const calling = (...calls: ModelToolCall[]): ScriptedAnswer => ({ texts: [], calls });
const cut = (text: string): ScriptedAnswer => ({ texts: [text], finish: 'length' });
const broken = (text: string): ScriptedAnswer => ({
  texts: [text],
  error: new TeddyError('MODEL_INTERRUPTED', 'The connection was cut.', 'as the adapter says'),
});

interface Heard {
  texts: string[];
  askedAgain: string[];
  written: string[];
}

interface Written {
  files: WrittenFile[];
  refused: number;
  outcome: ChatOutcome;
}

interface Run {
  project: MemoryProject;
  heard: Heard;
  result: Promise<Written>;
}

interface Wish {
  message?: string | undefined;
  approves?: (target: string) => boolean;
  /** The write session to continue. */
  id?: string;
}

function start(project: MemoryProject, model: Model, wish: Wish = {}): Run {
  const {
    approves = () => true,
    id,
    message = 'message' in wish || id !== undefined ? undefined : 'Write the docs',
  } = wish;
  const heard: Heard = { texts: [], askedAgain: [], written: [] };
  const files: WrittenFile[] = [];
  let refused = 0;
  const file: ChatListener['file'] = {
    wants: async ({ target }) => {
      const isWanted = approves(target);
      if (!isWanted) refused += 1;
      return isWanted;
    },
    onBegun: () => undefined,
    onContent: () => undefined,
    onPrompt: () => heard.askedAgain.push('end'),
    onFindings: () => heard.askedAgain.push('correction'),
    onWritten(written) {
      files.push(written);
      heard.written.push(written.record.target);
    },
  };
  const listener: ChatListener = {
    onAsk: () => undefined,
    onText: (text) => heard.texts.push(text),
    onUsage: () => undefined,
    onCall: () => undefined,
    onOutput: () => undefined,
    onResult: () => undefined,
    approve: async () => true,
    file,
  };
  const { signal } = new AbortController();
  const asked = async (): Promise<Written> => {
    const choice = { provider: 'recorded', name: 'scripted', parameters: {}, model } as const;
    const outcome = await askForFiles(project, { message, resume: id, choice, signal }, listener);
    return { files, refused, outcome };
  };
  const result = asked();
  // The caller that wants the failure awaits it.
  result.catch(() => undefined);
  return { project, heard, result };
}

/** The users' messages in the newest turn of the session for files without a session. */
async function messagesOf(project: MemoryProject): Promise<string[]> {
  const { store } = project.repository;
  const [tip] = (await store.listRefs('refs/heads/teddy/')).filter(({ ref }) => ref.endsWith('-writes'));
  const { latest } = await readLine(store, tip?.oid as Oid);
  return userMessages(latest?.records ?? []);
}

async function failureOf({ result }: Run): Promise<TeddyError> {
  const error = await result.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof TeddyError) return error;
  throw new Error('It did not fail as it should.', { cause: error });
}

/** A file's content in the newest commit of a written file. */
async function committed({ project, result }: Run, at = 0): Promise<string | null> {
  const file = (await result).files[at];
  return file === undefined ? null : project.readAt(file.result.commit, file.record.target);
}

const leftIds = (project: MemoryProject) =>
  [...project.writing].filter(([, { state }]) => state?.phase !== 'committed').map(([id]) => id);
const stagedText = (project: MemoryProject) =>
  leftIds(project).map((id) => new TextDecoder().decode(project.writing.get(id)?.content));
const rolesOf = (messages: ModelMessage[] = []) => messages.map(({ role }) => role);

describe('a model that writes a file', () => {
  test('announces it, sends its content as plain text, and has it committed once', async () => {
    const project = await memoryProject();
    const model = scriptedModel(
      { texts: ['I will ', 'write it.'], calls: [call('docs/a.md')] },
      { texts: ['# A\n', 'one\nDO', 'NE'] },
      'It is done.',
    );
    const run = start(project, model);
    expect(await committed(run)).toBe('# A\none\n');
    expect(await project.read('docs/a.md')).toBe('# A\none\n');
    expect(run.heard).toEqual({
      texts: ['I will ', 'write it.', 'It is done.'],
      askedAgain: [],
      written: ['docs/a.md'],
    });
    expect((await run.result).outcome).toMatchObject({ kind: 'answered', text: 'It is done.' });
    expect(leftIds(project)).toEqual([]);
  });

  test('gets the protocol and the result of its call', async () => {
    const project = await memoryProject();
    const model = scriptedModel(calling(call('docs/a.md')), '# A\nDONE', 'Done.');
    const written = await start(project, model).result;
    expect(model.requests.map(({ tools }) => tools?.map(({ name }) => name))).toEqual(
      Array(3).fill(['WritePlanTool_begin']),
    );
    expect(rolesOf(model.requests[0]?.messages)).toEqual(['system', 'user']);
    expect(rolesOf(model.requests[1]?.messages)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(rolesOf(model.requests[2]?.messages)).toEqual(['system', 'user', 'assistant', 'tool']);
    const [first] = written.files;
    expect(JSON.parse(model.requests[1]?.messages.at(-1)?.content ?? '')).toEqual({
      session_id: first?.record.id,
      status: 'active',
      stage: 'awaiting_content',
      target_file: first?.record.target,
      session_dir: project.writes.directoryOf(first?.record.id ?? ''),
      end_marker: 'DONE',
      instructions: 'Now output content. End with DONE on its own line.',
    });
    expect(model.requests[2]?.messages.at(-1)?.content).toContain(first?.result.commit.slice(0, 10));
  });

  test('writes several files in one conversation, with an entry for each', async () => {
    const project = await memoryProject();
    const model = scriptedModel(
      calling(call('a.txt')),
      'A\nDONE\n',
      // Both are announced in one answer.
      calling(call('b.txt'), call('c.txt')),
      'B\nDONE\n',
      'C\nDONE',
      'All three.',
    );
    const run = start(project, model);
    const { files } = await run.result;
    expect(files.map(({ record }) => record.target)).toEqual(['a.txt', 'b.txt', 'c.txt']);
    expect([await committed(run, 0), await committed(run, 1), await committed(run, 2)]).toEqual(['A\n', 'B\n', 'C\n']);
    expect(new Set(files.map(({ result }) => result.commit)).size).toBe(3);
  });

  test('that answers without a call writes nothing, and its text is an ordinary reply', async () => {
    const project = await memoryProject();
    await startSession(project);
    const { files, refused, outcome } = await start(project, scriptedModel('Which file?\nDONE\n')).result;
    expect({ files, refused, outcome }).toMatchObject({
      files: [],
      refused: 0,
      outcome: { kind: 'answered', turn: '01', entry: 'reply', text: 'Which file?\nDONE\n' },
    });
    expect(project.writing.size).toBe(0);
    expect((await storyOfLine(project)).slice(-2)).toEqual(['message 01', 'reply 01']);
  });

  test('that returns an empty answer is an error', async () => {
    const run = start(await memoryProject(), scriptedModel(' \n'));
    await expect(run.result).rejects.toMatchObject({ code: 'EMPTY_ANSWER' });
  });

  test('learns about the error in its call and may retry; the same error three times ends the turn', async () => {
    const project = await memoryProject();
    const model = scriptedModel(
      calling({ id: 'x', name: 'WritePlanTool_begin', arguments: '{"intent":' }),
      calling(call('README.md')),
      calling(call('a.txt')),
      'A\nDONE',
      calling(call('../out.txt')),
      calling({ id: 'y', name: 'rm', arguments: '{}' }),
      calling({ id: 'z', name: 'read_file', arguments: '{"path":"README.md"}' }),
      calling(call('a.txt', 'remove')),
      calling(call('a.txt', 'remove')),
      calling(call('a.txt', 'remove')),
    );
    const run = start(project, model);
    await expect(run.result).rejects.toMatchObject({
      code: 'MODEL_STUCK',
      message: expect.stringMatching(/3 times.*Invalid operation type\. Must be 'create', 'overwrite', or 'append'\./s),
      hint: expect.stringContaining('To let it continue: `teddy write ask`'),
    });
    const told = model.requests.map(({ messages }) => messages.at(-1)?.content ?? '');
    expect(told[1]).toContain('The arguments are not a JSON object.');
    expect(told[2]).toContain('README.md exists already.');
    expect(told[5]).toContain('../out.txt cannot be written');
    expect(told[6]).toContain('There is no tool "rm". Call WritePlanTool_begin.');
    expect(told[7]).toContain('There is no tool "read_file".');
    expect(run.heard.written).toEqual(['a.txt']);
    expect(leftIds(project)).toEqual([]);
  });
});

describe('the message', () => {
  const message = `Write docs/a.md: how to install it,\nand b.md ${'word '.repeat(50)}\nend`;

  test('is on the line before the model is asked, masked, and complete', async () => {
    const project = await memoryProject();
    const secret = 'the-deploy-word';
    project.secrets.set(secret, 'github token');
    const kept: string[] = [];
    const model = scriptedModel(calling(call('docs/a.md')), '# A\nDONE', 'Done.');
    const watched: Model = {
      ...model,
      async *answer(request) {
        kept.push(...(await messagesOf(project)));
        yield* model.answer(request);
      },
    };
    await start(project, watched, { message: `${message} ${secret}` }).result;
    expect(kept).toEqual(Array.from({ length: 3 }, () => `${message} [masked: github token]`));
  });

  test('comes after the earlier conversation, and the files are entries in its turn', async () => {
    const project = await memoryProject();
    await startSession(project);
    await start(project, scriptedModel('It is red.'), { message: 'What colour is it?' }).result;
    const model = scriptedModel(calling(call('colour.txt')), 'red\nDONE', 'Done.');
    const run = start(project, model, { message: 'Write it down.' });
    expect(await committed(run)).toBe('red\n');
    expect(model.requests[0]?.messages[1]?.content).toContain('It is red.');
    expect((await storyOfLine(project)).slice(-4)).toEqual(['message 02', 'write 02', 'exchange 02', 'reply 02']);
    expect(await project.readAt(await project.tipOf(line), 'colour.txt')).toBe('red\n');
  });

  test('is answered later if the model was unavailable, and a file begun for it is continued', async () => {
    const project = await memoryProject();
    const { hint } = await failureOf(start(project, scriptedModel(broken('')), { message }));
    expect(hint).toBe('as the adapter says');
    const second = scriptedModel(calling(call('docs/a.md')), broken('# A\n'));
    await failureOf(start(project, second, { message: undefined }));
    expect(second.requests[0]?.again).toContain('`teddy write ask` tries again');
    expect(second.requests[0]?.messages[1]?.content).toContain(message);
    const ways = ['teddy write recover', 'teddy write ask', 'teddy new <name>'];
    expect((await readStatus(project)).next).toEqual(ways);
    const third = scriptedModel('two\nDONE', 'Done.');
    const run = start(project, third, { id: leftIds(project)[0] ?? '' });
    expect(await committed(run)).toBe('# A\ntwo\n');
    // The model sees its earlier answer, and that the file was cut.
    expect(third.requests[0]?.messages.slice(0, 2)).toEqual(second.requests[0]?.messages);
    expect(rolesOf(third.requests[0]?.messages.slice(2, 4))).toEqual(['assistant', 'tool']);
    expect(third.requests[1]?.messages.at(-1)?.content).toContain('"status":"completed"');
    expect((await run.result).outcome).toMatchObject({ kind: 'answered', text: 'Done.' });
    expect(await messagesOf(project)).toEqual([message]);
    expect((await readStatus(project)).next).toEqual(ways.slice(2));
  });

  test('is the default one for the file if none waits, on the file’s line wherever HEAD is', async () => {
    const project = await memoryProject();
    await failureOf(start(project, scriptedModel(calling(call('a.txt')), broken('one\n')), { message }));
    await start(project, scriptedModel('I cannot.'), { message: undefined }).result;
    const [id = ''] = leftIds(project);
    await startSession(project);
    const model = scriptedModel('two\nDONE', broken(''));
    const run = start(project, model, { id });
    await failureOf(run);
    expect(run.heard.written).toEqual(['a.txt']);
    expect(await project.read('a.txt')).toBe('one\ntwo\n');
    expect(await messagesOf(project)).toEqual(['Write a.txt (create): Make a.txt']);
    expect(model.requests[1]?.again).toMatch(/`teddy write ask --session teddy\/\d{8}-writes` tries again/);
  });

  test('from a second process is added to the turn, and the hint names the command that asks', async () => {
    const project = await memoryProject();
    let hint: string | undefined;
    const meanwhile = async () => {
      ({ hint } = await failureOf(start(project, scriptedModel('x'), { message: 'And more' })));
    };
    await start(project, scriptedModel({ texts: ['No.'], meanwhile })).result;
    expect(hint).toContain('When that process has ended, ask for the answer: `teddy write ask`');
    expect(await messagesOf(project)).toEqual(['Write the docs', 'And more']);
  });

  test('is required: without one nothing is made, and nobody is asked', async () => {
    const project = await memoryProject();
    for (const nothing of ['  ', undefined]) {
      const { code, hint } = await failureOf(start(project, scriptedModel('x'), { message: nothing }));
      expect([code, hint]).toEqual(['EMPTY_MESSAGE', expect.stringContaining('teddy write ask -m')]);
    }
    expect(await project.repository.store.listRefs('refs/heads/teddy/')).toEqual([]);
  });
});

describe('without approval', () => {
  test('a file is not written, the model is informed, and no write session is left', async () => {
    const project = await memoryProject();
    const model = scriptedModel(calling(call('a.txt')), calling(call('b.txt')), 'B\nDONE', 'One of two.');
    const run = start(project, model, { approves: (target) => target === 'b.txt' });
    expect(await run.result).toMatchObject({ refused: 1, files: [{ record: { target: 'b.txt' } }] });
    expect(model.requests[1]?.messages.at(-1)?.content).toContain('The user does not want a.txt to be written.');
    expect(await project.read('a.txt')).toBeNull();
    expect([...project.writing.values()].map(({ record }) => record?.target)).toEqual(['b.txt']);
  });

  test('no write session is left even after an interruption at the question', async () => {
    const project = await memoryProject();
    const run = start(project, scriptedModel(calling(call('a.txt'))), {
      approves: () => {
        throw new TeddyError('INTERRUPTED', 'Interrupted.');
      },
    });
    await expect(run.result).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(project.writing.size).toBe(0);
  });
});

describe('an answer without an end marker', () => {
  test('gets a request for it; a reply of only the marker ends the content, which ends with a newline', async () => {
    const run = start(await memoryProject(), scriptedModel(calling(call('a.txt')), 'one\ntwo', 'DONE', 'Done.'));
    expect(await committed(run)).toBe('one\ntwo\n');
    expect(run.heard.askedAgain).toEqual(['end']);
  });

  test('is continued on a new line of the file', async () => {
    const model = scriptedModel(calling(call('a.txt')), 'one', 'two\n', 'three\nDONE', 'Done.');
    const run = start(await memoryProject(), model);
    expect(await committed(run)).toBe('one\ntwo\nthree\n');
    expect(model.requests[2]?.messages.at(-1)).toEqual({
      role: 'user',
      content: "If you're finished, reply DONE on its own line. Otherwise continue writing.",
    });
  });

  test('gets three requests in all; then the turn stops, and the received content is kept', async () => {
    const project = await memoryProject();
    const model = scriptedModel(calling(call('a.txt')), 'one\n', '', 'two\n', '');
    const run = start(project, model);
    const { code, message, hint } = await failureOf(run);
    expect(code).toBe('END_MISSING');
    expect(message).toBe('the scripted model has not ended a.txt with DONE, though it was asked 3 times.');
    expect(hint).toContain(`teddy write recover ${leftIds(project)[0]}`);
    expect(stagedText(project)).toEqual(['one\ntwo\n']);
  });

  test('but with another call gets a request to finish first', async () => {
    const model = scriptedModel(
      calling(call('a.txt')),
      { texts: ['one\n'], calls: [call('b.txt')] },
      'two\nDONE',
      'Done.',
    );
    const run = start(await memoryProject(), model);
    expect(await committed(run)).toBe('one\ntwo\n');
    expect((await run.result).files).toHaveLength(1);
    expect(model.requests[2]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: expect.stringContaining('Another write session is already active, for a.txt'),
    });
  });

  test('or with only the marker gets an error that a file cannot be empty', async () => {
    const run = start(await memoryProject(), scriptedModel(calling(call('a.txt')), 'DONE', 'one\nDONE', 'Done.'));
    expect(await committed(run)).toBe('one\n');
  });

  test('uses the session’s marker if the target has a line DONE', async () => {
    const project = await memoryProject({ 'todo.txt': 'a\nDONE\n' });
    const model = scriptedModel(calling(call('todo.txt', 'overwrite')), 'a\nDONE\nb\n', 'later', '', '');
    expect((await failureOf(start(project, model))).code).toBe('END_MISSING');
    const result = JSON.parse(model.requests[1]?.messages.at(-1)?.content ?? '{}') as { end_marker: string };
    expect(result.end_marker).toMatch(/^DONE-[0-9a-f]{8}$/);
    expect(model.requests[2]?.messages.at(-1)?.content).toContain(`reply ${result.end_marker} on its own line`);
    expect(stagedText(project)).toEqual(['a\nDONE\nb\nlater']);
  });
});

describe('an answer that is cut', () => {
  const long = 'The very same line that is longer than forty bytes.\n';

  test('by its limit is continued, even in the middle of a line or of the marker', async () => {
    const model = scriptedModel(calling(call('a.txt')), cut('one\ntw'), cut('o\nDO'), 'NE', 'Done.');
    const run = start(await memoryProject(), model);
    expect(await committed(run)).toBe('one\ntwo\n');
    expect(rolesOf(model.requests[3]?.messages.slice(-3))).toEqual(['tool', 'assistant', 'user']);
    expect(model.requests[3]?.messages.at(-2)?.content).toBe('one\ntwo\nDO');
    expect(run.heard.askedAgain).toEqual([]);
  });

  test('keeps no text that the continuation repeats', async () => {
    const model = scriptedModel(calling(call('a.txt')), cut(`one\n${long}`), `${long}two\nDONE`, 'Done.');
    expect(await committed(start(await memoryProject(), model))).toBe(`one\n${long}two\n`);
  });

  test('after its end marker is complete, and the text after the marker is kept apart', async () => {
    const project = await memoryProject();
    const model = scriptedModel(calling(call('a.txt')), cut('one\nDONE\nI hope that'), 'Done.');
    const run = start(project, model);
    expect(await committed(run)).toBe('one\n');
    const id = (await run.result).files[0]?.record.id ?? '';
    const oid = (await project.repository.store.listRefs(`refs/teddy/keep/writes/${id}`))[0]?.oid;
    expect(new TextDecoder().decode(await project.repository.store.readBlob(oid as never))).toBe('I hope that');
    expect(project.said.join('\n')).toContain('The text after DONE (11 bytes) is not in a.txt');
  });

  test('exactly at the end marker is complete', async () => {
    const run = start(await memoryProject(), scriptedModel(calling(call('a.txt')), cut('one\nDONE'), 'Done.'));
    expect(await committed(run)).toBe('one\n');
  });

  test('for another reason is saved, and the error explains how to continue', async () => {
    const project = await memoryProject();
    const filtered: ScriptedAnswer = { texts: ['one\ntwo'], finish: 'other', said: 'content_filter' };
    const run = start(project, scriptedModel(calling(call('a.txt')), filtered));
    const { code, hint, message } = await failureOf(run);
    expect(code).toBe('MODEL_INTERRUPTED');
    expect(message).toContain('ended it with "content_filter"');
    expect(hint).toContain(`teddy write ask --resume ${leftIds(project)[0]}`);
    expect(stagedText(project)).toEqual(['one\ntwo']);
  });
});

test('a call in an answer that the endpoint ended badly begins no file', async () => {
  const project = await memoryProject();
  const filtered: ScriptedAnswer = { texts: ['I write.'], calls: [call('a.txt')], finish: 'other', said: 'refusal' };
  const { code, message } = await failureOf(start(project, scriptedModel(filtered, 'one\nDONE', 'Done.')));
  expect([code, message]).toEqual(['MODEL_INTERRUPTED', expect.stringContaining('"refusal"')]);
  expect(leftIds(project)).toEqual([]);
});

describe('a cut connection', () => {
  test('leaves the received content in staging, with advice for the caller', async () => {
    const project = await memoryProject();
    const model = scriptedModel(calling(call('a.txt')), broken('one\ntw'));
    await expect(start(project, model).result).rejects.toMatchObject({ code: 'MODEL_INTERRUPTED' });
    expect(stagedText(project)).toEqual(['one\ntw']);
    expect(model.requests[1]?.again).toContain(`teddy write recover ${leftIds(project)[0]}`);
    expect(await project.read('a.txt')).toBeNull();
  });

  test('is recovered: the model continues at the end of the content, with the seam checked', async () => {
    const line = 'a line in more than forty bytes, which comes twice.\n';
    const project = await memoryProject();
    await start(project, scriptedModel(calling(call('a.txt')), broken(`one\n${line}`))).result.catch(() => undefined);
    const [id = ''] = leftIds(project);
    const model = scriptedModel(`${line}two\nDONE`, 'Done.');
    const run = start(project, model, { id });
    expect(await committed(run)).toBe(`one\n${line}two\n`);
    expect(model.requests[0]?.messages.slice(-2)).toEqual([
      { role: 'assistant', content: `one\n${line}` },
      { role: 'user', content: expect.stringContaining('Continue exactly where it stops') },
    ]);
    // The call that failed, and the one that is continued.
    const calls = ['assistant', 'tool', 'assistant', 'tool'];
    expect(rolesOf(model.requests[0]?.messages)).toEqual(['system', 'user', ...calls, 'assistant', 'user']);
  });

  test('is not continued if the work tree has left the branch, and no further complete file is requested', async () => {
    const project = await memoryProject();
    await startSession(project);
    await failureOf(start(project, scriptedModel(calling(call('a.txt')), broken('one\n'))));
    const [id = ''] = leftIds(project);
    await project.switchTo('main');
    const unasked = scriptedModel('two\nDONE');
    const refused = await failureOf(start(project, unasked, { id }));
    expect([refused.code, refused.hint]).toEqual([
      'NOT_ON_LINE',
      `Switch back, and go on: \`git switch teddy/${session}\`, \`teddy write ask --resume ${id}\`.`,
    ]);
    expect(unasked.requests).toEqual([]);
    const home = `teddy/${session}`;
    await project.switchTo(home);
    const leaving = scriptedModel({ texts: ['two\nDONE'], meanwhile: () => project.switchTo('main') });
    expect((await failureOf(start(project, leaving, { id }))).code).toBe('NOT_ON_LINE');
    await project.switchTo(home);
    const last = scriptedModel('Done.');
    expect(await committed(start(project, last, { id }))).toBe('one\ntwo\n');
    expect(last.requests).toHaveLength(1);
  });

  test('in mid-line is continued in the same line, even after an empty answer', async () => {
    const project = await memoryProject();
    await failureOf(start(project, scriptedModel(calling(call('a.txt')), broken('one\ntw'))));
    const model = scriptedModel('', 'o\nDONE', 'Done.');
    expect(await committed(start(project, model, { id: leftIds(project)[0] ?? '' }))).toBe('one\ntwo\n');
    expect(model.requests[1]?.messages).toEqual(model.requests[0]?.messages);
  });

  test('within the end marker leaves no part of the marker in the file', async () => {
    const project = await memoryProject();
    await start(project, scriptedModel(calling(call('a.txt')), broken('one\nDO'))).result.catch(() => undefined);
    const run = start(project, scriptedModel('DONE', 'Done.'), { id: leftIds(project)[0] ?? '' });
    expect(await committed(run)).toBe('one\n');
  });

  test('before any content is recovered as well', async () => {
    const project = await memoryProject();
    await start(project, scriptedModel(calling(call('a.txt')), broken(''))).result.catch(() => undefined);
    const run = start(project, scriptedModel('one\nDONE', 'Done.'), { id: leftIds(project)[0] ?? '' });
    expect(await committed(run)).toBe('one\n');
  });

  test('is continued without showing the model a secret in staging', async () => {
    const project = await memoryProject();
    await start(project, scriptedModel(calling(call('a.txt')), broken('one\nsesame\n'))).result.catch(() => undefined);
    project.secrets.set('sesame', 'password');
    const model = scriptedModel(cut('two\n'), 'three\nDONE', 'Done.');
    const run = start(project, model, { id: leftIds(project)[0] ?? '' });
    await run.result.catch(() => undefined);
    expect(model.requests.length).toBeGreaterThan(1);
    expect(JSON.stringify(model.requests)).not.toContain('sesame');
  });
});

describe('content with findings', () => {
  const conflict = (name: string) => `<<<<<<< ours\n${name}\n=======\nb\n>>>>>>> theirs\n`;

  test('goes back with all of them in one message, and the complete corrected content replaces it', async () => {
    const model = scriptedModel(calling(call('a.txt')), `${conflict('a')}DONE`, 'a\nb\nDONE', 'Done.');
    const run = start(await memoryProject(), model);
    expect(await committed(run)).toBe('a\nb\n');
    expect(run.heard.askedAgain).toEqual(['correction']);
    expect(rolesOf(model.requests[2]?.messages.slice(-2))).toEqual(['assistant', 'user']);
    expect(model.requests[2]?.messages.at(-1)?.content).toContain('<<<<<<< ours');
  });

  test('that repeats them stops the turn, and the content is kept', async () => {
    const project = await memoryProject();
    const text = `${conflict('a')}DONE`;
    const run = start(project, scriptedModel(calling(call('a.txt')), text, text));
    const { code, message, hint } = await failureOf(run);
    expect(code).toBe('VALIDATION_FAILED');
    expect(message).toMatch(/^a\.txt was not written: the same findings twice\. Validation failed: line 1: ./);
    expect(hint).toContain(`teddy write recover ${leftIds(project)[0]}`);
    expect(run.heard.askedAgain).toEqual(['correction', 'correction']);
    expect(stagedText(project)).toEqual([conflict('a')]);
    expect(await project.read('a.txt')).toBeNull();
  });

  test('counts as unchanged if the correction is only the marker', async () => {
    const project = await memoryProject();
    const run = start(project, scriptedModel(calling(call('a.txt')), `${conflict('a')}DONE`, 'DONE'));
    expect((await failureOf(run)).message).toContain('the same findings twice');
    expect(stagedText(project)).toEqual([conflict('a')]);
  });

  test('is replaced by the first content received, even after an empty answer', async () => {
    const run = start(
      await memoryProject(),
      scriptedModel(calling(call('a.txt')), `${conflict('a')}DONE`, '', 'a\nDONE', 'Done.'),
    );
    expect(await committed(run)).toBe('a\n');
  });

  test('that differ three times stops the turn', async () => {
    const texts = ['', 'x\n', 'x\ny\n'].map((before) => `${before}${conflict('a')}DONE`);
    const run = start(await memoryProject(), scriptedModel(calling(call('a.txt')), ...texts));
    await expect(run.result).rejects.toMatchObject({ message: expect.stringContaining('3 validations failed') });
  });

  test('remains if the correction never comes, and is corrected later', async () => {
    const project = await memoryProject();
    const model = scriptedModel(calling(call('a.txt')), `${conflict('a')}DONE`, broken(''));
    await start(project, model).result.catch(() => undefined);
    expect(stagedText(project)).toEqual([conflict('a')]);
    const again = scriptedModel('a\nb\nDONE', 'Done.');
    const run = start(project, again, { id: leftIds(project)[0] ?? '' });
    expect(await committed(run)).toBe('a\nb\n');
    expect(again.requests[0]?.messages.at(-1)?.content).toContain('Send the whole corrected content of a.txt');
  });

  test('gets a call for another file answered only once this file is right', async () => {
    const model = scriptedModel(
      calling(call('a.txt')),
      { texts: [`${conflict('a')}DONE`], calls: [call('b.txt')] },
      'a\nDONE',
      'Done.',
    );
    const run = start(await memoryProject(), model);
    expect((await run.result).files.map(({ record }) => record.target)).toEqual(['a.txt']);
    expect(rolesOf(model.requests[2]?.messages.slice(-3))).toEqual(['assistant', 'tool', 'user']);
  });
});

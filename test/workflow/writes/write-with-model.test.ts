import { describe, expect } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import type { Model, ModelMessage, ModelToolCall } from '../../../src/ports/model.ts';
import type { Oid, RefName } from '../../../src/names.ts';
import { resumeWithModel } from '../../../src/workflow/writes/resume-with-model.ts';
import {
  writeWithModel,
  type ModelListener,
  type ModelWriteOptions,
  type ModelWritten,
} from '../../../src/workflow/writes/write-with-model.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel, type ScriptedAnswer } from '../../support/scripted-model.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

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
  said: [string, boolean][];
  askedAgain: string[];
  written: string[];
}

interface Run {
  project: MemoryProject;
  heard: Heard;
  result: Promise<ModelWritten>;
}

function listen(heard: Heard, approves: (target: string) => boolean): ModelListener {
  return {
    onText: (text) => heard.texts.push(text),
    onSaid: (text, isLast) => heard.said.push([text, isLast]),
    approve: async ({ target }) => approves(target),
    onBegun: () => undefined,
    onContent: () => undefined,
    onPrompt: () => heard.askedAgain.push('end'),
    onFindings: () => heard.askedAgain.push('correction'),
    onWritten: ({ record }) => heard.written.push(record.target),
  };
}

function start(
  project: MemoryProject,
  model: Model,
  {
    approves = () => true,
    id,
    ...wish
  }: Partial<ModelWriteOptions> & { approves?: (target: string) => boolean; id?: string } = {},
): Run {
  const heard: Heard = { texts: [], said: [], askedAgain: [], written: [] };
  const listener = listen(heard, approves);
  const whole: ModelWriteOptions = {
    message: 'Write the docs',
    model,
    parameters: {},
    session: undefined,
    signal: new AbortController().signal,
    ...wish,
  };
  const result =
    id === undefined
      ? writeWithModel(project, whole, listener)
      : resumeWithModel(project, { ...whole, id, message: undefined }, listener);
  // Whoever wants the failure waits for it.
  result.catch(() => undefined);
  return { project, heard, result };
}

async function failureOf({ result }: Run): Promise<TeddyError> {
  const error = await result.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof TeddyError) return error;
  throw new Error('It did not fail as it should.', { cause: error });
}

/** The content of a file in the newest commit of a written file. */
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
      said: [
        ['I will write it.', false],
        ['It is done.', true],
      ],
      askedAgain: [],
      written: ['docs/a.md'],
    });
    expect(leftIds(project)).toEqual([]);
  });

  test('is told the protocol, and the result of its call', async () => {
    const project = await memoryProject();
    const model = scriptedModel(calling(call('docs/a.md')), '# A\nDONE', 'Done.');
    const written = await start(project, model).result;
    expect(model.requests.map(({ tools }) => tools?.map(({ name }) => name))).toEqual(
      Array(3).fill(['WritePlanTool_begin']),
    );
    expect(rolesOf(model.requests[0]?.messages)).toEqual(['system', 'user']);
    expect(rolesOf(model.requests[1]?.messages)).toEqual(['system', 'user', 'assistant', 'tool']);
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

  test('writes several files in one conversation, an entry each', async () => {
    const project = await memoryProject();
    const model = scriptedModel(
      calling(call('a.txt')),
      'A\nDONE\n',
      calling(call('b.txt')),
      // The next one is announced behind the content.
      { texts: ['B\nDONE\n'], calls: [call('c.txt')] },
      'C\nDONE',
      'All three.',
    );
    const run = start(project, model);
    const { files } = await run.result;
    expect(files.map(({ record }) => record.target)).toEqual(['a.txt', 'b.txt', 'c.txt']);
    expect([await committed(run, 0), await committed(run, 1), await committed(run, 2)]).toEqual(['A\n', 'B\n', 'C\n']);
    expect(new Set(files.map(({ result }) => result.commit)).size).toBe(3);
  });

  test('that answers without a call writes nothing, and its words are the answer', async () => {
    const project = await memoryProject();
    const run = start(project, scriptedModel('Which file?\nDONE\n'));
    expect(await run.result).toEqual({ files: [], refused: 0, said: ['Which file?\nDONE\n'], usage: null });
    expect(project.writing.size).toBe(0);
  });

  test('that says nothing at all is an error', async () => {
    const run = start(await memoryProject(), scriptedModel(' \n'));
    await expect(run.result).rejects.toMatchObject({ code: 'EMPTY_ANSWER' });
  });

  test('is told what is wrong with its call, and may call again; three times in a row are enough', async () => {
    const project = await memoryProject();
    const model = scriptedModel(
      calling({ id: 'x', name: 'WritePlanTool_begin', arguments: '{"intent":' }),
      calling(call('README.md')),
      calling(call('a.txt')),
      'A\nDONE',
      calling(call('../out.txt')),
      calling({ id: 'y', name: 'rm', arguments: '{}' }),
      calling(call('a.txt', 'remove')),
    );
    const run = start(project, model);
    await expect(run.result).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringMatching(/3 times.*Invalid operation type\. Must be 'create', 'overwrite', or 'append'\./s),
    });
    const told = model.requests.map(({ messages }) => messages.at(-1)?.content ?? '');
    expect(told[1]).toContain('The arguments are not a JSON object.');
    expect(told[2]).toContain('README.md exists already.');
    expect(told[5]).toContain('../out.txt cannot be written');
    expect(project.said.join('\n')).toContain('What the model has announced was refused: ../out.txt cannot be written');
    expect(told[6]).toContain('There is no tool rm');
    expect(run.heard.written).toEqual(['a.txt']);
    expect(leftIds(project)).toEqual([]);
  });

  test('that announces several files at once begins the first, and the others are refused', async () => {
    const project = await memoryProject();
    const calls = [call('a.txt'), call('b.txt'), call('c.txt')];
    const model = scriptedModel(calling(...calls), 'A\nDONE', 'Done.');
    expect((await start(project, model).result).files).toHaveLength(1);
    const results = model.requests[1]?.messages.slice(-3) ?? [];
    expect(results.map((message) => message.role === 'tool' && message.toolCallId)).toEqual(calls.map(({ id }) => id));
    expect(
      results.map(({ content }) => content.includes('Another write session is already active, for a.txt')),
    ).toEqual([false, true, true]);
  });

  slowTest('is stopped after twenty files', async () => {
    const files = Array.from({ length: 20 }, (_, at) => [calling(call(`f${at}.txt`)), `${at}\nDONE`]).flat();
    const run = start(await memoryProject(), scriptedModel(...files, calling(call('one-more.txt'))));
    await expect(run.result).rejects.toMatchObject({
      code: 'MODEL_FAILED',
      message: expect.stringContaining('20 files'),
    });
    expect(run.heard.written).toHaveLength(20);
  });
});

describe('the message', () => {
  const message = 'Write docs/a.md: how to install it,\nand b.md';
  const asks = async (project: MemoryProject) => {
    const tips = await project.repository.store.listRefs('refs/teddy/keep/asks/');
    return Promise.all(
      tips.map(async ({ ref, oid }) => ({
        ref,
        text: Buffer.from(await project.repository.store.readBlob(oid)).toString(),
      })),
    );
  };

  test('is in git before the model is asked, masked, and in the entry of each file afterwards', async () => {
    const project = await memoryProject();
    const secret = 'the-deploy-word';
    project.secrets.set(secret, 'github token');
    const kept: string[] = [];
    const model = scriptedModel(calling(call('docs/a.md')), '# A\nDONE', 'Done.');
    const watched: Model = {
      ...model,
      async *answer(request) {
        kept.push(...(await asks(project)).map(({ text }) => text));
        yield* model.answer(request);
      },
    };
    const run = start(project, watched, { message: `${message} ${secret}` });
    const { files } = await run.result;
    expect(kept).toEqual(Array.from({ length: 3 }, () => `${message} [masked: github token]`));
    const commit = await project.repository.store.readCommit(files[0]?.result.commit as Oid);
    expect(commit.message).toContain('how to install it,\nand b.md [masked: github token]\n');
    expect(await asks(project)).toEqual([]);
  });

  test('stays in git where no label shows all of it', async () => {
    const project = await memoryProject();
    const long = `${'word '.repeat(50)}\nend`;
    await start(project, scriptedModel(calling(call('a.md')), 'A\nDONE', 'Done.'), { message: long }).result;
    await start(project, scriptedModel('I will not.'), { message }).result;
    expect(await asks(project)).toEqual([
      { ref: expect.stringMatching(/^refs\/teddy\/keep\/asks\/done\//), text: long },
    ]);
  });

  test('is sent again, exactly, by --resume: of the message, and of the file that it had begun', async () => {
    const project = await memoryProject();
    await failureOf(start(project, scriptedModel(broken('')), { message }));
    const id = /teddy write ask --resume ([\da-f-]{36})/.exec(project.said.join('\n'))?.[1] ?? '';
    expect((await asks(project)).map(({ ref }) => ref)).toEqual([`refs/teddy/keep/asks/own/${id}`]);
    // A kill leaves it so.
    const [tip] = await project.repository.store.listRefs('refs/teddy/keep/asks/');
    const { oid = '' as Oid, ref = '' as RefName } = tip ?? {};
    await project.setRef(`refs/teddy/keep/asks/dead/${id}`, oid);
    await project.repository.store.updateRefs([{ ref, old: oid, new: null }], 'The process is dead');
    await start(project, scriptedModel('No.'), { message: 'Something else' }).result;
    expect(project.said.join('\n')).toContain(`\`git update-ref -d refs/teddy/keep/asks/dead/${id}\` forgets it`);

    const second = scriptedModel(calling(call('docs/a.md')), broken('# A\n'));
    await failureOf(start(project, second, { id }));
    expect(second.requests[0]?.messages.at(-1)).toEqual({ role: 'user', content: message });
    const [writeId] = leftIds(project);

    // By the id of the message as well as by that of the file.
    const third = scriptedModel(broken('two\n'));
    await failureOf(start(project, third, { id }));
    const fourth = scriptedModel('three\nDONE', 'Done.');
    const run = start(project, fourth, { id: writeId ?? '' });
    expect(await committed(run)).toBe('# A\ntwo\nthree\n');
    for (const { requests } of [third, fourth]) {
      expect(requests[0]?.messages[1]).toEqual({ role: 'user', content: message });
    }
    expect(await asks(project)).toEqual([]);
  });
});

describe('without approval', () => {
  test('a file is not written, the model hears of it, and no session is left', async () => {
    const project = await memoryProject();
    const model = scriptedModel(calling(call('a.txt')), calling(call('b.txt')), 'B\nDONE', 'One of two.');
    const run = start(project, model, { approves: (target) => target === 'b.txt' });
    expect(await run.result).toMatchObject({ refused: 1, files: [{ record: { target: 'b.txt' } }] });
    expect(model.requests[1]?.messages.at(-1)?.content).toContain('The user does not want a.txt to be written.');
    expect(await project.read('a.txt')).toBeNull();
    expect([...project.writing.values()].map(({ record }) => record?.target)).toEqual(['b.txt']);
  });

  test('not even when it was interrupted while a person was asked', async () => {
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
  test('is asked for it; a reply of only the marker ends the content, which ends with a newline', async () => {
    const run = start(await memoryProject(), scriptedModel(calling(call('a.txt')), 'one\ntwo', 'DONE', 'Done.'));
    expect(await committed(run)).toBe('one\ntwo\n');
    expect(run.heard.askedAgain).toEqual(['end']);
  });

  test('is gone on with on a line of its own', async () => {
    const model = scriptedModel(calling(call('a.txt')), 'one', 'two\n', 'three\nDONE', 'Done.');
    const run = start(await memoryProject(), model);
    expect(await committed(run)).toBe('one\ntwo\nthree\n');
    expect(model.requests[2]?.messages.at(-1)).toEqual({
      role: 'user',
      content: "If you're finished, reply DONE on its own line. Otherwise continue writing.",
    });
  });

  test('is asked three times in all; then it stops, and what came is kept', async () => {
    const project = await memoryProject();
    const model = scriptedModel(calling(call('a.txt')), 'one\n', '', 'two\n', '');
    const run = start(project, model);
    const { code, message, hint } = await failureOf(run);
    expect(code).toBe('END_MISSING');
    expect(message).toBe('the scripted model has not ended a.txt with DONE, though it was asked 3 times.');
    expect(hint).toContain(`teddy write recover ${leftIds(project)[0]}`);
    expect(stagedText(project)).toEqual(['one\ntwo\n']);
  });

  test('but with another call is told to finish first', async () => {
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

  test('or with nothing but the marker is told that a file cannot be empty', async () => {
    const run = start(await memoryProject(), scriptedModel(calling(call('a.txt')), 'DONE', 'one\nDONE', 'Done.'));
    expect(await committed(run)).toBe('one\n');
  });

  test('uses the marker of its session where the target has a line DONE', async () => {
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

  test('by its limit is gone on with, in the middle of a line and of the marker', async () => {
    const model = scriptedModel(calling(call('a.txt')), cut('one\ntw'), cut('o\nDO'), 'NE', 'Done.');
    const run = start(await memoryProject(), model);
    expect(await committed(run)).toBe('one\ntwo\n');
    expect(rolesOf(model.requests[3]?.messages.slice(-3))).toEqual(['tool', 'assistant', 'user']);
    expect(model.requests[3]?.messages.at(-2)?.content).toBe('one\ntwo\nDO');
    expect(run.heard.askedAgain).toEqual([]);
  });

  test('does not repeat what the continuation repeats', async () => {
    const model = scriptedModel(calling(call('a.txt')), cut(`one\n${long}`), `${long}two\nDONE`, 'Done.');
    expect(await committed(start(await memoryProject(), model))).toBe(`one\n${long}two\n`);
  });

  test('behind its end marker is whole, and what follows the marker is kept apart', async () => {
    const project = await memoryProject();
    const model = scriptedModel(calling(call('a.txt')), cut('one\nDONE\nI hope that'), 'Done.');
    const run = start(project, model);
    expect(await committed(run)).toBe('one\n');
    const id = (await run.result).files[0]?.record.id ?? '';
    const oid = (await project.repository.store.listRefs(`refs/teddy/keep/writes/${id}`))[0]?.oid;
    expect(new TextDecoder().decode(await project.repository.store.readBlob(oid as never))).toBe('I hope that');
    expect(project.said.join('\n')).toContain('What came after DONE (11 bytes) is not in a.txt');
  });

  test('at the end marker itself is whole', async () => {
    const run = start(await memoryProject(), scriptedModel(calling(call('a.txt')), cut('one\nDONE'), 'Done.'));
    expect(await committed(run)).toBe('one\n');
  });

  test('for another reason is saved, and the error says how to go on', async () => {
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

test('a call in an answer that its endpoint ended badly begins no file', async () => {
  const project = await memoryProject();
  const filtered: ScriptedAnswer = { texts: ['I write.'], calls: [call('a.txt')], finish: 'other', said: 'refusal' };
  const { code, message } = await failureOf(start(project, scriptedModel(filtered, 'one\nDONE', 'Done.')));
  expect([code, message]).toEqual(['MODEL_INTERRUPTED', expect.stringContaining('with "refusal", so that no file')]);
  expect(leftIds(project)).toEqual([]);
});

describe('a cut connection', () => {
  test('leaves what came in staging, with advice for whoever asked', async () => {
    const project = await memoryProject();
    const model = scriptedModel(calling(call('a.txt')), broken('one\ntw'));
    await expect(start(project, model).result).rejects.toMatchObject({ code: 'MODEL_INTERRUPTED' });
    expect(stagedText(project)).toEqual(['one\ntw']);
    expect(model.requests[1]?.again).toContain(`teddy write recover ${leftIds(project)[0]}`);
    expect(await project.read('a.txt')).toBeNull();
  });

  test('is got over: the model goes on where the content stops, with the seam checked', async () => {
    const line = 'A line of more than forty bytes, which comes twice.\n';
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
    expect(rolesOf(model.requests[0]?.messages)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
  });

  test('within the end marker leaves no part of it in the file', async () => {
    const project = await memoryProject();
    await start(project, scriptedModel(calling(call('a.txt')), broken('one\nDO'))).result.catch(() => undefined);
    const run = start(project, scriptedModel('DONE', 'Done.'), { id: leftIds(project)[0] ?? '' });
    expect(await committed(run)).toBe('one\n');
  });

  test('before any content is got over as well', async () => {
    const project = await memoryProject();
    await start(project, scriptedModel(calling(call('a.txt')), broken(''))).result.catch(() => undefined);
    const run = start(project, scriptedModel('one\nDONE', 'Done.'), { id: leftIds(project)[0] ?? '' });
    expect(await committed(run)).toBe('one\n');
  });

  test('goes on without showing the model a secret that was staged', async () => {
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

describe('a content with findings', () => {
  const conflict = (name: string) => `<<<<<<< ours\n${name}\n=======\nb\n>>>>>>> theirs\n`;

  test('goes back with all of them in one message, and the whole corrected content replaces it', async () => {
    const model = scriptedModel(calling(call('a.txt')), `${conflict('a')}DONE`, 'a\nb\nDONE', 'Done.');
    const run = start(await memoryProject(), model);
    expect(await committed(run)).toBe('a\nb\n');
    expect(run.heard.askedAgain).toEqual(['correction']);
    expect(rolesOf(model.requests[2]?.messages.slice(-2))).toEqual(['assistant', 'user']);
    expect(model.requests[2]?.messages.at(-1)?.content).toContain('<<<<<<< ours');
  });

  test('twice the same stops, and the content is kept', async () => {
    const project = await memoryProject();
    const text = `${conflict('a')}DONE`;
    const run = start(project, scriptedModel(calling(call('a.txt')), text, text));
    const { code, message, hint } = await failureOf(run);
    expect(code).toBe('VALIDATION_FAILED');
    expect(message).toMatch(/^a\.txt was not written, for the same findings twice\. Validation failed: line 1: ./);
    expect(hint).toContain(`teddy write recover ${leftIds(project)[0]}`);
    expect(run.heard.askedAgain).toEqual(['correction', 'correction']);
    expect(stagedText(project)).toEqual([conflict('a')]);
    expect(await project.read('a.txt')).toBeNull();
  });

  test('and a correction that is nothing but the marker is the same content again', async () => {
    const project = await memoryProject();
    const run = start(project, scriptedModel(calling(call('a.txt')), `${conflict('a')}DONE`, 'DONE'));
    expect((await failureOf(run)).message).toContain('the same findings twice');
    expect(stagedText(project)).toEqual([conflict('a')]);
  });

  test('is replaced by what comes first, also after an answer that says nothing', async () => {
    const run = start(
      await memoryProject(),
      scriptedModel(calling(call('a.txt')), `${conflict('a')}DONE`, '', 'a\nDONE', 'Done.'),
    );
    expect(await committed(run)).toBe('a\n');
  });

  test('three times different ones stops', async () => {
    const texts = ['', 'x\n', 'x\ny\n'].map((before) => `${before}${conflict('a')}DONE`);
    const run = start(await memoryProject(), scriptedModel(calling(call('a.txt')), ...texts));
    await expect(run.result).rejects.toMatchObject({ message: expect.stringContaining('3 validations failed') });
  });

  test('is still there when the correction never comes, and is corrected later', async () => {
    const project = await memoryProject();
    const model = scriptedModel(calling(call('a.txt')), `${conflict('a')}DONE`, broken(''));
    await start(project, model).result.catch(() => undefined);
    expect(stagedText(project)).toEqual([conflict('a')]);
    const again = scriptedModel('a\nb\nDONE', 'Done.');
    const run = start(project, again, { id: leftIds(project)[0] ?? '' });
    expect(await committed(run)).toBe('a\nb\n');
    expect(again.requests[0]?.messages.at(-1)?.content).toContain('Send the whole corrected content of a.txt');
  });

  test('answers a call for another file only when this one is right', async () => {
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

/** Records that were made elsewhere: by voice, in an editor, at the shell. */
import { describe, expect, test } from 'vitest';
import type { GivenRecord } from '../../../src/conversation/records/given-record.ts';
import type { KnownRecord } from '../../../src/conversation/records/record.ts';
import { TeddyError } from '../../../src/errors.ts';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import { appendRecords } from '../../../src/workflow/line/append-records.ts';
import { given } from '../../support/given.ts';
import { withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { assistant, call, partial, recordsOf, result, user } from '../../support/records.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { create, line, planOf, run, say, session, storyOfLine } from '../../support/turns.ts';

const begun = ["'First commit'", 'start'];
const append = (project: MemoryProject, ...records: KnownRecord[]) => appendRecords(project, { records });

async function begin(): Promise<MemoryProject> {
  const project = await given.session();
  return project;
}

async function entryAt(project: MemoryProject) {
  return decodeEntry((await project.repository.store.readCommit(await project.tipOf(line))).message);
}

describe('a record', () => {
  test('by the user opens a turn, by the assistant closes it, and each is one entry', async () => {
    const project = await begin();
    const said = await append(project, user('a', 'What is this?', 'voice_transcription'));
    expect(said).toEqual({
      session,
      line,
      turn: '01',
      commit: await project.tipOf(line),
      entry: 'message',
      isNew: true,
    });
    expect(await append(project, assistant('b', 'A test.', 'voice_response'))).toMatchObject({
      turn: '01',
      entry: 'reply',
    });
    expect(await append(project, user('c', 'And now?'))).toMatchObject({ turn: '02', entry: 'message' });
    expect(await storyOfLine(project)).toEqual([...begun, 'message 01', 'reply 01', 'message 02']);
    expect(await recordsOf(project)).toEqual([
      user('a', 'What is this?', 'voice_transcription'),
      assistant('b', 'A test.', 'voice_response'),
    ]);
  });

  test('by the user joins the turn that waits for an answer, or the one whose plan waits', async () => {
    const project = await begin();
    await append(project, user('a', 'One.'));
    expect(await append(project, user('b', 'Two.'))).toMatchObject({ turn: '01' });
    await say(project, undefined, planOf([create('a.txt')]));
    expect(await append(project, user('c', 'While it waits.'))).toMatchObject({ turn: '01' });
    expect((await recordsOf(project)).map(({ type }) => type)).toEqual(['user', 'user', 'assistant', 'user']);
    await run(project);
    expect(await append(project, user('d', 'Later.'))).toMatchObject({ turn: '02' });
  });

  test('by the assistant opens the first turn if it comes first, and later ones join the latest turn', async () => {
    const project = await begin();
    expect(await append(project, assistant('a', 'Hello.'))).toMatchObject({ turn: '01' });
    expect(await append(project, assistant('b', 'Are you there?'))).toMatchObject({ turn: '01' });
    expect(await append(project, user('c', 'Yes.'))).toMatchObject({ turn: '02' });
  });

  test('from an interrupted answer is flagged, and its turn stays open', async () => {
    const project = await begin();
    await append(project, user('a', 'Tell me.'));
    await append(project, partial('b', 'Well, I'));
    expect(await entryAt(project)).toMatchObject({ kind: 'reply', status: 'PARTIAL', title: 'interrupted answer' });
    expect(await append(project, user('c', 'Stop.'))).toMatchObject({ turn: '01' });
  });

  test('is answered by a model like any other message', async () => {
    const project = await begin();
    await append(project, user('a', 'What is this?', 'voice_transcription'));
    const model = scriptedModel('A test.');
    await say(project, undefined, model);
    expect(model.requests[0]?.messages.at(-1)?.content).toMatch(/What is this\?$/);
    expect((await recordsOf(project)).map(({ type }) => type)).toEqual(['user', 'assistant']);
  });

  test('loses its secrets, in a text and in an input', async () => {
    const project = await begin();
    project.secrets.set('hunter2hunter2', 'password');
    await append(project, user('a', 'It is hunter2hunter2.'));
    await append(project, call('b', 'run', { words: ['hunter2hunter2'] }), result('b', { said: 'hunter2hunter2' }));
    const text = JSON.stringify(await recordsOf(project));
    expect(text).not.toContain('hunter2');
    expect(text.match(/\[masked: password\]/g)).toHaveLength(3);
    expect(project.said).toContain('warning: 2 secrets were masked in it.');
  });

  test('loses the secrets in its keys as well, and loses neither of two keys that are masked alike', async () => {
    const project = await begin();
    for (const secret of ['hunter2hunter2', 'hunter3hunter3']) project.secrets.set(secret, 'password');
    const input = { hunter2hunter2: 'one', hunter3hunter3: 'two' };
    await append(project, call('b', 'run', input), result('b'));
    expect((await recordsOf(project))[0]).toMatchObject({
      tool_input: { '[masked: password]': 'one', '[masked: password] (2)': 'two' },
    });
  });
});

describe('calls', () => {
  test('and their results are one entry, with the text before them', async () => {
    const project = await begin();
    await append(project, user('a', 'Look.'));
    const records = [assistant('b', 'I look.'), call('c'), call('d', 'list_files', {}), result('d'), result('c')];
    expect(await append(project, ...records)).toMatchObject({ turn: '01', entry: 'exchange' });
    expect(await entryAt(project)).toMatchObject({
      kind: 'exchange',
      title: '2 calls: read_file, list_files',
      details: ['1. read_file {"path":"README.md"}', '2. list_files {}'],
    });
    // The turn waits for the model's reaction to them.
    expect(await append(project, user('e', 'Well?'))).toMatchObject({ turn: '01' });
  });

  test.each<[string, KnownRecord[]]>([
    ['without a result', [call('a')]],
    ['that are answered twice', [call('a'), result('a'), { ...result('a'), id: 'other' }]],
    ['with the same id', [call('a'), { ...call('a'), id: 'other' }, result('a')]],
    ['if one has no result', [call('a'), call('b'), result('b')]],
    ['with another call’s result', [call('a'), result('a'), result('b')]],
    ['with a message by the user', [user('u', 'x'), call('a'), result('a')]],
    ['with a text after them', [call('a'), result('a'), assistant('t', 'x')]],
  ])('%s are refused, and nothing is stored', async (_, records) => {
    const project = await begin();
    await expect(append(project, ...records)).rejects.toMatchObject({ code: 'BAD_RECORD' });
    expect(await storyOfLine(project)).toEqual(begun);
  });

  test.each<[string, KnownRecord[]]>([
    ['nothing', []],
    ['two messages', [user('a', 'x'), user('b', 'y')]],
    ['a result alone', [result('a')]],
    ['an empty id', [user('', 'x')]],
    ['an id of two words', [user('a b', 'x')]],
    ['one id twice', [call('a'), { ...result('a'), id: 'a-use' }]],
  ])('are refused with %s', async (_, records) => {
    await expect(append(await begin(), ...records)).rejects.toMatchObject({ code: 'BAD_RECORD' });
  });
});

describe('a record that was sent already', () => {
  test('is stored once, whatever time it is sent with, and its entry is named', async () => {
    const project = await begin();
    const first = await append(project, user('a', 'One.'));
    await append(project, assistant('b', 'Answer.'));
    await append(project, user('c', 'Two.'));
    const again = await append(project, { ...user('a', 'One.'), timestamp: '2026-02-01T00:00:00.000Z' });
    expect(again).toEqual({ ...first, isNew: false });
    expect(await storyOfLine(project)).toEqual([...begun, 'message 01', 'reply 01', 'message 02']);
  });

  test('with another content is refused', async () => {
    const project = await begin();
    await append(project, user('a', 'One.'));
    const refused = append(project, user('a', 'Another.'));
    await expect(refused).rejects.toMatchObject({
      code: 'ENTRY_EXISTS',
      message: expect.stringContaining('"a"') as string,
    });
    await expect(append(project, assistant('a', 'One.'))).rejects.toMatchObject({ code: 'ENTRY_EXISTS' });
    expect(await recordsOf(project)).toHaveLength(1);
  });

  test('is refused in part: a unit is stored either complete or not at all', async () => {
    const project = await begin();
    await append(project, call('a'), result('a'));
    await expect(append(project, call('a'), call('b'), result('a'), result('b'))).rejects.toMatchObject({
      code: 'ENTRY_EXISTS',
    });
    expect(await append(project, call('a'), result('a'))).toMatchObject({ isNew: false });
  });

  test('by somebody else at the same moment is stored once', async () => {
    const project = await begin();
    const racing = withRace(project, () => append(project, user('a', 'One.')));
    expect(await appendRecords(racing, { records: [user('a', 'One.')] })).toMatchObject({ isNew: false, turn: '01' });
    expect(await recordsOf(project)).toHaveLength(1);
  });

  test('is appended after the other’s messages at the same moment', async () => {
    const project = await begin();
    const racing = withRace(project, () => append(project, user('a', 'One.')));
    expect(await appendRecords(racing, { records: [user('b', 'Two.')] })).toMatchObject({ isNew: true, turn: '01' });
    expect((await recordsOf(project)).map((record) => record.type !== 'other' && record.id)).toEqual(['a', 'b']);
  });
});

test('a line that another program has torn stays, and the next record begins on a line of its own', async () => {
  const project = await begin();
  await append(project, user('a', 'One.'));
  const path = `.teddy/sessions/${session}/01/transcript.jsonl`;
  const torn = `${await project.readAt(await project.tipOf(line), path)}{"type":"us`;
  // An import by another tool may have left it like this: the transcript is read as published.
  const { append: appendTo } = await import('../../../src/workflow/line/append.ts');
  const target = { ref: `refs/heads/${line}` as never, workspace: project.repository.workspace };
  const code = { files: [{ path: path as never, bytes: torn }] };
  await appendTo(project, target, ({ entry: { kind, turn, title, details } }) => [
    { kind, turn, label: { title, details }, code },
  ]);
  await append(project, assistant('b', 'Answer.'));
  expect((await recordsOf(project)).map(({ type }) => type)).toEqual(['user', 'assistant']);
  await expect(append(project, user('b', 'x'))).rejects.toBeInstanceOf(TeddyError);
});

describe('a record from another program', () => {
  const appendGiven = (project: MemoryProject, ...records: object[]) =>
    appendRecords(project, { records: records as GivenRecord[] });

  test('without a source counts as text, and is the same when it is sent again', async () => {
    const project = await begin();
    const record = {
      type: 'user',
      id: 'a',
      timestamp: '2026-01-24T10:00:00.000Z',
      message: { role: 'user', content: 'Hi' },
    };
    expect(await appendGiven(project, record)).toMatchObject({ isNew: true });
    expect(await appendGiven(project, record)).toMatchObject({ isNew: false });
    expect(await appendGiven(project, { ...record, source: 'text' })).toMatchObject({ isNew: false });
    await expect(appendGiven(project, { ...record, source: 'voice_transcription' })).rejects.toMatchObject({
      code: 'ENTRY_EXISTS',
    });
    expect(await recordsOf(project)).toEqual([user('a', 'Hi')]);
  });

  test('in the seed’s form has no id: it gets one from its content, and is recognized by it', async () => {
    const project = await begin();
    const lines = [
      { type: 'user', message: { role: 'user', content: 'Look.' }, timestamp: '2026-02-21T10:00:00Z' },
      [
        { type: 'tool_use', tool_call_id: 't1', tool_name: 'read_file', tool_input: { path: 'a' } },
        { type: 'tool_result', tool_call_id: 't1', output: 'A' },
      ],
      { type: 'voice_interrupted', timestamp: '2026-02-21T10:00:03Z' },
      { type: 'orchestrator_meta', session_id: 's', mode: 'voice' },
      { type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] } },
    ];
    for (const isNew of [true, false]) {
      for (const record of lines) expect(await appendGiven(project, ...[record].flat())).toMatchObject({ isNew });
    }
    const records = await recordsOf(project);
    expect(records.map(({ type }) => type)).toEqual([
      'user',
      'tool_use',
      'tool_result',
      'voice_interrupted',
      'orchestrator_meta',
      'assistant',
    ]);
    const ids = records.map((record) => ('id' in record ? record.id : ''));
    expect(new Set(ids).size).toBe(6);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(records.at(-1)).toMatchObject({
      message: { content: 'Done.' },
      timestamp: expect.stringContaining('2026') as string,
    });
    // The same words with another time are another message.
    const later = { type: 'user', message: { role: 'user', content: 'Look.' }, timestamp: '2026-02-21T11:00:00Z' };
    expect(await appendGiven(project, later)).toMatchObject({ isNew: true });
  });

  test('whose content is blocks with calls keeps each call and its result', async () => {
    const project = await begin();
    const use = { type: 'tool_use', id: 't1', name: 'read_file', input: { path: 'a' } };
    await appendGiven(
      project,
      { type: 'assistant', id: 'x', message: { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, use] } },
      { type: 'user', message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'A' }] } },
    );
    expect(await recordsOf(project)).toMatchObject([
      { type: 'assistant', id: 'x', message: { content: 'I look.' } },
      { type: 'tool_use', tool_call_id: 't1', tool_name: 'read_file', tool_input: { path: 'a' } },
      { type: 'tool_result', tool_call_id: 't1', output: 'A', is_error: false },
    ]);
  });

  test.each([
    [{ type: 'user' }, /without message\.content/],
    [{ type: 'plan', text: 'x' }, /not a record type/],
    [null, /not an object with a type/],
  ])('that is invalid is refused: %j', async (record, reason) => {
    const project = await begin();
    await expect(appendGiven(project, record as object)).rejects.toMatchObject({
      code: 'BAD_RECORD',
      message: expect.stringMatching(reason) as string,
    });
  });
});

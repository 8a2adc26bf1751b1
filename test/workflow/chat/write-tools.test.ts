/** The conversation tools that write, `edit_file` and `WritePlanTool_begin`, and the diff that is approved first. */
import { describe, expect, test } from 'vitest';
import type { CallDecision, ShownCall } from '../../../src/workflow/chat/chat.ts';
import { given } from '../../support/given.ts';
import { chat, notedListener, toolCall } from '../../support/chat.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { recordsOf } from '../../support/records.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { line, session, storyOfLine } from '../../support/turns.ts';

async function begin(): Promise<MemoryProject> {
  const project = await given.session();
  await project.write({ 'app.txt': 'one\ntwo\nthree\n' });
  return project;
}

const edit = (values: object, path = 'app.txt') => toolCall('e', 'edit_file', { path, ...values });
const two = edit({ edits: [{ find: 'two', replace: 'TWO' }] });
const file = (operation: string, target = 'app.txt') =>
  toolCall('w', 'WritePlanTool_begin', { intent: 'x', target_file: target, operation });

/** Answers every question, and records it. */
function person(decision: CallDecision, meanwhile: () => Promise<unknown> = async () => undefined) {
  const asked: ShownCall[] = [];
  const listener = notedListener(async (call) => {
    asked.push(call);
    await meanwhile();
    return decision;
  });
  return { asked, listener };
}

const outputs = async (project: MemoryProject) =>
  (await recordsOf(project)).flatMap((record) => (record.type === 'tool_result' ? [record] : []));

describe('edit_file', () => {
  test('is shown as a diff, applied after a yes, and committed as its own entry', async () => {
    const project = await begin();
    const { asked, listener } = person(true);
    const model = scriptedModel(
      {
        texts: [],
        calls: [
          edit({
            edits: [
              { find: 'two', replace: 'TWO' },
              { find: 'TWO\nthree', replace: 'TWO\n' },
            ],
          }),
        ],
      },
      'Done.',
    );
    expect(await chat(project, 'Shout.', model, { listener })).toMatchObject({ kind: 'answered', text: 'Done.' });
    expect(asked).toMatchObject([{ summary: 'edit_file app.txt (2 edits)', isDiff: true }]);
    expect(asked[0]?.detail).toContain('-two\n-three\n+TWO\n');
    expect(await project.read('app.txt')).toBe('one\nTWO\n');
    const story = await storyOfLine(project);
    expect(story.slice(-3)).toEqual([expect.stringMatching(/^write/), 'exchange 01', 'reply 01']);
    expect(await project.readAt(await project.tipOf(line), 'app.txt')).toBe('one\nTWO\n');
    expect(await outputs(project)).toMatchObject([{ is_error: false, output: expect.stringContaining('"app.txt"') }]);
    expect(project.writing.size).toBe(1);
    expect([...project.writing.values()].every(({ state }) => state?.phase === 'committed')).toBe(true);
  });

  test.each([
    ['is not found', { edits: [{ find: 'four', replace: '4' }] }, 'app.txt', /^edit_file app\.txt: FIND was not found/],
    [
      'is found twice',
      { edits: [{ find: 'e', replace: 'E' }] },
      'app.txt',
      /^edit_file app\.txt: FIND matches 3 places, expected one: .* or set `match_all`\.$/,
    ],
    ['changes nothing', { edits: [{ find: 'two', replace: 'two' }] }, 'app.txt', /the edits change nothing\.$/],
    [
      'names a missing file',
      { edits: [{ find: 'a', replace: 'b' }] },
      'none.txt',
      /^edit_file none\.txt: there is no such file/,
    ],
    ['leaves the project', { edits: [{ find: 'a', replace: 'b' }] }, '../x', /it leaves the project/],
    ['is inside .teddy', { edits: [{ find: 'a', replace: 'b' }] }, '.teddy/x', /it is inside `\.teddy`/],
    [
      'brings in a mask',
      { edits: [{ find: 'two', replace: '[masked: password]' }] },
      'app.txt',
      /it would write \[masked/,
    ],
  ])('that %s is an error to the model, and nobody is asked', async (_, values, path, wanted) => {
    const project = await begin();
    const { asked, listener } = person(true);
    const model = scriptedModel({ texts: [], calls: [edit(values, path)] }, 'I see.');
    expect(await chat(project, 'Edit.', model, { listener })).toMatchObject({ text: 'I see.' });
    expect(asked).toEqual([]);
    expect(await outputs(project)).toMatchObject([{ is_error: true, output: expect.stringMatching(wanted) as string }]);
    expect(await project.read('app.txt')).toBe('one\ntwo\nthree\n');
    expect(project.writing.size).toBe(0);
  });

  test.each([
    ['a secret', '.env', 'named like a secret'],
    ['files that git ignores', 'out/made.txt', 'git ignores it'],
    ['files that the user excludes', 'private.txt', 'session.context, line 1 (!private.txt) takes it away'],
  ])('returns no content from %s, as read_file does', async (_, path, reason) => {
    const project = await given.session({ '.gitignore': 'out\n', '.env': 'KEY=a b c\n', 'private.txt': 'KEY=a b c\n' });
    await project.commit('List\n', { [`.teddy/sessions/${session}/session.context`]: '!private.txt\n' });
    await project.write({ 'out/made.txt': 'KEY=a b c\n' });
    const before = await project.read(path);
    const { asked, listener } = person(true);
    // One edit almost matches, one matches more than once, one doesn't match, one would apply, one would change
    // nothing.
    const finds = ['KEY=a b d', ' ', 'zzz', 'KEY', 'a b c'];
    const calls = [
      toolCall('r', 'read_file', { path }),
      ...finds.map((find, at) => toolCall(`e${at}`, 'edit_file', { path, edits: [{ find, replace: 'a b c' }] })),
    ];
    await chat(project, 'Edit.', scriptedModel({ texts: [], calls }, 'I see.'), { listener });
    const [read = '', ...edits] = (await outputs(project)).map(({ output }) => output as string);
    expect(read).toContain(`read_file ${path}: ${reason}`);
    expect(edits).toEqual(finds.map(() => read.replace('read_file', 'edit_file')));
    expect(asked).toEqual([]);
    expect(await project.read(path)).toBe(before);
  });

  test('with match_all replaces every place', async () => {
    const project = await begin();
    const model = scriptedModel(
      { texts: [], calls: [edit({ edits: [{ find: 'e', replace: 'E' }], match_all: true })] },
      'Done.',
    );
    await chat(project, 'Shout.', model);
    expect(await project.read('app.txt')).toBe('onE\ntwo\nthrEE\n');
  });

  test.each([
    ['a no', false, 'denied', 'Tool execution denied by user'],
    ['a comment', { instruction: 'Only the first.' }, 'instructed', 'The user says instead: Only the first.'],
  ])(
    'after %s leaves the file unchanged and staging empty, and the model gets an error',
    async (_, decision, reason, output) => {
      const project = await begin();
      const { listener } = person(decision);
      const model = scriptedModel({ texts: [], calls: [two] }, 'As you like.');
      const outcome = await chat(project, 'Shout.', model, { listener });
      expect(outcome.kind).toBe(reason === 'denied' ? 'denied' : 'answered');
      expect(await project.read('app.txt')).toBe('one\ntwo\nthree\n');
      expect(await outputs(project)).toMatchObject([{ reason, output: expect.stringContaining(output) as string }]);
      expect(project.writing.size).toBe(0);
    },
  );

  test('after %s leaves the file unchanged and staging empty, and the model gets an error', async () => {
    const project = await begin();
    const { listener } = person(true, () => project.write({ 'app.txt': 'mine\n' }));
    const model = scriptedModel({ texts: [], calls: [two] }, 'I see.');
    await chat(project, 'Shout.', model, { listener });
    expect(await project.read('app.txt')).toBe('mine\n');
    const changed = 'edit_file app.txt: the file has changed on disk since the edits were applied to it';
    expect(await outputs(project)).toMatchObject([
      { is_error: true, output: expect.stringContaining(changed) as string },
    ]);
    expect(project.writing.size).toBe(0);
  });

  test('is denied if nobody can be asked', async () => {
    const project = await begin();
    const model = scriptedModel({ texts: [], calls: [two] });
    expect(await chat(project, 'Shout.', model, { listener: notedListener(null) })).toMatchObject({ kind: 'denied' });
    expect(await project.read('app.txt')).toBe('one\ntwo\nthree\n');
  });

  test('never brings in a secret, whatever the user answers', async () => {
    const project = await begin();
    project.secrets.set('hunter2', 'password');
    const { asked, listener } = person(true);
    const calls = [edit({ edits: [{ find: 'two', replace: 'hunter2' }] })];
    await chat(project, 'Shout.', scriptedModel({ texts: [], calls }, 'I see.'), { listener });
    expect(asked).toEqual([]);
    expect(await project.read('app.txt')).toBe('one\ntwo\nthree\n');
    const [result] = await outputs(project);
    expect(result?.output).not.toContain('hunter2');
    expect(project.writing.size).toBe(0);
  });
});

describe('a written file', () => {
  test.each([
    ['created', 'create', 'new.txt', null, '+four\n'],
    ['overwritten', 'overwrite', 'app.txt', 'one\ntwo\nthree\n', '-one\n-two\n-three\n+four\n'],
  ])('that is %s is shown as a diff once its content has arrived', async (_, operation, target, before, diff) => {
    const project = await begin();
    const { asked, listener } = person(false);
    const model = scriptedModel({ texts: [], calls: [file(operation, target)] }, 'four\nDONE\n');
    const reading = () => project.read(target).catch(() => null);
    const content = operation === 'create' ? 'four\n' : `four\n${'x\n'.repeat(2)}`;
    const answer =
      operation === 'create'
        ? model
        : scriptedModel({ texts: [], calls: [file(operation, target)] }, `${content}DONE\n`);
    expect(await chat(project, 'Write.', answer, { listener })).toMatchObject({ kind: 'denied' });
    expect(asked).toMatchObject([{ isDiff: true, detail: expect.stringContaining(diff) as string }]);
    expect(await reading()).toBe(before);
    expect(await outputs(project)).toMatchObject([{ reason: 'denied' }]);
    expect(project.writing.size).toBe(0);
  });
});

/** A captured line that somebody else has continued, or whose newest turn was moved to another branch. */
import { describe, expect, test } from 'vitest';
import type { KnownRecord } from '../../../src/conversation/records/record.ts';
import type { RefName } from '../../../src/names.ts';
import { appendRecords } from '../../../src/workflow/line/append-records.ts';
import { answered, capture, faultsOf, linesOf, said, textsOf } from '../../support/followed-log.ts';
import { memoryCapture, type MemoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { memoryWorkTree } from '../../support/memory-work-trees.ts';
import { create, planOf, run, say, storyOfLine } from '../../support/turns.ts';

const session = '20260124-claude-code-add-a-file';
const main = `teddy/${session}`;
const branch = `${main}--02-branch-01`;

const first = said('u1', null, 'Add a file') + answered('a1', 'u1', 'It is there.');
const question = said('u2', 'a1', 'And another');
const second = question + answered('a2', 'u2', 'Done.');
const third = said('u3', 'a2', 'A third') + answered('a3', 'u3', 'Also done.');

async function add(project: MemoryProject, role: 'user' | 'assistant', content: string): Promise<void> {
  const base = { id: `said-${role}`, timestamp: '2026-01-24T11:00:00.000Z', source: 'text' };
  const record = { type: role, ...base, message: { role, content } } as KnownRecord;
  await appendRecords(project, { selector: session, records: [record], isFresh: true });
}

const addMessage = (project: MemoryProject, content: string) => add(project, 'user', content);

/** The entries are the same whether the log's state exists or is lost. */
describe.each(['kept', 'lost'])('if the state of the log is %s', (state) => {
  async function goOn(project: MemoryProject, logs: MemoryCapture, text: string): Promise<void> {
    if (state === 'lost') logs.saved.clear();
    await capture(project, logs, text);
  }

  test("the agent's turn after a waiting message forks to a branch and continues there", async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first);
    await addMessage(project, 'Why a file?');
    await goOn(project, logs, first + second);
    await goOn(project, logs, first + second + third);
    expect((await linesOf(project)).filter((line) => line !== 'teddy/global')).toEqual([main, branch]);
    expect(await textsOf(project, main)).toEqual({ '01': ['Add a file', 'It is there.'], '02': ['Why a file?'] });
    expect(await textsOf(project, branch)).toEqual({
      '01': ['Add a file', 'It is there.'],
      '02-branch-01': ['And another', 'Done.'],
      '03': ['A third', 'Also done.'],
    });
    expect(await faultsOf(project)).toEqual([]);
  });

  test('a turn that got an added message continues on a branch without it', async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first + question);
    await addMessage(project, 'And a folder');
    await goOn(project, logs, first + second);
    await goOn(project, logs, first + second + third);
    expect(await textsOf(project, main)).toMatchObject({ '02': ['And another', 'And a folder'] });
    expect(await textsOf(project, branch)).toMatchObject({ '02-branch-01': ['And another', 'Done.'] });
    expect(await faultsOf(project)).toEqual([]);
  });

  test("a message added to an agent's turn that was cut off stays on its line", async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first + question);
    await addMessage(project, 'And a folder');
    const next = said('u3', 'u2', 'No, a third') + answered('a3', 'u3', 'Also done.');
    await goOn(project, logs, first + question + next);
    expect(await textsOf(project, branch)).toMatchObject({
      '02-branch-01': ['And another'],
      '03': ['No, a third', 'Also done.'],
    });
    expect(await faultsOf(project)).toEqual([]);
  });

  test.each([
    ["in an agent's open turn", first + question, undefined],
    ['in its own turn', first, 'Plan it'],
  ])('a plan that waits %s is left to its author', async (_, before, message) => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, before);
    await say(project, message, planOf([create('b.txt')]), { selector: session });
    await goOn(project, logs, first + second);
    await goOn(project, logs, first + second + third);
    expect((await storyOfLine(project, main)).at(-1)).toBe('plan 02');
    expect(await textsOf(project, branch)).toMatchObject({
      '02-branch-01': ['And another', 'Done.'],
      '03': ['A third', 'Also done.'],
    });
    expect(await faultsOf(project)).toEqual([]);
  });

  test.each([
    ['an answer', async (project: MemoryProject) => add(project, 'assistant', 'Here it is.')],
    ["a model's answer", async (project: MemoryProject) => say(project, undefined, 'Here.\n', { selector: session })],
    [
      'a message and its answer',
      async (project: MemoryProject) => {
        await addMessage(project, 'And a folder');
        await add(project, 'assistant', 'Here it is.');
      },
    ],
  ])("%s in an agent's open turn stays apart from the agent's own entries", async (_, answer) => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first + question);
    await answer(project);
    await goOn(project, logs, first + second);
    await goOn(project, logs, first + second + third);
    expect((await textsOf(project, main))['02']).not.toContain('Done.');
    expect(await textsOf(project, branch)).toMatchObject({
      '02-branch-01': ['And another', 'Done.'],
      '03': ['A third', 'Also done.'],
    });
    expect(await faultsOf(project)).toEqual([]);
  });

  test.each([
    ['forks from the line', 'main', false],
    ['stays on the line if the agent works there', main, true],
  ])("the agent's turn after somebody else's code %s", async (_, head, isOnLine) => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first);
    await project.switchTo(main);
    await say(project, 'Make it', planOf([create('b.txt')]));
    await run(project);
    await project.switchTo(head);
    await goOn(project, logs, first + second);
    expect((await storyOfLine(project, main)).includes('report 02')).toBe(true);
    expect(await textsOf(project, isOnLine ? main : branch)).toMatchObject(
      isOnLine ? { '03': ['And another', 'Done.'] } : { '02-branch-01': ['And another', 'Done.'] },
    );
    expect((await linesOf(project)).includes(branch)).toBe(!isOnLine);
    expect(await faultsOf(project)).toEqual([]);
  });

  test.each([
    ['after a turn', first],
    ['in the middle of one', first + question],
  ])('a commit by the user %s stays on the line that it was made on', async (_, before) => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, before);
    await project.switchTo(main);
    await project.commit('Mine\n', { 'mine.txt': 'mine\n' });
    await project.switchTo('main');
    await goOn(project, logs, first + second);
    await goOn(project, logs, first + second + third);
    expect(await project.readAt(await project.tipOf(main), 'mine.txt')).toBe('mine\n');
    expect(await project.readAt(await project.tipOf(branch), 'mine.txt')).toBeNull();
    expect(await textsOf(project, branch)).toMatchObject({ '02-branch-01': ['And another', 'Done.'] });
    expect(await faultsOf(project)).toEqual([]);
  });

  test.each([
    ['after a turn', first],
    ['in the middle of one', first + question],
  ])('a line that another work tree is on stays unchanged %s', async (_, before) => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, before);
    project.linked.push(memoryWorkTree(`refs/heads/${main}` as RefName));
    const tip = await project.tipOf(main);
    await goOn(project, logs, first + second);
    await goOn(project, logs, first + second + third);
    expect(await project.tipOf(main)).toBe(tip);
    expect(await textsOf(project, branch)).toMatchObject({
      '02-branch-01': ['And another', 'Done.'],
      '03': ['A third', 'Also done.'],
    });
    expect(await faultsOf(project)).toEqual([]);
  });

  test("somebody else's finished turn is followed by the agent's next turn", async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first);
    await say(project, 'Why a file?', 'It was asked for.\n', { selector: session });
    await goOn(project, logs, first + second);
    expect(await linesOf(project)).not.toContain(branch);
    expect(Object.keys(await textsOf(project, main))).toEqual(['01', '02', '03']);
    expect(await faultsOf(project)).toEqual([]);
  });
});

test('a branch that now belongs to another session takes no turn from this one', async () => {
  const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
  await capture(project, logs, first);
  const tip = await project.tipOf(main);
  await project.repository.store.updateRefs([{ ref: `refs/heads/${main}` as never, old: tip, new: null }], 'delete');
  const other = memoryCapture('claude-code');
  const theirs = [said('v1', null, 'Add a file'), answered('b1', 'v1', 'There.')].join('').replaceAll('"s1"', '"s2"');
  await capture(project, other, theirs);
  const follower = await capture(project, logs, first + second);
  expect(follower.state.log).toMatchObject({ stopped: 'line-gone', entries: 2 });
  expect(await textsOf(project, main)).toEqual({ '01': ['Add a file', 'There.'] });
});

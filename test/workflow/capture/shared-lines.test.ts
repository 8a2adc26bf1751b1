/** A captured line on which somebody else has gone on, or whose newest turn was moved to another branch. */
import { describe, expect, test } from 'vitest';
import { appendRecords } from '../../../src/workflow/line/append-records.ts';
import { answered, capture, faultsOf, linesOf, said, textsOf } from '../../support/followed-log.ts';
import { memoryCapture, type MemoryCapture } from '../../support/memory-agent-logs.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { create, planOf, say, storyOfLine } from '../../support/turns.ts';

const session = '20260124-claude-code-add-a-file';
const main = `teddy/${session}`;
const branch = `${main}--02-branch-01`;

const first = said('u1', null, 'Add a file') + answered('a1', 'u1', 'It is there.');
const question = said('u2', 'a1', 'And another');
const second = question + answered('a2', 'u2', 'Done.');
const third = said('u3', 'a2', 'A third') + answered('a3', 'u3', 'Also done.');

async function addMessage(project: MemoryProject, content: string): Promise<void> {
  const message = { role: 'user' as const, content };
  const record = { type: 'user' as const, id: 'said-1', timestamp: '2026-01-24T11:00:00.000Z', message };
  await appendRecords(project, { selector: session, records: [record], isFresh: true });
}

/** The same entries, whether the state of the log is there or lost. */
describe.each(['kept', 'lost'])('where the state of the log is %s', (state) => {
  async function goOn(project: MemoryProject, logs: MemoryCapture, text: string): Promise<void> {
    if (state === 'lost') logs.saved.clear();
    await capture(project, logs, text);
  }

  test("the agent's turn after a message that waits leaves a branch, and goes on there", async () => {
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

  test('what a message was added to goes on without it', async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first + question);
    await addMessage(project, 'And a folder');
    await goOn(project, logs, first + second);
    await goOn(project, logs, first + second + third);
    expect(await textsOf(project, main)).toMatchObject({ '02': ['And another', 'And a folder'] });
    expect(await textsOf(project, branch)).toMatchObject({ '02-branch-01': ['And another', 'Done.'] });
    expect(await faultsOf(project)).toEqual([]);
  });

  test("a message into a turn of the agent's that was cut off stays where it is", async () => {
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
    ["in a turn of the agent's that is open", first + question, undefined],
    ['in a turn of its own', first, 'Plan it'],
  ])('a plan that waits %s is left to whoever made it', async (_, before, message) => {
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

  test("a turn of somebody else's that is over is followed by the agent's", async () => {
    const [project, logs] = [await memoryProject(), memoryCapture('claude-code')];
    await capture(project, logs, first);
    await say(project, 'Why a file?', 'It was asked for.\n', { selector: session });
    await goOn(project, logs, first + second);
    expect(await linesOf(project)).not.toContain(branch);
    expect(Object.keys(await textsOf(project, main))).toEqual(['01', '02', '03']);
    expect(await faultsOf(project)).toEqual([]);
  });
});

import { describe, expect, test } from 'vitest';
import { recordMessage } from '../../../src/workflow/turn/plan.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { line, say, session, storyOfLine } from '../../support/turns.ts';

const answer = (text: string, inputTokens = 1000, outputTokens = 234) =>
  scriptedModel({ texts: [text], usage: { inputTokens, outputTokens } });

async function begin(settings: Record<string, string>): Promise<MemoryProject> {
  const project = await given.session();
  for (const [name, value] of Object.entries(settings)) project.configuration.set(`teddy.${name}`, value);
  return project;
}

const spent = { code: 'BUDGET_SPENT' };

describe('a limit of turns', () => {
  test('refuses the turn beyond it before anything is written, and reports the usage and the remedy', async () => {
    const project = await begin({ maxTurns: '2' });
    await say(project, 'one', answer('x'));
    await say(project, 'two', answer('y'));
    const tip = await project.tipOf(line);
    await project.write({ 'README.md': '# Edited\n' });
    await expect(say(project, 'three', answer('z'))).rejects.toMatchObject({
      ...spent,
      message: `Session ${session} has spent its budget: 2 turns, 2,000 tokens in, 468 out; teddy.maxTurns is 2.`,
      hint: expect.stringContaining('git config teddy.maxTurns 4'),
    });
    const choice = { provider: 'none' as const, name: 'none', parameters: {}, model: null };
    await expect(recordMessage(project, { message: 'three', choice })).rejects.toMatchObject(spent);
    await expect(say(project, 'three', null)).rejects.toMatchObject(spent);
    expect(await project.tipOf(line)).toBe(tip);
    project.configuration.set('teddy.maxTurns', '3');
    expect(await say(project, 'three', answer('z'))).toMatchObject({ turn: '03' });
  });

  test('allows the last turn to be answered, and asked again', async () => {
    const project = await begin({ maxTurns: '1' });
    await expect(say(project, 'one', answer(''))).rejects.toMatchObject({ code: 'EMPTY_ANSWER' });
    await expect(say(project, undefined, answer(''))).rejects.toMatchObject({ code: 'EMPTY_ANSWER' });
    await say(project, 'one, in other words', answer('x'));
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'message 01', 'reply 01']);
  });
});

describe('a limit of tokens', () => {
  test('is reached by the sum of input and output, and then nobody is asked', async () => {
    const project = await begin({ maxTokens: '2468' });
    await say(project, 'one', answer('x'));
    await say(project, 'two', answer('y'));
    await expect(say(project, 'three', answer('z'))).rejects.toMatchObject({
      ...spent,
      message: expect.stringContaining('2 turns, 2,000 tokens in, 468 out; teddy.maxTokens is 2,468.'),
    });
    project.configuration.set('teddy.maxTokens', '2469');
    await say(project, 'three', null);
    await say(project, undefined, answer('z'));
    await expect(say(project, 'four', answer('z'))).rejects.toMatchObject(spent);
  });

  test('counts an interrupted answer’s cost, and asking the open turn again is refused too', async () => {
    const project = await begin({ maxTokens: '5' });
    const failing = scriptedModel(
      { texts: ['half'], finish: 'length', usage: { inputTokens: 3, outputTokens: 2 } },
      { texts: [], finish: 'length' },
    );
    await expect(say(project, 'one', failing)).rejects.toMatchObject({ code: 'MODEL_INTERRUPTED' });
    await expect(say(project, undefined, answer('z'))).rejects.toMatchObject(spent);
  });

  test('does not stop an answer by hand, which spends nothing', async () => {
    const project = await begin({ maxTokens: '1' });
    await say(project, 'one', answer('x'));
    const model = { ...scriptedModel('By hand.'), provider: 'manual' as const };
    const choice = { provider: 'manual' as const, name: 'manual', parameters: {}, model };
    expect(await say(project, 'two', null, { choice })).toMatchObject({ turn: '02', kind: 'answered' });
  });

  test('on a conversation branch counts the turns before it, and not the main line’s since', async () => {
    const project = await begin({});
    await say(project, 'one', answer('x', 10, 0));
    await say(project, 'two', answer('y', 100, 0));
    await branchSession(project, { turn: '02', switch: true });
    project.configuration.set('teddy.maxTokens', '11');
    await say(project, 'two, otherwise', answer('z', 1, 0));
    await expect(say(project, 'three', answer('z'))).rejects.toMatchObject({
      ...spent,
      message: expect.stringContaining('2 turns, 11 tokens in, 0 out'),
    });
  });
});

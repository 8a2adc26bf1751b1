/** Which models a landing names: the authors of the code that it brings, and no others. */
import { describe, expect, test } from 'vitest';
import type { AgentName } from '../../../src/agents/agents.ts';
import { TeddyError } from '../../../src/errors.ts';
import { decodeLandings } from '../../../src/session/lines/landing.ts';
import { askForFiles } from '../../../src/workflow/chat/ask-for-files.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { newSession } from '../../../src/workflow/line/new-session.ts';
import { submitPlan } from '../../../src/workflow/turn/submit-plan.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { appendWrite } from '../../../src/workflow/writes/append.ts';
import { beginWrite } from '../../../src/workflow/writes/begin.ts';
import { finalizeWrite } from '../../../src/workflow/writes/finalize.ts';
import { answerByHand } from '../../../src/app.ts';
import { given } from '../../support/given.ts';
import { captureTurns } from '../../support/captured-line.ts';
import { chat, command as call, notedListener } from '../../support/chat.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel, type ScriptedAnswer } from '../../support/scripted-model.ts';
import { approver, command, create, edit, line, planOf, run, say, session } from '../../support/turns.ts';

/** A model behind an endpoint, which gives these answers. */
const served = (model: string, ...answers: (string | ScriptedAnswer)[]) => ({
  ...scriptedModel(...answers),
  provider: 'openai' as const,
  model,
});

/** A complete turn: the model plans, the plan is run. */
async function turnOf(project: MemoryProject, model: string, ...actions: string[]): Promise<void> {
  await say(project, 'Do it', served(model, planOf(actions)));
  await run(project);
}

const begin = () => given.session({ 'README.md': '# Notes\n', 'a.txt': 'a\n' });

async function trailersOf(project: MemoryProject, message?: string): Promise<string[]> {
  const landed = await landSession(project, { ...(message === undefined ? {} : { message }), isDryRun: true });
  const [, last = ''] = /\n\n((?:.+\n)+)$/.exec(landed.message) ?? [];
  const trailers = last.trimEnd().split('\n');
  expect(trailers.at(-1)).toMatch(/^Teddy-Landed-From: /);
  expect(trailers).toEqual(expect.arrayContaining(landed.assistedBy));
  return landed.assistedBy;
}

describe('a landing names', () => {
  test("each model once, in the order of their answers, above the session's trailer", async () => {
    const project = await begin();
    await turnOf(project, 'gpt-5', create('one.txt'));
    await turnOf(project, 'claude-opus-5', create('two.txt'));
    await turnOf(project, 'gpt-5', create('three.txt'));
    const tip = await project.tipOf(line);
    const landed = await landSession(project, {});
    expect(landed.assistedBy).toEqual(['Assisted-by: teddy:gpt-5', 'Assisted-by: teddy:claude-opus-5']);
    const { message } = await project.repository.store.readCommit(await project.tipOf('main'));
    expect(message).toBe(
      `Do it\n\n- 01 Do it\n- 02 Do it\n- 03 Do it\n\nAssisted-by: teddy:gpt-5\nAssisted-by: teddy:claude-opus-5\nTeddy-Landed-From: ${session}@${tip}\n`,
    );
    expect(decodeLandings(message)).toEqual([{ session, tip }]);
  });

  test('no model that only talked, whose plan was refused or failed, or whose turn was undone', async () => {
    const project = await begin();
    await say(project, 'What is it?', served('talker', 'It is a test.'));
    await say(project, 'Do it', served('refused', planOf([create('refused.txt')])));
    await run(project, { approver: approver(['no']) });
    await turnOf(project, 'failed', edit('a.txt', 'not there', 'b'));
    await turnOf(project, 'looks', command('ls'));
    await turnOf(project, 'undone', create('undone.txt'));
    await undoTurn(project, {});
    await say(project, 'Do it', served('pending', planOf([create('pending.txt')])));
    await project.commit('By hand\n', { 'mine.txt': 'mine\n' });
    expect(await trailersOf(project)).toEqual([]);
  });

  test('the model of a turn that an undo has kept some files of', async () => {
    const project = await begin();
    await turnOf(project, 'gpt-5', create('one.txt'), create('two.txt'));
    await project.write({ 'two.txt': 'changed\n' });
    await undoTurn(project, { isPartial: true });
    expect(await trailersOf(project)).toEqual(['Assisted-by: teddy:gpt-5']);
  });

  test('no one for a turn whose files were restored in part before its undo', async () => {
    const project = await begin();
    await turnOf(project, 'gpt-5', create('one.txt'), create('two.txt'));
    await project.commit('Without two\n', { 'two.txt': null });
    await undoTurn(project, {});
    await project.commit('By hand\n', { 'mine.txt': 'mine\n' });
    expect(await trailersOf(project)).toEqual([]);
  });

  test('every model that answered in a turn with code, even one that only asked back', async () => {
    const project = await begin();
    const cut = { texts: ['I wou'], error: new TeddyError('MODEL_INTERRUPTED', 'Cut.') };
    await say(project, 'Do it', served('first', cut)).catch(() => undefined);
    await say(project, 'Go on', served('second', planOf([create('one.txt')])));
    await run(project);
    expect(await trailersOf(project)).toEqual(['Assisted-by: teddy:first', 'Assisted-by: teddy:second']);
  });

  test('at a second landing only models with new code, even if the turn began before the first one', async () => {
    const project = await begin();
    await turnOf(project, 'first', create('one.txt'));
    await say(project, 'Do it', served('second', planOf([create('two.txt')])));
    expect((await landSession(project, {})).assistedBy).toEqual(['Assisted-by: teddy:first']);
    await run(project);
    expect(await trailersOf(project)).toEqual(['Assisted-by: teddy:second']);
  });

  test('no one for a person’s own code or a recording', async () => {
    const project = await begin();
    await say(project, 'Do it', null, { choice: answerByHand(planOf([create('pasted.txt')])) });
    await run(project);
    await say(project, 'Do it', planOf([create('recorded.txt')]));
    await run(project);
    expect(await trailersOf(project)).toEqual([]);
  });

  test('the models of a session that it brings along', async () => {
    const project = await begin();
    await turnOf(project, 'below', create('one.txt'));
    await newSession(project, { name: 'on top', switch: true });
    await turnOf(project, 'above', create('two.txt'));
    expect(await trailersOf(project)).toEqual(['Assisted-by: teddy:below', 'Assisted-by: teddy:above']);
    await landSession(project, { target: session });
    expect(await trailersOf(project)).toEqual(['Assisted-by: teddy:above']);
  });
});

describe('a conversation', () => {
  const making = (project: MemoryProject) => {
    project.command.run = async () => {
      await project.write({ 'a.txt': 'b\n' });
      return {};
    };
    return served('gpt-5', { texts: [], calls: [call('c1', 'make')] }, 'Done.');
  };

  test('is credited if the user’s edits contain its commands’ changes', async () => {
    const project = await begin();
    await chat(project, 'Make it', making(project));
    await turnOf(project, 'later', command('ls'));
    expect(await trailersOf(project)).toEqual(['Assisted-by: teddy:gpt-5']);
  });

  test('is credited if a user’s commit contains its changes, and not if nothing does', async () => {
    const project = await begin();
    await project.commit('Before\n', { 'a.txt': 'mine\n' });
    await chat(project, 'Make it', making(project));
    expect(await trailersOf(project)).toEqual([]);
    await project.commit('Take it\n', { 'a.txt': 'b\n' });
    expect(await trailersOf(project)).toEqual(['Assisted-by: teddy:gpt-5']);
  });

  test('that writes files is credited, and so is a model asked for one; a stream beside a plan has no author', async () => {
    const project = await begin();
    const write = (target: string) => {
      const args = { intent: 'x', target_file: target, operation: 'create' };
      return { texts: [], calls: [{ id: 'w1', name: 'WritePlanTool_begin', arguments: JSON.stringify(args) }] };
    };
    await chat(project, 'Write it', served('chatting', write('one.txt'), 'one\nDONE\n', 'Written.'));
    expect(await trailersOf(project)).toEqual(['Assisted-by: teddy:chatting']);
    const model = served('writing', write('two.txt'), 'two\nDONE\n', 'Written.');
    const choice = { provider: 'openai', name: 'writing', parameters: {}, model } as const;
    const options = { message: 'Write it', choice, signal: new AbortController().signal };
    await askForFiles(project, options, notedListener());
    await say(project, 'Do it', served('planning', planOf([create('pending.txt')])));
    const wanted = { intent: 'x', target: 'three.txt', operation: 'create', hasController: false };
    const { record } = await beginWrite(project, wanted);
    await appendWrite(project, { id: record.id, bytes: new TextEncoder().encode('three\n') });
    expect(await finalizeWrite(project, { id: record.id })).toMatchObject({ isWritten: true });
    expect(await trailersOf(project)).toEqual(['Assisted-by: teddy:chatting', 'Assisted-by: teddy:writing']);
  });
});

describe('another agent', () => {
  test.each<[AgentName, string]>([
    ['claude-code', 'Claude'],
    ['codex', 'Codex'],
    ['gemini', 'Gemini'],
    ['opencode', 'opencode'],
    ['copilot', 'GitHub-Copilot'],
    ['qwen', 'Qwen'],
    ['antigravity', 'Antigravity'],
    ['pi', 'pi'],
  ])('named %s is known as %s', async (agent, name) => {
    const project = await memoryProject();
    const { session: captured } = await captureTurns(project, agent, [
      { model: 'talker' },
      { model: 'model-1', files: { 'one.txt': '1\n' } },
    ]);
    const landed = await landSession(project, { target: captured });
    expect(landed.assistedBy).toEqual([`Assisted-by: ${name}:model-1`]);
  });

  test('whose log names no model is named all the same', async () => {
    const project = await memoryProject();
    const { session: captured } = await captureTurns(project, 'copilot', [
      { model: null, files: { 'one.txt': '1\n' } },
    ]);
    const { assistedBy } = await landSession(project, { target: captured, isDryRun: true });
    expect(assistedBy).toEqual(['Assisted-by: GitHub-Copilot:unknown']);
  });

  test('that submitted a session’s plan is credited for its changes', async () => {
    const project = await memoryProject();
    const plan = planOf([create('one.txt')]);
    const request = { plan, message: 'Do it', toChoice: answerByHand, signal: new AbortController().signal };
    const submitted = await submitPlan(project, request as unknown as Parameters<typeof submitPlan>[1]);
    await project.switchTo(submitted.line);
    await run(project);
    expect(await trailersOf(project)).toEqual(['Assisted-by: mcp:unknown']);
  });
});

describe('the user’s message', () => {
  test('keeps its own trailer without a second copy, and the commits on the line keep theirs', async () => {
    const project = await begin();
    await turnOf(project, 'gpt-5', create('one.txt'));
    await project.commit('By hand\n\nBy hand.\n\nassisted-by: Claude:opus sparse\n', { 'mine.txt': 'mine\n' });
    const message = 'Add it\n\nAssisted-by: teddy:gpt-5 coccinelle\nSigned-off-by: Ada <ada@example.org>';
    const landed = await landSession(project, { message });
    expect(landed.message).toMatch(
      /^Add it\n\nAssisted-by: teddy:gpt-5 coccinelle\nSigned-off-by: Ada <ada@example.org>\nassisted-by: Claude:opus sparse\nTeddy-Landed-From: \S+\n$/,
    );
  });

  test('has no trailer if the setting disables it, or uses the project’s or the user’s own form', async () => {
    const project = await begin();
    await turnOf(project, 'gpt-5', create('one.txt'));
    await turnOf(project, 'gpt-6', create('two.txt'));
    project.configuration.set('teddy.assistedBy', 'off');
    expect(await trailersOf(project)).toEqual([]);
    project.configuration.set('teddy.assistedBy', 'Generated-by: {model} ({tool})');
    expect(await trailersOf(project)).toEqual(['Generated-by: gpt-5 (teddy)', 'Generated-by: gpt-6 (teddy)']);
    project.configuration.set('teddy.assistedBy', 'AI-assisted: yes');
    expect(await trailersOf(project)).toEqual(['AI-assisted: yes']);
    project.configuration.set('teddy.assistedBy', 'Signed-off-by: {model}');
    await expect(landSession(project, {})).rejects.toMatchObject({ code: 'BAD_SETTING' });
  });
});

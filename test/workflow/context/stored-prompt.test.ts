import { describe, expect } from 'vitest';
import type { TurnName } from '../../../src/names.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { editGlobal } from '../../../src/workflow/context/edit-global.ts';
import { readStoredPrompt } from '../../../src/workflow/context/stored-prompt.ts';
import { trustGlobal } from '../../../src/workflow/context/trust-global.ts';
import { given } from '../../support/given.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { line, say, session, start } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const interrupted = new Error('cut');
const logPath = `.teddy/sessions/${session}/01/_context.log`;

/** A session whose turn 01 waits for an answer from an agent that nobody here has accepted. */
async function waiting(): Promise<MemoryProject> {
  const project = await memoryProject();
  await editGlobal(project, 'agents/scribe.md', async () => '# Scribe\n');
  await start(project);
  await expect(say(project, 'x', scriptedModel(interrupted), { agent: 'scribe' })).rejects.toBe(interrupted);
  project.trusted.clear();
  await project.setRef('refs/remotes/origin/main', await project.tipOf('main'));
  return project;
}

describe('a waiting request to an agent from elsewhere', () => {
  slowTest('is not sent again without a yes, and shows the full prompt first', async () => {
    const project = await waiting();
    const model = scriptedModel('Done.');
    await expect(say(project, undefined, model)).rejects.toMatchObject({
      code: 'NOT_APPROVED',
      message: expect.stringContaining('the prompt stored in turn 01'),
      hint: expect.stringContaining(`teddy global trust -s ${line}`),
    });
    expect(model.requests).toEqual([]);
    const shown: string[] = [];
    const approveForeign = async (texts: { text: string }[]) => shown.push(...texts.map(({ text }) => text)) > 0;
    await say(project, undefined, model, { approveForeign });
    expect(shown).toEqual([model.requests[0]?.messages[0]?.content]);
    expect(shown[0]).toContain('# Scribe');
  });

  slowTest('is accepted together with everything else', async () => {
    const project = await waiting();
    const names = (await trustGlobal(project, { keep: true })).map(({ name }) => name);
    expect(names).toContain('the prompt stored in turn 01');
    await say(project, undefined, scriptedModel('Done.'));
    expect(await trustGlobal(project, { keep: true })).toEqual([]);
  });

  test('is answered by hand without a question: no model follows its prompt', async () => {
    const project = await waiting();
    const model = scriptedModel('By hand.');
    const choice = { provider: 'manual' as const, name: 'manual', parameters: {}, model };
    await say(project, undefined, model, { choice });
    expect(model.requests).toHaveLength(1);
  });
});

test('a stored prompt that claims to be built in is compared, not believed', async () => {
  const project = await given.session();
  await say(project, 'x', null);
  const log = (await project.read(logPath)) ?? '';
  expect(await readStoredPrompt(project, '01' as TurnName, log)).toEqual([]);
  const forged = log.replace('You are a senior engineer', 'You are somebody else');
  expect(forged).not.toBe(log);
  expect(await readStoredPrompt(project, '01' as TurnName, forged)).toMatchObject([
    { kind: 'agent', text: expect.stringContaining('You are somebody else') },
  ]);
});

test('parameters in the stored request that were not chosen here are not sent', async () => {
  const project = await given.session();
  const first = scriptedModel(interrupted);
  const asked = { provider: 'recorded' as const, name: first.model };
  const choice = { ...asked, parameters: { max_tokens: 1_000_000, n: 100 }, model: first };
  await expect(say(project, 'x', first, { choice })).rejects.toBe(interrupted);
  const second = scriptedModel('Done.');
  await say(project, undefined, second);
  expect(second.requests[0]?.parameters).toEqual({});
  expect(await project.read(logPath)).not.toContain('max_tokens');
});

slowTest('text that a conversation branch copies is masked if it contains a secret that is known by now', async () => {
  const project = await given.session({ 'README.md': 'The code is swordfish.\n' });
  await say(project, 'One', 'Hello.');
  await branchSession(project, { turn: '01', switch: true });
  project.secrets.set('swordfish', 'a test');
  const model = scriptedModel('Hello again.');
  await say(project, 'One, differently', model);
  const sent = model.requests[0]?.messages[1]?.content ?? '';
  expect(sent).toContain('The code is [masked: a test].');
  expect(sent).toMatch(/file README\.md blob [0-9a-f]+ masked 1 -->/);
  expect(sent).not.toContain('swordfish');
});

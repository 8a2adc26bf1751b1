/** Answers that are slow, long, cut off or killed, and what is kept of them. */
import { afterEach, describe, expect, test } from 'vitest';
import { listAnswerFiles, readSavedSize, waitForSavedAnswer } from '../support/saved-answer.ts';
import { ctrlC, hasTerminal, runInTerminal } from '../support/run-in-terminal.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

const lines = Array.from({ length: 400 }, (_, at) => `line ${at + 1}\n`).join('');
const longAnswer = createPlan('long.txt', lines);
const shortAnswer = createPlan('short.txt', 'short\n');

const staged = () => listAnswerFiles(project.repo.root);

async function records(session: string, turn = '01') {
  const text = await project.repo.read(`.teddy/sessions/${session}/${turn}/transcript.jsonl`);
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; text?: string; message?: { content?: string } });
}

async function killInMidStream(args: string[]): Promise<string> {
  const run = project.start(args);
  await waitForSavedAnswer(project.repo.root);
  const size = await readSavedSize(project.repo.root);
  run.kill('SIGKILL');
  expect((await run.result).signal).toBe('SIGKILL');
  return longAnswer.slice(0, size);
}

test.each([[[]], [['--json']]])(
  'a plan that is killed in mid-stream keeps what was saved, with %j too, and the message is said once',
  async (flags) => {
    project = await openTeddyProject({ answers: [longAnswer, shortAnswer], chunkSize: 64, chunkDelayMs: 10 });
    const session = await project.begin('killed');
    const saved = await killInMidStream(['session', 'plan', '-m', 'Make it long', ...flags]);
    expect((await records(session)).map(({ type }) => type)).toEqual(['user']);

    const next = await project.run(['session', 'plan']);
    expect(next).toMatchObject({ exitCode: 0, stdout: shortAnswer });
    expect(next.stderr).toMatch(/interrupted command had received \([\d,]+ characters\) was saved in turn 01\./);
    const kept = await records(session);
    expect(kept.map(({ type }) => type)).toEqual(['user', 'assistant_partial', 'assistant']);
    const part = kept[1]?.message?.content ?? '';
    expect(part.startsWith(saved)).toBe(true);
    expect(longAnswer.startsWith(part)).toBe(true);
    expect(await staged()).toEqual([]);
    const [first, second] = project.server.requests();
    expect(second?.messages).toEqual(first?.messages);
    await project.ok('session', 'execute', '-y');
  },
);

test('what was killed is on the line after execute as well, and show has it', async () => {
  project = await openTeddyProject({ answers: [longAnswer], chunkSize: 64, chunkDelayMs: 10 });
  await project.begin('killed');
  const saved = await killInMidStream(['session', 'plan', '-m', 'Make it long']);
  const refused = await project.run(['session', 'execute', '-y']);
  expect(refused.exitCode).toBe(3);
  const shown = JSON.parse(await project.ok('session', 'show', '--json')) as { reply: string; replyIsPartial: boolean };
  expect(shown.replyIsPartial).toBe(true);
  expect(shown.reply.startsWith(saved)).toBe(true);
  expect((await project.subjects()).filter((subject) => subject.includes('interrupted answer'))).toHaveLength(1);
});

test('an answer of a running command is left alone by another', async () => {
  project = await openTeddyProject({ answers: [longAnswer], chunkSize: 64, chunkDelayMs: 40 });
  const session = await project.begin('busy');
  const run = project.start(['session', 'plan', '-m', 'Make it long']);
  await waitForSavedAnswer(project.repo.root);
  expect((await project.run(['session', 'execute', '-y'])).exitCode).toBe(3);
  expect((await run.result).exitCode).toBe(0);
  expect((await records(session)).map(({ type }) => type)).toEqual(['user', 'assistant']);
  expect(await staged()).toEqual([]);
});

test('an interrupted answer is kept once, and its staging is gone', async () => {
  project = await openTeddyProject({ answers: [longAnswer], chunkSize: 64, chunkDelayMs: 10 });
  const session = await project.begin('stopped');
  const run = project.start(['session', 'plan', '-m', 'Make it long']);
  await waitForSavedAnswer(project.repo.root);
  run.kill('SIGINT');
  expect((await run.result).exitCode).toBe(130);
  expect((await records(session)).map(({ type }) => type)).toEqual(['user', 'assistant_partial']);
  expect(await staged()).toEqual([]);
});

test('an answer that was cut at its limit twice is whole, without what was repeated, and all tokens count', async () => {
  const at = longAnswer.indexOf('line 100\n');
  const end = longAnswer.indexOf('line 200');
  const usage = { prompt_tokens: 1000, completion_tokens: 10 };
  project = await openTeddyProject({
    answers: [
      { text: longAnswer.slice(0, at), finishReason: 'length', usage },
      { text: longAnswer.slice(at - 64, end), finishReason: 'length', usage },
      { text: longAnswer.slice(end), usage },
    ],
  });
  const session = await project.begin('continued');
  const run = await project.run(['session', 'plan', '-m', 'Make it long']);
  expect(run).toMatchObject({ exitCode: 0, stdout: longAnswer });
  expect(run.stderr).toMatch(/; \S+, 3,000 tokens in, 30 out, /);
  expect(await project.repo.read(`.teddy/sessions/${session}/01/plan.md`)).toBe(longAnswer);
  const said = await records(session);
  expect(said.map(({ type }) => type)).toEqual(['user', 'note', 'note', 'assistant']);
  expect(said[1]?.text).toContain('64 bytes');
  const [first, second] = project.server.requests();
  expect(second?.messages.slice(0, 2)).toEqual(first?.messages);
  expect(second?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
  const log = await project.repo.read(`.teddy/sessions/${session}/01/_context.log`);
  expect(log.endsWith(first?.messages[1]?.content ?? 'nothing')).toBe(true);
  await project.ok('session', 'execute', '-y');
  expect(await project.repo.read('long.txt')).toBe(lines);
});

test('a spent budget refuses the next turn, and nothing is changed', async () => {
  project = await openTeddyProject({
    answers: [{ text: 'Hello.', usage: { prompt_tokens: 1000, completion_tokens: 234 } }],
  });
  await project.begin('budget');
  await project.ok('session', 'plan', '-m', 'One');
  await project.repo.git('config', 'teddy.maxTokens', '1234');
  const said = await project.refuses('BUDGET_SPENT', 3, ['session', 'plan', '-m', 'Two']);
  expect(said).toContain('1 turn, 1,000 tokens in, 234 out; teddy.maxTokens is 1,234.');
  await project.repo.git('config', '--unset', 'teddy.maxTokens');
  await project.repo.git('config', 'teddy.maxTurns', '1');
  await project.refuses('BUDGET_SPENT', 3, ['session', 'plan', '-m', 'Two']);
  await project.repo.git('config', 'teddy.maxTurns', 'many');
  await project.refuses('BAD_SETTING', 2, ['session', 'plan', '-m', 'Two']);
  expect(project.server.requests()).toHaveLength(1);
});

describe.skipIf(!hasTerminal)('at a terminal', () => {
  const inTerminal = (...args: string[]) => runInTerminal(args, { cwd: project.repo.root, env: project.env });
  const escape = '\u001b';

  test('the wait is shown until the first text, which nothing garbles, and the end tells what it took', async () => {
    project = await openTeddyProject({ answers: [longAnswer], chunkSize: 400, chunkDelayMs: 300 });
    await project.begin('shown');
    const run = inTerminal('session', 'plan', '-m', 'Make it long');
    await run.waitFor('Waiting for the answer, 0 s');
    await run.waitFor('[k]eep? ');
    run.press('k\n');
    expect(await run.exitCode).toBe(0);
    expect(run.text()).toContain(longAnswer);
    expect(run.text()).toMatch(/committed as [0-9a-f]{10}; .*\d\.\d s/);
    expect(run.text()).not.toContain('Receiving');
    const raw = run.raw();
    // The drawn line is erased before the answer begins.
    expect(raw.slice(0, raw.indexOf('# Try it')).endsWith(`\r${escape}[K`)).toBe(true);
  });

  test('an answer that is not shown as it comes is counted in one line, which is erased in the end', async () => {
    project = await openTeddyProject({ answers: [longAnswer], chunkSize: 400, chunkDelayMs: 300 });
    await project.begin('counted');
    const run = inTerminal('session', 'plan', '-m', 'Make it long', '--json');
    await run.waitFor('Receiving the answer, ');
    expect(await run.exitCode).toBe(0);
    expect(run.raw()).toMatch(/Receiving the answer, \d+ s, ~[\d,]+ tokens/);
    const raw = run.raw();
    expect(raw.slice(0, raw.indexOf('{')).endsWith(`\r${escape}[K`)).toBe(true);
    expect(run.text()).toContain(JSON.stringify(longAnswer));
  });

  test('an interruption takes the line away, and keeps what came', async () => {
    project = await openTeddyProject({ answers: [longAnswer], chunkSize: 400, chunkDelayMs: 300 });
    const session = await project.begin('stopped');
    const run = inTerminal('session', 'plan', '-m', 'Make it long', '--json');
    await run.waitFor('Receiving the answer, ');
    run.press(ctrlC);
    expect(await run.exitCode).toBe(130);
    const raw = run.raw();
    expect(raw.slice(raw.lastIndexOf('Receiving'))).toContain(`\r${escape}[K`);
    expect((await records(session)).map(({ type }) => type)).toEqual(['user', 'assistant_partial']);
  });

  test('nothing is drawn on a terminal that cannot redraw, nor where there is none', async () => {
    project = await openTeddyProject({ answers: [longAnswer, longAnswer], chunkSize: 400, chunkDelayMs: 100 });
    await project.begin('plain');
    const dumb = runInTerminal(['session', 'plan', '-m', 'Make it long'], {
      cwd: project.repo.root,
      env: { ...project.env, TERM: 'dumb' },
    });
    await dumb.waitFor('[k]eep? ');
    dumb.press('k\n');
    expect(await dumb.exitCode).toBe(0);
    await project.ok('session', 'execute', '-y');
    const piped = await project.run(['session', 'plan', '-m', 'Again']);
    for (const text of [dumb.raw(), piped.stderr]) {
      expect(text).not.toContain('Receiving');
      expect(text).not.toContain(`${escape}[K`);
    }
  });
});

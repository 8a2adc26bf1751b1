/** Answers that are slow, long, cut off or killed, and what is kept of them. */
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, describe, expect } from 'vitest';
import { ctrlC } from '../support/run-in-terminal.ts';
import { createPlan } from '../support/teddy-project.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

let project: MemoryTeddy;

afterEach(() => project.close());

const lines = Array.from({ length: 400 }, (_, at) => `line ${at + 1}\n`).join('');
const longAnswer = createPlan('long.txt', lines);
async function records(session: string, turn = '01') {
  const text = await project.repo.read(`.teddy/sessions/${session}/${turn}/transcript.jsonl`);
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; text?: string; message?: { content?: string } });
}

test('an answer that was cut at its limit twice is whole, without what was repeated, and all tokens count', async () => {
  const at = longAnswer.indexOf('line 100\n');
  const end = longAnswer.indexOf('line 200');
  const usage = { prompt_tokens: 1000, completion_tokens: 10 };
  project = await openMemoryTeddy({
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
  project = await openMemoryTeddy({
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

describe('at a terminal', () => {
  const inTerminal = (...args: string[]) => project.inTerminal(args);
  const escape = '\u001b';

  slowTest(
    'the wait is shown until the first text, which nothing garbles, and the end tells what it took',
    async () => {
      project = await openMemoryTeddy({ answers: [longAnswer], chunkSize: 400, chunkDelayMs: 300 });
      await project.begin('shown');
      const run = inTerminal('session', 'plan', '-m', 'Make it long');
      await run.waitFor('Waiting for the answer, 0 s');
      await run.play(['[k]eep? ', 'k\n']);
      expect(await run.exitCode).toBe(0);
      expect(run.text()).toContain(longAnswer);
      expect(run.text()).toMatch(/committed as [0-9a-f]{10}; .*\d\.\d s/);
      expect(run.text()).not.toContain('Receiving');
      const raw = run.raw();
      // The drawn line is erased before the answer begins.
      expect(raw.slice(0, raw.indexOf('# Try it')).endsWith(`\r${escape}[K`)).toBe(true);
    },
  );

  slowTest('an answer that is not shown as it comes is counted in one line, which is erased in the end', async () => {
    project = await openMemoryTeddy({ answers: [longAnswer], chunkSize: 400, chunkDelayMs: 300 });
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
    project = await openMemoryTeddy({ answers: [longAnswer], chunkSize: 400, chunkDelayMs: 300 });
    const session = await project.begin('stopped');
    const run = inTerminal('session', 'plan', '-m', 'Make it long', '--json');
    await run.play(['Receiving the answer, ', ctrlC]);
    expect(await run.exitCode).toBe(130);
    const raw = run.raw();
    expect(raw.slice(raw.lastIndexOf('Receiving'))).toContain(`\r${escape}[K`);
    expect((await records(session)).map(({ type }) => type)).toEqual(['user', 'assistant_partial']);
  });

  slowTest('nothing is drawn on a terminal that cannot redraw, nor where there is none', async () => {
    project = await openMemoryTeddy({ answers: [longAnswer, longAnswer], chunkSize: 400, chunkDelayMs: 100 });
    await project.begin('plain');
    const dumb = project.inTerminal(['session', 'plan', '-m', 'Make it long'], {
      env: { ...project.env, TERM: 'dumb' },
    });
    await dumb.play(['[k]eep? ', 'k\n']);
    expect(await dumb.exitCode).toBe(0);
    await project.ok('session', 'execute', '-y');
    const piped = await project.run(['session', 'plan', '-m', 'Again']);
    for (const text of [dumb.raw(), piped.stderr]) {
      expect(text).not.toContain('Receiving');
      expect(text).not.toContain(`${escape}[K`);
    }
  });
});

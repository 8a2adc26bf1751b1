/** Answers that are slow, long, cut off or killed, and what is kept of them. */
import { afterEach, expect, test } from 'vitest';
import { listAnswerFiles, readSavedSize, waitForSavedAnswer } from '../support/saved-answer.ts';
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

test('a plan that is killed in mid-stream keeps what was saved, and the message is said once', async () => {
  project = await openTeddyProject({ answers: [longAnswer, shortAnswer], chunkSize: 64, chunkDelayMs: 10 });
  const session = await project.begin('killed');
  const saved = await killInMidStream(['session', 'plan', '-m', 'Make it long']);
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

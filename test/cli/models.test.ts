/** Asking a model: what leaves the machine, what is kept when it fails, and the ways to do without one. */
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, expect, test } from 'vitest';
import { createPlan } from '../support/teddy-project.ts';

let project: MemoryTeddy;

afterEach(() => project.close());

const answer = createPlan('made.txt', 'made: ü €\n');
const readTurn = (session: string, turn: string, file: string) =>
  project.repo.read(`.teddy/sessions/${session}/${turn}/${file}`);

async function transcript(session: string, turn = '01') {
  const lines = (await readTurn(session, turn, 'transcript.jsonl')).trim().split('\n');
  return lines.map((line) => JSON.parse(line) as { type: string; message: { content?: string } });
}

test('refusals of the endpoint are told with status and next step, not retried, and the message stays', async () => {
  project = await openMemoryTeddy({
    answers: [
      { status: 401, body: { message: 'Incorrect API key provided' } },
      { status: 404, body: { message: 'The model gpt-test does not exist' } },
    ],
  });
  const session = await project.begin('refused');
  const unauthorized = await project.run(['session', 'plan', '-m', 'Hello']);
  expect(unauthorized).toMatchObject({ exitCode: 5, stdout: '' });
  expect(unauthorized.stderr).toContain('[MODEL_AUTH]');
  expect(unauthorized.stderr).toMatch(/^hint: .*OPENAI_API_KEY/m);
  const missing = await project.run(['session', 'plan', '--json']);
  expect(missing.exitCode).toBe(5);
  expect(JSON.parse(missing.stdout)).toMatchObject({ schema: 'teddy.error/1', error: { code: 'MODEL_NOT_FOUND' } });
  expect(project.server.requests()).toHaveLength(2);
  expect((await transcript(session)).map(({ type }) => type)).toEqual(['user']);
});

test('teddy models lists what the endpoint has, marks the model in use, and an unknown model is told the nearest', async () => {
  project = await openMemoryTeddy({ answers: [{ status: 404, body: { message: 'no such model' } }] });
  const listed = JSON.parse(await project.ok('models', '--json')) as { models: { id: string }[]; provider: string };
  expect(listed).toMatchObject({ provider: 'openai', url: project.server.url, current: 'gpt-test' });
  const [first = { id: '' }] = listed.models;
  expect(first.id).not.toBe('');
  expect(await project.ok('models')).toContain(`  ${first.id}\n`);
  await project.begin('unknown');
  const unknown = await project.run(['session', 'plan', '-m', 'Hello', '--model', `${first.id}x`]);
  expect(unknown.stderr).toMatch(new RegExp(`^hint: {2}Is it ${first.id}[,?]`, 'm'));
});

test('an answer that is cut in mid-stream is kept in part, and asking again answers the same turn', async () => {
  project = await openMemoryTeddy({ answers: [{ cutAfter: 3, text: answer }, answer], chunkSize: 10 });
  const session = await project.begin('cut');
  const cut = await project.run(['session', 'plan', '-m', 'Hello']);
  expect(cut.exitCode).toBe(5);
  expect(cut.stderr).toContain('[MODEL_INTERRUPTED]');
  expect(cut.stderr).toMatch(/^hint: /m);
  const kept = await transcript(session);
  expect(kept.map(({ type }) => type)).toEqual(['user', 'assistant_partial']);
  const part = kept[1]?.message.content ?? '';
  expect(part.length).toBeGreaterThanOrEqual(20);
  expect(answer.startsWith(part)).toBe(true);
  expect(await project.ok('session', 'show')).toContain('Answer (interrupted)');
  await project.ok('session', 'plan');
  expect(project.server.requests()[1]?.messages).toEqual(project.server.requests()[0]?.messages);
  expect((await transcript(session)).map(({ type }) => type)).toEqual(['user', 'assistant_partial', 'assistant']);
  await project.ok('session', 'execute', '-y');
});

test('with --no-stream or teddy.stream=off the answer is asked for in one piece, and kept and shown like any other', async () => {
  const usage = { prompt_tokens: 12, completion_tokens: 3 };
  project = await openMemoryTeddy({ answers: [{ status: 500 }, { text: answer, usage }, 'Which one?', 'That one.'] });
  const session = await project.begin('whole');
  const planned = await project.run(['session', 'plan', '-m', 'Make it', '--no-stream']);
  expect(planned).toMatchObject({ exitCode: 0, stdout: answer });
  expect(planned.stderr).toContain('12 tokens in, 3 out');
  expect(await readTurn(session, '01', 'plan.md')).toBe(answer);
  await project.ok('session', 'execute', '-y');
  await project.repo.git('config', 'teddy.stream', 'off');
  const reply = await project.run(['session', 'plan', '-m', 'And on']);
  expect(reply).toMatchObject({
    exitCode: 0,
    stdout: 'Which one?\n',
    stderr: expect.stringContaining('not a plan') as string,
  });
  expect(await project.ok('session', 'chat', '-m', 'You say')).toBe('That one.\n');
  expect(project.server.requests().map(({ body }) => body['stream'])).toEqual([false, false, false, false]);
});

test("Anthropic's messages need its own key, and give a plan and a conversation with tools", async () => {
  project = await openMemoryTeddy({
    answers: [
      { text: answer, usage: { prompt_tokens: 1234, completion_tokens: 56 } },
      { text: 'I look.', toolCalls: [{ name: 'read_file', arguments: '{"path":"made.txt"}' }] },
      'It says so.',
    ],
  });
  const session = await project.begin('claude');
  await project.repo.git('config', 'teddy.provider', 'anthropic');
  await project.repo.git('config', 'teddy.model', 'claude-test');
  const without = await project.run(['session', 'plan', '-m', 'Make it']);
  expect(without).toMatchObject({ exitCode: 5 });
  expect(without.stderr).toContain('The provider anthropic needs a key, but none was found.');
  expect(without.stderr).toContain('Set ANTHROPIC_API_KEY');
  expect(project.server.requests()).toEqual([]);
  const env = { ANTHROPIC_API_KEY: 'sk-ant-0123456789abc', ANTHROPIC_BASE_URL: project.server.url };
  const planned = await project.run(['session', 'plan'], { env });
  expect(planned).toMatchObject({ exitCode: 0, stdout: answer });
  expect(planned.stderr).toContain('asking claude-test at http://127.0.0.1:');
  expect(planned.stderr).toContain('1,234 tokens in, 56 out');
  expect(project.server.requests()[0]).toMatchObject({ path: '/v1/messages', model: 'claude-test' });
  await project.ok('session', 'execute', '-y');
  const talked = await project.run(['session', 'chat', '-m', 'What does made.txt say?'], { env });
  expect(talked).toMatchObject({ exitCode: 0, stdout: 'It says so.\n' });
  const said = await transcript(session, '02');
  expect(said.map(({ type }) => type)).toEqual(['user', 'assistant', 'tool_use', 'tool_result', 'assistant']);
});

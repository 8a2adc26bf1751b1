/** Asking a model: what leaves the machine, what is kept when it fails, and the ways to do without one. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { parseContextLog } from '../../src/session/context/context-log-parse.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

const answer = createPlan('made.txt', 'made: ü €\n');
const readTurn = (session: string, turn: string, file: string) =>
  project.repo.read(`.teddy/sessions/${session}/${turn}/${file}`);

async function transcript(session: string, turn = '01') {
  const lines = (await readTurn(session, turn, 'transcript.jsonl')).trim().split('\n');
  return lines.map((line) => JSON.parse(line) as { type: string; message: { content?: string } });
}

test('the message is committed before the request leaves, and _context.log is exactly what was sent', async () => {
  const seen: string[] = [];
  project = await openTeddyProject({
    answers: () => {
      seen.push(execFileSync('git', ['log', '-1', '--format=%s'], { cwd: project.repo.root, encoding: 'utf8' }).trim());
      return { text: answer, usage: { prompt_tokens: 1234, completion_tokens: 56 } };
    },
    files: { 'README.md': '# Ünï\r\n\u2028 "quoted" ```fence```\n', 'src/a b.ts': 'x\n' },
  });
  const session = await project.begin('exact');
  await project.repo.git('config', 'teddy.temperature', '0.25');
  const message = 'Make it: ü, 😀,\n\n```\na fence\n```\n-- trailing  ';
  const preview = await project.run(['session', 'plan', '-m', message, '--dry-run']);
  expect(await project.subjects()).toHaveLength(2);
  const planned = await project.run(['session', 'plan', '-m', message]);
  expect(planned).toMatchObject({ exitCode: 0, stdout: answer });
  expect(planned.stderr).toContain(`Turn 01 of ${session}: asking gpt-test at http://127.0.0.1:`);
  expect(planned.stderr).toContain('1,234 tokens in, 56 out');
  expect(seen).toEqual(['turn 01 message: Make it: ü, 😀,']);

  const log = await readTurn(session, '01', '_context.log');
  expect(preview.stdout).toBe(log);
  const [request] = project.server.requests();
  expect(request?.messages).toEqual(parseContextLog(log).messages);
  expect(request?.messages.map(({ role }) => role)).toEqual(['system', 'user']);
  expect(request).toMatchObject({ model: 'gpt-test', body: { temperature: 0.25, stream: true } });
  expect(request?.headers['authorization']).toBe('Bearer sk-test-0123456789');
  expect(log).not.toContain('sk-test-0123456789');
  const sha = await project.repo.git('log', '-1', '--format=%(trailers:key=Teddy-Sha256,valueonly)', 'HEAD~1');
  expect(sha.trim()).toBe(createHash('sha256').update(log).digest('hex'));
  expect((await transcript(session))[0]?.message.content).toBe(message);
  const tokens = await project.repo.git('log', '-1', '--format=%(trailers:key=Teddy-Tokens,valueonly)');
  expect(tokens.trim()).toBe('1234/56');

  await project.ok('session', 'execute', '-y');
  await project.ok('session', 'plan', '-m', 'And on');
  const second = project.server.requests()[1];
  expect(second?.messages).toEqual(parseContextLog(await readTurn(session, '02', '_context.log')).messages);
  expect(second?.messages[1]?.content).toContain('made: ü €');
});

test('--no-stream and teddy.stream=false ask for the answer in one piece, which is kept and shown like any other', async () => {
  const usage = { prompt_tokens: 12, completion_tokens: 3 };
  project = await openTeddyProject({ answers: [{ status: 500 }, { text: answer, usage }, 'Which one?', 'That one.'] });
  const session = await project.begin('whole');
  const planned = await project.run(['session', 'plan', '-m', 'Make it', '--no-stream']);
  expect(planned).toMatchObject({ exitCode: 0, stdout: answer });
  expect(await readTurn(session, '01', 'plan.md')).toBe(answer);
  const tokens = await project.repo.git('log', '-1', '--format=%(trailers:key=Teddy-Tokens,valueonly)');
  expect(tokens.trim()).toBe('12/3');
  await project.ok('session', 'execute', '-y');
  await project.repo.git('config', 'teddy.stream', 'off');
  const reply = await project.run(['session', 'plan', '-m', 'And on']);
  expect(reply).toMatchObject({ exitCode: 0, stdout: 'Which one?\n' });
  expect(reply.stderr).toContain('not a plan');
  expect(await project.ok('session', 'chat', '-m', 'You say')).toBe('That one.\n');
  expect(project.server.requests().map(({ body }) => body['stream'])).toEqual([false, false, false, false]);
});

test("Anthropic's messages: a plan, a conversation with tools, what the model thinks, and the tokens", async () => {
  const usage = { prompt_tokens: 1234, completion_tokens: 56 };
  project = await openTeddyProject({
    answers: [
      { text: answer, usage, reasoning: 'They want a file, with sk-test-0123456789 in it.' },
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
  const kept = await transcript(session);
  expect(kept.map(({ type }) => type)).toEqual(['user', 'note', 'assistant']);
  expect(kept[1]).toMatchObject({
    text: 'The model thought:\n\nThey want a file, with [masked: env OPENAI_API_KEY] in it.',
  });
  const trailers = await project.repo.git('log', '-1', '--format=%(trailers:key=Teddy-Provider,key=Teddy-Tokens)');
  expect(trailers).toContain('Teddy-Provider: anthropic');
  expect(trailers).toContain('Teddy-Tokens: 1234/56');
  expect(project.server.requests()[0]).toMatchObject({ path: '/v1/messages', model: 'claude-test' });

  await project.run(['session', 'execute', '-y']);
  const talked = await project.run(['session', 'chat', '-m', 'What does made.txt say?'], { env });
  expect(talked).toMatchObject({ exitCode: 0, stdout: 'It says so.\n' });
  const said = await transcript(session, '02');
  expect(said.map(({ type }) => type)).toEqual(['user', 'assistant', 'tool_use', 'tool_result', 'assistant']);
  await project.ok('session', 'verify');
});

test('settings of a request that make no sense are refused before anything is committed or sent', async () => {
  project = await openTeddyProject({ answers: ['Which one?'] });
  const session = await project.begin('settings');
  for (const [name, value] of [
    ['reasoning', 'enormous'],
    ['maxAnswerTokens', 'few'],
    ['stream', 'perhaps'],
  ] as const) {
    const once = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: `teddy.${name}`, GIT_CONFIG_VALUE_0: value };
    const refused = await project.run(['session', 'plan', '-m', 'Hello'], { env: once });
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refused.stderr).toContain(`teddy.${name} is "${value}"`);
  }
  expect(await project.subjects()).toHaveLength(2);
  await project.repo.git('config', 'teddy.reasoning', 'low');
  await project.repo.git('config', 'teddy.maxAnswerTokens', '800');
  await project.ok('session', 'plan', '-m', 'Hello');
  expect(project.server.requests()[0]?.body).toMatchObject({ reasoning_effort: 'low', max_tokens: 800 });
  expect(await readTurn(session, '01', '_context.log')).toContain(
    'parameters: { reasoning: low, maxAnswerTokens: 800 }',
  );
});

test('session plan --dry-run asks no endpoint how much its models take, and saves nothing', async () => {
  project = await openTeddyProject();
  await project.begin('dry');
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(String(request.url));
    response.setHeader('content-type', 'application/json').end('{"data":[{"id":"gpt-test","max_model_len":9000}]}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await project.repo.git('config', 'teddy.baseUrl', `http://127.0.0.1:${port}/v1`);
  const kept = join(project.repo.root, '.git/teddy/served-models.json');
  for (const name of ['vllm', 'ollama']) {
    await project.repo.git('config', 'teddy.provider', name);
    expect(await project.ok('session', 'plan', '--dry-run', '-m', 'Hello')).toContain('Hello');
  }
  expect([asked, existsSync(kept)]).toEqual([[], false]);
  await project.repo.git('config', 'teddy.provider', 'vllm');
  await project.run(['session', 'plan', '-m', 'Hello']);
  expect([asked[0], existsSync(kept)]).toEqual(['/v1/models', true]);
  server.close().closeAllConnections();
});

test('without a model the message is kept, the ways out are named, and an answer by hand goes on', async () => {
  project = await openTeddyProject();
  const session = await project.begin('alone');
  const env = { OPENAI_API_KEY: undefined, OPENAI_BASE_URL: undefined };
  const none = await project.run(['session', 'plan', '-m', 'Hello'], { env });
  expect(none).toMatchObject({ exitCode: 5, stdout: '' });
  for (const way of ['[NO_MODEL]', 'OPENAI_API_KEY', 'teddy.model', '--from']) expect(none.stderr).toContain(way);
  expect(await project.subjects()).toContain('turn 01 message: Hello');
  await project.repo.write('.git/answer.md', answer);
  const from = await project.run(['session', 'plan', '--from', '.git/answer.md'], { env });
  expect(from.exitCode).toBe(0);
  expect(from.stderr).not.toContain('asking');
  expect(await readTurn(session, '01', 'plan.md')).toBe(answer);
  expect((await transcript(session)).map(({ type }) => type)).toEqual(['user', 'assistant']);
  await project.ok('session', 'execute', '-y');

  const manual = await project.run(['session', 'plan', '--provider', 'manual', '-m', 'Next'], { env });
  expect(manual).toMatchObject({ exitCode: 0, stdout: `.teddy/sessions/${session}/02/_context.log\n` });
  await project.run(['session', 'plan', '--from', '-'], { stdin: answer });
  expect(await readTurn(session, '02', 'plan.md')).toBe(answer);
  await project.refuses('FILE_NOT_FOUND', 2, ['session', 'plan', '--from', 'none.md', '-m', 'x']);
});

test('recorded answers come from a directory, a branch or a bundle, and are labelled', async () => {
  project = await openTeddyProject();
  const { repo } = project;
  const tapes = join(repo.root, '.git', 'tapes');
  await mkdir(tapes);
  await writeFile(join(tapes, '01.md'), answer);
  await project.begin('from-directory');
  const fromDirectory = await project.run(['session', 'plan', '-m', 'Hello', '--recording', tapes]);
  expect(fromDirectory).toMatchObject({ exitCode: 0, stdout: answer });
  expect(fromDirectory.stderr).toMatch(/recorded/i);
  const recording = await repo.git('branch', '--show-current');

  await repo.git('switch', '--quiet', 'main');
  await project.begin('from-branch');
  const fromBranch = await project.run(['session', 'plan', '-m', 'Hello', '--recording', recording]);
  expect(fromBranch).toMatchObject({ exitCode: 0, stdout: answer });
  expect(await repo.git('log', '-1', '--format=%(trailers:key=Teddy-Provider,valueonly)')).toContain('recorded');

  await repo.git('bundle', 'create', '--quiet', join(tapes, 'one.bundle'), recording);
  await repo.git('switch', '--quiet', 'main');
  await project.begin('from-bundle');
  const fromBundle = await project.run([
    'session',
    'plan',
    '-m',
    'Hello',
    '--provider=recorded',
    '--recording',
    join(tapes, 'one.bundle'),
  ]);
  expect(fromBundle).toMatchObject({ exitCode: 0, stdout: answer });
  await project.ok('session', 'execute', '-y');
  await project.refuses('BAD_RECORDING', 2, ['session', 'plan', '-m', 'x', '--recording', 'no-such-thing']);
  await project.refuses('USAGE', 2, ['session', 'plan', '-m', 'x', '--recording', tapes, '--from', '-']);
});

/** `teddy session history`, as a person and a program use it. */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;
let tip: string;

const history = (...args: string[]) => project.run(['session', 'history', ...args]);

/** One turn that was planned and executed, one that was answered. */
beforeAll(async () => {
  project = await openTeddyProject();
  session = await project.begin('talk');
  await project.plan(createPlan('a.txt', 'A\n'), 'Make a');
  await project.ok('session', 'execute', '-y');
  await project.plan('Because.', 'Why?');
  tip = await project.repo.git('rev-parse', 'HEAD');
});
afterEach(() => project.repo.git('reset', '--quiet', '--hard', tip));
afterAll(() => project.close());

test('it prints one JSON array with a message on each line, of which all roles alternate', async () => {
  const { stdout, stderr, exitCode } = await history();
  expect([exitCode, stderr]).toEqual([0, '']);
  const messages = JSON.parse(stdout) as { role: string; content: string }[];
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  expect(messages[0]?.content).toBe('Make a');
  expect(messages[1]?.content).toBe(createPlan('a.txt', 'A\n'));
  expect(messages[2]?.content).toMatch(/status: SUCCESS[\s\S]*Why\?$/);
  expect(stdout.split('\n')).toHaveLength(messages.length + 3);
  expect((await history('--format', 'openai')).stdout).toBe(stdout);
});

test('each format, a first turn, a commit and --json give what they say', async () => {
  const markdown = await history('--format=markdown', '--from', '2');
  expect(markdown.stdout).toContain('> Why?\n');
  expect(markdown.stdout).not.toContain('Make a');
  const rows = (await history('--format', 'jsonl', '-s', 'talk')).stdout.trimEnd().split('\n');
  expect(rows.map((row) => (JSON.parse(row) as { source: string }).source)).toEqual([
    'text',
    'plan',
    'report',
    'text',
    'text',
  ]);
  expect(JSON.parse((await history(session, '--format', 'anthropic')).stdout)).toHaveLength(4);
  // The plan’s entry: the report and the second turn are not there yet.
  const planned = await project.repo.git('rev-parse', 'HEAD~3');
  const wrapped = JSON.parse((await history(planned, '--json')).stdout) as Record<string, unknown>;
  expect(wrapped).toEqual({
    schema: 'teddy.session-history/1',
    session,
    commit: planned,
    format: 'openai',
    messages: [
      { role: 'user', content: 'Make a' },
      { role: 'assistant', content: createPlan('a.txt', 'A\n') },
    ],
    repairs: [],
  });
});

test('what does not exist is named, and nothing is printed', async () => {
  await project.refuses('UNKNOWN_FORMAT', 2, ['session', 'history', '--format', 'gemini']);
  await project.refuses('UNKNOWN_TURN', 2, ['session', 'history', '--from', '09']);
  await project.refuses('UNKNOWN_SESSION', 2, ['session', 'history', 'nothing']);
  await project.refuses('UNKNOWN_COMMIT', 2, ['session', 'history', 'HEAD~99']);
  await project.refuses('NOT_ON_LINE', 3, ['session', 'history', 'main']);
  await project.refuses('USAGE', 2, ['session', 'history', 'talk', '-s', 'talk']);
});

test('what had to be put right is said on stderr, and stdout stays a history', async () => {
  const path = `.teddy/sessions/${session}/02/transcript.jsonl`;
  const lines = (await project.repo.read(path)).trimEnd().split('\n');
  await project.repo.git('config', 'core.hooksPath', '/dev/null');
  await project.repo.write(path, `${lines[0]}\nnot \u001b[31mjson\n${lines[1]}\n`);
  await project.repo.git('add', '-A');
  const message = await project.repo.git('log', '-1', '--format=%B');
  await project.repo.git('commit', '-qm', message);
  const { stdout, stderr, exitCode } = await history();
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toHaveLength(4);
  expect(stderr).toMatch(/^repaired: turn 02: Line 2 was left out: .*\n$/);
  expect(stderr).not.toContain('\u001b');
});

test('a long one comes out of the cache with the same bytes, and without or with a damaged one too', async () => {
  const dir = `.teddy/sessions/${session}`;
  const record = (turn: number) =>
    `${JSON.stringify({ type: 'user', id: `m${turn}`, timestamp: '', message: { role: 'user', content: `Turn ${turn} ü` }, source: 'text' })}\n`;
  for (let turn = 3; turn <= 250; turn += 1)
    await project.repo.write(`${dir}/${String(turn).padStart(2, '0')}/transcript.jsonl`, record(turn));
  await project.repo.git('add', '-A');
  await project.repo.git('commit', '-qm', await project.repo.git('log', '-1', '--format=%B'));
  const cache = join(project.repo.root, '.git/teddy/cache');
  const kept = () => readdirSync(cache).filter((name) => name.startsWith('history-'));
  for (const format of ['openai', 'markdown']) {
    const { stdout } = await history('--format', format);
    expect(stdout).toContain('Turn 250 ü');
    const [name = ''] = kept();
    expect(kept()).toHaveLength(1);
    expect((await history('--format', format)).stdout).toBe(stdout);
    writeFileSync(join(cache, name), 'damaged');
    expect((await history('--format', format)).stdout).toBe(stdout);
    rmSync(cache, { recursive: true });
    expect((await history('--format', format)).stdout).toBe(stdout);
    rmSync(cache, { recursive: true });
  }
});

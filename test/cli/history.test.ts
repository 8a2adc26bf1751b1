/** `teddy history`: its formats, and what it refuses. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { createPlan } from '../support/teddy-project.ts';

let project: MemoryTeddy;
let session: string;
const plan = createPlan('a.txt', 'A\n');
const history = (...args: string[]) => project.ok('session', 'history', ...args);

/** One turn that was planned and executed, one that was answered. */
beforeEach(async () => {
  project = await openMemoryTeddy();
  session = await project.begin('talk');
  await project.plan(plan, 'Make a');
  await project.ok('session', 'execute', '-y');
  await project.plan('Because.', 'Why?');
});
afterEach(() => project.close());

test('it is a JSON array with a message on each line, or what --format, --from, a commit and --json say', async () => {
  const stdout = await history();
  const messages = JSON.parse(stdout) as { role: string; content: string }[];
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant']);
  expect(messages[1]?.content).toBe(plan);
  expect(messages[2]?.content).toMatch(/status: SUCCESS[\s\S]*Why\?$/);
  expect(stdout.split('\n')).toHaveLength(messages.length + 3);
  expect(await history('--format', 'openai')).toBe(stdout);
  const markdown = await history('--format=markdown', '--from', '2');
  expect(markdown).toContain('> Why?\n');
  expect(markdown).not.toContain('Make a');
  const rows = (await history('--format', 'jsonl', '-s', 'talk')).trimEnd().split('\n');
  const sources = rows.map((row) => (JSON.parse(row) as { source: string }).source);
  expect(sources).toEqual(['text', 'plan', 'report', 'text', 'text']);
  expect(JSON.parse(await history(session, '--format', 'anthropic'))).toHaveLength(4);
  // The plan's entry: the report and the second turn are not there yet.
  const commit = await project.repo.git('rev-parse', 'HEAD~3');
  const made = { role: 'user', content: 'Make a' };
  expect(JSON.parse(await history(commit, '--json'))).toEqual({
    schema: 'teddy.session-history/1',
    session,
    commit,
    format: 'openai',
    messages: [made, { role: 'assistant', content: plan }],
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

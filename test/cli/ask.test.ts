/** A question about a pending plan: it is answered in the plan's turn, and the plan stays as it is. */
import { openMemoryBegun, openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, describe, expect, test } from 'vitest';
import type { ServerAnswer } from '../support/model-server.ts';
import { createPlan } from '../support/teddy-project.ts';

let project: MemoryTeddy;

afterEach(() => project.close());

const plan = createPlan('a.txt', 'a\n');
const usage = { prompt_tokens: 100, completion_tokens: 10 };
const answer = { text: 'Since b.txt is taken.', usage };

async function open(...answers: ServerAnswer[]): Promise<string> {
  const begun = await openMemoryBegun('asked', { answers: [{ text: plan, usage }, ...answers] });
  ({ project } = begun);
  const { session } = begun;
  await project.ok('session', 'plan', '-m', 'Make a file');
  return session;
}

const log = (session: string, commit: string) =>
  project.repo.git('show', `${commit}:.teddy/sessions/${session}/01/_context.log`);
const verified = async () => {
  await project.ok('session', 'verify');
  await project.ok('session', 'replay');
};

describe('a question about the pending plan', () => {
  test('is answered in its turn, the plan runs unchanged, and the next request has both', async () => {
    const session = await open(answer, 'Nothing more.');
    const planned = (await project.repo.git('rev-parse', 'HEAD')).trim();
    const asked = await project.run(['ask', 'Why not b.txt?']);
    expect(asked).toMatchObject({ exitCode: 0, stdout: 'Since b.txt is taken.\n' });
    expect(asked.stderr).toContain(`Turn 01 of ${session}: the answer was committed as `);
    expect(asked.stderr).toContain('Next: teddy execute\n');
    const [, request] = project.server.requests();
    expect(request?.messages[0]?.content).toContain('nothing is run');
    expect(request?.messages[1]?.content).toContain('**File Path:** a.txt');
    expect(request?.messages[1]?.content).toMatch(/Why not b\.txt\?$/);
    expect(await log(session, planned)).toMatch(/Make a file$/);
    expect(await log(session, 'HEAD')).toMatch(/^mode: ask$[^]*Why not b\.txt\?$/m);
    expect(await project.ok('status')).toContain('Turn 01 has a plan to execute');
    await verified();
    await project.ok('session', 'execute', '-y');
    expect(await project.repo.read('a.txt')).toBe('a\n');
    await project.ok('session', 'plan', '-m', 'What else?');
    const next = project.server.requests()[2]?.messages[1]?.content ?? '';
    const order = ['Make a file', '**File Path:** a.txt', 'Why not b.txt?', 'Since b.txt is taken.', 'status: SUCCESS'];
    const places = order.map((text) => next.indexOf(text));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect((await project.subjects()).slice(0, 7)).toEqual([
      'turn 02 reply: Nothing more.',
      'turn 02 message: What else?',
      'turn 01 report: SUCCESS Try it',
      'turn 01 reply: Since b.txt is taken.',
      'turn 01 message: Why not b.txt?',
      'turn 01 plan: Try it',
      'turn 01 message: Make a file',
    ]);
    const cost = JSON.parse(await project.ok('session', 'stats', 'HEAD', '--json')) as { turns: { spent: object }[] };
    expect(cost.turns[0]?.spent).toMatchObject({ inputTokens: 200, outputTokens: 20 });
    await verified();
    const history = await project.ok('session', 'history', '--format', 'openai');
    expect(history.indexOf('Why not b.txt?')).toBeGreaterThan(history.indexOf('**File Path:** a.txt'));
  });

  test('may be asked twice, in the same words, and --instead goes on from there', async () => {
    const session = await open(answer, 'Once more: b.txt is taken.', createPlan('b.txt', 'b\n'));
    await project.ok('ask', '-m', 'Why?');
    const again = await project.run(['session', 'ask', '-m', '-', '--json'], { stdin: 'Why?\n' });
    expect(JSON.parse(again.stdout)).toMatchObject({
      schema: 'teddy.ask/1',
      session,
      turn: '01',
      entry: 'reply',
      text: 'Once more: b.txt is taken.',
    });
    const request = project.server.requests()[2]?.messages[1]?.content ?? '';
    expect(request.match(/Since b\.txt is taken\./g)).toHaveLength(1);
    await project.ok('session', 'plan', '--instead', '-m', 'Take b.txt');
    const next = project.server.requests()[3]?.messages[1]?.content ?? '';
    expect(next).toContain('Once more: b.txt is taken.');
    const shown = await project.ok('session', 'show', '01');
    expect(shown).toMatch(/# Try it[^]*Since b\.txt is taken\.[^]*Once more: b\.txt is taken\./);
    await verified();
  });

  test('gets words only: a plan in the answer is no plan', async () => {
    await open(createPlan('evil.txt', 'b\n'), createPlan('cut.txt', 'c\n'));
    await project.ok('ask', 'Would b do?');
    expect((await project.subjects())[0]).toBe('turn 01 reply: # Try it');
    await project.ok('session', 'execute', '-y');
    expect((await project.report('01')).changes.map(({ path }) => path)).toEqual(['a.txt']);
    await verified();
  });

  test('that was interrupted keeps its words, and is asked again without words', async () => {
    await open({ text: 'Since b.txt is taken. '.repeat(20), cutAfter: 2 }, answer);
    const asked = await project.run(['ask', 'Why not b.txt?']);
    expect(asked).toMatchObject({ exitCode: 5 });
    expect(asked.stderr).toContain('`teddy ask` without -m tries again');
    expect((await project.subjects())[0]).toBe('turn 01 reply: interrupted answer');
    await project.ok('ask');
    const [, first, second] = project.server.requests();
    expect(second?.messages).toEqual(first?.messages);
    const said = await project.ok('session', 'history', '--format', 'openai');
    expect(said.match(/Why not b\.txt\?/g)).toHaveLength(1);
    await project.refuses('EMPTY_MESSAGE', 2, ['ask']);
    await verified();
  });

  test('needs a plan that is pending, and words', async () => {
    await open(answer);
    await project.refuses('EMPTY_MESSAGE', 2, ['ask']);
    await project.refuses('EMPTY_MESSAGE', 2, ['ask', ' ']);
    await project.refuses('USAGE', 2, ['ask', 'One', '-m', 'Two']);
    await project.refuses('UNKNOWN_AGENT', 2, ['ask', 'x', '-a', 'nobody']);
    await project.ok('session', 'execute', '-y');
    const hint = await project.refuses('NO_PENDING_PLAN', 3, ['ask', 'Why?']);
    expect(hint).toContain('`teddy chat -m "..."`');
    await project.begin('fresh');
    await project.refuses('NO_PENDING_PLAN', 3, ['ask', 'Why?']);
  });

  test('may be about another line, after edits of the user, and without a model', async () => {
    const session = await open(answer);
    await project.repo.write('src/app.ts', 'export const port = 1;\n');
    await project.ok('ask', 'And now?');
    expect((await project.subjects())[2]).toContain('snapshot');
    await project.repo.git('switch', '-q', 'main');
    const elsewhere = await project.run(['ask', 'From here?', '-s', 'asked', '--provider', 'manual']);
    expect(elsewhere).toMatchObject({ exitCode: 0 });
    expect(elsewhere.stderr).toContain(`teddy ask -s ${session} --from <file>`);
    const brought = await project.run(['ask', '-s', 'asked', '--from', '-'], { stdin: 'By hand.\n' });
    expect(brought).toMatchObject({ exitCode: 0 });
    expect((await project.subjects(`teddy/${session}`))[0]).toBe('turn 01 reply: By hand.');
    const none = { OPENAI_BASE_URL: '', OPENAI_API_KEY: '', TEDDY_MODEL: '' };
    await project.repo.git('config', '--unset', 'teddy.model');
    const alone = await project.run(['ask', 'Anybody?', '-s', 'asked'], { env: none });
    expect(alone.exitCode).toBe(5);
    expect(alone.stderr).toContain('[NO_MODEL]');
    expect(alone.stderr).toMatch(/`teddy ask -s \S+ --from <file>`/);
    expect((await project.subjects(`teddy/${session}`))[0]).toBe('turn 01 message: Anybody?');
    await project.ok('session', 'verify', session);
  });

  test('is not in a conversation branch that leaves at its turn', async () => {
    const session = await open(answer, createPlan('b.txt', 'b\n'), answer);
    await project.ok('ask', 'Why not b.txt?');
    await project.ok('session', 'branch', '01', '-m', 'Take b.txt');
    const request = project.server.requests()[2]?.messages[1]?.content ?? '';
    expect(request).not.toContain('Why not b.txt?');
    await project.ok('ask', 'Why now?');
    const asked = project.server.requests()[3]?.messages[1]?.content ?? '';
    expect(asked).toContain('**File Path:** b.txt');
    await verified();
    await project.ok('session', 'verify', session);
  });
});

describe('at a terminal', () => {
  test('a asks about the plan that was just made, and goes on asking what to do', async () => {
    project = await openMemoryTeddy({ answers: [plan, answer, answer] });
    await project.begin('asked');
    const question = '[a]sk about it, [r]un it, [i]nstead, [k]eep? ';
    const run = project.inTerminal(['session', 'plan', '-m', 'Make a file']);
    await run.play([question, 'a\n'], ['Question: ', 'Why not b.txt?\n'], [question, 'k\n', 'Since b.txt is taken.']);
    expect(await run.exitCode).toBe(0);
    expect((await project.subjects())[0]).toBe('turn 01 reply: Since b.txt is taken.');
    const pending = project.inTerminal(['session', 'plan', '-m', 'And?']);
    await pending.play(['[k]eep and stop? ', 'a\n'], [question, 'k\n']);
    expect(await pending.exitCode).toBe(0);
    expect((await project.subjects())[0]).toBe('turn 01 reply: Since b.txt is taken.');
    expect((await project.subjects())[1]).toBe('turn 01 message: And?');
  });
});

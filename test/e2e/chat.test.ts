/** `teddy session chat -m` and `teddy session say`, as scripts use them. */
import { afterEach, describe, expect, test } from 'vitest';
import type { ServerAnswer } from '../support/model-server.ts';
import { waitForSavedAnswer } from '../support/saved-answer.ts';
import { openBegun, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

async function open(
  answers: ServerAnswer[],
  pace: { chunkSize?: number; chunkDelayMs?: number } = {},
): Promise<string> {
  const begun = await openBegun('talk', { answers, ...pace });
  project = begun.project;
  return begun.session;
}

function call(name: string, input: object, text = ''): ServerAnswer {
  return { text, toolCalls: [{ name, arguments: JSON.stringify(input) }] };
}

const chat = (...args: string[]) => project.run(['session', 'chat', ...args]);
const tip = async () => (await project.repo.git('rev-parse', 'HEAD')).trim();

describe('one exchange', () => {
  test('with --json there is one document, of the answer and of its calls', async () => {
    const session = await open([
      { text: '', toolCalls: [{ name: 'run_command', arguments: '{"command":"echo hi; exit 3"}' }] },
      { text: 'It failed.', usage: { prompt_tokens: 10, completion_tokens: 5 } },
    ]);
    const { exitCode, stdout, stderr } = await chat('-y', '--json', '-m', 'Run it');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'teddy.chat/1',
      session,
      line: `teddy/${session}`,
      turn: '01',
      entry: 'reply',
      commit: await tip(),
      text: 'It failed.',
      calls: [{ name: 'run_command', summary: 'run_command echo hi; exit 3', outcome: 'failed' }],
      usage: { output: expect.any(Number) },
    });
  });

  test('a call that nobody can approve is denied: 4, and what ran before it is kept', async () => {
    await open([
      {
        text: '',
        toolCalls: [
          { name: 'read_file', arguments: '{"path":"src/app.ts"}' },
          { name: 'run_command', arguments: '{"command":"echo ran > made.txt"}' },
        ],
      },
      call('run_command', { command: 'true' }),
    ]);
    const denied = await chat('-m', 'Run it');
    expect(denied).toMatchObject({ exitCode: 4, stdout: '' });
    expect(denied.stderr).toMatch(/\[NOT_APPROVED\]\nhint: {2}Use -y to approve/);
    expect(denied.stderr).toContain('run_command echo ran > made.txt\n  denied\n');
    await expect(project.repo.read('made.txt')).rejects.toThrow('ENOENT');
    const json = await chat('--json', '-m', 'Run it again');
    expect(json).toMatchObject({ exitCode: 4, stderr: '' });
    expect(JSON.parse(json.stdout)).toMatchObject({
      schema: 'teddy.chat/1',
      entry: 'exchange',
      commit: await tip(),
      text: null,
      calls: [{ name: 'run_command', outcome: 'denied' }],
    });
    const history = await project.ok('session', 'history', '--format', 'openai');
    expect(history).toContain('export const port');
    expect(history).toContain('Tool execution denied by user');
  });

  test('a recording answers in place of a model', async () => {
    await open([]);
    await project.repo.write('.git/answers/01.md', 'As recorded.\n');
    expect(await chat('-m', 'Hello', '--recording', '.git/answers')).toMatchObject({
      exitCode: 0,
      stdout: 'As recorded.\n',
    });
  });

  test('SIGINT stops the answer with 130, and keeps its part', async () => {
    await open([{ text: 'One line of many.\n'.repeat(4000) }], { chunkSize: 64, chunkDelayMs: 100 });
    const run = project.start(['session', 'chat', '-m', 'Count']);
    await waitForSavedAnswer(project.repo.root);
    run.kill('SIGINT');
    expect(await run.result).toMatchObject({ exitCode: 130, stdout: '' });
    expect((await project.subjects())[0]).toMatch(/^turn 01 reply: /);
    expect(await project.ok('session', 'history')).toContain('[interrupted]');
  });
});

describe('say', () => {
  const records = async (session: string, turn = '01') => {
    const text = await project.repo.read(`.teddy/sessions/${session}/${turn}/transcript.jsonl`);
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  };

  test('text comes from stdin as well, and a secret in it is masked', async () => {
    const session = await open([]);
    const secret = 'ghp_' + 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8';
    const said = await project.run(['session', 'say', '-m', '-'], { stdin: `use ${secret}\nhere` });
    expect(said.exitCode).toBe(0);
    const [record] = await records(session);
    expect(record?.['message']).toEqual({ role: 'user', content: expect.stringMatching(/^use \[masked: .*\]\nhere$/) });
  });
});

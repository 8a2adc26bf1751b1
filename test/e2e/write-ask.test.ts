/** `teddy write ask`, whole: the built executable, a model server on the loopback, real git. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';
import type { ServerAnswer } from '../support/model-server.ts';

let project: TeddyProject;

afterEach(() => project.close());

async function open(answers: ServerAnswer[], options: { chunkSize?: number; chunkDelayMs?: number } = {}) {
  project = await openTeddyProject({ answers, ...options });
}

function announce(target: string, operation = 'create', text = ''): ServerAnswer {
  const call = JSON.stringify({ intent: `Make ${target}`, target_file: target, operation });
  return { text, toolCalls: [{ name: 'WritePlanTool_begin', arguments: call }] };
}

const ask = (...args: string[]) => project.run(['write', 'ask', '-y', '-m', 'Write it', ...args]);
const read = (path: string) => readFile(join(project.repo.root, path), 'utf8');
const countWrites = async (ref: string) =>
  (await project.repo.git('log', '--format=%(trailers:key=Teddy-Write-Session,valueonly)', ref, '--'))
    .split('\n')
    .filter((line) => line !== '').length;

interface AskJson {
  schema: string;
  files: { session_id: string; written_path: string; commit: string; operation: string }[];
  said: string[];
  usage: { input: number; output: number } | null;
  error?: { code: string; message: string; hint: string };
}

const parse = (text: string) => JSON.parse(text) as AskJson;

describe('a model that writes 3,000 lines', () => {
  const content = Array.from({ length: 3000 }, (_, at) => `Line ${at + 1}: Grüße 🧸 "quoted" \\n\n`).join('');

  test('has them in the file and in one commit on the line, byte for byte', async () => {
    await open([announce('docs/long.txt', 'create', 'I begin.'), `${content}DONE\n`, 'It is written.'], {
      chunkSize: 64,
    });
    const line = await project.begin('docs');
    const result = await ask('--json');
    expect(result).toMatchObject({ exitCode: 0 });
    const { schema, files, said } = parse(result.stdout);
    expect({ schema, said }).toEqual({ schema: 'teddy.write-ask/1', said: ['I begin.', 'It is written.'] });
    expect(files).toMatchObject([{ written_path: 'docs/long.txt', operation: 'create' }]);
    expect(await read('docs/long.txt')).toBe(content);
    expect(`${await project.repo.git('show', `${files[0]?.commit}:docs/long.txt`)}\n`).toBe(content);
    expect(await project.repo.git('log', '-1', '--format=%H', `teddy/${line}`, '--', 'docs/long.txt')).toBe(
      files[0]?.commit,
    );
    expect(await countWrites(`teddy/${line}`)).toBe(1);
    expect(project.server.requests().map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(project.server.requests()[0]?.body['tools']).toMatchObject([{ function: { name: 'WritePlanTool_begin' } }]);
  });
});

test('the path and the commit are on stdout, all words are on stderr', async () => {
  await open([announce('a.txt', 'create', 'I begin.'), 'A\nDONE', announce('b.txt'), 'B\nDONE', 'That is all.']);
  const { stdout, stderr, exitCode } = await ask();
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^a\.txt [0-9a-f]{10}\nb\.txt [0-9a-f]{10}\n$/);
  expect(stderr).toContain('I begin.');
  expect(stderr).toContain('That is all.');
  expect(stderr).not.toContain('Waiting');
  const [session] = (await project.repo.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/teddy/')).split(
    '\n',
  );
  expect(session).toMatch(/-writes$/);
  expect(await countWrites(session ?? '')).toBe(2);
});

test('a content that stops without its end is asked for it, and DONE alone ends it', async () => {
  await open([announce('a.txt'), 'one\ntwo', 'DONE', 'Done.']);
  expect(await ask()).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('a.txt has no end marker yet') as unknown,
  });
  expect(await read('a.txt')).toBe('one\ntwo\n');
  expect(project.server.requests()[2]?.messages.at(-1)?.content).toBe(
    "If you're finished, reply DONE on its own line. Otherwise continue writing.",
  );
});

test('an answer that its limit cuts within a line is gone on with', async () => {
  await open([announce('a.txt'), { text: 'one\ntw', finishReason: 'length' }, 'o\nDONE', 'Done.']);
  expect(await ask()).toMatchObject({ exitCode: 0 });
  expect(await read('a.txt')).toBe('one\ntwo\n');
});

describe('what is wrong with a content', () => {
  test('goes back to the model with its line, and the corrected content is committed', async () => {
    await open([announce('a.json'), '{\n  "a": 1,,\n}\nDONE', '{\n  "a": 1\n}\nDONE', 'Done.']);
    expect(await ask()).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('line 2') as unknown });
    expect(await read('a.json')).toBe('{\n  "a": 1\n}\n');
    expect(project.server.requests()[2]?.messages.at(-1)?.content).toMatch(
      /^The content of a\.json was not accepted, for this:\n\n1\. syntax, line 2, .*"a": 1,,.*Send the whole corrected content/s,
    );
  });

  test('is no reason to lose what was committed before, also with --json', async () => {
    await open([announce('a.txt'), 'A\nDONE', announce('a.json'), '{"a": \nDONE', '{"a": \nDONE']);
    const result = await ask('--json');
    expect(result.exitCode).toBe(1);
    const commit = (await project.repo.git('log', '-1', '--format=%H', '--branches=teddy/*', '--', 'a.txt')).trim();
    expect(parse(result.stdout).error?.hint).toContain(`Committed before that: a.txt ${commit}.`);
  });
});

describe('a connection that is cut', () => {
  const first = Array.from({ length: 200 }, (_, at) => `This is line number ${at + 1} of the file.\n`).join('');

  test('loses nothing: --resume has the model go on, and one commit has all of it', async () => {
    await open(
      [announce('a.txt'), { text: `${first}never sent`, cutAfter: first.length / 16 + 1 }, 'the end\nDONE', 'Done.'],
      { chunkSize: 16 },
    );
    const cut = await ask();
    expect(cut).toMatchObject({ exitCode: 5, stdout: '' });
    expect(cut.stderr).toContain('[MODEL_INTERRUPTED]');
    const id = /teddy write recover ([0-9a-f-]{36})/.exec(cut.stderr)?.[1] ?? '';
    const staged = await project.ok('write', 'show', id);
    expect(staged.length).toBeGreaterThan(first.length / 2);
    expect(first.startsWith(staged.slice(0, first.length))).toBe(true);
    const resumed = await project.run(['write', 'ask', '--resume', id]);
    expect(resumed).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^a\.txt [0-9a-f]{10}\n$/) as unknown });
    expect(await read('a.txt')).toBe(`${staged}the end\n`);
    expect(resumed.stderr).toContain('Done.');
    expect(await project.refuses('EMPTY_MESSAGE', 2, ['write', 'ask', '-y'])).toContain(
      'There is no message that says what to write.',
    );
    expect(project.server.requests()[2]?.messages.at(-2)).toEqual({ role: 'assistant', content: staged });
  });

  test('by kill -9, before and in a file, leaves the message, and the file goes on for it', async () => {
    const message = 'Write a.txt:\n  two lines, "quoted" – and no more';
    await open([first, announce('a.txt'), first, 'two\nDONE', 'Done.'], { chunkSize: 200, chunkDelayMs: 100 });
    const kill = async (args: string[], requests: number) => {
      const running = project.start(args);
      await project.server.waitForRequests(requests);
      running.kill('SIGKILL');
      expect((await running.result).signal).toBe('SIGKILL');
    };
    await kill(['write', 'ask', '-y', '-m', message], 1);
    await kill(['write', 'ask', '-y'], 3);
    const id =
      /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(await project.ok('write', 'list', '--json'))?.[0] ?? '';
    const resumed = await project.run(['write', 'ask', '--resume', id]);
    expect(resumed).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^a\.txt [0-9a-f]{10}\n$/) as unknown });
    for (const request of project.server.requests())
      expect(request.messages.find(({ role }) => role === 'user')?.content).toContain(message);
    const history = await project.ok('session', 'history', 'writes', '--format', 'markdown');
    expect(history.split('two lines, "quoted"')).toHaveLength(2);
    expect(history).toContain('Done.');
  });

  test('by Ctrl-C is saved as well, and the error says how to go on', async () => {
    await open([announce('a.txt'), `${first.repeat(40)}DONE`], { chunkSize: 200, chunkDelayMs: 100 });
    const running = project.start(['write', 'ask', '-y', '-m', 'Write it']);
    await project.server.waitForRequests(2);
    await new Promise((resolve) => setTimeout(resolve, 700));
    running.kill('SIGINT');
    const { exitCode, stderr } = await running.result;
    expect(exitCode).toBe(130);
    const id = /teddy write ask --resume ([0-9a-f-]{36})/.exec(stderr)?.[1] ?? '';
    expect(first.startsWith((await project.ok('write', 'show', id)).slice(0, 200))).toBe(true);
  });
});

test('a secret in the message does not leave', async () => {
  await open(['Nothing to do.']);
  const secret = `ghp_${'aB3dE5gH7j'.repeat(4).slice(0, 36)}`;
  const { exitCode, stderr } = await project.run(['write', 'ask', '-y', '-m', `Use ${secret} for the file`]);
  expect(exitCode).toBe(0);
  expect(stderr).toContain('1 secret in your message was masked.');
  expect(JSON.stringify(project.server.requests())).not.toContain(secret);
});

test('a target that changes meanwhile is left alone, and the content is kept', async () => {
  await open([announce('README.md', 'overwrite'), `${'new\n'.repeat(40)}DONE`], { chunkSize: 8, chunkDelayMs: 20 });
  await writeFile(join(project.repo.root, 'README.md'), 'old\n');
  const running = project.start(['write', 'ask', '-y', '-m', 'Write it']);
  await project.server.waitForRequests(2);
  await writeFile(join(project.repo.root, 'README.md'), 'changed by hand\n');
  const { exitCode, stderr } = await running.result;
  expect({ exitCode, stderr }).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining('[TARGET_CHANGED]') as unknown,
  });
  expect(await read('README.md')).toBe('changed by hand\n');
});

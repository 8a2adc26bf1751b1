/** `teddy write ask`, whole: the built executable, a model server on the loopback, real git. */
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { ServerAnswer } from '../support/model-server.ts';

let project: MemoryTeddy;

afterEach(() => project.close());

async function open(answers: ServerAnswer[], options: { chunkSize?: number; chunkDelayMs?: number } = {}) {
  project = await openMemoryTeddy({ answers, ...options });
}

function announce(target: string, operation = 'create', text = ''): ServerAnswer {
  const call = JSON.stringify({ intent: `Make ${target}`, target_file: target, operation });
  return { text, toolCalls: [{ name: 'WritePlanTool_begin', arguments: call }] };
}

const ask = (...args: string[]) => project.run(['write', 'ask', '-y', '-m', 'Write it', ...args]);
const read = (path: string) => readFile(join(project.repo.root, path), 'utf8');
interface AskJson {
  schema: string;
  files: { session_id: string; written_path: string; commit: string; operation: string }[];
  said: string[];
  usage: { input: number; output: number } | null;
  error?: { code: string; message: string; hint: string };
}

const parse = (text: string) => JSON.parse(text) as AskJson;

test('a long conversation says nothing but what it is about', async () => {
  const files = Array.from({ length: 8 }, (_, at) => [announce(`f${at}.txt`), `${at}\nDONE`]).flat();
  await open([...files, 'Done.']);
  const { stdout, stderr } = await ask();
  expect(stdout.split('\n')).toHaveLength(9);
  expect(stderr).not.toContain('Warning');
});

test('an answer without a file is printed, and kept with its message like any reply', async () => {
  await open(['Which file do you mean?\n\nDONE', 'The guide it is.']);
  await project.begin('docs');
  expect(await ask()).toMatchObject({ exitCode: 0, stdout: 'Which file do you mean?\n\nDONE\n' });
  expect(await project.ok('session', 'history', '--format', 'markdown')).toMatch(/Write it.*Which file do you mean\?/s);
  expect(await project.run(['write', 'ask', '-y', '-m', 'The guide'])).toMatchObject({ exitCode: 0 });
  expect(project.server.requests()[1]?.messages[1]?.content).toContain('Which file do you mean?');
});

describe('what is wrong with a content', () => {
  test('twice the same stops: nothing is written, and the content is kept', async () => {
    await open([announce('a.json'), '{"a": \nDONE', '{"a": \nDONE', 'no more']);
    const result = await ask('--json');
    const { error } = parse(result.stdout);
    expect({ exitCode: result.exitCode, code: error?.code }).toEqual({ exitCode: 1, code: 'VALIDATION_FAILED' });
    expect(error?.message).toContain('the same findings twice');
    await expect(read('a.json')).rejects.toThrow('ENOENT');
    const id = /teddy write show ([0-9a-f-]{36})/.exec(error?.hint ?? '')?.[1] ?? '';
    expect(await project.ok('write', 'show', id)).toBe('{"a": \n');
    expect(project.server.requests()).toHaveLength(3);
  });
});

describe('refused before a model is asked', () => {
  test('is a file that nobody can approve', async () => {
    await open([]);
    await project.refuses('NOT_APPROVED', 4, ['write', 'ask', '-m', 'Write it']);
    expect(project.server.requests()).toEqual([]);
  });

  test('is an empty message, a provider that calls no tools, and no model at all', async () => {
    await open([]);
    const empty = await project.refuses('EMPTY_MESSAGE', 2, ['write', 'ask', '-y', '-m', ' ']);
    expect(empty).not.toContain('Asking');
    await project.refuses('USAGE', 2, ['write', 'ask', '--resume', 'x', '-m', 'And more']);
    await project.refuses('USAGE', 2, ['write', 'ask', '-y', '-m', 'Write it', '--provider', 'manual']);
    const env = { OPENAI_BASE_URL: undefined, OPENAI_API_KEY: undefined };
    const stderr = await project.refuses('NO_MODEL', 5, ['write', 'ask', '-y', '-m', 'Write it'], {
      env: env as never,
    });
    expect(stderr).toContain('teddy write stream');
    expect(project.server.requests()).toEqual([]);
  });
});

describe('in a terminal', () => {
  test('each file is asked for; a no leaves no trace, a yes writes it, and its content is not shown', async () => {
    await open([announce('a.txt'), announce('b.txt', 'create', 'Then b.'), 'The words of b\nDONE', 'Only b.']);
    const run = project.inTerminal(['write', 'ask', '-m', 'Write them']);
    await run.play(
      ['? [y/N] ', '\n', 'Write a.txt (create): Make a.txt'],
      ['? [y/N] ', 'y\n', /Then b\.\s+.*Write b\.txt \(create\): Make b\.txt/s],
    );
    expect(await run.exitCode).toBe(0);
    expect(run.text()).toMatch(/b\.txt [0-9a-f]{10}\n/);
    expect(run.text()).not.toContain('The words of b');
    expect(project.server.requests()[1]?.messages.at(-1)?.content).toContain('The user does not want a.txt');
    await expect(read('a.txt')).rejects.toThrow('ENOENT');
    expect(await project.ok('write', 'list', '--json')).not.toContain('a.txt');
  });

  test('a no to the only file is exit 4', async () => {
    await open([announce('a.txt'), 'As you like.']);
    const run = project.inTerminal(['write', 'ask', '-m', 'Write it']);
    await run.play(['? [y/N] ', 'n\n']);
    expect(await run.exitCode).toBe(4);
    expect(run.text()).toContain('[NOT_APPROVED]');
  });
});

test('paths and commits go to stdout, all words to stderr; --json has both in one document', async () => {
  const answers = () => [
    announce('a.txt', 'create', 'I begin.'),
    'A\nDONE',
    announce('b.txt'),
    'B\nDONE',
    'That is all.',
  ];
  await open(answers());
  const { stdout, stderr, exitCode } = await ask();
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^a\.txt [0-9a-f]{10}\nb\.txt [0-9a-f]{10}\n$/);
  for (const words of ['I begin.', 'That is all.']) expect(stderr).toContain(words);
  expect(stderr).not.toContain('Waiting');
  await project.close();
  await open(answers());
  const { schema, files, said } = parse((await ask('--json')).stdout);
  expect({ schema, said }).toEqual({ schema: 'teddy.write-ask/1', said: ['I begin.', 'That is all.'] });
  expect(files).toMatchObject([
    { written_path: 'a.txt', operation: 'create', commit: expect.stringMatching(/^[0-9a-f]{40}$/) as string },
    { written_path: 'b.txt', operation: 'create' },
  ]);
});

test('what was committed before a failure is named', async () => {
  await open([announce('a.txt'), 'A\nDONE', announce('a.json'), '{"a": \nDONE', '{"a": \nDONE']);
  const result = await ask('--json');
  expect(result.exitCode).toBe(1);
  expect(parse(result.stdout).error?.hint).toMatch(/Committed before that: a\.txt [0-9a-f]{40}\./);
});

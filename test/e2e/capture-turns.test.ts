/** Turns of an agent with the hook and the built executable: what hooks announce is on a line, also where drainers are killed. */
import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { decodeTranscript } from '../../src/conversation/history/decode-transcript.ts';
import { environmentOf, runTeddy } from '../support/run-teddy.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let home: string;
let repo: ScratchRepository;
let count = 0;
let parent: string | null = null;

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'teddy-capture-')));
  repo = await makeScratchRepository({ 'a.txt': 'one\n' });
  [count, parent] = [0, null];
  const installed = await teddy('capture', 'install', '--yes', '--agent', 'claude-code');
  expect(installed.exitCode, installed.stderr).toBe(0);
  await mkdir(dirname(log()), { recursive: true });
});
afterEach(async () => {
  await repo.close();
  await rm(home, { recursive: true, maxRetries: 3 });
});

const env = () => ({ HOME: home, XDG_DATA_HOME: undefined, CLAUDE_CONFIG_DIR: undefined });
const teddy = (...words: string[]) => runTeddy(words, { cwd: repo.root, env: env() });
const log = () => join(home, '.claude/projects', repo.root.replaceAll(/[^A-Za-z0-9]/g, '-'), 's1.jsonl');

function ring(event: string, more: object = {}): void {
  const payload = { session_id: 's1', transcript_path: log(), cwd: repo.root, hook_event_name: event, ...more };
  const hook = join(home, '.local/share/teddy/agent-hook');
  const input = JSON.stringify(payload);
  const { status, stdout, stderr } = spawnSync('sh', [hook, 'claude-code'], {
    cwd: repo.root,
    env: environmentOf(env()),
    input,
  });
  expect({ status, stdout: String(stdout), stderr: String(stderr) }).toEqual({ status: 0, stdout: '', stderr: '' });
}

function write(type: 'user' | 'assistant', text: string): void {
  count += 1;
  const uuid = `u${count}`;
  const base = { uuid, parentUuid: parent, sessionId: 's1', cwd: repo.root, version: '2.1.330' };
  const usage = { input_tokens: 10, output_tokens: 2 };
  const message =
    type === 'user'
      ? { role: 'user', content: text }
      : { id: `m${count}`, role: 'assistant', model: 'claude-opus', content: [{ type: 'text', text }], usage };
  parent = uuid;
  const line = { type, ...base, timestamp: new Date(1_795_000_000_000 + 1000 * count).toISOString(), message };
  appendFileSync(log(), `${JSON.stringify(line)}\n`);
}

function take(message: string, answer: string): void {
  ring('UserPromptSubmit', { prompt: message });
  write('user', message);
  ring('Stop', { last_assistant_message: answer });
  write('assistant', answer);
}

async function lines(): Promise<string[]> {
  return (await repo.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/teddy')).split('\n').filter(Boolean);
}

async function subjects(line: string): Promise<string[]> {
  return (await repo.git('log', '--reverse', '--format=%s', `main..${line}`)).split('\n').filter(Boolean);
}

/** The texts of a line, in the order of its turns. */
async function textsOf(line: string): Promise<string[]> {
  const files = (await repo.git('ls-tree', '-r', '--name-only', line)).split('\n');
  const transcripts = files.filter((file) => file.endsWith('transcript.jsonl'));
  const texts = await Promise.all(transcripts.map((file) => repo.git('show', `${line}:${file}`)));
  return texts.flatMap((text) =>
    decodeTranscript(text).records.flatMap((record) =>
      (record.type === 'user' || record.type === 'assistant') && 'content' in record.message
        ? [record.message.content]
        : [],
    ),
  );
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let time = 0; time < 400; time += 1) {
    if (await isSo()) return;
    await sleep(50);
  }
  throw new Error('It did not come about.');
}

test('a turn with hooks is on a line while the user stays where they are', async () => {
  const before = await repo.fingerprint();
  ring('UserPromptSubmit', { prompt: 'Add a file' });
  write('user', 'Add a file');
  await until(async () => (await lines()).length === 1);
  await writeFile(join(repo.root, 'b.txt'), 'made by the agent\n');
  ring('Stop', { last_assistant_message: 'It is there.' });
  // The answer is on disk only after the hook, as with the real agent.
  await sleep(100);
  write('assistant', 'It is there.');
  const [line = ''] = await lines();
  await until(async () => (await subjects(line)).at(-1)?.includes('changed by claude-code') === true);
  expect((await subjects(line)).map((subject) => subject.split(':')[0])).toEqual([
    'start',
    'turn 01 message',
    'turn 01 reply',
    'turn 01 snapshot',
  ]);
  expect(await repo.git('show', `${line}:b.txt`)).toContain('made by the agent');
  const { 'b.txt': _, ...workTree } = (await repo.fingerprint()).workTree;
  expect({ ...(await repo.fingerprint()), workTree, refs: null }).toEqual({ ...before, refs: null });
  const verified = await teddy('session', 'verify', line);
  expect(verified.exitCode, verified.stdout).toBe(0);
  const status = await teddy('status');
  expect(status.stdout).toContain(`Captured: ${line}, turn 01 [claude-code, claude-opus]`);
  // The file of the agent is in the work tree as the landing writes it.
  const landed = await teddy('session', 'land', line);
  expect(landed.exitCode, landed.stderr).toBe(0);
  expect(await repo.git('status', '--porcelain', '--branch')).toBe('## main');
  expect(await repo.git('show', 'main:b.txt')).toBe('made by the agent');
  expect(await repo.git('log', '-1', '--format=%s', 'main')).toBe('Add a file');
});

test("the agent's turn that a sync has moved to a branch is answered there, and the next ones follow it", async () => {
  const [remote, clone] = [join(home, 'remote.git'), join(home, 'clone')];
  await repo.git('init', '--quiet', '--bare', remote);
  await repo.git('remote', 'add', 'origin', remote);
  await repo.git('push', '--quiet', 'origin', 'main');
  const go = async (cwd: string, ...words: string[]) => {
    const { exitCode, stderr } = await runTeddy(words, { cwd, env: env() });
    expect(exitCode, stderr).toBe(0);
  };
  take('Add a file', 'It is there.');
  await until(async () => (await lines()).length === 1 && (await textsOf((await lines())[0] ?? '')).length === 2);
  const [line = ''] = await lines();
  await go(repo.root, 'session', 'push', '-s', line);
  await repo.git('clone', '--quiet', remote, clone);
  for (const [name, value] of [['user.name', 'Ada'] as const, ['user.email', 'ada@example.com'] as const])
    await repo.git('-C', clone, 'config', name, value);
  await go(clone, 'session', 'pull');
  await go(clone, 'session', 'say', '-s', line, '-m', 'Why a file?');
  await go(clone, 'session', 'say', '-s', line, '--role', 'assistant', '-m', 'It was asked for.');
  await go(clone, 'session', 'push', '-s', line);
  ring('UserPromptSubmit', { prompt: 'Add another' });
  write('user', 'Add another');
  await until(async () => (await textsOf(line)).at(-1) === 'Add another');
  await go(repo.root, 'session', 'sync', '-s', line);
  ring('Stop', { last_assistant_message: 'Done.' });
  write('assistant', 'Done.');
  const branch = `${line}--02-branch-01`;
  await until(async () => (await textsOf(branch)).at(-1) === 'Done.');
  take('And a third', 'Also done.');
  await until(async () => (await textsOf(branch)).at(-1) === 'Also done.');
  expect(await textsOf(line)).toEqual(['Add a file', 'It is there.', 'Why a file?', 'It was asked for.']);
  const both = ['Add a file', 'It is there.'];
  expect(await textsOf(branch)).toEqual([...both, 'Add another', 'Done.', 'And a third', 'Also done.']);
  await go(repo.root, 'session', 'verify', '--all');
  await go(repo.root, 'session', 'sync', '-s', line);
});

/** Turns of an agent with the hook and the built executable: what hooks announce is on a line, also where drainers are killed. */
import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
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

async function drainer(): Promise<number | null> {
  const text = await readFile(join(repo.root, '.git/teddy/spool/drainer'), 'utf8').catch(() => '');
  const pid = Number(text.split('\n')[0]);
  return pid > 0 ? pid : null;
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

test('git switches to a captured line when it knows the files of the agent that lie in the work tree', async () => {
  take('Add a file', 'It is there.');
  await writeFile(join(repo.root, 'a.txt'), 'two\n');
  await writeFile(join(repo.root, 'b.txt'), 'made by the agent\n');
  await until(async () => (await lines()).length === 1 && (await subjects((await lines())[0] ?? '')).length === 4);
  const [line = ''] = await lines();
  const refused = await teddy('session', 'undo', '-s', line);
  expect(refused.stderr).toContain(`hint:  Give it a work tree: \`git worktree add <directory> ${line}\`.`);
  await expect(repo.git('switch', '--quiet', line)).rejects.toThrow('would be overwritten');
  await repo.git('add', '--all');
  await repo.git('switch', '--quiet', line);
  expect(await repo.git('status', '--porcelain', '--branch')).toBe(`## ${line}`);
});

/** It may have come to its end since it was looked for. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

test('what is broken of capture is in the status', async () => {
  expect((await teddy('status')).stdout).not.toContain('Capture:');
  await rm(join(home, '.local/share/teddy/agent-hook'));
  const missing = /The script that all hooks run is missing \(.*agent-hook\): `teddy capture install`\./;
  for (const words of [['status'], []])
    expect((await teddy(...words)).stdout).toMatch(new RegExp(`^Capture: ${missing.source}$`, 'm'));
  const { captureWarnings } = JSON.parse((await teddy('status', '--json')).stdout) as { captureWarnings: string[] };
  expect(captureWarnings).toEqual([expect.stringMatching(missing)]);
});

test('drainers that are killed lose nothing and double nothing', async () => {
  const turns = 12;
  const expected: string[] = [];
  for (let turn = 1; turn <= turns; turn += 1) {
    ring('UserPromptSubmit', { prompt: `Message ${turn}` });
    write('user', `Message ${turn}`);
    ring('Stop', { last_assistant_message: `Answer ${turn}` });
    write('assistant', `Answer ${turn}`);
    expected.push(`Message ${turn}`, `Answer ${turn}`);
    await sleep(40 * turn);
    const pid = await drainer();
    if (pid !== null) kill(pid);
  }
  await until(async () => {
    const drained = await teddy('capture', 'drain', '--json');
    return drained.exitCode === 0 && (JSON.parse(drained.stdout) as { isBusy: boolean }).isBusy === false;
  });
  const found = await lines();
  expect(found).toHaveLength(1);
  expect(await textsOf(found[0] ?? '')).toEqual(expected);
  const verified = await teddy('session', 'verify', found[0] ?? '');
  expect(verified.exitCode, verified.stdout).toBe(0);
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

test('the files of another work tree that is on the line stay as they are', async () => {
  const look = join(home, 'look');
  /** The line, by now, on which the turn is. */
  const makeFile = async (name: string, message: string) => {
    ring('UserPromptSubmit', { prompt: message });
    write('user', message);
    let line = '';
    await until(async () => {
      line = (await lines()).at(-1) ?? 'main';
      return (await textsOf(line)).at(-1) === message;
    });
    await writeFile(join(repo.root, name), 'made by the agent\n');
    ring('Stop', { last_assistant_message: 'Done.' });
    write('assistant', 'Done.');
    await until(async () => (await subjects(line)).at(-1)?.includes('changed by claude-code') === true);
    return line;
  };
  const line = await makeFile('b.txt', 'Add a file');
  await repo.git('worktree', 'add', '--quiet', look, line);
  const tip = await repo.git('rev-parse', line);
  const branch = await makeFile('c.txt', 'Add another');
  expect(branch).toBe(`${line}--02-branch-01`);
  expect(await repo.git('rev-parse', line)).toBe(tip);
  expect(await repo.git('-C', look, 'status', '--porcelain')).toBe('');
  expect(await textsOf(branch)).toEqual(['Add a file', 'Done.', 'Add another', 'Done.']);
  expect(await repo.git('show', `${branch}:c.txt`)).toBe('made by the agent');
  const verified = await teddy('session', 'verify', '--all');
  expect(verified.exitCode, verified.stdout).toBe(0);
});

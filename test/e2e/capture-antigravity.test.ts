/**
 * Antigravity's sessions with the built executable. npm does not have the program: a stand-in here does what its
 * documentation says, runs the hooks of its file, and writes its log.
 */
import { execFileSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { environmentOf, runTeddy } from '../support/run-teddy.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let home: string;
let repo: ScratchRepository;
let steps = 0;
let now: number;

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'teddy-capture-')));
  repo = await makeScratchRepository({ 'a.txt': 'one\n' });
  [steps, now] = [0, Date.now()];
  await mkdir(join(home, '.gemini/antigravity-cli/brain/c-1/.system_generated/logs'), { recursive: true });
  const installed = await teddy('capture', 'install', '--yes', '--agent', 'antigravity');
  expect(installed.exitCode, installed.stderr).toBe(0);
});
afterEach(async () => {
  await repo.close();
  await rm(home, { recursive: true, maxRetries: 3 });
});

const env = () => ({ HOME: home, XDG_DATA_HOME: undefined });
const teddy = (...words: string[]) => runTeddy(words, { cwd: repo.root, env: env() });
const config = (name = '') => join(home, '.gemini/config', name);
const log = (name = 'transcript_full.jsonl') =>
  join(home, '.gemini/antigravity-cli/brain/c-1/.system_generated/logs', name);

/** Runs the hooks for an event as Antigravity does, and expects JSON from each. */
async function ring(event: string, more: object = {}): Promise<void> {
  const sections = JSON.parse(await readFile(config('hooks.json'), 'utf8')) as Record<
    string,
    Record<string, { command: string }[]>
  >;
  const commands = Object.values(sections).flatMap((section) => (section[event] ?? []).map(({ command }) => command));
  expect(commands).toHaveLength(1);
  const payload = {
    conversationId: 'c-1',
    workspacePaths: [repo.root],
    transcriptPath: log('transcript.jsonl'),
    modelName: 'gemini-3.5-flash',
    ...more,
  };
  const options = { cwd: config(), env: environmentOf(env()), input: JSON.stringify(payload, null, 1) };
  for (const command of commands)
    expect(JSON.parse(execFileSync('sh', ['-c', command], { ...options, encoding: 'utf8' }))).toEqual({});
}

function write(source: string, type: string, content: string, more: object = {}): void {
  const createdAt = new Date(now + 1000 * steps).toISOString().replace(/\.\d+Z/, 'Z');
  const line = { step_index: steps, source, type, status: 'DONE', created_at: createdAt, content, ...more };
  steps += 1;
  appendFileSync(log(), `${JSON.stringify(line)}\n`);
}

const say = (text: string) => write('USER_EXPLICIT', 'USER_INPUT', `<USER_REQUEST>\n${text}\n</USER_REQUEST>\n`);

const subjects = async () =>
  (await repo.git('log', '--reverse', '--format=%s', 'main..', '--glob=refs/heads/teddy/*')).split('\n');

test('a session with hooks is on a line, turn by turn, and its code with it', async () => {
  for (const [turn, file] of ['first.txt', 'second.txt'].entries()) {
    await writeFile(join(repo.root, `mine-${turn}.txt`), 'by hand\n');
    say(`Add ${file}`);
    await ring('PreInvocation', { invocationNum: 0 });
    // The drainer has to look at the work tree before the agent changes it.
    await expect.poll(subjects, { timeout: 20_000 }).toContain(`turn 0${turn + 1} message: Add ${file}`);
    const call = { name: 'write_to_file', args: { TargetFile: file } };
    write('MODEL', 'PLANNER_RESPONSE', '', { tool_calls: [call] });
    await writeFile(join(repo.root, file), 'by the agent\n');
    write('MODEL', 'CODE_ACTION', 'Created file');
    await ring('PreInvocation', { invocationNum: 1 });
    write('MODEL', 'PLANNER_RESPONSE', `${file} is there.`);
    await ring('Stop', { fullyIdle: true });
    await expect.poll(async () => (await subjects()).at(-1), { timeout: 20_000 }).toMatch(/changed by antigravity/);
  }
  const files = (await repo.git('log', '--reverse', '--format=%s', '--name-only', '--glob=refs/heads/teddy/*'))
    .split('\n')
    .filter((line) => /^turn \d\d snapshot|^(?:mine|first|second)/.test(line))
    .map((line) => line.replace(/:.*/, ''));
  expect(files).toEqual([
    'mine-0.txt',
    'turn 01 snapshot',
    'first.txt',
    'mine-1.txt',
    'turn 02 snapshot',
    'second.txt',
  ]);
  const listed = await teddy('list', '--json');
  expect(listed.stdout).toContain('"antigravity"');
});

test('a sweep finds a session that its history places here, and no other', async () => {
  await writeFile(log(), '');
  say('Explain a.txt');
  write('MODEL', 'PLANNER_RESPONSE', 'It has one line.');
  const sweep = async () => (await teddy('capture', 'sweep')).stdout;
  await sweep();
  expect(await subjects()).toEqual(['']);
  const line = { display: 'Explain a.txt', workspace: repo.root, conversationId: 'c-1' };
  await writeFile(join(home, '.gemini/antigravity-cli/history.jsonl'), `${JSON.stringify(line)}\n`);
  await sweep();
  expect(await subjects()).toEqual(['start', 'message', 'reply'].map((kind) => expect.stringContaining(kind)));
});

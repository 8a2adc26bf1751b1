/** Each start of git takes its time: a command starts it no more often than it has to. */
import { appendFile, chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createAction, editAction, executeAction, openTeddyProject, planOf } from '../support/teddy-project.ts';
import type { TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let bin: string;
/** Added to the environment of what is started. */
let more: Record<string, string | undefined>;

beforeEach(async () => {
  more = {};
  project = await openTeddyProject({ files: { 'a.txt': 'a\n', 'b.txt': 'b\n' } });
  bin = await mkdtemp(join(tmpdir(), 'teddy-git-'));
  const script = `#!/bin/sh\necho "$@" >>'${join(bin, 'starts')}'\nPATH=\${PATH#*:} exec git "$@"\n`;
  await writeFile(join(bin, 'git'), script);
  await chmod(join(bin, 'git'), 0o755);
});
afterEach(async () => {
  await project.close();
  await rm(bin, { recursive: true });
});

/** The commands of git, in the order of their starts. */
async function startsOf(...args: string[]): Promise<string[]> {
  await writeFile(join(bin, 'starts'), '');
  const env = { ...more, PATH: `${bin}${delimiter}${process.env['PATH']}` };
  const { exitCode, stderr } = await project.run(args, { env, asProcess: true });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.any(String) as string });
  const lines = (await readFile(join(bin, 'starts'), 'utf8')).trim().split('\n');
  return lines.map((line) => /^(?:-c \S+ )*(\S+)/.exec(line)?.[1] ?? line);
}

test.each<[string, number, string[]]>([
  ['two edits', 8, [editAction('a.txt', 'a', 'A'), editAction('b.txt', 'b', 'B')]],
  // Whether git ignores a new file is one more question.
  ['an edit and a new file', 9, [editAction('a.txt', 'a', 'A'), createAction('c.txt', 'c\n')]],
  // A command's changes are found by looking before and after it.
  ['a new file and a command', 12, [createAction('c.txt', 'c\n'), executeAction('echo d > d.txt')]],
])('executing %s starts git %i times', async (_, most, actions) => {
  await project.begin('starts');
  await project.plan(planOf(...actions));
  const starts = await startsOf('session', 'execute', '-y');
  expect(starts.length, starts.join(', ')).toBeLessThanOrEqual(most);
  expect((await project.report()).run_summary.status).toBe('SUCCESS');
});

test.each<[string, number]>([
  ['list', 3],
  ['status', 4],
])('%s starts git %i times, once its index is there', async (verb, most) => {
  await project.begin('starts');
  await project.plan(planOf(createAction('c.txt', 'c\n')));
  await startsOf(verb);
  const starts = await startsOf(verb);
  expect(starts.length, starts.join(', ')).toBeLessThanOrEqual(most);
});

test('planning starts git 11 times', async () => {
  await project.begin('starts');
  await writeFile(join(bin, 'plan.md'), planOf(createAction('c.txt', 'c\n')));
  const starts = await startsOf('session', 'plan', '-m', 'Do it', '--from', join(bin, 'plan.md'));
  expect(starts.length, starts.join(', ')).toBeLessThanOrEqual(11);
});

test.each<[string, number, string[]]>([
  ['edits a file', 12, ['a.txt']],
  ['edits one and makes one', 13, ['a.txt', 'new.txt']],
])('draining a turn of an agent that %s starts git %i times', async (_, most, paths) => {
  const { root } = project.repo;
  const home = await realpath(bin);
  more = { HOME: home, XDG_DATA_HOME: undefined, CLAUDE_CONFIG_DIR: undefined };
  await startsOf('capture', 'install', '--yes', '--agent', 'claude-code');
  const log = join(home, '.claude/projects', root.replaceAll(/[^A-Za-z0-9]/g, '-'), 's1.jsonl');
  await mkdir(dirname(log), { recursive: true });
  const base = { sessionId: 's1', cwd: root, version: '2.1.330', timestamp: new Date().toISOString() };
  const toBell = (event: object) => {
    const payload = { session_id: 's1', transcript_path: log, cwd: root, ...event };
    return `${JSON.stringify({ v: 1, agent: 'claude-code', at: Math.floor(Date.now() / 1000), ppid: 0, payload })}\n`;
  };
  /** The hooks have noted the turn, and no drainer has run yet. */
  const take = async (turn: number) => {
    const [prompt, text] = [`Message ${turn}`, `Answer ${turn}`];
    const asked = { uuid: `u${turn}`, parentUuid: turn === 1 ? null : `a${turn - 1}` };
    const content = [{ type: 'text', text }];
    const answer = { id: `m${turn}`, role: 'assistant', model: 'claude-opus', content, stop_reason: 'end_turn' };
    const answered = { uuid: `a${turn}`, parentUuid: `u${turn}`, message: answer };
    const lines = [
      { type: 'user', ...base, ...asked, message: { role: 'user', content: prompt } },
      { type: 'assistant', ...base, ...answered },
    ];
    await appendFile(log, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    if (turn === 2) for (const path of paths) await project.repo.write(path, `${turn}\n`);
    const ends = { hook_event_name: 'Stop', last_assistant_message: text };
    const bells = toBell({ hook_event_name: 'UserPromptSubmit', prompt }) + toBell(ends);
    await appendFile(join(root, '.git/teddy/spool/claude-code.jsonl'), bells);
  };
  await take(1);
  await startsOf('capture', 'drain');
  await take(2);
  const starts = await startsOf('capture', 'drain');
  const line = await project.repo.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/teddy');
  expect(await project.subjects(line)).toEqual(
    expect.arrayContaining([expect.stringMatching(/^turn 02 snapshot: .* claude-code/)]),
  );
  expect(starts.length, starts.join(', ')).toBeLessThanOrEqual(most);
});

test('the commands that read a session load no zod, which takes 25 ms', async () => {
  const watch = join(bin, 'watch.cjs');
  // zod leaves its settings with the process, wherever its code is bundled.
  await writeFile(
    watch,
    "process.on('exit', () => globalThis.__zod_globalConfig && console.error('zod is loaded'));\n",
  );
  const run = (...args: string[]) =>
    project.run(args, { stdin: plan, asProcess: true, env: { NODE_OPTIONS: `--require ${watch}` } });
  const plan = planOf(executeAction('false'));
  await project.begin('starts');
  const commands = ['plan --from - -m Fail', 'status', 'execute -y', 'status', 'list', 'plan --from - -m Again', 'log'];
  commands.push('show 01', 'review', 'verify', 'stats');
  const loaded: string[] = [];
  for (const command of commands) {
    const { stderr } = await run(...command.split(' '));
    if (stderr.includes('zod is loaded')) loaded.push(command);
  }
  expect(loaded).toEqual([]);
  const { stderr } = await run('mcp');
  expect(stderr).toContain('zod is loaded');
});

test('looking at a session starts git 3 times', async () => {
  await project.begin('starts');
  await project.plan(planOf(createAction('c.txt', 'c\n')));
  for (const verb of ['show', 'log']) {
    const starts = await startsOf('session', verb);
    expect(starts.length, starts.join(', ')).toBeLessThanOrEqual(3);
  }
});

test('what a remote has, and what is here, is asked for once', async () => {
  await project.repo.git('init', '--quiet', '--bare', join(bin, 'remote.git'));
  await project.repo.git('remote', 'add', 'origin', join(bin, 'remote.git'));
  await project.repo.git('push', '--quiet', 'origin', 'main');
  await project.begin('starts');
  await startsOf('session', 'push');
  await project.plan(planOf(createAction('c.txt', 'c\n')));
  const pushed = await startsOf('session', 'push');
  expect(pushed.length, pushed.join(', ')).toBeLessThanOrEqual(11);
  const synced = await startsOf('session', 'sync');
  expect(synced.length, synced.join(', ')).toBeLessThanOrEqual(6);
});

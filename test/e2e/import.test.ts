/** A conversation comes in from a file and goes out into one: `session import`, `session export`. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

const run = promisify(execFile);
let project: TeddyProject;
let dir: string;

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
  await project.close();
});

async function open(scene?: TeddyProject): Promise<void> {
  project = await openTeddyProject(scene === undefined ? {} : { scene });
  dir = `${project.repo.root}-outside`;
  await mkdir(dir);
}

const timestamp = '2026-01-20T10:00:00.000Z';

function turnOf(number: number, filling = ''): object[] {
  const call = `call-${number}`;
  return [
    { type: 'user', id: `u${number}`, timestamp, message: { role: 'user', content: `Question ${number}` } },
    {
      type: 'tool_use',
      id: `c${number}`,
      timestamp,
      tool_call_id: call,
      tool_name: 'read_file',
      tool_input: { path: 'a' },
    },
    { type: 'tool_result', id: `r${number}`, timestamp, tool_call_id: call, output: `of ${number} ${filling}` },
    { type: 'assistant', id: `a${number}`, timestamp, message: { role: 'assistant', content: `Answer ${number}` } },
  ];
}

async function writeLog(name: string, turns: number, filling = ''): Promise<string> {
  const lines = Array.from({ length: turns }, (_, at) => turnOf(at, filling)).flat();
  const path = join(dir, name);
  await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return path;
}

const packDir = () => join(project.repo.root, '.git/objects/pack');
const branches = () => project.repo.git('for-each-ref', '--format=%(refname:short)', 'refs/heads/teddy/2*');
const temporaryPacks = async () => (await readdir(packDir())).filter((name) => name.startsWith('tmp_'));

describe('session import', () => {
  beforeEach(() => open());

  test('makes a branch, prints the directory, says how to go there, and leaves HEAD, index and files alone', async () => {
    const before = await project.repo.fingerprint();
    const result = await project.run(['session', 'import', await writeLog('chat.jsonl', 3)]);
    expect(result).toMatchObject({ exitCode: 0 });
    const session = result.stdout.trim().replace('.teddy/sessions/', '');
    expect(session).toMatch(/^\d{8}-question-0$/);
    expect(result.stderr).toContain(`Created the branch teddy/${session} from a log of jsonl: 9 entries in 3 turns.`);
    expect(result.stderr).toContain(`Next: git switch teddy/${session}`);
    const { refs: _, ...after } = await project.repo.fingerprint();
    expect(before).toMatchObject(after);
    expect(await project.subjects(`teddy/${session}`)).toEqual([
      'turn 03 reply: Answer 2',
      'turn 03 exchange: call read_file',
      'turn 03 message: Question 2',
      'turn 02 reply: Answer 1',
      'turn 02 exchange: call read_file',
      'turn 02 message: Question 1',
      'turn 01 reply: Answer 0',
      'turn 01 exchange: call read_file',
      'turn 01 message: Question 0',
      `start: ${session}`,
      'First commit',
    ]);
    expect(await readdir(packDir())).toHaveLength(2);
    const done = await project.repo.fingerprint();
    const again = await project.ok('session', 'import', join(dir, 'chat.jsonl'), '--json');
    const commit = await project.repo.git('rev-parse', `teddy/${session}`);
    expect(JSON.parse(again)).toMatchObject({ schema: 'teddy.import/1', isNew: false, session, commit });
    expect(await project.repo.fingerprint()).toEqual(done);
    await project.repo.git('switch', '-q', `teddy/${session}`);
    expect(await project.repo.git('status', '--porcelain')).toBe('');
  });

  test('a second import names the way to a session that was archived, or that only a remote has', async () => {
    const log = await writeLog('chat.jsonl', 2);
    const [, session = ''] = /sessions\/(.+)/.exec(await project.ok('session', 'import', log)) ?? [];
    const again = async () => {
      const { stderr } = await project.run(['session', 'import', log]);
      const [, program, next = ''] = /^Next: (teddy|git) (.+)$/m.exec(stderr) ?? [];
      await (program === 'git' ? project.repo.git(...next.split(' ')) : project.ok(...next.split(' ')));
    };
    await project.ok('session', 'archive', session);
    await again();
    expect(await branches()).toBe(`teddy/${session}`);
    await project.repo.git('remote', 'add', 'origin', 'elsewhere');
    await project.repo.git('update-ref', `refs/remotes/origin/teddy/${session}`, `refs/heads/teddy/${session}`);
    await project.repo.git('branch', '--quiet', '-D', `teddy/${session}`);
    await project.repo.git(
      'update-ref',
      '-d',
      `refs/teddy/archive/${session.replace(/^(....)(..).*/, '$1-$2')}/${session}`,
    );
    await again();
    expect(await project.repo.git('symbolic-ref', '--short', 'HEAD')).toBe(`teddy/${session}`);
  });

  test('a dry run names lines and writes nothing', async () => {
    const log = await writeLog('chat.jsonl', 2);
    await writeFile(log, `${await readFile(log, 'utf8')}{"type":\n`);
    const before = await project.repo.fingerprint();
    const result = await project.run(['session', 'import', log, '--dry-run']);
    expect(result).toMatchObject({ exitCode: 0, stdout: 'jsonl: 9 lines read, 8 records in 6 entries in 2 turns.\n' });
    expect(result.stderr).toMatch(/1 skipped:\n {2}line 9: /);
    expect(await project.repo.fingerprint()).toEqual(before);
  });

  test('what cannot be imported is refused, and nothing changes', async () => {
    const empty = join(dir, 'empty.jsonl');
    const diary = join(dir, 'diary.txt');
    await writeFile(empty, '');
    await writeFile(diary, 'Dear diary\n');
    const before = await project.repo.fingerprint();
    for (const [code, exitCode, ...args] of [
      ['NOTHING_TO_IMPORT', 1, empty],
      ['UNKNOWN_FORMAT', 2, diary],
      ['UNKNOWN_FORMAT', 2, diary, '--format', 'word'],
      ['NOTHING_TO_IMPORT', 1, diary, '--format', 'jsonl'],
      ['FILE_NOT_FOUND', 2, dir],
      ['FILE_NOT_FOUND', 2, join(dir, 'none')],
      ['BAD_NAME', 2, await writeLog('a.jsonl', 1), '--name', '???'],
    ] as [string, number, ...string[]][]) {
      const { stderr, ...refused } = await project.run(['session', 'import', ...args]);
      expect(refused, args.join(' ')).toMatchObject({ exitCode, stdout: '' });
      expect(stderr).toMatch(
        new RegExp(`\\[${code}\\]\nhint:  .*${args.length === 1 && args[0] === diary ? '--format' : ''}`),
      );
    }
    expect(await project.repo.fingerprint()).toEqual(before);
  });

  test('a bundle and stdin are named for what they are, and a name that is not used is told', async () => {
    await project.begin('talk');
    const bundle = join(dir, 'talk.bundle');
    await project.ok('session', 'export', '--bundle', bundle);
    expect(await project.refuses('UNKNOWN_FORMAT', 2, ['session', 'import', bundle])).toContain('`git fetch ');
    expect(await project.refuses('USAGE', 2, ['session', 'import', '-'])).toContain('stdin');
    const log = await writeLog('chat.jsonl', 1);
    const wrong = await project.refuses('NOTHING_TO_IMPORT', 1, ['session', 'import', log, '--format', 'codex']);
    expect(wrong).toContain('It was read as codex. Without --format,');
    const made = JSON.parse(await project.ok('session', 'import', log, '--json')) as object;
    expect(made).toMatchObject({ isNew: true, format: 'jsonl', entries: 3, turns: 1, commit: expect.any(String) });
    const again = await project.run(['session', 'import', log, '--name', 'other']);
    expect(again).toMatchObject({ exitCode: 0 });
    expect(again.stderr).toContain('--name had no effect.');
  });

  test('what was left out is counted in words of that number', async () => {
    const path = join(dir, 'one.jsonl');
    const base = { sessionId: 's', timestamp, cwd: '/', version: '1' };
    const lines = [
      { type: 'summary', summary: 'A title', leafUuid: 'x' },
      { type: 'user', uuid: 'u1', parentUuid: null, ...base, message: { role: 'user', content: 'Hello' } },
    ];
    await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const { stderr } = await project.run(['session', 'import', path, '--dry-run']);
    expect(stderr).toContain('Left out: 1 title.');
  });

  test('killed in the middle it leaves no branch, and the next one works and clears away what is left', async () => {
    const log = await writeLog('long.jsonl', 4000, 'x'.repeat(2000));
    const killed = project.start(['session', 'import', log], { timeoutMs: 120_000 });
    while ((await temporaryPacks()).length === 0) await sleep(5);
    killed.kill('SIGKILL');
    expect((await killed.result).exitCode).toBe(137);
    expect(await branches()).toBe('');
    expect(await temporaryPacks()).toHaveLength(1);
    await project.repo.fsck();
    await project.ok('session', 'import', await writeLog('chat.jsonl', 1), '--name', 'next');
    expect(await temporaryPacks()).toEqual([]);
    expect(await branches()).toMatch(/^teddy\/\d{8}-next$/);
  });

  test('interrupted it ends with 130 and leaves nothing', async () => {
    const log = await writeLog('long.jsonl', 4000, 'x'.repeat(2000));
    const running = project.start(['session', 'import', log], { timeoutMs: 120_000 });
    while ((await temporaryPacks()).length === 0) await sleep(5);
    running.kill('SIGINT');
    const result = await running.result;
    expect(result).toMatchObject({ exitCode: 130, stdout: '' });
    expect(result.stderr).toContain('[INTERRUPTED]');
    expect(await branches()).toBe('');
    expect(await readdir(packDir())).toEqual([]);
  });

  test('of 100 MB it holds little in memory', async () => {
    const log = await writeLog('large.jsonl', 1000, 'lorem ipsum '.repeat(8192));
    expect((await stat(log)).size).toBeGreaterThan(90_000_000);
    const running = project.start(['session', 'import', log], { timeoutMs: 120_000 });
    let peakKb = 0;
    let isRunning = true;
    const ended = running.result.finally(() => (isRunning = false));
    while (isRunning) {
      const status = await readFile(`/proc/${running.pid}/status`, 'utf8').catch(() => '');
      peakKb = Math.max(peakKb, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
      await sleep(20);
    }
    expect(await ended).toMatchObject({ exitCode: 0 });
    expect(peakKb).toBeGreaterThan(30_000);
    expect(peakKb).toBeLessThan(250_000);
  });
});

describe('session export', () => {
  let scene: TeddyProject;
  beforeAll(async () => {
    await open();
    scene = project;
    await scene.ok('session', 'import', await writeLog('chat.jsonl', 2), '--name', 'chat');
    await rm(dir, { recursive: true });
  });
  afterAll(() => scene.close());
  beforeEach(() => open(scene));

  test('a directory holds the files of the tip; it has to be new or empty', async () => {
    const out = join(dir, 'out');
    await project.ok('session', 'export', '-s', 'chat', '--dir', out);
    expect((await readdir(out)).toSorted()).toEqual(['01', '02', 'session.context']);
    const branch = await branches();
    const path = `.teddy/sessions/${branch.replace('teddy/', '')}/02/transcript.jsonl`;
    expect(await readFile(join(out, '02/transcript.jsonl'), 'utf8')).toBe(
      `${await project.repo.git('show', `${branch}:${path}`)}\n`,
    );
    await project.refuses('FILES_IN_THE_WAY', 3, ['session', 'export', '-s', 'chat', '--dir', out]);
    await project.refuses('USAGE', 2, ['session', 'export', '--dir', '-']);
  });

  test('the history goes to stdout or to a file, which is replaced only by force', async () => {
    const file = join(dir, 'story.jsonl');
    await project.ok('session', 'export', '-s', 'chat', '--jsonl', file);
    expect(await project.ok('session', 'export', '-s', 'chat', '--jsonl', '-')).toBe(await readFile(file, 'utf8'));
    await writeFile(file, 'mine');
    await project.refuses('FILES_IN_THE_WAY', 3, ['session', 'export', '-s', 'chat', '--jsonl', file]);
    expect(await readFile(file, 'utf8')).toBe('mine');
    await project.ok('session', 'export', '-s', 'chat', '--jsonl', file, '--force');
    expect(await readFile(file, 'utf8')).toContain('Question 0');
    expect((await readdir(dir)).filter((name) => name.includes('.tmp-'))).toEqual([]);
    await project.refuses('FILE_NOT_FOUND', 2, ['session', 'export', '--jsonl', join(dir, 'none/a.jsonl')]);
    expect(await project.refuses('USAGE', 2, ['session', 'export'])).toContain('`teddy session review`');
    await project.refuses('USAGE', 2, ['session', 'export', '--html', file, '--jsonl', file]);
  });

  test('a place without a name is wrong usage', async () => {
    await project.begin('talk');
    for (const option of ['--html', '--jsonl', '--bundle', '--dir'])
      expect(await project.run(['session', 'export', `${option}=`])).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining(`${option} is empty. [USAGE]`) as string,
      });
  });

  test('a bundle stands on its own: it is cloned, and shows the same session', async () => {
    const bundle = join(dir, 'chat.bundle');
    await project.ok('session', 'export', '-s', 'chat', '--bundle', bundle);
    const branch = await branches();
    const clone = join(dir, 'clone');
    await run('git', ['clone', '-q', '-b', branch, bundle, clone]);
    const shown = await run('git', ['log', '--format=%H', branch], { cwd: clone });
    expect(shown.stdout.trim()).toBe(await project.repo.git('log', '--format=%H', branch));
  });
});

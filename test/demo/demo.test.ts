/** The demo as run from a fresh clone, without a terminal and independent of the user's set-up. */
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toDemoSteps } from '../support/packed-teddy.ts';
import { runInTerminal } from '../support/run-in-terminal.ts';
import { openScratchRepository } from '../support/scratch-repository.ts';
import { teddyPath } from '../support/teddy-path.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const temporary = mkdtempSync(join(tmpdir(), 'teddy-demo-test-'));
/** Without the variables of the `npm` or `npx` that runs the tests. */
const ownEnvironment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
let demo: Ran;
let directory: string;

beforeAll(async () => {
  demo = await run(process.execPath, [teddyPath, 'demo'], { GIT_CONFIG_GLOBAL: '/dev/null', FORCE_COLOR: '' });
  directory = toDemoSteps(demo.output).directory;
});

afterAll(() => rmSync(temporary, { recursive: true }));

test('the demo ends with 0, without identity and without a terminal', () => {
  expect(demo.output).toContain('and the tests pass.');
  expect(demo.exitCode).toBe(0);
});

test('it mentions that the answers are recorded, and shows the graph with the failure and both lines', () => {
  expect(demo.output).toContain("The model's answers are recorded.");
  expect(demo.output).toMatch(/^\* \w+ turn 03 report: FAILURE/m);
  expect(demo.output).toMatch(/^\| \* \w+ turn 02 report: SUCCESS/m);
  expect(demo.output).toMatch(/^\|\/ /m);
});

test('it leaves a repository with five turns on two lines, in which nothing is uncommitted', async () => {
  const repository = openScratchRepository(directory);
  await repository.fsck();
  const session = (await repository.git('branch', '--list', 'teddy/2*-fix-ago')).replace(/^.*teddy\//, '');
  const turns = readdirSync(join(directory, '.teddy', 'sessions', session)).filter((name) => /^\d/.test(name));
  expect(turns).toEqual(['01', '02-branch-01', '03', '04']);
  expect(await repository.git('ls-tree', '--name-only', `teddy/${session}:.teddy/sessions/${session}/`)).toBe(
    '01\n02\nsession.context',
  );
  expect(await repository.git('status', '--porcelain')).toBe('');
  expect(await repository.git('rev-list', '--count', 'main')).toBe('1');
  const request = await repository.git('show', `teddy/${session}:.teddy/sessions/${session}/01/_context.log`);
  expect(request).toContain(readFileSync(join(root, 'fixtures/demo/project/README.md'), 'utf8').trim());
  expect(await repository.git('config', '--local', '--get-regexp', '^teddy').catch(() => 'none')).toBe('none');
});

test('it names a page, which exists and matches the repository', () => {
  const file = /^file:\/\/(\S+\.html)$/m.exec(demo.output)?.[1] ?? '';
  expect(readFileSync(file, 'utf8')).toContain('<meta name="generator" content="git-teddy ');
  expect(demo.output).toContain('../page.html: the same as the page rendered from the repository');
});

test('it uses no colours if nobody sees them', () => {
  expect(demo.output).not.toContain('\u001b');
});

test('its three suggestions work as printed, and the last line leaves nothing behind', async () => {
  const { next, remove } = toDemoSteps(demo.output);
  expect(next).toHaveLength(3);
  const tried = await run('sh', ['-ec', next.join('\n')]);
  expect(tried.output).toContain('Asked     by Demo');
  expect(tried.output).toContain('Turn 04 of');
  expect(tried.output).toContain('Next: teddy execute');
  expect(tried.exitCode).toBe(0);
  expect(await openScratchRepository(directory).git('branch', '--show-current')).toBe('my-attempt');
  await run('sh', ['-ec', remove]);
  expect(existsSync(dirname(directory))).toBe(false);
});

test('--json prints one document and nothing else, and names teddy as the user has called it', async () => {
  const { output, exitCode } = await run(process.execPath, [teddyPath, 'demo', '--json'], {
    npm_command: 'exec',
    npm_lifecycle_script: 'git-teddy demo --json',
  });
  const { schema, page, next, remove } = JSON.parse(output) as Record<string, string> & { next: string[] };
  expect({ schema, exitCode }).toEqual({ schema: 'teddy.demo/1', exitCode: 0 });
  expect(existsSync(fileURLToPath(page ?? ''))).toBe(true);
  expect(next).toHaveLength(3);
  expect(next[1]).toBe('npx git-teddy why src/ago.js:15');
  await run('sh', ['-ec', remove ?? '']);
  expect(readdirSync(temporary)).toEqual([]);
});

test('on a terminal it opens the page, by the command in BROWSER', async () => {
  const browser = join(temporary, 'browser');
  await writeFile(browser, `#!/bin/sh\nprintf %s "$1" >'${temporary}/opened'\n`, { mode: 0o755 });
  const env = { ...ownEnvironment, TMPDIR: temporary, BROWSER: browser };
  const terminal = runInTerminal(['demo'], { cwd: temporary, env, timeoutMs: 100_000 });
  expect(await terminal.exitCode).toBe(0);
  expect(terminal.text()).toContain('The page of this session is open in your browser:');
  const page = readFileSync(join(temporary, 'opened'), 'utf8');
  expect(terminal.text()).toContain(`\n${page}\n`);
  expect(existsSync(fileURLToPath(page))).toBe(true);
  for (const name of readdirSync(temporary)) rmSync(join(temporary, name), { recursive: true });
});

test('it fails, and keeps the project, if a step has another result', async () => {
  const other = mkdtempSync(join(tmpdir(), 'teddy-demo-other-'));
  for (const path of ['dist', 'fixtures/demo', 'package.json'])
    await cp(join(root, path), join(other, path), { recursive: true });
  // The first step is the test that fails.
  await writeFile(join(other, 'fixtures/demo/project/test/ago.test.js'), '');
  const failed = await run(process.execPath, [join(other, 'dist', 'main.cjs'), 'demo']);
  rmSync(other, { recursive: true });
  expect(failed.exitCode).toBe(1);
  expect(failed.output).toContain('ended with exit code 0 instead of 1: node --test');
  const kept = /^hint: {2}Its project is kept in (.+)\.$/m.exec(failed.output)?.[1] ?? '';
  expect(existsSync(join(kept, '.git'))).toBe(true);
  rmSync(dirname(kept), { recursive: true });
});

test('Ctrl-C ends it and removes its directory', async () => {
  const child = spawn(process.execPath, [teddyPath, 'demo'], { env: { ...process.env, TMPDIR: temporary } });
  let output = '';
  child.stdout.on('data', (piece: Buffer) => {
    output += piece.toString();
    // A second one would end it at once.
    if (output.includes('$ teddy new') && !child.killed) child.kill('SIGINT');
  });
  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(130);
  expect(readdirSync(temporary)).toEqual([]);
});

interface Ran {
  exitCode: number;
  output: string;
}

function run(command: string, args: string[], env: Record<string, string> = {}): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(command, args, { env: { ...ownEnvironment, TMPDIR: temporary, ...env } }, (error, stdout, stderr) =>
      resolve({ exitCode: typeof error?.code === 'number' ? error.code : error ? 255 : 0, output: stdout + stderr }),
    );
  });
}

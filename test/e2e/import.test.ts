/** `teddy import` of a large file, and `teddy export --bundle`: what processes and git make of them. */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let dir: string;

beforeEach(async () => {
  project = await openTeddyProject();
  dir = await mkdtemp(join(tmpdir(), 'teddy-import-'));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
  await project.close();
});

const timestamp = '2026-01-20T10:00:00.000Z';

async function writeLog(turns: number, filling = ''): Promise<string> {
  const rows = Array.from({ length: turns }, (_, at) => {
    const call = { timestamp, tool_call_id: `call-${at}` };
    return [
      { type: 'user', id: `u${at}`, timestamp, message: { role: 'user', content: `Question ${at}` } },
      { type: 'tool_use', id: `c${at}`, ...call, tool_name: 'read_file', tool_input: { path: 'a' } },
      { type: 'tool_result', id: `r${at}`, ...call, output: filling },
      { type: 'assistant', id: `a${at}`, timestamp, message: { role: 'assistant', content: `Answer ${at}` } },
    ];
  });
  await writeFile(
    join(dir, 'log.jsonl'),
    rows
      .flat()
      .map((row) => `${JSON.stringify(row)}\n`)
      .join(''),
  );
  return join(dir, 'log.jsonl');
}

test('100 MB are imported in little memory, into one pack, and HEAD, index and files stay as they are', async () => {
  const log = await writeLog(1000, 'lorem ipsum '.repeat(8192));
  expect((await stat(log)).size).toBeGreaterThan(90_000_000);
  const before = await project.repo.fingerprint();
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
  const { refs: _, ...after } = await project.repo.fingerprint();
  expect(before).toMatchObject(after);
  expect(await readdir(join(project.repo.root, '.git/objects/pack'))).toHaveLength(2);
});

test('a bundle stands on its own: git clones it, with the same commits, and no import takes it for a log', async () => {
  const bundle = join(dir, 'chat.bundle');
  await project.ok('session', 'import', await writeLog(2), '--name', 'chat');
  await project.ok('session', 'export', '-s', 'chat', '--bundle', bundle);
  const { git } = project.repo;
  const branch = await git('for-each-ref', '--format=%(refname:short)', 'refs/heads/teddy/2*');
  await git('clone', '-q', '-b', branch, bundle, join(dir, 'clone'));
  expect(await git('-C', join(dir, 'clone'), 'log', '--format=%H')).toBe(await git('log', '--format=%H', branch));
  await git('switch', '-q', branch);
  expect(await git('status', '--porcelain')).toBe('');
  expect(await project.refuses('UNKNOWN_FORMAT', 2, ['session', 'import', bundle])).toContain('`git fetch ');
});

/** Who brought the lines, as a person is told when they land a session or export it. */
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readAgentTrace } from '../support/agent-trace.ts';
import { readAuthorshipLog } from '../support/authorship-log.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let session: string;

beforeEach(async () => {
  project = await openTeddyProject({ files: { 'a.txt': 'a\n' } });
  session = await project.begin('try-it');
  await project.plan(createPlan('b.txt', 'one\ntwo\n'));
  await project.ok('session', 'execute', '-y');
});
afterEach(() => project.close());

const land = (...more: string[]) => project.run(['session', 'land', ...more]);
const note = () => project.repo.git('notes', '--ref=ai', 'show', 'main');

test('a landing says what its log has and how to push it', async () => {
  const { repo } = project;
  await repo.git('remote', 'add', 'origin', join(repo.root, '.git'));
  await repo.git('config', 'teddy.notes', 'yes');
  expect(await project.refuses('BAD_SETTING', 2, ['session', 'land'])).toContain(
    'teddy.notes is "yes" (git config (local .git/config)), and it takes one of: git-ai, off.',
  );
  await repo.git('config', 'teddy.notes', 'git-ai');
  const { stderr, exitCode } = await land();
  expect(exitCode).toBe(0);
  expect(stderr).toContain(
    'Its authorship log is in refs/notes/ai: 2 lines by models, in 1 file.\n' +
      'To push the log as well: git push origin refs/notes/ai\n',
  );
  expect(readAuthorshipLog(await note()).files.get('b.txt')?.size).toBe(2);
});

test('a landing that is killed before its log is finished by the same command', async () => {
  const { repo } = project;
  await repo.git('config', 'teddy.notes', 'git-ai');
  const bin = join(repo.root, '.git', 'bin');
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  await mkdir(bin);
  const script = `#!/bin/sh\ncase " $* " in *" blame "*) kill -9 $PPID; exit 1;; esac\nexec ${real} "$@"\n`;
  await writeFile(join(bin, 'git'), script);
  await chmod(join(bin, 'git'), 0o755);
  const before = await repo.git('rev-parse', 'main');
  const env = { PATH: `${bin}:${process.env['PATH']}` };
  const killed = await project.run(['session', 'land'], { env, asProcess: true });
  expect(killed.signal).toBe('SIGKILL');
  const landed = await repo.git('rev-parse', 'main');
  expect(landed).not.toBe(before);
  expect(await repo.git('for-each-ref', 'refs/notes')).toBe('');
  const { stdout, stderr } = await land();
  expect(stdout).toBe(`teddy/${session} had already landed on main: commit ${landed.slice(0, 10)}\n`);
  expect(stderr).toContain('Its authorship log is in refs/notes/ai: 2 lines by models, in 1 file.\n');
  expect(readAuthorshipLog(await note()).metadata.base_commit_sha).toBe(landed);
  await project.refuses('NOTHING_TO_LAND', 3, ['session', 'land']);
});

test('a trace goes to stdout or to a file, with the same bytes, and options that do not go together are refused', async () => {
  const file = join(project.repo.root, '.git', 'trace.json');
  const stdout = await project.ok('session', 'export', '--format', 'agent-trace');
  const { record } = readAgentTrace(stdout);
  expect(record.files).toMatchObject([
    { path: 'b.txt', conversations: [{ contributor: { type: 'ai' }, ranges: [{ start_line: 1, end_line: 2 }] }] },
  ]);
  const to = ['session', 'export', '--format', 'agent-trace', '--output', file];
  expect(JSON.parse(await project.ok(...to, '--json'))).toMatchObject({ kind: 'agent-trace', session, path: file });
  expect(await readFile(file, 'utf8')).toBe(stdout);
  await project.refuses('FILES_IN_THE_WAY', 3, to);
  await project.ok(...to, '--force', '--rev', 'main');
  expect(readAgentTrace(await readFile(file, 'utf8')).record.files).toEqual([]);
  for (const [code, ...options] of [
    ['UNKNOWN_FORMAT', '--format', 'agent-traces'],
    ['UNKNOWN_COMMIT', '--format', 'agent-trace', '--rev', 'nowhere'],
    ['UNKNOWN_SESSION', '--format', 'agent-trace', '-s', 'nothing'],
    ['USAGE', '--format', 'agent-trace', '--html', '-'],
    ['USAGE', '--format', 'agent-trace', '--output', ''],
    ['USAGE', '--jsonl', '-', '--output', file],
    ['USAGE', '--jsonl', '-', '--rev', 'main'],
    ['USAGE', '--rev', 'main'],
  ])
    await project.refuses(code ?? '', 2, ['session', 'export', ...options]);
});

test('a trace has a file under the name that it got later', async () => {
  const { repo } = project;
  await repo.git('switch', '--quiet', '--detach', `teddy/${session}`);
  await repo.git('mv', 'b.txt', 'c d.txt');
  await repo.git('commit', '--quiet', '-m', 'Rename');
  const named = ['session', 'export', '--format', 'agent-trace', '-s', session, '--rev', 'HEAD'];
  expect(readAgentTrace(await project.ok(...named)).record.files).toMatchObject([{ path: 'c d.txt' }]);
  await repo.git('switch', '--quiet', '-');
});

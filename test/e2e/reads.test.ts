/** A plan may not ask to see anything outside the project, secrets, or this machine's networks. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { executeAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

/** In every file that must not be read; if it is in an object, something was. */
const canary = 'canary-3f9c1d7a52';

let project: TeddyProject;
let outside: string;

beforeEach(async () => {
  project = await openTeddyProject({
    files: { 'README.md': '# Scratch\n', '.gitignore': 'dist/\n*.log\n', 'src/a.ts': '1;\n' },
  });
  outside = await mkdtemp(join(tmpdir(), 'teddy-outside-'));
  await writeFile(join(outside, 'secret.txt'), canary);
  await project.begin('reads');
});

afterEach(async () => {
  await project.close();
  await rm(outside, { recursive: true });
});

const read = (resource: string) => `### READ\n- **Resource:** ${resource}\n`;

/** Plans and executes it with -y; the messages of the report that refuses it, and the files that it should not show. */
async function refusals(...resources: string[]): Promise<string[]> {
  const planned = await project.plan(planOf(...resources.map(read)));
  expect(planned.stderr).toMatch(/warning: plan\.md:\d+:\d+: /);
  const executed = await project.run(['session', 'execute', '-y']);
  expect(executed).toMatchObject({ exitCode: 1 });
  const report = await project.report();
  expect(report.run_summary.status).toBe('VALIDATION_FAILED');
  expect(report.action_logs.every(({ status }) => status === 'SKIPPED')).toBe(true);
  return report.validation_errors.map(({ message }) => message);
}

/** Reads every object that git has, reachable or not. */
async function allObjects(): Promise<string> {
  const git = promisify(execFile);
  const { stdout } = await git('git', ['cat-file', '--batch-all-objects', '--batch'], {
    cwd: project.repo.root,
    encoding: 'latin1',
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

test('paths that leave the project, secrets and ignored files are refused, and nothing of them is kept', async () => {
  const { repo } = project;
  await repo.write('.env', `TOKEN=${canary}\n`);
  await repo.write('deploy/server.pem', canary);
  await repo.write('dist/made.js', canary);
  await repo.write('run.log', canary);
  await repo.write('.git/canary', canary);
  await symlink(join(outside, 'secret.txt'), join(repo.root, 'link.txt'));
  await symlink(outside, join(repo.root, 'linked'));
  await repo.write('vendor/lib/note.txt', canary);
  await promisify(execFile)('git', ['init', '--quiet', join(repo.root, 'vendor/lib')]);
  const user = "only the user's own global.context or session.context can show it";
  expect(
    await refusals(
      '../../.ssh/id_rsa',
      '/etc/passwd',
      join(outside, 'secret.txt'),
      'link.txt',
      'linked/secret.txt',
      '.env',
      'deploy/server.pem',
      'dist/made.js',
      'dist',
      'run.log',
      '.git/canary',
      '.GIT/canary',
      'src/../.git/config',
      '.teddy/global.context',
      'vendor/lib/note.txt',
    ),
  ).toEqual([
    'Resource "../../.ssh/id_rsa": it leaves the project with `..`.',
    'READ etc/passwd: there is no such path.',
    expect.stringMatching(/^READ .*secret\.txt: there is no such path\.$/),
    'READ link.txt: it is a symlink that leads out of the project.',
    'READ linked/secret.txt: `linked` is a symlink that leads out of the project.',
    `READ .env: named like a secret; ${user}.`,
    `READ deploy/server.pem: named like a secret; ${user}.`,
    `READ dist/made.js: git ignores it; ${user}.`,
    `READ dist: git ignores it; ${user}.`,
    `READ run.log: git ignores it; ${user}.`,
    'Resource ".git/canary": it is inside `.git`.',
    'Resource ".GIT/canary": it is inside `.git`.',
    'Resource "src/../.git/config": it is inside `.git`.',
    'Resource ".teddy/global.context": it is inside `.teddy`, which teddy keeps itself.',
    'READ vendor/lib/note.txt: `vendor/lib` is a repository of its own.',
  ]);
  // The next turn is asked with the plan's list, whatever became of it.
  await project.plan(planOf(read('README.md')));
  const objects = await allObjects();
  expect(objects).toContain('# Scratch');
  expect(objects).not.toContain(canary);
});

test('nor what a symlink inside the project leads to, or what becomes a file of secrets during the run', async () => {
  await project.repo.write('.env/bin/python', '');
  await project.repo.write('deploy.pem', canary);
  await symlink('deploy.pem', join(project.repo.root, 'settings'));
  await project.repo.git('add', 'settings');
  await project.plan(planOf(read('settings')));
  await project.run(['session', 'execute', '-y']);
  // A virtual environment of Python may have this name.
  const script = `rm -r .env\nprintf 'TOKEN=%s%s\\n' ${canary.slice(0, 10)} ${canary.slice(10)} >.env`;
  await project.plan(planOf(executeAction(script), read('.env')));
  expect(await project.run(['session', 'execute', '-y'])).toMatchObject({ exitCode: 1 });
  expect(await project.repo.read('.env')).toContain(canary);
  expect((await project.report()).action_logs).toMatchObject([
    { status: 'SUCCESS' },
    { status: 'FAILURE', details: { reason: expect.stringContaining('READ .env: named like a secret') } },
  ]);
  await project.plan(planOf(read('README.md')));
  expect(await allObjects()).not.toContain(canary);
});

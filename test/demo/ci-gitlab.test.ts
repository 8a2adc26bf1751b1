/** `fixtures/ci/gitlab.yml`: who gets the token, and the jobs' commands run as a runner runs them. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { pullOf, startForgeServer, type ForgeServer } from '../support/forge-server.ts';
import { teddyPath } from '../support/run-teddy.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

interface Job {
  extends: string;
  variables: Record<string, string>;
  environment?: { name: string; action: string };
  script: string[];
  artifacts?: unknown;
}

const file = fileURLToPath(new URL('../../fixtures/ci/gitlab.yml', import.meta.url));
const { '.teddy': usual, ...jobs } = parse(await readFile(file, 'utf8')) as Record<string, Job> & {
  '.teddy': { rules: unknown; before_script: string[] };
};

let project: TeddyProject;
let forge: ForgeServer;
let directory: string;
let origin: string;
let head: string;

/** A merge request that lands a session, and brings a link and a false result in place of the check's results. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'teddy-gitlab-'));
  forge = await startForgeServer();
  project = await openTeddyProject();
  const { repo } = project;
  const session = await project.begin('add-a');
  await project.plan(createPlan('a.txt', 'A\n'));
  await project.ok('execute', '-y');
  await repo.git('switch', '--quiet', 'main');
  await repo.git('switch', '--quiet', '-c', 'topic');
  await project.ok('land', session, '--onto', 'topic');
  head = await repo.commit({ 'teddy-results/false.xml': '<testsuite/>' }, 'All is well');
  await repo.git('switch', '--quiet', 'main');
  origin = join(directory, 'app.git');
  await repo.git('clone', '--quiet', '--bare', repo.root, origin);
  await repo.git('-C', origin, 'update-ref', 'refs/merge-requests/7/head', head);
  forge.pulls.push(pullOf(7, { head }));
  const programs = join(directory, 'bin');
  await mkdir(programs);
  await symlink(teddyPath, join(programs, 'teddy'));
  await writeFile(join(programs, 'npm'), '#!/bin/sh\nprintf "%s\\n" "$@" "token=$TEDDY_GITLAB_TOKEN"\n');
  await chmod(join(programs, 'npm'), 0o755);
});
afterAll(async () => {
  await project.close();
  await forge.close();
  await rm(directory, { recursive: true });
});

/** Runs a job's commands in one shell, as a runner does. */
function runJob(name: string, cwd: string, env: Record<string, string> = {}) {
  const script = [...usual.before_script, ...(jobs[name]?.script ?? ['false'])];
  const variables = {
    ...process.env,
    GITHUB_ACTIONS: '',
    ...forge.gitlabEnv,
    PATH: `${join(directory, 'bin')}:${process.env['PATH']}`,
    TMPDIR: directory,
    CI_COMMIT_SHA: head,
    CI_MERGE_REQUEST_TARGET_BRANCH_NAME: 'main',
    CI_REPOSITORY_URL: `file://${origin}`,
    ...env,
  };
  return new Promise<{ exitCode: number; output: string }>((resolve) => {
    const args = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script.join('\n')];
    execFile('bash', args, { cwd, env: variables }, (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : Number(error.code), output: stdout + stderr });
    });
  });
}

test('only the note’s job is in the environment that has the token, and it checks nothing out', () => {
  expect(Object.keys(jobs)).toEqual(['teddy', 'teddy-comment']);
  expect(usual.rules).toEqual([{ if: '$CI_PIPELINE_SOURCE == "merge_request_event"' }]);
  expect(jobs['teddy']).not.toHaveProperty('environment');
  expect(jobs['teddy']?.artifacts).toEqual({ when: 'always', reports: { junit: 'teddy-results/*.xml' } });
  const { environment, variables } = jobs['teddy-comment'] ?? {};
  expect(environment).toEqual({ name: 'teddy-comment', action: 'access' });
  expect(variables).toEqual({ GIT_STRATEGY: 'none' });
});

test('the check passes without the token, and its results are its own', async () => {
  const { repo } = project;
  const clone = join(directory, 'checkout');
  await repo.git('clone', '--quiet', '--branch', 'topic', `file://${origin}`, clone);
  // A command of the change would see the same variables.
  const spy = `#!/bin/sh\nprintf %s "$TEDDY_GITLAB_TOKEN" >${directory}/seen\nexec ${teddyPath} "$@"\n`;
  await mkdir(join(directory, 'spy'));
  await writeFile(join(directory, 'spy/teddy'), spy, { mode: 0o755 });
  const PATH = `${directory}/spy:${directory}/bin:${process.env['PATH']}`;
  const found = await runJob('teddy', clone, { PATH });
  expect(found).toMatchObject({ exitCode: 0, output: expect.stringContaining('1 commit without a session') });
  expect(found.output).toContain('--ignore-scripts');
  expect(await readFile(join(directory, 'seen'), 'utf8')).toBe('');
  expect((await readdir(join(clone, 'teddy-results'))).map((name) => /add-a/.test(name))).toEqual([true]);
  await repo.commit({ '.teddy/config.yaml': 'approvals: others\n' }, 'Ask for approvals');
  await repo.git('push', '--quiet', origin, 'main');
  const later = await runJob('teddy', clone);
  expect(later).toMatchObject({ exitCode: 1, output: expect.stringContaining('1 approval is missing.') });
});

test('the note is written from an empty repository; without the token there is none, and the job does not fail', async () => {
  const workspace = join(directory, 'workspace');
  await mkdir(workspace);
  const fork = await runJob('teddy-comment', workspace, { TEDDY_GITLAB_TOKEN: '' });
  expect(fork).toMatchObject({ exitCode: 0, output: expect.stringContaining('Nothing was written.') });
  expect(forge.comments).toEqual([]);
  const done = await runJob('teddy-comment', workspace);
  expect(done).toMatchObject({
    exitCode: 0,
    output: expect.stringContaining('Comment created: https://gitlab.example/'),
  });
  expect(forge.comments).toMatchObject([{ issue: 7, body: expect.stringContaining('1 approval is missing.') }]);
  expect(await readdir(workspace)).toEqual([]);
});

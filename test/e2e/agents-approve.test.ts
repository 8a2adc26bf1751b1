/** Approvals that the project asks for, and an agent that would give them itself: with real processes and a real git. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { teddyPath } from '../support/teddy-path.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let bin: string;

beforeEach(async () => {
  project = await openTeddyProject();
  bin = await mkdtemp(join(tmpdir(), 'teddy-agent-'));
  await writeFile(join(bin, 'claude'), '#!/bin/sh\n"$@"\nexit $?\n');
  await chmod(join(bin, 'claude'), 0o755);
  await project.begin('asked');
  await project.plan(createPlan('a.txt', 'a\n'));
  await project.repo.git('config', 'teddy.approvals', '1');
});
afterEach(async () => {
  await rm(bin, { recursive: true });
  await project.close();
});

const inAgent = { env: { CLAUDECODE: '1' } };

test('an agent whose variables are gone is known by its program', () => {
  const { HOME = '', PATH = '' } = process.env;
  const teddy = [process.execPath, teddyPath, 'session', 'approve'];
  const words = ['env', '-i', `HOME=${HOME}`, `PATH=${PATH}`, ...teddy];
  const { status, stderr } = spawnSync(join(bin, 'claude'), words, { cwd: project.repo.root, encoding: 'utf8' });
  expect(stderr).toMatch(/Claude Code has started this: process \d+ is its program\. \[AGENT_MAY_NOT_APPROVE\]/);
  expect(status).toBe(3);
});

test('no setting but a global one lets it approve, and it can set none with `config set`', async () => {
  const { refuses, repo } = project;
  await repo.git('config', 'teddy.agentsMayApprove', 'true');
  const given = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'teddy.agentsMayApprove', GIT_CONFIG_VALUE_0: 'true' };
  for (const env of [inAgent.env, { ...inAgent.env, ...given }])
    await refuses('AGENT_MAY_NOT_APPROVE', 3, ['session', 'approve'], { env });
  for (const scope of [[], ['--global']])
    await refuses('AGENT_MAY_NOT_APPROVE', 3, ['config', 'set', 'agentsMayApprove', 'true', ...scope], inAgent);
  await refuses('BAD_SETTING', 2, ['config', 'set', 'agentsMayApprove', 'true']);
  const home = join(bin, 'home');
  await writeFile(home, '[user]\n\tname = Ada\n\temail = ada@example.org\n[teddy]\n\tagentsMayApprove = true\n');
  const env = { ...inAgent.env, GIT_CONFIG_GLOBAL: home };
  expect(await project.run(['session', 'approve'], { env })).toMatchObject({ exitCode: 0 });
});

test('neither -y, nor a lower value in another scope, runs a plan that needs an approval', async () => {
  const lower = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'teddy.approvals', GIT_CONFIG_VALUE_0: '0' };
  await project.refuses('AGENT_MAY_NOT_APPROVE', 3, ['session', 'execute', '-y'], inAgent);
  const said = await project.refuses('APPROVAL_MISSING', 3, ['session', 'execute', '-y'], { env: lower });
  expect(said).toContain(
    'teddy.approvals is 0 in git config (command line), which is ignored: git config (local .git/config) asks for 1.',
  );
  expect(await project.ok('config', 'approvals')).toBe('1\n');
});

test('the link of a page is not shown to it', async () => {
  const { stderr } = await project.run(['session', 'view', '--no-open'], inAgent);
  expect(stderr).toMatch(/so only a person may use it\. Claude Code .*\[AGENT_MAY_NOT_APPROVE\]/);
});

test('the base branch as last fetched decides what `config` says and what a run needs', async () => {
  const { repo } = project;
  await repo.git('config', '--unset', 'teddy.approvals');
  await repo.git('branch', 'upstream', 'main');
  const tree = join(bin, 'tree');
  await repo.git('worktree', 'add', '-q', tree, 'upstream');
  await repo.git('-C', tree, 'config', 'user.name', 'Bob');
  await writeFile(join(tree, 'config.yaml'), 'approvals: others\n');
  await repo.git(
    '-C',
    tree,
    'update-index',
    '--add',
    '--cacheinfo',
    `100644,${await repo.git('-C', tree, 'hash-object', '-w', 'config.yaml')},.teddy/config.yaml`,
  );
  await repo.git('-C', tree, 'commit', '-qm', 'Ask');
  await repo.git('remote', 'add', 'origin', repo.root);
  await repo.git('fetch', '-q', 'origin', '+upstream:refs/remotes/origin/main');
  expect(await project.ok('config', 'approvals')).toBe('others\n');
  expect(await project.refuses('APPROVAL_MISSING', 3, ['session', 'execute', '-y'])).toContain(
    '.teddy/config.yaml in the work tree asks for no approval, which is ignored: in origin/main as last fetched it has approvals: others.',
  );
});

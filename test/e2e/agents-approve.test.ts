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
  expect(stderr).toMatch(/Claude Code started this: process \d+ is its program\. \[AGENT_MAY_NOT_APPROVE\]/);
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

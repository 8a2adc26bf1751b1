/** `action.yml` and the workflows that call it: who may do what, and their steps run as a runner runs them. */
import { execFile, execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { pullOf, startForgeServer, type ForgeServer } from '../support/forge-server.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

interface Step {
  name?: string;
  if?: string;
  uses?: string;
  run?: string;
  env?: Record<string, string>;
  with?: Record<string, unknown>;
}

interface Workflow {
  on: Record<string, unknown>;
  permissions: Record<string, string>;
  jobs: Record<string, { if?: string; steps: Step[] }>;
}

const root = fileURLToPath(new URL('../../', import.meta.url));
const read = async (path: string) => readFile(join(root, path), 'utf8');
const action = parse(await read('action.yml')) as {
  inputs: Record<string, { default: string }>;
  runs: { steps: Step[] };
};
const files = await Promise.all(
  ['teddy', 'teddy-comment', 'teddy-carry'].map((name) => read(`fixtures/ci/${name}.yml`)),
);
const [check, comment, carry] = files.map((text) => parse(text) as Workflow) as [Workflow, Workflow, Workflow];

describe('rights', () => {
  test('only the check runs for a pull request, and it may only read', () => {
    expect(check.permissions).toEqual({ contents: 'read' });
    expect(comment.permissions).toEqual({ contents: 'read', 'pull-requests': 'write' });
    expect(carry.permissions).toEqual({ contents: 'write' });
    expect([check, comment, carry].map((one) => Object.keys(one.on))).toEqual([
      ['pull_request'],
      ['workflow_run'],
      ['push'],
    ]);
    for (const { jobs } of [check, comment, carry])
      for (const job of Object.values(jobs)) expect(job).not.toHaveProperty('permissions');
  });

  test('the job that comments has one step: it checks nothing out, and downloads nothing', () => {
    expect(Object.values(comment.jobs).map(({ steps }) => steps.map(({ uses }) => uses?.split('@')[0]))).toEqual([
      ['example/teddy'],
    ]);
    expect(Object.values(comment.jobs)[0]?.if).toBe("github.event.workflow_run.event == 'pull_request'");
  });

  test('the others check out the whole history, and leave no credentials', () => {
    for (const { jobs } of [check, carry])
      expect(Object.values(jobs)[0]?.steps[0]?.with).toEqual({ 'fetch-depth': 0, 'persist-credentials': false });
  });

  test('actions are pinned by commit, and no command contains an expression', () => {
    const steps = [action.runs.steps, ...[check, comment, carry].flatMap(({ jobs }) => Object.values(jobs)[0]?.steps)];
    for (const { uses, run } of steps.flat().filter((step) => step !== undefined)) {
      if (uses !== undefined) expect(uses).toMatch(/^(?:actions\/[a-z-]+|example\/teddy)@[0-9a-f]{40}$/);
      expect(run ?? '').not.toContain('${{');
    }
  });
});

let project: TeddyProject;
let forge: ForgeServer;
let directory: string;
let head: string;
let base: string;
let squashed: string;
const branch = 'x";$(touch${IFS}pwned)`touch${IFS}pwned`';

/** A fork's pull request that lands a session, whose configuration asks for less than that of the base branch. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'teddy-action-'));
  forge = await startForgeServer();
  project = await openTeddyProject();
  const { repo } = project;
  const begin = async (name: string) => {
    const made = await project.begin(`add-${name}`);
    await project.plan(createPlan(`${name}.txt`, `${name}\n`));
    await project.ok('execute', '-y');
    await repo.git('switch', '--quiet', 'main');
    return made;
  };
  const session = await begin('a');
  squashed = await begin('b');
  base = await repo.commit({ '.teddy/config.yaml': 'approvals: others\n' }, 'Ask for approvals');
  await repo.git('switch', '--quiet', '-c', 'pr');
  await project.ok('land', session, '--onto', 'pr');
  head = await repo.commit({ '.teddy/config.yaml': 'approvals: "0"\n' }, 'Ask for less');
  await repo.git('switch', '--quiet', 'main');
  await repo.git('clone', '--quiet', '--bare', repo.root, join(directory, 'org/app'));
  await repo.git('push', '--quiet', join(directory, 'org/app'), 'pr:refs/pull/7/head', ':refs/heads/pr');
  forge.pulls.push(pullOf(7, { head, branch }));
});
afterAll(async () => {
  await project.close();
  await forge.close();
  await rm(directory, { recursive: true });
});

/** Evaluates an expression of a workflow: names, texts, and operators that JavaScript has too. */
function evaluate(expression: string, contexts: Record<string, unknown>): string {
  const value = (path: string) =>
    path.split('.').reduce<unknown>((found, name) => (found as Record<string, unknown> | undefined)?.[name], contexts);
  const either = expression.split('||').map((part) => part.trim());
  if (either[0]?.startsWith('(')) {
    const [, condition = '', name = ''] = /^\((.+)\) && (\S+) \|\| ''$/.exec(expression) ?? [];
    const isTrue = condition.split(' || ').some((one) => value(one.replace(" == 'true'", '')) === 'true');
    return isTrue ? String(value(name)) : '';
  }
  return String(either.map(value).find((found) => found !== undefined) ?? '');
}

let runs = 0;

/** Runs a step of the action as a runner does. */
async function runStep(
  name: string,
  { inputs = {}, event = {}, eventName = 'pull_request', env = {}, cwd = project.repo.root }: Record<string, any>,
) {
  const step = action.runs.steps.find((one) => one.name === name);
  const temporary = join(directory, `run-${(runs += 1)}`);
  await mkdir(temporary);
  const eventPath = join(temporary, 'event.json');
  await writeFile(eventPath, JSON.stringify(event));
  const github = { event, sha: head, token: forge.env['GITHUB_TOKEN'] };
  const given = Object.entries(action.inputs).map(([key, { default: usual }]) => [
    key,
    usual === '${{ github.token }}' ? github.token : usual,
  ]);
  const contexts = { github, inputs: { ...Object.fromEntries(given), ...inputs } };
  const own = Object.entries(step?.env ?? {}).map(([key, text]) => [
    key,
    text.replace(/\$\{\{ (.*?) \}\}/g, (_, expression: string) => evaluate(expression, contexts)),
  ]);
  const { GITHUB_TOKEN: _token, ...api } = forge.env;
  const usual = {
    ...process.env,
    ...api,
    GITHUB_ACTIONS: 'true',
    GITHUB_ACTION_PATH: root.replace(/\/$/, ''),
    GITHUB_EVENT_NAME: eventName,
    GITHUB_EVENT_PATH: eventPath,
    GITHUB_SERVER_URL: `file://${directory}`,
    RUNNER_TEMP: temporary,
  };
  const options = { cwd, env: { ...usual, ...env, ...Object.fromEntries(own) } };
  const args = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', step?.run ?? 'false'];
  return new Promise<{ exitCode: number; output: string; temporary: string; env: Record<string, string> }>(
    (resolve) => {
      execFile('bash', args, options, (error, stdout, stderr) => {
        const exitCode = error === null ? 0 : Number(error.code);
        resolve({ exitCode, output: stdout + stderr, temporary, env: Object.fromEntries(own) });
      });
    },
  );
}

const pullRequest = () => ({ pull_request: { base: { sha: base }, head: { sha: head } } });

test('the check gets the change, the inputs and no token; the base branch’s policy holds', async () => {
  const page = { page: 'true' };
  const { exitCode, output, temporary, env } = await runStep('Run teddy', { event: pullRequest(), inputs: page });
  expect({ exitCode, output }).toMatchObject({
    exitCode: 1,
    output: expect.stringContaining('1 approval is missing.'),
  });
  expect(env['GITHUB_TOKEN']).toBe('');
  const results = (await readdir(join(temporary, 'teddy-results'))).toSorted();
  expect(results.map((name) => name.replace(/^\d{8}-|-[0-9a-f]{10}(?=\.)/g, ''))).toEqual(['add-a.xml', 'add-a.html']);
  expect(await readFile(join(temporary, 'teddy-results', results[1] ?? ''), 'utf8')).toMatch(/^<!doctype html>/i);
  // A word that is not `false` weakens nothing.
  const typo = { strict: 'no', 'require-session': 'yes', 'signed-by': '$(touch pwned)"' };
  expect(await runStep('Run teddy', { event: pullRequest(), inputs: typo })).toMatchObject({
    exitCode: 2,
    output: expect.stringContaining('$(touch pwned)'),
  });
  expect(await project.repo.list('.')).not.toContain('pwned');
  const kept = { 'require-promise': 'maybe' };
  expect(await runStep('Run teddy', { event: pullRequest(), inputs: kept })).toMatchObject({
    exitCode: 2,
    output: expect.stringContaining('--require-promise does not accept maybe.'),
  });
});

/** Runs the step as after a fork's run, which has ended well. */
function commentOn(commit: string, cwd: string) {
  const run = {
    event: 'pull_request',
    head_repository: { full_name: 'ada/app' },
    head_branch: branch,
    head_sha: commit,
    conclusion: 'success',
    html_url: 'https://forge.example/runs/1',
  };
  const inputs = { comment: 'true', page: 'true' };
  return runStep('Run teddy', { event: { workflow_run: run }, eventName: 'workflow_run', inputs, cwd });
}

test('a fork’s pull request gets its comment from a repository in which nothing is checked out', async () => {
  const workspace = join(directory, 'workspace');
  await mkdir(workspace);
  await writeFile(join(workspace, 'comment.md'), 'Approved by everybody.');
  const done = await commentOn(head, workspace);
  expect(done).toMatchObject({ exitCode: 0, output: expect.stringContaining('Comment created') });
  expect(forge.comments[0]).toMatchObject({ issue: 7, body: expect.stringContaining('1 approval is missing.') });
  expect(forge.comments[0]?.body).not.toContain('everybody');
  expect(forge.comments[0]?.body).toContain("(<https://forge.example/runs/1>), from the pull request's own run\n");
  expect(await readdir(workspace)).toEqual(['comment.md']);
  const bare = join(done.temporary, 'teddy.git');
  const { repo } = project;
  expect(await repo.git('-C', bare, 'for-each-ref')).toBe('');
  expect(await readFile(join(bare, 'config'), 'utf8')).not.toMatch(/header|ghs-/);
  expect(await readdir(directory)).not.toContain('pwned');
});

test('a fork’s objects that git refuses are not kept, and nothing is written about them', async () => {
  const { repo } = project;
  const origin = join(directory, 'org/app');
  const blob = await repo.git('rev-parse', 'main:README.md');
  const tree = execFileSync('git', ['mktree'], { cwd: origin, input: `100644 blob ${blob}\t.git\n` });
  const eve = ['-c', 'user.name=Eve', '-c', 'user.email=eve@example.org'];
  const evil = await repo.git('-C', origin, ...eve, 'commit-tree', '-p', 'main', '-m', 'Evil', String(tree).trim());
  await repo.git('-C', origin, 'update-ref', 'refs/pull/10/head', evil);
  forge.pulls.push(pullOf(10, { head: evil, branch }));
  const before = forge.comments.length;
  const { exitCode, output, temporary } = await commentOn(evil, directory);
  expect({ exitCode, output }).toMatchObject({ exitCode: 1, output: expect.stringContaining('[HOSTILE_SESSION]') });
  expect(forge.comments).toHaveLength(before);
  expect(await repo.git('-C', join(temporary, 'teddy.git'), 'for-each-ref')).toBe('');
});

test('it is installed outside the checkout: the version that is asked for, or else the action’s own', async () => {
  const npm = join(directory, 'npm');
  await writeFile(npm, '#!/bin/sh\nprintf "%s\\n" "$PWD" "$@"\n');
  await chmod(npm, 0o755);
  const env = { PATH: `${directory}:${process.env['PATH']}` };
  const install = (inputs: object) => runStep('Install teddy', { inputs, env, cwd: directory });
  expect(await install({})).toMatchObject({ exitCode: 0, output: '' });
  const { output } = await install({ version: '1.0.0; touch pwned' });
  expect(output.split('\n')).toEqual(expect.arrayContaining(['--ignore-scripts', 'git-teddy@1.0.0; touch pwned']));
  expect(await readdir(directory)).not.toContain('pwned');
});

test('after a squash of a session’s pull request, the session is archived and noted, under the job’s own name', async () => {
  const { repo } = project;
  const origin = join(directory, 'org/app');
  const session = squashed;
  const tip = await repo.git('rev-parse', `teddy/${session}`);
  await repo.git('merge', '--quiet', '--squash', `teddy/${session}`);
  await repo.git('commit', '--quiet', '-m', 'Add b (#9)');
  await repo.git('push', '--quiet', origin, 'main', `${tip}:refs/pull/9/head`, `:teddy/${session}`);
  const clone = join(directory, 'clone');
  await repo.git('clone', '--quiet', '--branch', 'main', `file://${origin}`, clone);
  const pushed = await repo.git('rev-parse', 'main');
  const event = { before: base, after: pushed };
  const place = { event, eventName: 'push', inputs: { carry: 'true' }, cwd: clone };
  expect(await runStep('Run teddy', place)).toMatchObject({
    exitCode: 0,
    output: expect.stringMatching(/archived as refs\/teddy\/archive\/.*\n.* is a squash of .*: noted\n$/),
  });
  expect(await repo.git('-C', origin, 'notes', '--ref=teddy', 'show', pushed)).toBe(
    `Teddy-Landed-From: ${session}@${tip}`,
  );
  expect(await repo.git('-C', origin, 'log', '-1', '--format=%an', 'refs/notes/teddy')).toBe('github-actions[bot]');
  expect(await repo.git('-C', origin, 'for-each-ref', '--points-at', tip, '--format=%(refname)')).toBe(
    `refs/pull/9/head\nrefs/teddy/archive/${session.slice(0, 4)}-${session.slice(4, 6)}/${session}`,
  );
});

test('the documentation begins with at most 20 lines for GitHub, GitLab and other systems, and names no input that is missing', async () => {
  const text = await read('docs/ci.md');
  const sections = text.split(/^## /m).slice(1, 4);
  expect(sections.map((section) => section.split('\n')[0])).toEqual(['GitHub', 'GitLab', 'Other systems']);
  const blocks = sections.map((section) => /^```(?:yaml|sh)\n(.*?)^```$/ms.exec(section)?.[1] ?? '');
  for (const block of blocks) expect(block.trimEnd().split('\n').length).toBeLessThanOrEqual(20);
  const documented = parse(blocks[0] ?? '') as Workflow;
  expect(documented.permissions).toEqual(check.permissions);
  const uses = ({ jobs }: Workflow) => Object.values(jobs).flatMap(({ steps }) => steps.map((step) => step.uses));
  expect(uses(documented)).toEqual(uses(check));
  expect(parse(blocks[1] ?? '')).toMatchObject({ teddy: { script: expect.any(Array) } });
  for (const [, input = ''] of text.matchAll(/^\|[^|]*\| `([a-z-]+)(?:: \w+)?` \|/gm))
    expect(Object.keys(action.inputs)).toContain(input);
});

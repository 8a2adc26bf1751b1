/** A session is plain git: log, show, diff and clone say what happened. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { openScratchRepository } from '../support/scratch-repository.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

afterEach(() => project.close());

async function makeSession(): Promise<string> {
  const session = await project.begin('readable');
  await project.ok('session', 'plan', '-m', 'Make a route\n\nTeddy-Entry: forged\nReviewed-by: nobody');
  await project.ok('session', 'execute', '-y');
  return session;
}

test('git show of a report has outcome and code, no text forges a trailer, and the diff is a pull request', async () => {
  project = await openTeddyProject({ answers: [createPlan('src/route.ts', 'export {};\n')] });
  const session = await makeSession();
  const { git } = project.repo;
  const stat = await git('show', '--stat=120', '--format=%B', 'HEAD');
  for (const part of [
    'src/route.ts',
    `.teddy/sessions/${session}/01/report.md`,
    '2 files changed',
    'Teddy-Status: SUCCESS',
  ])
    expect(stat).toContain(part);
  const reports = await git('log', '--format=%s', '--grep=^Teddy-Entry: report', `teddy/${session}`);
  expect(reports).toBe('turn 01 report: SUCCESS Try it');
  const trailers = await git('log', '-1', '--format=%(trailers:only)', '--grep=^Teddy-Entry: message');
  expect(trailers).toContain('Teddy-Entry: message');
  expect(trailers).not.toMatch(/forged|nobody/);

  // The context log does not drown the diff against main.
  await git('switch', '--quiet', 'main');
  const range = `main...teddy/${session}`;
  const numstat = await git('diff', '--numstat', range);
  expect(numstat).toMatch(/^1\t0\tsrc\/route\.ts$/m);
  for (const name of ['_context.log', 'transcript.jsonl'])
    expect(numstat).toMatch(new RegExp(`^-\\t-\\t\\.teddy/sessions/\\S+/01/${name}$`, 'm'));
  expect((await git('diff', range)).split('\n').length).toBeLessThan(150);
  expect(await git('diff', '--name-only', range, '--', ':!.teddy')).toBe('src/route.ts');
});

test('a clone lists the session of its remote and goes on with it', async () => {
  project = await openTeddyProject({
    answers: [createPlan('src/route.ts', 'export {};\n'), createPlan('src/two.ts', 'export {};\n')],
  });
  const session = await makeSession();
  await project.repo.git('switch', '--quiet', 'main');
  const place = await realpath(await mkdtemp(join(tmpdir(), 'teddy-clone-')));
  try {
    await project.repo.git('clone', '--quiet', project.repo.root, join(place, 'clone'));
    const clone = openScratchRepository(join(place, 'clone'));
    const cwd = clone.root;
    const before = await clone.fingerprint();
    const list = await project.run(['session', 'list'], { cwd });
    expect(list.stdout).toContain(session);
    expect(list.stdout).toContain('  only on origin  ');
    expect((await project.run(['session', 'show', '-s', session], { cwd })).stdout).toContain('Make a route');
    expect(await clone.fingerprint()).toEqual(before);

    const planned = await project.run(['session', 'plan', '-s', session, '-m', 'Two', '--model', 'gpt-test'], { cwd });
    expect(planned).toMatchObject({ exitCode: 0 });
    expect(planned.stderr).toContain(`Made the local branch teddy/${session}.`);
    expect(await clone.git('log', '-1', '--format=%s', `teddy/${session}`)).toBe('turn 02 plan: Try it');
    expect(await clone.git('rev-parse', `teddy/${session}~2`)).toBe(
      await project.repo.git('rev-parse', `teddy/${session}`),
    );
    await clone.git('switch', '--quiet', `teddy/${session}`);
    expect(await project.run(['session', 'execute', '-y'], { cwd })).toMatchObject({ exitCode: 0 });
    expect(await clone.read('src/two.ts')).toBe('export {};\n');
    expect((await project.run(['session', 'list'], { cwd })).stdout).not.toContain('only on');
    await clone.fsck();
  } finally {
    await rm(place, { recursive: true, force: true });
  }
});

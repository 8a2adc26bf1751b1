/** The trailers that name models, with real git: in landings, and in commits of the user's where the hooks add them. */
import { execFileSync } from 'node:child_process';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openCapture, openProject } from '../../src/app.ts';
import { newBranch, newFollowedLog } from '../../src/workflow/capture/capture.ts';
import { captureTurns } from '../support/captured-line.ts';
import { environmentOf } from '../support/run-teddy.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

const named = 'Assisted-by: teddy:gpt-test';
let project: TeddyProject;
let session: string;
beforeAll(async () => {
  const answers = ['a.txt', 'c.txt'].map((path) => createPlan(path, `${path}\n`));
  project = await openTeddyProject({ answers });
  session = await project.begin('try-it');
  await turn();
});
afterAll(() => project.close());

async function turn(): Promise<void> {
  await project.ok('session', 'plan', '-m', 'Do it');
  await project.ok('session', 'execute', '-y');
}

/** An independent reader. */
async function trailersOf(revision = 'HEAD'): Promise<string[]> {
  const input = await project.repo.git('log', '-1', '--format=%B', revision);
  const args = ['interpret-trailers', '--parse'];
  return execFileSync('git', args, { input, encoding: 'utf8' }).trimEnd().split('\n');
}

test('a landing shows, lists and has the trailer, beside those that somebody writes in the editor', async () => {
  const tip = await project.repo.git('rev-parse', 'HEAD');
  const from = `Teddy-Landed-From: ${session}@${tip}`;
  expect(await project.ok('session', 'land', '--dry-run')).toBe(`Try it\n\n${named}\n${from}\n\nA a.txt\n`);
  const off = await project.run(['session', 'land', '--dry-run'], {
    env: { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'teddy.assistedBy', GIT_CONFIG_VALUE_0: 'false' },
  });
  expect(off.stdout).toBe(`Try it\n\n${from}\n\nA a.txt\n`);
  const text = 'Schön\r\n\r\n---\r\nbelow\r\n\r\nSigned-off-by: Ada <ada@example.org>\r\n';
  await writeFile(join(project.repo.root, '.git', 'text'), text);
  const env = { GIT_EDITOR: `cp '${join(project.repo.root, '.git', 'text')}'` };
  const landed = await project.run(['session', 'land', '--edit', '--json'], { env });
  expect(JSON.parse(landed.stdout)).toMatchObject({ assistedBy: [named] });
  expect(await trailersOf('main')).toEqual(['Signed-off-by: Ada <ada@example.org>', named, from]);
});

/** git with an editor that does this with the file `$1`. */
async function commitIn(script: string, ...args: string[]): Promise<void> {
  const path = join(project.repo.root, '.git', 'editor');
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  execFileSync('git', ['commit', '--quiet', ...args], {
    cwd: project.repo.root,
    env: environmentOf({ GIT_EDITOR: path }),
  });
}

test('the hooks name the model in a commit of files that it changed, however that is made', async () => {
  const { repo } = project;
  await turn();
  await project.ok('hooks', 'install');
  const during = `Teddy-During: ${session} 02`;
  await repo.write('c.txt', '1\n');
  await repo.git('commit', '--quiet', '-am', 'Without');
  expect(await trailersOf()).toEqual([during]);
  await repo.git('config', 'teddy.assistedByHook', 'yes');
  await repo.write('c.txt', '2\n');
  await repo.git('commit', '--quiet', '-am', 'All');
  expect(await trailersOf()).toEqual([during, named]);
  await repo.write('c.txt', '3\n');
  await repo.write('README.md', '3\n');
  await repo.git('commit', '--quiet', '-m', 'One path', 'README.md');
  expect(await trailersOf()).toEqual([during]);
  await repo.git('commit', '--quiet', '-s', '-m', 'The other', 'c.txt');
  expect(await trailersOf()).toEqual(['Signed-off-by: Ada Example <ada@example.org>', during, named]);
  await repo.git('commit', '--quiet', '--amend', '--no-edit');
  expect(await trailersOf()).toEqual(['Signed-off-by: Ada Example <ada@example.org>', during, named]);
  await repo.write('c.txt', '4\n');
  const writing = '{ printf "Two\\n\\nRefs: 2\\n# no\\nCc: x\\n"; cat "$1"; } > "$1.new"; mv "$1.new" "$1"';
  await commitIn(writing, '--verbose', '-a');
  expect(await trailersOf()).toEqual(['Refs: 2', 'Cc: x', during, named]);
  await repo.write('c.txt', '5\n');
  await repo.git('commit', '--quiet', '-am', 'Five', '--cleanup=scissors');
  expect(await trailersOf()).toEqual([during, named]);
  const tip = await repo.git('rev-parse', 'HEAD');
  const landed = await project.run(['session', 'land']);
  expect(landed.stderr).toMatch(new RegExp(`^Its message has the trailer ${named}\\.$`, 'm'));
  expect(await trailersOf('main')).toEqual([named, `Teddy-Landed-From: ${session}@${tip}`]);
});

test('they name another agent in a commit on a branch of the user’s that has what the agent left, and nobody elsewhere', async () => {
  const { repo } = project;
  await repo.git('switch', '--quiet', 'main');
  const opened = await openProject({ cwd: repo.root, env: process.env, notices: { info: () => 0, warn: () => 0 } });
  try {
    const { ref } = await captureTurns(opened, 'claude-code', [{ model: 'claude-opus-5', files: { 'd.txt': 'd\n' } }]);
    const log = newFollowedLog('claude-code', '/logs/1.jsonl', '2026-01-24T10:00:00.000Z');
    const state = { ...log, branches: [{ ...newBranch(null), ref }] };
    await openCapture(opened, process.env).states.write(log.path, state);
  } finally {
    await opened.repository.close();
  }
  await repo.commit({ 'e.txt': 'e\n' }, 'Mine');
  expect(await trailersOf()).toEqual(['']);
  await repo.commit({ 'd.txt': 'd\n' }, 'Theirs');
  expect(await trailersOf()).toEqual(['Assisted-by: Claude:claude-opus-5']);
  await repo.git('reset', '--quiet', '--soft', 'HEAD~1');
  await commitIn('{ echo Edited; cat "$1"; } > "$1.new"; mv "$1.new" "$1"');
  expect(await trailersOf()).toEqual(['Assisted-by: Claude:claude-opus-5']);
  await repo.git('config', '--unset', 'teddy.assistedByHook');
  await repo.git('commit', '--quiet', '--amend', '-m', 'Switched off');
  expect(await trailersOf()).toEqual(['']);
});

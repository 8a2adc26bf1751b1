/** `teddy land` with real git: the commands that it prints work where they were printed. */
import { execFileSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { createPlan, editAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
let repo: ScratchRepository;
beforeEach(async () => {
  project = await openTeddyProject();
  ({ repo } = project);
});
afterEach(() => project.close());

async function run(plan: string): Promise<void> {
  await project.plan(plan);
  await project.ok('session', 'execute', '-y');
}

/** Runs the command that is printed behind these words. */
function follow(text: string, words = ''): void {
  const [, way = 'false'] = new RegExp(`${words}\`(git .+?)\``).exec(text) ?? [];
  execFileSync('sh', ['-c', way], { cwd: repo.root, stdio: 'ignore' });
}

test('what an undo took back comes to the branch again, typed where land was', async () => {
  await project.begin('back');
  await run(createPlan('back.txt', 'back\n'));
  await project.ok('session', 'land');
  await project.ok('session', 'undo');
  await project.ok('session', 'land');
  await project.ok('session', 'rewind', '01');
  const line = await repo.git('symbolic-ref', 'HEAD');
  const tip = await repo.git('rev-parse', line);
  follow(await project.refuses('NOTHING_TO_LAND', 3, ['session', 'land']));
  expect(await repo.git('show', 'main:back.txt')).toBe('back');
  expect(await repo.git('rev-parse', line)).toBe(tip);
});

test('own edits are taken off the line, and files in the way on another work tree are put away', async () => {
  const rows = [...Array(12).keys()].map((at) => `row ${at}\n`);
  await repo.commit({ 'rows.txt': rows.join('') }, 'Rows');
  await repo.write('rows.txt', ['early\n', ...rows].join(''));
  const id = await project.begin('leave-out');
  await run(planOf(editAction('rows.txt', 'row 9', 'nine')));
  await repo.git('switch', '--quiet', 'main');
  follow(await project.refuses('OWN_EDITS', 3, ['session', 'land', '-s', id]), 'leave them out: ');
  await repo.git('switch', '--quiet', `teddy/${id}`);
  const place = `${repo.root}-main`;
  await repo.git('worktree', 'add', '--quiet', place, 'main');
  const there = openScratchRepository(place);
  await there.write('rows.txt', 'in the way\n');
  const refused = await project.refuses('FILES_IN_THE_WAY', 3, ['session', 'land']);
  expect((await project.run(['session', 'land', '--dry-run'])).stderr).toContain(/^hint: .*$/m.exec(refused)?.[0]);
  follow(refused);
  await project.ok('session', 'land', '--dry-run');
  await project.ok('session', 'land');
  expect(await there.read('rows.txt')).toBe(rows.join('').replace('row 9', 'nine'));
  await repo.git('worktree', 'remove', '--force', place);
});

test.each(['a revert', 'a revert of a merge'])('code that the branch has lost by %s comes back', async (loss) => {
  const id = await project.begin('lost');
  await run(createPlan('one.txt', 'one\n'));
  const isMerge = loss.endsWith('merge');
  if (!isMerge) await project.ok('session', 'land');
  await repo.git('switch', '--quiet', 'main');
  if (isMerge) await repo.git('merge', '--quiet', '--no-ff', '--no-edit', `teddy/${id}`);
  await repo.commit({ 'x.txt': 'later\n' }, 'Later');
  await repo.git('revert', '--no-edit', ...(isMerge ? ['-m', '1'] : []), 'HEAD~1');
  const { stderr: refused } = await project.run(['session', 'land', id]);
  expect(refused).toContain('main no longer has all of it');
  follow(refused, 'bring it back: ');
  expect(await repo.git('show', 'main:one.txt')).toBe('one');
  expect(await project.refuses('NOTHING_TO_LAND', 3, ['session', 'land', id])).toContain('has all code from');
  await project.ok('session', 'verify', id);
});

test('lost code that a later turn is in conflict with comes back, and the session lands', async () => {
  const id = await project.begin('lost');
  await run(createPlan('one.txt', 'one\n'));
  await project.ok('session', 'land');
  await repo.git('switch', '--quiet', 'main');
  await repo.git('revert', '--no-edit', 'HEAD');
  await repo.git('switch', '--quiet', `teddy/${id}`);
  await run(planOf(editAction('one.txt', 'one', 'two')));
  follow(await project.refuses('LAND_CONFLICT', 3, ['session', 'land']), 'bring it back: ');
  await project.ok('session', 'land', id);
  expect(await repo.git('show', 'main:one.txt')).toBe('two');
});

test('with --pr the code reaches a remote that protects its base branch, with the session, and the user’s files stay', async () => {
  const bare = `${repo.root}.git`;
  await repo.git('init', '--quiet', '--bare', '-b', 'main', bare);
  await repo.git('remote', 'add', 'origin', bare);
  await repo.git('push', '--quiet', 'origin', 'main');
  const hook = '#!/bin/sh\nwhile read -r _ _ ref; do [ "$ref" != refs/heads/main ] || exit 1; done\n';
  await writeFile(`${bare}/hooks/pre-receive`, hook, { mode: 0o755 });
  const id = await project.begin('ask');
  await run(createPlan('new.txt', 'new\n'));
  const { refs: _, ...before } = await repo.fingerprint();
  const { stdout, stderr } = await project.run(['land', '--pr']);
  expect(stdout).toContain(`teddy/${id} landed on teddy-land/${id}: 1 file`);
  expect(stderr).toContain(`teddy-land/${id} is on origin, for a pull request into main.`);
  const { refs: __, ...after } = await repo.fingerprint();
  expect(after).toEqual(before);
  const there = await repo.git('--git-dir', bare, 'for-each-ref', '--format=%(refname)', 'refs/heads', 'refs/teddy');
  expect(there.split('\n')).toEqual(expect.arrayContaining([`refs/heads/teddy-land/${id}`, `refs/heads/teddy/${id}`]));
  expect(await repo.git('--git-dir', bare, 'diff', '--name-only', 'main', `teddy-land/${id}`)).toBe('new.txt');
  await rm(bare, { recursive: true });
});

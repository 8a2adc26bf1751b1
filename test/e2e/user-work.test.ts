/** The repository belongs to the user: what they have in it survives, or nothing happens at all. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createPlan, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
const answer = createPlan('made.txt', 'made\n');

beforeEach(async () => {
  project = await openTeddyProject({
    files: { 'README.md': '# Scratch\n', 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n', '.gitignore': 'ignored\n' },
  });
});

afterEach(() => project.close());

test('staged, unstaged and untracked work, stash, config and other branches survive a whole turn', async () => {
  const { repo } = project;
  await repo.write('c.txt', 'stashed\n');
  await repo.git('stash', '--quiet');
  await repo.git('branch', 'other');
  await repo.git('config', 'alias.x', 'status');
  await repo.write('a.txt', 'staged\n');
  await repo.git('add', 'a.txt');
  await repo.write('b.txt', 'unstaged\n');
  await repo.write('untracked.txt', 'untracked\n');
  await repo.write('ignored', 'ignored\n');
  const before = await repo.fingerprint();
  const status = await repo.git('status', '--porcelain');

  await project.begin('survive');
  expect(await repo.git('status', '--porcelain')).toBe(status);
  const { '.teddy/.gitattributes': _, ...afterNew } = (await repo.fingerprint()).workTree;
  expect(afterNew).toMatchObject(before.workTree);

  const planned = await project.plan(answer);
  expect(planned.stderr).toContain('Your own edits to 2 files were committed as a snapshot (1 of them staged)');
  await project.ok('session', 'execute', '-y');
  const after = await repo.fingerprint();
  expect(after.workTree).toMatchObject(before.workTree);
  expect(after.stash).toBe(before.stash);
  expect(after.config).toBe(before.config);
  expect(after.refs).toEqual(expect.arrayContaining(before.refs));
  expect(await repo.git('status', '--porcelain')).toBe('?? untracked.txt');

  const [snapshot = ''] = (await repo.git('log', '--format=%H', '--grep=^Teddy-Entry: snapshot')).split('\n');
  expect(await repo.git('show', '-s', '--format=%an <%ae>', snapshot)).toBe('Ada Example <ada@example.org>');
  expect(await repo.git('show', '--name-only', '--format=', snapshot)).toBe('a.txt\nb.txt');
  expect(await repo.git('show', `${snapshot}:a.txt`)).toBe('staged');
  expect(await repo.git('log', '-1', '--name-only', '--format=')).not.toContain('a.txt');

  // A file that is only meant to be added is partly staged.
  await repo.write('new.txt', 'new\n');
  await repo.git('add', '--intent-to-add', 'new.txt');
  expect(await project.refuses('PARTIALLY_STAGED', 3, ['session', 'plan', '-m', 'x'])).toContain('new.txt');
});

test('in the middle of a merge, rebase, cherry-pick, revert or bisect everything is refused', async () => {
  const { repo } = project;
  await repo.git('switch', '--quiet', '-c', 'side');
  await repo.commit({ 'a.txt': 'side\n' }, 'Side');
  await repo.git('switch', '--quiet', 'main');
  const session = await project.begin('busy');
  await project.plan(planOf());
  await project.ok('session', 'execute', '-y');
  await repo.commit({ 'a.txt': 'mine\n' }, 'Mine');
  await repo.commit({ 'a.txt': 'mine again\n' }, 'Mine again');
  const operations = [
    ['merge side', 'merge --abort'],
    ['cherry-pick side', 'cherry-pick --abort'],
    ['revert --no-edit HEAD~1', 'revert --abort'],
    ['rebase side', 'rebase --abort'],
    ['bisect start', 'bisect reset'],
    ['cherry-pick side main', 'cherry-pick --abort'],
    ['revert --no-edit HEAD~1 HEAD', 'revert --abort'],
    ['am --3way .git/side.patch', 'am --abort'],
  ].map((row) => row.map((command) => command.split(' ')) as [begin: string[], abort: string[]]);
  await repo.write('.git/side.patch', `${await repo.git('format-patch', '-1', '--stdout', 'side')}\n`);
  for (const [begin, abort] of operations) {
    await repo.git(...begin).catch(() => '');
    const said = await project.refuses('OPERATION_IN_PROGRESS', 3, ['session', 'plan', '-m', 'x', '-s', session]);
    expect(said).toContain(begin[0]);
    // The steps that are printed end it, from wherever the line is.
    const { stdout } = await project.run(['status']);
    const steps = [...stdout.matchAll(/^(?:Next| {2}or): git (.*)$/gm)].map(([, step = '']) => step.split(' '));
    expect([begin, steps.at(-1)]).toEqual([begin, abort]);
    expect(stdout).not.toMatch(/: (?:teddy|git switch)/);
    for (const step of steps) await repo.git(...step);
    expect((await project.run(['status'])).stdout).toContain('Next: teddy ');
  }
  await repo.git('merge', 'side').catch(() => '');
  await repo.write('a.txt', 'both\n');
  await repo.git('add', 'a.txt');
  expect((await project.run(['status'])).stdout).toContain('Next: git merge --continue\n  or: git merge --abort\n');
  await repo.git('merge', '--abort');
  await repo.commit({ 'clean.txt': 'clean\n' }, 'Clean');
  const clean = await repo.git('rev-parse', 'HEAD');
  await repo.git('reset', '--quiet', '--hard', 'HEAD~1');
  await repo.git('cherry-pick', 'side', 'side', clean).catch(() => '');
  await repo.write('a.txt', 'both\n');
  await repo.git('commit', '--quiet', '--all', '--message=Both');
  await repo.write('.git/sequencer/todo', `pick ${clean} Clean\n`);
  // Between two of them, nothing but the list of those to come says what is in progress.
  expect((await project.run(['status'])).stdout).toContain('Next: git cherry-pick --continue\n');
  await repo.git('cherry-pick', '--quit');
  await repo.git('reset', '--quiet', '--hard', 'HEAD~1');
  await repo.git('merge', 'side').catch(() => '');
  await project.refuses('OPERATION_IN_PROGRESS', 3, ['session', 'new', 'another']);
  await project.refuses('OPERATION_IN_PROGRESS', 3, ['session', 'branch', '01']);
  await project.refuses('OPERATION_IN_PROGRESS', 3, ['session', 'execute', '-y']);
  await repo.git('merge', '--abort');
});

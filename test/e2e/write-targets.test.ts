/** The target of a write, when somebody moves it, links it, or takes its work tree away in between. */
import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

beforeEach(async () => {
  project = await openTeddyProject();
  await project.ok('session', 'new', 'links');
});

afterEach(() => project.close());

async function begin(target: string, operation: string): Promise<string> {
  const id = await project.ok('write', 'begin', '--target', target, '--operation', operation, '--intent', 'A test');
  await project.run(['write', 'append', id.trim()], { stdin: 'written\n' });
  return id.trim();
}

const finalize = (id: string) => project.run(['write', 'finalize', id, '--received']);
const inRoot = (path: string) => join(project.repo.root, path);

test.each<[what: string, target: string, operation: string, link: () => Promise<void>]>([
  ['a file that a link has taken the place of', 'new.txt', 'create', () => symlink('other.txt', inRoot('new.txt'))],
  ['a file in a directory that has become a link', 'dir/new.txt', 'create', () => symlink('real', inRoot('dir'))],
  [
    'a file that has become a link to the same bytes',
    'a.txt',
    'overwrite',
    () => rm(inRoot('a.txt')).then(() => symlink('b.txt', inRoot('a.txt'))),
  ],
])('%s is not written', async (_, target, operation, link) => {
  await project.repo.commit({ 'a.txt': 'same\n', 'b.txt': 'same\n' });
  await project.repo.write('real/kept.txt', 'kept\n');
  const id = await begin(target, operation);
  await link();
  const tip = await project.repo.git('rev-parse', 'HEAD');
  const refused = await finalize(id);
  expect(refused).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('[TARGET_CHANGED]') as string });
  expect(await project.repo.git('rev-parse', 'HEAD')).toBe(tip);
  expect(await project.repo.list('real')).toEqual(['kept.txt']);
  expect(await project.repo.list('.')).not.toContain('other.txt');
  expect(await project.repo.read('b.txt')).toBe('same\n');
});

test('a work tree that is gone is not replaced by another one', async () => {
  const tree = `${project.repo.root}-linked`;
  await project.repo.git('worktree', 'add', '--quiet', '-b', 'side', tree);
  const begun = await project.run(
    ['write', 'begin', '--target', 'new.txt', '--operation', 'create', '--intent', 'A test'],
    { cwd: tree },
  );
  const id = begun.stdout.trim();
  await project.run(['write', 'append', id], { stdin: 'written\n' });
  await project.repo.git('worktree', 'remove', '--force', tree);
  const { exitCode, stderr } = await finalize(id);
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('is gone') as string });
  expect(await project.repo.list('.')).not.toContain('new.txt');
  const output = `${project.repo.root}-output.txt`;
  await project.ok('write', 'recover', id, '--output', output);
  await rm(output);
});

/** Taking a turn back, and going back to one: git agrees with every file, and no edit of the user's is lost. */
import { execFileSync } from 'node:child_process';
import { readlink, rm, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  createAction,
  editAction,
  executeAction,
  openTeddyProject,
  planOf,
  type TeddyProject,
} from '../support/teddy-project.ts';

let project: TeddyProject;

beforeEach(async () => {
  project = await openTeddyProject({
    files: { 'a.txt': 'a\n', 'run.sh': 'echo\n', 'old.txt': 'old\n', 'b.txt': 'b\n' },
  });
});

afterEach(() => project.close());

async function turn(...actions: string[]): Promise<void> {
  await project.plan(planOf(...actions));
  await project.ok('session', 'execute', '-y');
}

test('the directory that the user stands in stays, whatever a command takes out of it', async () => {
  const { repo } = project;
  await project.begin('stand');
  await turn(createAction('one.txt', 'one\n'));
  await turn(createAction('deep/er/new.txt', 'new\n'));
  const cwd = join(repo.root, 'deep/er');
  const inside = async (...args: string[]) =>
    expect((await project.run(args, { cwd, asProcess: true })).exitCode).toBe(0);
  await inside('session', 'undo');
  expect((await stat(cwd)).isDirectory()).toBe(true);
  await project.ok('session', 'undo', '02');
  await inside('session', 'rewind', '01');
  expect((await stat(cwd)).isDirectory()).toBe(true);
  expect(await repo.list('deep/er')).toEqual([]);
});

/** The files of the project, without those of teddy. */
const code = async () => {
  const { workTree } = await project.repo.fingerprint();
  return Object.fromEntries(Object.entries(workTree).filter(([path]) => !path.startsWith('.teddy/')));
};

test('undo takes back content, mode, deletions and directories, and puts them back, as often as is wanted', async () => {
  const { repo } = project;
  const session = await project.begin('redo');
  const before = await code();
  await turn(
    editAction('a.txt', 'a', 'A'),
    createAction('deep/er/new.txt', 'new\n'),
    executeAction('chmod +x run.sh && rm -r old.txt'),
  );
  const made = await code();
  const report = await repo.git('rev-parse', 'HEAD');
  const undone = await project.run(['session', 'undo']);
  expect(undone.stdout).toMatch(/^4 files of turn 01 taken back, undo [0-9a-f]{10}\n$/);
  expect(undone.stderr).toContain('Back: teddy undo 01\n');
  expect(await code()).toEqual(before);
  expect(await repo.list('.')).not.toContain('deep');
  expect((await stat(join(repo.root, 'run.sh'))).mode & 0o111).toBe(0);
  expect(await repo.git('status', '--porcelain')).toBe('');
  expect(await repo.git('diff', '--name-only', `${report}~1`, 'HEAD', '--', ':!.teddy')).toBe('');
  expect(await repo.git('rev-parse', 'HEAD~1')).toBe(report);

  expect(await project.ok('session', 'undo', '01')).toMatch(/^4 files of turn 01 put back, undo [0-9a-f]{10}\n$/);
  expect(await code()).toEqual(made);
  expect(await repo.git('symbolic-ref', '--short', 'HEAD')).toBe(`teddy/${session}`);
  expect(await repo.git('status', '--porcelain')).toBe('');
  expect(await project.ok('session', 'show', '01')).toContain(`Turn 01 of ${session}: closed`);
  expect(JSON.parse(await project.ok('session', 'undo', '--json'))).toMatchObject({ redo: false });
  expect(await project.ok('session', 'show', '01')).toContain(`Turn 01 of ${session}: undone`);
  expect(JSON.parse(await project.ok('session', 'undo', '01', '--json'))).toMatchObject({ redo: true });
  for (const verb of ['verify', 'replay']) await project.ok('session', verb);
  expect(await project.ok('why', 'a.txt:1')).toMatch(/Turn +01 of/);
  await repo.git('switch', '--quiet', 'main');
  expect(await project.ok('session', 'land', session)).toContain('4 files');
  expect(await repo.read('a.txt')).toBe('A\n');
});

test.each([
  ['rewind', '01'],
  ['archive', ''],
])('what %s says while a file is not merged puts that away, and then it works', async (verb, ...args) => {
  const { repo } = project;
  await project.begin(`unmerged-${verb}`);
  await turn(editAction('a.txt', 'a', 'A'));
  await turn(createAction('c.txt', 'c\n'));
  const stages = [1, 2, 3].map((stage) => `100644 $(git rev-parse HEAD:a.txt) ${stage}\ta.txt\n`).join('');
  const sh = (script: string) => execFileSync('sh', ['-c', script], { cwd: repo.root, stdio: 'pipe' });
  sh(`printf "0 ${'0'.repeat(40)}\ta.txt\n${stages}" | git update-index --index-info; echo mine > a.txt`);
  const words = ['session', verb, ...args].filter((word) => word !== '');
  const { stderr } = await project.run(words);
  const [, way = ''] = /`(git [^`]*stash)`/.exec(stderr) ?? [];
  sh(way);
  await project.ok(...words);
  await repo.git('stash', 'drop', '--quiet');
});

test('undo takes back links that were made, changed, deleted, and exchanged for files and directories', async () => {
  const { repo } = project;
  const at = (path: string) => join(repo.root, path);
  await symlink('a.txt', at('changed'));
  await symlink('b.txt', at('deleted'));
  await symlink('a.txt', at('to-file'));
  await symlink('nowhere/at all', at('to-directory'));
  await repo.git('add', '--all');
  await repo.commit({ 'dir/one.txt': '1\n', 'dir/two.txt': '2\n', 'other/one.txt': 'not this\n', 'plain.txt': 'p\n' });
  await project.begin('links');
  const before = await code();
  await turn(
    executeAction(
      [
        'ln -sfn b.txt changed',
        'rm deleted to-file to-directory plain.txt && rm -r dir',
        'echo file > to-file',
        'mkdir to-directory && echo in > to-directory/file.txt',
        'ln -s other dir && ln -s a.txt plain.txt && ln -s a.txt made',
      ].join('\n'),
    ),
  );
  const report = await repo.git('rev-parse', 'HEAD');
  expect(await readlink(at('dir'))).toBe('other');
  await project.ok('session', 'undo');
  expect(await readlink(at('changed'))).toBe('a.txt');
  expect(await readlink(at('to-directory'))).toBe('nowhere/at all');
  expect((await repo.list('.')).includes('made')).toBe(false);
  expect(await repo.read('other/one.txt')).toBe('not this\n');
  expect(await code()).toEqual(before);
  expect(await repo.git('status', '--porcelain')).toBe('');
  expect(await repo.git('diff', '--name-only', `${report}~1`, 'HEAD', '--', ':!.teddy')).toBe('');
});

test('a link that was changed since stays, and nothing is written beyond it', async () => {
  const { repo } = project;
  const at = (path: string) => join(repo.root, path);
  await repo.commit({ 'dir/one.txt': '1\n', 'other/one.txt': 'not this\n', 'third/one.txt': 'nor this\n' });
  await project.begin('left');
  await turn(executeAction('rm -r dir && ln -s other dir'), editAction('a.txt', 'a', 'A'));
  await rm(at('dir'));
  await symlink('third', at('dir'));
  expect(await project.refuses('FILE_MODIFIED', 3, ['session', 'undo'])).toContain(
    'Turn 01 cannot be taken back completely: dir (it has changed since the turn)',
  );
  const { exitCode, stdout } = await project.run(['session', 'undo', '--partial', '--json']);
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    restored: ['a.txt'],
    left: [{ path: 'dir' }, { path: 'dir/one.txt' }],
  });
  expect(await readlink(at('dir'))).toBe('third');
  expect([await repo.read('other/one.txt'), await repo.read('third/one.txt')]).toEqual(['not this\n', 'nor this\n']);
  expect(await repo.read('a.txt')).toBe('a\n');
});

test('a submodule is left, and named as one', async () => {
  const { repo } = project;
  await project.begin('submodule');
  await turn(editAction('a.txt', 'a', 'A'));
  await repo.git('update-index', '--add', '--cacheinfo', `160000,${await repo.git('rev-parse', 'HEAD')},lib`);
  await repo.git('commit', '--quiet', '--amend', '--no-edit');
  await repo.git('init', '--quiet', 'lib');
  const changed = await repo.git('show', '--name-only', '--format=', 'HEAD');
  expect(changed.split('\n')).toContain('lib');
  expect(await project.refuses('FILE_MODIFIED', 3, ['session', 'undo'])).toContain('lib (it is a submodule)');
  const { stdout } = await project.run(['session', 'undo', '--partial', '--json']);
  expect(JSON.parse(stdout)).toMatchObject({
    restored: ['a.txt'],
    left: [{ path: 'lib', reason: 'it is a submodule' }],
  });
});

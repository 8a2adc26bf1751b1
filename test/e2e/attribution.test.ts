/** Commands of a plan do things to files of every kind: the report, the commit, the index and the disk agree about it. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { letters } from '../support/planted-secrets.ts';
import { executeAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

beforeEach(async () => {
  const files = Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'dir/f', 'dir/g'].map((name) => [name, `${name}\n`]));
  project = await openTeddyProject({ files: { ...files, '.gitignore': 'ignored*\n' } });
  await project.begin('owners');
});

afterEach(() => project.close());

test('a command owns all that it does; what stays out of the commit is named with the reason', async () => {
  const { repo } = project;
  const token = 'ghp_' + letters(36, 7);
  await repo.write('ignored.sh', `printf 'token = %s\\n' '${token}' > token.txt\n`);
  const script = [
    'echo x > a; rm b; mv c moved; chmod +x dir/g',
    'rm d; mkdir d; echo x > d/f; rm dir/f; ln -sf /nowhere/else e',
    'mkdir -p new/deep; echo x > new/deep/file; echo x > ignored.txt; echo x > .env; sh ignored.sh',
    'head -c 1048576 /dev/zero > exact.bin; head -c 1048577 /dev/zero > over.bin',
    `echo x > "$(printf 'new\\nline')"; echo x > ' "q" \\ *'; echo x > "$(printf 'bad\\377')"`,
  ].join('\n');
  await project.plan(planOf(executeAction(script), executeAction('echo y >> moved')));
  const { stderr, exitCode } = await project.run(['session', 'execute', '-y']);
  expect(exitCode).toBe(0);
  const { changes } = await project.report();
  expect(changes.map(({ path, change, action }) => `${change} ${path} by ${action}`)).toEqual([
    'added  "q" \\ * by 1',
    'modified a by 1',
    'deleted b by 1',
    'deleted c by 1',
    'deleted d by 1',
    'added d/f by 1',
    'deleted dir/f by 1',
    'modified dir/g by 1',
    'modified e by 1',
    'added exact.bin by 1',
    'added moved by 2',
    'added new\nline by 1',
    'added new/deep/file by 1',
  ]);
  const raw = await repo.git('diff-tree', '-r', '-z', '--no-renames', 'HEAD~1', 'HEAD', '--', ':!.teddy');
  expect(raw.split('\0').filter((_, at) => at % 2 === 1)).toEqual(changes.map(({ path }) => path));
  expect(raw).toMatch(/:100644 100755 \S+ \S+ M\0dir\/g\0:100644 120000 \S+ \S+ T\0e\0/);
  for (const [path, reason] of [
    ['.env', 'named like a secret'],
    ['over.bin', 'over 1 MiB'],
    ['token.txt', 'it contains a secret'],
  ])
    expect(stderr).toContain(`${path} is not in the commit: ${reason}`);
  expect(stderr).toContain('its name is not UTF-8');
  const status = await repo.git('status', '--porcelain', '--untracked-files=all');
  expect(status.split('\n')).toEqual(['?? .env', '?? "bad\\377"', '?? over.bin', '?? token.txt']);
});

test('what a command has staged otherwise than the file is no change, and never becomes one in a snapshot', async () => {
  const script = 'git rm -q --cached b; echo x > a; git add a; echo a > a';
  await project.plan(planOf(executeAction(script)));
  await project.ok('session', 'execute', '-y');
  expect((await project.report()).changes).toEqual([]);
  const said = await project.refuses('PARTIALLY_STAGED', 3, ['session', 'plan', '-m', 'Go on']);
  expect(said).toContain('a, b');
});

test("a session's branch that a command deletes is not made again out of nothing", async () => {
  const { repo } = project;
  const branch = await repo.git('branch', '--show-current');
  await project.plan(planOf(executeAction(`git switch -q --detach; git branch -q -D ${branch}; echo x > a`)));
  const result = await project.run(['session', 'execute', '-y']);
  expect(result.exitCode).not.toBe(0);
  expect(result.stderr).toMatch(/\[[A-Z_]+\]/);
  expect(await repo.git('branch', '--list', 'teddy/2*')).toBe('');
  expect(await repo.read('a')).toBe('x\n');
});

/** Every path that changes in a run belongs to an action or to the user: the report, the commit, the index and the disk agree. */
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { letters } from '../support/planted-secrets.ts';
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
    files: { 'a.txt': 'a\n', 'b.txt': 'b\n', 'c.txt': 'c\n', 'dir/d.txt': 'd\n', '.gitignore': 'ignored*\n' },
  });
  await project.begin('owners');
});

afterEach(() => project.close());

/** Executes the pending plan with -y; what it says of each path, and what git says. */
async function execute(exitCode = 0) {
  const { repo } = project;
  const result = await project.run(['session', 'execute', '-y']);
  expect(result).toMatchObject({ exitCode });
  const report = await project.report();
  return {
    stderr: result.stderr,
    report,
    changes: report.changes.map(({ path, change, action }) => `${change} ${path} by ${action}`),
    committed: (await repo.git('diff-tree', '-r', '--no-renames', '--name-status', 'HEAD~1', 'HEAD', '--', ':!.teddy'))
      .split('\n')
      .filter((row) => row !== '')
      .map((row) => row.replace('\t', ' ')),
    status: await repo.git('status', '--porcelain', '--untracked-files=all'),
  };
}

async function plan(...actions: string[]): Promise<void> {
  await project.plan(planOf(...actions));
}

test('an edit of the user before the run is a snapshot of theirs, also in a file that an action changes then', async () => {
  const { repo } = project;
  await repo.write('dir/d.txt', 'd\nend\n');
  await plan(editAction('a.txt', 'a', 'A'), executeAction('echo more >> b.txt; sed -i s/end/END/ dir/d.txt'));
  await repo.write('a.txt', 'a\nmine\n');
  await repo.write('c.txt', 'mine\n');
  const { changes, committed, status } = await execute();
  expect(changes).toEqual(['modified a.txt by 1', 'modified b.txt by 2', 'modified dir/d.txt by 2']);
  expect(committed).toEqual(['M a.txt', 'M b.txt', 'M dir/d.txt']);
  expect(status).toBe('');
  expect(await repo.git('show', 'HEAD:a.txt')).toBe('A\nmine');
  expect(await repo.git('show', '--name-only', '--format=', 'HEAD~1', '--', ':!.teddy')).toBe('a.txt\nc.txt');
});

test('a command that edits, deletes, renames, and changes modes owns all of it', async () => {
  await plan(
    executeAction('echo x > a.txt; rm b.txt; mv c.txt moved.txt; chmod +x dir/d.txt'),
    executeAction('echo y >> moved.txt'),
  );
  const { changes, committed, status } = await execute();
  expect(changes).toEqual([
    'modified a.txt by 1',
    'deleted b.txt by 1',
    'deleted c.txt by 1',
    'modified dir/d.txt by 1',
    'added moved.txt by 2',
  ]);
  expect(committed).toEqual(['M a.txt', 'D b.txt', 'D c.txt', 'M dir/d.txt', 'A moved.txt']);
  expect(await project.repo.git('ls-files', '--stage', 'dir/d.txt')).toMatch(/^100755/);
  expect(status).toBe('');
});

test('of new files, those that git ignores, big ones and secrets stay out of the commit, each with a word', async () => {
  const token = 'ghp_' + letters(36, 7);
  await project.repo.write('ignored.sh', `printf 'token = %s\\n' '${token}' > "$1"\n`);
  await plan(
    executeAction(
      [
        'mkdir -p new/deep',
        'echo x > new/deep/file.txt',
        'echo x > ignored.txt',
        'head -c 1048577 /dev/zero > new/big.bin',
        'echo x > .env',
        'sh ignored.sh new/token.txt',
      ].join('\n'),
    ),
  );
  const { changes, committed, status, stderr } = await execute();
  expect(changes).toEqual(['added new/deep/file.txt by 1']);
  expect(committed).toEqual(['A new/deep/file.txt']);
  expect(status).toBe('?? .env\n?? new/big.bin\n?? new/token.txt');
  expect(stderr).toContain('.env is not in the commit: named like a secret');
  expect(stderr).toContain('new/big.bin is not in the commit: over 1 MiB');
  expect(stderr).toContain('new/token.txt is not in the commit: it holds a secret');
  expect(await project.repo.read('ignored.txt')).toBe('x\n');
});

test('a file that two actions change belongs to the last one, an EDIT after an EXECUTE as well', async () => {
  await plan(
    executeAction('echo one >> a.txt; echo two >> b.txt'),
    editAction('a.txt', 'a', 'A'),
    createAction('new.txt', 'new\n'),
    executeAction('echo more >> new.txt'),
  );
  const { changes, committed, status } = await execute();
  expect(changes).toEqual(['modified a.txt by 2', 'modified b.txt by 1', 'added new.txt by 4']);
  expect(committed).toEqual(['M a.txt', 'M b.txt', 'A new.txt']);
  expect(await project.repo.git('show', 'HEAD:a.txt')).toBe('A\none');
  expect(status).toBe('');
});

test('what one action makes and a later one takes back is no change', async () => {
  await plan(
    createAction('made.txt', 'x\n'),
    executeAction('echo x > b.txt; echo x > new.txt'),
    executeAction('rm made.txt new.txt; echo b > b.txt'),
  );
  const { report, changes, committed, status } = await execute();
  expect(report.run_summary.status).toBe('SUCCESS');
  expect(changes).toEqual([]);
  expect(committed).toEqual([]);
  expect(status).toBe('');
});

test('a command that takes back an edit of the user changes that file, and the edit is in the history', async () => {
  const { repo } = project;
  await plan(executeAction('git checkout -q HEAD~3 -- a.txt || git checkout -q main -- a.txt'));
  await repo.write('a.txt', 'mine\n');
  const { changes, committed, status } = await execute();
  expect(changes).toEqual(['modified a.txt by 1']);
  expect(committed).toEqual(['M a.txt']);
  expect(await repo.git('show', 'HEAD~1:a.txt')).toBe('mine');
  expect(await repo.git('show', 'HEAD:a.txt')).toBe('a');
  expect(status).toBe('');
});

test('what a command stages is in the report as what is not staged, and nothing stays staged', async () => {
  await plan(executeAction('echo x > a.txt; echo n > n.txt; git add a.txt n.txt; git rm -q b.txt; echo c2 > c.txt'));
  const { changes, committed, status } = await execute();
  expect(changes).toEqual(['modified a.txt by 1', 'deleted b.txt by 1', 'modified c.txt by 1', 'added n.txt by 1']);
  expect(committed).toEqual(['M a.txt', 'D b.txt', 'M c.txt', 'A n.txt']);
  expect(status).toBe('');
});

test('staging of a command that is not as the file is no change, and never becomes one in a snapshot', async () => {
  await plan(executeAction('git rm -q --cached b.txt; echo x > a.txt; git add a.txt; echo a > a.txt'));
  const { changes, committed } = await execute();
  expect(changes).toEqual([]);
  expect(committed).toEqual([]);
  const said = await project.refuses('PARTIALLY_STAGED', 3, ['session', 'plan', '-m', 'Go on']);
  expect(said).toContain('a.txt, b.txt');
});

test('what a command commits itself is in that commit, and no change is lost or told twice', async () => {
  const { repo } = project;
  await plan(
    executeAction('echo x > a.txt; git commit -q -a -m "By the plan"; echo y > b.txt'),
    editAction('c.txt', 'c', 'C'),
  );
  const { changes, committed, status } = await execute();
  expect(committed).toEqual(['M b.txt', 'M c.txt']);
  expect(changes).toEqual(['modified b.txt by 1', 'modified c.txt by 2']);
  expect(await repo.git('log', '-1', '--format=%s', 'HEAD~1')).toBe('By the plan');
  expect(await repo.git('show', 'HEAD:a.txt')).toBe('x');
  expect(status).toBe('');
});

test('a file that is executable stays it when an action edits it', async () => {
  const { repo } = project;
  await chmod(join(repo.root, 'a.txt'), 0o755);
  await plan(editAction('a.txt', 'a', 'A'));
  const { changes } = await execute();
  expect(changes).toEqual(['modified a.txt by 1']);
  expect(await repo.git('ls-tree', 'HEAD', 'a.txt')).toMatch(/^100755/);
});

test('after a command that switches the branch the report goes to the line all the same, and the other branch keeps still', async () => {
  const { repo } = project;
  await repo.commit({ 'later.txt': 'on the line only\n' });
  const line = await repo.git('branch', '--show-current');
  await plan(executeAction('git switch -q main; echo x > a.txt; echo n > n.txt'));
  const main = await repo.git('rev-parse', 'main');
  const result = await project.run(['session', 'execute', '-y']);
  expect(result.stderr).toContain(`HEAD is no longer on ${line}`);
  expect(await repo.git('rev-parse', 'main')).toBe(main);
  expect(await repo.git('status', '--porcelain')).toBe(' M a.txt\n?? n.txt');
  expect(await repo.git('diff', '--name-status', `${line}~1`, line, '--', ':!.teddy')).toBe('M\ta.txt\nA\tn.txt');
  expect(await repo.git('show', `${line}:later.txt`)).toBe('on the line only');
});

test('after a command that deletes the branch of the session it is not made again out of nothing', async () => {
  const { repo } = project;
  await plan(
    executeAction(
      'git switch -q --detach; git branch -q -D "$(git branch --list "teddy/2*" --format="%(refname:short)")"; echo x > a.txt',
    ),
  );
  const result = await project.run(['session', 'execute', '-y']);
  expect(result.exitCode).not.toBe(0);
  expect(result.stderr).toMatch(/\[[A-Z_]+\]/);
  expect(await repo.git('branch', '--list', 'teddy/2*')).toBe('');
  expect(await repo.read('a.txt')).toBe('x\n');
});

test('a file that becomes a directory, a directory that becomes a file, and a file that becomes a link', async () => {
  const { repo } = project;
  await plan(
    executeAction(
      ['rm a.txt', 'mkdir a.txt', 'echo x > a.txt/f', 'rm -r dir', 'echo y > dir', 'ln -sf /nowhere/else b.txt'].join(
        '\n',
      ),
    ),
  );
  const { changes, committed, status } = await execute();
  expect(changes).toEqual([
    'deleted a.txt by 1',
    'added a.txt/f by 1',
    'modified b.txt by 1',
    'added dir by 1',
    'deleted dir/d.txt by 1',
  ]);
  expect(committed).toHaveLength(5);
  expect(await repo.git('ls-tree', 'HEAD', 'b.txt')).toMatch(/^120000/);
  expect(status).toBe('');
});

test('odd names are paths like any other, and one that is not UTF-8 is left out and named', async () => {
  await plan(
    executeAction(
      `echo x > "$(printf 'new\\nline.txt')"; echo x > ' "q" \\ *.txt'; echo x > "$(printf 'bad\\377.txt')"`,
    ),
  );
  const { changes, stderr } = await execute();
  expect(changes).toEqual(['added  "q" \\ *.txt by 1', 'added new\nline.txt by 1']);
  expect(stderr).toContain('its name is not UTF-8');
});

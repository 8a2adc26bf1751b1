/** Files that git does not know yet: which of them a snapshot and a report take along. */
import { chmod, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { letters } from '../support/planted-secrets.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;
const token = 'ghp_' + letters(36, 7);
const megabyte = 1024 * 1024;

beforeEach(async () => {
  project = await openTeddyProject({ files: { 'README.md': '# Scratch\n', '.gitignore': 'ignored*\n' } });
});
afterEach(() => project.close());

/** Paths of the code that the newest snapshot holds, with their modes. */
async function snapshotted(): Promise<string[]> {
  const { repo } = project;
  const [snapshot = ''] = (await repo.git('log', '--format=%H', '--grep=^Teddy-Entry: snapshot')).split('\n');
  const rows = await repo.git('-c', 'core.quotePath=false', 'diff-tree', '-r', '--no-commit-id', snapshot);
  return rows.split('\n').map((row) => row.replace(/^:\d+ (\d+) \S+ \S+ (\w)\t/, '$2 $1 '));
}

test('with teddy.snapshot=all the harmless ones are committed as git would, the others named and left alone', async () => {
  const { repo } = project;
  const id = await project.begin('all');
  await repo.git('config', 'teddy.snapshot', 'all');
  await repo.git('config', 'status.showUntrackedFiles', 'no');
  await repo.write('two words/größe ✓.txt', 'u\n');
  await repo.write('-dash\n\t*.txt', 'odd\n');
  await repo.write('run.sh', '#!/bin/sh\n');
  await chmod(join(repo.root, 'run.sh'), 0o755);
  await symlink('/nowhere/else', join(repo.root, 'link'));
  await repo.write('exact.bin', Buffer.alloc(megabyte));
  await repo.write('below.bin', Buffer.alloc(megabyte - 1));
  await repo.write('empty.txt', '');
  await repo.write('token.txt', `token = ${token}\n`);
  await repo.write(
    'token.bin',
    Buffer.concat([Buffer.from([0, 255, 254]), Buffer.from(` ${token} `), Buffer.from([0])]),
  );
  await repo.write('server.pem', 'x\n');
  await repo.write('ignored.txt', 'x\n');
  await repo.write('README.md', '# Edited\n');
  await repo.git('init', '--quiet', join(repo.root, 'inner'));
  await repo.write('inner/x.txt', 'x\n');
  const before = (await repo.fingerprint()).workTree;

  const planned = await project.plan(createPlan('made.txt', 'made\n'));
  expect(planned.stderr).toContain('Your own edits to 7 files were committed as a snapshot (6 of them new)');
  const warning = planned.stderr.split('\n').find((text) => text.includes('Left out of the snapshot: ')) ?? '';
  for (const named of [
    'exact.bin (1 MiB or more)',
    'inner/ (it is another repository)',
    'token.bin (it contains a secret)',
  ])
    expect(warning).toContain(named);
  expect((await snapshotted()).toSorted()).toEqual(
    [
      'A 100644 "-dash\\n\\t*.txt"',
      'A 100644 below.bin',
      'A 100644 empty.txt',
      'A 100644 two words/größe ✓.txt',
      'A 100755 run.sh',
      'A 120000 link',
      'M 100644 README.md',
    ].toSorted(),
  );
  expect((await repo.fingerprint()).workTree).toMatchObject(before);
  const untracked = ['exact.bin', 'inner/', 'server.pem', 'token.bin', 'token.txt'];
  expect(await repo.git('status', '--porcelain', '--untracked-files=all')).toBe(
    untracked.map((name) => `?? ${name}`).join('\n'),
  );
  expect(await repo.git('ls-files', '--error-unmatch', 'link', 'run.sh')).toBe('link\nrun.sh');
  const objects = await repo.git('cat-file', '--batch-all-objects', '--batch-check=%(objectname)');
  const held = await Promise.all(objects.split('\n').map((oid) => repo.git('cat-file', '-p', oid)));
  expect(held.filter((text) => text.includes(token))).toEqual([]);

  const again = await project.run(['session', 'execute', '-y']);
  expect(again).toMatchObject({ exitCode: 0 });
  expect(await repo.git('log', '-1', '--name-only', '--format=')).toBe(`.teddy/sessions/${id}/01/report.md\nmade.txt`);
});

test('with a linked work tree inside the project, that one is another repository', async () => {
  const { repo } = project;
  await project.begin('linked');
  await repo.git('config', 'teddy.snapshot', 'all');
  await repo.git('worktree', 'add', '--quiet', '-b', 'side', join(repo.root, 'wt'), 'main');
  await repo.write('new.txt', 'n\n');
  const planned = await project.plan(createPlan('made.txt', 'made\n'));
  expect(planned.stderr).toContain('Left out of the snapshot: wt/ (it is another repository).');
  expect(await snapshotted()).toEqual(['A 100644 new.txt']);
  await repo.git('worktree', 'remove', '--force', 'wt');
});

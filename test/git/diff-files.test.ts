/** The headers of a diff, compared with those that git itself prints. */
import { chmod, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import { diffFiles, listCodeChanges } from '../../src/workflow/review/diff-files.ts';
import { parseOid } from '../../src/names.ts';
import { makeScratchRepository } from '../support/scratch-repository.ts';

const repo = await makeScratchRepository({ 'a.txt': 'a\n' });
const notices = { info: () => undefined, warn: () => undefined };
const project = await openProject({ cwd: repo.root, env: process.env, notices });
afterAll(async () => {
  await project.repository.close();
  await repo.close();
});

const headers = (diff: string) => diff.split('\n').filter((line) => /^(?:diff|new file|---|\+\+\+|Binary) /.test(line));

test('names are quoted, and new files have their mode, as git prints them', async () => {
  const before = parseOid(await repo.git('rev-parse', 'HEAD'));
  for (const name of ['quo"te', 'new\nline', 'back\\slash', 'tab\tbed', 'café']) await repo.write(name, 'x\n');
  await repo.write('bin"ary', '\0\n');
  await repo.write('run.sh', '#!/bin/sh\n');
  await chmod(join(repo.root, 'run.sh'), 0o755);
  await symlink('a.txt', join(repo.root, 'link'));
  await repo.git('add', '--all');
  await repo.git('commit', '-qm', 'Names');
  const after = parseOid(await repo.git('rev-parse', 'HEAD'));
  await repo.write('quo"te', 'y\n');
  await repo.git('commit', '-qam', 'Edit');
  const last = parseOid(await repo.git('rev-parse', 'HEAD'));
  const { store } = project.repository;
  for (const [from, to] of [
    [before, after],
    [after, last],
  ] as const) {
    const diffs = await diffFiles(store, await listCodeChanges(store, from, to));
    const own = headers(diffs.map(({ diff }) => diff).join(''));
    expect(own).toEqual(headers(await repo.git('diff', '--no-renames', from, to)));
    expect(own.length).toBeGreaterThan(2);
  }
});

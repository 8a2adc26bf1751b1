import { expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { RepoPath } from '../../src/names.ts';
import { makeScratchRepository } from '../support/scratch-repository.ts';

test('the status of one path covers only that path, even with characters that are special to git', async () => {
  const repo = await makeScratchRepository({ 'dir/a*.txt': 'one\n', 'dir/ab.txt': 'one\n' });
  for (const text of ['two\n', 'three\n']) {
    for (const path of ['dir/a*.txt', 'dir/ab.txt']) await repo.write(path, text);
    if (text === 'two\n') await repo.git('add', '.');
  }
  const notices = { info: () => undefined, warn: () => undefined };
  const project = await openProject({ cwd: `${repo.root}/dir`, env: process.env, notices });
  const path = 'dir/a*.txt' as RepoPath;
  const status = await project.repository.workspace?.status({ untracked: false, path });
  await project.repository.close();
  expect(status?.edits).toMatchObject([{ path, staged: 'M', unstaged: 'M' }]);
  await repo.close();
});

/** Which git processes count as running in a repository. */
import { spawn } from 'node:child_process';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findLivingGits } from '../../src/git/run/living-gits.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let repo: ScratchRepository;

beforeEach(async () => {
  repo = await makeScratchRepository();
});
afterEach(() => repo.close());

test('a reader does not, not even while it starts or ends, when its arguments cannot be seen', async () => {
  const script = 'while :; do git cat-file --batch </dev/null; done';
  const shells = [1, 2].map(() => spawn('sh', ['-c', script], { cwd: repo.root, detached: true, stdio: 'ignore' }));
  try {
    for (let looks = 0; looks < 150; looks += 1) expect(await findLivingGits([repo.root])).toEqual([]);
  } finally {
    for (const { pid } of shells) process.kill(-(pid ?? 0), 'SIGKILL');
  }
});

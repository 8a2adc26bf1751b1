/** A repository whose objects are traps, fetched with real git. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRepository } from '../../src/git/repository.ts';
import type { Repository } from '../../src/ports/git.ts';
import type { Project } from '../../src/ports/project.ts';
import type { Oid, RefName } from '../../src/names.ts';
import { checkIncoming } from '../../src/workflow/sharing/check-incoming.ts';
import { changeCounter } from '../../src/workflow/sharing/shared-line.ts';
import { fetchVerified } from '../../src/workflow/sharing/fetch-verified.ts';
import { addHostileRefs } from '../support/hostile-remote.ts';
import { gitText } from '../support/git-process.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

const options = { signal: new AbortController().signal };
let repo: ScratchRepository;
let repository: Repository;
let path: string;

beforeAll(async () => {
  repo = await makeScratchRepository();
  path = await mkdtemp(join(tmpdir(), 'teddy-hostile-'));
  execFileSync('git', ['clone', '--quiet', '--bare', repo.root, path], { stdio: 'ignore' });
  repository = await openRepository({ cwd: repo.root, env: process.env });
});
afterAll(async () => {
  await repository.close();
  await rm(path, { recursive: true, force: true });
  await rm(repo.root, { recursive: true, force: true });
});

test('traps in trees stay out, honest lines beside them are accepted, and nothing of the user’s moves', async () => {
  const honest = await repo.git('rev-parse', 'HEAD');
  const good = gitText(path, ['commit-tree', '-p', honest, '-m', 'Good', `${honest}^{tree}`]) as Oid;
  gitText(path, ['update-ref', 'refs/heads/teddy/20260124-good', good]);
  const { bad, bomb } = addHostileRefs(path, honest);
  const before = await repo.fingerprint();

  const { refs } = await repository.remotes.list(path, ['refs/heads/teddy/'], options);
  const wanted = refs.map(({ ref }, at) => ({ from: ref, to: `refs/teddy/quarantine/${at}` as RefName }));
  expect(wanted.map(({ from }) => from)).toEqual([...bad, bomb, 'refs/heads/teddy/20260124-good'].toSorted());
  const refused = await fetchVerified({ repository } as Project, path, wanted, options);
  expect(refused.map(({ ref }) => ref).toSorted()).toEqual(bad.toSorted());

  const after = await repo.fingerprint();
  const kept = after.refs.filter((ref) => !ref.startsWith('refs/teddy/quarantine/'));
  expect({ ...after, refs: kept }).toEqual(before);
  const arrived = after.refs.filter((ref) => ref.startsWith('refs/teddy/quarantine/'));
  expect(arrived).toHaveLength(2);
  expect(arrived.some((ref) => ref.endsWith(good))).toBe(true);

  // A trillion paths in thirteen trees.
  const tip = gitText(path, ['rev-parse', bomb]) as Oid;
  const counter = changeCounter(repository.store);
  expect(await counter.add(await repository.store.readCommit(good))).toBe(true);
  expect(await counter.add(await repository.store.readCommit(tip))).toBe(false);
  const project = { repository } as Project;
  const { refused: found } = await checkIncoming(project, [{ ref: bomb as RefName, tip, local: null }]);
  expect(found).toMatchObject([{ ref: bomb, reason: expect.stringMatching(/paths/) }]);
});

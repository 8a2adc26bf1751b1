import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import { gitText } from '../support/git-process.ts';
import { makeScratchRepository, openScratchRepository } from '../support/scratch-repository.ts';
import { beginSession, entryIdsOf, randomFrom, settle, sharedRefsOf, takeStep } from './sync.ts';

const seeds = [11, 12, 13, 14];
const steps = 40;

test.each(seeds)('three clones of a bare repository end with the same refs and every entry, seed %i', async (seed) => {
  const random = randomFrom(seed);
  const root = await realpath(await mkdtemp(join(tmpdir(), 'teddy-clones-')));
  const source = await makeScratchRepository();
  const shared = join(root, 'shared.git');
  gitText(root, ['clone', '--quiet', '--bare', source.root, shared]);
  const roots = ['a', 'b', 'c'].map((name) => join(root, name));
  const clones: Project[] = [];
  try {
    for (const clone of roots) {
      gitText(root, ['clone', '--quiet', shared, clone]);
      gitText(clone, ['config', 'user.name', 'Ada Example']);
      gitText(clone, ['config', 'user.email', 'ada@example.org']);
      const notices = { info: () => undefined, warn: () => undefined };
      clones.push(await openProject({ cwd: clone, env: process.env, notices }));
    }
    await beginSession(clones[0] as Project);
    await settle(clones, random);
    const made = new Set<string>();
    for (let step = 0; step < steps; step += 1) {
      await takeStep(clones, random);
      for (const clone of clones) for (const id of await entryIdsOf(clone)) made.add(id);
    }
    await settle(clones, random);
    const [first] = clones as [Project];
    expect(made.size).toBeGreaterThan(5);
    for (const clone of clones) {
      expect(await sharedRefsOf(clone.repository)).toEqual(await sharedRefsOf(first.repository));
      const ids = await entryIdsOf(clone);
      expect([...made].filter((id) => !ids.has(id))).toEqual([]);
    }
    for (const place of [shared, ...roots]) await openScratchRepository(place).fsck();
  } finally {
    for (const clone of clones) await clone.repository.close();
    await source.close();
    await rm(root, { recursive: true, force: true });
  }
});

/** Operations on a file system that is really full. */
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkRun } from './check-run.ts';
import { checkDrain, openDrainStage } from './drain-scenes.ts';
import { failedCleanly } from './failure.ts';
import { runChild } from './run-child.ts';
import { openStage, type Stage } from './scenes.ts';
import { mountSmallDisk, pageBytes, type SmallDisk } from './small-disk.ts';

const maxFreePages = 24;
/** A drain needs more. */
const mostDrainPages = 80;

let stage: Stage;
let disk: SmallDisk | null;

beforeAll(async () => {
  stage = await openStage();
  disk = await mountSmallDisk('8m');
});

afterAll(async () => {
  await disk?.close();
  await stage.close();
});

test('however little space is left, an entry is on the line or not, and with space again the next command works', async ({
  skip,
}) => {
  if (disk === null) return skip('only root can mount a small file system');
  const problems: string[] = [];
  const ends = new Map<string, number>();
  const scenes = [stage.scenes['append-on-line'], stage.scenes.execute, stage.scenes.run, stage.scenes.failing];
  for (const scene of scenes) {
    for (let pages = 0; pages <= maxFreePages; pages += 1) {
      const repository = await stage.copy(scene, disk.dir);
      const filler = await disk.fill(pages * pageBytes);
      const outcome = await runChild({ program: stage.program, operation: scene.operation, root: repository.root });
      await rm(filler);
      const end = outcome.failure === null ? 'published' : (outcome.failure.code ?? 'no code');
      ends.set(end, (ends.get(end) ?? 0) + 1);
      const found = [...failedCleanly(outcome), ...(await checkRun(stage, scene, repository, outcome))];
      problems.push(...found.map((problem) => `${scene.name}, ${pages} pages free: ${problem}`));
      await stage.discard(repository);
    }
  }
  const counts = [...ends].map(([end, count]) => `${end} ${count}`).join(', ');
  console.log(
    `faults: full tmpfs: ${scenes.length * (maxFreePages + 1)} runs, ${problems.length} problems (${counts})`,
  );
  expect(problems).toEqual([]);
  expect(ends.get('DISK_FULL')).toBeGreaterThan(0);
  expect(ends.get('published')).toBeGreaterThan(0);
});

test('however little space a disk has left, a drain and a sweep lose nothing', async ({ skip }) => {
  const large = await mountSmallDisk('16m');
  if (large === null) return skip('only root can mount a small file system');
  const drains = await openDrainStage();
  const problems: string[] = [];
  let full = 0;
  try {
    for (const operation of ['drain', 'sweep'] as const) {
      for (let pages = 0; pages <= mostDrainPages; pages += 2) {
        const repository = await drains.copy(drains.scene, large.dir);
        const filler = await large.fill(pages * pageBytes);
        const run = await runChild({ program: drains.program, operation, root: repository.root });
        await rm(filler);
        full += run.warnings.length > 0 || run.failure !== null ? 1 : 0;
        const found = [
          ...failedCleanly(run),
          ...(await checkDrain(drains, repository, { ...run, acknowledged: [] }, 'sweep')),
        ];
        problems.push(...found.map((problem) => `${operation}, ${pages} pages free: ${problem}`));
        await drains.discard(repository);
      }
    }
  } finally {
    await large.close();
    await drains.close();
  }
  console.log(
    `faults: drains and sweeps on a full tmpfs: ${mostDrainPages + 2} runs, ${full} full, ${problems.length} problems`,
  );
  expect(problems).toEqual([]);
  expect(full).toBeGreaterThan(0);
});

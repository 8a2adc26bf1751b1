/** Write sessions on file systems that are really full: the staging area's, the target's, the objects'. */
import { execFile } from 'node:child_process';
import { mkdir, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import { beginHeldWrite } from '../../src/workflow/writes/begin.ts';
import { finalizeHeld } from '../../src/workflow/writes/finalize.ts';
import { heldDestination, receiveInto } from '../../src/workflow/writes/run-write.ts';
import { checkWrite } from './check-write.ts';
import { failedCleanly } from './failure.ts';
import { runChild } from './run-child.ts';
import { contentOf, writeWishes } from './write-cases.ts';
import { openWriteStage, type WriteStage } from './write-scenes.ts';

const run = promisify(execFile);
const pageBytes = 4096;
const places = ['.git/teddy/write_sessions', 'new/dir', '.git/objects'] as const;
type DiskTarget = (typeof places)[number];
/** If a session needs more, no more free pages are tried. */
const mostPages: Record<DiskTarget, number> = { '.git/teddy/write_sessions': 16, 'new/dir': 3, '.git/objects': 12 };

let stage: WriteStage;
let isRoot = false;
const mounted = new Set<string>();
beforeAll(async () => {
  stage = await openWriteStage();
  isRoot = process.getuid?.() === 0 && (await canMount());
});
afterAll(async () => {
  // A failed test has left them.
  for (const path of mounted) await run('umount', [path]);
  await stage.close();
});

test.for(places)(
  'with little space in %s alone, a session ends with its entry or with DISK_FULL, and loses nothing',
  async (place, { skip }) => {
    skip(!isRoot, 'only root can mount a small file system');
    const problems: string[] = [];
    const ends = new Map<string, number>();
    for (const scene of [stage.scenes['write-create'], stage.scenes['write-one-shot']]) {
      for (let pages = 0; pages <= mostPages[place]; pages += 1) {
        const repository = await stage.copy(scene);
        const disk = await mountOver(join(repository.root, place));
        const filler = await disk.fill(pages * pageBytes);
        const outcome = await runChild({ program: stage.program, operation: scene.operation, root: repository.root });
        await rm(filler);
        const end = outcome.failure === null ? 'published' : (outcome.failure.code ?? 'no code');
        ends.set(end, (ends.get(end) ?? 0) + 1);
        const found = [
          ...failedCleanly(outcome),
          ...(outcome.warnings.length > 1 ? [`warned ${outcome.warnings.join(' | ')}`] : []),
          ...(await checkWrite(scene, repository, outcome)),
        ];
        problems.push(...found.map((problem) => `${scene.name}, ${pages} pages free: ${problem}`));
        await disk.close();
        await stage.discard(repository);
      }
    }
    const counts = [...ends].map(([end, count]) => `${end} ${count}`).join(', ');
    const runs = [...ends.values()].reduce((sum, count) => sum + count, 0);
    console.log(`faults: full ${place}: ${runs} runs, ${problems.length} problems (${counts})`);
    expect(problems).toEqual([]);
    expect([...ends.keys()].toSorted()).toEqual(['DISK_FULL', 'published']);
  },
);

test('a controller keeps data that a full disk refuses in memory, warns once, and saves it later', async ({ skip }) => {
  skip(!isRoot, 'only root can mount a small file system');
  const scene = stage.scenes['write-create'];
  const wish = writeWishes['write-create'];
  const repository = await stage.copy(scene);
  const disk = await mountOver(join(repository.root, '.git/teddy/write_sessions'));
  const said: string[] = [];
  const notices = {
    info: (text: string) => said.push(`info ${text}`),
    warn: (text: string) => said.push(`warn ${text}`),
  };
  const project = await openProject({ cwd: repository.root, env: process.env, notices });
  const { target, operation } = wish;
  const { held } = await beginHeldWrite(project, { intent: 'x', target, operation, hasController: true });
  const sizeOnDisk = async () => (await project.writes.find(held.record.id))?.state?.size;
  const content = contentOf(wish);
  const half = content.indexOf('\n', content.length / 2) + 1;
  async function* source() {
    const filler = await disk.fill(0);
    yield Buffer.from(content.slice(0, 100));
    await sleep(50);
    yield Buffer.from(content.slice(100, half));
    await sleep(50);
    expect(await sizeOnDisk()).toBe(0);
    await rm(filler);
    yield Buffer.from(content.slice(half));
    await sleep(50);
    expect(await sizeOnDisk()).toBe(content.length);
    yield Buffer.from('DONE\n');
  }
  const { signal } = new AbortController();
  const destination = heldDestination(project, held, { isOfModel: false, signal });
  await receiveInto(project, destination, source(), {
    isRestart: false,
    isAnswer: false,
    signal,
    onPrompt: () => undefined,
  });
  expect(said).toEqual([
    expect.stringMatching(/^warn .*no space left.*kept in memory/i),
    expect.stringMatching(/^info .*saved again/),
  ]);
  expect(await finalizeHeld(project, held)).toMatchObject({ isWritten: true });
  await held.staged.close();
  await project.repository.close();
  expect(await checkWrite(scene, repository, { acknowledged: [], savedBytes: content.length, begun: [] })).toEqual([]);
  await disk.close();
});

async function canMount(): Promise<boolean> {
  const { root } = await stage.copy(stage.scenes['write-create']);
  return mountOver(join(root, 'disk')).then(
    async ({ close }) => {
      await close();
      return true;
    },
    () => false,
  );
}

interface Disk {
  /** Leaves this many bytes free; returns the path of the file that fills the rest. */
  fill(freeBytes: number): Promise<string>;
  close(): Promise<void>;
}

/** A small file system in place of a directory, with its contents. */
async function mountOver(path: string): Promise<Disk> {
  await mkdir(path, { recursive: true });
  await run('cp', ['-a', path, `${path}.before`]);
  await run('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', path]);
  mounted.add(path);
  await run('cp', ['-a', `${path}.before/.`, path]);
  await rm(`${path}.before`, { recursive: true });
  return {
    async fill(freeBytes) {
      const { bavail, bsize } = await statfs(path);
      const filler = join(path, '.filler');
      await writeFile(filler, Buffer.alloc(Math.max(0, bavail * bsize - freeBytes)));
      return filler;
    },
    async close() {
      await run('umount', [path]);
      mounted.delete(path);
    },
  };
}

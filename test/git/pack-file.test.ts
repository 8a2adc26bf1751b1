/** In which order a pack reaches the disk: a power cut never leaves a pack that is visible but incomplete. */
import { basename, join } from 'node:path';
import type { FileHandle } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { openPack } from '../../src/git/objects/pack-file.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

/** Calls to the file system below `pack/`, in order. */
const calls = vi.hoisted((): string[] => []);
vi.mock('node:fs/promises', async (load) => {
  const real = await load<typeof import('node:fs/promises')>();
  const record = (call: string, ...paths: unknown[]) => void calls.push([call, ...paths.map(toShort)].join(' '));
  return {
    ...real,
    open: async (...args: Parameters<typeof real.open>) => {
      const file = await real.open(...args);
      for (const call of ['write', 'writeFile', 'sync'] as const) {
        const inner = file[call].bind(file) as (...given: unknown[]) => Promise<unknown>;
        Object.assign(file, {
          [call]: async (...given: unknown[]) => {
            const result = await inner(...given);
            record(call, args[0]);
            return result;
          },
        } satisfies Partial<Record<keyof FileHandle, unknown>>);
      }
      return file;
    },
    rename: async (...args: Parameters<typeof real.rename>) => {
      await real.rename(...args);
      record('rename', ...args);
    },
  };
});

/** Without the parts that vary. */
function toShort(path: unknown): string {
  return basename(String(path))
    .replace(/^(tmp_(?:pack|idx))_teddy-.*$/, '$1')
    .replace(/^pack-[0-9a-f]+/, 'pack-N');
}

let repo: ScratchRepository;
beforeAll(async () => {
  repo = await makeScratchRepository();
});
beforeEach(() => void calls.splice(0));
afterAll(() => repo.close());

test('a pack and its index are synced when complete and before being named, the pack first, then the directory', async () => {
  const pack = await openPack({ objectsDir: join(repo.root, '.git/objects'), objectFormat: 'sha1' });
  pack.add('blob', Buffer.from('x'), null);
  await pack.finish();
  expect(calls.filter((call, at) => call !== calls[at - 1])).toEqual([
    'write tmp_pack',
    'sync tmp_pack',
    'writeFile tmp_idx',
    'sync tmp_idx',
    'rename tmp_pack pack-N.pack',
    'rename tmp_idx pack-N.idx',
    'sync pack',
  ]);
});

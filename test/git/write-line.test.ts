/** A line that is written as one pack: git's view of it, and leftovers after a failure. */
import { randomBytes } from 'node:crypto';
import { copyFile, readdir, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRepository, type OpenedRepository } from '../../src/git/repository.ts';
import { readBootId } from '../../src/disk/process-identity.ts';
import { packIndex } from '../../src/git/objects/pack-index.ts';
import { encodeDelta, findSharedEnds } from '../../src/git/objects/pack-file.ts';
import type { LineCommit } from '../../src/ports/git.ts';
import type { Oid, RefName } from '../../src/names.ts';
import { path } from '../support/disk.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let scratch: ScratchRepository;
let repository: OpenedRepository;
let packs: string;
let head: Oid;

beforeEach(async () => {
  scratch = await makeScratchRepository();
  repository = await openRepository({ cwd: scratch.root, env: process.env });
  packs = join(scratch.root, '.git/objects/pack');
  head = (await repository.store.resolve('HEAD')) as Oid;
});
afterEach(async () => {
  await repository.close();
  await scratch.close();
});

const ident = 'Ada Example <ada@example.org> 1769248800 +0000';

async function* grow(count: number, onOne: (at: number) => void = () => undefined): AsyncIterable<LineCommit> {
  let text = '';
  for (let at = 0; at < count; at += 1) {
    onOne(at);
    text += `${at} ${randomBytes(40).toString('hex')}\n`;
    const bytes = new TextEncoder().encode(text);
    yield { author: ident, committer: ident, message: `${at}\n`, files: [{ path: path('log/all.txt'), bytes }] };
  }
}

describe('a line in one pack', () => {
  test('stores 2,600 versions of a file completely, in little more than the last one’s size', async () => {
    const tip = await repository.store.writeLine(head, grow(2600));
    await repository.store.updateRefs([{ ref: 'refs/heads/long' as RefName, old: null, new: tip }], 'test');
    await scratch.git('fsck', '--strict');
    expect(await scratch.git('rev-list', '--count', 'long')).toBe('2601');
    const verified = await scratch.git('verify-pack', '-v', join(packs, (await readdir(packs))[0] ?? ''));
    const longest = Math.max(...[...verified.matchAll(/chain length = (\d+)/g)].map((found) => Number(found[1])));
    expect(longest).toBeLessThanOrEqual(100);
    expect(longest).toBeGreaterThan(40);
    for (const back of [0, 1, 49, 50, 51, 99, 100, 2500]) {
      const lines = (await scratch.git('show', `long~${back}:log/all.txt`)).split('\n');
      expect(lines.at(-1)).toMatch(new RegExp(`^${2599 - back} `));
      expect(lines).toHaveLength(2600 - back);
    }
    const objects = await scratch.git('count-objects', '-v');
    expect(Number(/size-pack: (\d+)/.exec(objects)?.[1])).toBeLessThan(4096);
  });

  test('has the same ids as git, whatever a version has in common with earlier ones', async () => {
    async function* commits(): AsyncIterable<LineCommit> {
      const commit = (name: string, text: string) => {
        const files = [{ path: path(name), bytes: new TextEncoder().encode(text) }];
        return { author: ident, committer: ident, message: `${name}\n`, files };
      };
      // The same length twice, and something short between them.
      for (const length of [10, 70_000]) yield commit('log/x', 'a'.repeat(length));
      for (const length of [20, 70_000]) yield commit('log/x', 'b'.repeat(length));
      // A directory of 70 KB, in the middle of which others are made.
      for (let at = 0; at < 2000; at += 1) {
        yield commit(`turns/${at}/x`, `${at}`);
        yield commit(`turns/${at}/x`, `${at}, again`);
      }
    }
    const tip = await repository.store.writeLine(head, commits());
    await repository.store.updateRefs([{ ref: 'refs/heads/many' as RefName, old: null, new: tip }], 'test');
    await scratch.git('fsck', '--strict');
    expect(await scratch.git('show', 'many:turns/1234/x')).toBe('1234, again');
    expect(await scratch.git('show', 'many:log/x')).toBe('b'.repeat(70_000));
  });

  test('shows nothing before everything is there, and leaves nothing after a failure', async () => {
    const failing = grow(50, (at) => {
      if (at === 40) throw new Error('no more');
    });
    await expect(repository.store.writeLine(head, failing)).rejects.toThrow('no more');
    expect(await readdir(packs)).toEqual([]);
    expect(await scratch.git('rev-list', '--all')).toBe(head);
  });

  test('removes a killed process’s leftovers, but not a running one’s files', async () => {
    const boot = await readBootId();
    const dead = `tmp_pack_teddy-999999999-${boot}-0123abcd`;
    const alive = `tmp_pack_teddy-${process.ppid}-${boot}-0123abcd`;
    const earlier = `tmp_idx_teddy-${process.ppid}-another-boot-0123abcd`;
    const foreign = 'tmp_pack_XyZ123';
    for (const name of [dead, alive, earlier, foreign]) await writeFile(join(packs, name), 'half');
    await repository.store.writeLine(head, grow(1));
    const left = (await readdir(packs)).filter((name) => name.startsWith('tmp_'));
    expect(left.toSorted()).toEqual([alive, foreign].toSorted());
  });

  test.each(['sha1', 'sha256'] as const)(
    'removes a killed process’s pack without an index, if it is certainly ours (%s)',
    async (objectFormat) => {
      const other = await makeScratchRepository({ 'a.txt': 'a\n' }, { objectFormat });
      const { store, close } = await openRepository({ cwd: other.root, env: process.env });
      try {
        const dir = join(other.root, '.git/objects/pack');
        const start = (await store.resolve('HEAD')) as Oid;
        await store.writeLine(start, grow(1));
        await store.writeLine(start, grow(2));
        const [index = '', second = ''] = (await readdir(dir)).filter((name) => name.endsWith('.idx'));
        const pack = index.replace('.idx', '.pack');
        const left = `tmp_idx_teddy-999999999-${await readBootId()}-0123abcd`;
        // This pack has its index as well: a copy proves nothing.
        await copyFile(join(dir, second), join(dir, left.replace('0123', '4567')));
        const foreign = `pack-${'0'.repeat(pack.length - 10)}.pack`;
        await writeFile(join(dir, foreign), 'of somebody else');
        await rename(join(dir, index), join(dir, left));
        await store.writeLine(start, grow(1));
        const after = await readdir(dir);
        expect(after).not.toContain(pack);
        expect(after).toEqual(expect.arrayContaining([foreign, second, second.replace('.idx', '.pack')]));
        expect(after.filter((name) => name.startsWith('tmp_'))).toEqual([]);
      } finally {
        await close();
        await other.close();
      }
    },
  );

  test('refuses to return to a finished directory, whose earlier files would be lost silently', async () => {
    const bytes = new TextEncoder().encode('x\n');
    async function* back(): AsyncIterable<LineCommit> {
      for (const one of ['a/1/x', 'a/2/x', 'a/1/y'])
        yield { author: ident, committer: ident, message: `${one}\n`, files: [{ path: path(one), bytes }] };
    }
    await expect(repository.store.writeLine(head, back())).rejects.toThrow('The directory 1 was completed before');
    expect(await readdir(packs)).toEqual([]);
  });

  test('is for the group in a shared repository', async () => {
    await scratch.git('config', 'core.sharedRepository', 'group');
    repository.reloadSettings();
    await repository.store.writeLine(head, grow(1));
    for (const name of await readdir(packs))
      expect((await stat(join(packs, name))).mode & 0o777).toBe(0o440 | (0o444 & ~process.umask()));
  });
});

describe('a pack’s index', () => {
  test('keeps offsets beyond 2 GiB in a separate table', () => {
    const index = packIndex('sha1');
    const ids = [Buffer.alloc(20, 1), Buffer.alloc(20, 2), Buffer.alloc(20, 3)] as const;
    index.add(ids[2], 3, 12);
    index.add(ids[0], 1, 0x8000_0000);
    index.add(ids[1], 2, 0x1_2345_6789);
    expect([...ids, Buffer.alloc(20, 4)].map((id) => index.has(id))).toEqual([true, true, true, false]);
    const bytes = Buffer.concat(index.render(Buffer.alloc(20)));
    const offsets = 8 + 256 * 4 + 3 * 20 + 3 * 4;
    expect([0, 4, 8].map((at) => bytes.readUInt32BE(offsets + at))).toEqual([0x8000_0000, 0x8000_0001, 12]);
    expect([12, 20].map((at) => bytes.readBigUInt64BE(offsets + at))).toEqual([0x8000_0000n, 0x1_2345_6789n]);
  });
});

describe('a delta', () => {
  test('is not used if most of the object is new', () => {
    const toDelta = (base: string, target: string) => {
      const [a, b] = [Buffer.from(base), Buffer.from(target)];
      return encodeDelta({ length: a.length, ...findSharedEnds(a, b) }, b);
    };
    expect(toDelta('abc', 'xyzxyz')).toBeNull();
    expect(toDelta('', 'x')).toBeNull();
    expect(toDelta('xyz', 'xyz!')).not.toBeNull();
  });
});

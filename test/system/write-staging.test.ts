/** Write sessions on a real disk: after a crash or a failure at any call, and with any byte changed. */
import { cpSync, existsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { TeddyError } from '../../src/errors.ts';
import type { NewWrite, StagedWrite, WriteStaging } from '../../src/ports/disk.ts';
import type { RefName, RepoPath, SessionId } from '../../src/names.ts';
import { writeStaging, type WriteStagingOptions } from '../../src/system/writes/write-staging.ts';
import { writeLimits } from '../../src/session/settings/write-limits.ts';
import { initialState, type WriteState } from '../../src/write/write.ts';
import { bytes } from '../support/disk.ts';
import { runs } from '../support/runs.ts';

/** Called before each file system call that changes something; it may look at the disk, or throw. */
const points = vi.hoisted(() => ({ pass: (_call: string): void => undefined }));

vi.mock('node:fs/promises', async (importOriginal) => {
  const real = await importOriginal<Record<string, (...args: unknown[]) => Promise<unknown>>>();
  const guard =
    (name: string) =>
    async (...args: unknown[]) => {
      points.pass(name);
      return real[name]?.(...args);
    };
  const changing = ['link', 'mkdir', 'rename', 'rm', 'rmdir', 'unlink', 'writeFile'];
  const guardHandle = (handle: FileHandle): FileHandle =>
    new Proxy(handle, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]): Promise<unknown> => {
          const isChange = ['write', 'writeFile', 'truncate', 'sync', 'datasync'].includes(String(key));
          if (isChange) points.pass(String(key));
          // Torn: half of it is written already.
          if (key === 'write' && Number(args[2]) > 1) {
            await target.write(args[0] as Uint8Array, Number(args[1]), Number(args[2]) >> 1, Number(args[3]));
            points.pass('half of write');
          }
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
  const open = async (...args: unknown[]) => {
    if (args[1] !== 'r') points.pass('open');
    return guardHandle((await real['open']?.(...args)) as FileHandle);
  };
  return { ...real, ...Object.fromEntries(changing.map((name) => [name, guard(name)])), open };
});

const id = '019bf000-0000-4000-8000-000000000001';
const wanted: NewWrite = {
  id,
  intent: 'Write a guide "ü"',
  target: 'docs/guide.md' as RepoPath,
  operation: 'overwrite',
  root: '/project',
  isLinked: false,
  line: { ref: 'refs/heads/teddy/20260124-add-login' as RefName, session: '20260124-add-login' as SessionId },
  base: { sha256: 'a'.repeat(64), size: 3, mode: 0o644, lineEndings: 'lf', finalNewline: true, bom: false },
  endMarker: 'DONE',
  begunAt: '2026-01-24T10:00:00.000Z',
  hasController: false,
};

let base: string;
let dir: string;
let steps: string[];

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'teddy-writes-'));
  dir = join(base, 'write_sessions');
  steps = [];
});
afterEach(async () => {
  points.pass = () => undefined;
  await rm(base, { recursive: true, force: true });
});

function staging(options: Partial<WriteStagingOptions> = {}): WriteStaging {
  return writeStaging({
    dir,
    clock: { now: () => new Date() },
    bootId: async () => 'boot-1',
    isAlive: async () => false,
    onStep: (step) => steps.push(step),
    waitMs: 50,
    ...options,
  });
}

const begin = (options?: Partial<WriteStagingOptions>, more: Partial<NewWrite> = {}) =>
  staging(options).begin({ ...wanted, ...more }, initialState(Date.now()), writeLimits);
const received = (size: number): WriteState => ({ ...initialState(Date.now()), phase: 'receiving', size });
const inSession = (name: string) => join(dir, id, name);
const text = (all: Uint8Array | undefined) => new TextDecoder().decode(all);

async function leave(content: string): Promise<void> {
  const staged = await begin();
  await staged.save(bytes(content), received(bytes(content).length));
  await staged.close();
}

test('the files are readable by their owner only, and match the design', async () => {
  await leave('one\n');
  const names = ['', 'metadata.json', 'content.txt', 'state.json'];
  const modes = await Promise.all(names.map(async (name) => (await stat(inSession(name))).mode & 0o777));
  expect(modes).toEqual([0o700, 0o600, 0o600, 0o600]);
  expect((await readdir(inSession(''))).toSorted()).toEqual(names.slice(1).toSorted());
  expect(await readdir(dir)).toEqual([id]);
  const metadata: unknown = JSON.parse(await readFile(inSession('metadata.json'), 'utf8'));
  expect(metadata).toMatchObject({ ...wanted, pid: process.pid, bootId: 'boot-1' });
  expect(JSON.parse(await readFile(inSession('state.json'), 'utf8'))).toMatchObject({
    phase: 'receiving',
    position: 4,
    size: 4,
    sha256: '2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806',
    saved_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
  });
  expect(steps).toEqual(['write-metadata', 'write-made', 'write-content', 'write-state']);
});

test('the directory for all of them is private to its owner, but an existing one stays unchanged', async () => {
  dir = join(base, 'teddy', 'write_sessions');
  await leave('one\n');
  expect((await stat(dir)).mode & 0o777).toBe(0o700);
  expect((await stat(join(base, 'teddy'))).mode & 0o777).toBe(0o777 & ~process.umask());
  await chmod(dir, 0o755);
  await staging().remove(id);
  await leave('two\n');
  expect((await stat(dir)).mode & 0o777).toBe(0o755);
});

test('whether there is a session is known without looking at any', async () => {
  expect(await staging().isEmpty()).toBe(true);
  await leave('one\n');
  await writeFile(inSession('metadata.json'), 'damaged');
  expect(await staging().isEmpty()).toBe(false);
  await staging().remove(id);
  expect(await staging().isEmpty()).toBe(true);
  await rm(dir, { recursive: true });
  await writeFile(dir, 'a file');
  await expect(staging().isEmpty()).rejects.toMatchObject({ code: 'WRITE_FAILED' });
});

test('content is kept byte for byte, whatever pieces it came in, over several openings', async () => {
  const piece = fc.record({ bytes: fc.uint8Array({ maxLength: 40 }), reopens: fc.boolean(), replaces: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
      let staged: StagedWrite | null = await begin();
      let sent = Buffer.alloc(0);
      for (const one of pieces) {
        sent = one.replaces ? Buffer.from(one.bytes) : Buffer.concat([sent, one.bytes]);
        await staged?.[one.replaces ? 'replace' : 'save'](one.bytes, received(sent.length));
        if (!one.reopens) continue;
        await staged?.close();
        staged = await staging().open(id);
      }
      expect(Buffer.from((await staged?.read()) ?? bytes('none'))).toEqual(sent);
      await staged?.remove();
    }),
    runs(15),
  );
});

describe('a crash', () => {
  interface Crash {
    call: string;
    /** The disk at that time. */
    dir: string;
  }

  let crashCount = 0;

  /** The disk before each call that changes it, during an operation. */
  async function crashesOf(act: () => Promise<unknown>): Promise<Crash[]> {
    const crashes: Crash[] = [];
    points.pass = (call) => {
      crashCount += 1;
      const copy = join(base, `crash-${crashCount}`);
      if (existsSync(dir)) cpSync(dir, copy, { recursive: true });
      crashes.push({ call, dir: copy });
    };
    await act();
    points.pass = () => undefined;
    return crashes;
  }

  async function readAfter(crash: Crash): Promise<string> {
    const staged = await staging({ dir: crash.dir }).open(id);
    const content = text(await staged?.read());
    // It can be continued.
    await staged?.save(bytes('+'), received(bytes(content).length + 1));
    expect(text(await staged?.read())).toBe(`${content}+`);
    await staged?.close();
    return content;
  }

  async function checkCrashes(crashes: Crash[], allowed: string[]): Promise<string[]> {
    const found: string[] = [];
    for (const crash of crashes) {
      const [seen] = await staging({ dir: crash.dir }).list();
      expect(seen, crash.call).toMatchObject({ isDamaged: false });
      found.push(await readAfter(crash));
      expect(allowed, `before ${crash.call}`).toContain(found.at(-1));
    }
    return found;
  }

  test('before any call of a save leaves the content before it or after it, and the tail is kept', async () => {
    const staged = await begin();
    await staged.save(bytes('one\n'), received(4));
    const crashes = await crashesOf(() => staged.save(bytes('two\n'), received(8)));
    await staged.close();
    expect(crashes.length).toBeGreaterThan(8);
    expect(new Set(await checkCrashes(crashes, ['one\n', 'one\ntwo\n']))).toEqual(new Set(['one\n', 'one\ntwo\n']));
    const torn = crashes.find(({ call }) => call === 'half of write');
    expect(await readFile(join(torn?.dir ?? '', id, 'tail-1.txt'), 'utf8')).toBe('tw');
  });

  test('before any call of a replacement leaves the old content or the new one', async () => {
    for (const [old, fresh] of [
      ['old content\n', 'new\n'],
      ['old', 'old and longer'],
      ['old and longer', 'old'],
      ['old', ''],
      ['', 'new'],
    ] as const) {
      const staged = await begin();
      await staged.save(bytes(old), received(old.length));
      const crashes = await crashesOf(() => staged.replace(bytes(fresh), received(fresh.length)));
      await staged.close();
      expect(new Set(await checkCrashes(crashes, [old, fresh])).size).toBe(2);
      await staging().remove(id);
    }
  });

  test('before any call after a replacement leaves the content before that or after it', async () => {
    const staged = await begin();
    await staged.replace(bytes('first'), received(5));
    const saving = await crashesOf(() => staged.save(bytes('!'), received(6)));
    const replacing = await crashesOf(() => staged.replace(bytes('second'), received(6)));
    await staged.close();
    await checkCrashes(saving, ['first', 'first!']);
    await checkCrashes(replacing, ['first!', 'second']);
  });

  test('before any call of opening a session with a tail loses neither the content nor the tail', async () => {
    await leave('one\n');
    await writeFile(inSession('content.txt'), 'one\ntail');
    await writeFile(inSession('content.new'), 'half of another');
    const crashes = await crashesOf(async () => (await staging().open(id))?.close());
    expect(crashes.length).toBeGreaterThan(8);
    for (const crash of crashes) {
      expect(await readAfter(crash)).toBe('one\n');
      const content = await staging({ dir: crash.dir }).readContent(id);
      expect(new Set(content?.aside.map((tail) => text(tail.bytes)))).toEqual(new Set(['tail', 'half of another']));
    }
  });

  test('before any call of dropping the content leaves it, or a state that records how it has ended', async () => {
    await leave('one\n');
    const staged = await staging().open(id);
    await staged?.save(bytes(''), { ...received(4), phase: 'cancelled' });
    const crashes = await crashesOf(async () => staged?.dropContent());
    await staged?.close();
    for (const crash of crashes) {
      const again = await staging({ dir: crash.dir }).open(id);
      expect(again?.state).toMatchObject({ phase: 'cancelled', size: 4 });
      expect(['one\n', '']).toContain(text(await again?.read()));
      await again?.dropContent();
      expect((await readdir(join(crash.dir, id))).toSorted()).toEqual(['metadata.json', 'state.json']);
      await again?.close();
    }
  });

  test('before any call of beginning or removing a session leaves a complete one or none, and no leftovers later', async () => {
    let staged: StagedWrite | null = null;
    const beginning = await crashesOf(async () => (staged = await begin()));
    await (staged as StagedWrite | null)?.save(bytes('one\n'), received(4));
    const removing = await crashesOf(async () => (staged as StagedWrite | null)?.remove());
    expect(await readdir(dir)).toEqual([]);
    for (const crash of [...beginning, ...removing].filter((one) => existsSync(one.dir))) {
      const here = staging({ dir: crash.dir });
      const found = await here.list();
      expect(found.filter(({ isDamaged }) => isDamaged)).toEqual([]);
      if (found.length > 0) await (await here.open(id))?.remove();
      const other = `${id.slice(0, -1)}2`;
      await (await begin({ dir: crash.dir }, { id: other })).close();
      expect(await readdir(crash.dir), `before ${crash.call}`).toEqual([other]);
    }
  });

  test('before any call of resuming a session leaves it complete, with its content', async () => {
    await leave('one\n');
    const crashes = await crashesOf(async () => (await staging().resume(id, writeLimits))?.close());
    await checkCrashes(crashes, ['one\n']);
  });
});

describe('a disk that refuses a call', () => {
  test('confirms nothing, reports it with a code, and loses nothing on a retry', async () => {
    const scenes: [string, (staged: StagedWrite) => Promise<void>, string, string, string][] = [
      ['save', (staged) => staged.save(bytes('two\n'), received(8)), 'one\ntwo\n', 'ENOSPC', 'DISK_FULL'],
      ['replace', (staged) => staged.replace(bytes('new'), received(3)), 'new', 'EIO', 'WRITE_FAILED'],
    ];
    for (const [name, act, after, code, expected] of scenes) {
      for (let at = 1; ; at += 1) {
        const staged = await begin();
        await staged.save(bytes('one\n'), received(4));
        let left = at;
        points.pass = (call) => {
          left -= 1;
          if (left === 0) throw Object.assign(new Error(`${code}: made to fail, ${call}`), { code });
        };
        const outcome = await act(staged).then(
          () => null,
          (error: unknown) => error,
        );
        points.pass = () => undefined;
        const where = `${name}, ${code} at call ${at}`;
        if (outcome !== null) {
          expect(outcome, where).toBeInstanceOf(TeddyError);
          expect(outcome, where).toMatchObject({ code: expected });
          expect(text(await staged.read()), where).toBe('one\n');
          expect(staged.state.size, where).toBe(4);
          const found = await staging().readContent(id);
          expect(['one\n', after], where).toContain(text(found?.verified));
          // The first step of the next call must not use the failed one's leftovers.
          await (at % 2 === 0 ? act(staged) : staged.replace(bytes(after), received(after.length)));
        }
        expect(text(await staged.read()), where).toBe(after);
        await staged.close();
        expect(await staging().list(), where).toMatchObject([{ isDamaged: false, tailBytes: 0 }]);
        expect(text((await staging().readContent(id))?.verified), where).toBe(after);
        await staging().remove(id);
        if (left > 0) break;
        expect(at).toBeLessThan(40);
      }
    }
  });

  test('leaves nothing that a crash in the middle of the next call could turn into content', async () => {
    const failure = () => Object.assign(new Error('EIO: made to fail'), { code: 'EIO' });
    let copies = 0;
    for (let at = 1; ; at += 1) {
      const staged = await begin();
      await staged.save(bytes('one\n'), received(4));
      let left = at;
      points.pass = () => {
        left -= 1;
        if (left === 0) throw failure();
      };
      const failed = await staged.replace(bytes('new'), received(3)).then(
        () => false,
        () => true,
      );
      const made: string[] = [];
      points.pass = () => {
        made.push(join(base, `copy-${(copies += 1)}`));
        cpSync(dir, made.at(-1) ?? '', { recursive: true });
      };
      if (at % 2 === 0) await staged.replace(bytes('other'), received(5));
      else await staged.save(bytes('two\n'), received(failed ? 8 : 7));
      points.pass = () => undefined;
      await staged.close();
      const after = at % 2 === 0 ? 'other' : failed ? 'one\ntwo\n' : 'newtwo\n';
      for (const copy of made) {
        const content = await staging({ dir: copy }).readContent(id);
        expect(['one\n', 'new', after], `failed at ${at}`).toContain(text(content?.verified));
        expect(await staging({ dir: copy }).find(id)).toMatchObject({ isDamaged: false });
      }
      expect(text((await staging().readContent(id))?.verified)).toBe(after);
      expect(await staging().find(id)).toMatchObject({ tailBytes: 0 });
      await staging().remove(id);
      if (left > 0) break;
      expect(at).toBeLessThan(40);
    }
  });

  test('begins and holds nothing, and the next session can begin', async () => {
    for (let at = 1; ; at += 1) {
      let left = at;
      points.pass = () => {
        left -= 1;
        if (left === 0) throw Object.assign(new Error('ENOSPC: made to fail'), { code: 'ENOSPC' });
      };
      const outcome = await begin().catch((error: unknown) => error);
      points.pass = () => undefined;
      if (outcome instanceof Error) expect(outcome, `at ${at}`).toMatchObject({ code: 'DISK_FULL' });
      else await (outcome as StagedWrite).remove();
      await (await begin({}, { id: `${id.slice(0, -1)}2` })).remove();
      expect(await readdir(dir)).toEqual([]);
      if (left > 0) break;
      expect(at).toBeLessThan(60);
    }
  });

  test('that cannot be written at all gives an error with its reason', async () => {
    await writeFile(dir, 'a file where the directory has to be');
    await expect(begin()).rejects.toMatchObject({ code: 'WRITE_FAILED', hint: expect.stringMatching(/\S/) as string });
  });
});

describe('files that somebody has changed', () => {
  interface Changed {
    name: string;
    before: Buffer;
    changed: Buffer;
  }

  const sent = 'first saved\nsecond ü';

  async function damaged(change: (name: string, original: Buffer) => Iterable<Buffer>): Promise<number> {
    await leave(sent);
    const original = await Promise.all(
      ['content.txt', 'state.json', 'metadata.json'].map(
        async (name) => [name, await readFile(inSession(name))] as const,
      ),
    );
    const cases = original.flatMap(([name, before]) =>
      [...change(name, before)].map((changed) => ({ name, before, changed })),
    );
    const total = cases.length;
    await Promise.all(
      Array.from({ length: 6 }, async (_, at) => {
        const here = join(base, `copy-${at}`);
        cpSync(dir, here, { recursive: true });
        for (let next = cases.pop(); next !== undefined; next = cases.pop()) await checkChanged(here, next);
      }),
    );
    return total;
  }

  async function checkChanged(here: string, { name, before, changed }: Changed): Promise<void> {
    await writeFile(join(here, id, name), changed);
    const content = await staging({ dir: here }).readContent(id);
    const found = await staging({ dir: here }).find(id);
    expect([sent, ''], name).toContain(text(content?.verified));
    const whole = Buffer.concat([content?.verified ?? bytes(''), content?.tail ?? bytes('')]);
    expect(whole).toEqual(name === 'content.txt' ? changed : Buffer.from(sent));
    if (found?.isDamaged === false) {
      expect(text(content?.verified)).toBe(sent);
      expect(found.record).toMatchObject(wanted);
      expect(found.state).toMatchObject({ phase: 'receiving', size: 21 });
    }
    expect((found?.state === null) === (text(content?.verified) === ''), `${name}: ${String(changed)}`).toBe(true);
    await writeFile(join(here, id, name), before);
  }

  test('that are truncated anywhere yield the original as verified, or all of it as damaged', async () => {
    const runs = await damaged(function* (_, original) {
      for (let length = 0; length < original.length; length += 1) yield original.subarray(0, length);
    });
    expect(runs).toBeGreaterThan(900);
  });

  test('with any byte changed yield the original as verified, or all of it as damaged', async () => {
    const runs = await damaged(function* (_, original) {
      for (let at = 0; at < original.length; at += 1) {
        const flipped = Buffer.from(original);
        flipped.writeUInt8((original[at] ?? 0) ^ (1 << (at % 8)), at);
        yield flipped;
      }
    });
    expect(runs).toBeGreaterThan(900);
  });

  test('with a tail of NULs, as a power cut leaves them, keep the original and set the rest aside', async () => {
    await leave(sent);
    await writeFile(inSession('content.txt'), Buffer.alloc(4096), { flag: 'a' });
    expect(await staging().find(id)).toMatchObject({ tailBytes: 4096, isDamaged: false });
    const staged = await staging().open(id);
    expect(text(await staged?.read())).toBe(sent);
    await staged?.close();
    expect((await readFile(inSession('tail-1.txt'))).equals(Buffer.alloc(4096))).toBe(true);
    expect((await stat(inSession('content.txt'))).size).toBe(21);
  });

  test('whose content is missing or cut are not added to, with a hole or without', async () => {
    const staged = await begin();
    await staged.save(bytes(sent), received(21));
    await truncate(inSession('content.txt'), 5);
    await expect(staged.save(bytes('more'), received(25))).rejects.toMatchObject({ code: 'STAGING_DAMAGED' });
    await expect(staged.read()).rejects.toMatchObject({ code: 'STAGING_DAMAGED' });
    await rm(inSession('content.txt'));
    await expect(staged.save(bytes('more'), received(25))).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    expect(existsSync(inSession('content.txt'))).toBe(false);
    await staged.close();
  });

  test('that name another target, another session or no number are damaged, even if they are sealed', async () => {
    await leave(sent);
    const metadata = JSON.parse(await readFile(inSession('metadata.json'), 'utf8')) as Record<string, unknown>;
    delete metadata['check'];
    for (const wrong of [
      { target: '../outside' },
      { target: '.git/config' },
      { target: '' },
      { id: `${id.slice(0, -1)}9` },
      { operation: 'delete' },
      { pid: '1' },
      { line: { ref: 'HEAD', session: 'x' } },
      { base: { ...wanted.base, mode: -1 } },
      { begunAt: 'yesterday' },
    ]) {
      await writeFile(inSession('metadata.json'), JSON.stringify({ ...metadata, ...wrong }));
      expect(await staging().find(id), JSON.stringify(wrong)).toMatchObject({ record: null, isDamaged: true });
      await expect(staging().open(id)).rejects.toMatchObject({ code: 'STAGING_DAMAGED' });
    }
    await writeFile(inSession('metadata.json'), JSON.stringify(metadata));
    expect(await staging().find(id)).toMatchObject({ isDamaged: false });
  });

  test('that cannot be read are listed as damaged, and do not affect other sessions', async () => {
    await leave(sent);
    await rm(inSession('content.txt'));
    await mkdir(inSession('content.txt'));
    expect(await staging().list()).toMatchObject([{ id, isDamaged: true, record: null }]);
    await (await begin({}, { id: `${id.slice(0, -1)}2` })).close();
  });
});

describe('a controller', () => {
  const controlled = { hasController: true };
  const other = `${id.slice(0, -1)}2`;

  /** Leaves it like a different process. */
  async function leaveOf(pid: number): Promise<void> {
    await (await begin({}, controlled)).close();
    const metadata = JSON.parse(await readFile(inSession('metadata.json'), 'utf8')) as Record<string, unknown>;
    delete metadata['check'];
    await writeFile(inSession('metadata.json'), JSON.stringify({ ...metadata, pid }));
  }

  test('that lives keeps the slot, and one that died frees it', async () => {
    await leaveOf(42);
    const alive = { isAlive: async (pid: number, bootId: string) => pid === 42 && bootId === 'boot-1' };
    expect(await staging(alive).find(id)).toMatchObject({ isControlled: true });
    await expect(begin(alive, { id: other })).rejects.toMatchObject({ code: 'WRITE_ACTIVE' });
    expect(await staging().find(id)).toMatchObject({ isControlled: false });
    await (await begin({}, { id: other })).close();
  });

  test('whose number another process has by now is dead', async () => {
    let startTime = '100';
    const processes = {
      startTime: async () => startTime,
      isAlive: async (pid: number, _: string, started?: string | null) => pid === 42 && started === '100',
    };
    for (const isControlled of [true, false]) {
      await (await begin(processes, controlled)).close();
      const metadata = JSON.parse(await readFile(inSession('metadata.json'), 'utf8')) as Record<string, unknown>;
      delete metadata['check'];
      await writeFile(inSession('metadata.json'), JSON.stringify({ ...metadata, pid: 42 }));
      expect(await staging(processes).find(id)).toMatchObject({ isControlled });
      await staging(processes).remove(id);
      startTime = '99';
    }
  });

  test('under our pid that this process never was is dead', async () => {
    const foreign = `${id.slice(0, -1)}3`;
    await (await begin({}, { ...controlled, id: foreign })).close({ goesOn: true });
    expect(await staging().find(foreign)).toMatchObject({ isControlled: true });
    const path = join(dir, foreign, 'metadata.json');
    const metadata = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>;
    delete metadata['check'];
    const renamed = `${id.slice(0, -1)}4`;
    cpSync(join(dir, foreign), join(dir, renamed), { recursive: true });
    const nonce = 'f'.repeat(32);
    await writeFile(join(dir, renamed, 'metadata.json'), JSON.stringify({ ...metadata, id: renamed, nonce }));
    expect(await staging().find(renamed)).toMatchObject({ isControlled: false });
  });

  test('that resumes a session is the recorded one from then on', async () => {
    await leaveOf(42);
    const staged = await staging().resume(id, writeLimits);
    expect(staged?.record).toMatchObject({ pid: process.pid, hasController: true });
    await staged?.close({ goesOn: true });
    expect(await staging().find(id)).toMatchObject({ isControlled: true, record: { pid: process.pid } });
    await expect(begin({}, { id: other })).rejects.toMatchObject({ code: 'WRITE_ACTIVE' });
  });
});

test('a directory that another user may not open exists, and stops nobody', async () => {
  await leave('one\n');
  await chmod(inSession(''), 0);
  // Root may open everything.
  const isRoot = process.getuid?.() === 0;
  expect(await staging().list()).toMatchObject([{ id, isDamaged: !isRoot }]);
  await chmod(inSession(''), 0o700);
});

import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AnswerTarget, AnswerStaging } from '../../src/ports/disk.ts';
import type { RefName, SessionId, TurnName } from '../../src/names.ts';
import { answerStaging, type AnswerStagingOptions } from '../../src/system/answer-staging.ts';
import { startWait } from '../support/wait.ts';
import { runs } from '../support/runs.ts';

const id = '019bf000-0000-7000-8000-000000000001';
const place: AnswerTarget = {
  id,
  session: '20260124-add-login' as SessionId,
  turn: '01' as TurnName,
  ref: 'refs/heads/teddy/20260124-add-login' as RefName,
  recordCount: 1,
  provider: 'openai',
  model: 'gpt-test',
  agent: 'pathfinder',
};
const quick = { lines: 3, waitMs: 20, gapMs: 0 };
const never = { lines: Infinity, waitMs: 1_000_000, gapMs: 0 };

let base: string;
let dir: string;
let failures: string[];
let steps: string[];

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'teddy-staging-'));
  dir = join(base, 'answers');
  [failures, steps] = [[], []];
});
afterEach(async () => {
  await chmod(base, 0o700);
  await rm(base, { recursive: true });
});

function staging(options: Partial<AnswerStagingOptions> = {}): AnswerStaging {
  return answerStaging({
    dir,
    clock: { now: () => new Date() },
    bootId: async () => 'boot-1',
    isAlive: async () => false,
    startTime: async () => null,
    warn: (text) => failures.push(text),
    onStep: (step) => steps.push(step),
    pace: never,
    ...options,
  });
}

const path = (name: string) => join(dir, id, name);
const readState = async () => JSON.parse(await readFile(path('state.json'), 'utf8')) as { size: number };

/** Leaves an answer for another process that was never told of it: this one still counts the answer as its own. */
async function leave(text: string, tail = '', more: Partial<AnswerTarget> = {}): Promise<string> {
  const other = `019bf000-0000-7000-8000-${String((left += 1)).padStart(12, '0')}`;
  const answer = staging().begin({ ...place, id, ...more });
  answer.add(text);
  await answer.save();
  if (tail !== '') await writeFile(path('content.txt'), text + tail);
  const metadata = (await readFile(path('metadata.json'), 'utf8')).replaceAll(id, other);
  await writeFile(path('metadata.json'), metadata);
  await rename(join(dir, id), join(dir, other));
  await answer.discard();
  return other;
}
let left = 1000;

async function takeOnly(options: Partial<AnswerStagingOptions> = {}) {
  const [orphan, ...others] = await staging(options).orphans();
  expect(others).toEqual([]);
  return orphan;
}

describe('what other processes are being answered', () => {
  const alive = { isAlive: async () => true };

  test('is read as far as it is durable, and of that session alone', async () => {
    const other = await leave('It would be\n', 'best');
    await leave('Elsewhere', '', { session: '20260124-other' as SessionId });
    const arriving = await staging(alive).arriving(place.session);
    expect(arriving).toEqual([{ place: { ...place, id: expect.any(String) }, text: 'It would be\n' }]);
    expect(await readdir(dir)).toContain(other);
  });

  test('is nothing of this process, of a dead one, or of a directory that is just being removed', async () => {
    expect(await staging(alive).arriving(place.session)).toEqual([]);
    const own = staging().begin(place);
    own.add('Mine\n');
    await own.save();
    expect(await staging(alive).arriving(place.session)).toEqual([]);
    await own.discard();
    const other = await leave('Dead\n');
    expect(await staging().arriving(place.session)).toEqual([]);
    await rm(join(dir, other, 'state.json'));
    await rm(join(dir, other, 'metadata.json'));
    expect(await staging(alive).arriving(place.session)).toEqual([]);
    expect(failures).toEqual([]);
  });
});

describe('an answer that arrives', () => {
  test('that cannot be removed is not taken for left by another command of its process', async () => {
    const answer = staging().begin(place);
    answer.add('all of it');
    await answer.save();
    await rm(path('content.txt'));
    await mkdir(path('content.txt'));
    await answer.discard();
    expect(await staging().orphans()).toEqual([]);
    await rm(path('content.txt'), { recursive: true });
    await answer.discard();
    expect(await readdir(dir)).toEqual([]);
  });

  test('writes nothing when it is discarded before a save is due', async () => {
    const answer = staging().begin(place);
    answer.add('line\n'.repeat(1000));
    await answer.discard();
    expect(await readdir(base)).toEqual([]);
    await answer.save();
    expect(await readdir(base)).toEqual([]);
  });

  test('is saved after so many lines, and after so long a time, but not at once', async () => {
    const byLines = staging({ pace: { lines: 3, waitMs: 1_000_000, gapMs: 30 } }).begin(place);
    byLines.add('one\ntwo\n');
    await sleep(60);
    expect(await readdir(base)).toEqual([]);
    byLines.add('three\n');
    await expect.poll(() => readState().catch(() => null)).toMatchObject({ size: 14 });
    await byLines.discard();
    const byTime = staging({ pace: { lines: Infinity, waitMs: 30, gapMs: 0 } }).begin(place);
    byTime.add('word');
    expect(await readdir(dir)).toEqual([]);
    await expect.poll(() => readState().catch(() => null)).toMatchObject({ size: 4 });
    byTime.add(' more');
    await expect.poll(readState).toMatchObject({ size: 9 });
    await byTime.discard();
    expect(await readdir(dir)).toEqual([]);
  });

  test('is saved no more often than the pace allows', async () => {
    const countSaves = () => steps.filter((step) => step === 'staging-state').length;
    const wait = startWait(90);
    const answer = staging({ pace: { lines: 1, waitMs: 10, gapMs: 100 } }).begin(place);
    while (countSaves() < 2) {
      answer.add('line\n');
      await sleep(5);
    }
    expect(wait.isOver()).toBe(true);
    await answer.discard();
  });

  test('is readable by its owner only, says whose it is, and the steps come in the order that recovery counts on', async () => {
    const answer = staging().begin(place);
    answer.add('text');
    await answer.save();
    const modes = await Promise.all(
      ['', 'metadata.json', 'content.txt', 'state.json'].map(async (name) => (await stat(path(name))).mode & 0o777),
    );
    expect(modes).toEqual([0o700, 0o600, 0o600, 0o600]);
    expect(JSON.parse(await readFile(path('metadata.json'), 'utf8'))).toMatchObject({
      place,
      pid: process.pid,
      bootId: 'boot-1',
    });
    expect(steps).toEqual(['staging-metadata', 'staging-made', 'staging-content', 'staging-state']);
    await answer.discard();
  });

  test('is saved in whole characters, even if one arrives in halves', async () => {
    const answer = staging().begin(place);
    answer.add('ü\ud83d');
    await answer.save();
    expect(await readFile(path('content.txt'), 'utf8')).toBe('ü');
    answer.add('\ude00!');
    await answer.save();
    expect(await readFile(path('content.txt'), 'utf8')).toBe('ü😀!');
    await answer.discard();
  });

  test('that the disk does not take stays in memory with one warning, and is saved when the disk takes it', async () => {
    await writeFile(dir, 'a file where the directory has to be');
    const answer = staging({ pace: quick }).begin(place);
    answer.add('first\n');
    await answer.save();
    answer.add('second\nthird\nfourth\n');
    await expect.poll(() => failures).toHaveLength(1);
    await sleep(50);
    expect(failures).toHaveLength(1);
    await rm(dir);
    await expect
      .poll(() => readFile(path('content.txt'), 'utf8').catch(() => ''))
      .toBe('first\nsecond\nthird\nfourth\n');
    await answer.discard();
    expect(await readdir(dir)).toEqual([]);
  });

  test('that the disk does not take keeps no process from ending', async () => {
    await writeFile(dir, 'a file where the directory has to be');
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const answer = staging().begin(place);
    answer.add('text');
    await answer.save();
    expect(failures).toHaveLength(1);
    expect(timers()).toBe(before);
    await answer.discard();
  });

  test('is saved although an attempt that failed has left its half', async () => {
    for (const half of [`${id}.new`, id]) await mkdir(join(dir, half, 'half'), { recursive: true });
    const answer = staging().begin(place);
    answer.add('text');
    await answer.save();
    expect(failures).toEqual([]);
    expect(await readFile(path('content.txt'), 'utf8')).toBe('text');
    expect(await readdir(dir)).toEqual([id]);
    await answer.discard();
  });

  test('whose directory somebody removes is written anew, whole', async () => {
    const answer = staging().begin(place);
    answer.add('one ');
    await answer.save();
    await rm(join(dir, id), { recursive: true });
    answer.add('two');
    await answer.save();
    await answer.save();
    expect(await readFile(path('content.txt'), 'utf8')).toBe('one two');
    await answer.discard();
  });

  test('is no orphan while this process works on it, whoever looks', async () => {
    const answer = staging().begin(place);
    answer.add('text');
    await answer.save();
    expect(await staging().orphans()).toEqual([]);
    await answer.discard();
  });
});

describe('an answer whose process is dead', () => {
  test('is found with its place, all that was saved, and what no save has confirmed', async () => {
    const other = await leave('saved ü\n', 'and more');
    const orphan = await takeOnly();
    expect(orphan).toMatchObject({ id: other, place: { ...place, id: other } });
    expect(await orphan?.claim()).toEqual({ text: 'saved ü\nand more', unconfirmedBytes: 8, damaged: null });
    await orphan?.discard();
    expect(await readdir(dir)).toEqual([]);
  });

  test('is left alone while its process lives', async () => {
    await leave('text');
    const asked: unknown[] = [];
    const isAlive = async (...process: unknown[]) => asked.push(process) > 0;
    expect(await staging({ isAlive }).orphans()).toEqual([]);
    expect(asked).toEqual([[process.pid, 'boot-1']]);
  });

  test('is taken over by one of two commands, and by a third when that one dies too', async () => {
    const other = await leave('text');
    const [[first], [second]] = await Promise.all([staging().orphans(), staging().orphans()]);
    const taken = await Promise.all([first?.claim(), second?.claim()]);
    expect(taken.filter((answer) => answer !== null)).toHaveLength(1);
    expect(await readdir(dir)).toEqual([`${other}.${process.pid}.boot-1`]);
    expect(await staging({ isAlive: async () => true }).orphans()).toEqual([]);
    const third = await takeOnly();
    expect(await third?.claim()).toMatchObject({ text: 'text' });
    await third?.discard();
    expect(await readdir(dir)).toEqual([]);
  });

  test('keeps the text before what is no text, and all bytes beside it', async () => {
    await leave('saved', '');
    const [name = ''] = await readdir(dir);
    const content = join(dir, name, 'content.txt');
    for (const [tail, text] of [
      [Buffer.from([0xc3]), 'saved'],
      // Half a character that begins like the mark for a broken one.
      [Buffer.from([0xef, 0xbf]), 'saved'],
      [Buffer.from('ok\0\0\0'), 'savedok'],
      [Buffer.concat([Buffer.from('é'), Buffer.from([0xf0, 0x9f])]), 'savedé'],
    ] as const) {
      await writeFile(content, Buffer.concat([Buffer.from('saved'), tail]));
      const found = await (await takeOnly())?.claim();
      expect(found?.text).toBe(text);
      expect(Buffer.from(found?.damaged ?? [])).toEqual(Buffer.concat([Buffer.from('saved'), tail]));
      await rename(join(dir, (await readdir(dir))[0] ?? ''), join(dir, name));
    }
  });

  test('truncated anywhere, or with any byte of it changed, gives a beginning of what was sent, or all bytes as damaged', async () => {
    await leave('first saved\nsecond ü');
    const [name = ''] = await readdir(dir);
    const files = ['content.txt', 'state.json'];
    const originals = await Promise.all(files.map((file) => readFile(join(dir, name, file))));
    const read = async () => {
      const found = await (await takeOnly())?.claim();
      await rename(join(dir, (await readdir(dir))[0] ?? ''), join(dir, name));
      return found;
    };
    for (const [at, file] of files.entries()) {
      const original = originals[at] ?? Buffer.alloc(0);
      for (let offset = 0; offset < original.length; offset += 1) {
        const flipped = Buffer.from(original);
        flipped.writeUInt8((original[offset] ?? 0) ^ 1, offset);
        for (const bytes of [original.subarray(0, offset), flipped]) {
          await writeFile(join(dir, name, file), bytes);
          const found = await read();
          expect('first saved\nsecond ü'.startsWith(found?.text ?? 'nothing')).toBe(true);
          const kept = file === 'content.txt' ? bytes : originals[0];
          if (found?.text !== 'first saved\nsecond ü') expect(Buffer.from(found?.damaged ?? [])).toEqual(kept);
        }
      }
      await writeFile(join(dir, name, file), original);
    }
  });

  test('that cannot be read stops nothing: it is warned about, and stays', async () => {
    const other = await leave('text');
    const orphan = await takeOnly();
    await rename(join(dir, other, 'content.txt'), join(dir, other, 'away'));
    await mkdir(join(dir, other, 'content.txt'));
    expect(await orphan?.claim()).toBeNull();
    expect(failures).toEqual([expect.stringContaining('EISDIR')]);
    expect(await readdir(dir)).toEqual([`${other}.${process.pid}.boot-1`]);
    await rm(dir, { recursive: true });
    await writeFile(dir, 'a file where the directory has to be');
    expect(await staging().orphans()).toEqual([]);
    expect(failures).toHaveLength(2);
  });

  test('without readable metadata is found after a minute, with no place', async () => {
    await leave('text');
    const [name = ''] = await readdir(dir);
    await writeFile(join(dir, name, 'metadata.json'), '{"place":');
    expect(await staging().orphans()).toEqual([]);
    await utimes(join(dir, name), new Date(0), new Date(0));
    const orphan = await takeOnly();
    expect(orphan).toMatchObject({ id: name, place: null });
    expect(await orphan?.claim()).toMatchObject({ text: 'text' });
  });

  test('that was killed before it had a name leaves nothing for long', async () => {
    const unfinished = join(dir, `${id}.new`);
    await mkdir(unfinished, { recursive: true });
    await staging().orphans();
    expect(await readdir(dir)).toEqual([`${id}.new`]);
    await utimes(unfinished, new Date(0), new Date(0));
    expect(await staging().orphans()).toEqual([]);
    expect(await readdir(dir)).toEqual([]);
  });

  test('whose removal was cut short before its directory went leaves nothing', async () => {
    await mkdir(join(dir, id), { recursive: true });
    expect(await staging().orphans()).toEqual([]);
    expect(await readdir(dir)).toEqual([]);
  });

  test('is there byte for byte, whatever was saved in whichever pieces', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 5 }), async (pieces) => {
        const answer = staging().begin(place);
        for (const piece of pieces) {
          answer.add(piece);
          await answer.save();
        }
        const text = pieces.join('');
        expect(await readFile(path('content.txt'), 'utf8').catch(() => '')).toBe(text);
        await answer.discard();
      }),
      runs(20),
    );
  });
});

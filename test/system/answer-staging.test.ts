import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { seal, unseal } from '../../src/disk/sealed-json.ts';
import { journalIn, type JournalOptions } from '../../src/journal/journal.ts';
import type { AnswerTarget, AnswerStaging } from '../../src/ports/disk.ts';
import type { RefName, SessionId, TurnName } from '../../src/names.ts';
import { answerKind, answerStaging, type AnswerStagingOptions } from '../../src/system/runs/answer-staging.ts';
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
  dir = join(base, 'journal');
  [failures, steps] = [[], []];
});
afterEach(() => rm(base, { recursive: true }));

type Options = Partial<Pick<JournalOptions, 'isAlive'> & Pick<AnswerStagingOptions, 'pace'>>;

function staging({ pace = never, isAlive = async () => false }: Options = {}): AnswerStaging {
  const processes = { bootId: async () => 'boot-1', isAlive, startTime: async () => null };
  return answerStaging({
    journal: journalIn({ dir, ...processes, onStep: (step) => steps.push(step) }),
    claims: join(base, 'talks'),
    ...processes,
    warn: (text) => failures.push(text),
    pace,
  });
}

/** The only note or content. */
const pathOf = async (end: 'json' | 'content') =>
  join(dir, (await readdir(dir)).find((name) => name.endsWith(`.${end}`)) ?? 'none');
const readContent = async () => readFile(await pathOf('content'), 'utf8');
const readSize = async () =>
  (JSON.parse(await readFile(await pathOf('json'), 'utf8')) as { staged: { size: number } | null }).staged?.size;

/** Leaves an answer like another process that is killed. */
async function leave(text: string, tail: string | Buffer = '', more: Partial<AnswerTarget> = {}): Promise<void> {
  const before = new Set(await readdir(dir).catch(() => []));
  const answer = staging().begin({ ...place, ...more });
  answer.add(text);
  await answer.save();
  const names = (await readdir(dir)).filter((name) => !before.has(name));
  const [content = '', note = ''] = names.toSorted().map((name) => join(dir, name));
  const left = unseal(await readFile(note, 'utf8')) ?? {};
  await writeFile(content, Buffer.concat([Buffer.from(text), Buffer.from(tail)]));
  await writeFile(note, JSON.stringify(seal({ ...left, pid: process.ppid, nonce: 'f'.repeat(32) })));
}

async function takeOnly(options: Options = {}) {
  const [orphan, ...others] = await staging(options).orphans();
  expect(others).toEqual([]);
  return orphan;
}

describe('answers that other processes are receiving', () => {
  const alive = { isAlive: async () => true };

  test('are read as far as they are durable, and only from that session', async () => {
    await leave('It would be\n', 'best');
    await leave('Elsewhere', '', { session: '20260124-other' as SessionId });
    expect(await staging(alive).arriving(place.session)).toEqual([{ place, text: 'It would be\n' }]);
    expect(await readdir(dir)).toHaveLength(4);
  });

  test('exclude this process’s own, a dead one’s, and those just being removed', async () => {
    expect(await staging(alive).arriving(place.session)).toEqual([]);
    const own = staging().begin(place);
    own.add('Mine\n');
    await own.save();
    expect(await staging(alive).arriving(place.session)).toEqual([]);
    await own.discard();
    await leave('Dead\n');
    expect(await staging().arriving(place.session)).toEqual([]);
    await rm(await pathOf('content'));
    expect(await staging(alive).arriving(place.session)).toEqual([]);
    expect(failures).toEqual([]);
  });
});

describe('an arriving answer', () => {
  test('that cannot be removed is not taken for a leftover of another command in its process', async () => {
    const answer = staging().begin(place);
    answer.add('all of it');
    await answer.save();
    const note = await pathOf('json');
    const text = await readFile(note, 'utf8');
    await rm(note);
    await mkdir(note);
    await answer.discard();
    await rm(note, { recursive: true });
    await writeFile(note, text);
    expect(await staging().orphans()).toEqual([]);
    await answer.discard();
    expect(await readdir(dir)).toEqual([]);
  });

  test('writes nothing if it is discarded before a save is due', async () => {
    const answer = staging().begin(place);
    answer.add('line\n'.repeat(1000));
    await answer.discard();
    expect(await readdir(base)).toEqual([]);
    await answer.save();
    expect(await readdir(base)).toEqual([]);
  });

  test('is saved after a number of lines, or after a time, but not immediately', async () => {
    const byLines = staging({ pace: { lines: 3, waitMs: 1_000_000, gapMs: 30 } }).begin(place);
    byLines.add('one\ntwo\n');
    await sleep(60);
    expect(await readdir(base)).toEqual([]);
    byLines.add('three\n');
    await expect.poll(() => readSize().catch(() => null)).toBe(14);
    await byLines.discard();
    const byTime = staging({ pace: { lines: Infinity, waitMs: 30, gapMs: 0 } }).begin(place);
    byTime.add('word');
    expect(await readdir(dir)).toEqual([]);
    await expect.poll(() => readSize().catch(() => null)).toBe(4);
    byTime.add(' more');
    await expect.poll(readSize).toBe(9);
    await byTime.discard();
    expect(await readdir(dir)).toEqual([]);
  });

  test('is saved no more often than the pace allows', async () => {
    const countSaves = () => steps.filter((step) => step === 'answer-noted').length;
    const wait = startWait(90);
    const answer = staging({ pace: { lines: 1, waitMs: 10, gapMs: 100 } }).begin(place);
    while (countSaves() < 2) {
      answer.add('line\n');
      await sleep(5);
    }
    expect(wait.isOver()).toBe(true);
    await answer.discard();
  });

  test('is readable by its owner only, names its owner, and its steps are in the order that recovery relies on', async () => {
    const answer = staging().begin(place);
    answer.add('text');
    await answer.save();
    for (const name of await readdir(dir)) expect((await stat(join(dir, name))).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(await pathOf('json'), 'utf8'))).toMatchObject({
      facts: { place },
      pid: process.pid,
      bootId: 'boot-1',
    });
    expect(steps).toEqual(['answer-begun', 'answer-made', 'answer-staged', 'answer-noted']);
    await answer.discard();
  });

  test('is saved in whole characters, even if one arrives in halves', async () => {
    const answer = staging().begin(place);
    answer.add('ü\ud83d');
    await answer.save();
    expect(await readContent()).toBe('ü');
    answer.add('\ude00!');
    await answer.save();
    expect(await readContent()).toBe('ü😀!');
    await answer.discard();
  });

  test('that the disk refuses stays in memory with one warning, and is saved when the disk recovers', async () => {
    await writeFile(dir, 'a file where the directory has to be');
    const answer = staging({ pace: quick }).begin(place);
    answer.add('first\n');
    await answer.save();
    answer.add('second\nthird\nfourth\n');
    await expect.poll(() => failures).toHaveLength(1);
    await sleep(50);
    expect(failures).toHaveLength(1);
    await rm(dir);
    await expect.poll(() => readContent().catch(() => '')).toBe('first\nsecond\nthird\nfourth\n');
    await answer.discard();
    expect(await readdir(dir)).toEqual([]);
  });

  test('that the disk refuses does not keep the process from ending', async () => {
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

  test('whose directory somebody removes is rewritten completely', async () => {
    const answer = staging().begin(place);
    answer.add('one ');
    await answer.save();
    await rm(dir, { recursive: true });
    answer.add('two');
    await answer.save();
    await expect.poll(() => readContent().catch(() => '')).toBe('one two');
    await answer.discard();
  });

  test('is not an orphan while this process works on it, whoever looks', async () => {
    const answer = staging().begin(place);
    answer.add('text');
    await answer.save();
    expect(await staging().orphans()).toEqual([]);
    await answer.discard();
  });
});

describe('a dead process’s answer', () => {
  test('is found with its place, all that was saved, and the unconfirmed rest', async () => {
    await leave('saved ü\n', 'and more');
    const orphan = await takeOnly();
    expect(orphan).toMatchObject({ id, place });
    expect(await orphan?.claim()).toEqual({ text: 'saved ü\nand more', unconfirmedBytes: 8, damaged: null });
    await orphan?.discard();
    expect(await readdir(dir)).toEqual([]);
  });

  test('is left alone while its process lives', async () => {
    await leave('text');
    expect(await staging({ isAlive: async (pid) => pid === process.ppid }).orphans()).toEqual([]);
  });

  test.each([
    [Buffer.from([0xc3]), ''],
    // Half a character that begins like the replacement character.
    [Buffer.from([0xef, 0xbf]), ''],
    [Buffer.from('ok\0\0\0'), 'ok'],
    [Buffer.concat([Buffer.from('é'), Buffer.from([0xf0, 0x9f])]), 'é'],
  ])('keeps the text before bytes that are not text (%j), and all bytes beside it', async (tail, text) => {
    await leave('saved', tail);
    const found = await (await takeOnly())?.claim();
    expect(found?.text).toBe(`saved${text}`);
    expect(Buffer.from(found?.damaged ?? [])).toEqual(Buffer.concat([Buffer.from('saved'), tail]));
  });

  test('that is truncated or has a changed byte yields the beginning of the original, or all bytes as damaged', async () => {
    await leave('first saved\nsecond ü');
    for (const end of ['content', 'json'] as const) {
      const path = await pathOf(end);
      const original = await readFile(path);
      const content = await readFile(await pathOf('content'));
      for (let offset = 0; offset < original.length; offset += 1) {
        const flipped = Buffer.from(original);
        flipped.writeUInt8((original[offset] ?? 0) ^ 1, offset);
        for (const bytes of [original.subarray(0, offset), flipped]) {
          await writeFile(path, bytes);
          const [left] = await journalIn({ dir, isAlive: async () => false }).look(answerKind);
          const { verified, tail, isDamaged } = (await left?.read()) ?? {};
          const text = Buffer.from(verified ?? []).toString();
          expect('first saved\nsecond ü'.startsWith(text)).toBe(true);
          const kept = end === 'content' ? bytes : content;
          if (isDamaged !== false) expect(Buffer.from(tail ?? [])).toEqual(Buffer.from(kept));
          else expect(text).toBe('first saved\nsecond ü');
        }
      }
      await writeFile(path, original);
    }
  });

  test('that cannot be read stops nothing: it causes a warning, and stays', async () => {
    await leave('text');
    const orphan = await takeOnly();
    const content = await pathOf('content');
    await rm(content);
    await mkdir(content);
    expect(await orphan?.claim()).toBeNull();
    expect(failures).toEqual([expect.stringContaining('EISDIR')]);
    await rm(dir, { recursive: true });
    await writeFile(dir, 'a file where the directory has to be');
    expect(await staging().orphans()).toEqual([]);
    expect(failures).toHaveLength(2);
  });

  test('whose note is damaged has no place, and its text counts as never confirmed', async () => {
    await leave('text');
    await writeFile(await pathOf('json'), '{"facts":');
    const orphan = await takeOnly();
    expect(orphan?.place).toBeNull();
    expect(await orphan?.claim()).toEqual({ text: 'text', unconfirmedBytes: 4, damaged: null });
    await orphan?.discard();
    expect(await readdir(dir)).toEqual([]);
  });

  test('is removed, with its bytes, after a kill between its note and the bytes', async () => {
    await leave('text');
    await rm(await pathOf('json'));
    expect(await staging().orphans()).toEqual([]);
    expect(await readdir(dir)).toEqual([]);
  });

  test('is kept byte for byte, whatever pieces it was saved in', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 5 }), async (pieces) => {
        const answer = staging().begin(place);
        for (const piece of pieces) {
          answer.add(piece);
          await answer.save();
        }
        const text = pieces.join('');
        expect(await readContent().catch(() => '')).toBe(text);
        await answer.discard();
      }),
      runs(20),
    );
  });
});

import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { encodeEntry, entryKinds, type Entry } from '../../src/session/entries/entry.ts';
import { openLineIndex, type EntryHead, type LineIndex } from '../../src/session/lines/line-index.ts';
import type { Cache } from '../../src/ports/git.ts';
import type { Oid, RefName, SessionId, TurnName } from '../../src/names.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const oidOf = (at: number) => at.toString(16).padStart(40, '0') as Oid;
const refOf = (name: string) => `refs/heads/${name}` as RefName;

/** A cache like a repository's, which the next process reopens. */
function keptCache(): { next(): Cache; bytes: Map<string, Uint8Array>; writes: number } {
  const bytes = new Map<string, Uint8Array>();
  const cache = {
    bytes,
    writes: 0,
    next: (): Cache => ({
      read: async (key) => bytes.get(key) ?? null,
      write: async (key, pieces) => {
        cache.writes += 1;
        bytes.set(key, Buffer.concat(pieces));
      },
    }),
  };
  return cache;
}

const head = (title: string): EntryHead => ({
  kind: 'report',
  session: '20260124-x' as SessionId,
  turn: '01' as TurnName,
  id: 'id',
  created: '2026-01-24T00:00:00.000Z',
  title,
});

describe('the line index', () => {
  propertyTest('returns the data stored for a tip, whatever it contains', async () => {
    const text = fc.string({ unit: 'grapheme' });
    const entry = fc.record(
      {
        kind: fc.constantFrom(...entryKinds),
        session: text as fc.Arbitrary<SessionId>,
        turn: fc.option(text as fc.Arbitrary<TurnName>),
        id: text,
        created: text,
        title: text,
        status: text,
      },
      { requiredKeys: ['kind', 'session', 'turn', 'id', 'created', 'title'] },
    );
    const fields = fc.option(fc.dictionary(text, fc.array(fc.oneof(text, fc.integer(), fc.boolean()))), {
      nil: undefined,
    });
    const name = fc.string({ unit: fc.constantFrom('a', 'ü', '/', '💡', '-', "'"), minLength: 1 });
    const line = fc.record({ nearest: fc.option(fc.record({ oid: fc.nat().map(oidOf), entry })), fields });
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(name, fc.tuple(fc.nat().map(oidOf), line), { noNullPrototype: true }),
        async (lines) => {
          const cache = keptCache();
          const index = await openLineIndex(cache.next());
          for (const [ref, [tip, one]] of Object.entries(lines)) index.set(refOf(ref), tip, one);
          await index.save();
          const next = await openLineIndex(cache.next());
          for (const [ref, [tip, one]] of Object.entries(lines)) expect(next.get(refOf(ref), tip)).toEqual(one);
        },
      ),
      runs(200),
    );
  });

  test('has nothing for a tip that has moved, or for a new ref', async () => {
    const cache = keptCache();
    const index = await openLineIndex(cache.next());
    index.set(refOf('a'), oidOf(1), { nearest: { oid: oidOf(1), entry: head('one') } });
    const expectOne = (place: LineIndex) => {
      expect(place.get(refOf('a'), oidOf(1))?.nearest?.entry.title).toBe('one');
      expect(place.get(refOf('a'), oidOf(2))).toBeUndefined();
      expect(place.get(refOf('b'), oidOf(1))).toBeUndefined();
    };
    expectOne(index);
    await index.save();
    expectOne(index);
    expectOne(await openLineIndex(cache.next()));
  });

  test('knows when a main line was last added to, once it is stored, and ignores other lines', async () => {
    const cache = keptCache();
    const index = await openLineIndex(cache.next());
    const id = '019bf000-0000-7000-8000-000000000001';
    const names = ['teddy/20260124-x', 'teddy/20260124-x--01-branch-01', 'teddy/20260124-other', 'x'];
    for (const name of names)
      index.set(refOf(name), oidOf(1), { nearest: { oid: oidOf(1), entry: { ...head('t'), id } } });
    index.set(refOf('teddy/20260124-none'), oidOf(1), { nearest: null });
    expect(index.mainMs(refOf('teddy/20260124-x'), oidOf(1))).toBeNaN();
    await index.save();
    const next = await openLineIndex(cache.next());
    expect(next.mainMs(refOf('teddy/20260124-x'), oidOf(1))).toBe(0x019bf0000000);
    expect(next.mainMs(refOf('teddy/20260124-x'), oidOf(2))).toBeNaN();
    for (const name of [...names.slice(1), 'teddy/20260124-none', 'teddy/20260124-unknown'])
      expect(next.mainMs(refOf(name), oidOf(1))).toBeNaN();
    next.set(refOf('teddy/20260124-x'), oidOf(1), { nearest: null });
    expect(next.mainMs(refOf('teddy/20260124-x'), oidOf(1))).toBeNaN();
  });

  test('forgets deleted refs, and keeps those that nobody has listed', async () => {
    const cache = keptCache();
    const index = await openLineIndex(cache.next());
    const archived = 'refs/teddy/archive/x' as RefName;
    for (const ref of [refOf('a'), refOf('b'), archived]) index.set(ref, oidOf(1), { nearest: null });
    index.setListed(['refs/heads/'], [{ ref: refOf('b'), oid: oidOf(1) }]);
    await index.save(4);
    expect(cache.writes).toBe(0);
    await index.save(3);
    const next = await openLineIndex(cache.next());
    expect([refOf('a'), refOf('b'), archived].map((ref) => next.get(ref, oidOf(1)))).toEqual([
      undefined,
      { nearest: null },
      { nearest: null },
    ]);
  });

  test('is written only for new data, and not at all for few changes among many', async () => {
    const cache = keptCache();
    const index = await openLineIndex(cache.next());
    for (let at = 0; at < 3000; at += 1) index.set(refOf(`${at}`), oidOf(at), { nearest: null });
    await index.save();
    await index.save();
    expect(cache.writes).toBe(1);
    const next = await openLineIndex(cache.next());
    for (let at = 0; at < 2; at += 1) next.set(refOf(`${at}`), oidOf(at + 1), { nearest: null });
    await next.save();
    expect(cache.writes).toBe(1);
    expect(next.get(refOf('1'), oidOf(2))).toEqual({ nearest: null });
    next.set(refOf('2'), oidOf(3), { nearest: null });
    await next.save();
    expect(cache.writes).toBe(2);
    expect((await openLineIndex(cache.next())).get(refOf('1'), oidOf(2))).toEqual({ nearest: null });
  });

  test.each([
    'no rows at all',
    'refs/heads/a\n',
    '\n\n',
    // An older index, whose rows do not begin with a time.
    `refs/heads/a ${oidOf(1)} null\n`,
    `refs/heads/a NaN ${oidOf(1)} {"x":1}\n`,
    `refs/heads/a NaN ${oidOf(1)} [["x"]]\n`,
    `refs/heads/a NaN ${oidOf(1)} [[1,2,3,4,5,6,7,8]]\n`,
    `refs/heads/a NaN ${oidOf(1)} [\n`,
    `refs/heads/a NaN ${oidOf(1)} []`,
  ])('takes nothing from an invalid row: %j', async (text) => {
    const cache = keptCache();
    cache.bytes.set('lines', Buffer.from(text));
    expect((await openLineIndex(cache.next())).get(refOf('a'), oidOf(1))).toBeUndefined();
  });

  test('contains the parts of an entry that lists need', async () => {
    const entry: Entry = { ...head('Größe'), details: ['more'], status: 'SUCCESS', model: 'm' };
    expect(encodeEntry(entry)).toContain('Größe');
    const cache = keptCache();
    const index = await openLineIndex(cache.next());
    index.set(refOf('a'), oidOf(1), { nearest: { oid: oidOf(1), entry } });
    await index.save();
    const found = (await openLineIndex(cache.next())).get(refOf('a'), oidOf(1));
    expect(found?.nearest?.entry).toEqual({ ...head('Größe'), status: 'SUCCESS' });
    expect(/^[\0-~]*$/.test(new TextDecoder().decode(cache.bytes.get('lines')))).toBe(true);
  });
});

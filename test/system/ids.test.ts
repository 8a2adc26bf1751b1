import { describe, expect, test, vi } from 'vitest';
import { systemClock, systemIds, sha256 } from '../../src/system/ids.ts';

const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

describe('entry ids', () => {
  test('are UUIDs of version 7 and variant 10 that contain the time', () => {
    const ids = systemIds({ now: () => new Date('2026-01-24T10:00:00.123Z') });
    const id = ids.entryId();
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Date(timeOf(id)).toISOString()).toBe('2026-01-24T10:00:00.123Z');
  });

  test('ascend strictly, even 20,000 of them in one millisecond', () => {
    const ids = systemIds({ now: () => new Date(1_000) });
    const made = Array.from({ length: 20_000 }, () => ids.entryId());
    expect(made).toEqual([...made].sort());
    expect(new Set(made).size).toBe(made.length);
    expect(timeOf(made.at(-1) ?? '')).toBeLessThanOrEqual(1_000 + 10);
  });

  test('ascend when the clock is set back', () => {
    const times = [5_000, 4_000, 4_999, 5_001];
    const ids = systemIds({ now: () => new Date(times.shift() ?? 0) });
    const made = [ids.entryId(), ids.entryId(), ids.entryId(), ids.entryId()];
    expect(made).toEqual([...made].sort());
    expect(made.map(timeOf)).toEqual([5_000, 5_000, 5_000, 5_001]);
  });

  test('have the requested time, even after later ones', () => {
    const ids = systemIds({ now: () => new Date(5_000) });
    ids.entryId();
    expect([ids.entryId(new Date(1_000)), ids.entryId()].map(timeOf)).toEqual([1_000, 5_000]);
  });

  test('from two processes at the same time differ', () => {
    const clock = { now: () => new Date(1_000) };
    const made = Array.from({ length: 1_000 }, () => systemIds(clock).entryId());
    expect(new Set(made).size).toBe(1_000);
  });
});

test('the clock returns the present', () => {
  vi.useFakeTimers({ now: 5_000 });
  expect(systemClock().now().getTime()).toBe(5_000);
  vi.useRealTimers();
});

test('the hash is SHA-256 in hexadecimal, the same for text and its UTF-8', () => {
  expect(sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  expect(sha256('ä')).toBe(sha256(new Uint8Array([0xc3, 0xa4])));
});

test('a write session’s id is a random UUID of version 4, and never repeated', () => {
  const { writeId } = systemIds();
  const made = Array.from({ length: 1_000 }, () => writeId());
  expect(new Set(made).size).toBe(1_000);
  const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  expect(made.filter((id) => !pattern.test(id))).toEqual([]);
});

/** A recent value is not read again, but one that could not be read is. */
import { expect, test } from 'vitest';
import { keepRecent } from '../../src/session/context/keep-recent.ts';

function openReader(answers: Record<string, string | null> = {}) {
  const asked: string[] = [];
  const read = async (key: string) => {
    asked.push(key);
    if (key === 'broken') throw new Error('Broken.');
    return key in answers ? (answers[key] ?? null) : key;
  };
  return { asked, read };
}

test('a value is read once, even while it is being read', async () => {
  const { asked, read } = openReader();
  const recent = keepRecent(read, { max: 2 });
  expect(await Promise.all([recent('a'), recent('a'), recent('b')])).toEqual(['a', 'a', 'b']);
  expect(await recent('a')).toBe('a');
  expect(asked).toEqual(['a', 'b']);
});

test('the oldest value makes room for the next one', async () => {
  const { asked, read } = openReader();
  const recent = keepRecent(read, { max: 2 });
  for (const key of ['a', 'b', 'c', 'b', 'c', 'a']) expect(await recent(key)).toBe(key);
  expect(asked).toEqual(['a', 'b', 'c', 'a']);
});

test('failures, missing values and large values are not remembered', async () => {
  const { asked, read } = openReader({ none: null, large: 'x'.repeat(100) });
  const recent = keepRecent(read, { max: 9, isKept: ({ length }) => length < 100 });
  for (const key of ['none', 'large']) for (let times = 0; times < 2; times += 1) await recent(key);
  await expect(recent('broken')).rejects.toThrow('Broken.');
  await expect(recent('broken')).rejects.toThrow('Broken.');
  expect(asked).toEqual(['none', 'none', 'large', 'large', 'broken', 'broken']);
});

import { expect, test } from 'vitest';
import { refWatch } from '../../src/mcp/ref-watch.ts';
import type { Oid, RefName } from '../../src/names.ts';

const [one, two] = ['1'.repeat(40), '2'.repeat(40)] as [Oid, Oid];
const { signal } = new AbortController();

function openStore(refs: RefName[]) {
  const tips = new Map<string, Oid>(refs.map((ref) => [ref, one]));
  const asked = { resolve: 0, listRefs: 0 };
  const store = {
    async resolve(ref: string) {
      asked.resolve += 1;
      return tips.get(ref) ?? null;
    },
    async listRefs() {
      asked.listRefs += 1;
      return [...tips].map(([ref, oid]) => ({ ref: ref as RefName, oid }));
    },
  };
  return { store, tips, asked };
}

test.each([1, 500])('of %i branches, those that move wake their waiters, and no others', async (count) => {
  const refs = Array.from({ length: count }, (_, at) => `refs/heads/b${at}` as RefName);
  const { store, tips, asked } = openStore([...refs, 'refs/heads/still' as RefName]);
  const watch = refWatch(store, 1);
  const woken = new Set<string>();
  const stop = new AbortController();
  for (const ref of [...refs, 'refs/heads/still' as RefName])
    void watch.moved(ref, one, stop.signal).then(() => woken.add(ref));
  await expect.poll(() => asked.resolve + asked.listRefs).toBeGreaterThan(5);
  expect(woken.size).toBe(0);
  for (const ref of refs) tips.set(ref, two);
  await expect.poll(() => woken.size).toBe(count);
  tips.delete('refs/heads/still');
  await expect.poll(() => woken.has('refs/heads/still')).toBe(true);
  expect(asked.resolve > 0).toBe(true);
  expect(asked.listRefs > 0).toBe(count > 20);
});

test('an earlier move is reported immediately, a failing store is asked again, and nobody waits in vain', async () => {
  const ref = 'refs/heads/b' as RefName;
  const { store, asked } = openStore([ref]);
  const watch = refWatch(
    {
      ...store,
      async resolve(name) {
        const tip = await store.resolve(name);
        if (asked.resolve === 1) throw new Error('git is away');
        return tip;
      },
    },
    1,
  );
  await watch.moved(ref, two, signal);
  expect(asked.resolve).toBe(2);
  await watch.moved(ref, one, AbortSignal.abort());
  const stop = new AbortController();
  const waiting = watch.moved(ref, one, stop.signal);
  stop.abort();
  await waiting;
});

/** Whether an entry can stand where it stands. */
import type { OrderFacts } from '../../session/line-order.ts';
import { readWalkedTurn, statusOf, type Step, type WalkedLine } from './walked-line.ts';

export async function checkOrder(walk: WalkedLine, { commit, entry, blame }: Step): Promise<void> {
  if (commit.commit.parents.length > 1) blame('order', null, 'An entry has one parent; this one is a merge.');
  for (const problem of walk.order.add(entry, await readFacts(walk, { commit, entry, blame })))
    blame('order', null, problem);
}

/** Nothing is read for the entries that cannot be wrong by it. */
async function readFacts(walk: WalkedLine, { commit, entry }: Step): Promise<OrderFacts> {
  const parent = commit.commit.parents[0];
  const isOpening = entry.turn !== null && !walk.order.has(entry.turn);
  const latest = isOpening || entry.kind === 'message' ? await readWalkedTurn(walk, walk.order.latest(), parent) : null;
  const own = entry.kind === 'plan' ? await readWalkedTurn(walk, entry.turn, parent) : null;
  return {
    latest: latest && statusOf(latest),
    hasMessage: own && own.records.some(({ type }) => type === 'user'),
  };
}

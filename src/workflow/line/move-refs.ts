/** Moves refs among existing commits when teddy fetches, keeps or archives lines. */
import { TeddyError } from '../../errors.ts';
import type { RefUpdate, Store } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { archivePrefix, shortRef, type Oid, type RefName } from '../../names.ts';

const maxAttempts = 10;

/**
 * Moves all of the refs or none, by compare-and-swap; `reason` goes into their reflogs. Returns false when any ref has
 * another value than expected; in that case nothing changes. If the moves are passed as a function, it is called again
 * after a lost race, up to ten times. A branch or an archive may leave its commits only if another one keeps them, or
 * if the caller `drops` commits that it has just made.
 */
export async function moveRefs(
  { repository: { store } }: Pick<Project, 'repository'>,
  moves: readonly RefUpdate[] | (() => Promise<readonly RefUpdate[]>),
  reason: string,
  { drops = false }: { drops?: boolean } = {},
): Promise<boolean> {
  const attempts = typeof moves === 'function' ? maxAttempts : 1;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const updates = typeof moves === 'function' ? await moves() : moves;
    if (updates.length === 0) return true;
    if (!drops) await refuseDrops(store, updates);
    if ((await store.updateRefs([...updates], `teddy: ${reason}`)) === 'done') return true;
    if (attempt < attempts) await waitForOthers(store, attempt);
  }
  return false;
}

/**
 * Retries `attempt`, which returns null after a lost race, starting from the new state. Throws REF_MOVED after ten lost
 * races.
 */
export async function retryWhileMoved<Value>(
  { repository: { store } }: Pick<Project, 'repository'>,
  ref: RefName,
  attempt: () => Promise<Value | null>,
): Promise<Value> {
  for (let count = 1; count <= maxAttempts; count += 1) {
    const value = await attempt();
    if (value !== null) return value;
    await waitForOthers(store, count);
  }
  throw new TeddyError(
    'REF_MOVED',
    `${shortRef(ref)} moved ${maxAttempts} times while an entry was being appended.`,
    'Another program keeps writing to this branch. Run the command again.',
  );
}

/** Waits longer each time, so that many writers spread out instead of colliding again. */
async function waitForOthers(store: Store, count: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 15 * 2 ** Math.min(count, 6)));
  store.readAnew();
}

/** Throws on a programming mistake in the caller; a user cannot cause it. */
async function refuseDrops(store: Store, updates: readonly RefUpdate[]): Promise<void> {
  const made = updates.flatMap(({ new: oid }) => oid ?? []);
  for (const { ref, old, new: oid } of updates) {
    const isGuarded = ref.startsWith('refs/heads/') || ref.startsWith(archivePrefix);
    if (!isGuarded || old === null || made.includes(old)) continue;
    let isKept = false;
    for (const holder of oid === null ? made : [oid, ...made]) isKept ||= await store.isAncestor(old, holder);
    isKept ||= await isHeldElsewhere(store, updates, old);
    if (!isKept) throw new Error(`${ref} would leave ${old}, which nothing else keeps.`);
  }
}

/** Returns true if a branch or an archive that stays in place has this tip. */
async function isHeldElsewhere(store: Store, updates: readonly RefUpdate[], tip: Oid): Promise<boolean> {
  const refs = await store.listRefs('refs/heads/', archivePrefix);
  return refs.some(({ ref, oid }) => oid === tip && updates.every((update) => update.ref !== ref));
}

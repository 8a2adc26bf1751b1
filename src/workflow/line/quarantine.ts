/**
 * Keeps refs fetched from a remote until they are checked, under names that nothing else reads and that protect them
 * from git's pruning.
 */
import type { RefTip } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { RefName } from '../../names.ts';
import { moveRefs } from './move-refs.ts';

export const quarantinePrefix = 'refs/teddy/quarantine/';

/** Provides names for refs in quarantine, and always removes these refs afterwards. */
export async function withQuarantine<Value>(
  project: Project,
  use: (toRef: (index: number) => RefName) => Promise<Value>,
): Promise<Value> {
  const own = `${quarantinePrefix}${await project.processes.ownName()}/${project.ids.entryId()}/`;
  try {
    return await use((index) => `${own}${index}` as RefName);
  } finally {
    // A failure here is only a warning, because the next pull tries again and an error in the work itself is more
    // informative.
    await removeRefs(project, await project.repository.store.listRefs(own)).catch((error: Error) =>
      project.notices.warn(`Refs below ${own} could not be removed: ${error.message}`),
    );
  }
}

/** Returns dead processes' quarantined refs. Excludes foreign refs below `refs/teddy/quarantine/`, which name no process. */
export async function listLeftInQuarantine(project: Project, listed: readonly RefTip[]): Promise<RefTip[]> {
  const tips = listed.filter(({ ref }) => ref.startsWith(quarantinePrefix));
  const names = [...new Set(tips.map(({ ref }) => toProcessName(ref)))];
  const dead = new Set<string>();
  for (const name of names) if ((await project.processes.isAlive(name)) === false) dead.add(name);
  return tips.filter(({ ref }) => dead.has(toProcessName(ref)));
}

/** Removes the refs of a killed sync. */
export async function clearQuarantine(project: Project, listed: readonly RefTip[]): Promise<void> {
  await removeRefs(project, await listLeftInQuarantine(project, listed));
}

function toProcessName(ref: RefName): string {
  return ref.slice(quarantinePrefix.length).split('/')[0] ?? '';
}

/** Another process may have removed some of the refs, so a retry lists them again. */
async function removeRefs(project: Project, tips: readonly RefTip[]): Promise<void> {
  if (tips.length === 0) return;
  const wanted = new Set(tips.map(({ ref }) => ref));
  let isFirst = true;
  const plan = async () => {
    const listed = isFirst ? tips : await project.repository.store.listRefs(quarantinePrefix);
    isFirst = false;
    return listed.flatMap(({ ref, oid }) => (wanted.has(ref) ? [{ ref, old: oid, new: null }] : []));
  };
  await moveRefs(project, plan, 'checked');
}

/** Keeps bytes that are not on a line under a ref of teddy's own, safe from git's garbage collection. */
import type { Project } from '../../ports/project.ts';
import type { Oid, RefName } from '../../names.ts';
import { moveRefs } from './move-refs.ts';

/**
 * Keeps the bytes as `name` below `refs/teddy/keep/`. Identical bytes share one ref; different bytes with the same name
 * receive a number.
 */
export async function keepBytes(project: Project, name: string, bytes: Uint8Array | string): Promise<Oid> {
  const { store } = project.repository;
  const oid = await writeBytes(project, bytes);
  const prefix = `refs/teddy/keep/${name}`;
  for (;;) {
    const known = new Map((await store.listRefs(prefix, `${prefix}-*`)).map((tip) => [tip.ref, tip.oid]));
    if ([...known.values()].includes(oid)) return oid;
    const ref = (known.size === 0 ? prefix : `${prefix}-${known.size + 1}`) as RefName;
    if (await moveRefs(project, [{ ref, old: null, new: oid }], 'keep bytes')) return oid;
  }
}

/** Writes a durable blob, without a ref that keeps it. */
export async function writeBytes(project: Project, bytes: Uint8Array | string): Promise<Oid> {
  const batch = project.repository.store.batch();
  const oid = await batch.blob(bytes);
  await batch.flush();
  return oid;
}

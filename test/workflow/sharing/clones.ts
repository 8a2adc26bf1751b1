/** In-memory clones of one repository, and additions to their lines without a model. */
import { expect } from 'vitest';
import type { Project } from '../../../src/ports/project.ts';
import type { Oid, RefName, RepoPath } from '../../../src/names.ts';
import { append as appendTo } from '../../../src/workflow/line/append.ts';
import { labelEdits } from '../../../src/workflow/line/entry-labels.ts';
import type { ShareRequest } from '../../../src/workflow/sharing/shared-line.ts';
import { copyObjects, memoryRemote, type MemoryRemote } from '../../support/memory-remotes.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';

export const request: ShareRequest = { signal: new AbortController().signal };

let ids = 0;

/** A remote whose refs are copies of these: by default only a code branch. */
export async function makeRemote(seed?: MemoryRemote): Promise<MemoryRemote> {
  const origin = await memoryRemote();
  const from = seed ?? (await makeCode());
  copyObjects(from.disk, origin.disk);
  const tips = await from.store.listRefs('refs/');
  await origin.store.updateRefs(
    tips.map(({ ref, oid }) => ({ ref, old: null, new: oid })),
    'seed',
  );
  return origin;
}

async function makeCode(): Promise<MemoryRemote> {
  const remote = await memoryRemote();
  const project = await memoryProject();
  project.remotes.set('origin', remote);
  const push = { ref: 'refs/heads/main' as RefName, old: null, new: await project.tipOf('main') };
  await project.repository.remotes.push('origin', [push], request);
  return remote;
}

/** A clone with the remote as `origin`; it only has the first commit. `letter`: who works in it. */
export async function makeClone(origin: MemoryRemote, letter: string): Promise<MemoryProject> {
  const project = await memoryProject();
  project.remotes.set('origin', origin);
  project.identity.text = `Ada Example ${letter} <ada@example.org> 1769248800 +0000`;
  // No two clones make the same entry.
  project.ids.entryId = () => `019bf000-0000-7000-8000-${String((ids += 1)).padStart(12, '0')}`;
  return project;
}

/** Makes a clone after a sync, with every line and its tracking branch. */
export async function makeSyncedClone(origin: MemoryRemote, letter: string): Promise<MemoryProject> {
  const project = await makeClone(origin, letter);
  const tips = await origin.store.listRefs('refs/heads/teddy/', 'refs/teddy/archive/');
  await project.repository.remotes.fetch(
    'origin',
    tips.flatMap(({ ref }) => [
      { from: ref, to: ref },
      ...(ref.startsWith('refs/heads/')
        ? [{ from: ref, to: ref.replace('refs/heads/', 'refs/remotes/origin/') as RefName }]
        : []),
    ]),
    request,
  );
  return project;
}

/** Adds a snapshot that changes a file to a line that is not checked out. Returns its commit. */
export async function append(project: Project, ref: RefName, path = 'notes.txt'): Promise<Oid> {
  const { store } = project.repository;
  const tip = (await store.resolve(ref)) as Oid;
  const id = project.ids.entryId();
  const batch = store.batch();
  const codeTree = await batch.tree([{ mode: '100644', name: path, oid: await batch.blob(`${id}\n`) }]);
  await batch.flush();
  const paths = (await store.diffTrees(tip, codeTree, { without: '.teddy' as RepoPath })).map((change) => change.path);
  const code = { tree: codeTree };
  return (
    await appendTo(project, { ref, workspace: null }, () => [{ kind: 'snapshot', label: labelEdits(paths), code }])
  ).commit;
}

/** The refs of all lines and archives, and of `teddy/global`. */
export async function refsOf({ store }: { store: Project['repository']['store'] }): Promise<Record<string, Oid>> {
  const tips = await store.listRefs('refs/heads/teddy/', 'refs/teddy/archive/');
  return Object.fromEntries(tips.map(({ ref, oid }) => [ref, oid]));
}

export async function expectNoQuarantine({ repository: { store } }: Project): Promise<void> {
  expect(await store.listRefs('refs/teddy/quarantine/')).toEqual([]);
}

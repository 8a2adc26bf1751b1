/**
 * A clone, and the repository that it shares its sessions with, in which lines are about to move from one place to
 * another.
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import { addMemo } from '../../src/workflow/context/change-memos.ts';
import { archiveSession } from '../../src/workflow/landing/archive-session.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { gitText } from '../support/git-process.ts';
import { makeScratchRepository, openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { create, planOf, run as execute, say } from '../support/turns.ts';
import { buildChild } from './build-child.ts';
import { sync } from './sync.ts';
import type { Copies, Scene } from './scenes.ts';

export type SyncSceneName = 'sync' | 'pull' | 'push' | 'land' | 'land-here' | 'land-over' | 'archive';

export interface SyncStage extends Copies {
  scenes: Record<SyncSceneName, Scene>;
}

const run = promisify(execFile);
/** Below a scene's directory: the clone in which something happens, and its remote. */
const clone = 'work';
/** The remote of all clones. */
export const sharedName = 'shared.git';

export function sharedOf({ root }: Pick<ScratchRepository, 'root'>): ScratchRepository {
  return openScratchRepository(join(dirname(root), sharedName));
}

export async function openSyncStage(): Promise<SyncStage> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'teddy-sync-faults-')));
  const [program, scenes] = await Promise.all([buildChild(dir), makeScenes(dir)]);
  let copies = 0;
  return {
    program,
    scenes,
    async copy({ template }) {
      const place = join(dir, `run-${(copies += 1)}`);
      await run('cp', ['-a', template, place]);
      return openScratchRepository(join(place, clone));
    },
    discard: ({ root }) => rm(dirname(root), { recursive: true, force: true }),
    close: () => rm(dir, { recursive: true, force: true }),
  };
}

async function makeScenes(dir: string): Promise<SyncStage['scenes']> {
  const base = join(dir, 'base');
  await mkdir(base);
  const source = await makeScratchRepository();
  gitText(dir, ['clone', '--quiet', '--bare', source.root, join(base, sharedName)]);
  await source.close();
  const ada = await openClone(dir, 'ada', `../base/${sharedName}`);
  const bea = await openClone(base, clone, `../${sharedName}`);
  const take = async (name: SyncSceneName): Promise<Scene> => {
    const template = join(dir, name);
    await run('cp', ['-a', base, template]);
    return { name, operation: name, template, ref: null, oldTip: '', entries: [], status: [] };
  };
  try {
    return await tellStory(ada, bea, take);
  } finally {
    await Promise.all([ada.repository.close(), bea.repository.close()]);
  }
}

async function tellStory(
  ada: Project,
  bea: Project,
  take: (name: SyncSceneName) => Promise<Scene>,
): Promise<SyncStage['scenes']> {
  const begin = (project: Project, name: string) => newSession(project, { name, switch: false });
  const { session } = await newSession(ada, { name: 'first', switch: true });
  await begin(ada, 'second');
  await begin(ada, 'third');
  await turn(ada, 'a.txt');
  await sync(ada);
  await sync(bea);
  // The remote has more commits: on a checked-out line, on another one, on teddy/global; one line is new, one was
  // archived.
  await turn(ada, 'b.txt');
  await say(ada, 'Think', null, { selector: 'second' });
  await addMemo(ada, 'Use pnpm');
  await begin(ada, 'fourth');
  await archiveSession(ada, 'third');
  await sync(ada);
  const root = bea.repository.workspace?.root ?? '';
  gitText(root, ['switch', '--quiet', `teddy/${session}`]);
  const pull = await take('pull');
  // And each has new commits here as well.
  await turn(bea, 'c.txt');
  await addMemo(bea, 'Use vitest');
  await begin(bea, 'fifth');
  const scenes = { pull, sync: await take('sync') };
  await sync(bea);
  await turn(bea, 'd.txt');
  await addMemo(bea, 'Use git');
  await begin(bea, 'sixth');
  const push = await take('push');
  await sync(bea);
  const land = await take('land');
  gitText(root, ['switch', '--quiet', 'main']);
  const others = { push, land, 'land-here': await take('land-here'), archive: await take('archive') };
  // The line's files are unchanged in the work tree, except for a missing one.
  gitText(root, ['restore', `--source=teddy/${session}`, '--', ':/', ':!.teddy', ':!c.txt']);
  return { ...scenes, ...others, 'land-over': await take('land-over') };
}

/** Its remote is named by a path that works in a copy of everything. */
async function openClone(dir: string, name: string, url: string): Promise<Project> {
  const root = join(dir, name);
  gitText(dir, ['clone', '--quiet', join(root, url), name]);
  gitText(root, ['remote', 'set-url', 'origin', url]);
  gitText(root, ['config', 'user.name', 'Ada Example']);
  gitText(root, ['config', 'user.email', 'ada@example.org']);
  return openProject({ cwd: root, env: process.env, notices: { info: () => undefined, warn: () => undefined } });
}

async function turn(project: Project, path: string): Promise<void> {
  await say(project, `Make ${path}`, planOf([create(path)]));
  await execute(project);
}

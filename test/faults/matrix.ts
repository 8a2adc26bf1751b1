/**
 * Everything that a fault may interrupt, and the faults: kinds of operations x the points that they pass x faults, as
 * one table.
 */
import { checkChat } from './check-chat.ts';
import { openChatStage } from './chat-scenes.ts';
import { checkRun } from './check-run.ts';
import { checkWrite } from './check-write.ts';
import { checkDrain, openDrainStage } from './drain-scenes.ts';
import { failedCleanly } from './failure.ts';
import { countOf, killAt, type Fault, type PointKind, type Points } from './fault.ts';
import type { ScratchRepository } from '../support/scratch-repository.ts';
import { checkImport, openImportScene } from './import-kills.ts';
import type { ChildRun } from './run-child.ts';
import { isRun, openStage, otherScenes, type Copies, type Scene, type Stage } from './scenes.ts';
import { atRandomTimes, everyNth, readPoints, wasKilledOrDone, type CheckOutcome, type Job } from './sweep.ts';
import { checkShared, planKills, type KillPlan } from './sync-kills.ts';
import { openSyncStage } from './sync-scenes.ts';
import { openWriteStage } from './write-scenes.ts';

/** Operations that are checked in the same way. */
export interface Kind {
  copies: Copies;
  scenes: readonly Scene[];
  /** The child process's name, if the operation needs one. */
  name?: string;
  /** Reports the faults after the fault and after the next command, one sentence each. */
  check(scene: Scene, repository: ScratchRepository, run: ChildRun, isKilled: boolean): Promise<string[]>;
}

export const kinds: readonly { title: string; open(): Promise<Kind> }[] = [
  { title: 'lines and answers', open: () => openLines(otherScenes) },
  { title: 'runs of plans', open: () => openLines(({ scenes }) => Object.values(scenes).filter(isRun)) },
  {
    title: 'conversations',
    async open() {
      const copies = await openChatStage();
      const check: Kind['check'] = (scene, repository, run) => checkChat(scene, repository, run);
      return { copies, scenes: Object.values(copies.scenes), check };
    },
  },
  {
    title: 'write sessions',
    async open() {
      const copies = await openWriteStage();
      return { copies, scenes: Object.values(copies.scenes), check: checkWrite };
    },
  },
  {
    title: 'captures',
    async open() {
      const copies = await openDrainStage();
      // If a drain could continue after a failure, a sweep takes the records it has left.
      const check: Kind['check'] = (_, repository, run, isKilled) =>
        checkDrain(copies, repository, run, isKilled ? 'drain' : 'sweep');
      return { copies, scenes: [copies.scene], check };
    },
  },
  {
    title: 'sharing and landing',
    async open() {
      const copies = await openSyncStage();
      const scenes = Object.values(copies.scenes);
      const plans: KillPlan[] = [];
      for (const scene of scenes) plans.push(await planKills(copies, scene));
      const check: Kind['check'] = (scene, repository, run) => checkShared(copies, plans, scene, repository, run);
      return { copies, scenes, check };
    },
  },
  {
    title: 'imports',
    async open() {
      const copies = await openChatStage();
      const scene = await openImportScene(copies);
      const check: Kind['check'] = (_, repository, run) => checkImport(scene, repository, run);
      return { copies, scenes: [scene], name: scene.source, check };
    },
  },
];

async function openLines(choose: (stage: Stage) => Scene[]): Promise<Kind> {
  const copies = await openStage();
  const check: Kind['check'] = (scene, repository, run) => checkRun(copies, scene, repository, run);
  return { copies, scenes: choose(copies), check };
}

/** The points in each scene of a kind. */
export async function measure({ copies, scenes, name }: Kind): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (const scene of scenes) measured.push({ scene, ...(await readPoints(copies, scene, name)) });
  return measured;
}

/** A scene, and the points passed by its run without faults. */
export interface Measured {
  scene: Scene;
  points: Points;
  durationMs: number;
}

export interface FaultRow {
  title: string;
  isKill: boolean;
  needsTrace?: boolean;
  jobs(measured: readonly Measured[], depth: number): Job[];
  outcome: CheckOutcome;
}

const codes = ['ENOSPC', 'EIO', 'EMFILE', 'EACCES'] as const;
const hows = ['refused', 'killed', 'answer-lost'] as const;

/** `depth`: at how many places in a kind each point of a name fails. */
export const faultRows: readonly FaultRow[] = [
  {
    title: 'SIGKILL at a named step',
    isKill: true,
    outcome: wasKilledOrDone,
    // Each is between two durable states: at several places in each scene.
    jobs: (measured, depth) => measured.flatMap((one) => atNames([one], 'step', 4 * depth, toKill('step'))),
  },
  {
    title: 'SIGKILL before a call to the file system',
    isKill: true,
    outcome: wasKilledOrDone,
    jobs: (measured, depth) => atNames(measured, 'call', depth, toKill('call')),
  },
  {
    title: 'SIGKILL before a git',
    isKill: true,
    outcome: wasKilledOrDone,
    jobs: (measured, depth) => measured.flatMap((one) => atNames([one], 'git', depth, toKill('git'))),
  },
  {
    title: 'SIGKILL of git and teddy inside a ref transaction',
    isKill: true,
    outcome: wasKilledOrDone,
    jobs: (measured) =>
      measured.flatMap(({ scene, points }) =>
        everyNth(countOf(points.git, 'update-ref')).map((at) => ({
          scene,
          fault: { kind: 'kill-in-transaction', at },
        })),
      ),
  },
  {
    title: 'SIGKILL at any time, with the gits or without them',
    isKill: true,
    outcome: () => [],
    jobs: (measured, depth) => measured.flatMap(({ scene, durationMs }) => atRandomTimes(scene, durationMs, 2 * depth)),
  },
  ...codes.map((code, at): FaultRow => ({
    title: `${code} from a call to the file system`,
    isKill: false,
    outcome: failedCleanly,
    jobs: (measured, depth) =>
      atNames(measured, 'call', depth, (name, nth) => ({ kind: 'fail-call', name, nth, code }), at / codes.length),
  })),
  ...hows.map((how): FaultRow => ({
    title: `a git ${how === 'answer-lost' ? 'that has done its work and cannot say so' : how}`,
    isKill: false,
    outcome: failedCleanly,
    jobs: (measured, depth) =>
      measured.flatMap((one) => atNames([one], 'git', depth, (name, nth) => ({ kind: 'fail-git', name, nth, how }))),
  })),
  {
    title: 'every git killed, from one on',
    isKill: false,
    outcome: failedCleanly,
    jobs: (measured, depth) => atNames(measured, 'git', depth, (name, nth) => ({ kind: 'kill-gits-from', name, nth })),
  },
  {
    title: 'every git killed as it puts a file in its place',
    isKill: false,
    needsTrace: true,
    outcome: failedCleanly,
    jobs: (measured) => measured.map(({ scene }) => ({ scene, fault: { kind: 'kill-gits-at-work' } })),
  },
];

function toKill(at: PointKind) {
  return (name: string, nth: number): Fault => killAt(name, nth, at);
}

/**
 * A fault at `depth` places of each name that the scenes pass, as far apart as possible. `shift`, a fraction of 1,
 * starts at another one, so that faults of one kind hit different places.
 */
function atNames(
  measured: readonly Measured[],
  at: PointKind,
  depth: number,
  toFault: (name: string, nth: number) => Fault,
  shift = 0,
): Job[] {
  const places = new Map<string, Job[]>();
  for (const { scene, points } of measured) {
    const counts = new Map<string, number>();
    for (const name of points[at]) {
      const nth = (counts.get(name) ?? 0) + 1;
      counts.set(name, nth);
      places.set(name, [...(places.get(name) ?? []), { scene, fault: toFault(name, nth) }]);
    }
  }
  return [...places.values()].flatMap((all) => {
    const count = Math.min(all.length, depth);
    return Array.from({ length: count }, (_, nth) => all[Math.floor(((nth + shift) * all.length) / count)] as Job);
  });
}

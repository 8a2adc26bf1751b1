/** Repositories in which one operation of the product is about to happen, made once and copied for each run. */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runTeddy } from '../support/run-teddy.ts';
import { makeScratchRepository, openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { buildChild } from './build-child.ts';
import { countOf, killAt } from './fault.ts';
import { answerText, failingText, memoAnswerText, runText } from './plans.ts';
import { runChild } from './run-child.ts';
import type { ChatSceneName } from './chat-script.ts';
import type { SyncSceneName } from './sync-scenes.ts';
import type { WriteSceneName } from './write-cases.ts';

export type SceneName =
  | 'append-on-line'
  | 'append-off-line'
  | 'new'
  | 'work-tree'
  | 'gate'
  | 'snapshot'
  | 'plan'
  | 'answer'
  | 'execute'
  | 'instead'
  | 'reject'
  | 'context'
  | 'memo'
  | 'undo'
  | 'run'
  | 'failing'
  | 'killed';

export interface Scene {
  name: SceneName | WriteSceneName | ChatSceneName | SyncSceneName | 'drain' | 'init' | 'init-remove';
  /** The child program's operation. */
  operation: string;
  template: string;
  /** The line that the operation works on; null if it makes one. */
  ref: string | null;
  oldTip: string;
  /** The operation appends these, in this order. */
  entries: string[];
  /** `git status` before, line by line. */
  status: string[];
}

export interface Stage extends Copies {
  answer: string;
  scenes: Record<SceneName, Scene>;
}

/** The parts of a stage that a run needs. */
export interface Copies {
  program: string;
  /** A copy of a scene's repository; `into` is a directory other than the stage's own. */
  copy(scene: Scene, into?: string): Promise<ScratchRepository>;
  discard(copy: ScratchRepository): Promise<void>;
  close(): Promise<void>;
}

const run = promisify(execFile);

/** All except runs of plans with scripts, which are settled in their own way. */
export function otherScenes({ scenes }: Stage): Scene[] {
  return Object.values(scenes).filter((scene) => !isRun(scene));
}

export function isRun({ name }: Scene): boolean {
  return name === 'run' || name === 'failing' || name === 'killed';
}

export async function readStatus(repository: ScratchRepository): Promise<string[]> {
  const rows = await repository.git('status', '--porcelain', '--untracked-files=all');
  return rows === '' ? [] : rows.split('\n').toSorted();
}

export async function openStage(): Promise<Stage> {
  const dir = await mkdtemp(join(tmpdir(), 'teddy-faults-'));
  const answer = join(dir, 'answer.md');
  await writeFile(answer, answerText);
  await writeFile(join(dir, 'memos.md'), memoAnswerText);
  await writeFile(join(dir, 'run.md'), runText);
  await writeFile(join(dir, 'failing.md'), failingText);
  const program = await buildChild(dir);
  const scenes = await makeScenes(dir, program);
  return { answer, scenes, ...copiesIn(dir, program) };
}

export function copiesIn(dir: string, program: string): Copies {
  let copies = 0;
  return {
    program,
    async copy(scene, into = dir) {
      const root = join(into, `run-${(copies += 1)}`);
      await run('cp', ['-a', scene.template, root]);
      return openScratchRepository(root);
    },
    discard: ({ root }) => rm(root, { recursive: true, force: true }),
    close: () => rm(dir, { recursive: true, force: true }),
  };
}

async function makeScenes(dir: string, program: string): Promise<Stage['scenes']> {
  const first = await makeScratchRepository({
    'src/kept.txt': 'kept\n',
    'src/edited.txt': 'before\n',
    'src/gone.txt': 'gone\n',
  });
  const teddy = async (...args: string[]) => {
    const result = await runTeddy(args, { cwd: first.root });
    if (result.exitCode !== 0) throw new Error(`teddy ${args.join(' ')}: ${result.stderr}`);
  };
  const take = async (name: SceneName, operation: Scene['operation'], entries: string[]) => {
    const ref = (await first.git('for-each-ref', '--format=%(refname)', 'refs/heads/teddy/*-first')) || null;
    const oldTip = await first.git('rev-parse', ref ?? 'HEAD');
    const template = join(dir, name);
    await cp(first.root, template, { recursive: true, preserveTimestamps: true });
    return { name, operation, template, ref, oldTip, entries, status: await readStatus(first) };
  };
  try {
    await dirty(first);
    const made = {
      new: await take('new', 'new', ['start']),
      'work-tree': await take('work-tree', 'work-tree', ['start']),
    };
    await first.git('reset', '--quiet', '--hard');
    await teddy('session', 'new', 'first');
    await teddy('session', 'plan', '-m', 'Begin.', '--from', join(dir, 'answer.md'));
    const runs = await takeRuns(first, dir, program, teddy, take);
    const execute = await take('execute', 'execute', ['report']);
    // The hook that holds an agent has recorded the call first.
    await mkdir(join(first.root, '.git/teddy/spool'));
    const gate = await take('gate', 'gate', ['approval']);
    const instead = await take('instead', 'instead', ['report', 'message', 'plan']);
    const reject = await take('reject', 'reject', ['approval', 'report']);
    await teddy('session', 'execute', '-y');
    const undo = await take('undo', 'undo', ['undo']);
    await dirty(first);
    const appendOn = await take('append-on-line', 'append', ['snapshot']);
    const context = await take('context', 'context', ['snapshot']);
    const snapshot = await take('snapshot', 'snapshot', ['snapshot']);
    const plan = await take('plan', 'plan', ['snapshot', 'message', 'plan']);
    const answer = await take('answer', 'answer', ['snapshot', 'message', 'reply']);
    await first.git('stash', '--quiet');
    await teddy('session', 'plan', '-m', 'Remember.', '--from', join(dir, 'memos.md'));
    const memo = await take('memo', 'execute', ['memo', 'report']);
    await teddy('session', 'execute', '-y');
    await first.git('switch', '--quiet', 'main');
    await first.git('stash', 'pop', '--quiet', '--index');
    const appendOff = await take('append-off-line', 'append', ['snapshot']);
    const scenes = { ...runs, ...made, undo, execute, gate, instead, reject, context, snapshot, plan, answer, memo };
    return { ...scenes, 'append-on-line': appendOn, 'append-off-line': appendOff };
  } finally {
    await first.close();
  }
}

type Take = (name: SceneName, operation: Scene['operation'], entries: string[]) => Promise<Scene>;

/**
 * A run with everything, one that fails and restores its files, and one that was killed in the middle and is rolled
 * back.
 */
async function takeRuns(
  repository: ScratchRepository,
  dir: string,
  program: string,
  teddy: (...args: string[]) => Promise<void>,
  take: Take,
): Promise<Record<'run' | 'failing' | 'killed', Scene>> {
  await teddy('session', 'execute', '--reject');
  await repository.write('notes.txt', 'notes of the user\n');
  await teddy('session', 'plan', '-m', 'Do it all.', '--from', join(dir, 'run.md'));
  const run = await take('run', 'execute', ['report']);
  // The last script has begun, and its end was not recorded.
  const { points } = await runChild({
    program,
    operation: 'execute',
    root: (await copyTo(repository, dir, 'dry')).root,
  });
  const fault = killAt('journaled', countOf(points?.step ?? [], 'journaled'));
  const template = await copyTo(repository, dir, 'killed');
  await runChild({ program, operation: 'execute', root: template.root, fault });
  const killed: Scene = { ...run, name: 'killed', operation: 'roll-back', template: template.root, entries: [] };
  await teddy('session', 'execute', '--reject');
  await teddy('session', 'plan', '-m', 'Do it all.', '--from', join(dir, 'failing.md'));
  const failing = await take('failing', 'execute-or-roll-back', ['report']);
  await teddy('session', 'execute', '--reject');
  await repository.git('clean', '--quiet', '--force');
  await teddy('session', 'plan', '-m', 'Begin.', '--from', join(dir, 'answer.md'));
  return { run, failing, killed };
}

export async function copyTo({ root }: ScratchRepository, dir: string, name: string): Promise<ScratchRepository> {
  await run('cp', ['-a', root, join(dir, name)]);
  return openScratchRepository(join(dir, name));
}

/** The user's work, which every operation has to leave unchanged, or to take into a snapshot. */
export async function dirty(repository: ScratchRepository): Promise<void> {
  await repository.write('src/staged.txt', 'staged\n');
  await repository.git('add', 'src/staged.txt');
  await repository.write('src/edited.txt', 'after\n');
  await repository.write('src/untracked.txt', 'untracked\n');
}

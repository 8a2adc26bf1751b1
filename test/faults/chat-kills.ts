/** The moments at which a conversation is killed, and those at which what goes on with it is. */
import type { ScratchRepository } from '../support/scratch-repository.ts';
import { checkChat, joinHeard } from './check-chat.ts';
import type { ChatStage } from './chat-scenes.ts';
import type { Fault, Points } from './fault.ts';
import { runChild, type ChildRun } from './run-child.ts';
import type { Scene } from './scenes.ts';
import { sweepWith, wasKilled, type Job, type Tally } from './sweep.ts';

export function killAt(scene: Scene, step: string, at: number): Job {
  return { scene, fault: { kind: 'kill-at-nth', step, at } };
}

/** How often it is passed before an answer is staged; with 2, before the calls of the first are noted beside it. */
export function countBefore({ steps }: Points, step: string, staged = 1): number {
  const made = steps.flatMap((one, at) => (one === 'answer-begun' ? [at] : []));
  return steps.slice(0, made[staged - 1]).filter((one) => one === step).length;
}

export function countAll({ steps }: Points, step: string): number {
  return steps.filter((one) => one === step).length;
}

/** A process has died there; another one goes on, and dies at the first step of each name. Returns these names. */
export async function killRecovery(stage: ChatStage, scene: Scene, fault: Fault, tally: Tally): Promise<string[]> {
  const { program } = stage;
  const { operation } = scene;
  const { root } = await stage.copy(scene);
  const first = await runChild({ program, operation, root, fault });
  if (first.signal !== 'SIGKILL') throw new Error(`It was not killed: ${first.failure?.text}`);
  const template = { ...scene, template: root };
  const whole = await stage.copy(template);
  const { points } = await runChild({ program, operation, root: whole.root, name: 'two' });
  const steps = [...new Set(points?.steps)].toSorted();
  const jobs = steps.map((step): Job => ({ scene: template, name: 'two', fault: { kind: 'kill-at-first', step } }));
  const check = (_: Scene, repository: ScratchRepository, run: ChildRun) =>
    checkChat(scene, repository, joinHeard(first, run), ['one', 'two']);
  await sweepWith(stage, jobs, tally, wasKilled, check);
  return steps;
}

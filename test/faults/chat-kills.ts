/** The moments at which a conversation is killed, and at which its continuation is. */
import type { ScratchRepository } from '../support/scratch-repository.ts';
import { checkChat, joinHeard } from './check-chat.ts';
import type { ChatStage } from './chat-scenes.ts';
import { countOf, type Fault, type Points } from './fault.ts';
import { runChild, type ChildRun } from './run-child.ts';
import type { Scene } from './scenes.ts';
import { killAtFirst, sweepWith, wasKilled, type Tally } from './sweep.ts';

/**
 * How often it is passed before an answer is staged; with 2, before the first answer's calls are recorded beside it.
 */
export function countBefore({ step: steps }: Points, name: string, staged = 1): number {
  const made = steps.flatMap((one, at) => (one === 'answer-begun' ? [at] : []));
  return countOf(steps.slice(0, made[staged - 1]), name);
}

/** A process has died there; another one continues, and dies at the first step of each name. Returns these names. */
export async function killRecovery(stage: ChatStage, scene: Scene, fault: Fault, tally: Tally): Promise<string[]> {
  const { program } = stage;
  const { operation } = scene;
  const { root } = await stage.copy(scene);
  const first = await runChild({ program, operation, root, fault });
  if (first.signal !== 'SIGKILL') throw new Error(`It was not killed: ${first.failure?.text}`);
  const template = { ...scene, template: root };
  const whole = await stage.copy(template);
  const { points } = await runChild({ program, operation, root: whole.root, name: 'two' });
  const steps = [...new Set(points?.step)].toSorted();
  const jobs = killAtFirst(template, steps).map((job) => ({ ...job, name: 'two' }));
  const check = (_: Scene, repository: ScratchRepository, run: ChildRun) =>
    checkChat(scene, repository, joinHeard(first, run), ['one', 'two']);
  await sweepWith(stage, jobs, tally, wasKilled, check);
  return steps;
}

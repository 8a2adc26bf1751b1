/** The action types that a plan may contain, in the protocol's order, and the calls that depend on the type. */
import { countMasks } from '../../session/masks/mask.ts';
import type { RepoPath } from '../../names.ts';
import type { Performed, ReportedParam } from '../effects/action-details.ts';
import type { Effect, EffectOutcome, PlanWorld } from '../effects/effect.ts';
import { refuse, type ActionBase, type ActionHandler, type ActionType } from './action.ts';
import { askHandler, chatWithUser, prompt } from './chat-with-user.ts';
import { create, createHandler } from './create.ts';
import { edit, editHandler } from './edit.ts';
import { execute, executeHandler } from './execute.ts';
import { invoke, invokeHandler } from './invoke.ts';
import { prune, pruneHandler } from './prune.ts';
import { read, readHandler } from './read.ts';
import { research, researchHandler } from './research.ts';
import type { ActionWorld } from './world.ts';

export const actionTypes = [create, edit, read, execute, research, prune, chatWithUser, prompt, invoke] as const;

const handlers = {
  CREATE: createHandler,
  EDIT: editHandler,
  READ: readHandler,
  EXECUTE: executeHandler,
  RESEARCH: researchHandler,
  PRUNE: pruneHandler,
  CHAT_WITH_USER: askHandler,
  PROMPT: askHandler,
  INVOKE: invokeHandler,
};

type KnownType = (typeof actionTypes)[number];
export const actionNames = actionTypes.map(({ type }) => type) as unknown as readonly KnownType['type'][];

/** Passes each action only to the type with its own name. */
const byName = new Map<string, ActionType<ActionBase>>(
  actionTypes.map((type) => [type.type, type as unknown as ActionType<ActionBase>]),
);

export function typeOf({ type }: Pick<ActionBase, 'type'>): ActionType<ActionBase> {
  const found = byName.get(type);
  if (found === undefined) throw new Error(`There is no action ${type}.`);
  return found;
}

/** Returns a handler that accepts only actions of its own type, with the effect that the same handler found. */
export function handlerOf(action: Pick<ActionBase, 'type'>): ActionHandler<ActionBase, Effect> {
  const { type } = typeOf(action) as KnownType;
  return handlers[type] as unknown as ActionHandler<ActionBase, Effect>;
}

/** Reads an action's name in any case, with stray symbols and a number around the name: `` 2. `chat with user`: ``. */
export function findActionType(heading: string): ActionType<ActionBase> | undefined {
  const words = heading.toUpperCase().match(/[A-Z]+/g) ?? [];
  return byName.get((words[0] === 'ACTION' ? words.slice(1) : words).join('_'));
}

/** Describes the action in one line, for labels, prompts and lists. */
export function describeAction(action: ActionBase): string {
  return `${action.type} ${typeOf(action).target(action)}`.trimEnd();
}

/** Returns the file that the action writes; null when it writes none, or runs a program that may write any file. */
export function writtenPath(action: ActionBase): RepoPath | null {
  return typeOf(action).writes?.(action) ?? null;
}

/** Returns the action's parameters in the report's form. */
export function toParams(action: ActionBase): Record<string, ReportedParam> {
  return handlerOf(action).params(action);
}

/**
 * Finds the effect of one action on the current files, or the reason why it can have none. Validation and execution
 * both use this function. Problems carry the action's index; there is more than one only when several pairs in an EDIT
 * do not apply.
 */
export async function toEffect(action: ActionBase, world: PlanWorld): Promise<EffectOutcome> {
  return refuseNewMasks(action, await handlerOf(action).check(action, world));
}

/**
 * Performs the approved action in this world. Passes on any error that the world throws. Returns SKIPPED for an
 * unanswered question.
 */
export async function perform(action: ActionBase, effect: Effect, world: ActionWorld): Promise<Performed> {
  const handler = handlerOf(action);
  if (handler.perform !== undefined) return handler.perform(action, effect, world);
  await world.begin();
  return { status: 'SUCCESS' };
}

/**
 * A mask represents a secret that the model cannot see, so writing the mask back would destroy the secret. Refuses an
 * action that adds a mask that its target does not contain.
 */
function refuseNewMasks(action: ActionBase, outcome: EffectOutcome): EffectOutcome {
  if ('problems' in outcome || outcome.effect.kind !== 'write') return outcome;
  const { path, before, after } = outcome.effect;
  const mask = findNewMask(before, after);
  if (mask === null) return outcome;
  return refuse(
    action,
    `${action.type} ${path}: it would write ${mask}, which stands for a secret that the file does not have in this form.`,
    'Leave the line with the secret as it is, or ask the user to set it.',
  );
}

function findNewMask(before: Uint8Array | null, after: Uint8Array): string | null {
  const decoder = new TextDecoder();
  const written = countMasks(decoder.decode(after));
  if (written.size === 0) return null;
  const had = countMasks(before === null ? '' : decoder.decode(before));
  for (const [mask, count] of written) if (count > (had.get(mask) ?? 0)) return mask;
  return null;
}

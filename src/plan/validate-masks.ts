/** A mask stands for a secret that the model cannot see: written back, it would destroy the secret. */
import { countMasks } from '../session/mask.ts';
import type { Action, Problem } from './plan.ts';
import type { Effect, EffectOutcome } from './effect.ts';

const decoder = new TextDecoder();
const askTheUser = 'Leave the line with the secret as it is, or ask the user to set it.';

/** A plan must not bring in a mask that its target does not have; nor can a command do anything with one. */
export function refuseMasks(action: Action, outcome: EffectOutcome): EffectOutcome {
  const found = 'problems' in outcome ? findInFind(action) : findInEffect(action, outcome);
  if (found === null) return outcome;
  const { line, column, index } = action;
  const problem = { line, column, action: index, ...found };
  return { problems: 'problems' in outcome ? [...outcome.problems, problem] : [problem] };
}

type Found = Pick<Problem, 'message' | 'hint'>;

/** Why a FIND is not found: no diff against the file would tell. */
function findInFind(action: Action): Found | null {
  if (action.type !== 'EDIT') return null;
  const [mask] = action.pairs.flatMap(({ find }) => [...countMasks(find ?? '').keys()]);
  if (mask === undefined) return null;
  return {
    message: `EDIT ${action.path}: FIND has ${mask}, which stands for a secret that the file has there.`,
    hint: 'Leave the line with the secret out of FIND.',
  };
}

function findInEffect(action: Action, { effect }: Extract<EffectOutcome, { effect: Effect }>): Found | null {
  if (effect.kind === 'command') {
    const [mask] = countMasks([effect.script, ...Object.values(effect.env)].join('\n')).keys();
    if (mask === undefined) return null;
    const message = `EXECUTE: the script has ${mask}, which stands for a secret that only the user knows.`;
    return { message, hint: 'Take it from the environment, or ask the user to set it.' };
  }
  if (effect.kind !== 'write') return null;
  const mask = findNewMask(effect.before, effect.after);
  if (mask === null) return null;
  const message = `${action.type} ${effect.path}: it would write ${mask}, which stands for a secret that the file does not have in this form.`;
  return { message, hint: askTheUser };
}

function findNewMask(before: Uint8Array | null, after: Uint8Array): string | null {
  const written = countMasks(decoder.decode(after));
  if (written.size === 0) return null;
  const had = countMasks(before === null ? '' : decoder.decode(before));
  for (const [mask, count] of written) if (count > (had.get(mask) ?? 0)) return mask;
  return null;
}

/** Finds the effect of one action on the files as they are, or why it can have none. Validation and execution both ask here. */
import type { FileTarget } from '../ports/disk.ts';
import { decodeText } from './decode-text.ts';
import type { EffectOutcome, PlanWorld, Effect } from './effect.ts';
import { applyEdit, type EditOutcome } from './match.ts';
import { parseRepoPath } from '../session/paths.ts';
import type { Action, AskAction, CreateAction, EditAction, ExecuteAction, InvokeAction, Problem } from './plan.ts';
import { toSearchEffect } from './validate-research.ts';
import { toPruneEffect, toReadEffect } from './validate-read.ts';
import type { Inspect } from './virtual-files.ts';
import { whyMissing, whyNotAFile, whyUnreadable } from '../session/out-of-reach.ts';
import { whyNotBeside } from '../session/twin-names.ts';
import { refuse } from './refuse.ts';
import { countMasks } from '../session/mask.ts';

/** Problems carry the index of the action; several only when several pairs of an EDIT do not apply. */
export async function toEffect(action: Action, world: PlanWorld): Promise<EffectOutcome> {
  return refuseMasks(action, await toUncheckedEffect(action, world));
}

async function toUncheckedEffect(action: Action, world: PlanWorld): Promise<EffectOutcome> {
  const { inspect } = world;
  switch (action.type) {
    case 'CREATE':
      return toCreateEffect(action, await inspect(action.path));
    case 'EDIT':
      return await toEditEffect(action, world);
    case 'READ':
      return await toReadEffect(action, world);
    case 'EXECUTE':
      return await toCommandEffect(action, inspect);
    case 'CHAT_WITH_USER':
    case 'PROMPT':
      return toAskEffect(action);
    case 'PRUNE':
      return toPruneEffect(action, world);
    case 'INVOKE':
      return toInvokeEffect(action, world);
    case 'RESEARCH':
      return toSearchEffect(action, world);
  }
}

function toCreateEffect(action: CreateAction, target: FileTarget): EffectOutcome {
  const { index, path, content, overwrite } = action;
  const unusable = whyNotAFile(path, target);
  if (unusable !== null) return refuse(action, `CREATE ${path}: ${unusable}.`, 'Choose another path.');
  const clash = target.kind === 'absent' ? whyNotBeside(path, target.twin) : null;
  if (clash !== null) return refuse(action, `CREATE ${path}: ${clash}.`, 'Use that name, or choose another.');
  const after = new TextEncoder().encode(content);
  // The very same content is no loss: a run that was interrupted after it wrote the file goes through again.
  if (target.kind === 'file' && !overwrite && !equal(target.bytes, after)) {
    return refuse(action, `CREATE ${path}: the file exists already.`, 'Use EDIT, or set `- **Overwrite:** true`.');
  }
  const before = target.kind === 'file' ? target.bytes : null;
  return { effect: { kind: 'write', action: index, path, before, after, matches: [] } };
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

async function toEditEffect(action: EditAction, { inspect, mask, grammar }: PlanWorld): Promise<EffectOutcome> {
  const { index, path, pairs } = action;
  const target = await inspect(path);
  const unusable = whyNotAFile(path, target);
  if (unusable !== null) return refuse(action, `EDIT ${path}: ${unusable}.`, 'Choose another path.');
  if (target.kind !== 'file')
    return target.kind === 'absent' && target.twin !== undefined
      ? refuse(action, `EDIT ${path}: ${whyMissing(path, target)}.`, 'Use the name that the project has.')
      : refuse(action, `EDIT ${path}: there is no such file.`, 'Use CREATE for a new file.');
  if (pairs.length === 0) {
    return refuse(action, `EDIT ${path}: there is nothing to replace.`, 'Add a `#### FIND:` and a `#### REPLACE:`.');
  }
  const text = decodeText(target.bytes);
  if (text === null) {
    return refuse(
      action,
      `EDIT ${path}: the file is not UTF-8 text.`,
      'Change it with EXECUTE, or replace it with CREATE.',
    );
  }
  const outcome = applyEdit(text, action, grammar);
  if (!outcome.ok) {
    const shown = await mask?.(text);
    const problems =
      shown === undefined || shown === text
        ? outcome.problems
        : describeMasked(applyEdit(shown, action, grammar), outcome.problems);
    const toProblem = (found: Problem) => ({ ...found, action: index, message: `EDIT ${path}: ${found.message}` });
    return { problems: problems.map(toProblem) };
  }
  const after = new TextEncoder().encode(outcome.text);
  return { effect: { kind: 'write', action: index, path, before: target.bytes, after, matches: outcome.matches } };
}

/** The problems as the masked text has them; a FIND that is found there is one with a mask in it. */
function describeMasked(masked: EditOutcome, problems: Problem[]): Problem[] {
  if (!masked.ok) return masked.problems;
  return problems.slice(0, 1).map(({ line, column }) => ({ line, column, message: 'FIND was not found.' }));
}

async function toCommandEffect(action: ExecuteAction, inspect: Inspect): Promise<EffectOutcome> {
  const { index, script, env, timeoutMs } = action;
  if (script.trim() === '') {
    return refuse(action, 'EXECUTE: the script is empty.', 'Give the commands in a fence, e.g. `npm test`.');
  }
  const cwd = await findDirectory(action.cwd, inspect);
  if ('problem' in cwd) {
    return refuse(
      action,
      `EXECUTE: cwd ${action.cwd}: ${cwd.problem}.`,
      'Name a directory of the project, `.` is its root.',
    );
  }
  return { effect: { kind: 'command', action: index, script, cwd: cwd.path, env, timeoutMs } };
}

function toInvokeEffect(action: InvokeAction, { agents }: PlanWorld): EffectOutcome {
  const { index, agent, text } = action;
  if (agents === undefined || agents.includes(agent)) return { effect: { kind: 'invoke', action: index, agent, text } };
  return refuse(action, `INVOKE ${agent}: there is no such agent.`, `Choose one of: ${agents.join(', ')}.`);
}

function toAskEffect({ index, text }: AskAction): EffectOutcome {
  return { effect: { kind: 'ask', action: index, text } };
}

export async function findDirectory(cwd: string, inspect: Inspect): Promise<{ path: string } | { problem: string }> {
  if (cwd === '.') return { path: cwd };
  const parsed = parseRepoPath(cwd);
  if ('problem' in parsed) return parsed;
  const target = await inspect(parsed.path);
  if (target.kind === 'directory') return parsed;
  if (target.kind === 'file') return { problem: 'it is a file' };
  return { problem: whyUnreadable(parsed.path, target) ?? 'it is not a directory' };
}

const decoder = new TextDecoder();

const askTheUser = 'Leave the line with the secret as it is, or ask the user to set it.';

/**
 * A mask stands for a secret that the model cannot see: written back, it would destroy the secret. A plan must not
 * bring in a mask that its target does not have; nor can a command do anything with one.
 */
function refuseMasks(action: Action, outcome: EffectOutcome): EffectOutcome {
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

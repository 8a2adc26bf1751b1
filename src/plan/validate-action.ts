/** What one action will do to the files as they are, or why it cannot. Validation and execution both ask here. */
import type { FileTarget } from '../ports.ts';
import { decodeText } from './decode-text.ts';
import type { EffectOutcome, PlanWorld } from './effect.ts';
import { applyEdit, type EditOutcome } from './match.ts';
import { refuse, whyNotAFile, whyUnreadable } from './out-of-reach.ts';
import { parseRepoPath } from './paths.ts';
import type { Action, AskAction, CreateAction, EditAction, ExecuteAction, InvokeAction, Problem } from './plan.ts';
import { toSearchEffect } from './validate-research.ts';
import { toPruneEffect, toReadEffect } from './validate-read.ts';
import { refuseMasks } from './validate-masks.ts';
import type { Inspect } from './virtual-files.ts';

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
      return toPruneEffect(action);
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
    return refuse(action, `EDIT ${path}: there is no such file.`, 'Use CREATE for a new file.');
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

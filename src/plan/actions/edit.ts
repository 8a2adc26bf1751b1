/** EDIT: changes an existing file. */
import type { RepoPath } from '../../names.ts';
import { countMasks } from '../../session/masks/mask.ts';
import { whyMissing, whyNotAFile } from '../../session/paths/out-of-reach.ts';
import { decodeText } from '../../session/text/bytes.ts';
import type { EffectOutcome, WriteEffect } from '../effects/effect.ts';
import { applyEdit, type EditOutcome, type EditPair } from '../match/match.ts';
import type { Problem } from '../match/problem.ts';
import { described, refuse, type ActionBase, type ActionHandler, type ActionType } from './action.ts';
import { description, filePath, optional } from './spec.ts';

export interface EditAction extends ActionBase {
  type: 'EDIT';
  path: RepoPath;
  matchAll: boolean;
  pairs: EditPair[];
}

export const edit: ActionType<EditAction> = {
  type: 'EDIT',
  purpose: 'changes a file that is there',
  parameters: [
    filePath,
    description,
    optional('Match All', 'boolean', 'replaces every place that FIND matches', 'true', ['replace all']),
  ],
  body: 'pairs',
  bodyExample: '#### FIND:\n```ts\nconst answer = 41;\n```\n#### REPLACE:\n```ts\nconst answer = 42;\n```',

  read(from) {
    const path = from.path('File Path');
    const matchAll = from.boolean('Match All');
    const pairs = from.body.pairs();
    return path === null || pairs === null ? null : { path, matchAll, pairs };
  },

  target: ({ path }) => path,
  show: ({ pairs }) => ({ kind: 'pairs', pairs }),
  touches: ({ path }) => path,
  writes: ({ path }) => path,
};

export const editHandler: ActionHandler<EditAction, WriteEffect> = {
  params: (action) => ({
    file_path: action.path,
    ...described(action),
    ...(action.matchAll ? { match_all: true } : {}),
  }),
  looksAt: ({ path }) => path,

  async check(action, world) {
    return refuseMaskedFind(action, await check(action, world));
  },

  async perform(_action, effect, world) {
    const performed = await world.write(effect);
    const { matches } = effect;
    const [first] = matches;
    if (performed.status !== 'SUCCESS' || !first) return performed;
    const all = matches.map(({ pair, kind, line }) => ({ pair, match: kind, line }));
    return {
      status: 'SUCCESS',
      details: { match: first.kind, line: first.line, ...(all.length > 1 ? { matches: all } : {}) },
    };
  },
};

async function check(
  action: EditAction,
  { inspect, mask, grammar }: Parameters<typeof editHandler.check>[1],
): Promise<EffectOutcome<WriteEffect>> {
  const { index, path, pairs } = action;
  const target = await inspect(path);
  const unusable = whyNotAFile(path, target);
  if (unusable !== null) return refuse(action, `EDIT ${path}: ${unusable}.`, 'Choose another path.');
  if (target.kind !== 'file')
    return target.kind === 'absent' && target.twin !== undefined
      ? refuse(action, `EDIT ${path}: ${whyMissing(path, target)}.`, 'Use the name that the project has.')
      : refuse(action, `EDIT ${path}: there is no such file.`, 'Use CREATE for a new file.');
  if (pairs.length === 0)
    return refuse(action, `EDIT ${path}: there is nothing to replace.`, 'Add a `#### FIND:` and a `#### REPLACE:`.');
  const text = decodeText(target.bytes);
  if (text === null)
    return refuse(
      action,
      `EDIT ${path}: the file is not UTF-8 text.`,
      'Change it with EXECUTE, or replace it with CREATE.',
    );
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

/** Describes the problems using the masked text; a FIND that matches the masked text contains a mask. */
function describeMasked(masked: EditOutcome, problems: Problem[]): Problem[] {
  if (!masked.ok) return masked.problems;
  return problems.slice(0, 1).map(({ line, column }) => ({ line, column, message: 'FIND was not found.' }));
}

/** Explains why a FIND that contains a mask does not match, because a diff against the file could not show the reason. */
function refuseMaskedFind(action: EditAction, outcome: EffectOutcome<WriteEffect>): EffectOutcome<WriteEffect> {
  const [mask] = action.pairs.flatMap(({ find }) => [...countMasks(find ?? '').keys()]);
  if (!('problems' in outcome) || mask === undefined) return outcome;
  const message = `EDIT ${action.path}: FIND has ${mask}, which stands for a secret that the file has there.`;
  return {
    problems: [...outcome.problems, ...refuse(action, message, 'Leave the line with the secret out of FIND.').problems],
  };
}

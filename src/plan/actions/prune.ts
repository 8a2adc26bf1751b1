/** PRUNE: removes a file or a page from the next turn's context. */
import { whyMissing } from '../../session/paths/out-of-reach.ts';
import type { PruneEffect } from '../effects/effect.ts';
import {
  described,
  nameOf,
  refuse,
  type ActionBase,
  type ActionHandler,
  type ActionType,
  type Resource,
} from './action.ts';
import { description, resource } from './spec.ts';

export interface PruneAction extends ActionBase {
  type: 'PRUNE';
  resource: Resource;
}

export const prune: ActionType<PruneAction> = {
  type: 'PRUNE',
  purpose: 'takes a file or a page out of the context of the next turn',
  parameters: [resource, description],
  body: 'none',
  bodyExample: '',

  read(from) {
    from.body.none();
    const found = from.resource();
    return found && { resource: found };
  },

  target: (action) => nameOf(action.resource),
  touches: (action) => nameOf(action.resource),
  drops: true,
};

export const pruneHandler: ActionHandler<PruneAction, PruneEffect> = {
  params: (action) => ({ resource: nameOf(action.resource), ...described(action) }),
  looksAt: (action) => (action.resource.kind === 'path' ? action.resource.path : null),

  async check(action, { inspect }) {
    const name = nameOf(action.resource);
    const path = action.resource.kind === 'path' ? action.resource.path : null;
    const target = path === null ? null : await inspect(path);
    if (path !== null && target?.kind === 'absent' && target.twin !== undefined)
      return refuse(action, `PRUNE ${name}: ${whyMissing(path, target)}.`, 'Use the name that the project has.');
    return { effect: { kind: 'prune', action: action.index, resource: name } };
  },
};

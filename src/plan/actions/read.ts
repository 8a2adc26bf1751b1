/** READ: shows a file or a web page to the model, from the next turn on. */
import type { RepoPath } from '../../names.ts';
import type { FileTarget } from '../../ports/files.ts';
import { countBytes } from '../../session/text/bytes.ts';
import { whyMissing, whyUnreadable } from '../../session/paths/out-of-reach.ts';
import { isSecretName, onlyTheUser } from '../../session/masks/secret-names.ts';
import { parsePageUrl } from '../../session/masks/urls.ts';
import type { EffectOutcome, FetchEffect, PlanWorld, ReadEffect } from '../effects/effect.ts';
import {
  described,
  nameOf,
  refuse,
  type ActionBase,
  type ActionHandler,
  type ActionType,
  type Resource,
} from './action.ts';
import { description, optional, resource } from './spec.ts';

export interface ReadAction extends ActionBase {
  type: 'READ';
  resource: Resource;
  /** The range as written in the plan: `10-20`, `-20`, `50-`, `5`; null for the whole file. */
  lines: string | null;
}

export const read: ActionType<ReadAction> = {
  type: 'READ',
  purpose: 'shows a file or a public page of the web, and keeps it in the context of the next turn',
  parameters: [
    { ...resource, purpose: 'a file of the project that git does not ignore, or an `https://` URL' },
    optional('Lines', 'lines', '`10-20`, `-20` (up to line 20), `50-` (from line 50) or `5`', '10-20'),
    description,
  ],
  body: 'none',
  bodyExample: '',

  read(from) {
    from.body.none();
    const found = from.resource();
    const lines = from.lines('Lines');
    return found && { resource: found, lines };
  },

  target: (action) => nameOf(action.resource),
  touches: (action) => nameOf(action.resource),
};

export const readHandler: ActionHandler<ReadAction, ReadEffect | FetchEffect> = {
  params: (action) => ({
    resource: nameOf(action.resource),
    ...described(action),
    ...(action.lines === null ? {} : { lines: action.lines }),
  }),
  looksAt: (action) => (action.resource.kind === 'path' ? action.resource.path : null),

  async check(action, world) {
    const { index, lines } = action;
    if (action.resource.kind === 'url') return toFetch(action, action.resource.url);
    const { path } = action.resource;
    const target = await world.inspect(path);
    if (whyUnreadable(path, target) !== null)
      return refuse(action, `READ ${path}: ${whyMissing(path, target)}.`, 'READ a path that the project has.');
    const withheld = whyWithheld(path, target, world);
    if (withheld !== null) return refuse(action, `READ ${path}: ${withheld}.`, 'READ another file, or ask the user.');
    return { effect: { kind: 'read', action: index, path, lines } };
  },

  async perform(action, effect, world) {
    await world.begin();
    if (effect.kind === 'read') return { status: 'SUCCESS' };
    const page = await world.fetch(effect.url);
    return {
      status: 'SUCCESS',
      details: {
        url: nameOf(action.resource),
        ...(page.url === effect.url ? {} : { final_url: page.url }),
        content_type: page.contentType,
        bytes: countBytes(page.text),
        ...(page.masked > 0 ? { masked: page.masked } : {}),
        page_file: page.file,
      },
    };
  },
};

function toFetch(action: ReadAction, url: string): EffectOutcome<FetchEffect> {
  const parsed = parsePageUrl(url);
  if ('problem' in parsed) return refuse(action, `READ ${url}: ${parsed.problem}.`, 'READ a public `https://` URL.');
  return { effect: { kind: 'fetch', action: action.index, url: parsed.url, lines: action.lines } };
}

/** Explains why a model must not see a file: the model never gets secrets, or files outside the repository. */
export function whyWithheld(
  path: RepoPath,
  target: FileTarget,
  { ignored }: Pick<PlanWorld, 'ignored'>,
): string | null {
  // With the slash, `.ssh` counts as the directory, and a directory `.env` does not count as a secret file.
  const name = target.kind === 'directory' ? (`${path}/` as RepoPath) : path;
  if (target.kind === 'file' && target.real !== undefined)
    return `it goes through a symbolic link; name ${target.real}, where it leads`;
  if (isSecretName(name)) return `named like a secret; ${onlyTheUser}`;
  return ignored?.has(path) ? `git ignores it; ${onlyTheUser}` : null;
}

/** READ and PRUNE: what a model may ask to be shown, and what it no longer wants to see. */
import type { FileTarget } from '../ports/disk.ts';
import type { RepoPath } from '../names.ts';
import { isSecretName, onlyTheUser } from '../session/secret-names.ts';
import type { Problem, PruneAction, ReadAction } from './plan.ts';
import { parsePageUrl } from '../session/urls.ts';
import type { FetchEffect, PlanWorld, PruneEffect, ReadEffect } from './effect.ts';
import { whyMissing, whyUnreadable } from '../session/out-of-reach.ts';
import { refuse } from './refuse.ts';

export async function toReadEffect(
  action: ReadAction,
  world: PlanWorld,
): Promise<{ effect: ReadEffect | FetchEffect } | { problems: Problem[] }> {
  const { resource, index, lines } = action;
  if (resource.kind === 'url') return toFetchEffect(action, resource.url);
  const { path } = resource;
  const target = await world.inspect(path);
  if (whyUnreadable(path, target) !== null)
    return refuse(action, `READ ${path}: ${whyMissing(path, target)}.`, 'READ a path that the project has.');
  const withheld = whyWithheld(path, target, world);
  if (withheld !== null) return refuse(action, `READ ${path}: ${withheld}.`, 'READ another file, or ask the user.');
  return { effect: { kind: 'read', action: index, path, lines } };
}

function toFetchEffect(action: ReadAction, url: string): { effect: FetchEffect } | { problems: Problem[] } {
  const parsed = parsePageUrl(url);
  if ('problem' in parsed) return refuse(action, `READ ${url}: ${parsed.problem}.`, 'READ a public `https://` URL.');
  return { effect: { kind: 'fetch', action: action.index, url: parsed.url, lines: action.lines } };
}

/** A model that asks for a file never gets secrets, nor files that the repository does not have. */
export function whyWithheld(
  path: RepoPath,
  target: FileTarget,
  { ignored }: Pick<PlanWorld, 'ignored'>,
): string | null {
  // With the slash `.ssh` counts as the directory, and a directory `.env` not as a file of secrets.
  const name = target.kind === 'directory' ? (`${path}/` as RepoPath) : path;
  if (target.kind === 'file' && target.real !== undefined)
    return `it goes through a symbolic link; name ${target.real}, where it leads`;
  if (isSecretName(name)) return `named like a secret; ${onlyTheUser}`;
  return ignored?.has(path) ? `git ignores it; ${onlyTheUser}` : null;
}

export async function toPruneEffect(
  action: PruneAction,
  { inspect }: PlanWorld,
): Promise<{ effect: PruneEffect } | { problems: Problem[] }> {
  const { resource, index } = action;
  const name = resource.kind === 'path' ? resource.path : resource.url;
  const target = resource.kind === 'path' ? await inspect(resource.path) : null;
  if (resource.kind === 'path' && target?.kind === 'absent' && target.twin !== undefined)
    return refuse(action, `PRUNE ${name}: ${whyMissing(resource.path, target)}.`, 'Use the name that the project has.');
  return { effect: { kind: 'prune', action: index, resource: name } };
}

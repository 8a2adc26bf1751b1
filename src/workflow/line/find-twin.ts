/** Finds names that are those of other files on macOS and Windows, for a plan that is checked. What git ignores has no twin. */
import type { Inspect } from '../../plan/effects/virtual-files.ts';
import type { Store, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RepoPath } from '../../names.ts';
import * as twinNames from '../../session/paths/twin-names.ts';
import type { World } from '../../plan/validate.ts';
import { readGlobal } from './global-branch.ts';
import { maskString } from './mask-text.ts';
import { agentNames } from '../../conversation/prompts/agents.ts';

/** Null: no file that git sees has a name that differs from this one only in case or Unicode form. */
export async function findTwin(project: Project, workspace: Workspace, path: RepoPath): Promise<RepoPath | null> {
  const twin = await project.filesOf(workspace.root).findTwin(path);
  return twin === null || (await workspace.ignored([twin])).length > 0 ? null : twin;
}

/** The same among the files of a commit. */
export function findTwinIn(store: Store, tip: Oid, path: RepoPath): Promise<RepoPath | null> {
  const list = async (directory: string) => (await store.readDir(tip, directory as RepoPath))?.entries ?? [];
  return twinNames.findTwin(path, async (directory) => (await list(directory)).map(({ name }) => name));
}

/** Also says of a path that is absent whether it has a twin. */
export function inspectWithTwins(project: Project, workspace: Workspace): Inspect {
  const { inspect } = project.filesOf(workspace.root);
  return async (path) => {
    const found = await inspect(path);
    const twin = found.kind === 'absent' ? await findTwin(project, workspace, path) : null;
    return found.kind === 'absent' && twin !== null ? { ...found, twin } : found;
  };
}

/** A plan is checked against this in a work tree. */
export function worldOf(project: Project, workspace: Workspace): World {
  return {
    inspect: inspectWithTwins(project, workspace),
    mask: (text) => maskString(project.masker, text),
    findIgnored: (paths) => workspace.ignored(paths),
    listAgents: async () => agentNames((await readGlobal(project, { orRemote: true }))?.agents ?? new Map()),
    canSearch: async () => (await project.settings.get('searchCommand')) !== undefined,
  };
}

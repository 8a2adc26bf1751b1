/**
 * Finds names that macOS and Windows treat as equal to another file's name, to check a plan. Omits files that git
 * ignores.
 */
import type { Inspect } from '../../plan/effects/virtual-files.ts';
import type { Store, Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import type { Oid, RepoPath } from '../../names.ts';
import * as twinNames from '../../session/paths/twin-names.ts';
import type { World } from '../../plan/validate.ts';
import { readGlobal } from './global-branch.ts';
import { maskString } from './mask-text.ts';
import { agentNames } from '../../conversation/prompts/agents.ts';

/**
 * Returns a file, not ignored by git, with a name that differs from this one only in case or Unicode form; null when
 * none exists.
 */
export async function findTwin(project: Project, workspace: Workspace, path: RepoPath): Promise<RepoPath | null> {
  const twin = await project.filesOf(workspace.root).findTwin(path);
  return twin === null || (await workspace.ignored([twin])).length > 0 ? null : twin;
}

/** Finds a twin among a commit's files. */
export function findTwinIn(store: Store, tip: Oid, path: RepoPath): Promise<RepoPath | null> {
  const list = async (directory: string) => (await store.readDir(tip, directory as RepoPath))?.entries ?? [];
  return twinNames.findTwin(path, async (directory) => (await list(directory)).map(({ name }) => name));
}

/** Inspects paths, and reports whether an absent path has a twin. */
export function inspectWithTwins(project: Project, workspace: Workspace): Inspect {
  const { inspect } = project.filesOf(workspace.root);
  return async (path) => {
    const found = await inspect(path);
    const twin = found.kind === 'absent' ? await findTwin(project, workspace, path) : null;
    return found.kind === 'absent' && twin !== null ? { ...found, twin } : found;
  };
}

/** The work tree to check a plan against. */
export function worldOf(project: Project, workspace: Workspace): World {
  return {
    inspect: inspectWithTwins(project, workspace),
    mask: (text) => maskString(project.masker, text),
    findIgnored: (paths) => workspace.ignored(paths),
    listAgents: async () => agentNames((await readGlobal(project, { orRemote: true }))?.agents ?? new Map()),
    canSearch: async () => (await project.settings.get('searchCommand')) !== undefined,
  };
}

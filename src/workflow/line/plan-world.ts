/** A plan is checked against this in a work tree. */
import type { World } from '../../plan/validate.ts';
import type { Workspace } from '../../ports/git.ts';
import type { Project } from '../../ports/project.ts';
import { inspectWithTwins } from './find-twin.ts';
import { readGlobal } from './global-branch.ts';
import { maskString } from './mask-text.ts';
import { agentNames } from '../../conversation/agents.ts';

export function worldOf(project: Project, workspace: Workspace): World {
  return {
    inspect: inspectWithTwins(project, workspace),
    mask: (text) => maskString(project.masker, text),
    findIgnored: (paths) => workspace.ignored(paths),
    listAgents: async () => agentNames((await readGlobal(project, { orRemote: true }))?.agents ?? new Map()),
    canSearch: async () => (await project.settings.get('searchCommand')) !== undefined,
  };
}

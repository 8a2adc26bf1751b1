/** What a plan is checked against in a work tree. */
import type { World } from '../plan/validate.ts';
import type { Project, Workspace } from '../ports.ts';
import { agentNames } from '../session/agents.ts';
import { readGlobal } from './global-branch.ts';
import { maskString } from './mask-text.ts';

export function worldOf(project: Project, workspace: Workspace): World {
  return {
    inspect: project.filesOf(workspace.root).inspect,
    mask: (text) => maskString(project.masker, text),
    findIgnored: (paths) => workspace.ignored(paths),
    listAgents: async () => agentNames((await readGlobal(project, { orRemote: true }))?.agents ?? new Map()),
    canSearch: async () => (await project.settings.get('searchCommand')) !== undefined,
  };
}

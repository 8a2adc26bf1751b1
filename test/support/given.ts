/** In-memory repositories with a session, as most workflow tests begin with one. */
import { memoryProject, type MemoryProject } from './memory-repository.ts';
import { planOf, say, start, turn } from './turns.ts';

/** Null for a repository without commits. */
type Files = Parameters<typeof memoryProject>[0];

export const given = {
  /** HEAD is on a new session in a project with these files. */
  async session(files?: Files): Promise<MemoryProject> {
    const project = await memoryProject(files);
    await start(project);
    return project;
  },

  /** The session has an executed turn for each list of actions. */
  async executedTurns(turns: Record<string, string[]>, files?: Files): Promise<MemoryProject> {
    const project = await given.session(files);
    for (const [message, actions] of Object.entries(turns)) await turn(project, message, ...actions);
    return project;
  },

  /** The session's only turn waits with a plan for these actions and sections. */
  async plannedTurn(actions: string[], sections: string[] = [], files?: Files): Promise<MemoryProject> {
    const project = await given.session(files);
    await say(project, 'Do it', planOf(actions, ...sections));
    return project;
  },
};

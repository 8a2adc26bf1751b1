/** Repositories on real git in which a session is checked out, after some turns. */
import { openProject } from '../../src/app.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { makeScratchRepository, sceneOf, type ScratchRepository } from './scratch-repository.ts';
import { planOf, run, say } from './turns.ts';

interface SessionScene {
  files: Record<string, string>;
  name: string;
  /** The actions in each turn's plan. */
  turns?: string[][];
  objectFormat?: 'sha1' | 'sha256';
}

export function sessionScene({ files, name, turns = [], objectFormat = 'sha1' }: SessionScene) {
  return sceneOf(async () => {
    const repo = await makeScratchRepository(files, { objectFormat });
    const notices = { info: () => undefined, warn: () => undefined };
    const project = await openProject({ cwd: repo.root, env: process.env, notices });
    await newSession(project, { name, switch: true });
    for (const actions of turns) {
      await say(project, 'Do it', planOf(actions));
      await run(project);
    }
    await project.repository.close();
    return repo;
  });
}

/** The checked-out branch, read from git's own file. */
export async function headOf(repo: ScratchRepository): Promise<string> {
  return (await repo.read('.git/HEAD')).trim().replace('ref: ', '');
}

/** The program that is killed while lines go from one place to another: `sync-child <operation> <repository>`. */
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import { archiveSession } from '../../src/workflow/landing/archive-session.ts';
import { landSession } from '../../src/workflow/landing/land-session.ts';
import { pullSessions } from '../../src/workflow/sharing/pull-sessions.ts';
import { pushSessions } from '../../src/workflow/sharing/push-sessions.ts';
import type { Shared } from '../../src/workflow/sharing/shared-line.ts';
import { syncSessions } from '../../src/workflow/sharing/sync-sessions.ts';
import { endChild } from './end-child.ts';
import { passStep, print } from './fault-points.ts';
import type { SyncSceneName } from './sync-scenes.ts';

const [, , operation = '', root = ''] = process.argv;
const request = { all: true, signal: new AbortController().signal };

const land = async (project: Project) => (await landSession(project, { target: 'first' })).commit ?? '';

const operations: Record<SyncSceneName, (project: Project) => Promise<string>> = {
  sync: (project) => share(syncSessions(project, request)),
  pull: (project) => share(pullSessions(project, request)),
  push: (project) => share(pushSessions(project, request)),
  land,
  'land-here': land,
  'land-over': land,
  archive: async (project) => (await archiveSession(project, 'first')).session,
};

/** Nothing is in the way of any line here. */
async function share(sharing: Promise<Shared>): Promise<string> {
  const { lines, refusal } = await sharing;
  const problem = refusal ?? lines.find((line) => line.problem !== null)?.problem;
  if (problem) throw problem;
  return '';
}

void endChild(async () => {
  const project = await openProject({
    cwd: root,
    env: process.env,
    notices: { info: () => undefined, warn: (text) => print({ line: 'warned', text }) },
    onStep: passStep,
  });
  try {
    print({ line: 'acknowledged', commit: await operations[operation as SyncSceneName](project) });
  } finally {
    await project.repository.close();
  }
});

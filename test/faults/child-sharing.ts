/** Operations that bring lines from one place to another. */
import { archiveSession } from '../../src/workflow/landing/archive-session.ts';
import { landSession } from '../../src/workflow/landing/land-session.ts';
import { pullSessions } from '../../src/workflow/sharing/pull-sessions.ts';
import { pushSessions } from '../../src/workflow/sharing/push-sessions.ts';
import type { Shared } from '../../src/workflow/sharing/shared-line.ts';
import { syncSessions } from '../../src/workflow/sharing/sync-sessions.ts';
import { acknowledging, type ChildOperation } from './child-task.ts';
import type { SyncSceneName } from './sync-scenes.ts';

const request = { all: true, signal: new AbortController().signal };

const land = acknowledging(async (project) => (await landSession(project, { target: 'first' })).commit ?? '');

export const sharingOperations: Record<SyncSceneName, ChildOperation> = {
  sync: acknowledging((project) => share(syncSessions(project, request))),
  pull: acknowledging((project) => share(pullSessions(project, request))),
  push: acknowledging((project) => share(pushSessions(project, request))),
  land,
  'land-here': land,
  'land-over': land,
  archive: acknowledging(async (project) => (await archiveSession(project, 'first')).session),
};

/** Nothing is in the way of any line here. */
async function share(sharing: Promise<Shared>): Promise<string> {
  const { lines, refusal } = await sharing;
  const problem = refusal ?? lines.find((line) => line.problem !== null)?.problem;
  if (problem) throw problem;
  return '';
}

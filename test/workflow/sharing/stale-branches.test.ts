/** Branches with nothing beyond an archive of their line. */
import { beforeEach, describe, expect, test } from 'vitest';
import { archiveRef, mainLineRef, type Oid, type SessionId } from '../../../src/names.ts';
import { archiveSession, restoreArchived } from '../../../src/workflow/landing/archive-session.ts';
import { deleteOnRemote, listRemoteArchive } from '../../../src/workflow/landing/archive-remote.ts';
import { findRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { findLine } from '../../../src/workflow/line/find.ts';
import { listSessions } from '../../../src/workflow/review/list-sessions.ts';
import { pullSessions } from '../../../src/workflow/sharing/pull-sessions.ts';
import { pushSessions } from '../../../src/workflow/sharing/push-sessions.ts';
import type { Shared } from '../../../src/workflow/sharing/shared-line.ts';
import { syncSessions } from '../../../src/workflow/sharing/sync-sessions.ts';
import type { MemoryRemote } from '../../support/memory-remotes.ts';
import type { MemoryProject } from '../../support/memory-repository.ts';
import { create, line, session as name, start, turn } from '../../support/turns.ts';
import { append, makeClone, makeRemote, refsOf, request } from './clones.ts';

const session = name as SessionId;
const main = mainLineRef(session);
const archived = archiveRef(main);
const all = { ...request, all: true };
const did = ({ lines }: Shared) =>
  lines.flatMap((one) => (one.did.length === 0 ? [] : [`${one.ref} ${one.did.join()}`]));
const standing = ({ lines }: Shared) => lines.find(({ ref }) => ref === main)?.standing;
const listed = (project: MemoryProject) => listSessions(project, { archived: true });

let origin: MemoryRemote;
let ada: MemoryProject;
let first: Oid;

/** A session with a turn is on origin. */
beforeEach(async () => {
  origin = await makeRemote();
  ada = await makeClone(origin, 'a');
  await start(ada);
  await turn(ada, 'One', create('one.txt'));
  await pushSessions(ada, request);
  first = await ada.tipOf(line);
  await ada.switchTo('main');
});

async function deleteThere(project: MemoryProject, remote = 'origin'): Promise<void> {
  await deleteOnRemote(project, await listRemoteArchive(project, session, remote, request), request);
}

describe('a branch that a remote still has after its line continued and was archived', () => {
  let last: Oid;
  beforeEach(async () => {
    last = await append(ada, main);
    await archiveSession(ada, session);
    await syncSessions(ada, all);
  });

  test('can be deleted there at that commit', async () => {
    expect(await listRemoteArchive(ada, session, 'origin', request)).toMatchObject({
      branches: [{ ref: main, tip: first }],
      left: [],
      missing: [],
    });
    await deleteThere(ada);
    expect(Object.keys(await refsOf(origin))).toEqual(['refs/heads/teddy/global', archived]);
    expect((await refsOf(origin))[archived]).toBe(last);
  });

  test('is not fetched to a clone without the session: the archive is, and the next sync has nothing to do', async () => {
    const bea = await makeClone(origin, 'b');
    const pulled = await syncSessions(bea, all);
    expect(did(pulled)).toEqual(['refs/heads/teddy/global made', `${archived} made`]);
    expect(standing(pulled)).toBe('archived-here');
    const again = await syncSessions(bea, all);
    expect([did(again), standing(again)]).toEqual([[], 'archived-here']);
    expect(await listed(bea)).toMatchObject([{ session, state: 'archived', remote: null }]);
    expect(await findRecorded(bea, session)).toMatchObject({ ref: archived, tip: last });
  });

  test('is fetched if the archive does not pass the checks', async () => {
    const strange = await append(ada, archived, '.TEDDY');
    await ada.repository.remotes.push('origin', [{ ref: archived, old: last, new: strange }], request);
    const bea = await makeClone(origin, 'b');
    const { lines } = await syncSessions(bea, all);
    expect(lines.find(({ ref }) => ref === archived)?.problem).toMatchObject({ code: 'HOSTILE_SESSION' });
    expect(await refsOf(bea.repository)).toMatchObject({ [main]: first });
  });
});

test('a main line under another name that a remote still has is not fetched again, and is reported', async () => {
  const named = 'refs/heads/feature/login' as typeof main;
  await ada.switchTo('feature/login', first);
  const gone = [main, `refs/remotes/origin/${line}` as typeof main];
  const updates = gone.map((ref) => ({ ref, old: first, new: null }));
  await ada.repository.store.updateRefs(updates, 'renamed');
  await origin.store.updateRefs([{ ref: main, old: first, new: null }], 'renamed');
  await append(ada, named);
  await pushSessions(ada, request);
  await ada.switchTo('main');
  await archiveSession(ada, session);
  const { lines } = await syncSessions(ada, all);
  expect(lines.find(({ ref }) => ref === named)).toMatchObject({ standing: 'archived-here', did: [] });
  expect(await listed(ada)).toMatchObject([{ session, state: 'archived' }]);
});

describe('a locally archived session', () => {
  test('is listed as archived, whatever its remote-tracking branch was when last fetched', async () => {
    for (const goesOn of [false, true]) {
      if (goesOn) {
        await restoreArchived(ada, session);
        await append(ada, main);
      }
      await archiveSession(ada, session);
      expect(await ada.repository.store.resolve(`refs/remotes/origin/${line}`)).toBe(first);
      expect(await listed(ada)).toMatchObject([{ session, state: 'archived', archived: true, remote: null }]);
      expect(await listSessions(ada)).toEqual([]);
      expect(await findRecorded(ada, session)).toMatchObject({ ref: archived });
      for (const selector of [session, line, 'add-login'])
        await expect(findLine(ada, selector)).rejects.toMatchObject({
          code: 'UNKNOWN_SESSION',
          message: `${session} is archived and has no branch.`,
        });
    }
  });

  test('is listed as remote if the remote has continued it, or has something else', async () => {
    const bea = await makeClone(origin, 'b');
    await syncSessions(bea, all);
    const ahead = await append(bea, main);
    await syncSessions(bea, all);
    await archiveSession(ada, session);
    const fetched = { from: main, to: `refs/remotes/origin/${line}` as typeof main };
    await ada.repository.remotes.fetch('origin', [fetched], request);
    expect(await listed(ada)).toMatchObject([{ session, state: 'remote', remote: 'origin' }]);
    expect(await findLine(ada, session)).toMatchObject({ remoteTip: ahead });
    await restoreArchived(ada, session);
    await append(ada, main);
    await archiveSession(ada, session);
    expect(await listed(ada)).toMatchObject([{ session, state: 'remote', remote: 'origin' }]);
  });

  test('stays archived when its branch is pushed to another remote, and returns if somebody has continued it', async () => {
    const sessions = await makeRemote();
    const bea = await makeClone(origin, 'b');
    await syncSessions(bea, all);
    await archiveSession(bea, session);
    for (const project of [ada, bea]) {
      project.remotes.set('sess', sessions);
      project.configuration.set('teddy.sessionsRemote', 'sess');
    }
    await syncSessions(ada, all);
    const synced = await syncSessions(bea, all);
    expect([did(synced), standing(synced)]).toEqual([[`${archived} pushed`], 'archived-here']);
    expect(await refsOf(bea.repository)).not.toHaveProperty([main]);
    const ahead = await append(ada, main);
    await syncSessions(ada, all);
    expect(did(await syncSessions(bea, all))).toEqual([`${main} made`]);
    expect(await bea.tipOf(line)).toBe(ahead);
  });
});

describe('a local branch with nothing beyond the archive on a remote', () => {
  test('is not sent again by a sync or a push of all, and lacks nothing there', async () => {
    const sessions = await makeRemote();
    const bea = await makeClone(origin, 'b');
    await pullSessions(bea, all);
    for (const project of [ada, bea]) {
      project.remotes.set('sess', sessions);
      project.configuration.set('teddy.sessionsRemote', 'sess');
    }
    await append(ada, main);
    await pushSessions(ada, all);
    await archiveSession(ada, session);
    await deleteThere(ada, 'sess');
    const pulled = await pullSessions(bea, all);
    expect([did(pulled), standing(pulled)]).toEqual([[`${archived} made`], 'archived-there']);
    for (const share of [syncSessions, pushSessions]) expect(did(await share(bea, all))).toEqual([]);
    expect(await refsOf(sessions)).not.toHaveProperty([main]);
    expect(await bea.tipOf(line)).toBe(first);
  });

  test.each(['origin', 'address'])(
    'stays if it was restored, and is pushed to %s if it is named, or has more',
    async (kind) => {
      const remote = kind === 'origin' ? 'origin' : '../d1';
      ada.remotes.set(remote, origin);
      await archiveSession(ada, session);
      await deleteThere(ada);
      await restoreArchived(ada, session);
      for (const share of [pullSessions, syncSessions, pushSessions]) {
        const shared = await share(ada, { ...all, remote });
        expect([did(shared), standing(shared)]).toEqual([[], 'archived-there']);
        expect(await ada.tipOf(line)).toBe(first);
      }
      await pushSessions(ada, { ...request, remote, selector: session });
      expect((await refsOf(origin))[main]).toBe(first);
      await deleteThere(ada);
      const more = await append(ada, main);
      await syncSessions(ada, { ...all, remote });
      expect((await refsOf(origin))[main]).toBe(more);
    },
  );

  test('is pushed beside an open main line, under its own name', async () => {
    await ada.repository.store.updateRefs([{ ref: archived, old: null, new: first }], 'landed');
    await syncSessions(ada, all);
    await ada.switchTo('again', first);
    await pushSessions(ada, request);
    expect(await origin.store.resolve('refs/heads/again')).toBe(first);
  });

  test('is fetched to a clone like a landed one, if it is no older than the archive there', async () => {
    await ada.repository.store.updateRefs([{ ref: archived, old: null, new: first }], 'landed');
    await syncSessions(ada, all);
    const bea = await makeClone(origin, 'b');
    await syncSessions(bea, all);
    expect(await refsOf(bea.repository)).toMatchObject({ [main]: first });
    expect(await listed(bea)).toMatchObject([{ session, remote: null, archived: false }]);
  });
});

/** `teddy.sessionsRemote`: sessions have a separate remote. */
import { beforeEach, expect, test } from 'vitest';
import { archiveRef, type RefName, type SessionId } from '../../../src/names.ts';
import { archiveSession } from '../../../src/workflow/landing/archive-session.ts';
import { deleteOnRemote, listRemoteArchive } from '../../../src/workflow/landing/archive-remote.ts';
import { examineRepository } from '../../../src/workflow/doctor/examine-repository.ts';
import { pullSessions } from '../../../src/workflow/sharing/pull-sessions.ts';
import { pushSessions } from '../../../src/workflow/sharing/push-sessions.ts';
import { syncSessions } from '../../../src/workflow/sharing/sync-sessions.ts';
import type { MemoryRemote } from '../../support/memory-remotes.ts';
import type { MemoryProject } from '../../support/memory-repository.ts';
import { create, line, session, start, turn } from '../../support/turns.ts';
import { makeClone, makeRemote, refsOf, request } from './clones.ts';

const main = `refs/heads/${line}` as RefName;
let origin: MemoryRemote;
let fork: MemoryRemote;
let ada: MemoryProject;

/** Two remotes with the code, and a session with a turn that is on neither. */
beforeEach(async () => {
  [origin, fork] = [await makeRemote(), await makeRemote()];
  ada = await openClone('a');
  await start(ada);
  await turn(ada, 'One', create('one.txt'));
});

async function openClone(letter: string): Promise<MemoryProject> {
  const project = await makeClone(origin, letter);
  project.remotes.set('sessions', fork);
  project.configuration.set('teddy.sessionsRemote', 'sessions');
  return project;
}

const mainOf = (remote: MemoryRemote) => remote.store.resolve('refs/heads/main');

test('push, pull and sync use it for lines, teddy/global and archives, and the remote for code gets nothing', async () => {
  // git would push to the other one.
  ada.configuration.set('remote.pushdefault', 'origin');
  ada.configuration.set(`branch.${line}.remote`, 'origin');
  const code = await mainOf(fork);
  await ada.switchTo('main');
  await ada.commit('Code\n', { 'code.txt': 'code\n' });
  await ada.switchTo(line);
  expect((await pushSessions(ada, request)).remote).toMatchObject({ name: 'sessions', isConfigured: true });
  expect(Object.keys(await refsOf(fork))).toEqual([main, 'refs/heads/teddy/global']);
  expect(await ada.repository.store.resolve(`refs/remotes/sessions/${line}`)).toBe(await ada.tipOf(line));

  const bea = await openClone('b');
  expect((await pullSessions(bea, { ...request, all: true })).remote.name).toBe('sessions');
  expect(await bea.tipOf(line)).toBe(await ada.tipOf(line));
  await bea.switchTo(line);
  await turn(bea, 'Two', create('two.txt'));
  await syncSessions(bea, request);
  await syncSessions(ada, request);
  expect(await ada.tipOf(line)).toBe(await bea.tipOf(line));

  await archiveSession(ada, session);
  const there = await listRemoteArchive(ada, session as SessionId, undefined, request);
  expect(there.remote.name).toBe('sessions');
  await deleteOnRemote(ada, there, request);
  expect(Object.keys(await refsOf(fork))).toEqual(['refs/heads/teddy/global', archiveRef(main)]);
  expect(await refsOf(origin)).toEqual({});
  expect(origin.pushed).toEqual([]);
  // The local code that is ahead is on neither.
  expect([await mainOf(fork), await mainOf(origin)]).toEqual([code, code]);
});

test('without it, sync pushes to push’s remote, and sends nothing to the remote that it pulls from', async () => {
  ada.configuration.delete('teddy.sessionsRemote');
  ada.configuration.set('remote.pushdefault', 'sessions');
  await pushSessions(ada, { ...request, remote: 'origin' });
  const bea = await makeClone(origin, 'b');
  await pullSessions(bea, request);
  await bea.switchTo(line);
  await turn(bea, 'Two', create('two.txt'));
  await pushSessions(bea, request);
  await turn(ada, 'Three', create('three.txt'));
  const there = await refsOf(origin);
  const { remote, lines, pushed, refusal } = await syncSessions(ada, request);
  expect([remote.name, pushed?.remote.name, refusal]).toEqual(['origin', 'sessions', null]);
  expect(lines.find(({ ref }) => ref === main)).toMatchObject({ did: ['moved'] });
  expect(await refsOf(origin)).toEqual(there);
  expect(await refsOf(fork)).toEqual({ ...there, [`${main}--02-branch-01`]: await ada.tipOf(`${line}--02-branch-01`) });
  // A named remote is used for both.
  expect(await syncSessions(ada, { ...request, remote: 'origin' })).not.toHaveProperty('pushed');
  expect(await refsOf(origin)).toEqual(await refsOf(fork));
});

test('a named remote takes precedence', async () => {
  expect((await pushSessions(ada, { ...request, remote: 'origin' })).remote.name).toBe('origin');
  expect(await refsOf(fork)).toEqual({});
});

test.each([
  ['forc', /`git remote add forc <url>`; or name another one: `teddy config set sessionsRemote origin`/],
  ['-x', /^Give it a name: `git remote add sessions <url>`, then `teddy config set sessionsRemote sessions`/],
  ['https://ada:secret@example.org/x.git', /^Give it a name: `git remote add sessions .*example.org\/x.git'?`/],
])('%s, which does not name a remote, is refused, and nothing is sent', async (name, hint) => {
  ada.configuration.set('teddy.sessionsRemote', name);
  ada.remotes.set('dead', fork);
  const { findings } = await examineRepository(ada, { fix: false });
  expect(findings).toMatchObject([
    {
      kind: 'unknown-remote',
      meaning: expect.not.stringContaining('secret') as string,
      todo: expect.stringMatching(hint) as string,
    },
  ]);
  for (const share of [pushSessions, pullSessions, syncSessions])
    await expect(share(ada, request)).rejects.toMatchObject({
      code: 'UNKNOWN_REMOTE',
      message: expect.not.stringContaining('secret') as string,
      hint: expect.stringMatching(hint) as string,
    });
  expect([...origin.pushed, ...fork.pushed]).toEqual([]);
});

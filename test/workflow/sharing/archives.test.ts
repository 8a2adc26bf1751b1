/** A remote's archives: which are fetched, which are pushed, and which refs among them are invalid. */
import { beforeEach, expect, test } from 'vitest';
import { archiveRef, mainLineRef, type Oid, type RefName, type SessionId } from '../../../src/names.ts';
import { archiveSession } from '../../../src/workflow/landing/archive-session.ts';
import { deleteOnRemote, listRemoteArchive } from '../../../src/workflow/landing/archive-remote.ts';
import { pullSessions } from '../../../src/workflow/sharing/pull-sessions.ts';
import { pushSessions } from '../../../src/workflow/sharing/push-sessions.ts';
import { syncSessions } from '../../../src/workflow/sharing/sync-sessions.ts';
import { packMany } from '../../../src/workflow/sharing/take-in.ts';
import type { MemoryRemote } from '../../support/memory-remotes.ts';
import type { MemoryProject } from '../../support/memory-repository.ts';
import { create, start, turn } from '../../support/turns.ts';
import { append, makeClone, makeRemote, refsOf, request } from './clones.ts';

const lineOf = (name: string) => mainLineRef(`20260124-${name}` as SessionId);
const [one, two] = [lineOf('one'), lineOf('two')];
const global = 'refs/heads/teddy/global';
const all = { ...request, all: true };

let origin: MemoryRemote;
let ada: MemoryProject;
let tips: Record<string, Oid>;

/** Two sessions are on the remote: `one` archived there and here, and `two` open. */
beforeEach(async () => {
  origin = await makeRemote();
  ada = await makeClone(origin, 'a');
  for (const name of ['one', 'two']) {
    await start(ada, name);
    await turn(ada, name, create(`${name}.txt`));
    await ada.switchTo('main');
  }
  tips = { one: await ada.tipOf(`teddy/20260124-one`), two: await ada.tipOf(`teddy/20260124-two`) };
  await syncSessions(ada, all);
  await archiveSession(ada, '20260124-one');
  await deleteOnRemote(ada, await listRemoteArchive(ada, '20260124-one' as SessionId, 'origin', request), request);
});

const keysOf = async (project: MemoryProject) => Object.keys(await refsOf(project.repository)).toSorted();
const live = [two, global].toSorted();

test.each([
  ['sync', syncSessions],
  ['pull', pullSessions],
])('%s fetches open lines, and only the archives from the given months', async (_, share) => {
  const bea = await makeClone(origin, 'b');
  expect((await share(bea, { ...all, dryRun: true, months: ['2026-01'] })).monthsLeft).toEqual([]);
  expect((await share(bea, all)).monthsLeft).toEqual(['2026-01']);
  expect(await keysOf(bea)).toEqual(live);
  expect((await share(bea, { ...all, months: ['2025-12', '2026-02'] })).monthsLeft).toEqual(['2026-01']);
  expect(await keysOf(bea)).toEqual(live);
  expect((await share(bea, { ...all, months: ['2026-02', '2026-01'] })).monthsLeft).toEqual([]);
  expect(await refsOf(bea.repository)).toMatchObject({ [archiveRef(one)]: tips['one'] });
});

test('a month is fetched completely while one session is synced, and local archives are not pushed with it', async () => {
  const bea = await makeClone(origin, 'b');
  await syncSessions(bea, all);
  await start(bea, 'three');
  await turn(bea, 'three', create('three.txt'));
  await bea.switchTo('main');
  await archiveSession(bea, '20260124-three');
  await syncSessions(bea, { ...request, selector: '20260124-two', months: ['2026-01'] });
  expect(await refsOf(bea.repository)).toMatchObject({ [archiveRef(one)]: tips['one'] });
  expect(await refsOf(origin)).not.toHaveProperty([archiveRef(lineOf('three'))]);
});

test('an archive is fetched without its month if the session is named, or here', async () => {
  const bea = await makeClone(origin, 'b');
  await pullSessions(bea, { ...request, selector: '20260124-one' });
  expect(await keysOf(bea)).toEqual([archiveRef(one), global].toSorted());
  const cid = await makeClone(origin, 'c');
  await cid.repository.remotes.fetch('origin', [{ from: archiveRef(one), to: one }], request);
  await append(cid, one);
  await syncSessions(cid, all);
  expect(await keysOf(cid)).toEqual([archiveRef(one), one, ...live].toSorted());
});

test('two branches on one commit are deleted together, and each leaves its archive there', async () => {
  const other = `${two}--01-branch-01` as RefName;
  await ada.repository.store.updateRefs([{ ref: other, old: null, new: tips['two'] as Oid }], 'branch');
  await syncSessions(ada, all);
  await archiveSession(ada, '20260124-two');
  const there = await listRemoteArchive(ada, '20260124-two' as SessionId, 'origin', request);
  expect(there.branches.map(({ ref }) => ref)).toEqual([two, other]);
  await deleteOnRemote(ada, there, request);
  const kept = await refsOf(origin);
  expect(kept).toMatchObject({ [archiveRef(two)]: tips['two'], [archiveRef(other)]: tips['two'] });
  expect(Object.keys(kept)).not.toContain(two);
});

test('a branch whose tip only another archive has is deleted there, and not reported as kept as well', async () => {
  const other = `${two}--02-branch-01` as RefName;
  await archiveSession(ada, '20260124-two');
  const [held, before] = [tips['two'] as Oid, (await ada.repository.store.readCommit(tips['two'] as Oid)).parents[0]];
  const updates = [
    { ref: archiveRef(two), old: held, new: before as Oid },
    { ref: archiveRef(other), old: null, new: held },
  ];
  await ada.repository.store.updateRefs(updates, 'archived under another name');
  const there = await listRemoteArchive(ada, '20260124-two' as SessionId, 'origin', request);
  expect([there.branches.map(({ ref }) => ref), there.left]).toEqual([[two], []]);
});

test('a session that continues is pushed, and fetched as far as it has come', async () => {
  const ahead = await append(ada, archiveRef(one));
  await pushSessions(ada, all);
  expect(await refsOf(origin)).toMatchObject({ [archiveRef(one)]: ahead });
  const bea = await makeClone(origin, 'b');
  await pullSessions(bea, { ...all, months: ['2026-01'] });
  expect((await refsOf(bea.repository))[archiveRef(one)]).toBe(ahead);
});

test('misnamed refs among the archives stay, and are neither fetched nor pushed', async () => {
  const strange = [
    'refs/teddy/archive/20260124-one',
    'refs/teddy/archive/2026-02/20260124-one',
    'refs/teddy/archive/2026-01/x',
    'refs/teddy/archive/2026-03',
  ];
  const updates = strange.map((ref) => ({ ref: ref as RefName, old: null, new: tips['one'] as Oid }));
  await origin.store.updateRefs(updates, 'strange');
  const bea = await makeClone(origin, 'b');
  await syncSessions(bea, { ...all, months: ['2026-01', '2026-02', '2026-03'] });
  expect(await keysOf(bea)).toEqual([archiveRef(one), ...live].toSorted());
  const own = 'refs/teddy/archive/20260124-two' as RefName;
  await bea.repository.store.updateRefs([{ ref: own, old: null, new: tips['two'] as Oid }], 'strange');
  const there = await refsOf(origin);
  for (const share of [pushSessions, syncSessions, pullSessions]) await share(bea, all);
  expect(await refsOf(origin)).toEqual(there);
  expect(await keysOf(bea)).toEqual([archiveRef(one), own, ...live].toSorted());
});

test('refs are packed once after a thousand new lines, not earlier, and a failing pack does not fail the sync', async () => {
  const packs: number[] = [];
  ada.repository.store.packRefs = async (made) => void packs.push(made.length);
  await syncSessions(await makeClone(origin, 'b'), all);
  const [line] = (await syncSessions(ada, { ...all, dryRun: true })).lines;
  if (line === undefined) throw new Error('There is no line.');
  const lines = Array.from({ length: 1000 }, () => ({ ...line, did: ['made' as const] }));
  await packMany(ada, { lines: lines.slice(1) });
  await packMany(ada, { lines: lines.map((one, at) => (at === 0 ? { ...one, did: ['taken' as const] } : one)) });
  expect(packs).toEqual([]);
  await packMany(ada, { lines });
  expect(packs).toEqual([1000]);
  ada.repository.store.packRefs = () => Promise.reject(new Error('packed-refs.lock: File exists'));
  await packMany(ada, { lines });
  expect(ada.said.join()).toContain('The new refs could not be packed');
});

/** Listings and costs cache what they read: the next process shows the same as without the cache, and reads less. */
import { describe, expect, vi } from 'vitest';
import type { Oid, RefName } from '../../../src/names.ts';
import type { Cache } from '../../../src/ports/git.ts';
import { archiveSession } from '../../../src/workflow/landing/archive-session.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { countAllCosts } from '../../../src/workflow/review/count-all-costs.ts';
import { listNewest, listSessions, sortNewest } from '../../../src/workflow/review/list-sessions.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, planOf, say, session, start, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

/** The same repository in another process. */
function nextProcess(project: MemoryProject, cache: Cache = project.repository.cache): MemoryProject {
  const { read, write } = cache;
  return { ...project, repository: { ...project.repository, cache: { read, write } } };
}

const nothingKept: Cache = { read: async () => null, write: async () => undefined };

async function expectAlike(project: MemoryProject): Promise<void> {
  const list = (from: MemoryProject) => listSessions(from, { archived: true });
  for (const look of [list, countAllCosts]) {
    const anew = await look(nextProcess(project, nothingKept));
    for (let times = 0; times < 2; times += 1) expect(await look(nextProcess(project))).toEqual(anew);
  }
}

/** Counts the commits and files that are read. */
function countReads(project: MemoryProject): () => number {
  const { store } = project.repository;
  const { readCommit, readBlob, firstParentsOf } = store;
  let count = 0;
  store.readBlob = (oid) => ((count += 1), readBlob(oid));
  store.readCommit = (oid) => ((count += 1), readCommit(oid));
  store.firstParentsOf = (tips) => ((count += tips.length), firstParentsOf(tips));
  return () => count;
}

async function withSessions(names: readonly string[], made?: MemoryProject): Promise<MemoryProject> {
  const project = made ?? (await memoryProject());
  for (const name of names) {
    await project.switchTo('main');
    await start(project, name);
    await turn(project, `Do ${name}`, create(`${name}.txt`));
  }
  return project;
}

describe('a listing by the next process', () => {
  test('shows the same as without a cache, after every possible change to a line', async () => {
    const project = await withSessions(['add-login']);
    await expectAlike(project);
    await say(project, 'Another', planOf([create('more.txt')]));
    await expectAlike(project);
    await project.commit('Mine\n', { 'own.txt': 'x\n' });
    await expectAlike(project);
    const { ref } = await branchSession(project, { turn: '01', switch: true });
    await turn(project, 'On the branch', create('branch.txt'));
    await expectAlike(project);
    await project.switchTo('main');
    await start(project, 'second');
    await expectAlike(project);
    await project.repository.store.updateRefs(
      [{ ref: ref as RefName, old: await project.tipOf(ref.replace('refs/heads/', '')), new: null }],
      'gone',
    );
    await expectAlike(project);
    await project.setRef(`refs/heads/${line}`, await project.tipOf('teddy/20260124-second'));
    await expectAlike(project);
  });

  test('notices a landing and an archive', async () => {
    const project = await withSessions(['add-login', 'second']);
    await expectAlike(project);
    await project.switchTo(line);
    await landSession(project, {});
    await expectAlike(project);
    expect((await listSessions(nextProcess(project))).map(({ state }) => state)).toEqual(['landed', 'closed']);
    await archiveSession(project, session);
    await expectAlike(project);
    const listed = await listSessions(nextProcess(project), { archived: true });
    expect(listed.map(({ state }) => state)).toEqual(['archived', 'closed']);
  });

  test('reads no commit on a line that has not moved', async () => {
    const project = await withSessions(['a', 'b', 'c', 'd']);
    await say(project, 'Another', planOf([create('more.txt')]));
    await project.switchTo('main');
    let writes = 0;
    const { read, write } = project.repository.cache;
    const cache: Cache = { read, write: (...kept) => ((writes += 1), write(...kept)) };
    const look = async () => {
      await listSessions(nextProcess(project, cache));
      await countAllCosts(nextProcess(project, cache));
    };
    const count = countReads(project);
    await look();
    expect(count()).toBeGreaterThan(4);
    const [before, written] = [count(), writes];
    await look();
    // A row that is cached already is not written again.
    expect([written > 0, writes - written]).toEqual([true, 0]);
    // HEAD's place is looked up each time.
    expect(count() - before).toBeLessThanOrEqual(2);
  });
});

test('the newest sessions are the start of the full listing, plus the one that HEAD is on', async () => {
  const project = await withSessions(['a', 'b', 'c', 'd']);
  await project.switchTo('teddy/20260124-a');
  const now = project.clock.now();
  const all = sortNewest(await listSessions(project), now);
  const { sessions, count } = await listNewest(project, 2);
  expect(count).toBe(4);
  expect(sortNewest(sessions, now)).toEqual([all[0], all[1], all.find(({ current }) => current)]);
  expect((await listNewest(project, 9)).sessions).toHaveLength(4);
});

slowTest('the newest are the same if the index leaves out older ones, whatever has moved', async () => {
  const made = await memoryProject();
  let ms = made.clock.now().getTime() - 500;
  made.ids.entryId = () =>
    `${(ms += 1)
      .toString(16)
      .padStart(12, '0')
      .replace(/(?=.{4}$)/, '-')}-7000-8000-000000000000`;
  const project = await withSessions(
    Array.from({ length: 12 }, (_, at) => `n${at}`),
    made,
  );
  const expectNewest = async (current: string | null) => {
    const [all, now] = [
      sortNewest(await listSessions(nextProcess(project, nothingKept)), project.clock.now()),
      project.clock.now(),
    ];
    const { sessions, count } = await listNewest(nextProcess(project), 2);
    expect(count).toBe(all.length);
    expect(sortNewest(sessions, now)).toEqual(all.filter((one, at) => at < 2 || one.current));
    expect(sessions.find((one) => one.current)?.session ?? null).toBe(current);
  };
  await project.switchTo('main');
  await listSessions(nextProcess(project));
  const parse = vi.spyOn(JSON, 'parse');
  await expectNewest(null);
  await listNewest(nextProcess(project), 2);
  parse.mockClear();
  await listNewest(nextProcess(project), 2);
  expect(parse.mock.calls.length).toBeLessThan(10);
  parse.mockRestore();
  await project.switchTo('teddy/20260124-n3');
  await expectNewest('20260124-n3');
  await turn(project, 'Once more', create('again.txt'));
  await expectNewest('20260124-n3');
  const { ref } = await branchSession(project, { turn: '01', switch: true });
  await expectNewest('20260124-n3');
  await project.switchTo('main');
  await expectNewest(null);
  await project.switchTo('teddy/20260124-n5');
  // The branch of a session that is named after another one, and a main line that no longer exists.
  await project.setRef('refs/heads/other', await project.tipOf('teddy/20260124-n7'));
  await project.switchTo('other');
  await expectNewest('20260124-n7');
  await project.repository.store.updateRefs(
    [{ ref: 'refs/heads/teddy/20260124-n3' as RefName, old: await project.tipOf('teddy/20260124-n3'), new: null }],
    'gone',
  );
  await project.switchTo(ref.replace('refs/heads/', ''));
  await expectNewest('20260124-n3');
});

test('costs are the same if a wrong clock makes git list parents first', async () => {
  const project = await withSessions(['add-login', 'second']);
  await turn(project, 'Once more', create('again.txt'));
  const anew = await countAllCosts(nextProcess(project, nothingKept));
  const { store } = project.repository;
  const { firstParentsOf } = store;
  store.firstParentsOf = async function* reversed(tips: readonly Oid[]) {
    const all = [];
    for await (const one of firstParentsOf(tips)) all.push(one);
    yield* all.toReversed();
  };
  expect(await countAllCosts(nextProcess(project, nothingKept))).toEqual(anew);
  expect(anew.sessions.map(({ turns }) => turns)).toEqual([1, 2]);
});

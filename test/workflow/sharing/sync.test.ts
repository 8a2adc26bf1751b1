import { beforeAll, beforeEach, describe, expect } from 'vitest';
import type { Oid, RefName, RepoPath, SessionId } from '../../../src/names.ts';
import { addMemo, listMemos, removeMemo } from '../../../src/workflow/context/change-memos.ts';
import { editTree } from '../../../src/session/paths/edit-tree.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { findLine } from '../../../src/workflow/line/find.ts';
import { findRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { archiveSession } from '../../../src/workflow/landing/archive-session.ts';
import { deleteOnRemote, listRemoteArchive } from '../../../src/workflow/landing/archive-remote.ts';
import { showHistory } from '../../../src/workflow/conversation/show-history.ts';
import { verifyLine } from '../../../src/workflow/verify/line.ts';
import { listSessions } from '../../../src/workflow/review/list-sessions.ts';
import { pullSessions } from '../../../src/workflow/sharing/pull-sessions.ts';
import { pushSessions } from '../../../src/workflow/sharing/push-sessions.ts';
import type { Shared, ShareRequest } from '../../../src/workflow/sharing/shared-line.ts';
import { syncSessions } from '../../../src/workflow/sharing/sync-sessions.ts';
import type { TeddyError } from '../../../src/errors.ts';
import { memoryRemote, type MemoryRemote } from '../../support/memory-remotes.ts';
import type { MemoryProject } from '../../support/memory-repository.ts';
import { create, line, say, session, start, storyOfLine, turn } from '../../support/turns.ts';
import { append, expectNoQuarantine, makeClone, makeRemote, makeSyncedClone, refsOf, request } from './clones.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const main = `refs/heads/${line}` as RefName;
const archived = `refs/teddy/archive/2026-01/${session}` as RefName;

/** A session with one turn, to be copied. */
let seed: MemoryRemote;
let origin: MemoryRemote;
let ada: MemoryProject;
let bea: MemoryProject;

beforeAll(async () => {
  seed = await makeRemote();
  const author = await makeClone(seed, 'a');
  await start(author);
  await turn(author, 'Make a.txt', create('a.txt'));
  await syncSessions(author, request);
});

/** Both clones have the session; Ada's HEAD is on it, Bea's on main. */
beforeEach(async () => {
  origin = await makeRemote(seed);
  [ada, bea] = [await makeSyncedClone(origin, 'a'), await makeSyncedClone(origin, 'b')];
  await ada.switchTo(line);
});

function did(shared: Shared): Record<string, string> {
  const told = shared.lines.filter((one) => one.did.length > 0);
  return Object.fromEntries(
    told.map((one) => [
      one.ref.replace(/^refs\/(?:heads\/teddy|teddy)\//, '').replace('/2026-01/', '/'),
      one.did.join(' '),
    ]),
  );
}

/**
 * Removes the tree of the line's tip on the remote from here after each of the first `times` fetches. Returns the
 * number of fetches.
 */
async function dropAfterFetch(project: MemoryProject, times: number): Promise<() => number> {
  const { remotes } = project.repository;
  const { fetch } = remotes;
  let fetches = 0;
  remotes.fetch = async (remote, refs, options) => {
    await fetch(remote, refs, options);
    fetches += 1;
    if (fetches > times) return;
    const [tip] = await origin.store.listRefs(main);
    if (tip === undefined) throw new Error(`${main} is not on the remote.`);
    await project.drop((await origin.store.readCommit(tip.oid)).tree);
  };
  return () => fetches;
}

async function expectSame(...projects: MemoryProject[]): Promise<void> {
  const there = await refsOf(origin);
  for (const project of projects) {
    expect(await refsOf(project.repository)).toEqual(there);
    await expectNoQuarantine(project);
  }
}

describe('a session goes from one clone to another', () => {
  test('and arrives as a branch, with its tracking branch, and the same commits', async () => {
    const cid = await makeClone(seed, 'c');
    expect(did(await pullSessions(cid, request))).toEqual({ [session]: 'made', global: 'made' });
    expect(await cid.tipOf(line)).toBe(await ada.tipOf(line));
    const [tracked] = await cid.repository.store.listRefs(`refs/remotes/origin/${line}`);
    expect(tracked?.oid).toBe(await ada.tipOf(line));
    expect((await listSessions(cid)).map((one) => one.session)).toEqual([session]);
    await expectNoQuarantine(cid);
  });

  test('and, if fetched from an address alone, is marked as coming from elsewhere', async () => {
    const cid = await makeClone(origin, 'c');
    cid.remotes.clear();
    cid.remotes.set('../shared', origin);
    await pullSessions(cid, { ...request, remote: '../shared' });
    expect(await cid.tipOf(line)).toBe(await ada.tipOf(line));
    expect(await cid.repository.store.listRefs('refs/remotes/')).toEqual([]);
    expect(await cid.repository.store.listRefs('refs/teddy/keep/fetched')).toHaveLength(1);
  });

  test('with refs listed once if nothing is new, and without looking up fetched tips', async () => {
    const [lists, sizes] = [[] as string[][], [] as Oid[]];
    const { store } = ada.repository;
    const counting = {
      ...store,
      listRefs: (...prefixes: string[]) => {
        lists.push(prefixes);
        return store.listRefs(...prefixes);
      },
      readSize: (oid: Oid) => {
        sizes.push(oid);
        return store.readSize(oid);
      },
    };
    const project = { ...ada, repository: { ...ada.repository, store: counting } };
    expect(did(await syncSessions(project, request))).toEqual({});
    expect(lists).toHaveLength(1);
    await turn(ada, 'Make b.txt', create('b.txt'));
    expect(did(await pushSessions(project, request))).toEqual({ [session]: 'pushed' });
    const tips = await origin.store.listRefs('refs/heads/teddy/global');
    expect(sizes.filter((oid) => tips.some((tip) => tip.oid === oid))).toEqual([]);
  });

  test('with nothing left to push if another process pushed while the remote listed its refs', async () => {
    await turn(ada, 'Make b.txt', create('b.txt'));
    const { remotes } = ada.repository;
    const list: typeof remotes.list = async (...args) => {
      await turn(ada, 'Make c.txt', create('c.txt'));
      await pushSessions(ada, request);
      return remotes.list(...args);
    };
    const project = { ...ada, repository: { ...ada.repository, remotes: { ...remotes, list } } };
    expect(did(await pushSessions(project, request))).toEqual({});
  });

  slowTest('with a second fetch for an object that git gc removed during the first', async () => {
    const fetches = await dropAfterFetch(bea, 1);
    await turn(ada, 'Make b.txt', create('b.txt'));
    await pushSessions(ada, request);
    expect(did(await pullSessions(bea, request))).toEqual({ [session]: 'taken' });
    expect(fetches()).toBe(2);
    expect(await bea.tipOf(line)).toBe(await ada.tipOf(line));
    await expectNoQuarantine(bea);
  });

  slowTest('with three fetches for an object that stays missing, after which the line is refused', async () => {
    const fetches = await dropAfterFetch(bea, Number.POSITIVE_INFINITY);
    await turn(ada, 'Make b.txt', create('b.txt'));
    await pushSessions(ada, request);
    const before = await bea.tipOf(line);
    const { lines } = await pullSessions(bea, request);
    expect(lines.flatMap(({ problem }) => problem?.code ?? [])).toEqual(['HOSTILE_SESSION']);
    expect(fetches()).toBe(3);
    expect(await bea.tipOf(line)).toBe(before);
    await expectNoQuarantine(bea);
  });

  test('without a push if there is nothing to send', async () => {
    const before = origin.pushed.length;
    expect(did(await pushSessions(ada, request))).toEqual({});
    expect(origin.pushed).toHaveLength(before);
  });

  slowTest('without moving anything, here or there, in a dry run', async () => {
    await append(bea, main);
    await turn(ada, 'Make b.txt', create('b.txt'));
    const before = [await refsOf(origin), await refsOf(ada.repository), await refsOf(bea.repository)];
    expect(did(await pushSessions(ada, { ...request, dryRun: true }))).toEqual({ [session]: 'pushed' });
    await pushSessions(ada, request);
    const there = await refsOf(origin);
    expect(did(await syncSessions(bea, { ...request, dryRun: true }))).toEqual({
      [session]: 'moved',
      [`${session}--02-branch-01`]: 'made pushed',
    });
    expect([there, await refsOf(ada.repository), await refsOf(bea.repository)]).toEqual([there, ...before.slice(1)]);
    await expectNoQuarantine(bea);
  });
});

describe('two clones that have both added to a line', () => {
  slowTest(
    'keep both tails after both have synced: the first keeps the name, the other is a conversation branch',
    async () => {
      await turn(ada, 'Make b.txt', create('b.txt'));
      await syncSessions(ada, request);
      await bea.switchTo(line);
      await turn(bea, 'Make c.txt', create('c.txt'));
      const own = await bea.tipOf(line);
      const shared = await syncSessions(bea, request);
      const tail = `${line}--02-branch-01`;
      expect(did(shared)).toEqual({ [session]: 'moved', [`${session}--02-branch-01`]: 'made pushed' });
      expect(shared.lines.find(({ ref }) => ref === main)?.tail).toBe(`refs/heads/${tail}`);
      expect(await bea.tipOf(tail)).toBe(own);
      expect(await bea.tipOf(line)).toBe(await ada.tipOf(line));
      await syncSessions(ada, request);
      await expectSame(ada, bea);
      // HEAD moved along with the local commits, and no file changed.
      expect((await bea.repository.workspace.head()).ref).toBe(`refs/heads/${tail}`);
      expect(await bea.read('c.txt')).toBe('c.txt\n');
      expect((await bea.repository.workspace.status({ untracked: true })).edits).toEqual([]);
    },
  );

  slowTest('can continue the tail like any line: with the next turn, a branch from it, and in the list', async () => {
    await turn(ada, 'Make b.txt', create('b.txt'));
    await syncSessions(ada, request);
    await bea.switchTo(line);
    await turn(bea, 'Make c.txt', create('c.txt'));
    await syncSessions(bea, request);
    const tail = `${line}--02-branch-01`;
    await turn(bea, 'Make d.txt', create('d.txt'));
    expect((await storyOfLine(bea, tail)).slice(-3)).toEqual(['message 03', 'plan 03', 'report 03']);
    expect(await findLine(bea)).toMatchObject({ ref: `refs/heads/${tail}`, session });
    expect(await branchSession(bea, { turn: '02', switch: true })).toMatchObject({ turn: '02-branch-02' });
    const [listed] = await listSessions(bea);
    expect(listed?.conversationBranches).toEqual([tail, `${line}--02-branch-02`]);
    await say(bea, 'Again', null);
    expect((await storyOfLine(bea, `${line}--02-branch-02`)).at(-1)).toBe('message 02-branch-02');
    for (const name of [tail, `${line}--02-branch-02`])
      expect((await verifyLine(bea, await findRecorded(bea, name))).violations).toEqual([]);
    const { text } = await showHistory(bea, { target: tail, format: 'jsonl' });
    expect(text).toContain('Make c.txt');
    expect(text).toContain('Make d.txt');
  });

  slowTest('end with the same two branches even if they named their tails alike', async () => {
    const cid = await makeSyncedClone(origin, 'c');
    await turn(ada, 'Make b.txt', create('b.txt'));
    await syncSessions(ada, request);
    for (const one of [bea, cid]) await append(one, main);
    await pullSessions(cid, request);
    expect(await cid.tipOf(`${line}--02-branch-01`)).not.toBeNull();
    await syncSessions(bea, request);
    // Its number was taken meanwhile, because nobody had pushed it.
    await syncSessions(cid, request);
    await syncSessions(bea, request);
    await syncSessions(ada, request);
    await expectSame(ada, bea, cid);
    expect(Object.keys(await refsOf(origin)).filter((ref) => ref.includes('--'))).toEqual([
      `${main}--02-branch-01`,
      `${main}--02-branch-02`,
    ]);
  });

  test('make one tail, with HEAD on it, if somebody continues the line while the tail is made', async () => {
    await turn(ada, 'Make b.txt', create('b.txt'));
    await syncSessions(ada, request);
    await bea.switchTo(line);
    await append(bea, main);
    await bea.switchTo('main');
    await bea.switchTo(line);
    const { workspace } = bea.repository;
    const { switchTo } = workspace;
    let later: Oid | null = null;
    workspace.switchTo = async (ref) => {
      await switchTo(ref);
      later ??= await append(bea, main);
    };
    await syncSessions(bea, request);
    const tails = Object.entries(await refsOf(bea.repository)).filter(([ref]) => ref.includes('--'));
    expect(tails).toEqual([[expect.stringContaining('--02-branch-'), later]]);
    expect(await bea.tipOf(line)).toBe(await ada.tipOf(line));
    expect((await workspace.head()).oid).toBe(later);
    expect(await bea.read('notes.txt')).toBe(await bea.readAt(later as unknown as Oid, 'notes.txt'));
    expect(bea.said).toContainEqual(expect.stringMatching(/is now on teddy\/20260124-add-login--02-branch-\d+/));
  });

  test('have a push that is behind refused, with the remedy', async () => {
    await turn(ada, 'Make b.txt', create('b.txt'));
    await syncSessions(ada, request);
    await append(bea, main);
    await bea.switchTo(line);
    const before = await refsOf(origin);
    await expect(pushSessions(bea, request)).rejects.toMatchObject({
      code: 'REMOTE_AHEAD',
      message: expect.stringContaining(line),
      hint: expect.stringContaining('teddy sync origin'),
    });
    expect(await refsOf(origin)).toEqual(before);
  });

  slowTest('retry a push that is overtaken', async () => {
    await append(bea, main);
    await turn(ada, 'Make b.txt', create('b.txt'));
    origin.meanwhile = () => syncSessions(bea, request);
    const shared = await syncSessions(ada, request);
    expect(shared.refusal).toBeNull();
    await syncSessions(bea, request);
    await expectSame(ada, bea);
    expect(Object.keys(await refsOf(origin))).toContain(`${main}--02-branch-01`);
  });

  slowTest('report a push that was overtaken', async () => {
    await turn(ada, 'Make b.txt', create('b.txt'));
    await append(bea, main);
    origin.meanwhile = () => syncSessions(bea, request);
    await expect(pushSessions(ada, request)).rejects.toMatchObject({ code: 'REMOTE_CHANGED' });
  });
});

describe('a line that is checked out', () => {
  beforeEach(async () => {
    await bea.switchTo(line);
    await turn(ada, 'Make b.txt', create('b.txt'));
    await syncSessions(ada, request);
  });

  test('is fast-forwarded with its files', async () => {
    expect(did(await pullSessions(bea, request))).toEqual({ [session]: 'taken' });
    expect(await bea.read('b.txt')).toBe('b.txt\n');
    expect((await bea.repository.workspace.status({ untracked: false })).edits).toEqual([]);
    await expectSame(ada, bea);
  });

  slowTest('stays while files are edited, and the others are fetched', async () => {
    await addMemo(ada, 'Use pnpm');
    await syncSessions(ada, request);
    const before = await bea.tipOf(line);
    await bea.write({ 'README.md': '# Mine\n' });
    const rehearsed = await pullSessions(bea, { ...request, dryRun: true });
    const shared = await pullSessions(bea, request);
    expect(rehearsed).toEqual(shared);
    expect(did(shared)).toEqual({ global: 'taken' });
    expect(shared.lines.find(({ ref }) => ref === main)?.problem).toMatchObject({
      code: 'UNCOMMITTED_EDITS',
      message: expect.stringContaining('README.md'),
    });
    expect(await bea.tipOf(line)).toBe(before);
    expect(await bea.read('README.md')).toBe('# Mine\n');
    expect(await listMemos(bea)).toEqual(['Use pnpm']);
  });

  test('moves HEAD along with the local commits, which a dry run reports, too', async () => {
    await turn(bea, 'Make c.txt', create('c.txt'));
    const told: string[] = [];
    bea.notices.info = (text) => told.push(text);
    await syncSessions(bea, { ...request, dryRun: true });
    await syncSessions(bea, request);
    const { root } = bea.repository.workspace;
    expect(told).toEqual([
      `HEAD in ${root} would move to ${line}--02-branch-01; no file would change.`,
      `HEAD in ${root} is now on ${line}--02-branch-01; no file has changed.`,
    ]);
  });

  test('stays in the middle of a merge', async () => {
    bea.state.operation = 'merge';
    expect(await pullSessions(bea, { ...request, dryRun: true })).toEqual(await pullSessions(bea, request));
    const shared = await pullSessions(bea, request);
    expect(shared.lines.find(({ ref }) => ref === main)?.problem?.code).toBe('OPERATION_IN_PROGRESS');
  });

  slowTest('is not removed when it was archived elsewhere, and its branch deleted there', async () => {
    await pullSessions(bea, request);
    const tip = await ada.tipOf(line);
    await ada.switchTo('main');
    await ada.repository.store.updateRefs(
      [
        { ref: archived, old: null, new: tip },
        { ref: main, old: tip, new: null },
      ],
      'archive',
    );
    await syncSessions(ada, { ...request, all: true });
    await deleteOnRemote(ada, await listRemoteArchive(ada, session as SessionId, 'origin', request), request);
    const shared = await pullSessions(bea, { ...request, all: true });
    expect(shared.lines.find(({ ref }) => ref === main)).toMatchObject({ standing: 'archived-there', did: [] });
    expect(await bea.tipOf(line)).toBe(tip);
  });
});

describe('a renamed line', () => {
  async function rename(project: MemoryProject, name: string): Promise<Oid> {
    const tip = await project.tipOf(line);
    await project.switchTo(name, tip);
    await project.repository.store.updateRefs([{ ref: main, old: tip, new: null }], 'renamed');
    return tip;
  }

  test('is pushed and synced under its new name, and the old name does not return', async () => {
    await rename(ada, 'feature/login');
    const tip = await append(ada, 'refs/heads/feature/login' as RefName);
    const shared = await pushSessions(ada, request);
    expect(shared.lines).toMatchObject([
      { ref: 'refs/heads/feature/login', did: ['pushed'] },
      { ref: main, standing: 'renamed', did: [] },
      { ref: 'refs/heads/teddy/global' },
    ]);
    expect(await origin.store.resolve('refs/heads/feature/login')).toBe(tip);
    await syncSessions(ada, request);
    expect(await ada.repository.store.listRefs(main)).toEqual([]);
    expect(await ada.tipOf('feature/login')).toBe(tip);
  });

  test('receives another clone’s additions under that name', async () => {
    const name = 'refs/heads/feature/login' as RefName;
    await rename(ada, 'feature/login');
    await pushSessions(ada, request);
    await bea.switchTo('feature/login', await bea.tipOf(line));
    const tip = await append(bea, name);
    await pushSessions(bea, request);
    await ada.switchTo('main');
    const shared = await pullSessions(ada, { ...request, selector: 'feature/login' });
    expect(shared.lines.find(({ ref }) => ref === name)).toMatchObject({ did: ['taken'], problem: null });
    expect(await ada.tipOf('feature/login')).toBe(tip);
  });

  test('beside the main line stays here, and is named, unless it is requested', async () => {
    await ada.switchTo('try-again', await ada.tipOf(line));
    await append(ada, 'refs/heads/try-again' as RefName);
    await ada.switchTo(line);
    expect((await pushSessions(ada, request)).leftOut).toEqual(['refs/heads/try-again']);
    expect(await origin.store.resolve('refs/heads/try-again')).toBeNull();
    await pushSessions(ada, { ...request, selector: 'try-again' });
    expect(await origin.store.resolve('refs/heads/try-again')).toBe(await ada.tipOf('try-again'));
    expect((await pushSessions(ada, request)).leftOut).toEqual([]);
  });
});

describe('an archived line', () => {
  async function archive(project: MemoryProject): Promise<Oid> {
    const tip = await project.tipOf(line);
    await project.switchTo('main');
    const updates = [
      { ref: archived, old: null, new: tip },
      { ref: main, old: tip, new: null },
    ];
    await project.repository.store.updateRefs(updates, 'archive');
    return tip;
  }

  test('keeps its branch on the remote and in the other clone, and the archive is everywhere', async () => {
    const tip = await archive(ada);
    const shared = await syncSessions(ada, { ...request, all: true });
    expect(did(shared)).toEqual({ [`archive/${session}`]: 'pushed' });
    expect(shared.lines.find(({ ref }) => ref === main)).toMatchObject({ standing: 'archived-here', did: [] });
    expect((await refsOf(origin))[main]).toBe(tip);
    expect(did(await syncSessions(bea, { ...request, all: true }))).toEqual({ [`archive/${session}`]: 'made' });
    expect(await refsOf(bea.repository)).toMatchObject({ [archived]: tip, [main]: tip });
    expect((await refsOf(origin))[main]).toBe(tip);
  });

  test('loses its branch on the remote only by a separate command, and never if the remote has something else', async () => {
    const tip = await archive(ada);
    const author = 'Ada Example a <ada@example.org>';
    const there = await listRemoteArchive(ada, session as SessionId, 'origin', request);
    expect(there).toMatchObject({ branches: [{ ref: main, tip, author, hasLanded: false }], left: [] });
    await deleteOnRemote(ada, there, request);
    expect(await refsOf(origin)).not.toHaveProperty([main]);
    expect((await refsOf(origin))[archived]).toBe(tip);
    // An outdated list deletes nothing.
    await append(bea, main);
    await pushSessions(bea, { ...request, selector: session });
    expect(await listRemoteArchive(ada, session as SessionId, 'origin', request)).toMatchObject({
      branches: [],
      left: [main],
    });
    await expect(deleteOnRemote(ada, there, request)).rejects.toMatchObject({ code: 'REMOTE_CHANGED' });
    expect(await refsOf(origin)).toHaveProperty([main]);
  });

  test('returns as a line if somebody has continued it', async () => {
    await archive(ada);
    await append(bea, main);
    await syncSessions(bea, { ...request, all: true });
    await syncSessions(ada, { ...request, all: true });
    await syncSessions(bea, { ...request, all: true });
    await expectSame(ada, bea);
    expect(Object.keys(await refsOf(origin))).toEqual(expect.arrayContaining([main, archived]));
  });

  test('that was deleted on the remote without an archive stays here, until it is pushed by name', async () => {
    const tip = await bea.tipOf(line);
    await origin.store.updateRefs([{ ref: main, old: tip, new: null }], 'deleted');
    const shared = await syncSessions(bea, { ...request, all: true });
    expect(shared.lines.find(({ ref }) => ref === main)).toMatchObject({ standing: 'gone', did: [] });
    expect(await bea.tipOf(line)).toBe(tip);
    expect(await refsOf(origin)).not.toHaveProperty([main]);
    await pushSessions(bea, { ...request, selector: session });
    expect((await refsOf(origin))[main]).toBe(tip);
  });
});

describe('a first push', () => {
  test('is not stopped by a secret in code that the remote has already', async () => {
    const there = await memoryRemote();
    const cid = await makeClone(there, 'c');
    cid.secrets.set('# Notes', 'password');
    await cid.repository.remotes.push(
      'origin',
      [{ ref: 'refs/heads/main' as RefName, old: null, new: await cid.tipOf('main') }],
      request,
    );
    await start(cid);
    expect(did(await pushSessions(cid, request))).toMatchObject({ [session]: 'pushed' });
  });
});

describe('two sessions that were started with one name', () => {
  slowTest('are kept apart: the second is not sent, and its owner gets a working command to rename it', async () => {
    const cid = await makeClone(origin, 'c');
    await start(cid);
    await turn(cid, 'Make mine.txt', create('mine.txt'));
    await branchSession(cid, { turn: '01', switch: true });
    const branch = `${line}--01-branch-01`;
    await addMemo(ada, 'Use pnpm');
    await syncSessions(ada, request);
    const before = await refsOf(origin);
    const shared = await syncSessions(cid, request);
    expect(shared.lines.find(({ ref }) => ref === main)?.problem).toMatchObject({
      code: 'BRANCH_IN_THE_WAY',
      exitCode: 3,
      message: `${line} from origin was refused: a different session here has the same name.`,
      hint: expect.stringContaining(
        `\`git switch ${line}\`, \`teddy new add-login-2\`, \`git branch -m ${line} add-login-2-begun\`, and`,
      ),
    });
    expect(did(shared)).toEqual({ global: 'merged pushed' });
    const { [`refs/heads/teddy/global`]: _, ...rest } = before;
    expect(await refsOf(origin)).toMatchObject(rest);
    expect(Object.keys(await refsOf(origin))).toEqual(Object.keys(before));

    // The hint names the same command.
    for (const [name, other] of [
      [line, 'sign-in'],
      [branch, 'sign-in-again'],
    ] as const) {
      await cid.switchTo(name);
      await start(cid, other);
      const ref = `refs/heads/${name}` as RefName;
      const old = (await cid.repository.store.resolve(ref)) as Oid;
      await cid.repository.store.updateRefs(
        [
          { ref: `refs/heads/${other}-begun` as RefName, old: null, new: old },
          { ref, old, new: null },
        ],
        'rename',
      );
    }
    await turn(cid, 'Make more.txt', create('more.txt'));
    const next = await syncSessions(cid, { ...request, all: true });
    expect(next.lines.flatMap(({ problem }) => problem ?? [])).toEqual([]);
    const told = { [session]: 'made', '20260124-sign-in': 'pushed', '20260124-sign-in-again': 'pushed' };
    expect(did(next)).toMatchObject(told);
    expect(did(await pullSessions(ada, { ...request, all: true }))).toMatchObject({ '20260124-sign-in': 'made' });
    const begun = await ada.tipOf('teddy/20260124-sign-in');
    const taken = await ada.repository.store.readFile(begun, 'mine.txt' as RepoPath);
    expect(taken).not.toBeNull();
  });

  slowTest(
    'are not assumed for a branch that merely claims a local session, which is kept out as hostile',
    async () => {
      const forger = await makeClone(origin, 'c');
      await start(forger);
      const tip = await forger.tipOf(line);
      const ref = `${main}--01-branch-01` as RefName;
      await forger.repository.remotes.push('origin', [{ ref, old: null, new: tip }], request);
      await turn(ada, 'Make b.txt', create('b.txt'));
      const shared = await syncSessions(ada, request);
      expect(shared.lines.find((one) => one.ref === ref)?.problem?.code).toBe('HOSTILE_SESSION');
      expect(did(shared)).toEqual({ [session]: 'pushed' });
    },
  );
});

describe('teddy/global', () => {
  slowTest('has the memos of both, without those that either has removed, and both end on one commit', async () => {
    await addMemo(ada, 'Use pnpm');
    await addMemo(ada, 'Tabs');
    await syncSessions(ada, request);
    await syncSessions(bea, request);
    await addMemo(ada, 'From Ada');
    await removeMemo(ada, 'Tabs');
    await addMemo(bea, 'From Bea');
    await syncSessions(ada, request);
    expect(did(await syncSessions(bea, request))).toEqual({ global: 'merged pushed' });
    await syncSessions(ada, request);
    await expectSame(ada, bea);
    expect(await listMemos(ada)).toEqual(['Use pnpm', 'From Ada', 'From Bea']);
  });

  test('keeps both versions if two people have written an agent of the same name, and reports it', async () => {
    const write = async (project: MemoryProject, text: string) => {
      const { saveGlobalFile } = await import('../../../src/workflow/line/save-global.ts');
      await saveGlobalFile(project, 'agents/critic.md', { base: '', mine: text });
    };
    await write(ada, 'Ada wants it short.\n');
    await write(bea, 'Bea wants it long.\n');
    await syncSessions(ada, request);
    const shared = await syncSessions(bea, request);
    expect(shared.notes).toEqual([expect.stringContaining('agents/critic-2.md')]);
    const tip = await bea.tipOf('teddy/global');
    expect(await bea.readAt(tip, 'agents/critic.md')).toBe('Ada wants it short.\n');
    expect(await bea.readAt(tip, 'agents/critic-2.md')).toBe('Bea wants it long.\n');
  });

  slowTest('is merged if each side has made its own', async () => {
    origin = await makeRemote();
    const [cid, dot] = [await makeClone(origin, 'c'), await makeClone(origin, 'd')];
    await addMemo(cid, 'From Cid');
    await addMemo(dot, 'From Dot');
    await syncSessions(cid, request);
    await syncSessions(dot, request);
    await syncSessions(cid, request);
    await expectSame(cid, dot);
    expect(await listMemos(cid)).toEqual(['From Cid', 'From Dot']);
  });
});

describe('a remote', () => {
  test('that is empty gets no session before it has a branch', async () => {
    const cid = await makeClone(await memoryRemote(), 'c');
    await start(cid);
    for (const share of [pushSessions, syncSessions])
      await expect(share(cid, request)).rejects.toMatchObject({
        code: 'REMOTE_EMPTY',
        hint: expect.stringContaining('git push origin main'),
      });
  });

  test('with several sessions that match a part of a name gets a hint that names the newest, as a command', async () => {
    origin = await makeRemote();
    const [cid, dot] = [await makeClone(origin, 'c'), await makeClone(origin, 'd')];
    for (const name of ['one-a', 'one-b']) await start(cid, name);
    await pushSessions(cid, { ...request, all: true });
    await expect(pullSessions(dot, { ...request, selector: 'one' })).rejects.toMatchObject({
      message: '"one" is part of the id of 2 sessions: 20260124-one-a, 20260124-one-b.',
      newest: '20260124-one-b',
      selector: 'one',
    });
  });

  test('gets no session that nobody chose if none is open, and --all sends them', async () => {
    origin = await makeRemote();
    const cid = await makeClone(origin, 'c');
    expect(await pushSessions(cid, request)).toMatchObject({ session: null });
    await start(cid);
    await archiveSession(cid, session);
    for (const share of [pushSessions, syncSessions])
      await expect(share(cid, request)).rejects.toMatchObject({
        code: 'NO_OPEN_SESSION',
        message: `You are on main, and you have no open session: ${session} (archived).`,
        hint: 'Name one with `-s`, or share all of them with `--all`.',
      });
    const { lines } = await pushSessions(cid, { ...request, all: true });
    expect(lines).toContainEqual(expect.objectContaining({ session, did: ['pushed'] }));
  });

  test('whose rules refuse a branch still gets the others, and each refused one is reported', async () => {
    const globalBranch = 'refs/heads/teddy/global' as RefName;
    await addMemo(ada, 'Ada likes tea.');
    await append(ada, main);
    const whole = [(refs: RefName[]) => refs.filter((ref) => ref === globalBranch)];
    // A hook that judges the push as a whole does not say which ref is to blame.
    whole.push((refs) => (refs.includes(globalBranch) ? refs : []));
    for (const refuses of whole) {
      origin.refuses = refuses;
      const before = await refsOf(origin);
      const shared = await pushSessions(ada, request);
      expect(did(shared)).toEqual({ [session]: 'pushed' });
      expect(shared.lines.flatMap(({ ref, problem }) => (problem === null ? [] : [[ref, problem.code]]))).toEqual([
        [globalBranch, 'REMOTE_REFUSED'],
      ]);
      expect(await refsOf(origin)).toEqual({ ...before, [main]: await ada.tipOf(line) });
      await append(ada, main);
    }
    origin.refuses = (refs) => refs;
    await expect(pushSessions(ada, request)).rejects.toMatchObject({ code: 'REMOTE_REFUSED' });
    expect((await syncSessions(ada, request)).refusal).toMatchObject({ code: 'REMOTE_REFUSED' });
  });

  test('that is empty gets the code from another remote if no local branch has it', async () => {
    const cid = await makeClone(await memoryRemote(), 'c');
    await start(cid);
    cid.remotes.set('hub', await memoryRemote());
    const { store } = cid.repository;
    const main = 'refs/heads/main' as RefName;
    const known = { ref: 'refs/remotes/origin/main' as RefName, oid: await cid.tipOf('main') };
    await store.updateRefs([{ ref: main, old: known.oid, new: null }], 'test');
    const hintOf = (more: Partial<ShareRequest>) =>
      syncSessions(cid, { ...request, remote: 'hub', ...more }).catch(({ hint }: TeddyError) => hint);
    for (const all of [true, false])
      expect(await hintOf({ all })).toBe('Push the code branch first: `git push hub <branch>`.');
    await store.updateRefs([{ ref: known.ref, old: null, new: known.oid }], 'test');
    expect(await hintOf({})).toBe('Push the code branch first: `git push hub origin/main:refs/heads/main`.');
    const head = 'refs/remotes/origin/HEAD' as RefName;
    await store.updateRefs([{ ref: head, old: null, new: known.oid }], 'test');
    expect(await hintOf({ all: true })).toBe('Push the code branch first: `git push hub origin/main:refs/heads/main`.');
  });

  test('is git’s default one, and without one the error explains how to add one', async () => {
    ada.remotes.set('backup', await memoryRemote());
    ada.configuration.set('remote.pushdefault', 'backup');
    await expect(pushSessions(ada, request)).rejects.toMatchObject({ code: 'REMOTE_EMPTY' });
    expect((await pullSessions(ada, request)).remote).toMatchObject({ name: 'origin', isConfigured: true });
    ada.configuration.clear();
    ada.remotes.delete('origin');
    expect((await pullSessions(ada, request)).remote.name).toBe('backup');
    ada.remotes.clear();
    await expect(pushSessions(ada, request)).rejects.toMatchObject({
      code: 'UNKNOWN_REMOTE',
      hint: expect.stringContaining('git remote add'),
    });
  });

  test('is never shown with its password', async () => {
    ada.remotes.set('https://ada:secret@git.example.org/notes.git', origin);
    const shared = await pullSessions(ada, { ...request, remote: 'https://ada:secret@git.example.org/notes.git' });
    expect(shared.remote.label).toBe('https://***@git.example.org/notes.git');
  });

  test('may have a session that only exists there, which is named by a part of its id', async () => {
    const cid = await makeClone(origin, 'c');
    expect(did(await pullSessions(cid, { ...request, selector: 'add-login' }))).toMatchObject({ [session]: 'made' });
    await expect(pullSessions(cid, { ...request, selector: 'nothing' })).rejects.toMatchObject({
      code: 'UNKNOWN_SESSION',
    });
  });
});

describe('a forged line or a secret', () => {
  test('is kept out and named on a fetch, and the others are accepted', async () => {
    const evil = 'refs/heads/teddy/20260125-evil' as RefName;
    await origin.store.updateRefs([{ ref: evil, old: null, new: await ada.tipOf('main') }], 'forged');
    await addMemo(ada, 'Use pnpm');
    await syncSessions(ada, request);
    const shared = await pullSessions(bea, { ...request, all: true });
    expect(shared.lines.find(({ ref }) => ref === evil)).toMatchObject({
      did: [],
      problem: { code: 'HOSTILE_SESSION', message: expect.stringContaining('teddy/20260125-evil from origin') },
    });
    expect(await listMemos(bea)).toEqual(['Use pnpm']);
    const refs = await bea.repository.store.listRefs('refs/');
    expect(refs.filter(({ ref }) => ref.includes('evil') || ref.includes('quarantine'))).toEqual([]);
    // It is not taken for a session that the remote has deleted, or lacks, either.
    expect(did(await syncSessions(bea, { ...request, all: true }))).toEqual({});
  });

  test('is not sent: a secret stops the whole push, and fetched lines are reported', async () => {
    await turn(ada, 'Make s.txt', create('s.txt', 'the pass phrase\n'));
    ada.secrets.set('the pass phrase', 'password');
    await addMemo(bea, 'Use pnpm');
    await syncSessions(bea, { ...request, selector: session });
    const before = await refsOf(origin);
    const refusal = { code: 'SECRET_FOUND', message: expect.stringMatching(/password in \S+ of [0-9a-f]{12}/) };
    const shared = await syncSessions(ada, request);
    expect(did(shared)).toEqual({ global: 'taken' });
    expect(shared.refusal).toMatchObject(refusal);
    await expect(pushSessions(ada, request)).rejects.toMatchObject(refusal);
    expect(await refsOf(origin)).toEqual(before);
  });

  test('is searched for once in each text that is sent', async () => {
    await turn(ada, 'Make s.txt', create('s.txt'));
    const searched: string[] = [];
    const mask: typeof ada.masker.mask = (text, path) => {
      searched.push(text);
      return ada.masker.mask(text, path);
    };
    const shared = await pushSessions({ ...ada, masker: { mask } }, { ...request, selector: session });
    expect(did(shared)).toEqual({ [session]: 'pushed' });
    expect(searched.filter((text) => text.startsWith('version: 1\n'))).toHaveLength(1);
    expect(searched).toEqual([...new Set(searched)]);
  });
});

describe('a forged line', () => {
  /** The user's own commit that rewrites published files. */
  async function spoil(project: MemoryProject): Promise<Oid> {
    const { store } = project.repository;
    const old = await project.tipOf(line);
    const batch = store.batch();
    const oid = await batch.blob('# Another\n');
    const path = `.teddy/sessions/${session}/01/plan.md` as RepoPath;
    const tree = await editTree(store, batch, (await store.readCommit(old)).tree, [
      { path, entry: { mode: '100644', oid } },
    ]);
    const spoiled = await batch.commit({ tree, parents: [old], ...(await store.ident()), message: 'Mine\n' });
    await batch.flush();
    await store.updateRefs([{ ref: main, old, new: spoiled }], 'test');
    return spoiled;
  }

  test('is not sent, and the error explains how to inspect it', async () => {
    const spoiled = await spoil(bea);
    const before = await refsOf(origin);
    const refusal = {
      code: 'FAULTY_SESSION',
      exitCode: 3,
      message: expect.stringContaining(`${spoiled.slice(0, 12)}, .teddy/sessions/${session}/01/plan.md`),
      hint: expect.stringContaining(`teddy verify ${line}`),
    };
    const asked = { ...request, selector: session };
    await expect(pushSessions(bea, asked)).rejects.toMatchObject(refusal);
    expect((await syncSessions(bea, asked)).refusal).toMatchObject(refusal);
    expect(await refsOf(origin)).toEqual(before);
  });

  test('on the remote is kept out without advice to undo it; others’ additions to the session are sent', async () => {
    const old = (await refsOf(origin))[main] as Oid;
    const spoiled = await spoil(bea);
    await bea.repository.remotes.push('origin', [{ ref: main, old, new: spoiled }], request);
    const shared = await pullSessions(ada, request);
    expect(shared.lines.find(({ ref }) => ref === main)?.problem).toMatchObject({
      code: 'HOSTILE_SESSION',
      hint: `None of it was stored here. To look at it: \`git fetch origin ${main} && teddy verify FETCH_HEAD\`. Ask whoever pushed it.`,
    });
    await append(bea, main);
    expect(did(await pushSessions(bea, { ...request, selector: session }))).toEqual({ [session]: 'pushed' });
  });
});

describe('a merge with the local line as its second parent', () => {
  test('is not a fast-forward: the commits it leaves out stay as a branch, and pushing over such a line is refused', async () => {
    const { store } = bea.repository;
    await bea.switchTo(line);
    await turn(bea, 'Make b.txt', create('b.txt'));
    const own = await bea.tipOf(line);
    const old = (await refsOf(origin))[main] as Oid;
    const batch = store.batch();
    const { tree } = await store.readCommit(old);
    const merge = await batch.commit({ tree, parents: [old, own], ...(await store.ident()), message: 'Merge\n' });
    await batch.flush();
    await bea.repository.remotes.push('origin', [{ ref: main, old, new: merge }], request);
    await expect(pushSessions(bea, request)).rejects.toMatchObject({ code: 'REMOTE_AHEAD' });
    expect(did(await pullSessions(bea, request))).toEqual({ [session]: 'moved', [`${session}--02-branch-01`]: 'made' });
    expect(await bea.tipOf(`${line}--02-branch-01`)).toBe(own);
    expect(await bea.tipOf(line)).toBe(merge);
  });
});

describe('a killed pull’s quarantine', () => {
  test('is removed by the next pull, except refs of a running process or somebody else', async () => {
    const tip = await bea.tipOf(line);
    for (const name of ['dead/1/0', 'own/1/0', 'foreign/1/0']) await bea.setRef(`refs/teddy/quarantine/${name}`, tip);
    await pullSessions(bea, request);
    const left = await bea.repository.store.listRefs('refs/teddy/quarantine/');
    expect(left.map(({ ref }) => ref.split('/')[3])).toEqual(['foreign', 'own']);
  });
});

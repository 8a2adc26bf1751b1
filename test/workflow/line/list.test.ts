import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { decodeEntry } from '../../../src/session/entries/entry.ts';
import { shortRef, type Oid, type RefName, type SessionId } from '../../../src/names.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { checkPush, parsePushedRefs } from '../../../src/workflow/hooks/check-push.ts';
import { archiveSession } from '../../../src/workflow/landing/archive-session.ts';
import { chooseStart } from '../../../src/workflow/line/choose-start.ts';
import { findRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { withClaim } from '../../../src/workflow/run/claim-turn.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { findOpenLine } from '../../../src/workflow/line/find-open.ts';
import { listLines } from '../../../src/session/lines/lines.ts';
import { findNearestEntries, findNearestEntry } from '../../../src/session/entries/nearest-entry.ts';
import { listMainLines } from '../../../src/session/lines/main-lines.ts';
import { findWorkTreesOf, listSessions } from '../../../src/workflow/review/list-sessions.ts';
import { graphSession } from '../../../src/workflow/review/log-graph.ts';
import { countAllCosts } from '../../../src/workflow/review/count-all-costs.ts';
import { listRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { reviewSession } from '../../../src/workflow/review/session.ts';
import { readStatus } from '../../../src/workflow/review/read-status.ts';
import { given } from '../../support/given.ts';
import { memoryWorkTree } from '../../support/memory-work-trees.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { command, create, line, planOf, run, say, session, start, turn } from '../../support/turns.ts';
import { runs } from '../../support/runs.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';
import { append } from '../sharing/clones.ts';

const main = `refs/heads/${line}` as RefName;

const withTurn = () => given.executedTurns({ One: [create('one.txt')] });

async function rename(project: MemoryProject, name: string): Promise<Oid> {
  const tip = await project.tipOf(line);
  await project.switchTo(name, tip);
  await project.repository.store.updateRefs([{ ref: main, old: tip, new: null }], 'renamed');
  return tip;
}

const namesOf = async (project: MemoryProject) => (await listLines(project)).map(({ ref }) => ref);

describe('a line', () => {
  test('that was renamed is found by every listing', async () => {
    const project = await withTurn();
    const tip = await rename(project, 'feature/login');
    await project.commit('Mine\n', { 'own.txt': 'x\n' });
    expect(await listSessions(project)).toMatchObject([
      { session, line: 'feature/login', remote: null, turns: 1, status: 'closed', current: true },
    ]);
    expect(await listRecorded(project)).toMatchObject([{ session, name: 'feature/login' }]);
    expect((await countAllCosts(project)).sessions).toMatchObject([{ session, lines: 1, turns: 1 }]);
    expect((await graphSession(project, undefined)).lines).toMatchObject([{ name: 'feature/login' }]);
    const pushed = parsePushedRefs(`refs/heads/feature/login ${tip} refs/heads/feature/login ${'0'.repeat(40)}\n`);
    const { lines } = await checkPush(project, 'origin', pushed, new AbortController().signal);
    expect(lines).toMatchObject([{ session, violations: [] }]);
  });

  test('is a branch of any name at an entry, below the user’s commits, here and on a remote', async () => {
    const project = await withTurn();
    const early = (await project.repository.store.readCommit(await project.tipOf(line))).parents[0] as Oid;
    await project.setRef('refs/heads/try-again', early);
    await project.setRef('refs/remotes/origin/feature', early);
    await project.setRef('refs/remotes/origin/teddy/global', await project.tipOf('teddy/global'));
    expect(await namesOf(project)).toEqual([main, 'refs/heads/try-again', 'refs/remotes/origin/feature']);
  });

  test('that HEAD is on beside the main line is shown by the listing in each column', async () => {
    const project = await withTurn();
    const { ref } = await branchSession(project, { turn: '01', switch: false });
    await say(project, 'Two', planOf([create('two.txt')]).replace('Do it', 'Second'));
    const [own] = await listSessions(project);
    expect(own).toMatchObject({ line, turns: 2, title: 'Second', state: 'pending' });
    await project.switchTo(shortRef(ref));
    const [other] = await listSessions(project);
    expect(other).toMatchObject({ line: shortRef(ref), turns: 1, title: 'from turn 01', state: 'open' });
  });

  test('is neither the default branch, nor its base, nor a branch that grows from them', async () => {
    const project = await memoryProject();
    await project.switchTo('develop', await project.tipOf('main'));
    await start(project);
    await turn(project, 'One', create('one.txt'));
    const tip = await project.tipOf(line);
    await project.setRef('refs/heads/develop', tip);
    await project.setRef('refs/heads/other', tip);
    await project.setRef('refs/remotes/origin/develop', tip);
    expect(await namesOf(project)).toEqual([main]);
  });

  slowTest('that is only named like a session does not count, and is walked once, by one process', async () => {
    const project = await withTurn();
    await project.switchTo('main');
    const { store } = project.repository;
    const start = await project.tipOf('main');
    const dir = (await store.readDir(await project.tipOf(line), '.teddy/sessions' as never))?.entries ?? [];
    expect(dir).toHaveLength(1);
    let tip = start;
    for (let count = 0; count < 40; count += 1)
      tip = await project.commit(`Own ${count}\n`, { '.teddy/sessions/x/y': `${count}` });
    await project.setRef('refs/heads/teddy/20260101-fake', tip);
    await project.setRef('refs/heads/teddy/20260101-plain', start);
    await project.setRef('refs/heads/main', start);
    const walks: number[] = [];
    const counting = {
      ...project,
      repository: {
        ...project.repository,
        store: {
          ...store,
          firstParentsOf(tips: readonly Oid[]) {
            walks.push(tips.length);
            return store.firstParentsOf(tips);
          },
        },
      },
    };
    expect((await listLines(counting)).map(({ ref }) => ref)).toEqual([main]);
    expect(walks).toEqual([1]);
    await listLines(counting);
    expect(walks).toEqual([1]);
  });
});

describe('the nearest entry', () => {
  slowTest('of many commits is each commit’s own, in any order, with the cache and without', async () => {
    const project = await withTurn();
    const { store } = project.repository;
    // The user's commits in a tree of branches, on and off the line, with and without a session's files.
    const commits: Oid[] = [await project.tipOf(line), await project.tipOf('main')];
    for (let count = 0; count < 24; count += 1) {
      const below = commits[(count * 7) % commits.length] as Oid;
      await project.switchTo(`b${count}`, below);
      commits.push(
        await project.commit(`Own ${count}\n`, { [`own-${count}.txt`]: 'x\n', '.teddy/sessions/z': `${count}` }),
      );
    }
    const expected = new Map<Oid, string | null>();
    for (const tip of commits) {
      let found: string | null = null;
      for await (const { oid, commit } of store.firstParents(tip)) {
        if (decodeEntry(commit.message) === null) continue;
        found = oid;
        break;
      }
      expected.set(tip, found);
    }
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(commits, { minLength: 1 }), async (tips) => {
        const fresh = { ...project, repository: { ...project.repository, cache: emptyCache() } };
        for (const place of [fresh, project, project]) {
          const nearest = await findNearestEntries(place, tips);
          for (const oid of tips) {
            const hasFiles = await store.hasPath(oid, '.teddy/sessions' as never);
            expect(nearest.get(oid)?.oid ?? null).toBe(hasFiles ? expected.get(oid) : null);
            expect((await findNearestEntry(place, oid))?.oid ?? null).toBe(hasFiles ? expected.get(oid) : null);
          }
        }
      }),
      runs(25),
    );
  });
});

function emptyCache() {
  const kept = new Map<string, Uint8Array>();
  return {
    read: async (key: string) => kept.get(key) ?? null,
    write: async (key: string, pieces: readonly Uint8Array[]) => void kept.set(key, Buffer.concat(pieces)),
  };
}

describe('the open session that is assumed off every line', () => {
  slowTest('is the user’s newest that has not landed in its current state; one without turns is open', async () => {
    const project = await withTurn();
    await project.switchTo('main');
    await start(project, 'second');
    await turn(project, 'Two', create('two.txt'));
    await landSession(project, {});
    await project.switchTo('main');
    expect(await findOpenLine(project)).toMatchObject({ session });
    await landSession(project, { target: session });
    await expect(findOpenLine(project)).rejects.toMatchObject({
      code: 'NO_OPEN_SESSION',
      message: `You are on main, and you have no open session: 20260124-second (landed), ${session} (landed).`,
      exitCode: 2,
    });
    await start(project, 'third');
    await project.switchTo('main');
    expect(await findOpenLine(project)).toMatchObject({ session: '20260124-third' });
    await project.switchTo('teddy/20260124-second');
    await turn(project, 'More', create('more.txt'));
    await project.switchTo('main');
    expect((await findOpenLine(project)).session).toBe('20260124-third');
  });

  test('is not one that claims to be made in the future', async () => {
    const project = await memoryProject();
    const later = { now: () => new Date(Date.UTC(2030, 0, 1)) };
    await start({ ...project, clock: later } as MemoryProject, 'later');
    await project.switchTo('main');
    await start(project, 'now');
    await project.switchTo('main');
    expect((await listMainLines(project)).map(({ session: id }) => id)).toEqual(['20300101-later', '20260124-now']);
    expect((await findOpenLine(project)).session).toBe('20260124-now');
  });

  test('is confirmed once, if a person can be asked, before anything is appended', async () => {
    const project = await withTurn();
    await project.switchTo('main');
    const tip = await project.tipOf(line);
    const asked: string[] = [];
    project.notices.confirm = async (question) => (asked.push(question), false);
    await expect(say(project, 'Two', 'Fine.')).rejects.toMatchObject({ code: 'NOT_APPROVED', exitCode: 4 });
    expect(asked).toEqual([`You are on main. Continue with ${session}?`]);
    expect(await project.tipOf(line)).toBe(tip);
  });

  test('is not confirmed by commands that the line has to be checked out for', async () => {
    const project = await withTurn();
    await say(project, 'Two', planOf([create('two.txt')]));
    await project.switchTo('main');
    const asked: string[] = [];
    project.notices.confirm = async (question) => (asked.push(question), true);
    await expect(undoTurn(project, {})).rejects.toMatchObject({ code: 'NOT_ON_LINE' });
    await expect(withClaim(project, undefined, async () => null)).rejects.toMatchObject({ code: 'NOT_ON_LINE' });
    expect(asked).toEqual([]);
  });

  test('is named with its active work tree, whoever is asked and whatever is done', async () => {
    const project = await withTurn();
    await say(project, 'Two', planOf([create('two.txt')]));
    await project.switchTo('main');
    const root = await project.repository.addWorkTree(main);
    for (const act of [
      () => say(project, undefined, 'Fine.'),
      () => say(project, 'Why?', 'So.', { mode: 'ask' }),
      () => branchSession(project, { turn: '01', switch: false }),
      () => undoTurn(project, {}),
    ]) {
      project.said.length = 0;
      project.notices = { ...project.notices };
      await act().catch(() => undefined);
      expect(project.said[0]).toContain(`Using ${session}, in ${root}, the newest open session. You are on main`);
    }
    const asked: string[] = [];
    project.notices = { ...project.notices, confirm: async (question) => (asked.push(question), false) };
    await expect(say(project, 'Three', 'Fine.')).rejects.toMatchObject({ code: 'NOT_APPROVED' });
    expect(asked).toEqual([`You are on main. Continue with ${session}, in ${root}?`]);
  });

  test('is shown with the branches of its session where a plan waits', async () => {
    const project = await withTurn();
    const { ref } = await branchSession(project, { turn: '01', switch: true });
    await say(project, 'One, again', planOf([create('two.txt')]));
    await say(project, 'Why?', null, { mode: 'ask' });
    await project.switchTo('main');
    expect(await readStatus(project)).toMatchObject({
      line,
      pendingOn: [shortRef(ref)],
      next: [`git switch ${line}`, `git switch ${shortRef(ref)}`],
    });
    await project.switchTo(shortRef(ref));
    await run(project);
    await project.switchTo('main');
    expect(await readStatus(project)).toMatchObject({ pendingOn: [], next: [`git switch ${line}`] });
  });

  test('is named first if nobody can be asked', async () => {
    const project = await withTurn();
    await project.switchTo('main');
    project.said.length = 0;
    await say(project, 'Two', 'Fine.');
    expect(project.said[0]).toBe(
      `Using ${session}, the newest open session. You are on main. To use another one: \`-s\`.`,
    );
  });
});

test('a name after the date beats a part of an id, and of several matches the newest is offered', async () => {
  const { findLine } = await import('../../../src/workflow/line/find.ts');
  const project = await withTurn();
  await start(project, 'add-login-two');
  expect(await findLine(project, 'add-login')).toMatchObject({ session });
  await project.setRef(`refs/heads/x`, await project.tipOf('main'));
  const clock = { now: () => new Date(Date.UTC(2026, 1, 1)) };
  const later = { ...project, clock } as MemoryProject;
  await start(later);
  await expect(findLine(later, 'add-login')).rejects.toMatchObject({
    code: 'AMBIGUOUS_SESSION',
    newest: '20260201-add-login',
    hint: 'The newest is 20260201-add-login: `teddy show -s 20260201-add-login`.',
  });
});

test('a remote copy of a session that was archived here is not assumed, unless somebody has continued it', async () => {
  const { findLine } = await import('../../../src/workflow/line/find.ts');
  const project = await withTurn();
  const older = await project.tipOf(line);
  await project.setRef(`refs/remotes/origin/${line}`, older);
  await turn(project, 'Two', create('two.txt'));
  const newer = await project.tipOf(line);
  await project.switchTo('main');
  await archiveSession(project, session);
  for (const tip of [older, newer]) {
    await project.setRef(`refs/remotes/origin/${line}`, tip);
    await expect(findLine(project, session)).rejects.toMatchObject({
      code: 'UNKNOWN_SESSION',
      hint: `Restore it: \`teddy archive --restore ${session}\`.`,
    });
    expect(await findRecorded(project, session)).toMatchObject({ tip: newer });
  }
  const ahead = await append(project, `refs/remotes/origin/${line}` as RefName);
  expect(await findLine(project, session)).toMatchObject({ tip: null, remoteTip: ahead });
});

test('a new session may start from another one, named by its id or its name', async () => {
  const project = await withTurn();
  const tip = await project.tipOf(line);
  await project.switchTo('main');
  for (const from of [session, 'add-login', line])
    expect(await chooseStart(project, from)).toMatchObject({ base: { oid: tip, branch: 'main' } });
  await expect(chooseStart(project, 'add-logi')).rejects.toMatchObject({ code: 'UNKNOWN_BRANCH' });
  await expect(chooseStart(project, 'teddy/global')).rejects.toMatchObject({
    hint: 'Name a branch with code: `teddy new <name> --from main`.',
  });
});

describe('at an older entry with a detached HEAD', () => {
  test('a plan is refused with alternatives, and a branch can be made from there', async () => {
    const project = await withTurn();
    await turn(project, 'Two', create('two.txt'));
    const tip = await project.tipOf(line);
    const { parents } = await project.repository.store.readCommit(tip);
    await project.switchTo('early', parents[0] as Oid);
    await project.detach();
    const early = { ref: 'refs/heads/early' as RefName, old: parents[0] as Oid, new: null };
    await project.repository.store.updateRefs([early], 'gone');
    await expect(say(project, 'Three', planOf([create('three.txt')]))).rejects.toMatchObject({
      code: 'NOT_ON_LINE',
      hint: 'Create one here: `git switch -c add-login-again`, or branch off at turn 02 for another try: `teddy branch 02`.',
    });
    expect(await project.tipOf(line)).toBe(tip);
    expect((await branchSession(project, { turn: '02', switch: true })).turn).toBe('02-branch-01');
  });
});

describe('at the tip of a branch with a detached HEAD', () => {
  test('the next step is to switch to that branch, where the plan exists once', async () => {
    const project = await withTurn();
    await say(project, 'Two', planOf([create('two.txt')]));
    await project.detach();
    expect(await readStatus(project)).toMatchObject({ plan: { actions: 1 }, next: [`git switch ${line}`] });
    await expect(say(project, 'Three', 'Fine.')).rejects.toMatchObject({
      hint: `Switch to its branch: \`git switch ${line}\`, or branch off at turn 02 for another try: \`teddy branch 02\`.`,
    });
    await project.switchTo('mine', await project.tipOf(line));
    await project.detach();
    expect((await readStatus(project)).next).toEqual([`git switch ${line}`]);
  });

  test('the next step is to go to the work tree that holds the branch', async () => {
    const project = await withTurn();
    await project.detach();
    const root = await project.repository.addWorkTree(main);
    expect((await readStatus(project)).next).toEqual([`cd ${root}`]);
    await expect(say(project, 'Two', 'Fine.')).rejects.toMatchObject({
      hint: expect.stringMatching(`^Go to its branch: \`cd ${root}\`, or`),
    });
  });
});

describe('status', () => {
  test('reports that a question about a plan waits, and the plan stays pending', async () => {
    const project = await withTurn();
    await say(project, 'Two', planOf([create('two.txt')]));
    const [planned] = await listSessions(project);
    const status = await readStatus(project);
    expect(status.question).toBeNull();
    await say(project, 'Why?\nReally.', null, { mode: 'ask' });
    const { plan, turn: last, question, next } = await readStatus(project);
    expect({ plan, last, question }).toEqual({ plan: status.plan, last: status.turn, question: 'Why?\nReally.' });
    expect(next).toEqual(['teddy execute', 'teddy ask', 'teddy ask --from <file>', 'teddy show']);
    expect(planned).toMatchObject({ state: 'pending', status: 'planned', title: 'Do it' });
    expect(await listSessions(project)).toMatchObject([{ state: 'pending', status: 'planned', title: 'Do it' }]);
    await say(project, undefined, 'Because.', { mode: 'ask' });
    expect(await listSessions(project)).toMatchObject([{ state: 'pending', status: 'planned', title: 'Do it' }]);
    expect((await readStatus(project)).question).toBeNull();
    await say(project, 'And now?', null, { mode: 'ask' });
    await project.write({ 'two.txt': 'mine\n' });
    expect((await readStatus(project)).next).toEqual(expect.arrayContaining(['teddy ask --from <file>']));
    await project.write({ 'two.txt': null });
    await run(project);
    await say(project, 'Three', null);
    expect(await listSessions(project)).toMatchObject([{ state: 'open', status: 'open', title: 'Three' }]);
  });

  test('reports the line, the turn, pending and edited files, and the next step', async () => {
    const project = await memoryProject();
    expect(await readStatus(project)).toMatchObject({ head: 'main', line: null, next: ['teddy new <name>'] });
    await start(project);
    expect(await readStatus(project)).toMatchObject({ session, line, turn: null });
    await say(project, 'One', planOf([create('one.txt')]));
    expect(await readStatus(project)).toMatchObject({
      turn: { turn: '01', status: 'planned' },
      plan: { actions: 1, problems: 0 },
      next: ['teddy execute', 'teddy ask -m "..."', 'teddy show'],
    });
    await project.write({ 'one.txt': 'mine\n' });
    expect(await readStatus(project)).toMatchObject({
      plan: { actions: 1, problems: 1 },
      next: [
        'teddy plan --instead -m "what to do instead"',
        'teddy execute --replan 2',
        'teddy ask -m "..."',
        'teddy show',
      ],
    });
    await project.write({ 'one.txt': null });
    await project.write({ 'README.md': 'edited\n' });
    expect(await readStatus(project)).toMatchObject({ edits: ['README.md'] });
    await project.write({ 'README.md': '# Notes\n' });
    await project.switchTo('main');
    const said = project.said.length;
    expect(await readStatus(project)).toMatchObject({ session, found: 'open', next: [`git switch ${line}`] });
    expect(project.said).toHaveLength(said);
  });

  test('reports how a run has failed, the remedy, and that it was undone', async () => {
    const project = await withTurn();
    const { shellOf } = project;
    project.shellOf = (root) => ({
      ...shellOf(root),
      run: async (...given) => ({ ...(await shellOf(root).run(...given)), exitCode: 3 }),
    });
    await turn(project, 'Two', create('two.txt'), command('exit 3'), create('three.txt'));
    expect(await readStatus(project)).toMatchObject({
      outcome: {
        status: 'FAILURE',
        failed: { index: 2, type: 'EXECUTE', target: 'exit 3', exitCode: 3 },
        actions: 3,
        canUndo: true,
        isUndone: false,
      },
      next: ['teddy plan -m "what to do instead"', 'teddy undo', 'teddy show'],
    });
    await undoTurn(project, {});
    expect(await readStatus(project)).toMatchObject({
      outcome: { canUndo: false, isUndone: true },
      next: ['teddy plan -m "what to do instead"', 'teddy show'],
    });
    await turn(project, 'Three', create('four.txt'));
    expect(await readStatus(project)).toMatchObject({
      outcome: null,
      next: [expect.any(String), 'teddy land'],
    });
  });

  test('names the session that a line starts on top of until that session has landed', async () => {
    const project = await withTurn();
    expect(await readStatus(project)).toMatchObject({ startsOn: null });
    await start(project, 'upper');
    const upper = 'teddy/20260124-upper';
    expect(await readStatus(project)).toMatchObject({ line: upper, startsOn: session });
    await turn(project, 'Two', create('two.txt'));
    const review = await reviewSession(project, undefined);
    expect(review).toMatchObject({ base: await project.tipOf(line), baseBranch: 'main', baseSession: session });
    expect(review.files.map(({ path }) => path)).toEqual(['two.txt']);
    await project.switchTo('main');
    await project.commit(`Land\n\nTeddy-Landed-From: ${session}@${await project.tipOf(line)}\n`, { 'one.txt': 'x\n' });
    await project.switchTo(upper);
    expect(await readStatus(project)).toMatchObject({ startsOn: null });
    expect(await reviewSession(project, undefined)).toMatchObject({ baseSession: null });
  });

  test('reports that a line has landed completely', async () => {
    const project = await withTurn();
    expect(await readStatus(project)).toMatchObject({ hasLanded: false });
    await landSession(project, {});
    expect(await readStatus(project)).toMatchObject({
      hasLanded: true,
      next: [`teddy archive ${session}`, expect.any(String)],
    });
  });
});

test('each work tree on a session’s branch is named, whichever branch the row is about', async () => {
  const project = await withTurn();
  const names = ['01-branch-01', '01-branch-02', '01-branch-03'].map((name) => `${line}--${name}`);
  for (const _ of names) await branchSession(project, { turn: '01', switch: false });
  const [first = '', second = '', third = ''] = names;
  await project.switchTo(second);
  for (const name of [third, first, line]) project.linked.push(memoryWorkTree(`refs/heads/${name}` as RefName));
  const sessions = await listSessions(project);
  expect(sessions).toMatchObject([{ line: second, current: true }]);
  const found = (await findWorkTreesOf(project, sessions)).get(session as SessionId);
  expect(found?.map(({ branch }) => branch)).toEqual([third, first, line]);
});

test('all remotes that have a session are named if no branch of it is local', async () => {
  const project = await withTurn();
  const tip = await project.tipOf(line);
  for (const remote of ['a', 'b']) await project.setRef(`refs/remotes/${remote}/${line}`, tip);
  expect(await listSessions(project)).toMatchObject([{ remote: null, remotes: [] }]);
  await project.switchTo('main');
  await project.repository.store.updateRefs([{ ref: main, old: tip, new: null }], 'gone');
  expect(await listSessions(project)).toMatchObject([{ remotes: ['a', 'b'] }]);
});

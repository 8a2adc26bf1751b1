import { describe, expect } from 'vitest';
import type { Oid, RefName } from '../../../src/names.ts';
import { findHeadLine, findLine } from '../../../src/workflow/line/find.ts';
import { given } from '../../support/given.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, memos, planOf, run, say, session, start, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

/** A session on `base` with one complete turn; HEAD is on its line. */
async function withSession(base = 'main'): Promise<MemoryProject> {
  const project = await memoryProject();
  if (base !== 'main') await project.switchTo(base, await project.tipOf('main'));
  await start(project);
  await turn(project, 'One', create('one.txt'));
  return project;
}

async function lineOfHead(project: MemoryProject): Promise<string | null> {
  return (await findHeadLine(project))?.ref ?? null;
}

/** Squashes like a forge: one commit on `branch`, with all the messages joined in one. */
async function squash(project: MemoryProject, branch: string): Promise<Oid> {
  const { store } = project.repository;
  const tip = await project.tipOf(line);
  const { tree, author, message } = await store.readCommit(tip);
  const batch = store.batch();
  const parents = [await project.tipOf(branch)];
  const text = `Add login (#1)\n\n* start: x\n\n${message}`;
  const commit = await batch.commit({ tree, parents, author, committer: author, message: text });
  await batch.flush();
  await project.setRef(`refs/heads/${branch}`, commit);
  return commit;
}

describe('HEAD’s line', () => {
  test('is a branch named like a line, also below the user’s commits', async () => {
    const project = await withSession();
    expect(await findHeadLine(project)).toMatchObject({ ref: `refs/heads/${line}`, session, found: 'head' });
    await project.commit('Mine\n', { 'own.txt': 'x\n' });
    expect(await findHeadLine(project)).toMatchObject({ session, tip: await project.tipOf(line) });
  });

  test('is any other branch that grows from an entry', async () => {
    const project = await withSession();
    await project.switchTo('try-again', await project.tipOf(line));
    await project.commit('Mine\n', { 'own.txt': 'x\n' });
    expect(await findHeadLine(project)).toMatchObject({ ref: 'refs/heads/try-again', session });
  });

  slowTest('does not exist on the default branch, before and after a fast-forward and a squash merge', async () => {
    const project = await withSession();
    await project.switchTo('main');
    expect(await lineOfHead(project)).toBeNull();
    await project.setRef('refs/heads/main', await project.tipOf(line));
    expect(await lineOfHead(project)).toBeNull();
    const squashed = await withSession();
    await squash(squashed, 'main');
    await squashed.switchTo('main');
    expect(await lineOfHead(squashed)).toBeNull();
  });

  slowTest(
    'does not exist on a branch that grows from the default branch after a merge, with commits on top',
    async () => {
      for (const merge of [squash, fastForward]) {
        const project = await withSession();
        await merge(project, 'main');
        await project.switchTo('feature', await project.tipOf('main'));
        expect(await lineOfHead(project)).toBeNull();
        await project.commit('Mine\n', { 'own.txt': 'x\n' });
        expect(await lineOfHead(project)).toBeNull();
      }
    },
  );

  test('does not exist on the branch the session started from, and branches from it, after a fast-forward', async () => {
    const project = await withSession('develop');
    await fastForward(project, 'develop');
    await project.switchTo('develop');
    expect(await lineOfHead(project)).toBeNull();
    await project.commit('Mine\n', { 'own.txt': 'x\n' });
    expect(await lineOfHead(project)).toBeNull();
    await project.switchTo('feature', await project.tipOf('develop'));
    expect(await lineOfHead(project)).toBeNull();
  });

  test('does not exist on the branch the session started from after a squash merge', async () => {
    const project = await withSession('develop');
    await squash(project, 'develop');
    await project.switchTo('develop');
    expect(await lineOfHead(project)).toBeNull();
    await project.switchTo('feature', await project.tipOf('develop'));
    expect(await lineOfHead(project)).toBeNull();
  });

  test('does not exist on the default branch that origin names, whatever it is called', async () => {
    const project = await withSession('trunk');
    await project.setRef('refs/remotes/origin/trunk', await project.tipOf(line));
    await project.setRef('refs/remotes/origin/HEAD', await project.tipOf(line));
    await project.switchTo('other', await project.tipOf(line));
    expect(await lineOfHead(project)).toBeNull();
  });

  test('does not exist on a local main ahead of origin, after a session on another branch was merged there', async () => {
    const project = await withSession('develop');
    await project.setRef('refs/remotes/origin/HEAD', await project.tipOf('main'));
    await fastForward(project, 'main');
    await project.switchTo('main');
    expect(await lineOfHead(project)).toBeNull();
  });

  test('does not exist on teddy/global, although memos leave entries there', async () => {
    const project = await given.session();
    await say(project, 'One', planOf([], memos('[+] tabs'), '## Message\n\nHi.'));
    await run(project, { memos: { kind: 'yes' } });
    await project.switchTo('main');
    await project.switchTo('teddy/global');
    expect(await lineOfHead(project)).toBeNull();
  });

  test('does not exist with a detached HEAD: commands that read show that commit, others explain what to do', async () => {
    const project = await withSession();
    await project.detach();
    expect(await lineOfHead(project)).toBeNull();
    const tip = await project.tipOf(line);
    expect(await findLine(project)).toMatchObject({ session, found: 'detached', ref: 'HEAD', tip });
    const appending = () => findLine(project, undefined, { appends: true });
    const hint = (command: string) => ({ code: 'NOT_ON_LINE', hint: expect.stringContaining(`\`${command}\``) });
    await expect(appending()).rejects.toMatchObject(hint(`git switch ${line}`));
    // The branch has continued from here.
    await project.switchTo(line);
    await turn(project, 'Two', create('two.txt'));
    await project.switchTo('older', tip);
    await project.detach();
    await project.repository.store.updateRefs([{ ref: 'refs/heads/older' as RefName, old: tip, new: null }], 'test');
    await expect(appending()).rejects.toMatchObject(hint('git switch -c add-login-again'));
  });

  test('belongs to the session that started on another line', async () => {
    const project = await withSession();
    await start(project, 'second');
    await turn(project, 'One', create('second.txt'));
    await project.switchTo('try', await project.tipOf('teddy/20260124-second'));
    expect(await findHeadLine(project)).toMatchObject({ session: '20260124-second' });
  });
});

async function fastForward(project: MemoryProject, branch: string): Promise<void> {
  await project.setRef(`refs/heads/${branch}`, await project.tipOf(line));
}

describe('a named line', () => {
  test('is a session id, a unique part of one, a branch, or a path to a session directory', async () => {
    const project = await withSession();
    await project.switchTo('try-again', await project.tipOf(line));
    await project.switchTo('main');
    await start(project, 'remove-logout');
    for (const selector of [session, 'add-', line, `refs/heads/${line}`, `.teddy/sessions/${session}/`]) {
      expect(await findLine(project, selector)).toMatchObject({ ref: `refs/heads/${line}`, session, found: 'named' });
    }
    expect(await findLine(project, 'try-again')).toMatchObject({ ref: 'refs/heads/try-again', session });
  });

  test('as a directory is HEAD’s line if that belongs to the session', async () => {
    const project = await withSession();
    await project.switchTo('try-again', await project.tipOf(line));
    expect(await findLine(project, `/somewhere/.teddy/sessions/${session}`)).toMatchObject({
      ref: 'refs/heads/try-again',
    });
  });

  test('that is ambiguous or unknown is reported, with the candidates', async () => {
    const project = await withSession();
    await start(project, 'add-logout');
    await expect(findLine(project, 'add-log')).rejects.toMatchObject({
      code: 'AMBIGUOUS_SESSION',
      message: expect.stringContaining(`${session}, 20260124-add-logout`),
    });
    for (const selector of ['nothing', '', '--all', 'main', 'a..b', 'x y', 'HEAD~1']) {
      await expect(findLine(project, selector)).rejects.toMatchObject({
        code: 'UNKNOWN_SESSION',
        hint: `The newest sessions: 20260124-add-logout, ${session}. To see all: \`teddy list\`.`,
      });
    }
  });

  test('defaults to the newest open session, by its start and not by its last entry', async () => {
    const project = await withSession();
    await start(project, 'second');
    await project.switchTo(line);
    await say(project, 'Two', 'Fine.');
    await project.switchTo('main');
    expect(await findLine(project)).toMatchObject({ session: '20260124-second', found: 'open' });
  });

  test('that only a remote has carries the remote’s tip, and is never taken without its name', async () => {
    const project = await withSession();
    const tip = await project.tipOf(line);
    await project.switchTo('main');
    await project.setRef(`refs/remotes/origin/${line}`, tip);
    await project.repository.store.updateRefs([{ ref: `refs/heads/${line}` as RefName, old: tip, new: null }], 'x');
    expect(await findLine(project, session)).toMatchObject({ ref: `refs/heads/${line}`, tip: null, remoteTip: tip });
    await expect(findLine(project)).rejects.toMatchObject({ code: 'NO_OPEN_SESSION' });
  });

  test('with a user’s commit at its tip was created when its session started', async () => {
    const project = await withSession();
    await project.commit('Mine\n', { 'own.txt': 'x\n' });
    await project.switchTo('main');
    expect(await findLine(project)).toMatchObject({ session, tip: await project.tipOf(line) });
  });
});

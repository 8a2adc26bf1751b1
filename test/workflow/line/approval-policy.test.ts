/**
 * The strictest value of `teddy.approvals` counts: the base branch's as last fetched, or the one in git's
 * configuration.
 */
import { describe, expect, test } from 'vitest';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { memoryRemote } from '../../support/memory-remotes.ts';
import { create, planOf, run, say, start } from '../../support/turns.ts';

const config = '.teddy/config.yaml';
const asking = (approvals: string | null) => ({ [config]: approvals === null ? null : `approvals: ${approvals}\n` });

/** A session on `main`, whose file has this value; `fetched`: the value on the remote's `main` as last fetched. */
async function open(base: string | null, fetched?: string | null): Promise<MemoryProject> {
  const project = await memoryProject();
  if (fetched !== undefined) {
    project.remotes.set('origin', await memoryRemote());
    await project.setRef('refs/remotes/origin/main', await project.commit('Theirs\n', asking(fetched)));
  }
  await project.commit('Ours\n', asking(base));
  await start(project);
  return project;
}

/** The exit code of a run with `-y`, and the warnings about ignored settings. */
async function tryRun(project: MemoryProject): Promise<{ code: string; notes: string[] }> {
  await say(project, 'Do it', planOf([create('b.txt')]));
  project.said.length = 0;
  const ran = run(project, { approver: null, memos: { kind: 'none' } });
  const code = await ran.then(
    () => 'ran',
    (error: { code?: string }) => String(error.code),
  );
  return { code, notes: project.said.filter((text) => text.includes('approvals')) };
}

const ignoredHere = (says: string, where: string, asks: string) =>
  `warning: ${config} in the work tree ${says}, which is ignored: in ${where} it ${asks}.`;
const nothing = 'asks for no approval';

describe('an approval is needed', () => {
  test.each([
    ['the base branch asks for one', '1', undefined],
    ['the base branch as last fetched asks for one, and the local one does not', null, '1'],
  ])('if %s', async (_, base, fetched) => {
    expect(await tryRun(await open(base, fetched))).toMatchObject({ code: 'APPROVAL_MISSING' });
  });

  test.each([
    ['edited', `approvals: others\n`, 'has approvals: others'],
    ['emptied', '', nothing],
    ['removed', null, nothing],
  ])('as the base branch demands if the work tree’s file was %s, which is reported', async (_, text, says) => {
    const project = await open('1');
    await project.write({ [config]: text });
    const { code, notes } = await tryRun(project);
    expect({ code, notes }).toEqual({
      code: 'APPROVAL_MISSING',
      notes: [ignoredHere(says, 'main', 'has approvals: 1')],
    });
  });

  test('if git’s configuration asks for more, and a lower value there is ignored, which is reported', async () => {
    const raised = await open(null);
    raised.configuration.set('teddy.approvals', 'others');
    expect(await tryRun(raised)).toMatchObject({ code: 'APPROVAL_MISSING', notes: [] });
    const lowered = await open('others');
    lowered.configuration.set('teddy.approvals', '0');
    expect(await tryRun(lowered)).toEqual({
      code: 'APPROVAL_MISSING',
      notes: [
        `warning: teddy.approvals is 0 in git config (local .git/config), which is ignored: ${config} of main asks for others.`,
      ],
    });
  });

  test.each(['feature', 'main~1', 'gone'])(
    'as the default branch demands if the base is %s that was never fetched',
    async (base) => {
      const project = await memoryProject();
      await project.commit('Asks\n', asking('1'));
      project.remotes.set('origin', await memoryRemote());
      await project.setRef('refs/remotes/origin/main', await project.tipOf('main'));
      await project.switchTo('feature', await project.tipOf('main'));
      await project.commit('Asks no more\n', asking(null));
      await start(project);
      const { store } = project.repository;
      const tip = await store.resolve('HEAD' as never);
      const commit = await store.readCommit(tip as never);
      const batch = store.batch();
      const message = commit.message.replace(/^Teddy-Base-Branch: .*$/m, `Teddy-Base-Branch: ${base}`);
      expect(message).toContain(`Teddy-Base-Branch: ${base}`);
      const changed = await batch.commit({ ...commit, message });
      await batch.flush();
      await project.setRef((await project.repository.workspace.head()).ref ?? '', changed);
      expect(await tryRun(project)).toMatchObject({ code: 'APPROVAL_MISSING' });
    },
  );
});

describe('no approval is needed', () => {
  test('once the base branch as last fetched asks for none, whatever the local one demands', async () => {
    expect(await tryRun(await open('1', null))).toEqual({
      code: 'NOT_APPROVED',
      notes: [
        `${ignoredHere('has approvals: 1', 'origin/main as last fetched', nothing)} To ask for more here: \`git config teddy.approvals 1\`.`,
      ],
    });
  });

  test('if only the work tree’s file asks for one, which is reported', async () => {
    const project = await open(null);
    await project.write(asking('1'));
    const { code, notes } = await tryRun(project);
    expect(code).toBe('NOT_APPROVED');
    expect(notes).toEqual([
      expect.stringContaining('is ignored: in main it asks for no approval. To ask for more here'),
    ]);
  });

  test('if nothing asks for one, and nothing is reported', async () => {
    expect(await tryRun(await open(null, null))).toEqual({ code: 'NOT_APPROVED', notes: [] });
  });
});

test('an unreadable file on the base branch is reported as ignored', async () => {
  const { notes } = await tryRun(await open('sometimes'));
  expect(notes).toContainEqual(
    expect.stringMatching(/^warning: In main, \.teddy\/config\.yaml: approvals is ignored: /),
  );
});

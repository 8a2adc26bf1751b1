/** Plans of others that wait for an approval: in the status of those who can give it, and of those who need it. */
import { beforeEach, expect, test } from 'vitest';
import type { RefName } from '../../../src/names.ts';
import { listWaiting } from '../../../src/workflow/review/inbox.ts';
import { readStatus } from '../../../src/workflow/review/read-status.ts';
import { giveVerdict } from '../../../src/workflow/run/give-verdict.ts';
import { given } from '../../support/given.ts';
import { memoryRemote } from '../../support/memory-remotes.ts';
import type { MemoryProject } from '../../support/memory-repository.ts';
import { create, line, run, session } from '../../support/turns.ts';

const remoteLine = `refs/remotes/origin/${line}` as RefName;
let project: MemoryProject;
beforeEach(async () => {
  project = await given.plannedTurn([create('a.txt')]);
  project.configuration.set('teddy.approvals', 'others');
});

const be = (name: string) => {
  project.identity.text = `${name} <${name.toLowerCase()}@example.com> 1769248800 +0000`;
};
const move = async (ref: RefName, to: string | null) => {
  const { store } = project.repository;
  const [tip] = (await store.listRefs(ref)).filter((one) => one.ref === ref);
  const oid = to === null ? null : await store.resolve(to);
  await store.updateRefs([{ ref, old: tip?.oid ?? null, new: oid }], 'moved');
};

test('a plan waits for those who did not ask for it, until one of them has judged it or enough others have', async () => {
  expect(await listWaiting(project)).toEqual([]);
  be('Bea');
  expect(await listWaiting(project)).toEqual([
    {
      session,
      line,
      turn: '01',
      title: 'Do it',
      from: 'ada@example.org',
      show: `teddy show 01 -s ${line}`,
    },
  ]);
  const { isForOthers } = await giveVerdict(project, { verdict: 'approved' });
  expect(isForOthers).toBe(true);
  for (const name of ['Bea', 'Cid']) {
    be(name);
    expect(await listWaiting(project)).toEqual([]);
  }
});

test('a plan that was only fetched waits too, and one with newer steps on the remote is pulled first', async () => {
  be('Bea');
  await move(remoteLine, line);
  await project.switchTo('main');
  const [parent = null] = (await project.repository.store.readCommit(await project.tipOf(line))).parents;
  await move(`refs/heads/${line}` as RefName, parent);
  expect((await listWaiting(project)).map(({ show }) => show)).toEqual([
    `teddy pull -s ${session} && teddy show 01 -s ${line}`,
  ]);
  await move(`refs/heads/${line}` as RefName, null);
  expect((await listWaiting(project)).map(({ show }) => show)).toEqual([`teddy show 01 -s ${line}`]);
  expect((await readStatus(project)).next.at(-1)).toBe(`teddy show 01 -s ${line}`);
});

test('nothing waits where no approval is asked for', async () => {
  be('Bea');
  project.configuration.set('teddy.approvals', '0');
  expect(await listWaiting(project)).toEqual([]);
  project.configuration.delete('teddy.approvals');
  expect(await listWaiting(project)).toEqual([]);
  project.configuration.set('teddy.approvals', '1');
  expect(await listWaiting(project)).toHaveLength(1);
});

test('the status of the person who asked says whose approval is missing, and how to get it', async () => {
  project.remotes.set('origin', await memoryRemote());
  const waiting = await readStatus(project);
  expect([waiting.approval, waiting.next[0]]).toEqual([
    { by: 'others', asker: 'ada@example.org', isOwn: false },
    'teddy sync',
  ]);
  be('Bea');
  const asked = await readStatus(project);
  expect([asked.approval?.isOwn, asked.next[0], asked.waiting]).toEqual([true, 'teddy approve', []]);
  await expect(run(project)).rejects.toMatchObject({
    code: 'APPROVAL_MISSING',
    hint: `Approve it: \`teddy approve 01 -s ${line}\`. Then run the command again.`,
  });
  await giveVerdict(project, { verdict: 'approved' });
  const approved = await readStatus(project);
  expect([approved.approval, approved.next[0]]).toEqual([null, 'teddy execute']);
});

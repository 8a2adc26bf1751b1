import { beforeEach, expect, test } from 'vitest';
import { joinPath, turnDir, type Oid, type RefName, type SessionId, type TurnName } from '../../../src/names.ts';
import { openWorkTree } from '../../../src/workflow/line/open-work-tree.ts';
import { prepareLine } from '../../../src/workflow/line/prepare.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { listSteps, tamper } from '../../support/tampering.ts';
import { create, line, session, turn } from '../../support/turns.ts';

const main = `refs/heads/${line}` as RefName;

let project: MemoryProject;
let tip: Oid;

beforeEach(async () => {
  project = await given.session();
  await turn(project, 'One', create('one.txt'));
  await turn(project, 'Two', create('two.txt'));
  tip = await project.tipOf(line);
  await project.switchTo('main');
  await project.repository.store.updateRefs([{ ref: main, old: tip, new: null }], 'fetched');
});

test('a line that a plain fetch has brought is checked before it becomes a local branch', async () => {
  const { store } = project.repository;
  const plan = joinPath(turnDir(session as SessionId, '01' as TurnName), 'plan.md');
  const at = (await listSteps(project, tip)).find(({ entry }) => entry?.kind === 'plan')?.oid;
  const forged = await tamper(project, tip, at as Oid, [{ path: plan, bytes: Buffer.from('# Another\n') }]);
  await project.setRef(`refs/remotes/origin/${line}`, forged);
  const refusal = {
    code: 'HOSTILE_SESSION',
    exitCode: 1,
    message: expect.stringMatching(
      new RegExp(`^No local branch was created for ${line}: it fails the checks \\(.*plan\\.md`),
    ) as string,
    hint: `To look at it: \`teddy verify ${forged.slice(0, 16)}\`. Ask whoever pushed it.`,
  };
  await expect(prepareLine(project, session)).rejects.toMatchObject(refusal);
  await expect(openWorkTree(project, session, { needsPlan: false })).rejects.toMatchObject(refusal);
  expect(await store.resolve(main)).toBeNull();
});

test('an honest line becomes a local branch at the remote’s tip', async () => {
  await project.setRef(`refs/remotes/origin/${line}`, tip);
  expect(await prepareLine(project, session)).toMatchObject({ ref: main, state: { tip } });
  expect(await project.repository.store.resolve(main)).toBe(tip);
});

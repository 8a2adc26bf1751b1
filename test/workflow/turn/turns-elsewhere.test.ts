/** A turn is found from any branch of its session, if only one turn has its name. */
import { expect, test } from 'vitest';
import { diffTurns } from '../../../src/workflow/review/diff-turns.ts';
import { showTurn } from '../../../src/workflow/review/show-turn.ts';
import { giveVerdict } from '../../../src/workflow/run/give-verdict.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { rewindTurn } from '../../../src/workflow/turn/rewind.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, planOf, say, session, turn } from '../../support/turns.ts';

const diffTurnTo = (project: MemoryProject, { turn: a }: { turn: string }) => diffTurns(project, { a });
const branchSessionAt = (project: MemoryProject, { turn: name }: { turn: string }) =>
  branchSession(project, { turn: name, switch: false });
const approve = (project: MemoryProject, { turn: name }: { turn: string }) =>
  giveVerdict(project, { turn: name, verdict: 'approved', comments: [] });

/** Turn 01 on the main line; on a branch from it `02-branch-01`, 03, and 04 with a plan. HEAD is on the main line. */
async function begin(): Promise<{ project: MemoryProject; other: string }> {
  const project = await given.session({ 'README.md': '# Notes\n' });
  await turn(project, 'One', create('one.txt'));
  await turn(project, 'Two', create('two.txt'));
  const branch = await branchSession(project, { turn: '02', switch: true });
  await turn(project, 'Other', create('other.txt'));
  await turn(project, 'Three', create('three.txt'));
  await say(project, 'Four', planOf([create('four.txt')]));
  const other = branch.ref.slice('refs/heads/'.length);
  await project.switchTo(line);
  return { project, other };
}

test('a turn is found on another branch of the session', async () => {
  const { project, other } = await begin();
  for (const name of ['02-branch-01', '03']) {
    expect((await showTurn(project, { turn: name })).turn).toBe(name);
    const branched = await branchSession(project, { turn: name, switch: false });
    expect(branched.from.ref).toBe(`refs/heads/${other}`);
  }
  expect((await diffTurns(project, { a: '03' })).b.turn).toBe('03');
  expect((await giveVerdict(project, { turn: '04', verdict: 'approved', comments: [] })).line.ref).toBe(
    `refs/heads/${other}`,
  );
  await expect(undoTurn(project, { turn: '03' })).rejects.toMatchObject({
    code: 'NOT_ON_LINE',
    hint: expect.stringContaining(other),
  });
  expect((await rewindTurn(project, { turn: '03' })).from.ref).toBe(`refs/heads/${other}`);
});

test('a turn is not found if two turns have the name, or none', async () => {
  const { project } = await begin();
  await project.switchTo(line);
  await branchSession(project, { turn: '02', switch: true });
  await turn(project, 'Once more', create('more.txt'));
  await turn(project, 'Another three', create('third.txt'));
  await project.switchTo(line);
  for (const name of ['03', '09', '04-branch-02'])
    await expect(showTurn(project, { turn: name })).rejects.toMatchObject({ code: 'UNKNOWN_TURN' });
  const branches = [`${line}--02-branch-01`, `${line}--02-branch-02`];
  for (const act of [showTurn, diffTurnTo, branchSessionAt, undoTurn, rewindTurn, approve])
    await expect(act(project, { turn: '03' })).rejects.toMatchObject({
      code: 'UNKNOWN_TURN',
      message: `Turn 03 of ${session} is not on this branch, but several other branches have one: ${branches.join(', ')}.`,
      hint: `Name the branch as well: \`-s ${branches[0]}\` or \`-s ${branches[1]}\`.`,
    });
  for (const selector of branches) expect((await showTurn(project, { turn: '03', selector })).line).toBe(selector);
});

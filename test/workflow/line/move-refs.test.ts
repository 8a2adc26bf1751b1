import { describe, expect } from 'vitest';
import type { Oid, RefName } from '../../../src/names.ts';
import { moveRefs } from '../../../src/workflow/line/move-refs.ts';
import { memoryProject, withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { line, say, session, start } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const ref = `refs/heads/${line}` as RefName;
const kept = `refs/teddy/archive/2026-01/${session}` as RefName;

async function begin(): Promise<{ project: MemoryProject; first: Oid; tip: Oid }> {
  const project = await memoryProject();
  const { commit: first } = await start(project);
  await say(project, 'One', 'Fine.');
  return { project, first, tip: await project.tipOf(line) };
}

describe('moveRefs', () => {
  test('moves all or none', async () => {
    const { project, first, tip } = await begin();
    const { store } = project.repository;
    const moves = [
      { ref: kept, old: null, new: tip },
      { ref, old: first, new: null },
    ];
    expect(await moveRefs(project, moves, 'archived')).toBe(false);
    expect([await store.resolve(ref), await store.resolve(kept)]).toEqual([tip, null]);
    expect(await moveRefs(project, [{ ref: kept, old: null, new: tip }], 'archived')).toBe(true);
    expect(await moveRefs(project, [], 'nothing')).toBe(true);
  });

  test.each(['deletes', 'moves back'])('%s no line that is kept nowhere else', async (how) => {
    const { project, first, tip } = await begin();
    const { store } = project.repository;
    const move = { ref, old: tip, new: how === 'deletes' ? null : first };
    await expect(moveRefs(project, [move], 'dropped')).rejects.toThrow(`${ref} would leave ${tip}`);
    expect(await store.resolve(ref)).toBe(tip);
    expect(await moveRefs(project, [{ ref: kept, old: null, new: tip }, move], 'archived')).toBe(true);
    expect([await store.resolve(ref), await store.resolve(kept)]).toEqual([move.new, tip]);
  });

  test.each([
    ['a branch', `${ref}--02-branch-01`, true],
    ['a ref that other commands may remove', 'refs/teddy/keep/x', false],
  ])('releases a line only if it is kept elsewhere: %s', async (_, name, isEnough) => {
    const { project, first, tip } = await begin();
    await project.setRef(name, tip);
    const moved = moveRefs(project, [{ ref, old: tip, new: first }], 'from a remote');
    await (isEnough ? expect(moved).resolves.toBe(true) : expect(moved).rejects.toThrow('nothing else keeps'));
  });

  test('recomputes the moves after a lost race', async () => {
    const { project, first, tip } = await begin();
    const { store } = project.repository;
    const racing = withRace(project, () => moveRefs(project, [{ ref: kept, old: null, new: first }], 'archived'));
    const plan = async () => [{ ref: kept, old: await store.resolve(kept), new: tip }];
    expect(await moveRefs(racing, plan, 'archived')).toBe(true);
    expect(await store.resolve(kept)).toBe(tip);
  });

  slowTest('gives up after ten lost races', async () => {
    const { project, tip } = await begin();
    let asked = 0;
    const plan = async () => ((asked += 1), [{ ref: kept, old: tip, new: tip }]);
    expect(await moveRefs(project, plan, 'archived')).toBe(false);
    expect(asked).toBe(10);
  });
});

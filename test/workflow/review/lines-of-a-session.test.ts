/** The view of several lines in one session. */
import { expect } from 'vitest';
import type { Oid, RefName, SessionId } from '../../../src/names.ts';
import { listLines } from '../../../src/session/lines/lines.ts';
import { findPlanned, readLines, takeLine, walkLines } from '../../../src/view/view.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, planOf, say, session, turn } from '../../support/turns.ts';
import { quickTest as test } from '../../support/slow-test.ts';

const beside = `${line}--01-branch-01`;

/** One turn, another attempt beside it that continues with messages, and a plan that waits on the main line. */
async function open(): Promise<MemoryProject> {
  const project = await given.session();
  await turn(project, 'One', create('one.txt'));
  await branchSession(project, { turn: '01', switch: false });
  await say(project, 'Otherwise', 'Words.', { selector: beside });
  await say(project, 'Two', planOf([create('two.txt')]));
  return project;
}

test('each commit is a step on the first line that has it, and a later line names its fork point', async () => {
  const project = await open();
  const lines = await Promise.all(
    [line, beside, line, 'main'].map(async (name) => ({ name, tip: await project.tipOf(name) })),
  );
  const parts = await readLines(project.repository.store, session as SessionId, lines);
  const told = parts.map(({ line: { name }, steps, hasStart }) => ({
    name,
    steps: steps.map(({ entry }) => `${entry?.kind} ${entry?.turn ?? '-'}`),
    hasStart,
  }));
  const [main, other, again] = parts;
  expect(told).toEqual([
    {
      name: line,
      steps: ['start -', 'message 01', 'plan 01', 'report 01', 'message 02', 'plan 02'],
      hasStart: true,
    },
    { name: beside, steps: ['branch 01-branch-01', 'message 01-branch-01', 'reply 01-branch-01'], hasStart: false },
    { name: line, steps: [], hasStart: false },
  ]);
  expect([main?.leaves, main?.below]).toEqual([null, await project.tipOf('main')]);
  const left = main?.steps.find(({ commit }) => commit === other?.below);
  expect(left?.entry?.kind).toBe('start');
  expect(other?.leaves).toEqual({ commit: other?.below, part: main });
  expect(again?.leaves).toEqual({ commit: lines[0]?.tip, part: main });
});

test('a walk ends with the starts of all sessions, and tolerates commits that git lists too early', async () => {
  const project = await open();
  const { store } = project.repository;
  const at = { session: session as SessionId, tip: await project.tipOf(line) };
  const other = { session: session as SessionId, tip: await project.tipOf(beside) };
  const seen: Oid[][] = [];
  const listing = (inOrder: (all: Oid[]) => Oid[]) => ({
    async *firstParentsOf(tips: readonly Oid[]) {
      const commits = new Map<Oid, Awaited<ReturnType<typeof store.readCommit>>>();
      for (const tip of tips) for await (const { oid, commit } of store.firstParents(tip)) commits.set(oid, commit);
      const passed: Oid[] = [];
      seen.push(passed);
      for (const oid of inOrder([...commits.keys()])) {
        passed.push(oid);
        const { author, committer, message, parents } = await store.readCommit(oid);
        yield { oid, parent: parents[0] ?? null, author, committer, message };
      }
    },
  });
  const kinds = (walked: Awaited<ReturnType<typeof walkLines>>, of: typeof at) =>
    takeLine(walked, of).map(({ entry }) => entry?.kind);
  const right = await walkLines(store, [at, other]);
  expect(right.has(await project.tipOf('main'))).toBe(false);
  // Every clock was wrong: the commits come in the order of their ids.
  const skewed = await walkLines(
    listing((all) => all.toSorted()),
    [at, other],
  );
  for (const of of [at, other]) expect(kinds(skewed, of)).toEqual(kinds(right, of));
  expect(kinds(right, other)).toEqual(['start', 'branch', 'message', 'reply']);
  expect(seen.length).toBeGreaterThan(1);
});

test('the lines where a plan waits are found, newest first, even if a question came after the plan', async () => {
  const project = await open();
  const refsOf = async () => {
    const lines = (await listLines(project)).filter(({ remote }) => remote === null);
    return (await findPlanned(project, lines)).map(({ ref }) => ref);
  };
  const [main, other] = [`refs/heads/${line}`, `refs/heads/${beside}`] as RefName[];
  expect(await refsOf()).toEqual([main]);
  await say(project, 'Three', planOf([create('three.txt')]), { selector: beside });
  expect(await refsOf()).toEqual([other, main]);
  await say(project, 'Why two?', 'So.', { selector: line, mode: 'ask' });
  expect(await refsOf()).toEqual([main, other]);
});

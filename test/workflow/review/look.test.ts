import { beforeAll, describe, expect, test } from 'vitest';
import { renderGraph } from '../../../src/cli/render/graph.ts';
import type { Terminal } from '../../../src/cli/terminal.ts';
import { archiveRef, type RefName } from '../../../src/names.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { logSession } from '../../../src/workflow/review/log-session.ts';
import { renderCost } from '../../../src/cli/render/cost.ts';
import { countAllCosts } from '../../../src/workflow/review/count-all-costs.ts';
import { countCost } from '../../../src/workflow/review/count-cost.ts';
import { diffTurns } from '../../../src/workflow/review/diff-turns.ts';
import { graphSession } from '../../../src/workflow/review/log-graph.ts';
import { reviewSession } from '../../../src/workflow/review/session.ts';
import { showTurn } from '../../../src/workflow/review/show-turn.ts';
import { given } from '../../support/given.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { create, line, planOf, say, session, start, turn } from '../../support/turns.ts';
import { append } from '../sharing/clones.ts';

const branch = `${line}--02-branch-01`;
const inner = `${line}--03-branch-01`;
let project: MemoryProject;

/** Turns 01 and 02; another 02 on a branch, with a 03 that has its own branch. HEAD is back on the main line. */
beforeAll(async () => {
  project = await given.session();
  await turn(project, 'One', create('one.txt', 'new\n'));
  await project.commit('Mine\n', { 'own.txt': 'x\n' });
  await turn(project, 'Two', create('two.txt', 'two\n'));
  await branchSession(project, { turn: '02', switch: true });
  await turn(project, 'Two again', create('other.txt', 'other\n'));
  await say(
    project,
    'Three',
    scriptedModel({ texts: ['Words.'], usage: { inputTokens: 700, outputTokens: 30, costUsd: 0.0125 } }),
  );
  await branchSession(project, { turn: '03', switch: true });
  await say(project, 'Three again', 'Other words.');
  await project.switchTo(line);
});

const plain: Pick<Terminal, 'style' | 'columns'> = { style: (_, text) => text, columns: 80 };
const withoutOids = (drawn: string) => drawn.replace(/[0-9a-f]{10}/g, 'oid');

describe('a graph', () => {
  test('has every commit on all lines once, branches above the entry that they fork from', async () => {
    const { lines, entries } = await graphSession(project, undefined);
    expect(lines.map(({ name, depth, isHead }) => [name, depth, isHead])).toEqual([
      [line, 0, true],
      [branch, 1, false],
      [inner, 2, false],
    ]);
    expect(new Set(entries.map(({ commit }) => commit)).size).toBe(entries.length);
    const at = (commit: string | undefined) => entries.findIndex((entry) => entry.commit === commit);
    for (const { leaves, name } of lines.slice(1)) {
      const last = entries.findLastIndex((entry) => entry.line === name);
      expect(at(leaves?.commit)).toBe(last + 1);
    }
    expect(entries.every(({ parent }, i) => parent === null || at(parent) === -1 || at(parent) > i)).toBe(true);
  });

  test('is drawn with a lane for each depth, in 80 columns', async () => {
    const drawn = withoutOids(renderGraph(plain as Terminal, await graphSession(project, undefined)));
    expect(drawn).toBe(`\
  HEAD -> ${line}
* oid turn 02 report: SUCCESS Do it
* oid turn 02 plan: Do it
* oid turn 02 message: Two
|   ${branch}
| * oid turn 03 reply: Words.
| * oid turn 03 message: Three
| |   ${inner}
| | * oid turn 03-branch-01 reply: Other words.
| | * oid turn 03-branch-01 message: Three again
| | * oid turn 03-branch-01 branch: from turn 03
| |/
| * oid turn 02-branch-01 report: SUCCESS Do it
| * oid turn 02-branch-01 plan: Do it
| * oid turn 02-branch-01 message: Two again
| * oid turn 02-branch-01 branch: from turn 02
|/
* oid Ada Example: Mine
* oid turn 01 report: SUCCESS Do it
* oid turn 01 plan: Do it
* oid turn 01 message: One
* oid start: ${session}
`);
  });

  test('marks remote-only and archived lines, and shows other refs at their commits', async () => {
    const own = await memoryProject();
    await start(own);
    await turn(own, 'One', create('one.txt'));
    await branchSession(own, { turn: '01', switch: false });
    await branchSession(own, { turn: '01', switch: false });
    const refs = ['01', '02'].map((nn) => `refs/heads/${line}--01-branch-${nn}` as RefName);
    const [first, second] = await Promise.all(refs.map((ref) => own.tipOf(ref.replace('refs/heads/', ''))));
    await own.setRef(`refs/remotes/origin/${line}--01-branch-01`, first!);
    await own.setRef(archiveRef(refs[1]!), second!);
    await own.setRef('refs/heads/mine', await own.tipOf(line));
    // The tip may be a memo entry in the session.
    await own.setRef('refs/heads/teddy/global', second!);
    await own.repository.store.updateRefs(
      [
        { ref: refs[0]!, old: first!, new: null },
        { ref: refs[1]!, old: second!, new: null },
      ],
      'x',
    );
    const graph = await graphSession(own, 'add-login');
    expect(graph.lines.map(({ kind, remote }) => [kind, remote])).toEqual([
      ['local', null],
      ['remote', 'origin'],
      ['archived', null],
    ]);
    expect(graph.entries.find(({ labels }) => labels.includes('mine'))?.commit).toBe(await own.tipOf(line));
    const drawn = renderGraph(plain as Terminal, graph);
    expect(drawn).not.toContain('teddy/global');
    expect(drawn).toContain('(only on origin)');
    expect(drawn).toContain('(archived)');
  });

  test('names an archive once, beside its remote copy, and has no gap at a line that forks from another’s tip', async () => {
    const own = await memoryProject();
    await start(own);
    await turn(own, 'One', create('one.txt'));
    const [main, remote] = [`refs/heads/${line}`, `refs/remotes/origin/${line}`] as [RefName, RefName];
    await own.setRef(remote, await own.tipOf(line));
    await turn(own, 'Two', create('two.txt'));
    const last = await own.tipOf(line);
    const draw = async () => withoutOids(renderGraph(plain as Terminal, await graphSession(own, session)));
    const two = (lane: string) =>
      ['report: SUCCESS Do it', 'plan: Do it', 'message: Two'].map((text) => `${lane}* oid turn 02 ${text}\n`).join('');
    const one = `turn 01 report: SUCCESS Do it
* oid turn 01 plan: Do it
* oid turn 01 message: One
* oid start: ${session}
`;
    await own.setRef(archiveRef(main), last);
    await own.switchTo('main');
    await own.repository.store.updateRefs([{ ref: main, old: last, new: null }], 'x');
    expect(await draw()).toBe(`  archive/${session} (archived)\n${two('')}* oid (origin/${line}) ${one}`);
    await append(own, remote);
    expect(await draw()).toBe(`  origin/${line} (only on origin)
* oid snapshot: 3 files of the user's own edits
|   archive/${session} (archived)
${two('| ')}|/
* oid ${one}`);
    await own.setRef(main, last);
    await own.switchTo('mine', last);
    await own.commit('Mine\n', { 'mine.txt': 'x\n' });
    expect((await draw()).split(two(''))[0]).toBe(`    HEAD -> mine
  * oid Ada Example: Mine
 /
  ${line}, archive/${session}
`);
  });
});

test('a log takes a range of commits', async () => {
  const mine = (await logSession(project, line)).entries.find(({ subject }) => subject === 'Mine');
  const { entries } = await logSession(project, `${mine?.commit}..${line}`);
  expect(entries.map(({ entry }) => entry?.kind)).toEqual(['report', 'plan', 'message']);
});

describe('show', () => {
  test('finds a turn on a branch from elsewhere, and a turn’s state at a commit', async () => {
    expect(await showTurn(project, { turn: '02-branch-01' })).toMatchObject({ line: branch, messages: ['Two again'] });
    expect(await showTurn(project, { turn: branch })).toMatchObject({ turn: '03', reply: 'Words.' });
    const { entries } = await showTurn(project, { turn: '01' });
    expect(entries.map(({ entry }) => entry?.kind)).toEqual(['message', 'plan', 'report']);
    const planned = entries[1]?.commit;
    expect(await showTurn(project, { turn: planned })).toMatchObject({ turn: '01', status: 'planned', report: null });
    await expect(showTurn(project, { turn: branch, selector: session })).rejects.toMatchObject({ code: 'USAGE' });
  });

  test('reports who answered, and at what cost', async () => {
    const shown = await showTurn(project, { turn: '03', selector: branch });
    expect(shown).toMatchObject({ provider: 'recorded', undoneBy: null });
    expect(shown.spent).toEqual({ answers: 1, unreported: 0, inputTokens: 700, outputTokens: 30, costUsd: 0.0125 });
  });
});

describe('diff', () => {
  test('between a turn and another attempt has messages, plans and the resulting code of each', async () => {
    const { a, b, message, plan, code } = await diffTurns(project, { a: '02', b: '02-branch-01' });
    expect([a.line, b.line, a.outcome?.status]).toEqual([line, branch, 'SUCCESS']);
    expect(message).toEqual({ a: 'Two', b: 'Two again' });
    expect(plan?.diff).toMatch(/^-.*two\.txt.*\n(?:.*\n)*\+.*other\.txt/m);
    expect(code?.map(({ path, change, added, removed }) => [path, change, added, removed])).toEqual([
      ['other.txt', 'added', 1, 0],
      ['two.txt', 'deleted', 0, 1],
    ]);
  });

  test('for one turn compares it with the one before, or with the session’s start', async () => {
    const against = await diffTurns(project, { a: '02', only: 'code' });
    expect([against.a.turn, against.b.turn, against.plan]).toEqual(['01', '02', null]);
    // The user's own commit in between is part of turn 02's result.
    expect(against.code?.map(({ path }) => path)).toEqual(['own.txt', 'two.txt']);
    const first = await diffTurns(project, { a: '01' });
    expect(first.a.turn).toBeNull();
    expect(first.code?.map(({ path }) => path)).toEqual(['one.txt']);
  });

  test('takes 02 from the main line only if it is compared with its own 02-branch-01 on a branch', async () => {
    await project.switchTo(branch);
    const { a, b } = await diffTurns(project, { a: '02', b: '02-branch-01' });
    expect([a.turn, b.turn]).toEqual(['02', '02-branch-01']);
    const own = await diffTurns(project, { a: '02', b: '03', only: 'context' });
    expect([own.a.turn, own.b.turn]).toEqual(['02-branch-01', '03']);
    await project.switchTo(line);
  });
});

describe('cost', () => {
  test('counts the reported usage by turn and model, and estimates the rest separately', async () => {
    const { turns, spent: total, estimated, budget } = await countCost(project, branch);
    expect(turns.map((one) => [one.turn, one.spent.inputTokens, one.estimated === null])).toEqual([
      ['01', 0, false],
      ['02-branch-01', 0, false],
      ['03', 700, true],
    ]);
    expect(total).toMatchObject({ answers: 3, unreported: 2, inputTokens: 700, outputTokens: 30, costUsd: 0.0125 });
    expect(estimated?.inputTokens).toBeGreaterThan(100);
    expect(budget).toEqual({ maxTurns: { limit: null, spent: 3 }, maxTokens: { limit: null, spent: 730 } });
  });

  test('shows how much input came from caches, if endpoints report it', async () => {
    const cached = await memoryProject();
    await start(cached);
    const usage = { inputTokens: 11_000, outputTokens: 300, cachedTokens: 9000, reasoningTokens: 120 };
    await say(cached, 'One', scriptedModel({ texts: ['Words.'], usage }));
    await say(cached, 'Two', scriptedModel({ texts: ['Words.'], usage: { inputTokens: 1000, outputTokens: 60 } }));
    const cost = await countCost(cached, undefined);
    expect(cost.spent).toMatchObject({ inputTokens: 12_000, cachedTokens: 9000, reasoningTokens: 120 });
    expect(cost.turns[1]?.spent).not.toHaveProperty('cachedTokens');
    const drawn = renderCost(plain as Terminal, cost);
    expect(drawn).toContain('turn       in        cached  out  cost  model');
    expect(drawn).toContain('01     11,000  9,000 (81 %)  300     -  scripted  One');
    expect(drawn).toContain(
      'Read from caches: 9,000 (75 %) of 12,000 tokens in.\nReasoning: 120 (33 %) of 360 tokens out.',
    );
    expect(renderCost(plain as Terminal, await countCost(project, branch))).not.toContain('cached');
  });

  test('estimates the cost from known prices, and never treats an unknown price as zero', async () => {
    const priced = await memoryProject();
    await start(priced);
    const usage = { inputTokens: 1_000_000, outputTokens: 100_000, cachedTokens: 400_000 };
    await say(priced, 'One', scriptedModel({ texts: ['Words.'], usage }));
    await say(priced, 'Two', scriptedModel({ texts: ['Words.'], usage: { ...usage, costUsd: 0.5 } }));
    const unknown = renderCost(plain as Terminal, await countCost(priced, undefined));
    expect(unknown).toContain(
      'No price is known for scripted: `teddy models update`, or `git config teddy.model.scripted.price <in>/<out>`.',
    );
    expect(unknown).toMatch(/^01 .* - {2}scripted {2}One$/m);
    const asked: string[][] = [];
    const models = {
      ...priced.models,
      find: async (...names: [string, string]) => {
        asked.push(names);
        return { window: null, answer: null, price: { input: 3, output: 15, cached: 0.3 } };
      },
    };
    const cost = await countCost({ ...priced, models }, undefined);
    expect(asked).toEqual([['recorded', 'scripted']]);
    expect(cost.turns.map(({ spent }) => spent.estimatedUsd?.toFixed(4))).toEqual(['3.4200', undefined]);
    expect(cost.spent).toMatchObject({ costUsd: 0.5 });
    const drawn = renderCost(plain as Terminal, cost);
    expect(drawn).toMatch(/^01 .* ~\$3\.42 {2}scripted {2}One$/m);
    expect(drawn).toMatch(/^02 .* \$0\.5000 {2}scripted {2}Two$/m);
    expect(drawn).toMatch(/^total .* ~\$3\.92$/m);
    expect(drawn).toContain("~ marks a cost estimated from the models' prices.");
    expect(drawn).not.toContain('No price');
    const { total } = await countAllCosts({ ...priced, models });
    expect(total.estimatedUsd).toBeCloseTo(3.42);
  });

  test('for all sessions counts the lines’ shared turns once', async () => {
    const { sessions, total } = await countAllCosts(project);
    expect(sessions).toMatchObject([{ session, lines: 3, turns: 5 }]);
    expect(total).toMatchObject({ answers: 5, inputTokens: 700, costUsd: 0.0125 });
  });
});

describe('review', () => {
  test('has the turns with plan, outcome, actions and files, own commits in place, without secrets', async () => {
    const own = await memoryProject();
    own.secrets.set('hush-hush', 'password');
    await start(own);
    await turn(own, 'One', create('one.txt', 'new\n'));
    await own.commit('My hush-hush\n', { 'hush-hush.txt': 'x\n' });
    await say(own, 'Two', planOf([create('hush-hush.txt')]));
    const review = await reviewSession(own, undefined);
    expect(review.turns).toMatchObject([
      { turn: '01', messages: ['One'], planTitle: 'Do it', outcome: 'SUCCESS', files: [{ path: 'one.txt', added: 1 }] },
      { turn: '02', outcome: null, actions: [{ type: 'CREATE', status: null, target: '[masked: password].txt' }] },
    ]);
    expect(review.commits).toMatchObject([{ subject: 'My [masked: password]', after: '01' }]);
    expect(review.files.map(({ path }) => path)).toEqual(['[masked: password].txt', 'one.txt']);
    expect(review).toMatchObject({ baseBranch: 'main', base: await own.tipOf('main') });
  });
});

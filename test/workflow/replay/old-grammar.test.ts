/** Sessions from before reports recorded a grammar: their plans are read by the rules of that time. */
import { beforeEach, describe, expect } from 'vitest';
import { parsePlan } from '../../../src/plan/parse/parse.ts';
import type { EntryKind } from '../../../src/session/entries/entry.ts';
import type { Oid, RepoPath, TurnName } from '../../../src/names.ts';
import { readLine } from '../../../src/view/view.ts';
import { readTurnList } from '../../../src/workflow/context/read-turn-list.ts';
import { findRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { replayLine } from '../../../src/workflow/replay/line.ts';
import type { ReplayedTurn } from '../../../src/workflow/replay/replayed.ts';
import { verifyLine } from '../../../src/workflow/verify/line.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { listSteps, tamper } from '../../support/tampering.ts';
import { create, edit, line, planOf, run, say, session } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

let project: MemoryProject;

beforeEach(async () => {
  project = await given.session({ 'src/app.ts': 'const port = 80;\nlisten(port);\n' });
});

type Rewrite = (text: string) => string;

interface Past {
  plan?: Rewrite;
  report?: Rewrite;
  /** The grammar in the report; null for none, since there were no versions before. */
  grammar?: number | null;
}

/** Runs a plan, then moves its turn to an earlier version. Every hash in it is right. */
async function record(text: string, past: Past): Promise<Oid> {
  await say(project, 'One', text);
  await run(project);
  const changed = past.plan?.(text) ?? text;
  const planned = await rewrite(await project.tipOf(line), 'plan', 'plan.md', () => changed);
  const grammar = past.grammar === undefined || past.grammar === null ? '' : `  grammar: ${past.grammar}\n`;
  return rewrite(planned, 'report', 'report.md', (report) => {
    expect(report).toContain('\n  grammar: 3\n');
    const dated = report.replace(/ {2}sha256: .*\n {2}grammar: 3\n/, `  sha256: ${project.hash(changed)}\n${grammar}`);
    return past.report?.(dated) ?? dated;
  });
}

async function rewrite(tip: Oid, kind: EntryKind, name: string, change: Rewrite): Promise<Oid> {
  const at = (await listSteps(project, tip)).find(({ entry }) => entry?.kind === kind)?.oid as Oid;
  const path = `.teddy/sessions/${session}/01/${name}` as RepoPath;
  const bytes = new TextEncoder().encode(change((await project.readAt(at, path)) ?? ''));
  const message = (text: string) => text.replace(/Teddy-Sha256: \w+/, `Teddy-Sha256: ${project.hash(bytes)}`);
  return tamper(project, tip, at, [{ path, bytes, message }]);
}

async function replay(tip: Oid): Promise<ReplayedTurn | undefined> {
  return (await replayLine(project, await findRecorded(project, tip))).turns[0];
}

const code = '\n```\nconst port = 81;\n```\n';
const script = '\n## EXECUTE\n- **Description:** Run the tests.\n\n```sh\nnpm test\n```\n';

/** Plans that grammars 1 and 2 read differently. */
const plans: Record<string, { text: string } & Past> = {
  'a name with quotes': {
    text: planOf([`### CREATE\n- **File Path:** \`"a.txt"\`\n${code}`]),
    plan: (text) => text.replaceAll('`"a.txt"`', '"a.txt"'),
  },
  'an action behind the Action Plan that was dropped': {
    text: planOf([create('a.txt')]),
    plan: (text) => `${text}${script}`,
  },
  'a label that was unknown': {
    text: planOf([edit('src/app.ts', 'const port = 80;', 'x').replace('FIND:', 'SEEK:')]),
    plan: (text) => text.replaceAll('SEEK', 'SEARCH'),
    report: (text) => text.replaceAll('SEEK', 'SEARCH'),
  },
  'a REPLACE that stands anywhere': {
    text: planOf([edit('src/app.ts', 'nothing like it', 'listen(port);')]),
    report: (text) =>
      text.replace(/(was not found; .*?)("?)\n/, '$1 REPLACE stands at line 2, perhaps already applied.$2\n'),
  },
};

describe('a report without a grammar', () => {
  slowTest.each(Object.entries(plans))('is replayed the same: %s', async (_, { text, ...past }) => {
    const tip = await record(text, past);
    expect(await replay(tip)).toMatchObject({ outcome: 'same', differences: [] });
    expect((await verifyLine(project, await findRecorded(project, tip))).violations).toEqual([]);
  });

  slowTest.each(Object.entries(plans))('is replayed differently with grammar 2: %s', async (_, { text, ...past }) => {
    expect(await replay(await record(text, { ...past, grammar: 2 }))).toMatchObject({ outcome: 'different' });
  });

  test.each([
    ['a remark after a path in a list', '## Context Vault\n- `b.ts`\n', '`b.ts`', 'b.ts - the routes'],
    ['a memo without a sign', '## Memos\n- none\n', 'none', '[+]plain'],
  ])('with grammar 2 is replayed the same: %s', async (_, list, now, then) => {
    const text = planOf([create('a.txt')], list);
    const tip = await record(text, { grammar: 2, plan: (it) => it.replace(now, then) });
    expect(await replay(tip)).toMatchObject({ outcome: 'same', differences: [] });
    expect((await verifyLine(project, await findRecorded(project, tip))).violations).toEqual([]);
  });

  test('leaves its actions’ files to the next turn', async () => {
    const tip = await record(plans['a name with quotes']?.text ?? '', plans['a name with quotes'] ?? {});
    const { store } = project.repository;
    const list = await readTurnList(store, await readLine(store, tip), '01' as TurnName);
    expect(list).toContainEqual({ origin: 'CREATE', text: JSON.stringify('"a.txt"') });
  });
});

test('an answer that was only text when it was given needs no report', async () => {
  const text = planOf([], '## Message\n\nDone.');
  await say(project, 'One', text);
  await say(project, 'Two', planOf([create('a.txt')]));
  const spoken = `${text}\n### EXECUTE\n- **Description:** Run the tests.\n`;
  expect([parsePlan(spoken, { grammar: 1 }).problems.length, parsePlan(spoken).problems.length]).toEqual([0, 1]);
  const tip = await rewrite(await project.tipOf(line), 'plan', 'plan.md', () => spoken);
  const { violations } = await verifyLine(project, await findRecorded(project, tip));
  // The second turn's request quotes the answer in its earlier form.
  expect(violations.map(({ rule }) => rule)).toEqual(['log']);
});

describe('a report by this version', () => {
  slowTest('agrees with verify and replay, with its grammar and with one that reads the plan alike', async () => {
    const text = planOf([create('a.txt')]);
    const older = await record(text, {});
    for (const tip of [await project.tipOf(line), older]) {
      expect((await verifyLine(project, await findRecorded(project, tip))).violations).toEqual([]);
      expect(await replay(tip)).toMatchObject({ outcome: 'same', differences: [] });
    }
  });

  slowTest.each([null, 1])('hides nothing by claiming the grammar %j', async (grammar) => {
    const text = planOf([create('a.txt'), `### CREATE\n- **File Path:** "b.txt"\n${code}`]);
    const { outcome, differences } = (await replay(await record(text, { grammar }))) ?? {};
    expect([outcome, differences?.map(({ action }) => action)]).toEqual(['different', expect.arrayContaining([2])]);
  });

  test('is different with a grammar that this version does not support, and verify reads it', async () => {
    const tip = await record(planOf([create('a.txt')]), { grammar: 4 });
    const message = expect.stringContaining('grammar 4, which this version of teddy does not support');
    expect(await replay(tip)).toMatchObject({ outcome: 'different', differences: [{ message }] });
    expect((await verifyLine(project, await findRecorded(project, tip))).violations).toEqual([]);
  });
});

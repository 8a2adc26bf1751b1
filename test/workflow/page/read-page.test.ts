/** The values on a page, from a repository in memory. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { RefName } from '../../../src/names.ts';
import type { PageTurn, SessionPage } from '../../../src/page/session-page.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { findPageSource, readPage } from '../../../src/workflow/page/read-page.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { command, create, line, say, session, turn } from '../../support/turns.ts';

const branch = `${line}--02-branch-01`;
let project: MemoryProject;
let page: SessionPage;

/** Turns 01, 02 and 03; another 02 on a branch, and its own 03 there. */
beforeAll(async () => {
  project = await given.session();
  await turn(project, 'Make one', create('one.txt', 'new\n'));
  await project.commit('Mine\n', { 'own.txt': 'x\n' });
  await turn(project, 'Make two', create('two.txt', 'two\n'));
  await turn(project, 'Make three', create('three.txt', 'three\n'));
  await undoTurn(project, {});
  await branchSession(project, { turn: '02', switch: true });
  await turn(project, 'Make two again', create('other.txt', 'other\n'));
  const usage = { inputTokens: 700, outputTokens: 30, costUsd: 0.0125 };
  await say(project, 'And three', scriptedModel({ texts: ['Words.'], usage }));
  await project.switchTo(line);
  page = await read(project);
});

async function read(of: MemoryProject, selector?: string): Promise<SessionPage> {
  return readPage(of, await findPageSource(of, selector), { version: '1.2.3', checks: false });
}

function find(name: string, of = page): PageTurn {
  const found = of.turns.find((one) => one.turn === name);
  if (found === undefined) throw new Error(`The page has no turn ${name}.`);
  return found;
}

const turnAction = (turn: string) => ({ kind: 'turn', turn, action: 1 });

describe('a page', () => {
  test('has the promise of each turn that ran, with masked names', async () => {
    const states = page.turns.map(({ promise }) => promise?.paths.map(({ path, state }) => `${path} ${state}`));
    expect(states).toEqual([['one.txt kept'], ['two.txt kept'], ['three.txt kept'], ['other.txt kept'], undefined]);
    const secret = await given.executedTurns({ One: [command('echo a'), create('a.txt')] });
    secret.secrets.set('echo a', 'token');
    expect((await read(secret)).turns[0]?.promise?.commands[0]?.command).toBe('[masked: token]');
  });

  test('has each turn once, the requested line’s first, each with the turn that it continues from', () => {
    expect(page.turns.map(({ turn: id, name, line: of, parent }) => [id, name, of, parent])).toEqual([
      ['01', '01', line, null],
      ['02', '02', line, '01'],
      ['03', '03', line, '02'],
      ['02-branch-01', '02-branch-01', branch, '01'],
      ['03-2', '03', branch, '02-branch-01'],
    ]);
    expect(page.title).toBe('Make one');
    expect(page.authors).toEqual(['Ada Example']);
    expect(page.base?.branch).toBe('main');
  });

  test('begins with the requested line', async () => {
    const { turns, source } = await read(project, branch);
    expect(source.lines.map(({ name }) => name)).toEqual([branch, line]);
    expect(turns.map(({ turn: id, line: of }) => [id, of])).toEqual([
      ['01', branch],
      ['02-branch-01', branch],
      ['03', branch],
      ['02', line],
      ['03-2', line],
    ]);
  });

  test('has a commit once, however many branches point to it', async () => {
    await project.setRef('refs/heads/again', await project.tipOf(branch));
    const { source } = await read(project);
    expect(source).toEqual(page.source);
    await project.repository.store.updateRefs(
      [{ ref: 'refs/heads/again' as RefName, old: await project.tipOf(branch), new: null }],
      'x',
    );
  });

  test('has a turn’s plan, report and code with the action that made it', () => {
    const { parts, plan, report, files, outcome, status } = find('02');
    expect(parts.map(({ kind }) => kind)).toEqual(['message', 'plan', 'report']);
    expect(plan?.parsed?.plan.actions).toMatchObject([{ type: 'CREATE', path: 'two.txt' }]);
    expect(plan?.sha256).toBe(project.hash(plan?.source.text ?? ''));
    expect(report).toMatchObject({
      author: 'Ada Example',
      cut: null,
      report: { action_logs: [{ approved_by: 'flag' }] },
    });
    expect(files).toMatchObject([{ path: 'two.txt', change: 'added', added: 1, removed: 0, kind: 'text', action: 1 }]);
    expect(files[0]?.diff).toEqual({
      text: expect.stringContaining('+++ b/two.txt\n@@ -0,0 +1,1 @@\n+two\n'),
      cut: null,
    });
    expect([outcome, status]).toEqual(['SUCCESS', 'closed']);
  });

  test('reports a turn’s usage, the undo of its code, and the usage of the requested line alone', async () => {
    expect(find('03-2').spent).toMatchObject({ answers: 1, inputTokens: 700, costUsd: 0.0125 });
    expect(page.spent).toMatchObject({ answers: 3, inputTokens: 0 });
    expect(page.shown).toEqual(['01', '02', '03']);
    const other = await read(project, branch);
    expect(other.spent).toMatchObject({ answers: 3, inputTokens: 700, outputTokens: 30, costUsd: 0.0125 });
    expect(other.shown).toEqual(['01', '02-branch-01', '03']);
    expect(other.files.map(({ path }) => path)).toEqual(['one.txt', 'other.txt', 'own.txt']);
    expect(find('03').undoneBy).toBe(find('03').commits.at(-1)?.commit);
    expect(find('03').files.map(({ path }) => path)).toEqual(['three.txt']);
  });

  test('has the requested line’s whole change, with what made it', () => {
    const [own] = page.others;
    expect(page.files.map(({ path, added, by, made }) => [path, added, by, made])).toEqual([
      ['one.txt', 1, [turnAction('01')], [[turnAction('01')]]],
      ['own.txt', 1, [{ kind: 'commit', commit: own?.commit }], [[{ kind: 'commit', commit: own?.commit }]]],
      ['two.txt', 1, [turnAction('02')], [[turnAction('02')]]],
    ]);
    expect(own?.files).toMatchObject([{ path: 'own.txt', added: 1 }]);
  });

  test("has the user's own commits in their places", () => {
    expect(page.others).toMatchObject([{ kind: 'own', line, after: '01', subject: 'Mine', author: 'Ada Example' }]);
  });

  test('shows the first 200 files of a commit, and counts the rest', async () => {
    const merged = await given.session();
    await merged.commit(
      'Merge it\n',
      Object.fromEntries(Array.from({ length: 203 }, (_, at) => [`f${at}.txt`, 'x\n'])),
    );
    const { others, files } = await read(merged);
    expect(others.map((one) => [one.files.length, one.omitted])).toEqual([[200, 3]]);
    expect(files).toHaveLength(203);
  });

  test('compares a branch’s first turn with the turn of the same number on the line that it forks from', () => {
    expect(page.comparisons).toMatchObject([{ one: '02', other: '02-branch-01' }]);
    expect(page.comparisons[0]?.code.map(({ path, change }) => [path, change])).toEqual([
      ['other.txt', 'added'],
      ['two.txt', 'deleted'],
    ]);
  });
});

describe('a turn’s request', () => {
  const bodies = (name: string) =>
    find(name).request?.sections.map(({ name: section, of, body }) => [
      of === null ? section : `${section} ${of}`,
      body.kind === 'text' ? 'text' : body.kind === 'turn' ? `turn ${body.turn}` : `${body.turn}/${body.section}`,
    ]);

  test('names the parts that an earlier one has, and turns that the page shows', () => {
    expect(bodies('01')).toEqual([
      ['front-matter', 'text'],
      ['system', 'text'],
      ['tree', 'text'],
      ['file README.md', 'text'],
      ['message', 'text'],
    ]);
    expect(bodies('03')).toEqual([
      ['front-matter', 'text'],
      ['system', '01/1'],
      ['history 01', 'turn 01'],
      ['history 02', 'turn 02'],
      ['tree', 'text'],
      ['file README.md', '01/3'],
      ['file one.txt', '02/5'],
      ['file two.txt', 'text'],
      ['message', 'text'],
    ]);
    expect(bodies('03-2')?.slice(2, 4)).toEqual([
      ['history 01', 'turn 01'],
      ['history 02-branch-01', 'turn 02-branch-01'],
    ]);
  });

  test('has the bytes and tokens of each section, and the command that prints it', async () => {
    const { request } = find('02');
    const log = (await project.readAt(request!.commit, `.teddy/sessions/${session}/02/_context.log`)) ?? '';
    expect(request?.bytes).toBe(log.length);
    expect(request?.command).toBe(
      `git show ${request?.commit.slice(0, 10)}:.teddy/sessions/${session}/02/_context.log`,
    );
    const sections = request?.sections ?? [];
    expect(sections.reduce((count, { bytes }) => count + bytes, 0)).toBe(log.length);
    for (const { body, marker } of sections)
      if (body.kind === 'text') expect(log).toContain(`${marker ?? ''}${body.text.text}`);
    expect(sections.find(({ name }) => name === 'system')?.tokens).toBeGreaterThan(1000);
  });
});

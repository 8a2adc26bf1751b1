/** The code tree that a report records for each action. */
import { beforeEach, expect } from 'vitest';
import { parseReport } from '../../../src/plan/report/report-yaml.ts';
import type { Oid, RepoPath } from '../../../src/names.ts';
import { openEditedCode } from '../../../src/workflow/line/edited-code.ts';
import { editTree } from '../../../src/session/paths/edit-tree.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import {
  approver,
  command,
  create,
  edit,
  line,
  planOf,
  run,
  runUntilKilled,
  say,
  session,
  turn,
} from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

let project: MemoryProject;

beforeEach(async () => {
  project = await given.session({ 'src/app.ts': 'const port = 80;\n', 'b.txt': 'b\n', 'lib/x/y.ts': 'y\n' });
});

async function treesOf(name = '01'): Promise<(string | undefined)[]> {
  const text = await project.readAt(await project.tipOf(line), `.teddy/sessions/${session}/${name}/report.md`);
  return parseReport(text ?? '').action_logs.map(({ tree }) => tree);
}

/** The code in the commit before the report, with these files in it. */
async function codeWith(files: Record<string, string | null>, at = line): Promise<Oid> {
  const { store } = project.repository;
  const batch = store.batch();
  const parent = (await store.readCommit(await project.tipOf(at))).parents[0] as Oid;
  const edits = [{ path: '.teddy' as RepoPath, entry: null }];
  const made = [];
  for (const [path, text] of Object.entries(files))
    made.push({
      path: path as RepoPath,
      entry: text === null ? null : { mode: '100644' as const, oid: await batch.blob(text) },
    });
  const bare = await editTree(store, batch, (await store.readCommit(parent)).tree, edits);
  await batch.flush();
  return editTree(store, store.batch(), bare, made);
}

slowTest(
  'a report’s tree is git’s, without .teddy, after each file action and each command, with stacked edits',
  async () => {
    const texts = ['b1\n', 'b2\n'];
    project.command.run = () => project.write({ 'b.txt': texts.shift() ?? '', 'made.txt': 'm\n' }).then(() => ({}));
    const change = edit('src/app.ts', '80', '81');
    await turn(
      project,
      'One',
      change,
      command('make'),
      edit('src/app.ts', '81', '82'),
      create('n/new.txt', 'n\n'),
      command('make'),
    );
    const [one, two] = ['const port = 81;\n', 'const port = 82;\n'];
    const made = { 'b.txt': 'b1\n', 'made.txt': 'm\n' };
    const all = { 'src/app.ts': two, ...made, 'n/new.txt': 'n\n' };
    expect(await treesOf()).toEqual([
      await codeWith({ 'src/app.ts': one }),
      await codeWith({ 'src/app.ts': one, ...made }),
      await codeWith({ 'src/app.ts': two, ...made }),
      await codeWith(all),
      await codeWith({ ...all, 'b.txt': 'b2\n' }),
    ]);
  },
);

slowTest(
  'a report’s tree is unchanged by a command without changes, and absent for actions without files',
  async () => {
    await turn(project, 'One', edit('b.txt', 'b', 'c'), command('true'), '### READ\n- **Resource:** b.txt\n');
    const [first, second, third] = await treesOf();
    expect([first, second, third]).toEqual([await codeWith({ 'b.txt': 'c\n' }), first, undefined]);
  },
);

test('a report’s tree excludes the user’s edits during the run, and files that stay out of the commit', async () => {
  await say(project, 'One', planOf([edit('b.txt', 'b', 'c'), create('.env', 'A=1\n'), edit('src/app.ts', '80', '81')]));
  await run(project, { approver: approver(['yes', { decision: 'yes' }, { decision: 'yes', edited: 'mine\n' }]) });
  const [first, second, third] = await treesOf();
  expect([first, second, third]).toEqual([
    await codeWith({ 'b.txt': 'c\n' }),
    first,
    await codeWith({ 'b.txt': 'c\n', 'src/app.ts': 'mine\n' }),
  ]);
});

test('a report’s tree survives a crash, except for the killed action', async () => {
  project.command.run = () => project.write({ 'made.txt': 'm\n' }).then(() => ({}));
  await say(project, 'One', planOf([edit('b.txt', 'b', 'c'), command('make'), create('c.txt', 'c\n')]));
  await runUntilKilled(project);
  await run(project, { interrupted: 'resume' });
  const [first, second, third] = await treesOf();
  expect([first, second]).toEqual([await codeWith({ 'b.txt': 'c\n' }), undefined]);
  expect(third).toBe(await codeWith({ 'b.txt': 'c\n', 'made.txt': 'm\n', 'c.txt': 'c\n' }));
});

test('edited code has git’s hash after any order of additions, removals and replacements', async () => {
  const { store } = project.repository;
  const root = (await store.readCommit(await project.tipOf('main'))).tree;
  const code = await openEditedCode(store, root);
  expect(await code.oid()).toBe(root);
  const blob = async (text: string) => ({ mode: '100644' as const, oid: await store.batch().blob(text) });
  const steps: [string, string | null][] = [
    ['lib/x/y.ts', null],
    ['lib', 'a file\n'],
    ['src/deep/er/a.ts', 'a\n'],
    ['src/deep', null],
    ['src/app.ts/below', 'x\n'],
    ['src/app.ts', 'again\n'],
    ['not/there', null],
    ['b.txt', null],
  ];
  const edits = [];
  for (const [path, text] of steps) {
    const entry = text === null ? null : await blob(text);
    await code.set(path as RepoPath, entry);
    if (edits.length % 2 === 0) await code.oid();
    edits.push({ path: path as RepoPath, entry });
  }
  let expected = root;
  for (const one of edits) {
    const batch = store.batch();
    expected = await editTree(store, batch, expected, [one]);
    await batch.flush();
  }
  expect(await code.oid()).toBe(expected);
  expect(await code.get('src/app.ts' as RepoPath)).toEqual(await blob('again\n'));
  expect(await code.get('lib/x/y.ts' as RepoPath)).toBeNull();
});

slowTest('a thousand edits hash each directory on their path once per edit', async () => {
  const { store } = project.repository;
  let read = 0;
  let entries = 0;
  const counting: typeof store = {
    ...store,
    readTree: (oid) => ((read += 1), store.readTree(oid)),
    batch: () => ({ ...store.batch(), tree: (all) => ((entries += all.length), store.batch().tree(all)) }),
  };
  const code = await openEditedCode(counting, (await store.readCommit(await project.tipOf('main'))).tree);
  const file = { mode: '100644' as const, oid: await store.batch().blob('x\n') };
  const count = async (edits: number) => {
    entries = 0;
    for (let at = 0; at < edits; at += 1) {
      await code.set(`src/dir${at % 10}/f${at % 100}` as RepoPath, file);
      await code.oid();
    }
    return entries;
  };
  await count(200);
  const [some, twice] = [await count(500), await count(1000)];
  expect(read).toBeLessThan(5);
  expect(twice).toBeLessThan(2.1 * some);
});

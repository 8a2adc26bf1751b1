/** Compares a merge's files below `.teddy/sessions` with the entries that it brings. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Oid, RepoPath } from '../../../src/names.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { editTree } from '../../../src/session/paths/edit-tree.ts';
import { findBrought } from '../../../src/workflow/verify/find-brought.ts';
import { landSession } from '../../../src/workflow/landing/land-session.ts';
import { verifySession, type VerifiedSessions } from '../../../src/workflow/verify/session.ts';
import { file, forge } from '../../support/forgery.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { create, edit, line, session, start, turn } from '../../support/turns.ts';

const dir = `.teddy/sessions/${session}`;
let project: MemoryProject;
let base: Oid;
let tip: Oid;

beforeAll(async () => {
  project = await memoryProject({ 'src/app.ts': 'const port = 80;\n' });
  base = await project.tipOf('main');
  await start(project);
  await turn(project, 'One', edit('src/app.ts', '80', '81'));
  await turn(project, 'Two', create('two.txt'));
  tip = await project.tipOf(line);
});

/** A commit with the tree of `like`, except for some files. */
async function commit(parents: Oid[], like: Oid, files: Record<string, string | null> = {}): Promise<Oid> {
  const { store } = project.repository;
  const batch = store.batch();
  const known = await store.readCommit(like);
  const edits = [];
  for (const [path, text] of Object.entries(files))
    edits.push({
      path: path as RepoPath,
      entry: text === null ? null : { mode: '100644' as const, oid: await batch.blob(text) },
    });
  const tree = edits.length === 0 ? known.tree : await editTree(store, batch, known.tree, edits);
  const made = await batch.commit({ ...known, tree, parents, message: 'Merge\n' });
  await batch.flush();
  return made;
}

async function verify(head: Oid, from = base): Promise<VerifiedSessions> {
  return verifySession(project, { target: `${from}..${head}`, all: false, fsck: false });
}

const pathsOf = ({ change }: VerifiedSessions) => change?.violations.map(({ path }) => path?.slice(dir.length + 1));
const faultsOf = ({ lines }: VerifiedSessions) => lines.flatMap(({ violations }) => violations);

describe('an honest change', () => {
  test('is a line, a merge of it, or a merge of the target into it', async () => {
    const main = await commit([base], base, { 'main.txt': 'main\n' });
    const intoMain = await commit([main, tip], tip, { 'main.txt': 'main\n' });
    const intoLine = await commit([tip, main], tip, { 'main.txt': 'main\n' });
    for (const head of [tip, intoMain, intoLine]) {
      const verified = await verify(head, main);
      expect([pathsOf(verified), faultsOf(verified), verified.lines.map((one) => one.turns)]).toEqual([[], [], [2]]);
    }
  });

  test('may leave a session out, as landing does, edit its list of files, and bring main’s own sessions along', async () => {
    const withoutTeddy = await commit([base, tip], tip, { [`${dir}/01/plan.md`]: null });
    const { store } = project.repository;
    const batch = store.batch();
    const tree = await editTree(store, batch, (await store.readCommit(tip)).tree, [
      { path: '.teddy' as RepoPath, entry: null },
    ]);
    const known = await store.readCommit(withoutTeddy);
    const dropped = await batch.commit({ ...known, tree });
    await batch.flush();
    expect(pathsOf(await verify(dropped))).toEqual([]);
    const listed = await commit([tip], tip, { [`${dir}/session.context`]: 'src/app.ts\n' });
    expect(pathsOf(await verify(listed))).toEqual([]);
    const old = await commit([base], base, { '.teddy/sessions/20250101-old/01/plan.md': 'old\n' });
    expect(pathsOf(await verify(await commit([tip, old], tip, {}), old))).toEqual([]);
    const both = { '.teddy/sessions/20250101-old/01/plan.md': 'old\n' };
    expect(pathsOf(await verify(await commit([tip, old], tip, both), old))).toEqual([]);
  });

  test('may bring two lines in one session, and each of them is verified', async () => {
    const { commit: other } = await branchSession(project, { turn: '02', switch: false });
    const { store } = project.repository;
    const files: Record<string, string | null> = {};
    for (const { path } of await store.listTree(other))
      if (path.startsWith(`${dir}/02-branch-01/`)) files[path] = await project.readAt(other, path);
    expect(Object.keys(files)).not.toHaveLength(0);
    const verified = await verify(await commit([base, tip, other], tip, files));
    expect([pathsOf(verified), faultsOf(verified)]).toEqual([[], []]);
    expect(verified.lines.map((one) => one.tip).toSorted()).toEqual([tip, other].toSorted());
  });

  test('that was landed brings no session, and none of its files', async () => {
    const landed = await landSession(project, { target: line, onto: 'main' });
    await expect(verify(landed.commit as Oid)).rejects.toMatchObject({ code: 'UNKNOWN_SESSION' });
  });
});

describe('a forged change', () => {
  const rewritten = (name: string) => ({ [`${dir}/01/${name}`]: 'rewritten\n' });
  test.each<[string, Record<string, string | null>, string[]]>([
    [
      'has another plan and report',
      { ...rewritten('plan.md'), ...rewritten('report.md') },
      ['01/plan.md', '01/report.md'],
    ],
    ['has another transcript', rewritten('transcript.jsonl'), ['01/transcript.jsonl']],
    ['has an additional turn', { [`${dir}/03/plan.md`]: 'x\n' }, ['03/plan.md']],
    ['leaves out a report', { [`${dir}/02/report.md`]: null }, ['02/report.md']],
    ['has a file outside every turn', { [`${dir}/notes.md`]: 'x\n' }, ['notes.md']],
    ['has its own session', { '.teddy/sessions/20250101-x/01/plan.md': 'x\n' }, ['']],
  ])('that %s is found in a merge, on the line and on top of it', async (_, files, paths) => {
    for (const parents of [[base, tip], [tip, base], [tip]]) {
      const found = await verify(await commit(parents, tip, files));
      const expected = paths[0] === '' ? found.change?.violations.map(() => '') : paths;
      expect(found.change?.violations.length).toBe(paths.length);
      if (paths[0] !== '') expect(pathsOf(found)).toEqual(expected);
    }
  });

  test('that brings session files without an entry is found, whatever it is called', async () => {
    const head = await commit([base], tip);
    const found = await verify(head);
    expect([found.lines, (found.change?.violations.length ?? 0) > 5]).toEqual([[], true]);
  });

  test('that hides a session’s forged line behind a genuine one has both verified', async () => {
    const evil = await forge(project, tip, { turn: '02', files: [file('evil.ts', 'evil\n')] });
    for (const parents of [
      [base, evil, tip],
      [base, tip, evil],
    ]) {
      const head = await commit(parents, tip);
      const brought = await findBrought(project, `${base}..${head}`);
      expect(brought?.lines.map((one) => one.tip).toSorted()).toEqual([evil, tip].toSorted());
      expect(faultsOf(await verify(head)).length).toBeGreaterThan(0);
    }
  });
});

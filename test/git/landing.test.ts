/** Landings on real git: git's merges, untouched files, and that suggested commands do what they claim. */
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import { archiveRef, type RefName } from '../../src/names.ts';
import { archiveSession } from '../../src/workflow/landing/archive-session.ts';
import { landSession } from '../../src/workflow/landing/land-session.ts';
import { showHistory } from '../../src/workflow/conversation/show-history.ts';
import { makeScratchRepository, openScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { create, edit, planOf, run, say, start } from '../support/turns.ts';

const shell = promisify(execFile);
const numbered = (...changes: [number, string][]) =>
  `${[...Array(12).keys()].map((at) => new Map(changes).get(at) ?? `line ${at}`).join('\n')}\n`;

let line: ScratchRepository;
let main: ScratchRepository;
let project: Project;
let session: string;
const said: string[] = [];

/** The session is worked on in the main work tree; `main` is checked out in a linked one. */
beforeAll(async () => {
  line = await makeScratchRepository({
    'a.txt': numbered(),
    'b.txt': numbered(),
    'gone.txt': 'gone\n',
    'run.sh': 'echo\n',
    'dos.txt': 'one\r\ntwo\r\n',
    '.gitattributes': '*.txt text=auto\n',
  });
  const notices = { info: () => undefined, warn: (text: string) => void said.push(text) };
  project = await openProject({ cwd: line.root, env: process.env, notices });
  session = (await start(project)).session;
  const place = await mkdtemp(join(tmpdir(), 'teddy-landing-'));
  await line.git('worktree', 'add', '--quiet', join(place, 'main'), 'main');
  main = openScratchRepository(join(place, 'main'));
});
afterAll(async () => {
  await project.repository.close();
  await rm(main.root, { recursive: true, force: true });
  await line.close();
});

async function turn(...actions: string[]): Promise<void> {
  await say(project, 'Do it', planOf(actions));
  await run(project);
}

/** Lands, and compares the line's work tree before and after: HEAD, index, stash, config and files. */
async function land(): Promise<string[]> {
  const { refs: _, ...before } = await line.fingerprint();
  const { changes } = await landSession(project, { target: session });
  const { refs: __, ...after } = await line.fingerprint();
  expect(after).toEqual(before);
  return changes.map(({ path, change }) => `${change} ${path}`);
}

test('three landings in a row, with edits on both sides, merge like git and touch nobody’s edits', async () => {
  await turn(edit('a.txt', 'line 1', 'session 1'), create('new.txt'));
  await rm(join(line.root, 'gone.txt'));
  await chmod(join(line.root, 'run.sh'), 0o755);
  await symlink('a.txt', join(line.root, 'link'));
  await line.git('add', '--all');
  await line.git('commit', '--quiet', '--message=By hand');
  await line.write('b.txt', 'an edit of mine\n');
  await line.git('stash', '--quiet');
  await line.write('b.txt', 'another edit of mine\n');
  await line.write('staged.txt', 'staged\n');
  await line.git('add', 'staged.txt');
  await main.git('mv', 'a.txt', 'renamed.txt');
  await main.git('commit', '--quiet', '--message=Renamed');
  await main.write('b.txt', 'an edit on main\n');

  expect(await land()).toEqual([
    'deleted gone.txt',
    'added link',
    'added new.txt',
    'modified renamed.txt',
    'modified run.sh',
  ]);
  expect(await main.read('renamed.txt')).toBe(numbered([1, 'session 1']));
  expect(await main.git('ls-tree', '--format=%(objectmode) %(path)', 'main')).toBe(
    [
      '100644 .gitattributes',
      '100644 b.txt',
      '100644 dos.txt',
      '120000 link',
      '100644 new.txt',
      '100644 renamed.txt',
      '100755 run.sh',
    ].join('\n'),
  );
  expect(await main.git('status', '--porcelain')).toBe(' M b.txt');
  expect(said.join('\n')).toContain(`2 files differ from the tip of teddy/${session}`);
  await line.git('reset', '--quiet', '--hard');

  await main.commit({ 'renamed.txt': numbered([1, 'session 1'], [6, 'main 6']) });
  await turn(edit('a.txt', 'line 11', 'session 11'), edit('dos.txt', 'two', 'zwei'));
  expect(await land()).toEqual(['modified dos.txt', 'modified renamed.txt']);
  await main.commit({ 'dos.txt': 'eins\r\nzwei\r\n' });
  await turn(edit('a.txt', 'line 9', 'session 9'));
  expect(await land()).toEqual(['modified renamed.txt']);
  expect(await main.read('renamed.txt')).toBe(
    numbered([1, 'session 1'], [6, 'main 6'], [9, 'session 9'], [11, 'session 11']),
  );
  expect(await main.read('b.txt')).toBe('an edit on main\n');
  expect(await line.git('rev-parse', archiveRef(`refs/heads/teddy/${session}` as RefName))).toBe(
    await line.git('rev-parse', 'HEAD'),
  );
  const trailers = await main.git('log', '--format=%(trailers:key=Teddy-Landed-From,valueonly,separator=)', 'main');
  expect(trailers.split('\n').filter((row) => row !== '')).toHaveLength(3);
});

test('a landing whose git was killed with the files written and the branch not moved is finished by the next', async () => {
  await turn(create('late.txt'));
  const before = await main.git('rev-parse', 'main');
  await land();
  await main.git('update-ref', 'refs/heads/main', before);
  expect(await main.git('diff', '--cached', '--name-only')).toBe('late.txt');
  expect(await land()).toEqual(['added late.txt']);
  expect(await main.git('status', '--porcelain')).toBe(' M b.txt');
});

test('edits in the way refuse the landing, and nothing has changed', async () => {
  await turn(edit('b.txt', 'line 1', 'session 1'));
  const before = [await main.fingerprint(), await line.fingerprint()];
  await expect(landSession(project, { target: session })).rejects.toMatchObject({
    code: 'FILES_IN_THE_WAY',
    message: expect.stringContaining('b.txt'),
  });
  expect([await main.fingerprint(), await line.fingerprint()]).toEqual(before);
});

test('the command that a conflict suggests merges by hand, and the next landing continues from there', async () => {
  await main.git('checkout', '--quiet', '--', 'b.txt');
  await main.commit({ 'b.txt': numbered([1, 'main 1']) });
  const before = [await main.fingerprint(), await line.fingerprint()];
  const error = await landSession(project, { target: session }).catch((reason: unknown) => reason as { hint: string });
  expect(error).toMatchObject({ code: 'LAND_CONFLICT', message: expect.stringContaining(': b.txt.') });
  expect([await main.fingerprint(), await line.fingerprint()]).toEqual(before);
  const pick = /`(git -C .+? cherry-pick [0-9a-f]+)`/.exec((error as { hint: string }).hint)?.[1] ?? '';
  await expect(shell('sh', ['-c', pick], { cwd: line.root })).rejects.toMatchObject({ code: 1 });
  expect(await main.git('diff', '--name-only', '--diff-filter=U')).toBe('b.txt');
  await main.write('b.txt', numbered([1, 'both 1']));
  await main.git('add', 'b.txt');
  await main.git('-c', 'core.editor=true', 'cherry-pick', '--continue');
  expect(await main.git('show', '--format=%s', '--name-only', 'main')).toBe('Do it\n\nb.txt');
  expect(await landSession(project, { target: session })).toMatchObject({ wasCutOff: true });
  await expect(landSession(project, { target: session })).rejects.toMatchObject({ code: 'NOTHING_TO_LAND' });
  await turn(edit('b.txt', 'line 8', 'session 8'));
  await land();
  expect(await main.read('b.txt')).toBe(numbered([1, 'both 1'], [8, 'session 8']));
});

test('a file whose content is missing is not landed, and neither a branch nor a file moves', async () => {
  await turn(create('damaged.txt'));
  const oid = await line.git('rev-parse', 'HEAD:damaged.txt');
  await rm(join(line.root, '.git/objects', oid.slice(0, 2), oid.slice(2)));
  const before = [await main.fingerprint(), await main.list('.')];
  await expect(landSession(project, { target: session })).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: `damaged.txt (${oid}) is missing here. Nothing was landed.`,
  });
  expect([await main.fingerprint(), await main.list('.')]).toEqual(before);
  await line.git('hash-object', '-w', 'damaged.txt');
  expect(await land()).toEqual(['added damaged.txt']);
});

test('the archive outlives the branch and a gc, and a clone with nothing else from the session finds it', async () => {
  const tip = await line.git('rev-parse', 'HEAD');
  await line.git('switch', '--quiet', '-c', 'elsewhere', 'main~1');
  expect((await archiveSession(project, session)).lines).toMatchObject([{ tip, hasLanded: true }]);
  await line.git('reflog', 'expire', '--expire=now', '--all');
  await line.git('gc', '--quiet', '--prune=now');
  const place = await mkdtemp(join(tmpdir(), 'teddy-landing-'));
  await line.git('clone', '--quiet', '--bare', line.root, place);
  await line.git('-C', place, 'fetch', '--quiet', line.root, 'refs/teddy/archive/*:refs/teddy/archive/*');
  const clone = await openProject({ cwd: place, env: process.env, notices: project.notices });
  try {
    const wish = { target: session, format: 'markdown' as const };
    expect(await showHistory(clone, wish)).toMatchObject({ commit: tip });
    expect((await showHistory(project, wish)).text).toBe((await showHistory(clone, wish)).text);
    // A bare clone lands as well: on a branch that is a few landings behind.
    const landed = await landSession(clone, { target: session, onto: 'elsewhere' });
    expect(await line.git('-C', place, 'diff', '--name-only', String(landed.commit), 'main', '--', ':!b.txt')).toBe('');
  } finally {
    await clone.repository.close();
    await rm(place, { recursive: true, force: true });
  }
});

/**
 * Leftovers of killed processes, made like those processes make them: named, left alone without `--fix`, and repaired
 * with it.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, readlink, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { NewWrite } from '../../src/ports/disk.ts';
import type { Project } from '../../src/ports/project.ts';
import { archiveRef, type RefName, type RepoPath, type SessionId, type TurnName } from '../../src/names.ts';
import { examineRepository, type Examined } from '../../src/workflow/doctor/examine-repository.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { create, planOf, run, say } from '../support/turns.ts';
import { writeLimits } from '../../src/session/settings/write-limits.ts';
import { initialState } from '../../src/write/write.ts';

let repo: ScratchRepository;
let session: SessionId;
let line: string;
let deadPid: number;
const said: string[] = [];

beforeAll(async () => {
  repo = await makeScratchRepository();
  await use(async (project) => {
    session = (await newSession(project, { name: 'add-login', switch: true })).session;
    line = `teddy/${session}`;
    await say(project, 'One', planOf([create('one.txt')]));
    await run(project);
  });
  deadPid = spawnSync('true').pid;
});
afterAll(() => repo.close());

const use = <Value>(work: (project: Project) => Promise<Value>) => withProject(repo.root, work);

async function withProject<Value>(cwd: string, work: (project: Project) => Promise<Value>): Promise<Value> {
  const notices = { info: (text: string) => said.push(text), warn: (text: string) => said.push(text) };
  const project = await openProject({ cwd, env: process.env, notices });
  try {
    return await work(project);
  } finally {
    await project.repository.close();
  }
}

const examine = (fix: boolean) => use((project) => examineRepository(project, { fix }));
const kindsOf = ({ findings }: Examined) => findings.map(({ kind, outcome }) => `${kind} ${outcome}`);
const inTeddy = (name: string) => join(repo.root, '.git', 'teddy', name);

/** Every file below the work tree, `.git` included. */
async function takePrint(below = ''): Promise<Record<string, string>> {
  const print: Record<string, string> = {};
  for (const name of (await readdir(join(repo.root, below))).toSorted()) {
    const path = join(below, name);
    const stat = await lstat(join(repo.root, path));
    if (stat.isDirectory()) Object.assign(print, { [path]: 'directory' }, await takePrint(path));
    else if (stat.isSymbolicLink()) print[path] = await readlink(join(repo.root, path));
    else {
      const bytes = await readFile(join(repo.root, path));
      print[path] = `${stat.mode} ${stat.mtimeMs} ${createHash('sha256').update(bytes).digest('hex')}`;
    }
  }
  return print;
}

/**
 * The dry run names exactly them and changes nothing; `--fix` repairs them. The next test's dry run finds that nothing
 * is left.
 */
async function expectMended(...kinds: string[]): Promise<Examined> {
  const before = await takePrint();
  expect(kindsOf(await examine(false))).toEqual(kinds.map((kind) => `${kind} left`));
  expect(await takePrint()).toEqual(before);
  const fixed = await examine(true);
  expect(kindsOf(fixed)).toEqual(kinds.map((kind) => `${kind} fixed`));
  return fixed;
}

/** `--fix` may do nothing here, and does nothing. */
async function expectLeft(...kinds: string[]): Promise<Examined> {
  const before = await takePrint();
  const fixed = await examine(true);
  expect(kindsOf(fixed)).toEqual(kinds.map((kind) => `${kind} left`));
  expect(await takePrint()).toEqual(before);
  for (const { fix, todo } of fixed.findings) expect([fix, todo]).toEqual([null, expect.stringMatching(/\S/)]);
  return fixed;
}

async function put(path: string, text: string, ageMs = 0): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  const time = new Date(Date.now() - ageMs);
  await utimes(path, time, time);
}

test('an intact session has nothing to repair, and examining it changes nothing', async () => {
  const before = await takePrint();
  const { findings, failures, seen } = await examine(false);
  expect([findings, failures]).toEqual([[], []]);
  expect(seen.join(' ')).toMatch(/1 line .*[1-9]\d* objects/);
  expect(await takePrint()).toEqual(before);
});

test('a killed publication is finished, partial files by dead processes are removed; others’ files stay', async () => {
  const outfile = join(repo.root, '.git', 'child.mjs');
  const entry = new URL('../support/publish-child.ts', import.meta.url).pathname;
  await build({ entryPoints: [entry], bundle: true, platform: 'node', format: 'esm', target: 'node20', outfile });
  await repo.git('switch', '--quiet', 'main');
  const { signal } = spawnSync(process.execPath, [outfile, repo.root, 'crash', 'ref-moved']);
  expect(signal).toBe('SIGKILL');
  expect(await repo.list('.git')).toContain('index.lock');
  await put(inTeddy(`refs-${deadPid}-gone-0123abcd.json`), '[{"ref":"refs/heads/teddy/x","new":null}]');
  await put(inTeddy('runs/discarded-0123456789abcdef/kept'), 'x');
  await put(inTeddy('write_sessions/0e0e0e0e-0e0e-4e0e-8e0e-0e0e0e0e0e0e.gone/content.txt'), 'x');
  await put(inTeddy('journal/command-0123456789abcdef.json.new-1-half'), '{', 120_000);
  await put(join(repo.root, `.git/objects/pack/tmp_pack_teddy-${deadPid}-gone-0123abcd`), 'x');
  await put(inTeddy('server.json'), '{"url":"http://127.0.0.1:1","port":1,"pid":1,"token":"x"}');
  await put(join(repo.root, `.git/info/attributes.tmp-file-${deadPid}-0123456789ab`), 'half');
  // Not teddy's, or by a running process: the tests' own parent.
  await put(inTeddy('mine/note.txt'), 'mine');
  await put(inTeddy('commands/0123456789abcdef.note'), 'of an older teddy');
  for (const name of ['capture', 'spool.kept']) await put(inTeddy(`${name}/a.json`), '{}');
  await put(inTeddy('attributes.before'), 'a -text');
  const others = [`file-${deadPid}-notes`, `file-${deadPid}-0123456789ab`, `notes.tmp-file-${deadPid}-0123456789ab`];
  for (const name of others) await put(join(repo.root, '.git/info', name), 'mine');
  await put(inTeddy(`file-${process.ppid}-0123456789ab`), 'at work');
  const { notes } = await expectMended(
    'interrupted-publication',
    'stale-ref-lock',
    ...Array<string>(5).fill('leftover'),
    'dead-server',
  );
  expect(notes).toEqual([
    expect.stringContaining('teddy/mine, and leaves it alone.'),
    expect.stringContaining('teddy/commands/0123456789abcdef.note, and leaves it alone.'),
  ]);
  expect(await readFile(inTeddy('mine/note.txt'), 'utf8')).toBe('mine');
  expect(await readFile(inTeddy(`file-${process.ppid}-0123456789ab`), 'utf8')).toBe('at work');
  expect(await repo.list('.git/info')).toEqual(expect.arrayContaining(others));
  for (const name of ['mine', 'commands']) await rm(inTeddy(name), { recursive: true });
  await rm(inTeddy(`file-${process.ppid}-0123456789ab`));
  expect(await repo.list('.git')).not.toContain('index.lock');
  await rm(outfile);
  await repo.git('reset', '--quiet', '--hard', 'HEAD~1');
  await repo.git('switch', '--quiet', line);
});

test('rules, session files and abandoned write sessions are repaired; locks, edits and resumable work are not', async () => {
  const attributes = join(repo.root, '.git/info/attributes');
  const whole = await readFile(attributes, 'utf8');
  await writeFile(attributes, `*.mine text\n${whole.replace('-ident', 'ident')}`);
  await rm(join(repo.root, `.teddy/sessions/${session}/01/plan.md`));
  await put(inTeddy(`file-${deadPid}-0123456789ab`), 'half');
  const [old, young] = ['0e0e0e0e-0e0e-4e0e-8e0e-0e0e0e0e0e01', '0e0e0e0e-0e0e-4e0e-8e0e-0e0e0e0e0e02'];
  await beginWrite(old, 'abandoned');
  await setAge(old, 7_200_000);
  await expectMended('leftover', 'attributes', 'staged-write', 'session-file');
  expect(await readFile(attributes, 'utf8')).toBe(`*.mine text\n${whole}`);
  expect(await repo.git('cat-file', '-p', `refs/teddy/keep/writes/${old}`)).toBe('abandoned');

  const report = `.teddy/sessions/${session}/01/report.md`;
  await repo.write(report, 'mine\n');
  await repo.write('.teddy/global.context', 'README.md\n');
  await beginWrite(young, 'half');
  await put(join(repo.root, '.git/index.lock'), '', 3 * 3_600_000);
  await put(join(repo.root, `.git/refs/heads/${line}.lock`), '', 5000);
  const { findings } = await expectLeft('foreign-lock', 'foreign-lock', 'staged-write', 'session-file');
  expect(findings).toMatchObject([
    { thing: join(repo.root, '.git/index.lock'), meaning: expect.stringContaining('3 h') },
    { thing: join(repo.root, `.git/refs/heads/${line}.lock`) },
    { todo: expect.stringContaining(`write recover ${young}`) },
    { todo: expect.stringContaining(`git restore --source=HEAD --staged --worktree ${report}`) },
  ]);
  for (const { thing } of findings.slice(0, 2)) await rm(thing);
  await repo.git('restore', '.teddy');
  // The next test finds this damage.
  await truncate(inTeddy(`write_sessions/${young}/state.json`), 5);
  await setAge(young, 7_200_000);
});

async function beginWrite(id: string, content: string): Promise<void> {
  await use(async (project) => {
    const state = initialState(Date.now());
    const staged = await project.writes.begin(toWrite(id), state, writeLimits);
    await staged.save(Buffer.from(content), { ...state, size: content.length, phase: 'receiving' });
    await staged.close();
  });
}

function toWrite(id: string): NewWrite {
  return {
    id,
    intent: 'try it',
    target: 'big.txt' as RepoPath,
    operation: 'create',
    root: repo.root,
    isLinked: false,
    line: { ref: `refs/heads/${line}` as RefName, session },
    base: null,
    endMarker: 'DONE',
    begunAt: new Date().toISOString(),
    hasController: true,
  };
}

async function setAge(id: string, ageMs: number): Promise<void> {
  const time = new Date(Date.now() - ageMs);
  const dir = inTeddy(`write_sessions/${id}`);
  for (const path of [...(await readdir(dir)).map((name) => join(dir, name)), dir]) await utimes(path, time, time);
}

test('a received answer is kept in its turn; a damaged one, and a damaged write session, stay', async () => {
  await use((project) => say(project, 'Two', null));
  const stage = () =>
    use(async (project): Promise<string> => {
      const id = project.ids.entryId();
      const ref = `refs/heads/${line}` as RefName;
      const told = { provider: 'openai', model: 'gpt-test', agent: 'pathfinder', recordCount: 1 };
      const staged = project.answers.begin({ id, session, turn: '02' as TurnName, ref, ...told });
      staged.add('Half an ans');
      await staged.leave();
      const [content = ''] = (await readdir(inTeddy('journal'))).filter((name) => name.endsWith('.content'));
      return inTeddy(`journal/${content}`);
    });
  const damaged = await stage();
  await truncate(damaged.replace('.content', '.json'), 9);
  const { findings } = await expectLeft('staged-answer', 'staged-write');
  expect(findings[0]?.thing).toBe(damaged);
  for (const { thing, meaning } of findings) {
    expect(meaning).toContain('damaged');
    await rm(thing.startsWith('/') ? thing : inTeddy(`write_sessions/${thing}`), { recursive: true });
  }
  await rm(damaged.replace('.content', '.json'));
  await stage();
  await expectMended('staged-answer');
  expect(await repo.read(`.teddy/sessions/${session}/02/transcript.jsonl`)).toContain('Half an ans');
});

test('missing or empty objects are named with line and file, even one that is also on main, and none is invented', async () => {
  for (const [file, isEmpty] of [
    [`.teddy/sessions/${session}/01/plan.md`, true],
    ['README.md', false],
  ] as const) {
    const oid = await repo.git('rev-parse', `HEAD:${file}`);
    const path = join(repo.root, '.git/objects', oid.slice(0, 2), oid.slice(2));
    const bytes = await readFile(path);
    await rm(path);
    if (isEmpty) await put(path, '');
    const { findings } = await expectLeft('damaged-object');
    expect(findings[0]).toMatchObject({ thing: oid, meaning: expect.stringContaining(`${file} (${oid}) of ${line}`) });
    await rm(path, { force: true });
    await writeFile(path, bytes);
  }
});

test('entries on no branch get their branch back, under its own name or the next free one', async () => {
  const tip = await repo.git('rev-parse', line);
  await use((project) => say(project, 'Two, please', planOf([create('two.txt')])));
  const lost = await repo.git('rev-parse', line);
  // The line continues without them: they are recognized by their trailers.
  await repo.git('reset', '--quiet', '--hard', tip);
  const [found] = (await expectMended('lost-entry')).findings;
  expect(found).toMatchObject({ thing: lost, meaning: expect.stringContaining('2 entries') });
  expect(await repo.git('rev-parse', `${line}--03-branch-01`)).toBe(lost);
  // The complete session.
  await repo.git('switch', '--quiet', 'main');
  await repo.git('branch', '-D', '--quiet', line, `${line}--03-branch-01`);
  await expectMended('lost-entry');
  expect(await repo.git('rev-parse', line)).toBe(lost);
  expect(await repo.git('for-each-ref', '--format=%(refname)', 'refs/heads/teddy/')).not.toContain('-branch-');
  await repo.git('switch', '--quiet', line);
});

test('lost entries are found in a bare clone, and if the reflogs are empty or missing', async () => {
  await expectFound(['clone', '--quiet', '--bare'], () => undefined);
  await expectFound(['clone', '--quiet'], (git) => git('reflog', 'expire', '--expire=now', '--all'));
  await expectFound(['clone', '--quiet'], async (_git, gitDir) => rm(join(gitDir, 'logs'), { recursive: true }));
});

/** All entries on the clone's line are lost, and then only the newest. */
async function expectFound(
  clone: string[],
  loseReflogs: (git: (...args: string[]) => unknown, gitDir: string) => unknown,
): Promise<void> {
  const at = `${repo.root}.clone`;
  const tip = await repo.git('rev-parse', line);
  const git = (...args: string[]) => repo.git('-C', at, ...args);
  try {
    await repo.git(...clone, '--branch', 'main', '--no-local', repo.root, at);
    const gitDir = await git('rev-parse', '--absolute-git-dir');
    const ref = `refs/heads/${line}`;
    await git('for-each-ref', '--format=delete %(refname)', 'refs/remotes').then(async (rows) => {
      for (const row of rows.split('\n').filter((one) => one !== '')) await git('update-ref', '-d', row.slice(7));
    });
    const mend = async () => {
      await loseReflogs(git, gitDir);
      return withProject(at, (project) => examineRepository(project, { fix: true }));
    };
    await git('update-ref', '-d', ref);
    expect(await mend()).toMatchObject({ findings: [{ kind: 'lost-entry', outcome: 'fixed' }], failures: [] });
    expect(await git('rev-parse', ref)).toBe(tip);
    await git('update-ref', ref, `${tip}~1`);
    expect(await mend()).toMatchObject({
      findings: [{ kind: 'lost-entry', thing: tip, meaning: expect.stringContaining('1 entry'), outcome: 'fixed' }],
      failures: [],
    });
    expect(await git('for-each-ref', '--points-at', tip, 'refs/heads/teddy/')).toContain(`${ref}--`);
  } finally {
    await rm(at, { recursive: true, force: true });
  }
}

test('leftovers of a preview, a rebase or an archive are not lost', async () => {
  await repo.git('update-ref', 'refs/teddy/keep/old', line);
  await repo.git('commit', '--quiet', '--amend', '--no-edit', '--reset-author');
  await repo.git('update-ref', '-d', 'refs/teddy/keep/old');
  const [base, tree] = [await repo.git('rev-parse', line), await repo.git('rev-parse', `${line}^{tree}`)];
  const message = `snapshot: 1 file\n\nTeddy-Session: ${session}\nTeddy-Entry: snapshot\nTeddy-Entry-Id: 019bf000-0000-7000-8000-00000000ffff\nTeddy-Created: 2026-01-24T10:00:00Z\nTeddy-Format: 1\n`;
  await repo.git('commit-tree', tree, '-p', base, '-m', message);
  expect(await examine(false)).toMatchObject({ findings: [] });
});

test('an ended session’s work tree is removed, unless somebody has work in it', async () => {
  await use((project) => newSession(project, { name: 'aside', switch: true, worktree: true }));
  const name = (await repo.git('branch', '--list', 'teddy/*-aside', '--format=%(refname:short)')).trim();
  const root = join(repo.root, '.git/teddy/worktrees', name.replace('teddy/', ''));
  await repo.git('update-ref', archiveRef(`refs/heads/${name}` as RefName), name);
  await writeFile(join(root, 'mine.txt'), 'mine');
  await expectLeft('ended-work-tree');
  await rm(join(root, 'mine.txt'));
  await expectMended('ended-work-tree');
  expect(await repo.list('.git/teddy/worktrees')).toEqual([]);
  // A fresh clone has no rules either, until teddy writes in it.
  await rm(join(repo.root, '.git/info/attributes'));
  expect(await examine(false)).toMatchObject({ findings: [], failures: [] });
});

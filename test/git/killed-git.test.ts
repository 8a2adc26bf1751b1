/**
 * A git that is killed in the middle of its work, or whose work another git undoes: it is rerun, or known to be undone.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, link, mkdir, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openProject } from '../../src/app.ts';
import { workTreeKind } from '../../src/git/work-trees/half-made-work-trees.ts';
import { journalIn } from '../../src/journal/journal.ts';
import type { Project } from '../../src/ports/project.ts';
import type { RefName } from '../../src/names.ts';
import { examineRepository } from '../../src/workflow/doctor/examine-repository.ts';
import { pullSessions } from '../../src/workflow/sharing/pull-sessions.ts';
import { pushSessions } from '../../src/workflow/sharing/push-sessions.ts';
import { addMemo } from '../../src/workflow/context/change-memos.ts';
import { appendWrite } from '../../src/workflow/writes/append.ts';
import { beginWrite } from '../../src/workflow/writes/begin.ts';
import { finalizeWrite } from '../../src/workflow/writes/finalize.ts';
import { runTeddy } from '../support/run-teddy.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { headOf, sessionScene } from '../support/session-scene.ts';
import { create, planOf, run, say, start } from '../support/turns.ts';

/** How long the system takes to show which git processes are running. */
const slow = vi.hoisted(() => ({ ms: 0 }));
vi.mock('../../src/git/run/living-gits.ts', async (load) => {
  const real = await load<typeof import('../../src/git/run/living-gits.ts')>();
  return { ...real, findLivingGits: async (dirs: string[]) => (await sleep(slow.ms), real.findLivingGits(dirs)) };
});

let repo: ScratchRepository;
let project: Project;

/** Teddy's git children do this in place of such a command, the first `times`; `$@` is the original command. */
async function disturb(command: string, instead: string, times: number): Promise<void> {
  const bin = join(repo.root, '.git/bin');
  await mkdir(bin, { recursive: true });
  const left = join(bin, 'left');
  await writeFile(left, 'x'.repeat(times));
  const script = `#!/bin/sh
PATH='${process.env['PATH'] ?? ''}'
case " $* " in *' ${command} '*)
  if [ -s ${left} ]; then printf %s "$(cut -c2- ${left})" > ${left}; ${instead}; fi;;
esac
exec git "$@"
`;
  await writeFile(join(bin, 'git'), script);
  await chmod(join(bin, 'git'), 0o755);
}

async function open(): Promise<void> {
  const notices = { info: () => undefined, warn: () => undefined };
  const env = { ...process.env, PATH: `${join(repo.root, '.git/bin')}:${process.env['PATH'] ?? ''}` };
  project = await openProject({ cwd: repo.root, env, notices });
}

async function locks(): Promise<string[]> {
  const all = await readdir(join(repo.root, '.git'), { recursive: true });
  return all.filter((path) => /\.lock$|^teddy\/(append|refs|lock|index|worktree)-/.test(path));
}

const files = { 'a.txt': 'A\n' };
const openStarted = sessionScene({ files, name: 'add-login' });

/** The checked-out line. */
let ref: RefName;

beforeEach(async () => {
  repo = await openStarted();
  ref = (await headOf(repo)) as RefName;
  await open();
});
afterEach(async () => {
  await project.repository.close();
  await rm(join(repo.root, '.git/bin'), { recursive: true, force: true });
  await repo.close();
});

const killed = 'kill -9 $$';

test('files from a run whose git was killed are committed by another git, in the same report', async () => {
  await say(project, 'Go', planOf([create('made.txt')]));
  await disturb('update-index --add', killed, 2);
  const { report } = await run(project);
  expect(report.run_summary).toMatchObject({ status: 'SUCCESS', error: null });
  expect(report.changes.map(({ path }) => path)).toEqual(['made.txt']);
  expect(await repo.git('show', 'HEAD:made.txt')).toBe('made.txt');
});

test.each([
  ['by a signal', killed],
  ['below a shell, which reports it', 'exit 137'],
])(
  'a git that is always killed %s leaves the run interrupted, and the next run writes its report and files',
  async (_, instead) => {
    await say(project, 'Go', planOf([create('made.txt')]));
    await disturb('update-index --add', instead, 100);
    await expect(run(project)).rejects.toMatchObject({ code: 'GIT_FAILED' });
    expect(await repo.git('log', '-1', '--format=%(trailers:key=Teddy-Entry,valueonly,separator=)')).toBe('plan');
    await expect(say(project, 'More', null)).rejects.toMatchObject({ code: 'RUN_INTERRUPTED' });

    await disturb('update-index --add', instead, 0);
    const { report } = await run(project, { interrupted: 'resume' });
    expect(report.run_summary.status).toBe('SUCCESS');
    expect(report.changes.map(({ path }) => path)).toEqual(['made.txt']);
  },
);

test('an actual refusal by git is reported as before', async () => {
  await say(project, 'Go', planOf([create('made.txt')]));
  await disturb('update-index --add', "echo 'fatal: the filter has failed' >&2; exit 128", 100);
  const { report } = await run(project);
  expect(report.run_summary).toMatchObject({
    status: 'FAILURE',
    error: expect.stringContaining('the filter has failed'),
  });
  expect(report.changes).toEqual([]);
});

test('the locks of a git that was killed while moving a branch are removed before the retry', async () => {
  const dir = join(repo.root, '.git');
  // git leaves these locks: for a HEAD without a commit yet, and for the branch.
  await disturb('update-ref -m', `: > ${dir}/${ref}.lock; : > ${dir}/HEAD.lock; ${killed}`, 1);
  await say(project, 'Go', planOf([create('made.txt')]));
  expect(await locks()).toEqual([]);
  expect(await repo.git('log', '-1', '--format=%(trailers:key=Teddy-Entry,valueonly,separator=)')).toBe('plan');
});

test('a killed teddy’s lock is removed beside git processes without locks, but not beside one that may hold it', async () => {
  const lock = `${join(repo.root, '.git', ref)}.lock`;
  const { pid } = spawnSync('true');
  const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  const leave = async () => {
    const updates = [{ ref, new: await repo.git('rev-parse', 'HEAD') }];
    await repo.write(`.git/teddy/refs-${pid}-${bootId}-0123abcd.json`, JSON.stringify(updates));
    await writeFile(lock, '');
  };
  slow.ms = 1_100;
  await leave();
  await project.repository.workspace?.repair();
  expect(await locks()).toEqual([]);
  slow.ms = 0;
  const reader = spawn('git', ['cat-file', '--batch'], { cwd: repo.root });
  await leave();
  await project.repository.workspace?.repair();
  expect(await locks()).toEqual([]);
  reader.stdin.end();

  // It waits for its input, like a transaction that somebody keeps open.
  const other = spawn('git', ['update-ref', '--stdin'], { cwd: repo.root });
  await leave();
  await project.repository.workspace?.repair();
  expect(await locks()).toHaveLength(2);
  const ended = once(other, 'close');
  other.stdin.end();
  await ended;
  await project.repository.workspace?.repair();
  expect(await locks()).toEqual([]);
});

test('an earlier lock, or one with foreign content, stays when a git is killed', async () => {
  const lock = `${join(repo.root, '.git', ref)}.lock`;
  await disturb('update-ref -m', killed, 1);
  await writeFile(lock, '');
  // By more than a clock of files moves in one step.
  const before = new Date(Date.now() - 1000);
  await utimes(lock, before, before);
  await expect(say(project, 'Go', null)).rejects.toMatchObject({ code: 'LOCKED' });
  await rm(lock);
  await disturb('update-ref -m', `echo ${'1'.repeat(40)} > ${lock}; ${killed}`, 1);
  await expect(say(project, 'Go', null)).rejects.toMatchObject({ code: 'LOCKED' });
  expect(await locks()).toEqual([lock.slice(lock.indexOf('.git/') + 5)]);
  await rm(lock);
});

test.each([
  ['a message', () => say(project, 'Go', null)],
  ['a new session', () => start(project, 'another')],
  ['a memo', () => addMemo(project, 'Use tabs')],
  ['a setting', () => project.repository.changeSetting('local', 'teddy.model', 'm')],
])(
  'if every git is killed as soon as it holds a lock, the next command after %s removes the locks',
  async (what, act) => {
    const dir = join(repo.root, '.git');
    const today = new Date().toISOString().slice(0, 10).replaceAll('-', '');
    const made = `: > ${dir}/refs/heads/teddy/${today}-another.lock`;
    const branch = what === 'a memo' ? 'refs/heads/teddy/global' : ref;
    const moved = `: > ${dir}/${branch}.lock${what === 'a memo' ? '' : `; : > ${dir}/HEAD.lock`}`;
    await disturb('update-ref', `${what === 'a new session' ? made : moved}; ${killed}`, 1000);
    const config = join(repo.root, '.git/bin/git');
    const script = await readFile(config, 'utf8');
    await writeFile(
      config,
      script.replace(
        'exec git',
        `case " $* " in *' --replace-all '*) (set -C; : > ${dir}/config.lock) && ${killed};; esac\nexec git`,
      ),
    );
    await expect(act()).rejects.toMatchObject({ code: 'GIT_FAILED' });
    await rm(join(repo.root, '.git/bin/git'));
    await act();
    expect(await locks()).toEqual([]);
  },
);

test('locks that a surviving process could not settle are settled by another one', async () => {
  const lock = join(repo.root, '.git/HEAD.lock');
  await disturb('update-ref', `: > ${lock}; ${killed}`, 1000);
  await expect(say(project, 'Go', null)).rejects.toMatchObject({ code: 'GIT_FAILED' });
  await expect(project.repository.changeSetting('local', 'teddy.model', 'm')).resolves.toBe(true);
  await expect(start(project, 'another')).rejects.toMatchObject({ code: 'GIT_FAILED' });
  expect(await locks()).not.toEqual([]);
  await rm(join(repo.root, '.git/bin/git'));
  // This process survives.
  expect((await runTeddy(['session', 'new', 'other'], { cwd: repo.root, asProcess: true })).exitCode).toBe(0);
  expect(await locks()).toEqual([]);
});

/** Leaves the files of a git that was killed while it wrote the second one and held HEAD's lock. */
const tornSwitch = `for last; do :; done
  : > .git/HEAD.lock
  for file in $(git ls-tree -r --name-only $last | grep -v '^a.txt$' | head -2); do
    mkdir -p $(dirname $file); git cat-file blob $last:$file | head -c 9 > $file
  done
  ${killed}`;

async function openFresh(): Promise<void> {
  await project.repository.close();
  await rm(repo.root, { recursive: true });
  repo = await makeScratchRepository(files);
  await open();
}

test('a git that is killed while switching to a new session leaves no file and no lock, and is retried', async () => {
  await openFresh();
  await disturb('switch --quiet', tornSwitch, 2);
  const { ref } = await start(project, 'fresh');
  expect(await repo.git('symbolic-ref', 'HEAD')).toBe(ref);
  expect(await repo.git('status', '--porcelain', '--untracked-files=all')).toBe('');
  expect(await locks()).toEqual([]);

  await repo.git('switch', '--quiet', 'main');
  await disturb('switch --quiet', tornSwitch, 100);
  await expect(start(project, 'never')).rejects.toMatchObject({ code: 'GIT_FAILED' });
  expect(await repo.list('.')).toEqual(['.git', 'a.txt']);
  expect(await locks()).toEqual([]);
});

test('a git that has switched to a new session, but reports a failure, counts as successful', async () => {
  await openFresh();
  await disturb('switch --quiet', 'git "$@"; exit 1', 100);
  expect(await repo.git('status', '--porcelain')).toBe('');
  expect(await locks()).toEqual([]);
});

test('a user’s file that was in the way of a killed switch stays, whatever its content', async () => {
  await repo.commit({ 'b.txt': 'B of the line\n' });
  await repo.git('switch', '--quiet', 'main');
  await repo.write('b.txt', 'B of the line\n');
  await disturb('switch --quiet', killed, 100);
  await expect(project.repository.workspace?.switchTo(ref)).rejects.toMatchObject({ code: 'GIT_FAILED' });
  expect(await repo.read('b.txt')).toBe('B of the line\n');
});

test('a file with the switch’s own content stays when the switch is killed, and the next one ignores it', async () => {
  await repo.commit({ 'b.txt': 'B of the line\n', 'c.txt': 'C of the line\n' });
  await repo.git('switch', '--quiet', 'main');
  await repo.write('b.txt', 'B of the line\n');
  const before = await repo.fingerprint();
  const isLeft = 'git ls-files --error-unmatch b.txt >/dev/null 2>&1';
  await disturb('switch --quiet', `if ${isLeft}; then printf 'C of' > c.txt; ${killed}; fi`, 100);
  await expect(project.repository.workspace?.switchTo(ref)).rejects.toMatchObject({ code: 'GIT_FAILED' });
  expect(await repo.fingerprint()).toEqual(before);
  expect(await locks()).toEqual([]);
  await disturb('switch --quiet', ':', 0);
  await project.repository.workspace?.switchTo(ref);
  expect(await repo.git('status', '--porcelain')).toBe('');
});

/** Leaves the files of a git that was killed as it began to write the repository's place. */
const halfMade = (place: string) => `d=.git/worktrees/$(basename ${place})
  mkdir -p $d; echo initializing > $d/locked; : > $d/commondir; echo ${place}/.git > $d/gitdir
  echo "gitdir: $PWD/$d" > ${place}/.git`;

test('a git that is killed while making a work tree leaves nothing of it, and is retried', async () => {
  await repo.git('switch', '--quiet', 'main');
  await disturb('worktree add', `for a; do place=$last; last=$a; done\n${halfMade('$place')}\n${killed}`, 2);
  const root = await project.repository.addWorkTree(ref);
  expect(await repo.git('-C', root, 'symbolic-ref', 'HEAD')).toBe(ref);
  expect(await repo.list('.git/worktrees')).toEqual([basename(root)]);
  expect(await locks()).toEqual([]);
});

test('a killed teddy’s half-made work tree is removed when the next command meets it', async () => {
  await repo.git('switch', '--quiet', 'main');
  const place = join(repo.root, '.git/teddy/worktrees/half');
  await mkdir(place, { recursive: true });
  execFileSync('sh', ['-c', halfMade(place)], { cwd: repo.root });
  await (await journalIn({ dir: join(repo.root, '.git/teddy/journal') }).open(workTreeKind, { place })).leave();
  // git itself fails there.
  expect(await repo.gitSucceeds('worktree', 'list')).toBe(false);
  expect(await project.repository.linkedWorkTrees()).toEqual([]);
  expect(await repo.list('.git/worktrees')).toEqual([]);
  expect(await repo.list('.git/teddy/worktrees')).toEqual([]);
  expect(await locks()).toEqual([]);
  expect(await project.repository.addWorkTree(ref)).toContain('add-login');
});

/** The index lock by a killed teddy, and its note. */
async function leaveIndexLock(ref: RefName, checkout?: { from: string; to: string }): Promise<void> {
  const { pid } = spawnSync('true');
  const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
  const [oid, none] = [await repo.git('rev-parse', 'HEAD'), '0'.repeat(40)];
  const dead = { ref, old: checkout === undefined ? oid : null, new: none, pid, bootId, nonce: '0123abcd', checkout };
  await repo.write('.git/teddy/lock-0123abcd', '');
  await link(join(repo.root, '.git/teddy/lock-0123abcd'), join(repo.root, '.git/index.lock'));
  await repo.write(`.git/teddy/append-${pid}-${bootId}-0123abcd.json`, JSON.stringify(dead));
}

test('a file is written although a killed teddy has left its lock on the index', async () => {
  const wish = { intent: 'A guide', target: 'guide.txt', operation: 'create', hasController: false } as const;
  const { record } = await beginWrite(project, wish);
  await appendWrite(project, { id: record.id, bytes: new TextEncoder().encode('Read it.\n') });
  await leaveIndexLock(ref);
  expect(await finalizeWrite(project, { id: record.id })).toMatchObject({ isWritten: true });
  expect(await repo.git('show', 'HEAD:guide.txt')).toBe('Read it.');
  expect(await locks()).toEqual([]);
});

test('a switch that was killed with its git is undone, so that git can switch', async () => {
  await repo.commit({ 'b.txt': 'B of the line\n' });
  const to = await repo.git('rev-parse', ref);
  await repo.git('switch', '--quiet', 'main');
  const from = await repo.git('rev-parse', 'HEAD');
  await leaveIndexLock(ref, { from, to });
  // Files that git writes are younger than the note.
  await sleep(50);
  await repo.write('b.txt', 'B of');
  await writeFile(join(repo.root, '.git/HEAD.lock'), `ref: ${ref}`);
  await project.repository.workspace?.repair();
  expect(await repo.git('symbolic-ref', 'HEAD')).toBe('refs/heads/main');
  await repo.git('switch', '--quiet', ref.replace('refs/heads/', ''));
  expect(await repo.git('status', '--porcelain')).toBe('');
  expect(await locks()).toEqual([]);
});

/** The lines that git reads make the locks that it would hold by then. */
function lockAll(pattern: string): string {
  const lock = `path=${join(repo.root, '.git')}/$ref.lock; mkdir -p "$(dirname "$path")"; printf %s "$oid" > "$path"`;
  return `while IFS=' :' read -r ${pattern}; do case "$ref" in refs/*) ${lock};; esac; done; ${killed}`;
}

/** `origin` has the line as well. */
async function share(): Promise<void> {
  const origin = join(repo.root, '.git/origin.git');
  await repo.git('clone', '--quiet', '--bare', repo.root, origin);
  await repo.git('remote', 'add', 'origin', origin);
  await project.repository.close();
  await open();
}

const sharing = { all: true, signal: new AbortController().signal };

test('a killed fetch’s locks are removed, and the next fetch accepts the line', async () => {
  await share();
  await repo.git('switch', '--quiet', 'main');
  await repo.git('update-ref', '-d', ref);
  const pull = () => pullSessions(project, sharing);
  await disturb('fetch --progress', lockAll('oid ref'), 100);
  await expect(pull()).rejects.toMatchObject({ code: 'REMOTE_UNREACHABLE' });
  expect(await locks()).toEqual([]);
  await disturb('fetch --progress', lockAll('oid ref'), 1);
  expect((await pull()).lines.map((line) => line.ref)).toContain(ref);
});

test('a line that loses a commit to another git after each fetch is finally fetched completely', async () => {
  await share();
  await say(project, 'Go', planOf([create('made.txt')]));
  await pushSessions(project, sharing);
  const commit = await repo.git('rev-parse', `${ref}^`);
  const object = join(repo.root, '.git/objects', commit.slice(0, 2), commit.slice(2));
  await repo.git('switch', '--quiet', 'main');
  await repo.git('update-ref', '-d', ref);
  await repo.git('update-ref', '-d', ref.replace('heads', 'remotes/origin'));
  // It exists while the second fetch asks for it.
  const kept = join(repo.root, '.git/kept');
  await disturb('fetch --progress', `mv ${kept} ${object}; git "$@"; mv ${object} ${kept}; exit 0`, 2);
  const { lines } = await pullSessions(project, sharing);
  expect(lines.find((one) => one.ref === ref)).toMatchObject({ did: ['made'], problem: null });
  await repo.fsck();
  expect(await repo.git('for-each-ref', 'refs/teddy/quarantine')).toBe('');
});

test('a fetch that relied on an object which another git drops is retried', async () => {
  await share();
  await repo.git('switch', '--quiet', 'main');
  await repo.git('update-ref', '-d', ref);
  const words = `fatal: bad object ${'1'.repeat(40)}\nerror: ${repo.root} did not send all necessary objects`;
  await disturb('fetch --progress', `echo '${words}' >&2; exit 1`, 1);
  expect((await pullSessions(project, sharing)).lines.map((line) => line.ref)).toContain(ref);
  await disturb('fetch --progress', `echo '${words}' >&2; exit 1`, 100);
  await repo.git('update-ref', '-d', ref);
  await expect(pullSessions(project, sharing)).rejects.toMatchObject({ code: 'REMOTE_UNREACHABLE' });
});

test('a repack at the moment when a fetch makes its refs drops no fetched object', async () => {
  await share();
  await say(project, 'Go', planOf([create('made.txt')]));
  await pushSessions(project, sharing);
  await repo.git('switch', '--quiet', 'main');
  for (const one of [ref, ref.replace('heads', 'remotes/origin')]) await repo.git('update-ref', '-d', one);
  await repo.git('reflog', 'expire', '--expire=now', '--all');
  await repo.git('gc', '--quiet', '--prune=now');
  await repo.git('config', 'fetch.unpackLimit', '1');
  const hooks = join(repo.root, '.git/repacks');
  const hook = join(hooks, 'reference-transaction');
  await mkdir(hooks);
  const repack = 'echo once >>.git/prepared; git -c core.hooksPath=/dev/null repack -adq';
  await writeFile(hook, `#!/bin/sh\n[ "$1" != prepared ] || { ${repack}; }\n`);
  await chmod(hook, 0o755);
  const withHooks = `for a do shift; [ "$a" != core.hooksPath=/dev/null ] || a=core.hooksPath=${hooks}; set -- "$@" "$a"; done`;
  await disturb('fetch --progress', withHooks, 100);
  const { lines } = await pullSessions(project, sharing);
  expect(lines.find((one) => one.ref === ref)).toMatchObject({ did: ['made'], problem: null });
  expect(await repo.read('.git/prepared')).toBe('once\n');
  await repo.fsck();
});

test('the locks of a push that was killed while moving tracking branches are removed, and it counts as done', async () => {
  await share();
  await say(project, 'Go', planOf([create('made.txt')]));
  const lock = join(repo.root, '.git', `${ref.replace('heads', 'remotes/origin')}.lock`);
  await disturb('push --progress', `git "$@"; git rev-parse ${ref} >${lock}; ${killed}`, 1);
  const { lines } = await pushSessions(project, sharing);
  expect(lines.find((one) => one.ref === ref)?.did).toEqual(['pushed']);
  expect(await locks()).toEqual([]);
  const tip = await repo.git('rev-parse', ref);
  expect(await repo.git('ls-remote', 'origin', ref)).toBe(`${tip}\t${ref}`);
  expect(await repo.git('rev-parse', ref.replace('heads', 'remotes/origin'))).toBe(tip);
});

test('the locks of a git that was killed while doctor asked it for locks are removed', async () => {
  await disturb('update-ref --stdin', lockAll('verb ref oid'), 1);
  await examineRepository(project, { fix: false });
  expect(await locks()).toEqual([]);
});

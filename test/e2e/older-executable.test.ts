/** Two executables work in one repository: this one, and that of the last commit before operations had a journal of their own. */
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { buildCommit, hasCommit } from '../support/build-commit.ts';
import { makeDyingGit } from '../support/dying-git.ts';
import { gitBytes } from '../support/git-process.ts';
import { endGroup, killChat, killRun, waitHere } from '../support/interrupted-run.ts';
import type { ServerAnswer } from '../support/model-server.ts';
import { startWithOpenStdin } from '../support/open-stdin.ts';
import { teddyPath, type RunOptions, type RunningTeddy, type RunResult } from '../support/run-teddy.ts';
import { executeAction, openTeddyProject, planOf, type TeddyProject } from '../support/teddy-project.ts';

/** All notes but those of runs, writes and locks came into the journal after it. */
const olderCommit = 'c09dc1579566717bc5110307fa3d744e66adc003';
const root = fileURLToPath(new URL('../..', import.meta.url));
const isThere = hasCommit(root, olderCommit);
const paths = { 'the older one': '', 'this one': teddyPath };
type Executable = keyof typeof paths;
const pairs: [Executable, Executable][] = [
  ['the older one', 'this one'],
  ['this one', 'the older one'],
];

let directory: string;
let project: TeddyProject;
/** A scene of each is made once, and tests begin with copies of it. */
const begun = new Map<Executable, TeddyProject>();

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'teddy-older-'));
  if (isThere) paths['the older one'] = buildCommit(root, olderCommit, join(directory, 'older'));
});
afterAll(async () => {
  for (const scene of begun.values()) await scene.close();
  await rm(directory, { recursive: true });
});

beforeEach(({ skip }) => skip(!isThere, `this clone, which may be shallow, lacks the commit ${olderCommit}`));

function start(by: Executable, args: string[], options: Partial<RunOptions> = {}): RunningTeddy {
  return project.start(args, { ...options, executable: paths[by] });
}

function run(by: Executable, args: string[], stdin: string | Uint8Array = ''): Promise<RunResult> {
  return start(by, args, { stdin }).result;
}

/** Expects exit code 0; its stdout. */
async function succeed(by: Executable, args: string[], stdin: string | Uint8Array = ''): Promise<string> {
  const result = await run(by, args, stdin);
  expect(result, `${by}: teddy ${args.join(' ')}`).toMatchObject({ exitCode: 0 });
  return result.stdout;
}

/** Expects this error, and that nothing in the repository has changed; its stderr. */
async function refuse(by: Executable, code: string, args: string[]): Promise<string> {
  const before = await project.repo.fingerprint();
  const { exitCode, stderr } = await run(by, args);
  expect({ exitCode, stderr }, `${by}: teddy ${args.join(' ')}`).toEqual({
    exitCode: 3,
    stderr: expect.stringContaining(`[${code}]`) as string,
  });
  expect(await project.repo.fingerprint()).toEqual(before);
  return stderr;
}

/** A project in which HEAD is on a session that this executable has begun, and the session's id. */
async function open(by: Executable, answers: ServerAnswer[] = []): Promise<string> {
  let scene = begun.get(by);
  if (scene === undefined) {
    begun.set(by, (scene = project = await openTeddyProject()));
    await succeed(by, ['session', 'new', 'shared']);
  }
  project = await openTeddyProject({ scene, answers });
  onTestFinished(() => project.close());
  await mkdir(join(project.repo.root, '.git/x'));
  return (await project.repo.git('branch', '--show-current')).replace('teddy/', '');
}

/** A pending plan that runs the script, and adds a word to a file outside of the work tree. */
async function plan(by: Executable, script: string): Promise<void> {
  const answer = planOf(executeAction(`echo once >> .git/x/runs; echo half > half.txt; ${script}`));
  await succeed(by, ['session', 'plan', '-m', 'Do it', '--from', '-'], answer);
}

const runs = () => project.repo.read('.git/x/runs');
const execute = ['session', 'execute', '-y'];

test.each(pairs)(
  'while %s executes a plan, %s executes it neither then nor afterwards, and its script runs once',
  async (one, other) => {
    await open(one);
    await project.repo.write('.git/x/wait', '');
    await plan(one, 'echo "it runs"; while [ -e .git/x/wait ]; do sleep 0.02; done');
    const running = start(one, execute);
    await running.waitForOutput(/it runs\n/);
    await refuse(other, 'LOCKED', execute);
    await rm(join(project.repo.root, '.git/x/wait'));
    expect(await running.result).toMatchObject({ exitCode: 0 });
    await refuse(other, 'NO_PENDING_PLAN', execute);
    expect(await runs()).toBe('once\n');
    expect(await project.repo.list('.git/teddy/runs')).toEqual([]);
  },
);

test('of both, started at once on one plan, one executes it, and the other is told that it is taken', async () => {
  await open('this one');
  for (const [round, order] of [pairs, pairs.toReversed()].entries()) {
    await plan('this one', `echo ${round} > round.txt`);
    const ended = await Promise.all(order.map(([by]) => run(by, execute)));
    const [won, lost] = ended.toSorted((a, b) => a.exitCode - b.exitCode);
    expect(won).toMatchObject({ exitCode: 0 });
    expect(lost).toMatchObject({ exitCode: 3, stderr: expect.stringMatching(/\[(?:LOCKED|NO_PENDING_PLAN)\]/) });
    expect(await runs()).toBe('once\n'.repeat(round + 1));
  }
});

test.each([
  ['the older one', 'this one', 'resume'],
  ['the older one', 'this one', 'rollback'],
  ['this one', 'the older one', 'keep'],
  ['this one', 'the older one', 'rollback'],
] as const)(
  'a run that was killed with %s is refused and then ended by %s with --interrupted=%s, and its script is not run again',
  async (one, other, choice) => {
    await open(one);
    await plan(one, waitHere);
    const group = await killRun({ ...project, start: (args, options) => start(one, args, options) });
    const end = ['session', 'execute', ...(choice === 'resume' ? ['-y'] : []), `--interrupted=${choice}`];
    expect(await refuse(other, 'LOCKED', end)).toContain(`process group ${group}`);
    await endGroup(group);
    await refuse(other, 'RUN_INTERRUPTED', execute);
    // The action that was interrupted is reported as failed, and with it the run.
    expect(await run(other, end)).toMatchObject({ exitCode: choice === 'resume' ? 1 : 0 });
    await refuse(one, choice === 'rollback' ? 'NO_INTERRUPTED_RUN' : 'NO_PENDING_PLAN', end);
    expect(await runs()).toBe('once\n');
    expect(await project.repo.list('.git/teddy/runs')).toEqual([]);
    expect((await project.repo.list('.')).includes('half.txt')).toBe(choice !== 'rollback');
    expect(await project.repo.git('status', '--porcelain')).toBe('');
  },
);

const create = ['--operation', 'create', '--target'];
const beginWrite = (target: string) => ['write', 'begin', '--intent', 'Try it', ...create, target];

test.each(pairs)(
  'a write that %s has begun keeps the line from other writes, and %s lists it, fills it and commits it once, byte for byte',
  async (one, other) => {
    const session = await open(one);
    const count = async () => Number(await project.repo.git('rev-list', '--count', 'HEAD'));
    const before = await count();
    const bytes = Buffer.from('# Guide\r\n\n\tné, 日本\nand no last newline');
    const cut = bytes.indexOf('é') + 1;
    const id = (await succeed(one, beginWrite('docs/guide.md'))).trim();
    expect(await succeed(one, ['write', 'append', id], bytes.subarray(0, cut))).toBe(`${cut}\n`);
    const listed = JSON.parse(await succeed(other, ['write', 'list', '--json'])) as { sessions: object[] };
    expect(listed.sessions).toMatchObject([
      { session_id: id, status: 'active', target_file: 'docs/guide.md', size: cut },
    ]);
    await refuse(other, 'WRITE_ACTIVE', beginWrite('other.md'));
    const added = await succeed(other, ['write', 'append', id, '--offset', String(cut)], bytes.subarray(cut));
    expect(added).toBe(`${bytes.length}\n`);
    await succeed(other, ['write', 'finalize', id]);
    expect(gitBytes(project.repo.root, ['cat-file', 'blob', `teddy/${session}:docs/guide.md`])).toEqual(bytes);
    expect(await count()).toBe(before + 1);
    expect(await project.repo.git('status', '--porcelain')).toBe('');
  },
);

test.each(pairs)(
  'a stream of %s is left alone by %s while it lives, and taken up by it once it was killed',
  async (one, other) => {
    const session = await open(one);
    const { child, said, result } = startWithOpenStdin(project, ['write', 'stream', ...create, 'a.txt'], paths[one]);
    child.stdin.write('one\n');
    await expect.poll(said, { interval: 10 }).toContain('reply DONE');
    const id = /Write session (\S+)\./.exec(said())?.[1] ?? '';
    const goOn = ['write', 'recover', id, '--continue'];
    await refuse(other, 'WRITE_ACTIVE', beginWrite('b.txt'));
    await refuse(other, 'LOCKED', goOn);
    child.kill('SIGKILL');
    expect(await result).toMatchObject({ signal: 'SIGKILL' });
    await succeed(other, goOn, 'two\nDONE\n');
    expect(await project.repo.git('show', `teddy/${session}:a.txt`)).toBe('one\ntwo');
    expect(await project.subjects()).toHaveLength(3);
  },
);

const say = (id: string) => ['session', 'say', '--id', id, '-m', `This is ${id}`];

/** Repeats what was refused because another one was faster, as the error says. */
async function sayAtLast(by: Executable, id: string): Promise<void> {
  for (;;) {
    const result = await run(by, say(id));
    if (result.exitCode === 0) return;
    expect(result).toMatchObject({ exitCode: 3, stderr: expect.stringMatching(/\[(?:REF_MOVED|LOCKED)\]/) });
  }
}

/** Their ids, in the order of the transcript. */
async function listSaid(session: string): Promise<string[]> {
  const text = await project.repo.read(`.teddy/sessions/${session}/01/transcript.jsonl`);
  const rows = text.trim().split('\n');
  return rows.map((row) => (JSON.parse(row) as { id: string }).id);
}

async function listLocks(): Promise<string[]> {
  const names = await readdir(join(project.repo.root, '.git'), { recursive: true });
  return names.filter((name) => name.endsWith('.lock')).toSorted();
}

test('what both say in one session at the same time is there once, and no lock is left', async () => {
  const session = await open('the older one');
  const sayAll = async (by: Executable, writer: string) => {
    const ids = [1, 2, 3].map((number) => `${writer}-${number}`);
    for (const id of ids) await sayAtLast(by, id);
    return ids;
  };
  const writers = ['a', 'b'].flatMap((name) => pairs.map(([by]) => sayAll(by, `${by.replaceAll(' ', '-')}-${name}`)));
  const ids = (await Promise.all(writers)).flat();
  const said = await listSaid(session);
  expect(said.toSorted()).toEqual(ids.toSorted());
  // Neither has come only after the other was done.
  const speakers = said.map((id) => id.startsWith('this'));
  expect(speakers.filter((isThis, at) => isThis !== speakers[at - 1]).length).toBeGreaterThan(2);
  expect(await listLocks()).toEqual([]);
  expect(await project.repo.git('status', '--porcelain')).toBe('');
});

test.each(pairs)(
  'after %s was killed with its git, before and after the line moved, %s goes on, and no lock is removed by hand',
  async (one, other) => {
    const session = await open(one);
    const refLocks = ['HEAD.lock', `refs/heads/teddy/${session}.lock`];
    for (const moment of ['prepared', 'committed'] as const) {
      const hasMoved = moment === 'committed';
      const tip = await project.repo.git('rev-parse', 'HEAD');
      const env = await makeDyingGit(project.repo, moment);
      expect(await start(one, say(moment), { env }).result).toMatchObject({ signal: 'SIGKILL', stdout: '' });
      expect(await listLocks()).toEqual([...(hasMoved ? [] : refLocks), 'index.lock'].toSorted());
      expect((await project.repo.git('rev-parse', 'HEAD')) !== tip).toBe(hasMoved);
      await succeed(other, say(`after-${moment}`));
      expect(await listLocks()).toEqual([]);
      expect(await project.repo.git('status', '--porcelain')).toBe('');
    }
    expect(await listSaid(session)).toEqual(['after-prepared', 'committed', 'after-committed']);
  },
);

test('a command of a conversation that was killed with this one is left alone by the doctor of the older one, and this one settles it', async () => {
  const memos = '.teddy/memos.yaml';
  const command = `printf -- '- "evil fact"\n' > ${memos}; ${waitHere}`;
  await open('this one', [{ text: '', toolCalls: [{ name: 'run_command', arguments: JSON.stringify({ command }) }] }]);
  await endGroup(await killChat(project, '-m', 'Do it'));
  const left = await project.repo.list('.git/teddy/journal');
  expect(left).toContainEqual(expect.stringMatching(/^command-/));
  const examined = await succeed('the older one', ['doctor', '--fix']);
  expect(examined).toContain(`${join(project.repo.root, '.git/teddy/journal')} is none of teddy's files`);
  expect(await project.repo.list('.git/teddy/journal')).toEqual(left);
  const { stderr } = await run('this one', say('after'));
  expect(stderr).toContain(`changed ${memos}. Commands may not change .teddy/`);
  expect(await project.repo.read(memos)).toBe('');
  expect(await project.repo.list('.git/teddy/journal')).toEqual([]);
});

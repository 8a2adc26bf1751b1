/** After a SIGKILL at any step of a publication, the next process finishes or reverts it. */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fileExists } from '../../src/disk/replace-file.ts';
import { openRepository } from '../../src/git/repository.ts';
import { publicationOf } from '../support/publication.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let scratch: string;
let repo: ScratchRepository;
let base: string;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'teddy-crash-'));
  const entry = new URL('../support/publish-child.ts', import.meta.url).pathname;
  const outfile = join(scratch, 'child.mjs');
  await build({ entryPoints: [entry], bundle: true, platform: 'node', format: 'esm', target: 'node20', outfile });
  repo = await makeScratchRepository({
    'a.txt': 'a\n',
    'gone.txt': 'g\n',
    'mine.txt': 'm\n',
    '.teddy/sessions/x/01/old.md': 'old\n',
  });
  base = await repo.git('rev-parse', 'HEAD');
});
afterAll(async () => {
  await repo.close();
  await rm(scratch, { recursive: true, force: true });
});
beforeEach(async () => {
  for (const lock of ['index.lock', 'HEAD.lock', 'refs/heads/main.lock']) await rm(inGit(lock), { force: true });
  await rm(inGit('teddy'), { recursive: true, force: true });
  await repo.git('reset', '--quiet', '--hard', base);
  await repo.git('clean', '-fdqx');
});

const inGit = (name: string) => join(repo.root, '.git', name);
const exists = (name: string) =>
  stat(inGit(name)).then(
    () => true,
    () => false,
  );
const records = async () =>
  (await readdir(inGit('teddy')).catch(() => [])).filter((name) => name.startsWith('append-'));

function startChild(...args: string[]) {
  const child = spawn(process.execPath, [join(scratch, 'child.mjs'), repo.root, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  const ended = new Promise<{ stdout: string; signal: string | null }>((resolve) =>
    child.on('close', (_, signal) => resolve({ stdout, signal })),
  );
  const held = new Promise<void>((resolve) => child.stdout.once('data', () => resolve()));
  return { child, ended, held };
}

async function crashAt(step: string): Promise<void> {
  expect((await startChild('crash', step).ended).signal).toBe('SIGKILL');
}

async function repair(): Promise<string[]> {
  const repository = await openRepository({ cwd: repo.root, env: process.env });
  try {
    return (await repository.workspace?.repair()) ?? [];
  } finally {
    await repository.close();
  }
}

async function expectWhole(): Promise<void> {
  expect(await repo.git('diff', '--cached', '--name-only')).toBe('');
  expect(await repo.git('status', '--porcelain', '--', '.teddy')).toBe('');
  expect(await exists('index.lock')).toBe(false);
  expect(await readdir(inGit('teddy')).catch(() => [])).toEqual([]);
}

describe.each([
  ['record', 'old', []],
  ['lock', 'old', ['undone']],
  ['index', 'old', ['undone']],
  ['ref', 'old', ['undone']],
  ['ref-moved', 'new', ['finished']],
  ['index-installed', 'new', ['finished']],
  ['unlocked', 'new', ['finished']],
  ['files-written', 'new', ['finished']],
  ['done', 'new', []],
])('killed before the step %s', (step, tip, outcome) => {
  test(`the line is at its ${tip} tip, with index and files that match`, async () => {
    await crashAt(step);
    const said = await repair();
    expect(said.map((line) => /undone|finished/.exec(line)?.[0])).toEqual(outcome);
    expect((await repo.git('rev-parse', 'HEAD')) === base).toBe(tip === 'old');
    await expectWhole();
    expect(await repair()).toEqual([]);
    const again = await openRepository({ cwd: repo.root, env: process.env });
    if (tip === 'old') expect(await again.workspace?.publish(await publicationOf(again))).toBe('done');
    await again.close();
  });
});

test('a file that the system does not let us inspect is not taken for a deleted one', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'teddy-loop-'));
  await symlink('loop', join(dir, 'loop'));
  await expect(fileExists(join(dir, 'loop'))).rejects.toMatchObject({ code: 'WRITE_FAILED' });
  expect(await fileExists(join(dir, 'none'))).toBe(false);
  await rm(dir, { recursive: true });
});

test('a user’s staged changes survive if the user has removed the lock', async () => {
  await crashAt('ref-moved');
  await rm(inGit('index.lock'));
  await repo.write('mine.txt', 'staged by hand\n');
  await repo.write('a.txt', 'also by hand\n');
  await repo.git('add', 'mine.txt', 'a.txt');
  expect(await repair()).toHaveLength(1);
  expect(await repo.git('diff', '--cached', '--name-status')).toBe('M\ta.txt\nM\tmine.txt');
  expect(await repo.git('show', ':a.txt')).toBe('also by hand');
  expect(await repo.git('status', '--porcelain', '--', '.teddy')).toBe('');
});

test('project settings, which the user may have edited since, are neither written nor removed', async () => {
  await repo.commit({ '.teddy/config.yaml': 'maxTurns: 5\n' });
  await crashAt('ref-moved');
  await repo.write('.teddy/config.yaml', 'maxTurns: 6\n');
  expect(await repair()).toHaveLength(1);
  expect(await repo.read('.teddy/config.yaml')).toBe('maxTurns: 6\n');
  expect(await repo.git('status', '--porcelain', '--', '.teddy')).toBe('?? .teddy/config.yaml');
});

test('of several processes that start after a crash, exactly one repairs it', async () => {
  for (const step of ['ref-moved', 'ref']) {
    await crashAt(step);
    const ended = await Promise.all([1, 2, 3, 4].map(() => startChild('repair').ended));
    expect(ended.flatMap(({ stdout }) => JSON.parse(stdout) as string[])).toHaveLength(1);
    await expectWhole();
  }
});

test('a living process is left alone, with its record and its lock', async () => {
  const { child, ended, held } = startChild('hold', 'ref');
  await held;
  const [before, lock] = [await records(), await stat(inGit('index.lock'))];
  expect(before).toHaveLength(1);
  expect(await repair()).toEqual([]);
  expect(await records()).toEqual(before);
  expect((await stat(inGit('index.lock'))).ino).toBe(lock.ino);
  child.kill('SIGKILL');
  await ended;
  expect(await repair()).toHaveLength(1);
  await expectWhole();
});

test('this process’s own work is not taken for a crash', async () => {
  const other = await openRepository({ cwd: repo.root, env: process.env });
  const said: string[][] = [];
  const publication = await publicationOf(other);
  const publishing = other.workspace?.publish(publication);
  for (let round = 0; round < 5; round += 1) said.push(await repair());
  expect(await publishing).toBe('done');
  expect(said.flat()).toEqual([]);
  await other.close();
});

test('a record from before a restart belongs to a dead process, even if its number is in use', async () => {
  await crashAt('ref-moved');
  const [name = ''] = await records();
  await rename(
    inGit(`teddy/${name}`),
    inGit(`teddy/${name.replace(/^append-\d+-[0-9a-f-]{36}/, 'append-1-another-boot')}`),
  );
  expect(await repair()).toHaveLength(1);
  await expectWhole();
});

test('a killed snapshot’s private index is removed, a running one’s stays', async () => {
  await mkdir(inGit('teddy'), { recursive: true });
  const { child, ended } = startChild('crash', 'record');
  await ended;
  await writeFile(inGit(`teddy/snapshot-${child.pid}-0a1b2c3d`), '');
  await writeFile(inGit(`teddy/snapshot-${process.ppid}-0a1b2c3d`), '');
  expect(await repair()).toEqual([]);
  expect(await readdir(inGit('teddy'))).toEqual([`snapshot-${process.ppid}-0a1b2c3d`]);
});

test('two consecutive crashes are both repaired', async () => {
  await crashAt('lock');
  await crashAt('ref');
  expect(await records()).toHaveLength(2);
  expect(await repair()).toHaveLength(2);
  await expectWhole();
});

test.each(['lock', 'files-written'])(
  'a foreign lock beside a record that died at %s is never removed',
  async (step) => {
    await crashAt(step);
    await writeFile(inGit('index.lock'), 'foreign');
    await repair();
    expect(await readFile(inGit('index.lock'), 'utf8')).toBe('foreign');
  },
);

test('a foreign lock in place of ours stops the repair until it is removed', async () => {
  await crashAt('ref-moved');
  await rm(inGit('index.lock'));
  await writeFile(inGit('index.lock'), 'foreign');
  await expect(repair()).rejects.toMatchObject({ code: 'LOCKED' });
  expect(await readFile(inGit('index.lock'), 'utf8')).toBe('foreign');
  await rm(inGit('index.lock'));
  expect(await repair()).toHaveLength(1);
  await expectWhole();
});

test("a lock that reuses our inode, after the claim was moved, is somebody else's", async () => {
  await crashAt('unlocked');
  const [claim = ''] = (await readdir(inGit('teddy'))).filter((name) => name.startsWith('lock-'));
  // A removed file's inode is often the next one to be reused.
  await rename(inGit(`teddy/${claim}`), inGit('index.lock'));
  await repair();
  expect(await exists('index.lock')).toBe(true);
});

test('the locks that git leaves when it dies with us are removed, others stay', async () => {
  await crashAt('ref');
  const [name = ''] = await records();
  const record = JSON.parse(await readFile(inGit(`teddy/${name}`), 'utf8')) as { new: string };
  await writeFile(inGit('refs/heads/main.lock'), `${record.new}\n`);
  await writeFile(inGit('HEAD.lock'), '');
  expect(await repair()).toHaveLength(1);
  expect([await exists('refs/heads/main.lock'), await exists('HEAD.lock')]).toEqual([false, false]);

  await crashAt('ref');
  await writeFile(inGit('refs/heads/main.lock'), `${base}\n`);
  await writeFile(inGit('HEAD.lock'), 'ref: refs/heads/other\n');
  expect(await repair()).toHaveLength(1);
  expect([await exists('refs/heads/main.lock'), await exists('HEAD.lock')]).toEqual([true, true]);
});

/** The long-lived reader: any object, in order, while the repository changes underneath. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DamagedObjectError } from '../../src/errors.ts';
import { objectReader, type ObjectReader } from '../../src/git/objects/object-reader.ts';
import { openRepository } from '../../src/git/repository.ts';
import { gitRunner, toChildEnvironment, type GitRunner } from '../../src/git/run/run.ts';
import { walkChanges } from '../../src/git/history/walk-changes.ts';
import type { Repository } from '../../src/ports/git.ts';
import type { Oid } from '../../src/names.ts';
import { path } from '../support/disk.ts';
import { gitText } from '../support/git-process.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let repo: ScratchRepository;
let repository: Repository;
let reader: ObjectReader;
let head: Oid;

const childrenOfOurs = () =>
  readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      try {
        const [, state, parent] = /\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        return Number(parent) === process.pid ? [{ state, command: readFileSync(`/proc/${pid}/cmdline`, 'utf8') }] : [];
      } catch {
        return [];
      }
    })
    .filter(({ command, state }) => command.includes('cat-file') || state === 'Z');

beforeAll(async () => {
  repo = await makeScratchRepository({ 'a.txt': 'A\n', 'dir/b.txt': 'B\n', 'line\nbreak/c\n.txt': 'C\n' });
  repository = await openRepository({ cwd: repo.root, env: process.env });
  reader = objectReader(gitRunner(repo.root, toChildEnvironment(process.env)));
  head = (await repo.git('rev-parse', 'HEAD')) as Oid;
});
afterAll(async () => {
  await reader.close();
  await repository.close();
  await repo.close();
});

describe('names', () => {
  test('a missing, ambiguous or invalid name is null, and the answers after it are right', async () => {
    const absent = 'f'.repeat(40);
    const names = [absent, `${head}:nothing`, 'no such branch', '', '  ', '-x', `${absent} blob 5`, 'a\0b', `${head}:`];
    const answers = await Promise.all([...names, head].map((name) => reader.info(name)));
    expect(answers.slice(0, -2)).toEqual(names.slice(0, -1).map(() => null));
    expect(answers.at(-2)?.type).toBe('tree');
    expect(answers.at(-1)).toMatchObject({ oid: head, type: 'commit' });
  });

  test('an abbreviation for several objects is null', async () => {
    const seen = new Map<string, string>();
    for (let at = 0; ; at += 1) {
      const oid = createHash('sha1')
        .update(`blob ${String(at).length}\0${at}`)
        .digest('hex');
      const twin = seen.get(oid.slice(0, 4));
      seen.set(oid.slice(0, 4), String(at));
      if (twin === undefined) continue;
      for (const input of [twin, String(at)]) gitText(repo.root, ['hash-object', '-w', '--stdin'], { input });
      expect(await reader.info(oid.slice(0, 4))).toBeNull();
      expect((await reader.info(oid))?.oid).toBe(oid);
      return;
    }
  });

  test('a newline in a path is part of the name', async () => {
    const found = await repository.store.readFile(head, path('line\nbreak/c\n.txt'));
    expect(Buffer.from(found?.bytes ?? []).toString()).toBe('C\n');
    expect(await repository.store.readFile(head, path('line\nbreak/none'))).toBeNull();
    expect((await repository.store.readDir(head, path('line\nbreak')))?.entries.map(({ name }) => name)).toEqual([
      'c\n.txt',
    ]);
    expect(await repository.store.resolve('a\nb')).toBeNull();
    expect(await repository.store.resolve('--all\n')).toBeNull();
  });
});

test('a missing object, or one of another type, is damage that is named', async () => {
  const { store } = repository;
  await expect(store.readBlob(head)).rejects.toMatchObject({
    code: 'DAMAGED_SESSION',
    message: expect.stringMatching(/is a commit, not a blob/) as string,
  });
  await expect(store.readCommit('e'.repeat(40) as Oid)).rejects.toMatchObject({ code: 'DAMAGED_SESSION' });
  expect(await store.readFile(head, path('dir'))).toBeNull();
  expect(await store.readDir(head, path('a.txt'))).toBeNull();
  expect(await store.readSize('e'.repeat(40) as Oid)).toBeNull();
});

test('20 MiB come back whole, between small ones', async () => {
  const bytes = Buffer.alloc(20 * 1024 * 1024, 'teddy\n');
  const batch = repository.store.batch();
  const oid = await batch.blob(bytes);
  await batch.flush();
  const [before, large, after] = await Promise.all(
    [`${head}:a.txt`, oid, `${head}:dir/b.txt`].map((name) => reader.contents(name)),
  );
  expect(large?.bytes.equals(bytes)).toBe(true);
  expect([before?.bytes.toString(), after?.bytes.toString()]).toEqual(['A\n', 'B\n']);
});

test('20 MiB are passed on in pieces, without keeping them, between small ones', async () => {
  const bytes = Buffer.alloc(20 * 1024 * 1024, 'teddy\n');
  const batch = repository.store.batch();
  const [oid, empty] = await Promise.all([batch.blob(bytes), batch.blob('')]);
  await batch.flush();
  const pieces: Buffer[] = [];
  const names = [`${head}:a.txt`, oid, empty, `${head}:dir/b.txt`];
  const take = (piece: Uint8Array) => void pieces.push(Buffer.from(piece));
  const [before, large, none, after] = await Promise.all(
    names.map((name) => reader.contents(name, name === oid || name === empty ? take : undefined)),
  );
  expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(1_000_000);
  expect([large?.size, large?.bytes.length, none?.size, none?.bytes.length]).toEqual([bytes.length, 0, 0, 0]);
  expect([before?.bytes.toString(), after?.bytes.toString()]).toEqual(['A\n', 'B\n']);
  await expect(repository.store.streamBlob('e'.repeat(40) as Oid, take)).rejects.toMatchObject({
    code: 'DAMAGED_SESSION',
  });
});

test('a child that is interrupted while streaming an object is not asked again: no piece comes twice', async () => {
  const git = gitRunner(repo.root, toChildEnvironment(process.env));
  const half = `printf '%s blob 10\\nhalf' ${head}; sleep 0.2; kill -INT $$`;
  const other = objectReader({ ...git, start: () => spawn('sh', ['-c', half], { stdio: 'pipe' }) });
  const pieces: string[] = [];
  await expect(other.contents(head, (piece) => pieces.push(String(piece)))).rejects.toMatchObject({
    code: 'GIT_FAILED',
  });
  expect(pieces).toEqual(['half']);
  await other.close();
});

test('hundreds of simultaneous queries are answered in order, even while git packs the repository', async () => {
  const batch = repository.store.batch();
  const oids = await Promise.all(Array.from({ length: 300 }, (_, at) => batch.blob(`text ${at}\n`.repeat(at))));
  await batch.flush();
  const tree = await batch.tree(oids.map((oid, at) => ({ mode: '100644', name: `${at}`, oid })));
  await batch.flush();
  await repo.git('tag', 'all', tree);
  const packing = repo.git('gc', '--quiet', '--prune=now');
  const ask = () => Promise.all(oids.flatMap((oid) => [reader.contents(oid), reader.info(oid)]));
  const during = await ask();
  await packing;
  for (const answers of [during, await ask()]) {
    expect(answers.map((answer) => answer?.oid)).toEqual(oids.flatMap((oid) => [oid, oid]));
    expect(answers.map((answer) => answer?.size)).toEqual(
      oids.flatMap((_, at) => [`text ${at}\n`.repeat(at).length, `text ${at}\n`.repeat(at).length]),
    );
  }
});

test('a ref that moves is seen at its new place, loose or packed', async () => {
  await repo.git('branch', 'moving');
  expect(await repository.store.resolve('refs/heads/moving')).toBe(head);
  await repo.git('pack-refs', '--all');
  const next = await repo.git('commit-tree', `${head}^{tree}`, '-p', head, '-m', 'next');
  await repo.git('update-ref', 'refs/heads/moving', next);
  expect(await repository.store.resolve('refs/heads/moving')).toBe(next);
  await repo.git('pack-refs', '--all');
  expect(await repository.store.resolve('refs/heads/moving')).toBe(next);
});

test('a damaged object fails the query instead of leaving it open', async () => {
  const oid = gitText(repo.root, ['hash-object', '-w', '--stdin'], { input: 'soon damaged' });
  const file = `${repo.root}/.git/objects/${oid.slice(0, 2)}/${oid.slice(2)}`;
  await chmod(file, 0o644);
  await writeFile(file, 'x\x9cdamaged');
  const answers = await Promise.allSettled([reader.contents(oid), reader.contents(oid)]);
  for (const answer of answers) {
    const outcome = answer.status === 'rejected' ? (answer.reason as { code: string }).code : answer.value;
    expect(['GIT_FAILED', null]).toContain(outcome);
  }
  expect((await reader.info(head))?.oid).toBe(head);
  await rm(file, { force: true });
});

test('a child that dies fails its queries, with its message', async () => {
  const git = gitRunner(repo.root, toChildEnvironment(process.env));
  const dying = () => spawn('sh', ['-c', 'echo out of luck >&2; exit 3'], { stdio: 'pipe' });
  const other = objectReader({ ...git, start: dying });
  await expect(other.info(head)).rejects.toMatchObject({
    code: 'GIT_FAILED',
    message: expect.stringMatching(/out of luck/) as string,
  });
});

test('a walk that git cannot finish fails instead of ending early', async () => {
  const walk = async () => {
    for await (const _ of repository.store.firstParents(head, ['d'.repeat(40) as Oid])) void _;
  };
  await expect(walk()).rejects.toMatchObject({ code: 'GIT_FAILED' });
  for await (const { oid } of repository.store.firstParents(head, [])) expect(oid).toBe(head);
});

test('a git that lacks an object is restarted twice before the object counts as missing', async () => {
  const bin = await realpath(await mkdtemp(join(tmpdir(), 'teddy-missing-')));
  const counter = join(bin, 'count');
  const script = `#!/bin/sh
echo >> '${counter}'
[ "$(wc -l < '${counter}')" -gt "$FAILURES" ] && exec '${gitText(repo.root, ['--exec-path']).trim()}/git' "$@"
echo "fatal: bad object ${head}" >&2
exit 128
`;
  await writeFile(join(bin, 'git'), script, { mode: 0o755 });
  const runWith = async (failures: number, read: (git: GitRunner) => Promise<unknown>) => {
    await rm(counter, { force: true });
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH']}`, FAILURES: String(failures) };
    const outcome = await read(gitRunner(repo.root, toChildEnvironment(env))).catch((error: Error) => error);
    return { outcome, starts: (await readFile(counter, 'utf8')).length };
  };
  const readText = (git: GitRunner) => git.text(['rev-list', head]);
  const readLines = async (git: GitRunner) => {
    let text = '';
    for await (const line of git.lines(['rev-list', head])) text += line;
    return text;
  };
  for (const read of [readText, readLines]) {
    for (const failures of [1, 2])
      expect(await runWith(failures, read)).toEqual({ outcome: head, starts: failures + 1 });
    const failed = await runWith(5, read);
    expect(failed).toEqual({ outcome: expect.any(DamagedObjectError) as Error, starts: 3 });
  }
  // A command that moves something is not run twice.
  expect((await runWith(1, (git) => git.text(['update-ref', 'refs/heads/x', head]))).starts).toBe(1);
  await rm(bin, { recursive: true, force: true });
});

// Last: it closes what the others use.
test('closing ends the child, answers open queries, and leaves no zombie; later queries are refused', async () => {
  const other = objectReader(gitRunner(repo.root, toChildEnvironment(process.env)));
  const asked = other.info(head);
  await Promise.all([other.close(), asked]);
  expect((await asked)?.oid).toBe(head);
  await expect(other.info(head)).rejects.toMatchObject({ code: 'GIT_FAILED' });
  await Promise.all([other.close(), reader.close(), repository.close()]);
  expect(childrenOfOurs()).toEqual([]);
});

describe('an object that one git does not find', () => {
  /** The first children lack the repository's objects, like one that has not seen the newest pack. */
  async function withBlindChildren(blind: number, use: (one: ObjectReader, starts: () => number) => Promise<void>) {
    const empty = await makeScratchRepository({}, { firstCommit: false });
    const [git, other] = [repo, empty].map(({ root }) => gitRunner(root, toChildEnvironment(process.env)));
    let starts = 0;
    const start = (args: string[]) => ((starts += 1) <= blind ? other : git)?.start(args);
    const one = objectReader({ ...git, start } as GitRunner);
    await use(one, () => starts).finally(() => one.close());
    await empty.close();
  }

  test.each([0, 1, 2, 3])('in a walk is requested from others, of which the first %i lack it too', async (blind) => {
    const empty = await makeScratchRepository({}, { firstCommit: false });
    const [git, other] = [repo, empty].map(({ root }) => gitRunner(root, toChildEnvironment(process.env)));
    const tips: string[] = [];
    for (const name of ['a', 'b', 'c']) tips.push(await repo.commit({ [`walked-${blind}.txt`]: name }));
    let starts = 0;
    const start = (args: string[]) => ((starts += 1) <= blind ? other : git)?.start(args);
    const { store, close } = await openRepository({ cwd: repo.root, env: process.env });
    const walk = async () => {
      const walked: Oid[] = [];
      for await (const { oid } of walkChanges({ ...git, start } as GitRunner, store, tips[2] as Oid, [head]))
        walked.push(oid);
      return walked;
    };
    if (blind < 3) expect((await walk()).slice(-3)).toEqual(tips);
    else await expect(walk()).rejects.toBeInstanceOf(DamagedObjectError);
    expect(starts).toBe(Math.min(blind + 1, 3));
    await Promise.all([close(), empty.close()]);
  });

  test('in the middle of a walk is requested from another git, and nothing is reported twice', async () => {
    const tips: string[] = [];
    for (const name of ['a', 'b', 'c']) tips.push(await repo.commit({ 'middle.txt': name }));
    const git = gitRunner(repo.root, toChildEnvironment(process.env));
    let starts = 0;
    const start = (args: string[]) =>
      (starts += 1) > 1
        ? git.start(args)
        : spawn('sh', ['-c', `sed '2s/^......../00000000/' | git "$@"`, 'sh', ...args], {
            cwd: repo.root,
            stdio: 'pipe',
          });
    const { store, close } = await openRepository({ cwd: repo.root, env: process.env });
    const walked: [oid: Oid, paths: string[]][] = [];
    const base = (await store.resolve(`${tips[0]}^`)) as Oid;
    for await (const { oid, changes } of walkChanges({ ...git, start }, store, tips[2] as Oid, [base]))
      walked.push([oid, changes.map((change) => change.path)]);
    expect(walked).toEqual(tips.map((oid) => [oid, ['middle.txt']]));
    expect(starts).toBe(2);
    await close();
  });

  test('is requested from another git, which has the newest packs', async () => {
    await withBlindChildren(1, async (one, starts) => {
      expect(await one.info(head)).toMatchObject({ oid: head, type: 'commit' });
      expect(starts()).toBe(2);
    });
  });

  test('is found by its path too, and a missing path is requested once', async () => {
    const row = `160000 commit ${'d'.repeat(40)}\tvendored\n`;
    const withSubmodule = gitText(repo.root, ['mktree'], {
      input: `${row}${await repo.git('ls-tree', head)}\n`,
    }).trim();
    await withBlindChildren(1, async (one, starts) => {
      expect((await one.contents(`${head}:dir/b.txt`))?.type).toBe('blob');
      expect(starts()).toBe(2);
      const names = ['none', 'none/of/these', 'a.txt/x', 'vendored'].map((path) => `${withSubmodule}:${path}`);
      expect(await Promise.all(names.map((name) => one.info(name)))).toEqual([null, null, null, null]);
      expect(starts()).toBe(2);
    });
  });

  test('counts as missing if none finds it, and many missing ones do not cost a child each', async () => {
    await withBlindChildren(1_000, async (one, starts) => {
      const oids = Array.from({ length: 50 }, (_, at) => createHash('sha1').update(`${at}`).digest('hex'));
      for (const oid of oids) expect(await one.info(oid)).toBeNull();
      expect(starts()).toBeLessThanOrEqual(33);
    });
  });
});

/**
 * A key at the terminal reaches every process in its group, including a child that was just forked and is not git yet.
 */
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { objectReader } from '../../src/git/objects/object-reader.ts';
import { isPassing } from '../../src/git/remotes/remote-errors.ts';
import { updateRefs } from '../../src/git/refs/refs.ts';
import { gitRunner, toChildEnvironment, type GitRunner } from '../../src/git/run/run.ts';
import type { Oid, RefName } from '../../src/names.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let repo: ScratchRepository;
let git: GitRunner;
let head: Oid;

/** A git that dies from `signal` before it has begun, the first `times`. */
function interruptStarts(signal: string, times = 1): Promise<void> {
  return disturbStarts(`kill -${signal} $$; sleep 5`, times);
}

/** A git that does this instead of its work, the first `times`. */
async function disturbStarts(instead: string, times: number): Promise<void> {
  const bin = join(repo.root, '.git/bin');
  await mkdir(bin);
  const left = join(bin, 'left');
  await writeFile(left, 'x'.repeat(times));
  const script = `#!/bin/sh
if [ -s ${left} ]; then printf %s "$(cut -c2- ${left})" > ${left}; ${instead}; fi
PATH=${process.env['PATH'] ?? ''} exec git "$@"
`;
  await writeFile(join(bin, 'git'), script);
  await chmod(join(bin, 'git'), 0o755);
  const env = { ...process.env, PATH: `${bin}:${process.env['PATH'] ?? ''}` };
  git = gitRunner(repo.root, toChildEnvironment(env));
}

beforeEach(async () => {
  repo = await makeScratchRepository({ 'a.txt': 'A\n' });
  head = (await repo.git('rev-parse', 'HEAD')) as Oid;
});
afterEach(async () => {
  await rm(join(repo.root, '.git/bin'), { recursive: true, force: true });
  await repo.close();
});

test.each(['INT', 'HUP'])('a command that SIG%s ends before it began is still run', async (signal) => {
  await interruptStarts(signal, 2);
  expect(await git.text(['rev-parse', 'HEAD'])).toBe(head);
});

test('lines are still read from a command that was ended before it began', async () => {
  await interruptStarts('INT');
  const lines: string[] = [];
  for await (const line of git.lines(['log', '--format=%H'])) lines.push(line);
  expect(lines).toEqual([head]);
});

test('a ref still moves, once', async () => {
  await interruptStarts('INT');
  const update = { ref: 'refs/heads/made' as RefName, old: null, new: head };
  expect(await updateRefs(git, [update], 'made', () => Promise.resolve())).toBe('done');
  expect(await repo.git('reflog', 'made')).toMatch(/^[0-9a-f]+ made@\{0\}: made$/);
});

test('the reader still answers its queries, in order', async () => {
  await interruptStarts('INT');
  const reader = objectReader(git);
  const asked = ['HEAD', 'HEAD:a.txt', 'nothing'].map((name) => reader.contents(name));
  const [commit, blob, none] = await Promise.all(asked);
  expect([commit?.oid, blob?.bytes.toString(), none]).toEqual([head, 'A\n', null]);
  await reader.close();
});

test('a git that always ends this way is an error, and not restarted forever', async () => {
  await interruptStarts('INT', 100);
  await expect(git.text(['rev-parse', 'HEAD'])).rejects.toMatchObject({ code: 'GIT_FAILED' });
  const reader = objectReader(git);
  await expect(reader.contents('HEAD')).rejects.toMatchObject({ code: 'GIT_FAILED' });
  await reader.close();
});

test('a git whose object folder a `git gc` removes is rerun', async () => {
  // The messages and the exit code of git 2.39, as observed.
  const words = 'error: unable to create temporary file: No such file or directory';
  await disturbStarts(`echo '${words}' >&2; echo 'fatal: git-write-tree: error building trees' >&2; exit 128`, 3);
  expect(await git.text(['write-tree'])).toBe(await repo.git('rev-parse', 'HEAD^{tree}'));
  expect(isPassing({ said: [words, 'fatal: unpack-objects failed'] })).toBe(true);
});

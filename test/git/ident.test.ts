/** The author and committer are those that git itself would use. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openRepository } from '../../src/git/repository.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let repo: ScratchRepository;

beforeAll(async () => {
  repo = await makeScratchRepository();
});
afterAll(() => repo.close());

async function identWith(env: NodeJS.ProcessEnv = {}) {
  const repository = await openRepository({ cwd: repo.root, env: { ...process.env, ...env } });
  try {
    return await repository.store.ident();
  } finally {
    await repository.close();
  }
}

const nameOf = (ident: string) => ident.replace(/ \d+ [+-]\d{4}$/, '');

test('without other settings both are the user', async () => {
  const { author, committer } = await identWith();
  expect(nameOf(author)).toBe(nameOf(await repo.git('var', 'GIT_AUTHOR_IDENT')));
  expect(author).toBe(committer);
});

test.each([
  ['Ada Example', 'ada@example.org'],
  ['Zoë "Z" Ångström (home)', 'zoë@bücher.example'],
  [' Ada, Jr. ', '<ada@example.org>'],
  ["'Ada'", 'ada@example.org.'],
  ['Ada <Countess>', 'ada @ example'],
  ['true', 'x'],
])('a name and an address are cleaned like git does: %j %j', async (name, email) => {
  await repo.git('config', 'user.name', name);
  await repo.git('config', 'user.email', email);
  const theirs = await repo.git('var', 'GIT_COMMITTER_IDENT');
  expect((await identWith()).committer.replace(/ \d+ /, ' ')).toBe(theirs.replace(/ \d+ /, ' '));
  expect((await identWith({ TZ: 'Asia/Kathmandu' })).committer).toMatch(/ \+0545$/);
  await repo.git('config', '--unset', 'user.name');
  await repo.git('config', '--unset', 'user.email');
});

test('an author from the environment is not the committer', async () => {
  const { author, committer } = await identWith({ GIT_AUTHOR_NAME: 'Grace', GIT_AUTHOR_EMAIL: 'grace@example.org' });
  expect(nameOf(author)).toBe('Grace <grace@example.org>');
  expect(nameOf(committer)).not.toContain('Grace');
});

test('an author from the configuration is not the committer', async () => {
  await repo.git('config', 'author.name', 'Configured');
  const { author, committer } = await identWith();
  await repo.git('config', '--unset', 'author.name');
  expect(author).toContain('Configured <');
  expect(committer).not.toContain('Configured');
});

test('a date that the user has set is kept', async () => {
  const { author, committer } = await identWith({ GIT_AUTHOR_DATE: '1000000000 +0200' });
  expect(author).toMatch(/ 1000000000 \+0200$/);
  expect(committer).not.toContain('1000000000');
});

test('a git that fails for a reason other than a missing name is not reported as lacking one', async () => {
  const bin = await mkdtemp(join(tmpdir(), 'teddy-git-'));
  const failing = (verb: string, end: string) =>
    writeFile(
      join(bin, 'git'),
      `#!/bin/sh\nfor word; do [ "$word" = ${verb} ] && { ${end}; }; done\nPATH=\${PATH#*:} exec git "$@"\n`,
    );
  await failing('var', 'echo "fatal: unable to read config file: Input/output error" >&2; exit 128');
  await chmod(join(bin, 'git'), 0o755);
  // With a time zone from the environment, git is asked.
  const env = { TZ: 'UTC', PATH: `${bin}${delimiter}${process.env['PATH']}` };
  await expect(identWith(env)).rejects.toMatchObject({ code: 'GIT_FAILED', hint: expect.any(String) as string });
  await rm(bin, { recursive: true });
  await repo.git('config', 'user.name', '');
  await expect(identWith()).rejects.toMatchObject({ code: 'NO_IDENTITY' });
  await repo.git('config', 'user.name', 'Ada Example');
});

/** The same history from every repository that has the commit: bare, cloned, shallow. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import { historyFormats } from '../../src/conversation/history/history.ts';
import type { Project } from '../../src/ports/project.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { showHistory } from '../../src/workflow/conversation/show-history.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { assistantSays, assistantWrites, brings, calls, userSays, writeTurns } from '../support/transcripts.ts';

const silent = { info: () => undefined, warn: () => undefined };

/** Opens the repository at `cwd`, and closes it again. */
async function inProject<Value>(cwd: string, use: (project: Project) => Promise<Value>): Promise<Value> {
  const project = await openProject({ cwd, env: process.env, notices: silent });
  try {
    return await use(project);
  } finally {
    await project.repository.close();
  }
}

/** In every format, one after the other. */
async function textAt(cwd: string, target?: string): Promise<string> {
  return inProject(cwd, async (project) => {
    const texts = [];
    for (const format of historyFormats) texts.push((await showHistory(project, { format, target })).text);
    return texts.join('---\n');
  });
}

let repo: ScratchRepository;
let elsewhere: string;
let line: string;
let session: string;
let text: string;

async function begin(objectFormat: 'sha1' | 'sha256' = 'sha1'): Promise<void> {
  repo = await makeScratchRepository({ 'README.md': '# Scratch\n' }, { objectFormat });
  await inProject(repo.root, async (project) => {
    ({ session } = await newSession(project, { name: 'talk', switch: true }));
    line = `teddy/${session}`;
    const look = [userSays('Look'), calls('c', 'read_file', { path: 'a' }), brings('c', 'A'), assistantSays('Seen.')];
    await writeTurns(project, line, {
      '01': {
        records: [userSays('Plan ünïcode\r\n'), assistantWrites('plan.md')],
        plan: '# Do it\n',
        report: 'version: 1\n',
      },
      '02': { records: look },
    });
  });
  text = await textAt(repo.root);
  expect(text).toContain('Plan ünïcode');
  expect(text).toContain('Seen.');
}

beforeEach(async () => {
  elsewhere = await realpath(await mkdtemp(join(tmpdir(), 'teddy-histories-')));
});
afterEach(async () => {
  await rm(elsewhere, { recursive: true });
  await repo.close();
});

async function clone(name: string, ...options: string[]): Promise<string> {
  const place = join(elsewhere, name);
  await repo.git('clone', '-q', ...options, `file://${repo.root}`, place);
  return place;
}

test.each(['sha1', 'sha256'] as const)(
  'a history is read from .git alone: bare, detached, without a work tree (%s)',
  async (objectFormat) => {
    await begin(objectFormat);
    expect(await textAt(await clone('bare.git', '--bare'), session)).toBe(text);
    await repo.git('checkout', '-q', '--detach');
    expect(await textAt(repo.root)).toBe(text);
    await repo.git('switch', '-q', 'main');
    expect(await textAt(repo.root, await repo.git('rev-parse', '--short', line))).toBe(text);
  },
);

test('a history is the same in a fresh clone, even for a line that only its remote has', async () => {
  await begin();
  const there = await clone('clone', '-b', 'main');
  await expect(textAt(there)).rejects.toMatchObject({ code: 'NO_OPEN_SESSION' });
  for (const target of [session, `origin/${line}`]) expect(await textAt(there, target)).toBe(text);
});

test('a history is complete in a shallow clone that ends at an entry or at a user’s commit', async () => {
  await begin();
  const cut = ['--depth', '1', '-b', line];
  expect(await textAt(await clone('entry', ...cut))).toBe(text);
  await repo.commit({ 'mine.txt': 'mine\n' }, 'My own');
  const own = await clone('own', ...cut);
  expect(await repo.git('-C', own, 'rev-list', '--count', 'HEAD')).toBe('1');
  for (const target of [undefined, line, 'HEAD']) expect(await textAt(own, target)).toBe(text);
});

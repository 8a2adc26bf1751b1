/** The same history from every repository that has the commit: bare, cloned, shallow, merged into. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import { historyFormats } from '../../src/conversation/history/history.ts';
import type { Project } from '../../src/ports/project.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { showHistory } from '../../src/workflow/conversation/show-history.ts';
import { gitText } from '../support/git-process.ts';
import { copyScratchRepository, makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
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

describe.each(['sha1', 'sha256'] as const)('a history in a repository of %s', (objectFormat) => {
  let first: ScratchRepository;
  let repo: ScratchRepository;
  let elsewhere: string;
  let line: string;
  let session: string;
  let text: string;

  beforeAll(async () => {
    first = await makeScratchRepository({ 'README.md': '# Scratch\n' }, { objectFormat });
    await inProject(first.root, async (project) => {
      const made = await newSession(project, { name: 'talk', switch: true });
      session = made.session;
      line = `teddy/${session}`;
      await writeTurns(project, line, {
        '01': {
          records: [userSays('Plan ünïcode\r\n'), assistantWrites('plan.md')],
          plan: '# Do it\n',
          report: 'version: 1\n',
        },
        '02': {
          records: [userSays('Look'), calls('c', 'read_file', { path: 'a' }), brings('c', 'A'), assistantSays('Seen.')],
        },
      });
    });
    text = await textAt(first.root);
    expect(text).toContain('Plan ünïcode');
    expect(text).toContain('Seen.');
  });
  afterAll(() => first.close());
  beforeEach(async () => {
    repo = await copyScratchRepository(first);
    elsewhere = await realpath(await mkdtemp(join(tmpdir(), 'teddy-histories-')));
  });
  afterEach(async () => {
    await rm(elsewhere, { recursive: true });
    await repo.close();
  });

  test('is read from .git alone: bare, detached, without a work tree', async () => {
    const bare = join(elsewhere, 'bare.git');
    await gitText(repo.root, ['clone', '-q', '--bare', repo.root, bare]);
    expect(await textAt(bare, session)).toBe(text);
    await repo.git('checkout', '-q', '--detach');
    expect(await textAt(repo.root)).toBe(text);
    expect(await textAt(repo.root, 'HEAD')).toBe(text);
    await repo.git('switch', '-q', 'main');
    expect(await textAt(repo.root, session)).toBe(text);
    expect(await textAt(repo.root, await repo.git('rev-parse', '--short', line))).toBe(text);
  });

  test('is the same in a fresh clone, even for a line that only its remote has', async () => {
    const clone = join(elsewhere, 'clone');
    await gitText(repo.root, ['clone', '-q', '-b', 'main', repo.root, clone]);
    await expect(textAt(clone)).rejects.toMatchObject({ code: 'NO_OPEN_SESSION' });
    expect(await textAt(clone, session)).toBe(text);
    expect(await textAt(clone, `origin/${line}`)).toBe(text);
  });

  test('is complete in a shallow clone that ends at an entry or at a user’s commit', async () => {
    const cloneOf = async (name: string) => {
      const clone = join(elsewhere, name);
      await gitText(repo.root, ['clone', '-q', '--depth', '1', '-b', line, `file://${repo.root}`, clone]);
      expect(await gitText(clone, ['rev-list', '--count', 'HEAD'])).toBe('1');
      return clone;
    };
    expect(await textAt(await cloneOf('entry'))).toBe(text);
    await repo.commit({ 'mine.txt': 'mine\n' }, 'My own');
    expect(await textAt(repo.root)).toBe(text);
    const cut = await cloneOf('own');
    expect(await textAt(cut)).toBe(text);
    expect(await textAt(cut, line)).toBe(text);
    expect(await textAt(cut, 'HEAD')).toBe(text);
  });

  test('is not changed by others’ commits and merges on the line, which bring in no other session', async () => {
    await repo.git('switch', '-q', 'main');
    const foreign = '.teddy/sessions/20200101-foreign/03/transcript.jsonl';
    await repo.commit(
      { [foreign]: '{"type":"user","id":"f","message":{"role":"user","content":"Foreign"}}\n' },
      'Foreign',
    );
    await repo.git('switch', '-q', line);
    await repo.git('merge', '-q', '--no-ff', '-m', 'Merge main', 'main');
    expect(await textAt(repo.root)).toBe(text);
    await repo.commit({ 'after.txt': 'x\n' }, 'After the merge');
    expect(await textAt(repo.root)).toBe(text);
    expect(await textAt(repo.root, 'HEAD^')).toBe(text);
    // The other way round the branch is not a line: its first parents don't include the session.
    await repo.git('switch', '-q', 'main');
    await repo.git('merge', '-q', '--no-ff', '-m', 'Merge the session', line);
    await expect(textAt(repo.root, 'HEAD')).rejects.toMatchObject({ code: 'NOT_ON_LINE' });
  });

  test('has the messages up to an earlier commit, also on a branch from there', async () => {
    const before = await repo.git('rev-parse', 'HEAD');
    await inProject(repo.root, (project) => writeTurns(project, line, { '03': { records: [userSays('More')] } }));
    expect(await textAt(repo.root)).toContain('More');
    expect(await textAt(repo.root, `${line}~1`)).toBe(text);
    expect(await textAt(repo.root, before)).toBe(text);
    await repo.git('switch', '-q', '-c', 'try-again', `${line}~1`);
    expect(await textAt(repo.root)).toBe(text);
  });
});

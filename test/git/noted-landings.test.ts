/** A forge squashes two sessions into one commit, `ci carry` notes them, and another clone reads the notes. On real git. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import { renderSessions } from '../../src/cli/render/sessions.ts';
import { renderBlame, renderWhy } from '../../src/cli/render/why.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { archiveRef, mainLineRef, type Oid, type SessionId } from '../../src/names.ts';
import type { Project } from '../../src/ports/project.ts';
import { blameFile } from '../../src/workflow/blame/blame-file.ts';
import { toBlameDocument } from '../../src/workflow/blame/document.ts';
import { explainPlace } from '../../src/workflow/blame/why.ts';
import { carrySessions } from '../../src/workflow/ci/carry.ts';
import { landSession } from '../../src/workflow/landing/land-session.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { listSessions } from '../../src/workflow/review/list-sessions.ts';
import { pullSessions } from '../../src/workflow/sharing/pull-sessions.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { edit, planOf, run, say } from '../support/turns.ts';

const { signal } = new AbortController();
const terminal = { columns: 100, style: (_: string, text: string) => text } as unknown as Terminal;
const sessions: string[] = [];
let repo: ScratchRepository;
let project: Project;
let other: Project;
let squash: Oid;

const open = (cwd: string) =>
  openProject({ cwd, env: process.env, notices: { info: () => undefined, warn: () => undefined } });

beforeAll(async () => {
  repo = await makeScratchRepository({ 'a.txt': 'a\nb\nc\nd\ne\nf\ng\nh\n' });
  project = await open(repo.root);
  const forge = join(repo.root, '.git', 'forge');
  await repo.git('init', '--quiet', '--bare', '--initial-branch=main', forge);
  await repo.git('remote', 'add', 'origin', forge);
  for (const [name, from, to] of [['one', 'b', 'x = 1'] as const, ['two', 'g', 'yes = 2'] as const]) {
    sessions.push((await newSession(project, { name, switch: true })).session);
    await say(project, `Please do ${name}`, planOf([edit('a.txt', from, to)]));
    await run(project);
    await repo.git('switch', '--quiet', 'main');
  }
  const base = await repo.commit({ 'a.txt': 'a\nb\nc\nd, meanwhile\ne\nf\ng\nh\n' }, 'Meanwhile');
  await repo.git('branch', '--quiet', 'pr');
  for (const session of sessions) await landSession(project, { target: session, onto: 'pr' });
  squash = (await repo.git('commit-tree', 'pr^{tree}', '-p', 'main', '-m', 'Squashed (#7)')).trim() as Oid;
  await repo.git('push', '--quiet', 'origin', `${squash}:refs/heads/main`, 'pr:refs/pull/7/head', 'refs/heads/teddy/*');
  await repo.git('merge', '--quiet', '--ff-only', squash);
  await carrySessions(project, { range: { base, head: squash }, remote: 'origin', signal });
  // The branches are deleted, and another person clones it.
  await repo.git('branch', '--quiet', '-D', 'pr');
  for (const session of sessions) await repo.git('push', '--quiet', 'origin', `:teddy/${session}`);
  await repo.git('clone', '--quiet', forge, join(repo.root, '.git', 'clone'));
  other = await open(join(repo.root, '.git', 'clone'));
});
afterAll(async () => {
  await project.repository.close();
  await other.repository.close();
  await rm(join(repo.root, '.git', 'clone'), { recursive: true });
  await rm(join(repo.root, '.git', 'forge'), { recursive: true });
  await repo.close();
});

/** `<text>: <session or person>` for each line of main. */
async function authors(on: Project): Promise<string[]> {
  const { runs } = await blameFile(on, { place: 'a.txt' });
  return runs.flatMap(({ texts, author }) =>
    texts.map(
      (text) => `${text}: ${author.kind === 'turn' ? `${author.session.slice(9)} ${author.turn}` : author.kind}`,
    ),
  );
}

const withoutNote = ['a', 'x = 1', 'c', 'd, meanwhile', 'e', 'f', 'yes = 2', 'h'].map((text) => `${text}: person`);

test('lines of several squashed sessions are their turns’, once pull has brought archives and notes', async () => {
  expect(await authors(other)).toEqual(withoutNote);
  const month = sessions[0]?.replace(/^(\d{4})(\d\d).*/, '$1-$2') ?? '';
  await pullSessions(other, { signal, all: true, months: [month] });
  expect((await other.repository.store.listRefs('refs/notes/')).map(({ ref }) => ref)).toEqual([
    'refs/notes/remotes/origin/teddy',
  ]);
  const told = await authors(other);
  expect([told[1], told[6]]).toEqual(['x = 1: one 01', 'yes = 2: two 01']);
  expect(told.filter((line) => line.endsWith(': person'))).toHaveLength(6);
  const blamed = await blameFile(other, { place: 'a.txt:7' });
  expect(renderBlame(terminal, blamed)).toContain(
    `turn 01 of ${sessions[1]}, a recorded answer, run by Ada Example with -y, by note\n`,
  );
  expect(toBlameDocument(blamed).runs).toMatchObject([{ kind: 'turn', byContent: false, byNote: squash }]);
  const why = await explainPlace(other, { place: 'a.txt:2' });
  expect(why.stories).toMatchObject([{ landed: { commit: squash, byNote: true } }]);
  expect(renderWhy(terminal, why)).toMatch(`Landed    ${squash.slice(0, 10)} (by note), by Ada Example on `);
});

test('a list says that a session with a branch here has landed, by note', async () => {
  const row = async () => renderSessions(terminal, await listSessions(project), Date.now());
  expect(await row()).not.toContain('landed');
  await repo.git('fetch', '--quiet', 'origin', 'refs/notes/teddy:refs/notes/teddy');
  expect((await row()).match(/ {2}landed, by note {2}/g)).toHaveLength(2);
});

test('a false note changes nothing, and neither does one that closes a cycle', async () => {
  const [one = ''] = sessions;
  const tip = (await repo.git('rev-parse', `teddy/${one}`)).trim();
  const base = (await repo.git('rev-parse', `${squash}^`)).trim();
  const note = (on: string, text: string) => repo.git('notes', '--ref=teddy', 'add', '--force', '-m', text, on);
  await note(squash, `Teddy-Landed-From: ${one}@${tip}`);
  expect((await authors(project))[1]).toBe('x = 1: person');
  // Each session's code in a commit of its own; a landing in the note leads back to the second one.
  await repo.git('switch', '--quiet', '-C', 'main', base);
  const text = await repo.read('a.txt');
  const only = await repo.commit({ 'a.txt': text.replace('b\n', 'x = 1\n') }, 'Only one');
  const both = await repo.commit(
    { 'a.txt': text.replace('b\n', 'x = 1\n').replace('g\n', 'yes = 2\n') },
    `Both, with teddy/${sessions[1]}`,
  );
  const before = await authors(project);
  expect([before[1], before[6]]).toEqual(['x = 1: person', 'yes = 2: two 01']);
  const message = `Land\n\nTeddy-Landed-From: ${sessions[1]}@${both}`;
  const back = (await repo.git('commit-tree', `${tip}^{tree}`, '-p', tip, '-m', message)).trim();
  await repo.git('branch', '--quiet', 'back', back);
  await note(only, `Teddy-Landed-From: ${one}@${back}`);
  expect(await authors(project)).toEqual(before);
  await note(only, `Teddy-Landed-From: ${one}@${tip}`);
  expect((await authors(project))[1]).toBe('x = 1: one 01');
  // No ref has the session any more, although git still has its commits.
  await repo.git('branch', '--quiet', '-D', 'back', `teddy/${one}`);
  await repo.git('update-ref', '-d', archiveRef(mainLineRef(one as SessionId)));
  expect((await authors(project))[1]).toBe('x = 1: person');
});

/** `teddy ci comment` in a job on GitLab: the note of the job's own merge request. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Oid, RefName } from '../../src/names.ts';
import { pullOf, startForgeServer, unseen, type ForgeServer } from '../support/forge-server.ts';
import { memoryRemote, type MemoryRemote } from '../support/memory-remotes.ts';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { createAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;
let head: string;
let origin: MemoryRemote;
let forge: ForgeServer;
const change = 'refs/merge-requests/7/head' as RefName;
const bot = 'project_42_bot';
const older = '1'.repeat(40);

/** A merge request lands a session; it asks for less than the target branch has asked for since. */
beforeAll(async () => {
  project = await openMemoryTeddy({ files: { 'README.md': 'one\n' } });
  const session = await project.begin('add-a');
  await project.plan(planOf(createAction('a.txt', 'A\n')), 'Add it');
  await project.ok('execute', '-y');
  const { memory } = project;
  await memory.switchTo('main');
  await memory.setRef('refs/heads/pr', await memory.tipOf('main'));
  await project.ok('land', session, '--onto', 'pr');
  await memory.switchTo('pr');
  head = await memory.commit('Ask for less\n', { '.teddy/config.yaml': 'approvals: "0"\n' });
  await memory.switchTo('main');
  await memory.commit('Ask for approvals\n', { '.teddy/config.yaml': 'approvals: others\n' });
  origin = await memoryRemote();
  memory.remotes.set('origin', origin);
  const made = { ref: 'refs/heads/main' as RefName, old: null, new: await memory.tipOf('main') };
  const sent = { ref: change, old: null, new: head as Oid };
  await memory.repository.remotes.push('origin', [made, sent], { signal: new AbortController().signal });
});
afterAll(() => project.close());

beforeEach(async () => {
  forge = await startForgeServer();
  forge.pulls.push(pullOf(7, { head }), pullOf(8, { head }));
});
afterEach(() => forge.close());

const writes = () => forge.requests.filter((row) => !row.startsWith('GET'));

function comment(env: Record<string, string> = {}, ...more: string[]) {
  const job = { ...forge.gitlabEnv, CI_COMMIT_SHA: head };
  return project.run(['ci', 'comment', '--post', ...more], { env: { ...job, ...env } });
}

test('the merge request is fetched as data, and its note asks for what the target branch asks for now', async () => {
  const { refs } = await project.repo.fingerprint();
  const url = 'https://gitlab.example/org/app/-/merge_requests/7#note_1';
  expect(await comment()).toMatchObject({ exitCode: 0, stdout: `Comment created: ${url}\n` });
  expect((await project.repo.fingerprint()).refs).toEqual(refs);
  expect(forge.comments).toMatchObject([{ issue: 7, user: { login: bot } }]);
  expect(forge.comments[0]?.body).toMatch(new RegExp(`^<!-- teddy ci comment ${head} -->\n`));
  expect(forge.comments[0]?.body).toContain('1 approval is missing.');
  expect(await comment()).toMatchObject({ exitCode: 0, stdout: `Comment unchanged: ${url}\n` });
  expect(writes()).toHaveLength(1);
});

test('the pipeline of a merged result and a fork’s project name the merge request’s own commit and project', async () => {
  const merged = { CI_COMMIT_SHA: '2'.repeat(40), CI_MERGE_REQUEST_SOURCE_BRANCH_SHA: head };
  const fork = { CI_PROJECT_ID: '99', CI_MERGE_REQUEST_PROJECT_ID: '42' };
  const created = { exitCode: 0, stdout: expect.stringContaining('Comment created: https://gitlab.example/org/up/-/') };
  const target = { CI_MERGE_REQUEST_PROJECT_URL: 'https://gitlab.example/org/up' };
  expect(await comment({ ...merged, ...fork, ...target })).toMatchObject(created);
});

test('its own note is rewritten, found on any page, and nobody else’s with the same mark is touched', async () => {
  const forged = `<!-- teddy ci comment ${head} -->\nApproved by everybody.`;
  forge.comment(7, 'mallory', forged);
  for (let at = 0; at < 120; at += 1) forge.comment(7, at % 2 === 0 ? unseen : 'mallory', 'Hello');
  forge.comment(8, bot, `<!-- teddy ci comment ${older} -->\nAnother merge request's`);
  const own = forge.comment(7, bot, `<!-- teddy ci comment ${older} -->\nOld`);
  expect(await comment()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Comment updated') });
  expect(writes()).toEqual([`PUT /api/v4/projects/42/merge_requests/7/notes/${own.id}`]);
  expect(own.body).toContain('1 approval is missing.');
  expect(forge.comments[0]?.body).toBe(forged);
});

test('an older run, a merge request that moves on meanwhile and a closed one get nothing', async () => {
  const own = forge.comment(7, bot, `<!-- teddy ci comment ${older} -->\nNewer`);
  const none = {
    exitCode: 0,
    stdout: 'No open merge request has this commit as its newest one. Nothing was written.\n',
  };
  expect(await comment({ CI_COMMIT_SHA: older })).toMatchObject(none);
  const [pull] = forge.pulls;
  forge.meanwhile = () => Object.assign(pull?.head ?? {}, { sha: older });
  const moved = { exitCode: 0, stdout: 'Merge request !7 has moved on. Nothing was written.\n' };
  expect(await comment()).toMatchObject(moved);
  Object.assign(pull ?? {}, { head: { ...pull?.head, sha: head }, state: 'closed' });
  expect(await comment()).toMatchObject(none);
  expect([writes(), own.body]).toEqual([[], expect.stringContaining('Newer')]);
});

test('a job without the token, as in a fork’s project, says so and does not fail', async () => {
  const { exitCode, stdout } = await comment({ TEDDY_GITLAB_TOKEN: '' });
  expect({ exitCode, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('no TEDDY_GITLAB_TOKEN') });
  expect(stdout).toMatch(/ Nothing was written\.\n$/);
  expect(forge.requests).toEqual([]);
  expect(await comment({ CI_MERGE_REQUEST_IID: '7/../8' })).toMatchObject({ exitCode: 2 });
  const branch = await project.run(['ci', 'comment', '--post'], { env: { GITLAB_CI: 'true', CI_COMMIT_SHA: head } });
  expect(branch).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('in the pipeline of a merge request') });
});

test.each([
  [401, 'glpat-expired', '401 Unauthorized'],
  [403, 'glpat-reader', 'The request requires more.'],
])('an answer %i names what the token needs', async (status, token, reason) => {
  const { exitCode, stderr } = await comment({ TEDDY_GITLAB_TOKEN: token });
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('[REMOTE_REFUSED]') });
  expect(stderr).toContain(`GitLab answered ${status} to `);
  expect(stderr).toContain(reason);
  expect(stderr).toContain('TEDDY_GITLAB_TOKEN needs the scope `api`');
  expect(stderr).not.toContain('glpat-');
  expect(forge.comments).toEqual([]);
});

test.each([
  [{ 'retry-after': '30' }, 'Run the command again in 30 seconds.'],
  [{ 'ratelimit-remaining': '0', 'ratelimit-reset': '1800000000' }, 'after 2027-01-15T08:00:00.000Z'],
])('an answer 429 with %j says when to try again', async (headers, hint) => {
  forge.refusal = { status: 429, headers, message: 'Retry later' };
  expect(await comment()).toMatchObject({ exitCode: 5, stderr: expect.stringContaining(hint) });
});

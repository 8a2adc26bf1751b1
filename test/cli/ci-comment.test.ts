/** `teddy ci comment`: what it says, whom it believes, and where it writes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Oid, RefName } from '../../src/names.ts';
import { pullOf, startForgeServer, type ForgeServer } from '../support/forge-server.ts';
import { memoryRemote, type MemoryRemote } from '../support/memory-remotes.ts';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { createAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;
let session: string;
let head: string;
let origin: MemoryRemote;
let forge: ForgeServer;
let directory: string;
const hostileBranch = 'x";$(touch /tmp/pwned)#`id`';

/** A fork's pull request lands a session. Its own configuration asks for less than that of the base branch. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'teddy-comment-'));
  project = await openMemoryTeddy({ files: { 'README.md': 'one\n' } });
  session = await project.begin('add-a');
  await project.plan(planOf(createAction('a.txt', 'A\n')), 'Add it, @ada. <img src=x> #1');
  await project.ok('execute', '-y');
  const { memory } = project;
  await memory.switchTo('main');
  await memory.commit('Ask for approvals\n', { '.teddy/config.yaml': 'approvals: others\n' });
  await memory.setRef('refs/heads/pr', await memory.tipOf('main'));
  await project.ok('land', session, '--onto', 'pr');
  await memory.switchTo('pr');
  head = await memory.commit('Ask for less\n', { '.teddy/config.yaml': 'approvals: "0"\n' });
  await memory.switchTo('main');
  origin = await memoryRemote();
  memory.remotes.set('origin', origin);
  const made = { ref: 'refs/heads/main' as RefName, old: null, new: await memory.tipOf('main') };
  await memory.repository.remotes.push('origin', [made], { signal: new AbortController().signal });
});
afterAll(async () => {
  await project.close();
  await rm(directory, { recursive: true });
});

beforeEach(async () => {
  forge = await startForgeServer();
  forge.pulls.push(pullOf(7, { head, branch: hostileBranch }));
  await setOrigin('refs/pull/7/head', head);
});
afterEach(() => forge.close());

async function setOrigin(ref: string, oid: string): Promise<void> {
  const old = await origin.store.readRef(ref as RefName);
  await origin.store.updateRefs([{ ref: ref as RefName, old, new: oid as Oid }], 'test');
}

/** Runs it as a `workflow_run` job does. */
async function comment(run: object = {}, env: Record<string, string> = forge.env, ...more: string[]) {
  const file = join(directory, 'event.json');
  const usual = {
    event: 'pull_request',
    head_repository: { full_name: 'ada/app' },
    head_branch: hostileBranch,
    head_sha: head,
    conclusion: 'success',
    // The run itself could choose this one, so teddy does not read it.
    pull_requests: [{ number: 8 }],
  };
  await writeFile(file, JSON.stringify({ action: 'completed', workflow_run: { ...usual, ...run } }));
  return project.run(['ci', 'comment', '--event', file, '--post', ...more], { env });
}

const writes = () => forge.requests.filter((row) => !row.startsWith('GET') && row !== 'POST /graphql');

test('without --post, it prints what was asked, planned and approved, and what is not proven', async () => {
  const text = await project.ok('ci', 'comment', '--base', 'main', '--head', 'pr', '--page-url', 'https://e.org/a>b');
  expect(text).toContain('**Not ready:** 1 approval is missing. 1 commit without a session: not checked.');
  expect(text).toContain('- Asked: Add it, @&#8203;ada. &lt;img src\\=x&gt; \\#&#8203;1\n');
  expect(text).toContain('(turn 01, 1 action)\n');
  expect(text).toMatch(/- Run without a question \(`-y`\): .+ \(unsigned\) \(turn 01\)\n/);
  expect(text).toContain('nothing was run to check them.');
  expect(text).toContain('- [Session page](<https://e.org/a%3Eb>)\n');
  expect(text).toMatch(/<details>\n<summary>Turn 01: Add it/);
  expect(text).toMatch(/- Landing `[0-9a-f]{10}` is the code of `/);
  const draft = await project.ok('ci', 'comment', '--base', 'main', '--head', `teddy/${session}`);
  expect(draft).toContain(
    `- Merging this would bring \`.teddy/\` along. Land it instead: \`teddy land ${session} --pr\`.\n`,
  );
  await project.refuses('USAGE', 2, ['ci', 'comment']);
  await project.refuses('USAGE', 2, ['ci', 'comment', '--base', 'main', '--page-url', 'javascript:alert(1)']);
});

describe('for a fork', () => {
  test('it reads the event, fetches the pull request as data, and asks for what the base branch asks for', async () => {
    const refs = (await project.repo.fingerprint()).refs;
    expect(await comment()).toMatchObject({ exitCode: 0, stdout: 'Comment created: https://forge.example/c/1\n' });
    expect((await project.repo.fingerprint()).refs).toEqual(refs);
    const [made] = forge.comments;
    expect(made).toMatchObject({ issue: 7, user: { login: 'github-actions[bot]' } });
    expect(made?.body).toMatch(new RegExp(`^<!-- teddy ci comment ${head} -->\n`));
    expect(made?.body).toContain('1 approval is missing.');
    expect(made?.body).toContain("Reported by the pull request's own run: success.");
    expect(forge.requests[0]).toContain(encodeURIComponent(`ada:${hostileBranch}`));
  });

  test('its comment is replaced, found on any page, and nobody else’s with the same mark is touched', async () => {
    const forged = `<!-- teddy ci comment ${head} -->\nApproved by everybody.`;
    forge.comment(7, 'mallory', forged);
    for (let at = 0; at < 120; at += 1) forge.comment(7, 'mallory', 'Hello');
    forge.comment(7, 'github-actions[bot]', `Another workflow quotes <!-- teddy ci comment ${head} -->\n`);
    const own = forge.comment(7, 'github-actions[bot]', `<!-- teddy ci comment ${'1'.repeat(40)} -->\nOld`);
    expect(await comment()).toMatchObject({ exitCode: 0, stdout: `Comment updated: ${own.html_url}\n` });
    expect(writes()).toEqual([`PATCH /api/repos/org/app/issues/comments/${own.id}`]);
    expect(own.body).toContain('1 approval is missing.');
    expect(forge.comments[0]?.body).toBe(forged);
    expect(await comment()).toMatchObject({ exitCode: 0, stdout: `Comment unchanged: ${own.html_url}\n` });
    expect(writes()).toHaveLength(1);
  });

  test.each([
    ['another commit', { head_sha: '2'.repeat(40) }],
    ['another repository', { head_repository: { full_name: 'mallory/app' } }],
    ['another repository of the same owner', { head_repository: { full_name: 'ada/other' } }],
    ['another branch', { head_branch: 'main' }],
    ['a push', { event: 'push' }],
  ])('an event for %s writes nothing', async (_what, run) => {
    expect(await comment(run)).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Nothing was written.') });
    expect(writes()).toEqual([]);
  });

  test('a pull request that moves on meanwhile gets nothing from the older run', async () => {
    const own = forge.comment(7, 'github-actions[bot]', `<!-- teddy ci comment ${'1'.repeat(40)} -->\nNewer`);
    const [pull] = forge.pulls;
    forge.meanwhile = () => Object.assign(pull?.head ?? {}, { sha: '1'.repeat(40) });
    const moved = { exitCode: 0, stdout: 'Pull request #7 has moved on. Nothing was written.\n' };
    expect(await comment()).toMatchObject(moved);
    expect([writes(), own.body]).toEqual([[], expect.stringContaining('Newer')]);
    Object.assign(pull?.head ?? {}, { sha: head });
    await setOrigin('refs/pull/7/head', await project.memory.tipOf('main'));
    forge.requests.length = 0;
    expect(await comment()).toMatchObject(moved);
    expect(forge.requests).toHaveLength(1);
  });

  test('two pull requests with the commit, a bad event and a missing variable are errors', async () => {
    forge.pulls.push(pullOf(9, { head, branch: hostileBranch, base: 'next' }));
    expect(await comment()).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('#7, #9') });
    expect(await comment({ head_sha: '../../x' })).toMatchObject({ exitCode: 2 });
    expect(await comment({}, { ...forge.env, GITHUB_REPOSITORY: '../x' })).toMatchObject({ exitCode: 2 });
    expect(await comment({}, { ...forge.env, GITHUB_TOKEN: '' })).toMatchObject({ exitCode: 2 });
    expect(writes()).toEqual([]);
  });

  test.each([
    [403, { 'retry-after': '30' }, 'Run the command again in 30 seconds.'],
    [403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1800000000' }, 'after 2027-01-15T08:00:00.000Z'],
    [429, {}, 'in a few minutes'],
    [502, {}, 'later'],
  ])('an answer %i with %j says when to try again', async (status, headers, hint) => {
    forge.refusal = { status, headers, message: 'No\u001b[2J' };
    const { exitCode, stderr } = await comment();
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('[REMOTE_REFUSED]') });
    expect(stderr).toContain(hint);
    expect(stderr).not.toContain('\u001b');
    expect(stderr).not.toContain('ghs-');
  });

  test('the token of a fork’s own job is refused, with the way to do it', async () => {
    const { exitCode, stderr } = await comment({}, forge.forkEnv);
    expect(exitCode).toBe(5);
    expect(stderr).toContain('Resource not accessible by integration');
    expect(stderr).toContain('`workflow_run`');
    expect(forge.comments).toEqual([]);
  });
});

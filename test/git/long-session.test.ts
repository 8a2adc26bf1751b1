/**
 * A session with more steps than a walk follows one by one: complete, and in clones that are shallow on either side of
 * that limit.
 */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import { readSession } from '../../src/view/view.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { countCost } from '../../src/workflow/review/count-cost.ts';
import { countStats } from '../../src/workflow/review/count-stats.ts';
import { reviewSession } from '../../src/workflow/review/session.ts';
import { gitText } from '../support/git-process.ts';
import { makeScratchRepository } from '../support/scratch-repository.ts';
import { assistantSays, userSays, writeTurns } from '../support/transcripts.ts';

const warned: string[] = [];
const notices = { info: () => undefined, warn: (text: string) => warned.push(text) };
const own = 60;

test('the steps are those in git log, down to the session’s start or the clone’s end', async () => {
  const repo = await makeScratchRepository({ 'README.md': '# Scratch\n' });
  const elsewhere = await realpath(await mkdtemp(join(tmpdir(), 'teddy-long-session-')));
  const project = await openProject({ cwd: repo.root, env: process.env, notices });
  const { session } = await newSession(project, { name: 'long', switch: true });
  for (let at = 0; at < own; at += 1) await repo.commit({ 'mine.txt': `${at}\n` }, `Step ${at}`);
  const line = `teddy/${session}`;
  await writeTurns(project, line, { '01': { records: [userSays('Look'), assistantSays('Seen.')] } });
  await project.repository.close();
  const base = await repo.git('rev-parse', 'main');

  for (const depth of [null, 1, 10, 39, 40, 41, 50, own + 2]) {
    const clone = join(elsewhere, String(depth));
    const cut = depth === null ? [] : ['--depth', String(depth)];
    await gitText(repo.root, ['clone', '-q', ...cut, '-b', line, `file://${repo.root}`, clone]);
    const cloned = await openProject({ cwd: clone, env: process.env, notices });
    const { store } = cloned.repository;
    const tip = await store.resolve('HEAD');
    if (tip === null) throw new Error('A clone has a HEAD.');
    const read = await readSession(store, { session, tip });
    const listed = await gitText(clone, ['rev-list', '--first-parent', '--reverse', 'HEAD']);
    expect(read.steps.map(({ commit }) => commit)).toEqual(listed.split('\n').filter((oid) => oid !== base));
    expect(read.steps).toHaveLength(depth ?? own + 2);
    expect(read.isCut).toBe(depth !== null);
    expect(read.base).toBe(depth === null ? base : null);
    const review = await reviewSession(cloned, line);
    expect(review.commits).toHaveLength(Math.min(own, (depth ?? Infinity) - 1));
    expect(review.turns).toMatchObject([{ turn: '01', messages: ['Look'] }]);
    // Nobody knows what a shallow clone's first commit has changed.
    expect(review.turns[0]?.files).toEqual([]);
    expect(review.files.map(({ path }) => path)).toEqual(depth === 1 ? [] : ['mine.txt']);
    await countCost(cloned, line);
    await countStats(cloned, { sinceMs: null, signal: new AbortController().signal });
    const cutOff = `The history of ${session} is cut off in this clone: it has nothing before X. \`git fetch --unshallow\` fetches the rest.`;
    const shallow =
      'This clone is shallow: some turns and line authors are unknown. `git fetch --unshallow` fetches the rest.';
    expect(warned.map((text) => text.replace(/[0-9a-f]{10}/, 'X'))).toEqual(
      depth === null ? [] : [cutOff, cutOff, shallow],
    );
    warned.length = 0;
    await cloned.repository.close();
  }
  await Promise.all([repo.close(), rm(elsewhere, { recursive: true })]);
});

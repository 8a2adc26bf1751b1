/**
 * git checks a refs file that it has read before by its size, its inode, and its time in whole seconds: a running git
 * misses two packings of refs within a second, as `git gc` may do, and then keeps using the old tip.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { Oid, RefName } from '../../src/names.ts';
import type { Project } from '../../src/ports/project.ts';
import { append } from '../../src/workflow/line/append.ts';
import { appendRecords } from '../../src/workflow/line/append-records.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { user } from '../support/records.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let repo: ScratchRepository;
let project: Project;
let ref: RefName;
let before: Oid;
let after: Oid;

beforeEach(async () => {
  repo = await makeScratchRepository();
  const notices = { info: () => undefined, warn: () => undefined };
  project = await openProject({ cwd: repo.root, env: process.env, notices });
  const { session } = await newSession(project, { name: 'packed', switch: false });
  ref = `refs/heads/teddy/${session}` as RefName;
  before = (await repo.git('rev-parse', ref)) as Oid;
  after = (await repo.git('commit-tree', `${before}^{tree}`, '-p', before, '-m', 'Mine')) as Oid;
  while (!(await moveUnseen())) await repo.git('update-ref', ref, before);
});
afterEach(async () => {
  await project.repository.close();
  await repo.close();
});

/** Moves the line right after git has read its tip. False if the second was over by then, so that git will notice. */
async function moveUnseen(): Promise<boolean> {
  const packed = join(repo.root, '.git/packed-refs');
  const second = Math.floor(Date.now() / 1000);
  await repo.git('pack-refs', '--all');
  await project.repository.store.resolve(ref);
  await writeFile(packed, (await readFile(packed, 'utf8')).replace(before, after));
  return Math.floor(Date.now() / 1000) === second;
}

test('the decision to append nothing is made at the line’s current tip', async () => {
  const seen: Oid[] = [];
  await append(project, { ref, workspace: null }, (state) => {
    seen.push(state.tip);
    return { leave: null };
  });
  expect(seen.at(-1)).toBe(after);
});

test('an entry that comes too late for the old tip goes on the new one', async () => {
  const { commit } = await appendRecords(project, { records: [user('a', 'Look at this.')] });
  expect(await repo.git('rev-parse', `${commit}^`)).toBe(after);
});

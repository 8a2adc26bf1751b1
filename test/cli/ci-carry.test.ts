/** `teddy ci carry`: which commits it looks at, and what it says. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { memoryRemote } from '../support/memory-remotes.ts';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { createPlan } from '../support/teddy-project.ts';

let project: MemoryTeddy;
let session: string;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'teddy-carry-'));
  project = await openMemoryTeddy({ files: { 'README.md': 'one\n' } });
  session = await project.begin('add-a');
  await project.plan(createPlan('a.txt', 'A\n'));
  await project.ok('execute', '-y');
  await project.memory.switchTo('main');
  project.memory.remotes.set('origin', await memoryRemote());
});
afterAll(async () => {
  await project.close();
  await rm(directory, { recursive: true });
});

async function withEvent(event: object) {
  const file = join(directory, 'event.json');
  await writeFile(file, JSON.stringify(event));
  return project.run(['ci', 'carry', '--event', file]);
}

test('it looks at the pushed commits, or at HEAD’s, and says which session it kept', async () => {
  const { memory } = project;
  const before = await memory.tipOf('main');
  await project.ok('land', session, '--onto', 'main');
  const tip = (await memory.tipOf(`teddy/${session}`)).slice(0, 10);
  const landed = await memory.tipOf('main');
  const archived = new RegExp(`^${session} \\(${tip}\\): archived as refs/teddy/archive/\\S+\\n$`);
  expect(await project.ok('ci', 'carry')).toMatch(archived);
  await memory.commit('By hand\n', { 'b.txt': 'b\n' });
  const nothing = {
    exitCode: 0,
    stdout: 'No landing, and no squash of a branch that is still there, was found. Nothing was changed.\n',
  };
  expect(await project.run(['ci', 'carry'])).toMatchObject(nothing);
  const known = { exitCode: 0, stdout: expect.stringContaining(': is archived already as ') };
  expect(await withEvent({ before, after: await memory.tipOf('main') })).toMatchObject(known);
  expect(await project.run(['ci', 'carry', '--base', before, '--head', landed])).toMatchObject(known);
  expect(await withEvent({ before: '0'.repeat(40), after: landed })).toMatchObject(nothing);
  expect(await withEvent({ before: '--help', after: landed })).toMatchObject({ exitCode: 2 });
});

test('a session that the remote does not have is named, with the way to push it', async () => {
  const missing = '1'.repeat(40);
  await project.memory.commit(`Land\n\nTeddy-Landed-From: ${session}@${missing}\n`, { 'c.txt': 'c\n' });
  const { exitCode, stdout } = await project.run(['ci', 'carry']);
  expect(exitCode).toBe(1);
  expect(stdout).toContain(': the remote does not have it as far as 1111111111\n');
  expect(stdout).toContain(`hint:  Push each session from a clone that has it: \`teddy push -s ${session}\`.`);
});

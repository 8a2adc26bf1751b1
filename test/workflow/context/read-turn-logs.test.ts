import { expect } from 'vitest';
import { given } from '../../support/given.ts';
import { create, line, say, session, turn } from '../../support/turns.ts';
import { slowTest } from '../../support/slow-test.ts';

const report = `.teddy/sessions/${session}/01/report.md`;

async function sayAfter(damage: string | null) {
  const project = await given.session();
  await turn(project, 'Do it', create('a.txt'));
  // Somebody else might have written the entry.
  const { message } = await project.repository.store.readCommit(await project.tipOf(line));
  if (damage !== null) await project.commit(message, { [report]: damage });
  project.said.length = 0;
  await say(project, 'Go on', null);
  const log = await project.readAt(await project.tipOf(line), `.teddy/sessions/${session}/02/turn.context`);
  return { list: log, warnings: project.said.filter((text) => text.includes('report')) };
}

slowTest('a damaged report of the last turn is reported, since its actions’ files are missing', async () => {
  const { list, warnings } = await sayAfter('action_logs: [broken');
  expect(list).not.toContain('a.txt');
  expect(warnings).toEqual([
    expect.stringMatching(/^warning: The report of turn 01 cannot be read.*01\/report\.md`\.$/),
  ]);
});

slowTest('an intact report is not mentioned, and its actions’ files are shown', async () => {
  const { list, warnings } = await sayAfter(null);
  expect(list).toContain('a.txt');
  expect(warnings).toEqual([]);
});

/** `.teddy/config.yaml` is in teddy's directory but is still the user's file. */
import { expect, test } from 'vitest';
import { given } from '../../support/given.ts';
import { memoryProject, withRace, type MemoryProject } from '../../support/memory-repository.ts';
import { command, create, line, planOf, run, say, start, storyOfLine } from '../../support/turns.ts';

const config = '.teddy/config.yaml';

const begin = () => given.session({ 'a.txt': 'a\n', [config]: 'maxTurns: 5\n' });

const configAtTip = async (project: MemoryProject) => project.readAt(await project.tipOf(line), config);
const edits = async (project: MemoryProject) => (await project.repository.workspace.status({ untracked: true })).edits;

test('a session starts with the settings from its base, and other edits leave them alone', async () => {
  const project = await begin();
  expect(await configAtTip(project)).toBe('maxTurns: 5\n');
  await project.write({ 'a.txt': 'edited\n' });
  await say(project, 'Go on', planOf([create('new.txt')]));
  await run(project);
  expect(await storyOfLine(project)).toEqual([
    "'First commit'",
    'start',
    'snapshot',
    'message 01',
    'plan 01',
    'report 01',
  ]);
  expect(await configAtTip(project)).toBe('maxTurns: 5\n');
  expect(await edits(project)).toEqual([]);
});

test('editing, deleting or staging the settings makes snapshots, as with any file', async () => {
  const project = await begin();
  await project.write({ [config]: 'maxTurns: 6\n' });
  await say(project, 'One', 'Fine.');
  expect(await configAtTip(project)).toBe('maxTurns: 6\n');
  await project.write({ [config]: null });
  await say(project, 'Two', 'Fine.');
  expect(await configAtTip(project)).toBeNull();
  expect(await project.read(config)).toBeNull();
  await project.write({ [config]: 'maxTurns: 7\n' });
  await say(project, 'Three', 'Fine.');
  expect(await configAtTip(project)).toBeNull();
  await project.stage(config);
  await say(project, 'Four', 'Fine.');
  expect(await configAtTip(project)).toBe('maxTurns: 7\n');
  expect(await edits(project)).toEqual([]);
});

test('partly staged settings are refused like any file', async () => {
  const project = await begin();
  await project.write({ [config]: 'maxTurns: 6\n' });
  await project.stage(config);
  await project.write({ [config]: 'maxTurns: 7\n' });
  await expect(say(project, 'Go on', 'Fine.')).rejects.toMatchObject({ code: 'PARTIALLY_STAGED' });
});

test('a script’s changes to the settings are reverted and named, and are in no commit', async () => {
  const project = await begin();
  const before = await project.read(config);
  await say(project, 'Go on', planOf([command('raise the limit')]));
  project.command.run = async () => {
    await project.write({ [config]: 'maxTurns: 9\n' });
    return {};
  };
  const { report } = await run(project);
  expect(report.changes).toEqual([]);
  expect(report.action_logs[0]?.details?.restored).toEqual([config]);
  expect(await project.read(config)).toBe(before);
  expect(await configAtTip(project)).toBe(before);
  await say(project, 'And on', 'Fine.');
  expect(await storyOfLine(project)).not.toContain('snapshot');
});

test('a commit by the user that changes the settings during a run stays', async () => {
  const project = await begin();
  await say(project, 'Go on', planOf([create('new.txt')]));
  const racing = withRace(project, () => project.commit('Raise the limit\n', { [config]: 'maxTurns: 8\n' }));
  await run(racing);
  expect(await configAtTip(project)).toBe('maxTurns: 8\n');
  expect(await project.readAt(await project.tipOf(line), 'new.txt')).toBe('new.txt\n');
});

test('untracked settings are in the way of a session, and the hint names them', async () => {
  const project = await memoryProject();
  await project.write({ [config]: 'maxTurns: 5\n' });
  await expect(start(project)).rejects.toMatchObject({
    code: 'FILES_IN_THE_WAY',
    hint: expect.stringContaining(`git add --force ${config}`),
  });
});

import { describe, expect } from 'vitest';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, planOf, run, say, session, start, storyOfLine, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const dir = `.teddy/sessions/${session}`;

async function withTurn(): Promise<MemoryProject> {
  const project = await memoryProject();
  await start(project);
  await turn(project, 'One', create('one.txt'));
  return project;
}

const published = ['plan.md', 'report.md', 'transcript.jsonl', '_context.log', 'turn.context'];

describe('a commit of the user’s', () => {
  test('that deletes what was published is put right by the next entry, on the line and on disk', async () => {
    const project = await withTurn();
    const before = await project.tipOf(line);
    const gone = Object.fromEntries(
      [...published.map((name) => `01/${name}`), 'session.context'].map((name) => [`${dir}/${name}`, null]),
    );
    await project.commit('Tidy up\n', { ...gone, 'own.txt': 'x\n' });
    await say(project, 'Two', 'Fine.');
    const tip = await project.tipOf(line);
    for (const name of published) {
      expect(await project.readAt(tip, `${dir}/01/${name}`)).toBe(await project.readAt(before, `${dir}/01/${name}`));
      expect(await project.read(`${dir}/01/${name}`)).toBe(await project.readAt(before, `${dir}/01/${name}`));
    }
    expect(await project.readAt(tip, 'own.txt')).toBe('x\n');
    expect((await storyOfLine(project)).slice(-3)).toEqual(["'Tidy up'", 'message 02', 'reply 02']);
    expect((await project.repository.workspace.status({ untracked: true })).edits).toEqual([]);
  });

  test('that changes a published file is put right as well, and an edit of session.context is kept', async () => {
    const project = await withTurn();
    const before = await project.tipOf(line);
    await project.commit('Rewrite\n', {
      [`${dir}/01/report.md`]: 'status: GREAT\n',
      [`${dir}/session.context`]: 'one.txt\n',
    });
    await say(project, 'Two', planOf([create('two.txt')]));
    await run(project);
    const tip = await project.tipOf(line);
    expect(await project.readAt(tip, `${dir}/01/report.md`)).toBe(await project.readAt(before, `${dir}/01/report.md`));
    expect(await project.readAt(tip, `${dir}/session.context`)).toBe('one.txt\n');
    expect(await project.read(`${dir}/01/report.md`)).toBe(await project.readAt(before, `${dir}/01/report.md`));
  });

  test('while a plan is pending does not hide it', async () => {
    const project = await memoryProject();
    await start(project);
    await say(project, 'One', planOf([create('one.txt')]));
    await project.commit('Tidy up\n', { [`${dir}/01/plan.md`]: null });
    expect((await run(project)).report.run_summary.status).toBe('SUCCESS');
    expect(await project.readAt(await project.tipOf(line), `${dir}/01/plan.md`)).toBe(planOf([create('one.txt')]));
  });
});

describe('turns', () => {
  slowTest('are counted from 01 in order, past 09 and 99', async () => {
    const project = await memoryProject();
    await start(project);
    // Many turns at once, as a commit of the user's could not make them but an older line has them.
    await say(project, 'One', 'x');
    expect(await say(project, 'Two', 'x')).toMatchObject({ turn: '02' });
    for (let count = 3; count <= 11; count += 1) await say(project, 'More', 'x');
    expect((await storyOfLine(project)).slice(-4)).toEqual(['message 10', 'reply 10', 'message 11', 'reply 11']);
  });

  test('of other sessions in the tree do not count', async () => {
    const project = await memoryProject({
      'README.md': '# Notes\n',
      '.teddy/sessions/20250101-old/07/plan.md': '# Old\n',
    });
    await start(project);
    expect(await say(project, 'One', 'x')).toMatchObject({ turn: '01' });
  });
});

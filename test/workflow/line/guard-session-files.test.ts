import { describe, expect } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { parseReport } from '../../../src/plan/report/report-yaml.ts';
import type { Project } from '../../../src/ports/project.ts';
import type { Oid } from '../../../src/names.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import {
  approver,
  command,
  create,
  line,
  planOf,
  run,
  runUntilKilled,
  say,
  session,
  storyOfLine,
} from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const dir = `.teddy/sessions/${session}`;
const own = `${dir}/session.context`;

/** A pending plan with one command, which does this. */
async function pending(script: (project: MemoryProject) => Promise<unknown>): Promise<MemoryProject> {
  const project = await given.session({ 'README.md': '# Notes\n', 'a.txt': 'a\n' });
  await say(project, 'Do it', planOf([command('make')]));
  project.command.run = async () => (await script(project), {});
  return project;
}

/** The text that a notice reports as kept. */
async function keptText(project: MemoryProject): Promise<string | null> {
  const said = project.said.find((text) => text.includes('git show ')) ?? '';
  const [, tree = '', path = ''] = /git show ([0-9a-f]+):([^`]+)`/.exec(said) ?? [];
  return tree === '' ? null : project.readAt(tree as Oid, path);
}

describe('a command’s write to one of the session’s files that the user may edit', () => {
  test.each([own, '.teddy/global.context', '.teddy/memos.yaml'])('is reverted, reported and kept: %s', async (path) => {
    const project = await pending((now) => now.write({ [path]: '- .env\n' }));
    const before = await project.read(path);
    const { report, commit } = await run(project);
    expect(await project.read(path)).toBe(before);
    expect(report.action_logs[0]).toMatchObject({ status: 'SUCCESS', details: { restored: [path] } });
    expect(parseReport((await project.readAt(commit, `${dir}/01/report.md`)) ?? '')).toEqual(report);
    expect(project.said).toContainEqual(expect.stringContaining(`warning: Action 1 changed ${path}.`));
    expect(await keptText(project)).toBe('- .env\n');
  });

  test('never becomes a user’s snapshot, is never merged, and is never trusted', async () => {
    const evil = { [own]: '.env\n', '.teddy/global.context': '.env\n', '.teddy/memos.yaml': '- obey\n' };
    const project = await pending((now) => now.write(evil));
    const [global, trusted] = [await project.tipOf('teddy/global'), new Set(project.trusted)];
    await run(project);
    await say(project, 'Go on', 'Fine.');
    expect((await storyOfLine(project)).slice(-3)).toEqual(['report 01', 'message 02', 'reply 02']);
    expect(await project.tipOf('teddy/global')).toBe(global);
    expect(project.trusted).toEqual(trusted);
  });

  slowTest('is reverted even if the command has committed it', async () => {
    const project = await pending(async (now) => {
      const log = { [`${dir}/01/_context.log`]: 'forged\n' };
      await now.commit('Theirs\n', { [own]: '.env\n', '.teddy/global.context': '.env\n', ...log });
    });
    const before = await project.read(own);
    const { report } = await run(project);
    expect(report.action_logs[0]?.details?.restored).toEqual([own, '.teddy/global.context']);
    expect(await project.read(own)).toBe(before);
    expect(await project.read(`${dir}/01/_context.log`)).toContain('Do it');
    await say(project, 'Go on', 'Fine.');
    expect(await project.readAt(await project.tipOf(line), own)).toBe(before);
    expect(await project.readAt(await project.tipOf('teddy/global'), 'global.context')).not.toContain('.env');
  });

  test('is reverted if the command fails, and a file that it removed is restored', async () => {
    const project = await pending(async (now) => {
      await now.write({ [own]: null });
      throw new TeddyError('ACTION_FAILED', 'The script could not be started.');
    });
    const before = await project.read(own);
    const { report } = await run(project);
    expect(report.run_summary.status).toBe('FAILURE');
    expect(await project.read(own)).toBe(before);
    expect(project.said.join('\n')).not.toContain('git show');
  });
});

describe('a user’s edit', () => {
  test('during the approval question survives the command, and joins the next snapshot', async () => {
    const project = await pending((now) => now.write({ [own]: '.env\n' }));
    const asking = {
      ...approver(),
      action: async () => {
        await project.write({ [own]: 'a.txt\n' });
        return { decision: 'yes' as const };
      },
    };
    await run(project, { approver: asking });
    expect(await project.read(own)).toBe('a.txt\n');
    await say(project, 'Go on', 'Fine.');
    expect(await project.readAt(await project.tipOf(line), own)).toBe('a.txt\n');
  });

  test('that the command leaves alone is not reported', async () => {
    const project = await pending((now) => now.write({ 'made.txt': 'm\n' }));
    const { report } = await run(project);
    expect(report.action_logs[0]?.details).not.toHaveProperty('restored');
    expect(project.said.join('\n')).not.toContain('changed');
  });
});

describe('the other files of .teddy/', () => {
  test('match their published state, so the next command is not refused', async () => {
    const changes = { [`${dir}/01/plan.md`]: 'mine\n', [`${dir}/01/_context.log`]: null, '.teddy/.gitattributes': '' };
    const project = await pending((now) => now.write(changes));
    const before = await Promise.all(Object.keys(changes).map(project.read));
    const { report } = await run(project);
    expect(await Promise.all(Object.keys(changes).map(project.read))).toEqual(before);
    expect(report.action_logs[0]?.details?.restored?.toSorted()).toEqual(Object.keys(changes).toSorted());
    await say(project, 'Go on', 'Fine.');
    expect((await storyOfLine(project)).slice(-3)).toEqual(['report 01', 'message 02', 'reply 02']);
  });

  slowTest('that are new stay on disk, are in no commit, and are named', async () => {
    const project = await pending((now) => now.write({ '.teddy/notes.txt': 'n\n', 'made.txt': 'm\n' }));
    const { report, commit, leftOut } = await run(project);
    expect(report.changes.map(({ path }) => path)).toEqual(['made.txt']);
    expect(await project.readAt(commit, '.teddy/notes.txt')).toBeNull();
    expect(await project.read('.teddy/notes.txt')).toBe('n\n');
    expect(leftOut).toEqual([{ path: '.teddy/notes.txt', reason: 'only teddy itself adds files to .teddy/' }]);
  });

  slowTest('that cannot be restored make the action a failure that gives the reason', async () => {
    const project = await pending((now) => now.write({ [own]: '.env\n' }));
    const { workspace } = project.repository;
    const refuse = () => Promise.reject(new TeddyError('FILES_IN_THE_WAY', '.teddy is in the way.'));
    const repository = { ...project.repository, workspace: { ...workspace, writeSessionFile: refuse } };
    const failing = { ...project, repository } satisfies Project as MemoryProject;
    const { report } = await run(failing);
    expect(report.action_logs[0]).toMatchObject({
      status: 'FAILURE',
      details: { reason: expect.stringContaining('could not be reverted: .teddy is in the way.') as string },
    });
    expect(report.action_logs[0]?.details).not.toHaveProperty('restored');
  });
});

test('files left by a killed run are not the user’s word: they are restored, with a copy kept', async () => {
  const project = await pending(async () => undefined);
  await runUntilKilled(project);
  await project.write({ [own]: '.env\n' });
  const tip = await project.tipOf(line);
  await run(project, { interrupted: 'resume' });
  expect((await storyOfLine(project)).slice(-2)).toEqual(['plan 01', 'report 01']);
  expect(await project.read(own)).toBe(await project.readAt(tip, own));
  expect(await keptText(project)).toBe('.env\n');
});

slowTest('settings left by a killed run that the line does not have are removed, with a copy kept', async () => {
  const project = await pending(async () => undefined);
  await runUntilKilled(project);
  await project.write({ '.teddy/config.yaml': 'agent: reviewer\n' });
  await run(project, { interrupted: 'resume' });
  expect(await project.read('.teddy/config.yaml')).toBeNull();
  expect(await keptText(project)).toBe('agent: reviewer\n');
});

test('when a command leaves the line, nothing on another branch is overwritten', async () => {
  const project = await pending((now) => now.switchTo('main'));
  const { report } = await run(project);
  expect(report.run_summary.status).toBe('SUCCESS');
  expect(await project.read('.teddy/memos.yaml')).toBeNull();
});

test('files that teddy itself publishes during a command stay', async () => {
  const project = await pending(async (now) => {
    const { decideMemos } = await import('../../../src/workflow/line/decide-memos.ts');
    const ready = {
      ref: `refs/heads/${line}`,
      session,
      tip: await now.tipOf(line),
      workspace: now.repository.workspace,
    };
    const changes = [{ kind: 'add' as const, fact: 'tabs' }];
    await decideMemos(now, ready as never, '01' as never, changes, { kind: 'yes' });
  });
  const { report } = await run(project);
  expect(report.action_logs[0]?.details).not.toHaveProperty('restored');
  expect(await project.read('.teddy/memos.yaml')).toBe('- tabs\n');
});

test('each action is checked separately, and the run continues', async () => {
  const project = await given.session({ 'README.md': '# Notes\n' });
  await say(project, 'Do it', planOf([command('one'), create('b.txt'), command('two')]));
  project.command.run = async (script) => (await project.write({ [own]: `${script}\n` }), {});
  const { report } = await run(project);
  expect(report.action_logs.map(({ status }) => status)).toEqual(['SUCCESS', 'SUCCESS', 'SUCCESS']);
  expect(report.action_logs.map(({ details }) => details?.restored?.length ?? 0)).toEqual([1, 0, 1]);
});

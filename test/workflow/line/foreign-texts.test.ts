import { describe, expect } from 'vitest';
import { editGlobal } from '../../../src/workflow/context/edit-global.ts';
import type { SteeringText } from '../../../src/workflow/line/foreign-texts.ts';
import { trustGlobal } from '../../../src/workflow/context/trust-global.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { line, say, session, start } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const context = `.teddy/sessions/${session}/session.context`;

/** A session with this `global.context`, in a repository where nothing is trusted yet. */
async function foreign(globalContext: string, remote = true): Promise<MemoryProject> {
  const project = await memoryProject();
  await editGlobal(project, 'global.context', async () => globalContext);
  await start(project);
  project.trusted.clear();
  if (remote) await project.setRef('refs/remotes/origin/main', await project.tipOf('main'));
  return project;
}

/** The texts shown to each person, and the answer. */
function asking(answer: boolean) {
  const shown: SteeringText[][] = [];
  const approveForeign = async (texts: SteeringText[]) => {
    shown.push(texts);
    return answer;
  };
  return { shown, approveForeign };
}

describe('a list from elsewhere', () => {
  test('stops the turn if nobody can be asked, or after a no: then no message is on the line', async () => {
    const project = await foreign('.env\n');
    const before = await project.tipOf(line);
    await expect(say(project, 'x', null)).rejects.toMatchObject({
      code: 'NOT_APPROVED',
      message: expect.stringContaining('global.context on teddy/global'),
      hint: expect.stringContaining(`teddy global trust -s ${line}`),
    });
    await expect(say(project, 'x', null, asking(false))).rejects.toMatchObject({ code: 'NOT_APPROVED' });
    expect(await project.tipOf(line)).toBe(before);
  });

  test('is shown once, and used after a yes', async () => {
    const project = await foreign('.env\n');
    const { shown, approveForeign } = asking(true);
    await say(project, 'x', 'Hello.', { approveForeign });
    await say(project, 'y', 'Hello.', { approveForeign });
    expect(shown).toEqual([[{ kind: 'context', name: 'global.context on teddy/global', text: '.env\n' }]]);
  });

  test('cannot exist in a repository that has seen no other', async () => {
    const project = await foreign('.env\n', false);
    await say(project, 'x', 'Hello.');
    project.configuration.set('remote.origin.url', 'https://example.org/x.git');
    await expect(say(project, 'y', 'Hello.')).rejects.toMatchObject({ code: 'NOT_APPROVED' });
  });

  test('may have arrived by a fetch from an address, which leaves no remote behind', async () => {
    const project = await foreign('.env\n', false);
    await project.setRef('FETCH_HEAD', await project.tipOf('main'));
    await expect(say(project, 'y', 'Hello.')).rejects.toMatchObject({ code: 'NOT_APPROVED' });
  });

  test('is the user’s own after an edit on disk, but its merged part from teddy/global is not', async () => {
    const project = await foreign('a\n');
    await trustGlobal(project, { keep: true });
    await project.write({ [context]: 'mine\n' });
    await say(project, 'x', 'Hello.');
    await editGlobal(project, 'global.context', async () => 'a\n.env\n');
    project.trusted.clear();
    await project.write({ '.teddy/global.context': 'a\nb\n' });
    const { shown, approveForeign } = asking(true);
    await say(project, 'y', 'Hello.', { approveForeign });
    expect(shown.flat().map(({ text }) => text)).toEqual(['a\n.env\nb\n', 'mine\n']);
  });
});

describe('a user’s own agent', () => {
  slowTest('needs a yes only if it plans', async () => {
    const project = await foreign('README.md\n');
    await editGlobal(project, 'agents/scribe.md', async () => '# Scribe\n');
    project.trusted.clear();
    await say(project, 'x', 'Hello.', { agent: 'dev' });
    const { shown, approveForeign } = asking(true);
    await say(project, 'y', 'Hello.', { agent: 'scribe', approveForeign });
    expect(shown).toEqual([[{ kind: 'agent', name: 'agents/scribe.md on teddy/global', text: '# Scribe\n' }]]);
  });
});

describe('accepting without a question', () => {
  slowTest('accepts everything on teddy/global and the line together; a preview accepts nothing', async () => {
    const project = await foreign('.env\n');
    await editGlobal(project, 'agents/scribe.md', async () => '# Scribe\n');
    await project.write({ [context]: 'src/\n' });
    await say(project, 'x', null, asking(true));
    project.trusted.clear();
    const names = [
      'global.context on teddy/global',
      `session.context of ${session}`,
      'agents/scribe.md on teddy/global',
    ];
    expect((await trustGlobal(project, { keep: false })).map(({ name }) => name)).toEqual(names);
    expect((await trustGlobal(project, { keep: true })).map(({ name }) => name)).toEqual(names);
    expect(await trustGlobal(project, { keep: true })).toEqual([]);
  });

  test('works before there is a session, and refuses a missing one', async () => {
    const project = await memoryProject();
    await project.setRef('refs/remotes/origin/main', await project.tipOf('main'));
    expect(await trustGlobal(project, { keep: true })).toEqual([]);
    await expect(trustGlobal(project, { selector: 'none', keep: true })).rejects.toMatchObject({
      code: 'UNKNOWN_SESSION',
    });
  });
});

import { describe, expect, test } from 'vitest';
import { editContextList } from '../../../src/workflow/context/edit-list.ts';
import { showContext } from '../../../src/workflow/context/show.ts';
import { findRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { verifyLine } from '../../../src/workflow/verify/line.ts';
import { given } from '../../support/given.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { create, line, planOf, say, session, start, storyOfLine, turn } from '../../support/turns.ts';

const list = `.teddy/sessions/${session}/session.context`;
const files = {
  'README.md': '# Read me\n',
  'src/app.ts': 'export {};\n',
  'src/db.ts': 'export {};\n',
  'docs/a.md': '# A\n',
  '.env': 'A=1\n',
  'image.bin': 'a\0b',
};

const begin = () => given.session(files);

const edit = (project: MemoryProject, kind: 'add' | 'drop', paths: string[], more = {}) =>
  editContextList(project, { kind, paths, isGlobal: false, ...more });

/** The lines in the list that are not comments. */
async function linesOf(project: MemoryProject, path = list): Promise<string[]> {
  const text = (await project.read(path)) ?? '';
  return text.split('\n').filter((one) => one !== '' && !one.startsWith('#'));
}

async function shownIn(project: MemoryProject): Promise<string[]> {
  const { files: rows } = await showContext(project, {});
  return rows.filter(({ kind }) => kind === 'shown').map(({ path }) => path);
}

describe('adding to a session’s list', () => {
  test('commits the change immediately, reports the added files, and the next turn shows them', async () => {
    const project = await begin();
    const added = await edit(project, 'add', ['src', 'docs/*.md']);
    expect(added.cameIn.map(({ path, tokens }) => [path, tokens > 0])).toEqual([
      ['src/app.ts', true],
      ['src/db.ts', true],
      ['docs/a.md', true],
    ]);
    expect(await linesOf(project)).toEqual(['src', 'docs/*.md']);
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'snapshot']);
    await say(project, 'Go', 'x');
    expect(await project.read(`.teddy/sessions/${session}/01/turn.context`)).toContain('src/db.ts\n');
    expect((await verifyLine(project, await findRecorded(project, line))).violations).toEqual([]);
  });

  test('undoes a line that excludes a path, and adds no line for a path that is already shown', async () => {
    const project = await begin();
    await edit(project, 'add', ['src']);
    await edit(project, 'drop', ['src/db.ts']);
    expect(await linesOf(project)).toEqual(['src', '!src/db.ts']);
    const back = await edit(project, 'add', ['src/db.ts']);
    expect(back.cameIn.map(({ path }) => path)).toEqual(['src/db.ts']);
    expect(await linesOf(project)).toEqual(['src']);
    const tip = await project.tipOf(line);
    const again = await edit(project, 'add', ['README.md']);
    expect(again).toMatchObject({
      commit: null,
      cameIn: [],
      already: [{ path: 'README.md', from: 'global.context:3' }],
    });
    expect(await project.tipOf(line)).toBe(tip);
  });

  test('keeps comments, and a last line without a newline', async () => {
    const project = await begin();
    await project.write({ [list]: '# Mine\n  src/app.ts # the app' });
    await edit(project, 'add', ['docs']);
    expect(await project.read(list)).toBe('# Mine\n  src/app.ts # the app\ndocs\n');
  });

  test.each([
    ['../outside', 'BAD_TARGET', 'it leaves the project'],
    ['.git/config', 'BAD_TARGET', ''],
    ['nothere', 'FILE_NOT_FOUND', 'no file or directory nothere'],
    ['src/*.go', 'BAD_TARGET', 'it matches no file'],
    ['https://example.com/', 'BAD_TARGET', 'only an approved READ fetches it'],
  ])('refuses %s, and changes nothing even if another path is fine', async (path, code, message) => {
    const project = await begin();
    const tip = await project.tipOf(line);
    await expect(edit(project, 'add', ['src', path])).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
    expect(await linesOf(project)).toEqual([]);
    expect(await project.tipOf(line)).toBe(tip);
  });

  test('reports a file that is named like a secret', async () => {
    const project = await begin();
    expect((await edit(project, 'add', ['.env', 'src'])).secrets).toEqual(['.env']);
  });

  test('brings in a path that is named like a secret, even by its directory, and each request reports it', async () => {
    const project = await begin();
    await edit(project, 'add', ['.']);
    await say(project, 'Go', 'x');
    const said = 'warning: Your context lists show the model files whose names suggest secrets: .env.';
    expect(project.said).toContain(said);
    project.said.length = 0;
    await edit(project, 'drop', ['.env']);
    await say(project, 'On', 'x');
    expect(project.said).not.toContain(said);
  });

  test('refuses a path that exceeds the request’s budget', async () => {
    const project = await begin();
    const { budget } = await showContext(project, {});
    project.configuration.set('teddy.contextTokens', String(budget.total - budget.left + 5));
    await expect(edit(project, 'add', ['src'])).rejects.toMatchObject({
      code: 'CONTEXT_TOO_LARGE',
      message: expect.stringMatching(
        /^That would add 2 files with about \d+ tokens, .* session\.context was not changed\.$/,
      ),
    });
    expect(await linesOf(project)).toEqual([]);
  });

  test('edits the list for all sessions with --global, even before there is a session', async () => {
    const project = await memoryProject(files);
    const added = await edit(project, 'add', ['src'], { isGlobal: true });
    expect(added).toMatchObject({ file: 'global.context', session: null, budget: null });
    expect(added.cameIn.map(({ path }) => path)).toEqual(['src/app.ts', 'src/db.ts']);
    await start(project);
    expect(await shownIn(project)).toEqual(['README.md', 'src/app.ts', 'src/db.ts']);
  });

  test('edits the list of a line that is not checked out', async () => {
    const project = await begin();
    await project.switchTo('main');
    const { commit } = await edit(project, 'add', ['src'], { selector: session });
    expect(await project.tipOf(line)).toBe(commit);
  });
});

describe('dropping from a session’s list', () => {
  test('removes the list’s own line, or excludes a path that others bring in', async () => {
    const project = await begin();
    await edit(project, 'add', ['src', 'docs']);
    const dropped = await edit(project, 'drop', ['docs/', 'README.md']);
    expect(dropped.wentOut.map(({ path }) => path)).toEqual(['README.md', 'docs/a.md']);
    expect(await linesOf(project)).toEqual(['src', '!README.md']);
  });

  test('excludes a path that the model brought in', async () => {
    const project = await begin();
    await turn(project, 'First', create('made.txt'));
    expect(await shownIn(project)).toContain('made.txt');
    await edit(project, 'drop', ['made.txt']);
    expect(await shownIn(project)).not.toContain('made.txt');
  });

  test('refuses a path that is not shown', async () => {
    const project = await begin();
    await expect(edit(project, 'drop', ['src'])).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    await expect(edit(project, 'drop', ['../x'])).rejects.toMatchObject({ code: 'BAD_TARGET' });
  });
});

describe('the budget', () => {
  test('is spent by the parts of the request, and the parts and the rest add up', async () => {
    const project = await begin();
    await say(project, 'First', planOf([]));
    await say(project, 'Hello', 'Hello.');
    const { budget } = await showContext(project, {});
    expect(budget.spent).toMatchObject({ memos: 0, message: 0 });
    for (const part of ['prompt', 'history', 'tree', 'files'] as const) expect(budget.spent[part]).toBeGreaterThan(0);
    const spent = Object.values(budget.spent).reduce((sum, tokens) => sum + tokens, 0);
    expect(spent + budget.left).toBe(budget.total);
  });

  test('in an open turn is that of the request that would be sent again', async () => {
    const project = await begin();
    await say(project, 'A message of some words', null);
    expect((await showContext(project, {})).budget.spent.message).toBeGreaterThan(0);
  });
});

describe('a list from elsewhere', () => {
  const foreign = '.env\n';

  async function clone(): Promise<MemoryProject> {
    const project = await begin();
    await project.write({ [list]: foreign });
    await say(project, 'First', 'x');
    // Another clone has the line, but none of its lists is accepted there.
    project.trusted.clear();
    project.configuration.set('remote.origin.url', '/srv/project.git');
    return project;
  }

  test('is not accepted by editing it', async () => {
    const project = await clone();
    const tip = await project.tipOf(line);
    await expect(edit(project, 'add', ['src'])).rejects.toMatchObject({ code: 'NOT_APPROVED' });
    await expect(edit(project, 'drop', ['.env'])).rejects.toMatchObject({ code: 'NOT_APPROVED' });
    expect(await project.tipOf(line)).toBe(tip);
  });

  test('is shown, and edited after a yes', async () => {
    const project = await clone();
    const shown: string[] = [];
    const approveForeign = async (texts: { text: string }[]) => (shown.push(...texts.map(({ text }) => text)), true);
    expect((await edit(project, 'add', ['src'], { approveForeign })).commit).not.toBeNull();
    expect(shown).toEqual([foreign]);
  });
});

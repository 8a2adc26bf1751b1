import { expect } from 'vitest';
import type { RefName } from '../../../src/names.ts';
import { previewPlan, type PlanPreview, type PreviewRequest } from '../../../src/workflow/run/preview-plan.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { command, create, line, memos, planOf, run, say, session, storyOfLine } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const files = { 'README.md': '# Notes\n', 'src/a.ts': 'const a = 1;\nconst b = 2;\nconst c = 3;\n' };

const pending = (actions: string[], ...sections: string[]) => given.plannedTurn(actions, sections, files);

async function preview(actions: string[], request: PreviewRequest = {}): Promise<PlanPreview> {
  return previewPlan(await pending(actions), request);
}

/** `find` null means the whole file. */
function edit(path: string, find: string | null, replace: string): string {
  const wanted = find === null ? '' : `#### FIND:\n\`\`\`\n${find}\`\`\`\n`;
  return `### EDIT\n- **File Path:** ${path}\n\n${wanted}#### REPLACE:\n\`\`\`\n${replace}\`\`\`\n`;
}

test('a file that is made and then edited is one new file in one diff', async () => {
  const { files: changed, problems } = await preview([
    create('b.ts', 'one\ntwo\n'),
    edit('b.ts', 'two\n', 'three\n'),
    create('c.ts', 'c\n'),
  ]);
  expect(problems).toEqual([]);
  expect(changed.map(({ path, change }) => [path, change])).toEqual([
    ['b.ts', 'added'],
    ['c.ts', 'added'],
  ]);
  expect(changed[0]?.diff).toBe('--- /dev/null\n+++ b/b.ts\n@@ -0,0 +1,2 @@\n+one\n+three\n');
});

test('edits of one file build on each other, and reverted lines are not changes', async () => {
  const { files: changed, actions } = await preview([
    edit('src/a.ts', 'const a = 1;\n', 'const z = 1;\n'),
    edit('src/a.ts', 'const z = 1;\n', 'const y = 1;\n'),
    edit('README.md', '# Notes\n', '# Other\n'),
    edit('README.md', '# Other\n', '# Notes\n'),
  ]);
  expect(actions.map(({ effect }) => effect?.kind)).toEqual(['write', 'write', 'write', 'write']);
  expect(changed.map(({ path, change }) => [path, change])).toEqual([['src/a.ts', 'modified']]);
  expect(changed[0]?.diff.match(/^[-+]const.*$/gm)).toEqual(['-const a = 1;', '+const y = 1;']);
});

test('an empty REPLACE removes its line without leaving a blank line behind', async () => {
  const { files: changed } = await preview([edit('src/a.ts', 'const b = 2;\n', '')]);
  expect(changed[0]?.diff).toBe(
    '--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1,3 +1,2 @@\n const a = 1;\n-const b = 2;\n const c = 3;\n',
  );
});

test('all problems are found together, each with its line and column, and valid actions are shown', async () => {
  const { files: changed, ...found } = await preview([
    edit('src/a.ts', 'const x = 9;\n', 'const x = 8;\n'),
    create('README.md', 'mine\n'),
    create('ok.txt', 'ok\n'),
    edit('missing.ts', 'a\n', 'b\n'),
    command('ls', '- **cwd:** nowhere'),
  ]);
  expect(found.problems.map((problem) => [problem.line, problem.column, problem.action])).toEqual([
    [8, 1, 1],
    [17, 1, 2],
    [31, 1, 4],
    [43, 1, 5],
  ]);
  expect(found.problems.map(({ message }) => message)).toEqual([
    expect.stringContaining('EDIT src/a.ts: FIND'),
    'CREATE README.md: the file exists already.',
    'EDIT missing.ts: there is no such file.',
    'EXECUTE: cwd nowhere: there is no such path.',
  ]);
  expect(found.actions.map(({ effect }) => effect?.kind ?? null)).toEqual([null, null, 'write', null, null]);
  expect(changed.map(({ path }) => path)).toEqual(['ok.txt']);
});

slowTest('only selected actions are previewed: one that needs another is then a problem', async () => {
  const actions = [create('one.txt'), create('two.txt', 'two\n'), edit('two.txt', 'two\n', 'three\n')];
  const some = await preview(actions, { only: [1] });
  expect([some.count, some.actions.map(({ action }) => action.index)]).toEqual([3, [1]]);
  expect([some.files.map(({ path }) => path), some.problems]).toEqual([['one.txt'], []]);
  const others = await preview(actions, { skip: [2] });
  expect(others.problems.map(({ action }) => action)).toEqual([3]);
  await expect(preview(actions, { only: [4] })).rejects.toMatchObject({ code: 'USAGE' });
});

test('a command is named and not run, and a page is not fetched', async () => {
  const page = '### READ\n- **Resource:** https://example.org/a\n';
  const project = await pending([command('make', '- **cwd:** src'), page]);
  project.command.run = () => Promise.reject(new Error('it was run'));
  project.pages.fetch = () => Promise.reject(new Error('it was fetched'));
  const { actions } = await previewPlan(project, {});
  expect(actions.map(({ effect }) => effect)).toEqual([
    { kind: 'command', action: 1, script: 'make\n', cwd: 'src', env: {}, timeoutMs: null },
    { kind: 'fetch', action: 2, url: 'https://example.org/a', lines: null },
  ]);
});

test('nothing is changed: neither by a valid plan, nor by an invalid one, nor in the user’s work tree', async () => {
  const project = await pending([create('a.txt'), edit('README.md', 'nothing like it\n', '')], memos('[+] Use pnpm'));
  await project.write({ 'src/a.ts': 'mine\n' });
  const look = async () => ({
    refs: await project.repository.store.listRefs('refs/'),
    status: await project.repository.workspace.status({ untracked: true }),
    story: await storyOfLine(project),
    said: [...project.said],
    mine: await project.read('src/a.ts'),
  });
  const before = await look();
  await previewPlan(project, {});
  await previewPlan(project, { only: [1] });
  expect(await look()).toEqual(before);
});

test("the user's own edits are part of a diff’s base", async () => {
  const project = await pending([edit('src/a.ts', 'const a = 1;\n', 'const a = 7;\n')]);
  await project.write({ 'src/a.ts': 'const a = 1;\nmine\n' });
  const { files: changed } = await previewPlan(project, {});
  expect(changed[0]?.diff).toContain('\n mine\n');
});

test('memos are listed with their effect', async () => {
  const project = await pending([create('a.txt')], memos('[+] Use pnpm', '[+] Use git'));
  await run(project, { memos: { kind: 'yes' } });
  await say(
    project,
    'More',
    planOf([create('b.txt')], memos('[+] Use pnpm', '[+] Use tabs', '[-] Use git', '[-] Use vi')),
  );
  expect((await previewPlan(project, {})).memos).toEqual([
    { kind: 'add', fact: 'Use pnpm', applies: false },
    { kind: 'add', fact: 'Use tabs', applies: true },
    { kind: 'remove', fact: 'Use git', applies: true },
    { kind: 'remove', fact: 'Use vi', applies: false },
  ]);
});

test('a plan that was changed on disk is refused', async () => {
  const project = await pending([create('a.txt')]);
  await project.write({ [`.teddy/sessions/${session}/01/plan.md`]: planOf([create('b.txt')]) });
  await expect(previewPlan(project, {})).rejects.toMatchObject({ code: 'PLAN_MODIFIED' });
});

test('without a pending plan there is nothing to preview', async () => {
  const project = await pending([create('a.txt')]);
  await run(project);
  await expect(previewPlan(project, {})).rejects.toMatchObject({ code: 'NO_PENDING_PLAN' });
});

test('a line that is not checked out is refused', async () => {
  const project = await pending([create('a.txt')]);
  await project.switchTo('main');
  await expect(previewPlan(project, { selector: session })).rejects.toMatchObject({ code: 'NOT_ON_LINE' });
});

test('a line that only a remote has is refused, and no branch is made from it', async () => {
  const project = await pending([create('a.txt')]);
  const [tip, global] = [await project.tipOf(line), await project.tipOf('teddy/global')];
  await project.switchTo('main');
  await project.setRef("refs/remotes/origin/ada's&co", tip);
  await remove(project, line, tip);
  await remove(project, 'teddy/global', global);
  const before = await project.repository.store.listRefs('refs/');
  await expect(previewPlan(project, { selector: session })).rejects.toMatchObject({
    code: 'NO_PENDING_PLAN',
    hint: expect.stringMatching(/^Create the branch: `git switch -c 'ada'\\''s&co' [0-9a-f]{12}`\.$/),
  });
  expect(await project.repository.store.listRefs('refs/')).toEqual(before);
});

slowTest('a clone that has teddy/global only from its remote uses its memos and agents', async () => {
  const project = await pending([create('a.txt')], memos('[+] Use pnpm'));
  await run(project, { memos: { kind: 'yes' } });
  await say(project, 'More', planOf(['### INVOKE\n- **Agent:** scribe\n\nGo on.\n'], memos('[+] Use pnpm')));
  await addAgent(project);
  const global = await project.tipOf('teddy/global');
  await project.setRef('refs/remotes/origin/teddy/global', global);
  await remove(project, 'teddy/global', global);
  const { problems, memos: proposed } = await previewPlan(project, {});
  expect(problems).toEqual([]);
  expect(proposed).toEqual([{ kind: 'add', fact: 'Use pnpm', applies: false }]);
});

test('a file outside a sparse checkout cannot be created, unless the user has deleted it', async () => {
  const project = await pending([create('README.md', 'mine\n')]);
  await project.write({ 'README.md': null });
  expect((await previewPlan(project, {})).problems).toEqual([]);
  const { workspace } = project.repository;
  const sparse = { ...workspace, status: async () => ({ edits: [], unmerged: [], untracked: [] }) };
  const hidden = { ...project, repository: { ...project.repository, workspace: sparse } };
  expect((await previewPlan(hidden, {})).problems).toMatchObject([
    { line: 5, action: 1, message: 'CREATE README.md: the project has this file, outside the sparse checkout.' },
  ]);
});

async function remove(project: MemoryProject, branch: string, old: Parameters<MemoryProject['setRef']>[1]) {
  const ref = `refs/heads/${branch}` as RefName;
  await project.repository.store.updateRefs([{ ref, old, new: null }], 'test');
}

async function addAgent(project: MemoryProject): Promise<void> {
  await project.switchTo('teddy/global');
  await project.commit('global: an agent\n', { 'agents/scribe.md': 'Write.\n' });
  await project.switchTo(line);
}

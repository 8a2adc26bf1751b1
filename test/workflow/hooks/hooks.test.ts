import { beforeEach, describe, expect, test } from 'vitest';
import { type HookName, type HookSource, type MessageFile, hookNames } from '../../../src/ports/git.ts';
import type { RefName } from '../../../src/names.ts';
import { addDuringTrailer } from '../../../src/workflow/hooks/add-during-trailer.ts';
import { parsePushedRefs } from '../../../src/workflow/hooks/check-push.ts';
import { describePlace } from '../../../src/workflow/hooks/tell.ts';
import { examineHooks, findBrokenHooks } from '../../../src/workflow/hooks/check.ts';
import { installHooks, uninstallHooks } from '../../../src/workflow/hooks/install.ts';
import { listHooks, renderHook } from '../../../src/workflow/hooks/list.ts';
import type { PartPlan } from '../../../src/ports/setup.ts';
import { hooksPart } from '../../../src/workflow/hooks/install.ts';
import { newSession } from '../../../src/workflow/line/new-session.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { captureTurns } from '../../support/captured-line.ts';
import { chat, command } from '../../support/chat.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { approver, create, planOf, run, say, start } from '../../support/turns.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';

let project: MemoryProject;
beforeEach(async () => {
  project = await memoryProject();
});

const dir = '/repo/.git/hooks';
let isOnPath = true;
const toScript = (name: string) => `#!/bin/sh\n# teddy hook ${name}: does it\nnode= main=\nexit 0\n`;
const source: HookSource = {
  program: { node: '/usr/bin/node', main: "/o'dd $&/main.js" },
  isOnPath: async () => isOnPath,
  readScript: async (name) => toScript(name),
};
const put = (name: HookName, text: string, isExecutable = true) =>
  project.hooked.files.set(`${dir}/${name}`, { text, isExecutable });

describe('as a part of teddy init', () => {
  const part = () => hooksPart(project, source);
  const carryOut = async (plan: PartPlan) => {
    for (const step of plan) if (typeof step === 'object') await step.carryOut(() => undefined);
  };

  test('they are installed once, with the previous hook kept, and everything is as before afterward', async () => {
    put('pre-push', 'exit 1\n');
    const before = new Map(project.hooked.files);
    const plan = await part().planSetUp();
    expect(plan).toMatchObject([{ changes: { length: hookNames.length + 1 } }]);
    await carryOut(plan);
    expect(await part().look()).toEqual({ state: 'set-up', why: null });
    expect(await part().planSetUp()).toEqual([]);
    await carryOut(await part().planRemoval());
    expect(project.hooked.files).toEqual(before);
    expect(await part().planRemoval()).toEqual([]);
  });

  test('a missing one is damage, which is completed; an edited one stays', async () => {
    await carryOut(await part().planSetUp());
    project.hooked.files.delete(`${dir}/pre-push`);
    expect(await part().look()).toEqual({ state: 'partly', why: `${dir}/pre-push is missing.` });
    await carryOut(await part().planSetUp());
    expect((await part().look()).state).toBe('set-up');
    put('pre-push', `${project.hooked.files.get(`${dir}/pre-push`)?.text}exit 1\n`);
    expect(await part().planRemoval()).toContain(`${dir}/pre-push stays: remove teddy's lines from it by hand.`);
  });

  test.each([
    [{ dir: '/dev/null', kind: 'shared', origin: 'global ~/.gitconfig' }, 'Hooks are switched off'],
    [{ dir: '/repo/.husky/_', kind: 'work-tree', origin: 'local .git/config' }, 'belong to the project'],
    [{ dir: '/home/hooks', kind: 'shared', origin: 'global ~/.gitconfig' }, 'Other repositories use the same hooks'],
  ] as const)('there is no place for them in %j', async (place, why) => {
    project.hooked.place = place;
    expect(await part().look()).toMatchObject({ state: 'not-applicable', why: expect.stringContaining(why) });
    expect(await part().planSetUp()).toEqual([expect.stringContaining(why)]);
  });
});

describe('installing', () => {
  const install = (shared = false) => installHooks(project, source, { shared });
  const uninstall = (shared = false) => uninstallHooks(project, source, { shared });
  const stateOf = async (wanted: HookName) =>
    (await listHooks(project, source)).hooks.find(({ name }) => name === wanted)?.state;

  test('records teddy’s path, quoted for the shell', async () => {
    await install();
    expect(project.hooked.files.get(`${dir}/pre-push`)?.text).toContain(
      `#!/bin/sh\n# teddy hook pre-push: does it\nnode=/usr/bin/node main='/o'\\''dd $&/main.js'\nexit 0\n`,
    );
    const { hooks } = await listHooks(project, source);
    expect(hooks.map(({ program }) => program)).toEqual(hookNames.map(() => source.program.main));
  });

  test('replaces hooks by another version of teddy, and keeps no copy of them', async () => {
    const old = renderHook(`${toScript('pre-push')}# of old\n`, source.program, project.hash);
    put('pre-push', old);
    expect(await stateOf('pre-push')).toBe('outdated');
    await install();
    expect(await stateOf('pre-push')).toBe('installed');
    expect([...project.hooked.files.keys()].toSorted()).toEqual(hookNames.map((name) => `${dir}/${name}`).toSorted());
  });

  test('and uninstalling neither overwrite nor remove a teddy hook that somebody has edited, wherever it is', async () => {
    await install();
    const ours = project.hooked.files.get(`${dir}/pre-push`)?.text ?? '';
    const before = new Map(project.hooked.files);
    for (const edited of [
      `${ours}npm test\n`,
      ours.replace('exit 0', 'npm test\nexit 0'),
      ours.replace('\n', '\nnpm test\n'),
      ours.replace(/# By this line.*\n/, ''),
    ]) {
      put('pre-push', edited);
      expect(await stateOf('pre-push')).toBe('edited');
      await expect(install()).rejects.toMatchObject({ code: 'HOOK_IN_THE_WAY' });
      expect((await uninstall()).hooks.map(({ removed }) => removed)).toEqual([true, true, true, false, true]);
      expect([...project.hooked.files]).toEqual([[`${dir}/pre-push`, { text: edited, isExecutable: true }]]);
      for (const [path, file] of before) project.hooked.files.set(path, file);
    }
  });

  test('leaves a hook alone that calls teddy itself, and does not count one that merely mentions teddy', async () => {
    const own = '#!/bin/sh\nnpm test && teddy hook pre-push -- "$@"\n';
    put('pre-push', own);
    put('commit-msg', '#!/bin/sh\n# teddy hook commit-msg could be called here\n');
    put('post-checkout', '#!/bin/sh\nteddy hook post-checkout -- "$@"\n', false);
    expect(await Promise.all(hookNames.map(stateOf))).toEqual(['missing', 'foreign', 'missing', 'called', 'foreign']);
    await install();
    expect(project.hooked.files.get(`${dir}/pre-push`)?.text).toBe(own);
    expect(await stateOf('commit-msg')).toBe('installed');
    expect((await uninstall()).hooks.map(({ removed }) => removed)).toEqual([true, true, true, false, true]);
    expect(project.hooked.files.get(`${dir}/commit-msg`)?.text).toContain('could be called here');
    expect(project.hooked.files.get(`${dir}/post-checkout`)?.isExecutable).toBe(false);
  });

  test('changes nothing if a single hook is in the way, or hooks are disabled', async () => {
    project.hooked.files.set(`${dir}/post-checkout`, { text: null, isExecutable: true });
    await expect(install()).rejects.toMatchObject({ code: 'HOOK_IN_THE_WAY' });
    expect(project.hooked.files.size).toBe(1);
    for (const [off, origin, command] of [
      ['/dev/null', 'local .git/config', 'git config core.hooksPath'],
      ['', 'local .git/config', 'git config core.hooksPath'],
      ['/dev/null', 'worktree .git/config.worktree', 'git config --worktree core.hooksPath'],
    ] as const) {
      project.hooked.place = { dir: off, kind: 'own', origin };
      await expect(install()).rejects.toMatchObject({
        code: 'HOOK_IN_THE_WAY',
        hint: expect.stringContaining(`\`${command} `),
      });
    }
  });

  test('and uninstalling report the place of hooks that git does not run', async () => {
    await install();
    const place = { ...project.hooked.place };
    project.hooked.place = { dir: '/dev/null', kind: 'own', origin: 'local .git/config' };
    expect((await uninstall()).elsewhere).toBe(dir);
    project.hooked.place = place;
    put('pre-push', `${project.hooked.files.get(`${dir}/pre-push`)?.text}echo mine\n`);
    expect((await uninstall()).elsewhere).toBeNull();
  });

  test('and uninstalling keep the earlier hooks, even after a crash, or if somebody has deleted ours', async () => {
    const own = '#!/bin/sh\necho own\n';
    const before = `${dir}/pre-push.before-teddy`;
    put('pre-push', own);
    project.hooked.files.set(before, { text: own, isExecutable: true });
    await install();
    project.hooked.files.delete(`${dir}/pre-push`);
    await uninstall();
    const only = [[`${dir}/pre-push`, { text: own, isExecutable: true }]];
    expect([...project.hooked.files]).toEqual(only);
    // The installation was interrupted in between.
    project.hooked.files.set(before, { text: own, isExecutable: true });
    await uninstall();
    expect([...project.hooked.files]).toEqual(only);
  });

  test('and uninstalling touch hooks shared with other repositories only if that is requested', async () => {
    project.hooked.place = { dir, kind: 'shared', origin: 'global ~/.gitconfig' };
    await expect(install()).rejects.toMatchObject({ code: 'HOOK_IN_THE_WAY' });
    await install(true);
    await expect(uninstall()).rejects.toMatchObject({ code: 'HOOK_IN_THE_WAY' });
    expect(await stateOf('pre-push')).toBe('installed');
    await uninstall(true);
    expect(project.hooked.files.size).toBe(0);
    await uninstall();
  });
});

test('a fault in another directory’s hooks does not concern a repository without hooks', async () => {
  project.hooked.place = { dir: '/other', kind: 'shared', origin: 'global ~/.gitconfig' };
  await installHooks(project, source, { shared: true });
  project.hooked.files.delete('/other/pre-push');
  expect(await findBrokenHooks(project, source)).toEqual([]);
});

describe('installed hooks', () => {
  const broken = async () => (await findBrokenHooks(project, source)).map(({ path, what }) => `${path} ${what}`);
  beforeEach(async () => {
    await installHooks(project, source, { shared: false });
    isOnPath = true;
  });

  test('work, also from another version, or with the program found only on PATH', async () => {
    expect(await broken()).toEqual([]);
    put('pre-push', renderHook(`${toScript('pre-push')}# of old\n`, source.program, project.hash));
    put('post-checkout', '#!/bin/sh\nteddy hook post-checkout -- "$@"\n');
    expect(await broken()).toEqual([]);
  });

  test.each<[string, () => unknown, string]>([
    ['is missing', () => project.hooked.files.delete(`${dir}/pre-push`), `${dir}/pre-push is missing`],
    ['was replaced', () => put('pre-push', '#!/bin/sh\n'), `${dir}/pre-push no longer calls teddy`],
    [
      'was edited by somebody',
      () => put('commit-msg', `${project.hooked.files.get(`${dir}/commit-msg`)?.text}exit 1\n`),
      `${dir}/commit-msg was changed since teddy installed it`,
    ],
    [
      'was disabled by an empty path',
      () => (project.hooked.place = { dir: '', kind: 'own', origin: 'local .git/config' }),
      `${dir}/prepare-commit-msg is not run: git runs no hooks (core.hooksPath, local .git/config)`,
    ],
    [
      'is not executable',
      () => put('pre-push', project.hooked.files.get(`${dir}/pre-push`)?.text ?? '', false),
      `${dir}/pre-push is not executable, so git ignores it`,
    ],
    [
      'calls a missing program',
      () => (isOnPath = false),
      `${source.program.main} no longer exists, but the hooks start teddy from there`,
    ],
    [
      'is outside git’s hooks directory',
      () => (project.hooked.place = { dir: '/repo/.husky/_', kind: 'work-tree', origin: 'local .git/config' }),
      `${dir}/prepare-commit-msg is not run: git looks for hooks in /repo/.husky/_ (core.hooksPath, local .git/config)`,
    ],
    [
      'is disabled',
      () => (project.hooked.place = { dir: '/dev/null', kind: 'own', origin: 'global ~/.gitconfig' }),
      `${dir}/prepare-commit-msg is not run: git runs no hooks (core.hooksPath, global ~/.gitconfig)`,
    ],
  ])('do not work if one %s', async (_, harm, told) => {
    await harm();
    expect(await broken()).toEqual([told]);
  });

  test('by the project’s own authors may call teddy only in some of them', async () => {
    project.hooked.files.clear();
    project.hooked.place = { dir: '/repo/hooks', kind: 'work-tree', origin: 'local .git/config' };
    project.hooked.files.set('/repo/hooks/pre-push', { text: '#!/bin/sh\nteddy hook pre-push\n', isExecutable: true });
    expect(await examineHooks(project, source)).toMatchObject({
      found: [],
      notes: [
        expect.stringMatching(
          /^Hooks in \/repo\/hooks, by core.hooksPath .*, in the work tree: missing: .*; called: pre-push/,
        ),
      ],
    });
  });
});

describe('a commit', () => {
  let text: string;
  let writes: number;
  const file: MessageFile = {
    read: async () => text,
    write: async (changed) => void ((text = changed), (writes += 1)),
  };
  const commit = async (message: string, isEdited = false) => {
    [text, writes] = [message, 0];
    await addDuringTrailer(project, file, { isEdited, indexFile: null, listCaptured: async () => [] });
    return text;
  };

  test('on a line without a turn names the session and, if configured, has comments', async () => {
    const { session } = await newSession(project, { name: 'try it', switch: true });
    expect(await commit('Fix\n')).toBe(`Fix\n\nTeddy-During: ${session}\n`);
    project.configuration.set('core.commentchar', '§');
    const comment = Buffer.from('§').toString('latin1');
    expect(await commit(`Fix\n${comment} a\n`, true)).toBe(`Fix\n\nTeddy-During: ${session}\n${comment} a\n`);
  });

  test('during a merge, off the line or with a trailer is not changed', async () => {
    expect([await commit('Fix\n'), writes]).toEqual(['Fix\n', 0]);
    await newSession(project, { name: 'try it', switch: true });
    project.state.operation = 'merge';
    expect([await commit('Fix\n'), writes]).toEqual(['Fix\n', 0]);
    project.state.operation = 'cherry-pick';
    const once = await commit('Fix\n');
    expect(writes).toBe(1);
    expect([await commit(once), writes]).toEqual([once, 0]);
  });
});

describe('with teddy.assistedByHook, a commit', () => {
  let text = '';
  const file: MessageFile = { read: async () => text, write: async (changed) => void (text = changed) };
  /** The trailers that a commit with these files gets, without Teddy-During. */
  const commit = async (files: Record<string, string | null>, captured: RefName[] = [], message = 'Mine\n') => {
    await project.write(files);
    await project.stage(...Object.keys(files));
    text = message;
    await addDuringTrailer(project, file, { isEdited: false, indexFile: null, listCaptured: async () => captured });
    await project.commit(text);
    const added = text.slice(message.length).split('\n');
    return added.filter((line) => line !== '' && !line.startsWith('Teddy-During: '));
  };
  const plan = async (model: string, ...actions: string[]) => {
    await say(project, 'Do it', { ...scriptedModel(planOf(actions)), provider: 'openai', model });
    await run(project);
  };
  beforeEach(() => void project.configuration.set('teddy.assistedByHook', 'true'));

  test('on a line names the latest turn’s models if it changes a file of theirs, and otherwise no one', async () => {
    await start(project);
    expect(await commit({ 'a.txt': '1\n' })).toEqual([]);
    await plan('first', create('one.txt'));
    expect(await commit({ 'one.txt': 'mended\n' })).toEqual(['Assisted-by: teddy:first']);
    expect(text).toMatch(/^Mine\n\nTeddy-During: \S+ 01\nAssisted-by: teddy:first\n$/);
    expect(await commit({ 'a.txt': '2\n' })).toEqual([]);
    await plan('second', create('two.txt'));
    expect(await commit({ 'one.txt': 'again\n' })).toEqual([]);
    expect(await commit({ 'one.txt': 'more\n', 'two.txt': 'more\n' })).toEqual(['Assisted-by: teddy:second']);
  });

  test('names no one for a waiting plan, an undone turn, or an answer that a person brought', async () => {
    await start(project);
    await plan('undone', create('one.txt'));
    await undoTurn(project, {});
    expect(await commit({ 'one.txt': 'mine\n' })).toEqual([]);
    await say(project, 'Do it', { ...scriptedModel(planOf([create('two.txt')])), provider: 'openai', model: 'waits' });
    expect(await commit({ 'two.txt': 'mine\n' })).toEqual([]);
    await run(project, { approver: approver(['no']) });
    await say(project, 'Do it', planOf([create('three.txt')]));
    await run(project);
    expect(await commit({ 'three.txt': 'mine\n' })).toEqual([]);
  });

  test('names a conversation’s model if its command changed the file', async () => {
    await start(project);
    project.command.run = async () => {
      await project.write({ 'README.md': 'made\n' });
      return {};
    };
    const model = scriptedModel({ texts: [], calls: [command('c1', 'make')] }, 'Done.');
    await chat(project, 'Make it', { ...model, provider: 'openai', model: 'gpt-5' });
    expect(await commit({ 'other.txt': 'mine\n' })).toEqual([]);
    expect(await commit({ 'README.md': 'made, and mended\n' })).toEqual(['Assisted-by: teddy:gpt-5']);
  });

  test('on a user’s branch names other agents whose files it contains exactly as they left them', async () => {
    const { ref } = await captureTurns(project, 'claude-code', [
      { model: 'opus', files: { 'a.txt': 'by opus\n' } },
      { model: 'haiku', files: { 'b.txt': 'by haiku\n', 'a.txt': 'by both\n' } },
      { model: 'talker' },
    ]);
    const codex = await captureTurns(project, 'codex', [{ model: 'gpt-5', files: { 'c.txt': 'by codex\n' } }]);
    const all = [ref, codex.ref];
    expect(await commit({ 'b.txt': 'mine\n' }, all)).toEqual([]);
    expect(await commit({ 'b.txt': 'by haiku\n' }, [])).toEqual([]);
    expect(await commit({ 'b.txt': null }, all)).toEqual([]);
    expect(await commit({ 'a.txt': 'by both\n', 'b.txt': 'mine\n' }, all)).toEqual(['Assisted-by: Claude:haiku']);
    expect(await commit({ 'a.txt': 'by opus\n', 'c.txt': 'by codex\n' }, all)).toEqual([
      'Assisted-by: Claude:opus',
      'Assisted-by: Codex:gpt-5',
    ]);
    expect(text).toBe('Mine\n\nAssisted-by: Claude:opus\nAssisted-by: Codex:gpt-5\n');
  });

  test('repeats no trailer, uses the setting’s form, and adds none if the setting or the hook is off', async () => {
    const { ref } = await captureTurns(project, 'pi', [{ model: 'é', files: { 'a.txt': 'a\n', 'b.txt': 'b\n' } }]);
    const bytes = (words: string) => Buffer.from(words).toString('latin1');
    const message = bytes('Mine\n\nAssisted-by: pi:é sparse\n');
    expect(await commit({ 'a.txt': 'a\n' }, [ref], message)).toEqual([]);
    project.configuration.set('teddy.assistedBy', 'Generated-by: {model}');
    expect(await commit({ 'b.txt': 'b\n' }, [ref])).toEqual([bytes('Generated-by: é')]);
    project.configuration.set('teddy.assistedBy', 'false');
    expect(await commit({ 'b.txt': null }, [ref])).toEqual([]);
    expect(await commit({ 'b.txt': 'b\n' }, [ref])).toEqual([]);
    project.configuration.delete('teddy.assistedBy');
    project.configuration.set('teddy.assistedByHook', 'false');
    expect(await commit({ 'b.txt': null }, [ref])).toEqual([]);
    expect(await commit({ 'b.txt': 'b\n' }, [ref])).toEqual([]);
  });

  test('keeps its session and turn if a setting is invalid, which is reported', async () => {
    await start(project);
    await plan('gpt-5', create('one.txt'));
    project.configuration.set('teddy.assistedBy', 'Signed-off-by: {model}');
    expect(await commit({ 'one.txt': 'mine\n' })).toEqual([]);
    expect(text).toMatch(/^Mine\n\nTeddy-During: \S+ 01\n$/);
    expect(project.said.at(-1)).toMatch(/^warning: No model is named in the commit: teddy\.assistedBy is /);
  });
});

test('the place is shown on a line, but neither off it nor in the middle of a rebase', async () => {
  expect(await describePlace(project)).toBeNull();
  const { session } = await newSession(project, { name: 'try it', switch: true });
  expect(await describePlace(project)).toEqual({ session, line: null, turn: null });
  project.state.operation = 'rebase';
  expect(await describePlace(project)).toBeNull();
});

test('git’s lines about a push are parsed one by one, including deletions and new branches', () => {
  const [a, b, zero] = ['a', 'b', '0'].map((digit) => digit.repeat(40));
  const told = `refs/heads/x ${a} refs/heads/y ${zero}\n(delete) ${zero} refs/heads/z ${b}\n`;
  expect(parsePushedRefs(told)).toEqual([
    { from: 'refs/heads/x', tip: a, to: 'refs/heads/y', remote: null },
    { from: '(delete)', tip: null, to: 'refs/heads/z', remote: b },
  ]);
  expect(parsePushedRefs('')).toEqual([]);
});

/** A conversation's command whose process was killed: its writes in `.teddy/` are never taken for the user's edits. */
import { describe, expect, test } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { shortRef } from '../../../src/names.ts';
import { appendRecords } from '../../../src/workflow/line/append-records.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { newSession } from '../../../src/workflow/line/new-session.ts';
import { previewRequest } from '../../../src/workflow/turn/plan.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { beginWrite } from '../../../src/workflow/writes/begin.ts';
import { given } from '../../support/given.ts';
import { chat, command } from '../../support/chat.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { recordsOf, user } from '../../support/records.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { callTool } from '../../support/tool-calls.ts';
import { line, run, say, session, start, storyOfLine } from '../../support/turns.ts';

const own = `.teddy/sessions/${session}/session.context`;
const memos = '.teddy/memos.yaml';
const evil = { [memos]: '- "evil fact"\n', '.teddy/global.context': '**\n', [own]: '.env\n' };
const group = { id: 4711, startedAt: '1' };

/** The command has finished its work, and nothing cleans up after it: its files stay. */
async function openKilled(writes: Record<string, string | null> = evil): Promise<MemoryProject> {
  const project = await given.session({ 'README.md': '# Notes\n' });
  await kill(project, () => project.write(writes));
  return project;
}

/** A conversation that is killed in its command. */
async function kill(
  project: MemoryProject,
  work: () => Promise<void>,
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<void> {
  const { answers } = project;
  // A killed process loses its right to the turn.
  project.answers = { ...answers, claim: async () => ({ release: async () => undefined }) };
  await new Promise<void>((resolve, reject) => {
    project.command.run = async () => {
      await work();
      resolve();
      return new Promise<never>(() => undefined);
    };
    const model = scriptedModel({ texts: [''], meanwhile, calls: [command('call_1', 'make')] });
    chat(project, 'Do it', model).catch(reject);
  });
  project.command.run = async () => ({});
  project.answers = answers;
  for (const one of [...project.noted, ...project.staged]) one.isAlive = false;
}

async function textsOf(project: MemoryProject): Promise<Record<string, string | null>> {
  const paths = [...Object.keys(evil), '.teddy/config.yaml'];
  return Object.fromEntries(await Promise.all(paths.map(async (path) => [path, await project.read(path)])));
}

const warnings = (project: MemoryProject) => project.said.filter((text) => text.startsWith('warning: '));
const isRunning = (project: MemoryProject, running: boolean) => {
  const { shellOf } = project;
  project.shellOf = (root) => ({
    ...shellOf(root),
    findRunning: async ({ id }) => (running && id === group.id ? [-id] : []),
  });
};

/** Every command that continues the line, and must not build on the leftovers. */
const commands: [string, (project: MemoryProject) => Promise<unknown>][] = [
  ['chat', (project) => chat(project, 'And now?', 'Fine.')],
  ['plan', (project) => say(project, 'And now?', 'Fine.')],
  ['plan without a message', (project) => say(project, undefined, 'Fine.')],
  ['execute', (project) => run(project).catch(expectCode('NO_PENDING_PLAN'))],
  ['say', (project) => appendRecords(project, { records: [user('more', 'And this')] })],
  [
    'write',
    (project) => beginWrite(project, { intent: 'x', target: 'b.txt', operation: 'create', hasController: false }),
  ],
  ['branch', (project) => branchSession(project, { turn: '01', switch: true }).catch(expectCode('UNKNOWN_TURN'))],
  ['undo', (project) => undoTurn(project, {}).catch(expectCode('NOTHING_TO_UNDO'))],
  ['new', (project) => newSession(project, { name: 'other', switch: true })],
];

function expectCode(code: string): (error: unknown) => void {
  return (error) => expect(error).toMatchObject({ code });
}

describe('a killed command in a conversation', () => {
  test.each(commands)('leaves nothing in .teddy/ that %s builds on', async (_, go) => {
    const project = await openKilled({ ...evil, 'a.txt': 'made\n' });
    const before = await textsOf(await started());
    const global = await project.tipOf('teddy/global');
    await go(project);
    expect(await textsOf(project)).toEqual(before);
    expect(await project.tipOf('teddy/global')).toBe(global);
    expect((await storyOfLine(project)).filter((entry) => entry.startsWith('snapshot'))).toEqual([]);
    expect(await project.read('a.txt')).toBe('made\n');
    expect(project.noted).toEqual([]);
    expect(warnings(project)[0]).toMatch(
      /^warning: An interrupted command, or you since then, changed .*memos\.yaml.*\. Commands may not change \.teddy\/, so the change was reverted\. If the edit was yours, `git show [0-9a-f]{40}:<path>` has the text\.$/,
    );
    expect(warnings(project).filter((text) => text.includes('Commands may not change'))).toHaveLength(1);
  });

  test('is closed on the line after that, and the conversation continues', async () => {
    const project = await openKilled();
    await chat(project, undefined, 'It is done.');
    const types = (await recordsOf(project)).map((record) =>
      record.type === 'tool_result' ? `${record.type} ${record.reason}` : record.type,
    );
    expect(types).toEqual(['user', 'tool_use', 'tool_result recovered', 'assistant']);
    const said = warnings(project);
    expect(said.findIndex((text) => text.includes('Commands may not change'))).toBe(0);
    expect(said[1]).toContain('1 tool call from an interrupted command');
  });

  test('leaves the user’s earlier edits as they were, byte for byte', async () => {
    const project = await given.session({ 'README.md': '# Notes\n' });
    const mine = { [memos]: '- mine\n', '.teddy/config.yaml': '' };
    const worst = { ...evil, '.teddy/config.yaml': 'model: evil\n' };
    await kill(
      project,
      () => project.write(worst),
      () => project.write(mine),
    );
    await run(project).catch(expectCode('NO_PENDING_PLAN'));
    expect(await textsOf(project)).toMatchObject(mine);
    expect(await project.read(own)).not.toBe(evil[own]);
  });

  test('refuses everything on the line while it is still running, and changes nothing', async () => {
    const project = await openKilled();
    for (const one of project.noted) Object.assign(one.facts ?? {}, { group });
    isRunning(project, true);
    const [story, said] = [await storyOfLine(project), project.said.length];
    for (const [name, go] of commands) {
      if (name === 'execute' || name === 'branch' || name === 'undo') continue;
      await expect(go(project), name).rejects.toMatchObject({
        code: 'LOCKED',
        message:
          'A command in turn 01 is still running (process group 4711); the conversation that started it was killed.',
        hint: 'Wait for it, or stop it: `kill -- -4711`.',
      });
    }
    const { shellOf } = project;
    project.shellOf = (root) => ({ ...shellOf(root), findRunning: async () => [12, 34] });
    await expect(say(project, 'And now?', 'Fine.')).rejects.toMatchObject({
      code: 'LOCKED',
      message:
        'A command in turn 01 is still running (outside its process group, as 12, 34); the conversation that started it was killed.',
      hint: 'Wait for it, or stop it: `kill -- 12 34`.',
    });
    project.shellOf = shellOf;
    expect(await textsOf(project)).toMatchObject(evil);
    expect(await storyOfLine(project)).toEqual(story);
    expect(project.said.slice(said)).toEqual([]);
    expect(project.staged).toHaveLength(1);
    isRunning(project, false);
    await chat(project, undefined, 'It is done.');
    expect(await project.read(memos)).toBe('');
  });

  test('is not looked at while its process is running', async () => {
    const project = await openKilled();
    for (const one of project.noted) one.isAlive = true;
    await appendRecords(project, { records: [user('more', 'And this')] });
    expect(await textsOf(project)).toMatchObject(evil);
    expect(project.noted).toHaveLength(1);
  });

  test('whose note is damaged stops every line, and names the note; nothing is restored', async () => {
    const project = await openKilled();
    for (const one of project.noted) one.facts = null;
    await expect(chat(project, undefined, 'Fine.')).rejects.toMatchObject({
      code: 'DAMAGED_SESSION',
      message: 'The note about an interrupted command cannot be read: /journal/command-0.json.',
      hint: 'Look at `git diff HEAD -- .teddy`, revert what is not yours, then remove the note: `rm /journal/command-0.json`.',
    });
    expect(await textsOf(project)).toMatchObject(evil);
    expect(project.noted).toHaveLength(1);
  });

  test('stops anyone who uses its work tree on another line, and is repaired where it ran', async () => {
    const project = await memoryProject({ 'README.md': '# Notes\n' });
    const other = await newSession(project, { name: 'other', switch: false });
    await start(project);
    await kill(project, async () => undefined);
    await project.switchTo(shortRef(other.ref));
    await project.write({ [memos]: evil[memos] });
    for (const selector of [undefined, session])
      await expect(say(project, 'Go on', 'Fine.', { selector })).rejects.toMatchObject({
        code: 'RUN_INTERRUPTED',
        hint: expect.stringContaining(`switch ${line}`) as string,
      });
    expect(await project.read(memos)).toBe(evil[memos]);
    await project.write({ [memos]: '' });
    await project.switchTo(line);
    await project.write({ [memos]: evil[memos] });
    await say(project, 'Go on', 'Fine.');
    expect(await project.read(memos)).toBe('');
    await project.switchTo(shortRef(other.ref));
    await say(project, 'Go on', 'Fine.');
  });

  test('does not make its lists trusted: a preview is refused until they are restored', async () => {
    const project = await openKilled();
    const choice = { provider: 'recorded' as const, name: 'scripted', parameters: {}, model: null };
    await expect(previewRequest(project, { message: 'Hi', choice })).rejects.toMatchObject({ code: 'RUN_INTERRUPTED' });
    expect(await textsOf(project)).toMatchObject(evil);
    expect([...project.trusted]).toEqual([]);
  });

  test('is repaired on a branch that continues from its line as well', async () => {
    const project = await openKilled();
    await project.switchTo('mine', await project.tipOf(line));
    await project.write(evil);
    await say(project, 'Go on', 'Fine.');
    expect(await project.read(memos)).toBe('');
    expect(project.noted).toEqual([]);
  });

  test('is repaired even if its line has continued since, with its files', async () => {
    const project = await openKilled();
    await project.commit('All of it');
    await say(project, 'Go on', 'Fine.');
    expect(await project.read(memos)).toBe('');
    expect(await project.readAt(await project.tipOf(line), memos)).toBe('');
    expect(project.noted).toEqual([]);
  });

  test('is forgotten with a warning if its work tree no longer exists', async () => {
    const project = await openKilled({});
    for (const { facts } of project.noted) Object.assign(facts ?? {}, { root: '/gone', isLinked: true });
    await say(project, undefined, 'Fine.');
    expect(warnings(project)[0]).toBe(
      'warning: /gone is gone, so the command in turn 01 that was interrupted there is forgotten.',
    );
    expect(project.noted).toEqual([]);
  });

  test('whose changes could not be reverted stops everything else, and is retried', async () => {
    const project = await openKilled();
    const { workspace } = project.repository;
    const { writeSessionFile } = workspace;
    workspace.writeSessionFile = () => Promise.reject(new TeddyError('WRITE_FAILED', 'No room.'));
    await expect(say(project, 'Go on', 'Fine.')).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    expect(project.noted).toHaveLength(1);
    expect(project.staged).toHaveLength(1);
    workspace.writeSessionFile = writeSessionFile;
    await say(project, 'Go on', 'Fine.').catch(expectCode('TURN_OPEN'));
    expect(await project.read(memos)).toBe('');
  });
});

describe('a command’s note', () => {
  test('exists before the command starts, with its line, turn and work tree, and is removed after it', async () => {
    const project = await started();
    const seen: unknown[] = [];
    project.command.run = async () => (seen.push(...structuredClone(project.noted)), {});
    await callTool(project, 'run_command', { command: 'make' });
    expect(seen).toMatchObject([
      {
        kind: 'command',
        facts: {
          session,
          turn: '01',
          ref: `refs/heads/${line}`,
          root: project.repository.workspace.root,
          isLinked: false,
        },
      },
    ]);
    expect(project.noted).toEqual([]);
  });

  test('is refused by a full disk, and then the command is not run', async () => {
    const project = await started();
    let isRun = false;
    project.command.run = async () => ((isRun = true), {});
    project.journal = { ...project.journal, open: () => Promise.reject(new TeddyError('DISK_FULL', 'No room.')) };
    const outcome = await callTool(project, 'run_command', { command: 'make' });
    expect(outcome).toEqual({ output: 'No room.', isError: true });
    expect(isRun).toBe(false);
  });

  test('stays if the command’s changes could not be reverted, so that no snapshot takes them', async () => {
    const project = await started();
    const { workspace } = project.repository;
    const { writeSessionFile } = workspace;
    project.command.run = async () => (await project.write(evil), {});
    workspace.writeSessionFile = () => Promise.reject(new TeddyError('WRITE_FAILED', 'No room.'));
    expect(await callTool(project, 'run_command', { command: 'make' })).toMatchObject({ isError: true });
    workspace.writeSessionFile = writeSessionFile;
    const global = await project.tipOf('teddy/global');
    await chat(project, 'And now?', 'Fine.');
    expect(await project.read(memos)).toBe('');
    expect(await project.tipOf('teddy/global')).toBe(global);
    expect(project.noted).toEqual([]);
  });
});

/** Before anything happened. */
const started = () => given.session({ 'README.md': '# Notes\n' });

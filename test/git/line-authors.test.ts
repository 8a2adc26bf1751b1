/** The authors of lines that git alone cannot determine. On real git. */
import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { AgentUnit } from '../../src/conversation/logs/agent-log.ts';
import type { Project } from '../../src/ports/project.ts';
import { archiveRef, type Oid, type RefName, type RepoPath } from '../../src/names.ts';
import { attributeLines, type Author } from '../../src/workflow/blame/attribute-lines.ts';
import { blameFile } from '../../src/workflow/blame/blame-file.ts';
import { startLine, type ForeignSession } from '../../src/workflow/capture/open-line.ts';
import { appendCode, readCode } from '../../src/workflow/capture/work-tree-snapshot.ts';
import type { BranchLine, FollowState } from '../../src/workflow/capture/decide-entries.ts';
import { toWhyDocument } from '../../src/workflow/blame/document.ts';
import { explainPlace } from '../../src/workflow/blame/why.ts';
import { renderWhy } from '../../src/cli/render/why.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { archiveSession } from '../../src/workflow/landing/archive-session.ts';
import { landSession } from '../../src/workflow/landing/land-session.ts';
import { appendRecords } from '../../src/workflow/line/append-records.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { branchSession } from '../../src/workflow/turn/branch-session.ts';
import { undoTurn } from '../../src/workflow/turn/undo.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { headOf, sessionScene } from '../support/session-scene.ts';
import { captureTurns, writeUnits } from '../support/captured-line.ts';
import { approver, command, create, edit, planOf, run, say } from '../support/turns.ts';
import { dropCopies, type CodeStep } from '../../src/workflow/blame/code-steps.ts';

let repo: ScratchRepository;
let project: Project;

const files = { 'a.txt': 'first\nsecond\nthird\nfourth\nfifth\nsixth\n' };

beforeEach(async () => {
  repo = await makeScratchRepository(files);
  project = await open();
});
afterEach(async () => {
  await project.repository.close();
  await repo.close();
});

const open = () =>
  openProject({ cwd: repo.root, env: process.env, notices: { info: () => undefined, warn: () => undefined } });

const scenes = new Map<string, () => Promise<ScratchRepository>>();

/** In place of the repository: one with a session that had these turns, each with one action. */
async function begin(...actions: string[]): Promise<string> {
  const key = actions.join('\n');
  const turns = actions.map((action) => [action]);
  const openScene = scenes.get(key) ?? sessionScene({ files, name: 'one', turns });
  scenes.set(key, openScene);
  await replaceWith(await openScene());
  return (await headOf(repo)).replace('refs/heads/teddy/', '');
}

async function replaceWith(other: ScratchRepository): Promise<void> {
  await project.repository.close();
  await rm(repo.root, { recursive: true });
  repo = other;
  project = await open();
}

async function turn(...actions: string[]): Promise<void> {
  await say(project, 'Do it', planOf(actions));
  await run(project);
}

/** `<text> <author>` for each line; `~` for an author found by content. */
async function blame(path = 'a.txt', revision: string | null = null): Promise<string[]> {
  const commit = revision === null ? null : await project.repository.store.resolve(revision);
  const query = { path: path as RepoPath, commit, ranges: [] };
  const { runs } = await attributeLines({ repository: project.repository }, query);
  return runs.flatMap(({ texts, author }) => {
    const name = author.kind === 'turn' ? `${author.session.slice(9)} ${author.turn}` : author.kind;
    const mark = 'byContent' in author && author.byContent ? '~' : '';
    return texts.map((text) => `${text}: ${mark}${name}`);
  });
}

const onMain = () => repo.git('switch', '--quiet', 'main');
const person = (...texts: string[]) => texts.map((text) => `${text}: person`);

test('a line is traced from its landing to the archived session, and a person’s line stays theirs', async () => {
  const session = await begin(edit('a.txt', 'second', 'second by the model'));
  await repo.write('a.txt', (await repo.read('a.txt')).replace('third', 'third by hand'));
  await turn(edit('a.txt', 'fifth', 'fifth by the model'));
  await onMain();
  await landSession(project, { target: session });
  await archiveSession(project, session);
  expect(await blame()).toEqual([
    'first: person',
    'second by the model: one 01',
    'third by hand: person',
    'fourth: person',
    'fifth by the model: one 02',
    'sixth: person',
  ]);
  await repo.write('a.txt', (await repo.read('a.txt')).replace('sixth', 'sixth, not committed'));
  expect((await blame()).at(-1)).toBe('sixth, not committed: uncommitted');
  expect((await blame('a.txt', 'HEAD')).at(-1)).toBe('sixth: person');
});

test('a clone without the archive calls landed lines unknown, until it has the session’s line', async () => {
  const session = await begin(edit('a.txt', 'second', 'second by the model'));
  await onMain();
  await landSession(project, { target: session });
  const bundle = `${repo.root}/.git/line.bundle`;
  await repo.git('bundle', 'create', '--quiet', bundle, `refs/heads/teddy/${session}`);
  await repo.git('branch', '--quiet', '-D', `teddy/${session}`);
  await repo.git('update-ref', '-d', archiveRef(`refs/heads/teddy/${session}` as RefName));
  await repo.git('reflog', 'expire', '--expire=now', '--all');
  await repo.git('gc', '--quiet', '--prune=now');
  await project.repository.close();
  project = await open();
  expect(await blame()).toContain('second by the model: unknown');
  await repo.git('fetch', '--quiet', bundle, `refs/heads/teddy/*:refs/heads/teddy/*`);
  expect(await blame()).toContain('second by the model: one 01');
});

test('undone lines belong to their first author', async () => {
  await begin(edit('a.txt', 'second', 'second by turn one'));
  await turn(edit('a.txt', 'second by turn one', 'second by turn two'), edit('a.txt', 'fifth', 'fifth by turn two'));
  await undoTurn(project, {});
  expect((await blame()).slice(1, 5)).toEqual(['second by turn one: one 01', ...person('third', 'fourth', 'fifth')]);
});

test('a copy of an undo, on a branch that had the turn already, restores the first author’s lines', async () => {
  const session = await begin(edit('a.txt', 'second', 'second by the model'));
  await onMain();
  await landSession(project, { target: session });
  await repo.git('switch', '--quiet', `teddy/${session}`);
  await undoTurn(project, {});
  await onMain();
  await repo.git('cherry-pick', '--keep-redundant-commits', '--allow-empty', `main..teddy/${session}`);
  expect((await blame()).slice(0, 2)).toEqual(person('first', 'second'));
});

test('a revert of a revert restores the landed turn’s lines', async () => {
  const session = await begin(edit('a.txt', 'second', 'second by the model'));
  await onMain();
  await landSession(project, { target: session });
  await repo.git('revert', '--no-edit', 'HEAD');
  await repo.git('revert', '--no-edit', 'HEAD');
  expect((await blame())[1]).toBe('second by the model: ~one 01');
});

test('lines that only an amended undo has are unknown', async () => {
  await begin(edit('a.txt', 'second', 'second by the model'));
  await undoTurn(project, {});
  await repo.write('a.txt', 'neither: it was amended\n');
  await repo.git('commit', '--quiet', '--all', '--amend', '--no-edit');
  expect(await blame()).toEqual(['neither: it was amended: unknown']);
});

test.each([
  ['unchanged', async () => undefined],
  [
    'after the branch had continued',
    async () => {
      await repo.write('a.txt', (await repo.read('a.txt')).replace('first', 'first, meanwhile'));
      await repo.git('commit', '--quiet', '--all', '-m', 'Meanwhile');
    },
  ],
])('a squash that names no session is found by its content, %s', async (_, meanwhile) => {
  const session = await begin();
  const long = 'the third line, as long as a model would write it';
  await turn(edit('a.txt', 'third', long), create('new.txt', 'all of it\nis new\nand by the model\n'));
  await onMain();
  await meanwhile();
  await repo.git('merge', '--quiet', '--squash', `teddy/${session}`);
  await repo.git('commit', '--quiet', '-m', 'One change (#1)');
  expect(await blame()).toContain(`${long}: ~one 01`);
  expect((await blame()).filter((line) => line.endsWith(': person'))).toHaveLength(5);
  expect(await blame('new.txt')).toEqual(['all of it: ~one 01', 'is new: ~one 01', 'and by the model: ~one 01']);
});

test('a squash whose message ends in an entry’s trailers is not an entry', async () => {
  const session = await begin(edit('a.txt', 'third', 'third by turn one'));
  await turn(edit('a.txt', 'fifth', 'fifth by turn two'));
  const messages = await repo.git('log', '--reverse', '--format=* %B', `main..teddy/${session}`);
  await onMain();
  await repo.git('merge', '--quiet', '--squash', `teddy/${session}`);
  await repo.git('commit', '--quiet', '-m', `One change (#1)\n\n${messages}`);
  expect(await blame()).toEqual(expect.arrayContaining(['third by turn one: ~one 01', 'fifth by turn two: ~one 02']));
});

test('the same version in two attempts is unknown, unless the other files distinguish them', async () => {
  const session = await begin();
  await turn(create('same.txt', 'the same\nin both\n'));
  await branchSession(project, { turn: '01', switch: true } as Parameters<typeof branchSession>[1]);
  await turn(create('same.txt', 'the same\nin both\n'), create('other.txt', 'only here\n'));
  const branch = await repo.git('branch', '--show-current');
  await onMain();
  await repo.write('same.txt', 'the same\nin both\n');
  await repo.git('add', 'same.txt');
  await repo.git('commit', '--quiet', '-m', 'By hand, perhaps');
  expect(await blame('same.txt')).toEqual(['the same: unknown', 'in both: unknown']);
  await repo.git('reset', '--quiet', '--hard', 'main~1');
  await repo.git('merge', '--quiet', '--squash', branch);
  await repo.git('commit', '--quiet', '-m', 'Squash');
  expect(branch).toBe(`teddy/${session}--01-branch-01`);
  expect(await blame('same.txt')).toEqual(['the same: ~one 01-branch-01', 'in both: ~one 01-branch-01']);
});

test('a copy of a step is the same step, and steps on no branch do not count', async () => {
  const session = await begin(edit('a.txt', 'third', 'third by turn one'));
  const report = (await repo.git('rev-parse', 'HEAD')).trim();
  await onMain();
  await repo.git('switch', '--quiet', '-c', 'copy');
  const later = { ...process.env, GIT_COMMITTER_DATE: `@${Math.floor(Date.now() / 1000) + 1} +0000` };
  execFileSync('git', ['cherry-pick', report], { cwd: repo.root, env: later, stdio: 'ignore' });
  await onMain();
  execFileSync('git', ['merge', '--quiet', '--squash', `teddy/${session}`], { cwd: repo.root, stdio: 'ignore' });
  await repo.git('rm', '--quiet', '-rf', '.teddy');
  execFileSync('git', ['commit', '--quiet', '-m', 'One change (#1)'], {
    cwd: repo.root,
    env: { ...later, GIT_COMMITTER_DATE: `@${Math.floor(Date.now() / 1000) + 2} +0000` },
  });
  expect(await blame()).toContain('third by turn one: ~one 01');
  await repo.git('branch', '--quiet', '-D', `teddy/${session}`);
  expect(await blame()).toContain('third by turn one: ~one 01');
  await repo.git('branch', '--quiet', '-D', 'copy');
  expect(await blame()).toContain('third by turn one: person');
});

test('a line that was landed counts without its branch', async () => {
  const session = await begin(edit('a.txt', 'third', 'third by turn one'));
  expect(await blame()).toContain('third by turn one: one 01');
  await onMain();
  await landSession(project, { target: session });
  await repo.git('branch', '--quiet', '-D', `teddy/${session}`);
  expect(await blame()).toContain('third by turn one: one 01');
});

test('a short line that a session contains as well proves nothing', async () => {
  await begin();
  await turn(edit('a.txt', 'third', 'return;'));
  await onMain();
  await repo.write('a.txt', (await repo.read('a.txt')).replace('second', 'return;').replace('sixth', 'seventh'));
  await repo.git('commit', '--quiet', '--all', '-m', 'By hand');
  expect(await blame()).toEqual([
    'first: person',
    'return;: unknown',
    ...person('third', 'fourth', 'fifth', 'seventh'),
  ]);
});

test('an action that the user edited before it ran is partly the user’s', async () => {
  await begin();
  await say(project, 'Do it', planOf([create('new.txt', 'planned\nplanned as well\n')]));
  await run(project, { approver: approver([{ decision: 'yes', edited: 'planned\nchanged by the user\n' }]) });
  expect(await blame('new.txt')).toEqual(['planned: one 01', 'changed by the user: person']);
});

test('an amendment to a report is unknown, and a cherry-picked report is the turn’s like the original', async () => {
  await begin(edit('a.txt', 'second', 'second by turn one'));
  await turn(command('sed -i "s/fifth/fifth by a command/" a.txt'));
  const report = (await repo.git('rev-parse', 'HEAD')).trim();
  await repo.write('a.txt', (await repo.read('a.txt')).replace('sixth', 'sixth, amended'));
  await repo.git('commit', '--quiet', '--all', '--amend', '--no-edit');
  expect((await blame()).slice(1)).toEqual([
    'second by turn one: one 01',
    ...person('third', 'fourth'),
    'fifth by a command: one 02',
    'sixth, amended: unknown',
  ]);
  await onMain();
  execFileSync('git', ['cherry-pick', '--strategy-option=theirs', report], { cwd: repo.root, stdio: 'ignore' });
  expect(await blame()).toContain('fifth by a command: one 02');
});

test('an untracked file that a plan edited is the person’s except for the edit', async () => {
  await begin();
  await repo.write('notes.txt', 'mine\nmine too\n');
  await turn(edit('notes.txt', 'mine too', 'by the model'));
  expect(await blame('notes.txt')).toEqual(['mine: person', 'by the model: one 01']);
});

test('a file made by a plan’s command is the turn’s; one left by a chat’s command is unknown', async () => {
  await begin();
  await turn(command('echo made > made.txt'));
  expect(await blame('made.txt')).toEqual(['made: one 01']);
  const said = (role: string, content: string) => ({ type: role, message: { role, content } });
  for (const records of [
    [said('user', 'Run it')],
    [
      { type: 'tool_use', tool_call_id: 'c1', tool_name: 'run_command', tool_input: {} },
      { type: 'tool_result', tool_call_id: 'c1', output: 'done', is_error: false, changed_files: ['a.txt'] },
    ],
    [said('assistant', 'Done.')],
  ])
    await appendRecords(project, { records } as never);
  await repo.write('a.txt', (await repo.read('a.txt')).replace('third', 'by the command, or by hand'));
  await turn(create('b.txt'));
  expect((await blame())[2]).toBe('by the command, or by hand: unknown');
});

test('a commit dated too late is not part of the session on top of it', async () => {
  await repo.write('a.txt', (await repo.read('a.txt')).replace('second', 'a second line by hand'));
  const later = { ...process.env, GIT_COMMITTER_DATE: '2090-01-01T00:00:00Z' };
  execFileSync('git', ['commit', '--quiet', '--all', '-m', 'By hand'], { cwd: repo.root, env: later });
  await newSession(project, { name: 'one', switch: true });
  await turn(edit('a.txt', 'a second line by hand', 'a second line by the model'));
  await turn(edit('a.txt', 'a second line by the model', 'a second line by hand'));
  await onMain();
  expect(await blame()).toContain('a second line by hand: person');
});

test('the cache is never required, and never trusted for new commits', async () => {
  const session = await begin(edit('a.txt', 'second', 'second by the model'));
  await onMain();
  await landSession(project, { target: session });
  const before = await blame();
  await repo.git('switch', '--quiet', `teddy/${session}`);
  await turn(edit('a.txt', 'fourth', 'fourth by the model'));
  await onMain();
  await landSession(project, { target: session });
  expect(await blame()).toEqual(
    before.map((line) => (line.startsWith('fourth') ? 'fourth by the model: one 02' : line)),
  );
  const after = await blame();
  await project.repository.cache.write('code-steps', [new TextEncoder().encode('{"version":0}')]);
  expect(await blame()).toEqual(after);
});

/** `<text>: <author> <- <guess>` for each line on disk, and the problems in the configuration. */
async function guesses(place = 'a.txt'): Promise<{ lines: string[]; problems: string[] }> {
  const { runs, problems } = await blameFile(project, { place });
  const nameOf = (author: Author) =>
    author.kind === 'turn' ? `${author.session.slice(9)} ${author.turn}` : author.kind;
  const lines = runs.flatMap(({ texts, author, guess }) =>
    texts.map((text) => `${text}: ${nameOf(author)}${guess === undefined ? '' : ` <- ${nameOf(guess)}`}`),
  );
  return { lines, problems };
}

test('past a commit in blame.ignoreRevsFile, the author is guessed beside the certain one', async () => {
  const session = await begin();
  await turn(edit('a.txt', 'second', 'return    2'), edit('a.txt', 'fifth', '}'));
  await onMain();
  await landSession(project, { target: session });
  await repo.write('a.txt', 'first\nreturn 2\nthird, quite another\nfourth\n  }\nsixth\n');
  await repo.git('commit', '--quiet', '--all', '-m', 'Format');
  const format = await repo.git('rev-parse', 'HEAD');
  const certain = ['first', 'return 2', 'third, quite another', 'fourth', '  }', 'sixth'].map(
    (text) => `${text}: person`,
  );
  const guessed = certain.map((line, at) => (at === 1 || at === 4 ? `${line} <- one 01` : line));
  const expectGuesses = async (lines: string[], ...problems: string[]) => {
    const found = await guesses();
    expect({ ...found, lines: found.lines.map((line) => line.replace(/(third.*) <- person/, '$1')) }).toEqual({
      lines,
      problems,
    });
  };
  await expectGuesses(certain);
  await repo.write('.revs', `# Formatters\n\n${format} # by hand\n${'1'.repeat(40)}\n`);
  await repo.write('.others', `${format.slice(0, 12)}\nnot-a-commit\n`);
  await repo.git('config', 'blame.ignoreRevsFile', '.revs');
  await expectGuesses(guessed);
  await repo.write('a.txt', `${await repo.read('a.txt')}seventh\n`);
  expect((await guesses('a.txt:5-7')).lines).toEqual([guessed[4], guessed[5], 'seventh: uncommitted']);
  await repo.git('restore', 'a.txt');
  const terminal = { columns: 200, style: (_: string, text: string) => text } as unknown as Terminal;
  expect(renderWhy(terminal, await explainPlace(project, { place: 'a.txt:2' }))).toMatch(
    /\nBy .*: Format\nGuess {5}before that, turn 01 of \S+-one, .*, as git guesses past a commit in blame\.ignoreRevsFile\n/,
  );
  expect(toWhyDocument(await explainPlace(project, { place: 'a.txt:2' })).stories).toMatchObject([
    { kind: 'person', guess: { kind: 'turn', turn: { session, turn: '01' } } },
  ]);
  await repo.git('config', '--add', 'blame.ignoreRevsFile', '');
  await expectGuesses(certain);
  await repo.git('config', '--add', 'blame.ignoreRevsFile', `${repo.root}/.others`);
  await repo.git('config', '--add', 'blame.ignoreRevsFile', 'missing');
  await expectGuesses(
    guessed,
    'blame.ignoreRevsFile names missing, which cannot be read, so teddy ignores it.',
    `${repo.root}/.others names "not-a-commit", which is not a commit in this repository.`,
  );
});

interface Agent {
  line: BranchLine;
  /** `late`: the drainer ran when the agent was working already. */
  ask(text: string, options?: { late: boolean }): Promise<void>;
  /** The agent has called a tool for this file; null if it only answers. */
  end(file?: string | null): Promise<void>;
}

/** An agent that works in this work tree, according to its log. */
async function capture(id = 's1'): Promise<Agent> {
  const foreign: ForeignSession = {
    agent: 'claude-code',
    id,
    cwd: repo.root,
    startedAt: new Date().toISOString(),
  };
  let [count, number] = [0, 0];
  const record = (more: object) => ({ id: `${id}r${(count += 1)}`, timestamp: new Date().toISOString(), ...more });
  const toUnit = (kind: AgentUnit['kind'], ...records: object[]) =>
    ({ kind, branch: 0, records: records.map(record), model: 'claude-opus' }) as unknown as AgentUnit;
  const message = (text: string) =>
    toUnit('message', { type: 'user', message: { role: 'user', content: text }, source: 'import' });
  const line = await startLine(project, foreign, message(id));
  const workspace = project.repository.workspace!;
  let state: FollowState | undefined;
  const add = async (...units: AgentUnit[]) => {
    state = await writeUnits(project, line, units, state);
  };
  const snapshot = async (turnName: string | null) => {
    const code = (await readCode(project, workspace))!;
    await appendCode(project, line, code, { turn: turnName as never, whose: 'changed' });
  };
  const callFor = (file: string) =>
    toUnit(
      'exchange',
      { type: 'tool_use', tool_call_id: `c${count}`, tool_name: 'Edit', tool_input: { file_path: file } },
      { type: 'tool_result', tool_call_id: `c${count}`, output: 'ok', is_error: false },
    );
  return {
    line,
    async ask(text, { late } = { late: false }) {
      if (!late) await snapshot(null);
      number += 1;
      await add(message(text));
    },
    async end(file = 'a.txt') {
      const answer = { role: 'assistant', content: 'Done.' };
      await add(
        file === null ? toUnit('reply', { type: 'assistant', message: answer, source: 'import' }) : callFor(file),
      );
      await snapshot(`0${number}`);
    },
  };
}

const change = async (from: string, to: string, file = 'a.txt') =>
  repo.write(file, (await repo.read(file)).replace(from, to));
const commitAll = async () => {
  await repo.git('add', '--all');
  await repo.git('commit', '--quiet', '-m', 'By the user');
};
const long = ['one', 'two', 'three', 'four', 'five', 'six'].map((word) => `the agent wrote line ${word}`);

/** The lines with their authors; sessions by their agents' ids. */
const blameNew = async (file = 'new.txt') =>
  (await blame(file)).map((line) => line.replace('the agent wrote line ', '').replace('claude-code-', ''));

test.each([
  ['asks', {}],
  ['is captured late', { late: true }],
])('one agent’s lines stay its own if another only %s before the commit', async (_, options) => {
  const [one, two] = [await capture('s1'), await capture('s2')];
  await one.ask('Write it');
  await repo.write('new.txt', 'x\ny\n');
  await change('second', '}');
  await one.end('new.txt');
  await two.ask('What is it?', { late: false, ...options });
  await two.end(null);
  await commitAll();
  expect(await blameNew()).toEqual(['x: ~s1 01', 'y: ~s1 01']);
  expect((await blameNew('a.txt')).slice(0, 3)).toEqual(['first: person', '}: ~s1 01', 'third: person']);
});

test('agents that write one file in turns, with the user between them, each keep their lines', async () => {
  const agents: Agent[] = [];
  for (const at of long.keys()) {
    const agent = await capture(`s${at}`);
    agents.push(agent);
    await agent.ask('Go on');
    if (at === 0) await repo.write('new.txt', long.map((line) => `${line}\n`).join(''));
    else await change(long[at]!, `${long[at]} again`, 'new.txt');
    await agent.end('new.txt');
    if (at === 3) await change(long[0]!, 'by hand', 'new.txt');
  }
  await agents[1]!.ask('Go on where you were');
  await change('three again', 'three at last', 'new.txt');
  await agents[1]!.end('new.txt');
  await commitAll();
  expect(await blameNew()).toEqual([
    'by hand: person',
    'two again: ~s1 01',
    'three at last: ~s1 02',
    'four again: ~s3 01',
    'five again: ~s4 01',
    'six again: ~s5 01',
  ]);
});

test('a partial commit by the user is the agent’s if HEAD contains what it was based on', async () => {
  const [one, two] = [await capture('s1'), await capture('s2')];
  await one.ask('Change both');
  await change('second', 'by agent');
  await change('fifth', 'by agent');
  await one.end();
  await two.ask('Is it good?');
  await two.end(null);
  await repo.write('patch', (await repo.git('diff', '-U0', 'a.txt')).replace(/@@ -5[^]*$/, ''));
  await repo.git('apply', '--cached', '--unidiff-zero', 'patch');
  await repo.git('commit', '--quiet', '-m', 'Half of it');
  await repo.git('commit', '--quiet', '--all', '-m', 'The other half');
  await repo.git('commit', '--quiet', '--amend', '-m', 'The other half, in better words');
  const all = ['first: person', 'by agent: ~s1 01', ...person('third', 'fourth'), 'by agent: ~s1 01', 'sixth: person'];
  expect(await blameNew('a.txt')).toEqual(all);
});

test('restored bytes belong to the turn that first added them', async () => {
  const [one, two] = [await capture('s1'), await capture('s2')];
  await one.ask('Write it');
  await repo.write('new.txt', 'x\ny\n');
  await one.end('new.txt');
  await two.ask('Change it');
  await repo.write('new.txt', 'x\nz\n');
  await two.end('new.txt');
  await two.ask('Change it back');
  await repo.write('new.txt', 'x\ny\n');
  await two.end('new.txt');
  await commitAll();
  expect(await blameNew()).toEqual(['x: ~s1 01', 'y: ~s1 01']);
});

test('an agent’s unfinished work stays its own if another agent is asked meanwhile', async () => {
  const [one, two, three] = [await capture('s1'), await capture('s2'), await capture('s3')];
  await one.ask('Write it');
  await two.ask('And you?', { late: true });
  // Commit times are whole seconds.
  await sleep(1000);
  await repo.write('new.txt', 'x\ny\n');
  await three.ask('What is it?');
  await three.end(null);
  await repo.write('other.txt', 'z\n');
  await two.end('other.txt');
  await one.end('new.txt');
  await commitAll();
  expect(await blameNew()).toEqual(['x: ~s1 01', 'y: ~s1 01']);
  expect(await blameNew('other.txt')).toEqual(['z: ~s2 01']);
});

test('agents that write the same bytes at the same time cannot be told apart', async () => {
  const [one, two] = [await capture('s1'), await capture('s2')];
  await one.ask('Write it');
  await two.ask('Write it');
  await sleep(1000);
  await repo.write('new.txt', 'x\ny\n');
  await one.end('new.txt');
  await two.end('new.txt');
  await commitAll();
  expect(await blameNew()).toEqual(['x: unknown', 'y: unknown']);
});

test('a captured agent’s files in the work tree are its turn’s when the user commits them', async () => {
  const { ask, end } = await capture();
  await ask('Change the second line');
  await repo.write('a.txt', (await repo.read('a.txt')).replace('second', 'second by the agent'));
  await end();
  await repo.git('commit', '--quiet', '--all', '-m', 'Change a line');
  expect((await blame()).filter((line) => !line.endsWith('person'))).toEqual([
    expect.stringMatching(/^second by the agent: ~claude-code-\S+ 01$/) as string,
  ]);
  // The user continues by hand and commits; then the agent continues, and commits itself before its turn ends.
  await repo.write('a.txt', (await repo.read('a.txt')).replace('third', 'third by hand'));
  await repo.git('commit', '--quiet', '--all', '-m', 'By hand');
  await ask('Change the fifth line, and commit it');
  await repo.write('a.txt', (await repo.read('a.txt')).replace('fifth', 'fifth by the agent'));
  await repo.git('commit', '--quiet', '--all', '-m', 'By the agent');
  await end();
  expect(await blame()).toEqual([
    'first: person',
    expect.stringMatching(/^second by the agent: ~claude-code-\S+ 01$/) as string,
    'third by hand: person',
    'fourth: person',
    expect.stringMatching(/^fifth by the agent: ~claude-code-\S+ 02$/) as string,
    'sixth: person',
  ]);
});

/** The same for the file on disk; `+` for uncommitted lines. */
async function blameDisk(place: string): Promise<string[]> {
  const { runs } = await blameFile(project, { place });
  return runs.flatMap(({ line, texts, author, uncommitted = false }) => {
    const own = author.kind === 'uncommitted' && author.isOwn ? 'own edit' : author.kind;
    const name = author.kind === 'turn' ? `${author.session.slice(9).replace('claude-code-', '')} ${author.turn}` : own;
    return texts.map((text, at) => `${line + at} ${text}: ${uncommitted ? '+' : ''}${name}`);
  });
}

test('before the commit, a line is the turn’s if its newest snapshot has it, or else the user’s', async () => {
  const [one, two] = [await capture('s1'), await capture('s2')];
  await one.ask('Write it');
  await repo.write('new.txt', 'x\ny\nz\n');
  await change('second', '}');
  await one.end('new.txt');
  await change('y', 'y by hand', 'new.txt');
  await two.ask('Add a line');
  await repo.write('new.txt', `${await repo.read('new.txt')}last\n`);
  await two.end('new.txt');
  await change('x', 'w\nx', 'new.txt');
  await change('first', 'first by hand');
  const lines = ['1 w: uncommitted', '2 x: +s1 01', '3 y by hand: own edit', '4 z: +s1 01', '5 last: +s2 01'];
  // Line ends in the work tree differ from those in git.
  for (const end of ['\n', '\r\n']) {
    await repo.write('new.txt', (await repo.read('new.txt')).replaceAll('\n', end));
    expect((await blameDisk('new.txt')).map((line) => line.replace('\r', ''))).toEqual(lines);
  }
  const why = await explainPlace(project, { place: 'new.txt' });
  const terminal = { columns: 100, style: (_: string, text: string) => text } as unknown as Terminal;
  expect(renderWhy(terminal, why)).toMatch(
    /:1\n[^]*\nNot committed yet\.\n[^]*01 of \S+s1[^]*Found {5}in the work tree: not committed yet\n[^]*Not committed yet: your own edit\.\n/,
  );
  expect(toWhyDocument(why).stories).toMatchObject([
    { kind: 'uncommitted' },
    { kind: 'turn', uncommitted: true, lines: [{ line: 2 }, { line: 4 }] },
    { kind: 'uncommitted', ownEdit: true },
    { kind: 'turn', uncommitted: true },
  ]);
  expect(await blameDisk('new.txt:5')).toEqual(['5 last\r: +s2 01']);
  await expect(blameDisk('new.txt:5-6')).rejects.toMatchObject({ code: 'USAGE', message: 'new.txt has 5 lines.' });
  const changed = ['1 first by hand: uncommitted', '2 }: +s1 01', '3 third: person'];
  expect(await blameDisk('a.txt:1-3')).toEqual(changed);
  await repo.git('add', 'a.txt');
  expect(await blameDisk('a.txt:1-3')).toEqual(changed);
  await commitAll();
  expect(await blameDisk('a.txt:2-3')).toEqual(['2 }: s1 01', '3 third: person']);
});

test('snapshots on a branch outside HEAD, and those without the file, do not count', async () => {
  const agent = await capture();
  await agent.ask('Write it');
  await repo.write('new.txt', 'x\n');
  await change('second', 'by the agent');
  await agent.end('new.txt');
  await agent.ask('Remove it');
  await rm(`${repo.root}/new.txt`);
  await agent.end('new.txt');
  await repo.write('new.txt', 'x\n');
  await expect(blameDisk('new.txt')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
  await repo.git('stash', '--quiet');
  await repo.git('switch', '--quiet', '--orphan', 'other');
  await repo.write('a.txt', 'by the agent\n');
  await repo.git('add', 'a.txt');
  await repo.git('commit', '--quiet', '--allow-empty', '-m', 'Other');
  await repo.write('a.txt', 'by the agent\n}\n');
  expect(await blameDisk('a.txt:2')).toEqual(['2 }: uncommitted']);
});

test('an agent’s lines are known before the first commit', async () => {
  await replaceWith(await makeScratchRepository({}, { firstCommit: false }));
  const agent = await capture();
  await agent.ask('Write it');
  await repo.write('new.txt', 'x\ny');
  await agent.end('new.txt');
  expect(await blameDisk('new.txt')).toEqual(['1 x: +s1 01', '2 y: +s1 01']);
  await repo.git('add', 'new.txt');
  expect(await blameDisk('new.txt:2')).toEqual(['2 y: +s1 01']);
});

test('lines pulled while an agent was working are not the agent’s', async () => {
  const { ask, end } = await capture();
  await repo.git('switch', '--quiet', '-c', 'theirs');
  await repo.write('a.txt', (await repo.read('a.txt')).replace('second', 'second by a colleague'));
  await repo.git(
    '-c',
    'user.name=Bob',
    '-c',
    'user.email=bob@example.org',
    'commit',
    '--quiet',
    '--all',
    '-m',
    'Theirs',
  );
  await onMain();
  await ask('Pull');
  await repo.git('merge', '--quiet', '--ff-only', 'theirs');
  await end();
  expect(await blame()).toContain('second by a colleague: person');
});

test('SHA-256 repositories work as well', async () => {
  await replaceWith(await makeScratchRepository({ 'a.txt': 'first\nsecond\n' }, { objectFormat: 'sha256' }));
  const { session } = await newSession(project, { name: 'one', switch: true });
  await turn(edit('a.txt', 'second', 'second by the model'));
  await onMain();
  const { commit } = await landSession(project, { target: session });
  expect((commit as Oid).length).toBe(64);
  expect(await blame()).toEqual(['first: person', 'second by the model: one 01']);
});

test('of two copies of a step in the same second, the one that was found first is the original', () => {
  const step = (oid: string, seconds: number) => ({ oid, seconds, entry: 'one' }) as CodeStep;
  expect(dropCopies([step('original', 5), step('copy', 5)]).map(({ oid }) => oid)).toEqual(['original']);
  expect(dropCopies([step('copy', 6), step('original', 5)]).map(({ oid }) => oid)).toEqual(['original']);
});

test('authors are unknown if a shallow clone has left out their commits, even an agent’s', async () => {
  const { session: made } = await newSession(project, { name: 'made', switch: true });
  for (const name of ['one', 'two', 'three']) await turn(create(`${name}.txt`));
  const agent = await captureTurns(project, 'codex', [
    { model: 'gpt', files: { 'four.txt': 'four.txt\n' } },
    { model: 'gpt', files: { 'five.txt': 'five.txt\n' } },
  ]);
  const there = "This clone's history is cut off there. `git fetch --unshallow` fetches the rest.";
  const captured = agent.ref.slice('refs/heads/'.length);
  const wanted = [
    [`teddy/${made}`, 3, { 'one.txt': there, 'two.txt': there, 'three.txt': 'turn 03' }],
    [`teddy/${made}`, 4, { 'one.txt': there, 'two.txt': there, 'three.txt': 'turn 03' }],
    [captured, 1, { 'four.txt': there, 'five.txt': there }],
    [captured, 2, { 'four.txt': there, 'five.txt': expect.stringContaining('in which the agent called no tool') }],
  ] as const;
  const clone = `${repo.root}-cut`;
  for (const [branch, depth, authors] of wanted) {
    await repo.git('clone', '-q', '--depth', String(depth), '-b', branch, `file://${repo.root}`, clone);
    const cut = await openProject({ cwd: clone, env: process.env, notices: project.notices });
    const found: Record<string, string> = {};
    for (const path of Object.keys(authors)) {
      const [run] = (await explainPlace(cut, { place: path })).runs;
      const author = run?.author;
      found[path] =
        author === undefined || 'reason' in author
          ? `${author?.reason}`
          : `${author.kind} ${'turn' in author ? author.turn : ''}`;
    }
    expect({ branch, depth, found }).toEqual({ branch, depth, found: authors });
    await cut.repository.close();
    await rm(clone, { recursive: true });
  }
});

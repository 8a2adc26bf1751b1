/**
 * A landing's authorship log, read by an independent reader and by git: the lines that models have added, and no
 * others.
 */
import { execFileSync } from 'node:child_process';
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { AgentUnit } from '../../src/conversation/logs/agent-log.ts';
import { archiveRef, type Oid, type RefName } from '../../src/names.ts';
import type { Workspace } from '../../src/ports/git.ts';
import type { Project } from '../../src/ports/project.ts';
import { appendCode, readCode } from '../../src/workflow/capture/work-tree-snapshot.ts';
import { startLine } from '../../src/workflow/capture/open-line.ts';
import { addNote } from '../../src/workflow/line/notes.ts';
import { landSession } from '../../src/workflow/landing/land-session.ts';
import { pushSessions } from '../../src/workflow/sharing/push-sessions.ts';
import { beginWrite } from '../../src/workflow/writes/begin.ts';
import { finalizeWrite } from '../../src/workflow/writes/finalize.ts';
import { undoTurn } from '../../src/workflow/turn/undo.ts';
import { readAuthorshipLog } from '../support/authorship-log.ts';
import { turnOf, writeUnits } from '../support/captured-line.ts';
import type { ScratchRepository } from '../support/scratch-repository.ts';
import { headOf, sessionScene } from '../support/session-scene.ts';
import { scriptedModel } from '../support/scripted-model.ts';
import { approver, create, edit, planOf, run, say } from '../support/turns.ts';

let repo: ScratchRepository;
let project: Project;
const said: string[] = [];

const open = () =>
  openProject({
    cwd: repo.root,
    env: process.env,
    notices: { info: () => undefined, warn: (text) => void said.push(text) },
  });

const files = { 'a.txt': 'first\nsecond\nthird\nfourth\nfifth\nsixth\n' };
const scenes = {
  sha1: sessionScene({ files, name: 'one' }),
  sha256: sessionScene({ files, name: 'one', objectFormat: 'sha256' }),
};

async function begin(objectFormat: 'sha1' | 'sha256' = 'sha1'): Promise<string> {
  repo = await scenes[objectFormat]();
  await appendFile(join(repo.root, '.git/config'), '[teddy]\n\tnotes = git-ai\n');
  project = await open();
  return (await headOf(repo)).replace('refs/heads/teddy/', '');
}

beforeEach(() => void said.splice(0));
afterEach(async () => {
  await project.repository.close();
  await repo.close();
});

async function turn(...actions: string[]): Promise<void> {
  await say(project, 'Do it', planOf(actions));
  await run(project);
}

async function land(session: string): Promise<Awaited<ReturnType<typeof landSession>>> {
  return landSession(project, { target: session, onto: 'main', withOwnEdits: true });
}

const note = async (revision = 'main') => repo.git('notes', '--ref=ai', 'show', revision);

/** `<path>: <text> <turn>` for each line that a commit's log attests. */
async function attested(revision = 'main'): Promise<string[]> {
  const { files, metadata } = readAuthorshipLog(`${await note(revision)}\n`);
  expect(metadata.base_commit_sha).toBe(await repo.git('rev-parse', revision));
  const rows: string[] = [];
  for (const [path, lines] of files) {
    const texts = (await repo.git('show', `${revision}:${path}`)).split('\n');
    for (const [line, { id }] of lines) rows.push(`${path}: ${texts[line - 1]} ${id.slice(9)}`);
  }
  return rows;
}

test('a landing attests each planned line, a second one only new lines, and neither a person’s lines', async () => {
  const session = await begin();
  await repo.write('a.txt', (await repo.read('a.txt')).replace('sixth', 'sixth by hand'));
  await turn(edit('a.txt', 'second', 'second by 01'), create('src/new.txt', 'new by 01\nmore by 01\n'));
  await repo.write('src/new.txt', 'new by 01\nby hand in between\nmore by 01\n');
  await say(project, 'Do it', planOf([create('edited.txt', 'planned\nplanned as well\n')]));
  await run(project, { approver: approver([{ decision: 'yes', edited: 'planned\nchanged by the user\n' }]) });
  await turn(create('undone.txt', 'undone\n'), edit('a.txt', 'fourth', 'fourth by 03'));
  await undoTurn(project, {});
  await repo.git('mv', 'src/new.txt', 'src/renamed.txt');
  await repo.git('commit', '--quiet', '-m', 'Rename it');
  await turn(edit('src/renamed.txt', 'more by 01', 'more by 01\nlast by 04'), create('gone.txt', 'gone\n'));
  await repo.git('rm', '--quiet', 'gone.txt');
  await repo.git('commit', '--quiet', '-m', 'Take it away');
  // The branch continues, so its line numbers differ from the session's.
  await repo.git('switch', '--quiet', 'main');
  await repo.commit({ 'a.txt': `zeroth\n${await repo.read('a.txt')}`, 'b.txt': 'b\n' }, 'Meanwhile');
  const { note: added } = await land(session);
  const expected = [
    'a.txt: second by 01 one/01',
    'edited.txt: planned one/02',
    'src/renamed.txt: new by 01 one/01',
    'src/renamed.txt: more by 01 one/01',
    'src/renamed.txt: last by 04 one/04',
  ];
  expect(await attested()).toEqual(expected);
  expect(added).toEqual({ ref: 'refs/notes/ai', lines: 5, files: 3 });
  expect(
    readAuthorshipLog(await note())
      .files.get('a.txt')
      ?.get(3),
  ).toMatchObject({
    tool: 'teddy',
    askedBy: 'Ada Example <ada@example.org>',
  });

  const first = await repo.git('rev-parse', 'main');
  await repo.git('switch', '--quiet', `teddy/${session}`);
  await turn(edit('a.txt', 'fifth', 'fifth by 05'));
  await repo.git('switch', '--quiet', 'main');
  await land(session);
  expect(await attested()).toEqual(['a.txt: fifth by 05 one/05']);
  expect(await attested(first)).toEqual(expected);
  expect(said).toEqual([]);
});

test('a landing without lines by a model has no log', async () => {
  const session = await begin();
  await turn(edit('a.txt', 'second\nthird', 'third'));
  await repo.commit({ 'mine.txt': 'mine\n' }, 'By hand');
  await repo.git('switch', '--quiet', 'main');
  expect(await land(session)).toMatchObject({ note: null, changes: [{ path: 'a.txt' }, { path: 'mine.txt' }] });
  expect(await repo.git('for-each-ref', 'refs/notes')).toBe('');
});

test('without the setting there is no log', async () => {
  const session = await begin();
  await repo.git('config', 'teddy.notes', 'off');
  project.repository.reloadSettings();
  await turn(edit('a.txt', 'second', 'second by 01'));
  expect(await land(session)).toMatchObject({ note: null });
  expect(await repo.git('for-each-ref', 'refs/notes')).toBe('');
});

test('names with blanks are quoted, and a file whose name a log cannot contain is named in a warning', async () => {
  const session = await begin();
  await turn(create('two words.txt', 'by 01\n'), create('---', 'by 01 too\n'), create('ünï.txt', 'by 01 as well\n'));
  await repo.write('a"quote.txt', 'x\n');
  await repo.write('new\nline.txt', 'x\n');
  await writeFile(Buffer.concat([Buffer.from(join(repo.root, 'latin-')), Buffer.from([0xe9])]), 'x\n');
  await repo.write('data.bin', 'a\n\0\n');
  await repo.git('add', '--all');
  await repo.git('commit', '--quiet', '-m', 'Strange names');
  await land(session);
  expect(await attested()).toEqual([
    '---: by 01 too one/01',
    'two words.txt: by 01 one/01',
    'ünï.txt: by 01 as well one/01',
  ]);
  expect((await note()).split('\n')[0]).toBe('"---"');
  expect(said).toEqual([
    'The authorship log leaves out files that are too large or have names it cannot represent: ' +
      'a"quote.txt, latin-\uFFFD, new\nline.txt.',
  ]);
});

test('a record names its turn’s model, and a trace the commit that added the lines', async () => {
  const session = await begin();
  const answer = (text: string, model: string) => ({ ...scriptedModel(text), model, provider: 'openai' as const });
  for (const [at, model] of ['gpt-5', 'o3'].entries()) {
    const plan = answer(planOf([create(`${at}.txt`, `by ${model}\n`)]), model);
    const choice = { provider: 'openai' as const, name: model, parameters: {}, model: plan };
    await say(project, 'Do it', plan, { choice });
    await run(project);
  }
  await land(session);
  const { files } = readAuthorshipLog(await note());
  expect([...files].map(([path, lines]) => `${path} ${lines.get(1)?.model} ${lines.get(1)?.id}`)).toEqual([
    `0.txt gpt-5 ${session}/01`,
    `1.txt o3 ${session}/02`,
  ]);
  const tip = await repo.git('log', '-1', '--format=%H', '--grep=turn 02 report', `teddy/${session}`);
  expect(files.get('1.txt')?.get(1)?.trace).toBe(`t_${tip.slice(0, 14)}`);
});

test('a file written into an open turn belongs to the turn, and one outside every turn has no known author', async () => {
  const session = await begin();
  const write = async (target: string, content: string) => {
    const { record } = await beginWrite(project, { intent: target, target, operation: 'create', hasController: false });
    await finalizeWrite(project, { id: record.id, content: new TextEncoder().encode(content) });
  };
  await write('beside.txt', 'beside\n');
  await say(project, 'Write it', null);
  await write('written.txt', 'one\ntwo\n');
  await land(session);
  expect(await attested()).toEqual(['written.txt: one one/01', 'written.txt: two one/01']);
});

test('a captured agent is listed under its own name', async () => {
  await begin();
  await repo.git('switch', '--quiet', 'main');
  const [id, timestamp] = ['claude-code-session', '2026-01-24T10:00:00.000Z'];
  const toUnit = (kind: AgentUnit['kind'], records: object[]) =>
    ({ kind, branch: 0, model: 'claude-opus', records: records.map((one) => ({ timestamp, ...one })) }) as AgentUnit;
  const asked = toUnit('message', [{ type: 'user', id: 'u1', message: { role: 'user', content: 'Change it' } }]);
  const called = toUnit('exchange', [
    { type: 'tool_use', id: 'c1', tool_call_id: 'c1', tool_name: 'Edit', tool_input: { file_path: 'a.txt' } },
    { type: 'tool_result', id: 'r1', tool_call_id: 'c1', output: 'done', is_error: false },
  ]);
  const line = await startLine(project, { agent: 'claude-code', id, cwd: null, startedAt: timestamp }, asked);
  const state = await writeUnits(project, line, [asked, called]);
  await repo.write('a.txt', (await repo.read('a.txt')).replace('second', 'second by the agent'));
  const code = await readCode(project, project.repository.workspace as Workspace);
  await appendCode(project, line, code as NonNullable<typeof code>, { turn: turnOf(state), whose: 'changed' });
  await repo.git('checkout', '--quiet', 'a.txt');
  await land(line.session);
  const { files } = readAuthorshipLog(await note());
  expect([...files].map(([path, lines]) => [path, ...lines])).toEqual([
    ['a.txt', [2, expect.objectContaining({ tool: 'claude', model: 'claude-opus' }) as object]],
  ]);
});

test('a landing that was interrupted before its log gets it from the next one, with the same bytes', async () => {
  const session = await begin();
  await turn(edit('a.txt', 'second', 'second by 01'));
  const { commit } = await land(session);
  const before = await note();
  await repo.git('update-ref', '-d', 'refs/notes/ai');
  expect(await land(session)).toMatchObject({ commit, wasCutOff: true, note: { lines: 1 }, changes: [] });
  expect(await note()).toBe(before);
  await expect(land(session)).rejects.toMatchObject({ code: 'NOTHING_TO_LAND' });
  // Even if the archive is missing too.
  await repo.git('update-ref', '-d', 'refs/notes/ai');
  const archive = archiveRef(`refs/heads/teddy/${session}` as RefName);
  await repo.git('update-ref', '-d', archive);
  expect(await land(session)).toMatchObject({ commit, wasCutOff: true, archive, note: { lines: 1 } });
  await repo.git('update-ref', '-d', 'refs/notes/ai');
  await expect(landSession(project, { target: session, isDryRun: true })).rejects.toMatchObject({
    code: 'NOTHING_TO_LAND',
  });
});

test('a log that cannot be written leaves the landing intact, and a warning names the command that adds it', async () => {
  const session = await begin();
  await turn(edit('a.txt', 'second', 'second by 01'));
  // It is not a branch of notes: nothing can follow it.
  const blob = await repo.git('hash-object', '-w', 'a.txt');
  await repo.git('update-ref', 'refs/notes/ai', blob);
  const { commit } = await land(session);
  expect(await repo.git('rev-parse', 'main')).toBe(commit);
  expect(said).toEqual([
    'The landing has no authorship log: refs/notes/ai kept moving, or is not a notes ref. ' +
      `To add it: \`teddy land -s teddy/${session} --onto main\``,
  ]);
  expect(await repo.git('rev-parse', 'refs/notes/ai')).toBe(blob);
  await repo.git('update-ref', '-d', 'refs/notes/ai');
  expect(await land(session)).toMatchObject({ commit, wasCutOff: true, note: { lines: 1 } });
});

test.each(['sha1', 'sha256'] as const)(
  'other people’s notes stay, and git can continue them (%s)',
  async (objectFormat) => {
    const session = await begin(objectFormat);
    const own = ['notes', '--ref=ai'];
    const first = await repo.git('rev-parse', 'main');
    await repo.git(...own, 'add', '-m', 'Of somebody else', first);
    await turn(edit('a.txt', 'second', 'second by 01'));
    await repo.git(...own, 'add', '-m', 'Of the line', `teddy/${session}`);
    const { commit } = await land(session);
    expect(await attested()).toEqual(['a.txt: second by 01 one/01']);
    expect(await repo.git(...own, 'show', first)).toBe('Of somebody else');
    expect((await repo.git(...own, 'list')).split('\n')).toHaveLength(3);
    // git writes the tree in its own form, without losing anything.
    await repo.git(...own, 'append', '-m', 'More', first);
    await repo.git('update-ref', 'refs/notes/theirs', 'refs/notes/ai~1');
    await repo.git('notes', '--ref=theirs', 'remove', `teddy/${session}`);
    await repo.git(...own, 'merge', '--quiet', 'refs/notes/theirs');
    expect((await repo.git(...own, 'list')).split('\n')).toHaveLength(2);
    expect(await attested(String(commit))).toEqual(['a.txt: second by 01 one/01']);
  },
);

test('a note that the commit has already stays unchanged', async () => {
  const session = await begin();
  await turn(edit('a.txt', 'second', 'second by 01'));
  const { commit } = await land(session);
  await repo.git('notes', '--ref=ai', 'add', '--force', '-m', 'By hand', String(commit));
  await expect(land(session)).rejects.toMatchObject({ code: 'NOTHING_TO_LAND' });
  expect(await note()).toBe('By hand');
});

test('no note is lost if many processes add notes at the same time', async () => {
  const session = await begin();
  await turn(edit('a.txt', 'second', 'second by 01'));
  const commits: string[] = [];
  for (let at = 0; at < 6; at += 1) commits.push(await repo.commit({ [`${at}.txt`]: `${at}\n` }, `Commit ${at}`));
  const ref = 'refs/notes/ai' as RefName;
  const projects = await Promise.all([open(), open(), open()]);
  const add = async (one: Project, at: number) => {
    for (const commit of commits.slice(at * 2, at * 2 + 2))
      expect(await addNote(one, ref, commit as Oid, `${commit}\n`)).toBe(true);
  };
  await Promise.all(projects.map(add));
  for (const one of projects) await one.repository.close();
  for (const commit of commits) expect(await note(commit)).toBe(commit);
  expect(await land(session)).toMatchObject({ note: { lines: 1 } });
});

test('pushing sessions does not push the notes', async () => {
  const session = await begin();
  await turn(edit('a.txt', 'second', 'second by 01'));
  await land(session);
  const remote = join(repo.root, '.git', 'remote.git');
  execFileSync('git', ['init', '--quiet', '--bare', remote]);
  await repo.git('push', '--quiet', remote, 'main');
  await pushSessions(project, { remote, selector: session, signal: new AbortController().signal });
  await expect(project.repository.store.resolve('refs/notes/ai')).resolves.not.toBeNull();
  const there = execFileSync('git', ['-C', remote, 'for-each-ref', '--format=%(refname)'], { encoding: 'utf8' });
  expect(there).toContain(`refs/heads/teddy/${session}`);
  expect(there).not.toContain('refs/notes');
});

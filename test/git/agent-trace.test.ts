/**
 * `teddy export --format agent-trace`: the authors of the lines in a session's files, read by an independent reader.
 * On real git.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openProject } from '../../src/app.ts';
import type { Project } from '../../src/ports/project.ts';
import { renderTrace } from '../../src/workflow/conversation/export-trace.ts';
import { landSession } from '../../src/workflow/landing/land-session.ts';
import { newSession } from '../../src/workflow/line/new-session.ts';
import { readAgentTrace } from '../support/agent-trace.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';
import { scriptedModel } from '../support/scripted-model.ts';
import { approver, create, edit, planOf, run, say } from '../support/turns.ts';

let repo: ScratchRepository;
let project: Project;
let session: string;
const said: string[] = [];
const note = (text: string) => void said.push(text);

const open = (root: string) => openProject({ cwd: root, env: process.env, notices: { info: note, warn: note } });

beforeEach(async () => {
  said.splice(0);
  repo = await makeScratchRepository({ 'a.txt': 'first\nsecond\nthird\n', 'untouched.txt': 'x\n' });
  project = await open(repo.root);
  ({ session } = await newSession(project, { name: 'one', switch: true }));
});
afterEach(async () => {
  await project.repository.close();
  await repo.close();
});

async function turn(actions: string[], provider: 'openai' | 'gemini' | 'openrouter' | 'recorded', name: string) {
  const model = { ...scriptedModel(planOf(actions)), model: name, provider };
  await say(project, 'Do it', model, { choice: { provider, name, parameters: {}, model } });
  await run(project);
}

const trace = (revision?: string, from = project) =>
  renderTrace(from, { selector: session, revision, version: '1.2.3' });

/** `<path>: <text> <type> <model> <turn>` for each line. */
async function traced(revision?: string): Promise<string[]> {
  const { record, files } = readAgentTrace((await trace(revision)).text);
  const commit = record.vcs?.revision ?? '';
  const rows: string[] = [];
  for (const [path, lines] of files) {
    const texts = (await repo.git('show', `${commit}:${path}`)).split('\n');
    expect([...lines.keys()].toSorted((a, b) => a - b)).toEqual(texts.map((_, at) => at + 1));
    for (const [at, text] of texts.entries()) {
      const { type, model, url } = lines.get(at + 1) ?? { type: 'none' };
      rows.push([`${path}: ${text}`, type, model, url].filter((part) => part !== undefined).join(' | '));
    }
  }
  return rows;
}

test('each line in each file that the session has changed is a model’s, a person’s, or unknown', async () => {
  await turn([edit('a.txt', 'second', 'second by 01')], 'openai', 'gpt-5');
  await repo.write('a.txt', (await repo.read('a.txt')).replace('third', 'third by hand'));
  await turn([create('src/new file.txt', 'new by 02\n')], 'gemini', 'gemini-2.5-pro');
  await repo.commit({ 'mine.txt': 'mine\n' }, 'By hand');
  await turn([create('b.txt', 'by 03\n')], 'openrouter', 'anthropic/claude-opus-4');
  await turn([create('c.txt', 'by 04\n')], 'recorded', 'recorded');
  await say(project, 'Do it', planOf([create('edited.txt', 'planned\nplanned too\n')]));
  await run(project, { approver: approver([{ decision: 'yes', edited: 'planned\nby the user\n' }]) });
  await repo.write('data.bin', 'a\0b\n');
  await repo.git('add', 'data.bin');
  await repo.git('commit', '--quiet', '-m', 'Data');
  const url = `teddy:${session}`;
  said.splice(0);
  expect(await traced()).toEqual([
    'a.txt: first | human',
    `a.txt: second by 01 | ai | openai/gpt-5 | ${url}/01`,
    'a.txt: third by hand | human',
    `b.txt: by 03 | ai | openrouter/anthropic/claude-opus-4 | ${url}/03`,
    `c.txt: by 04 | ai | ${url}/04`,
    `edited.txt: planned | ai | ${url}/05`,
    'edited.txt: by the user | human',
    'mine.txt: mine | human',
    `src/new file.txt: new by 02 | ai | google/gemini-2.5-pro | ${url}/02`,
  ]);
  const { record } = readAgentTrace((await trace()).text);
  const tip = await repo.git('rev-parse', `teddy/${session}`);
  expect(record).toMatchObject({
    version: '0.1.0',
    timestamp: new Date(Number(await repo.git('log', '-1', '--format=%ct', tip)) * 1000).toISOString(),
    vcs: { type: 'git', revision: tip },
    tool: { name: 'teddy', version: '1.2.3' },
    metadata: { teddy: { session, tip } },
  });
  expect(said).toEqual([]);
});

test('in a landed session the lines are those of that commit, whatever the branch has added to them', async () => {
  await turn([edit('a.txt', 'second', 'second by 01'), create('gone.txt')], 'openai', 'gpt-5');
  await repo.git('switch', '--quiet', 'main');
  await repo.commit({ 'a.txt': `zeroth\n${await repo.read('a.txt')}` }, 'Meanwhile');
  await landSession(project, { target: session });
  await repo.git('rm', '--quiet', 'gone.txt');
  await repo.git('commit', '--quiet', '-m', 'Take it away');
  expect(await traced('main')).toEqual([
    'a.txt: zeroth | human',
    'a.txt: first | human',
    `a.txt: second by 01 | ai | openai/gpt-5 | teddy:${session}/01`,
    'a.txt: third | human',
  ]);
  await expect(trace('nowhere')).rejects.toMatchObject({ code: 'UNKNOWN_COMMIT' });
  // None of them exist before the session.
  expect(readAgentTrace((await trace('main~2')).text).record.files.map(({ path }) => path)).toEqual(['a.txt']);
});

test('the same commit gives the same bytes, in a clone as well, and another commit another id', async () => {
  await turn([edit('a.txt', 'second', 'second by 01')], 'openai', 'gpt-5');
  const first = await trace();
  expect((await trace()).text).toBe(first.text);
  const clone = join(repo.root, '.git', 'clone');
  execFileSync('git', ['clone', '--quiet', '--branch', `teddy/${session}`, repo.root, clone]);
  const other = await open(clone);
  expect((await trace(undefined, other)).text).toBe(first.text);
  await other.repository.close();
  await turn([edit('a.txt', 'third', 'third by 02')], 'openai', 'gpt-5');
  const ids = [first, await trace()].map(({ text }) => readAgentTrace(text).record.id);
  expect(new Set(ids).size).toBe(2);
});

test('lines that a merge brought to the line do not count as the session’s changes', async () => {
  await repo.git('switch', '--quiet', 'main');
  await repo.commit({ 'theirs.txt': 'theirs\n' }, 'Theirs');
  await repo.git('switch', '--quiet', `teddy/${session}`);
  await repo.git('merge', '--quiet', '--no-edit', 'main');
  await turn([create('b.txt', 'by 01\n')], 'openai', 'gpt-5');
  expect(await traced()).toEqual([`b.txt: by 01 | ai | openai/gpt-5 | teddy:${session}/01`]);
});

test('a session without code gives a record without files, and reports it', async () => {
  const { text } = await trace();
  expect(readAgentTrace(text).record.files).toEqual([]);
  expect(said).toEqual([`The record has no files, because ${session} changed no text that this commit still has.`]);
});

test('a shallow clone covers the history that it has', async () => {
  await turn([create('b.txt', 'by 01\n')], 'openai', 'gpt-5');
  await turn([create('c.txt', 'by 02\n')], 'openai', 'gpt-5');
  const clone = join(repo.root, '.git', 'clone');
  const from = `file://${repo.root}`;
  execFileSync('git', ['clone', '--quiet', '--depth', '2', '--branch', `teddy/${session}`, from, clone]);
  const shallow = await open(clone);
  const { files } = readAgentTrace((await trace(undefined, shallow)).text);
  await shallow.repository.close();
  expect([...files.keys()]).toEqual(['c.txt']);
});

import { afterEach, describe, expect, vi } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { parseContextLog, type ParsedContextLog } from '../../../src/session/context/context-log-parse.ts';
import { countTokens } from '../../../src/session/context/context-log-sections.ts';
import { given } from '../../support/given.ts';
import { sectionText } from '../../support/fenced-text.ts';
import { mainLineRef, toTurnName, type Oid, type RepoPath, type SessionId } from '../../../src/names.ts';
import { estimateTokens } from '../../../src/session/text/tokens.ts';
import { append } from '../../../src/workflow/line/append.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { changeGlobal } from '../../../src/workflow/line/global-branch.ts';
import { previewRequest } from '../../../src/workflow/turn/plan.ts';
import { findRecorded } from '../../../src/workflow/line/find-recorded.ts';
import { showContext } from '../../../src/workflow/context/show.ts';
import { verifyLine } from '../../../src/workflow/verify/line.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { create, edit, line, planOf, run, say, session, storyOfLine, turn } from '../../support/turns.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const dir = `.teddy/sessions/${session}`;
const choice = { provider: 'recorded' as const, name: 'scripted', parameters: {}, model: null };
const interrupted = new TeddyError('MODEL_INTERRUPTED', 'Interrupted.');

afterEach(() => vi.restoreAllMocks());

const begin = (files?: Record<string, string>) => given.session(files);

async function setGlobal(project: MemoryProject, name: string, text: string): Promise<Oid> {
  await changeGlobal(project, 'Mine\n', () => [{ name, text }]);
  const found = await project.repository.store.readFile(await project.tipOf('teddy/global'), name as RepoPath);
  if (found === null) throw new Error(`${name} was not written.`);
  project.trusted.add(found.oid);
  return found.oid;
}

async function preview(project: MemoryProject, message = 'And now?', agent?: string): Promise<ParsedContextLog> {
  return parseContextLog(await previewRequest(project, { message, choice, agent }));
}

/** Short answered turns, each with its number. */
async function talk(project: MemoryProject, count: number): Promise<void> {
  for (let number = 1; number <= count; number += 1) {
    await say(project, `Question ${number}: ${'why '.repeat(20)}`, `Answer ${number}.`);
  }
}

/** Another turn, and the request that was sent for it. */
async function talkOn(project: MemoryProject, number: number): Promise<ParsedContextLog> {
  await say(project, `Question ${number}: ${'why '.repeat(20)}`, `Answer ${number}.`);
  return parseContextLog((await project.read(`${dir}/${toTurnName(number)}/_context.log`)) ?? '');
}

/** The number of tokens in a request without its history. */
function bareTokens(log: ParsedContextLog): number {
  return log.frontMatter.tokens - countTokens(sectionOf(log, 'history'));
}

/** The same, with `count` turns in one commit. */
async function addTurns(project: MemoryProject, count: number): Promise<void> {
  const names = Array.from({ length: count }, (_, at) => toTurnName(at + 1));
  const record = (role: 'user' | 'assistant', content: string) =>
    `${JSON.stringify({ type: role, id: '', timestamp: '', message: { role, content }, source: 'text' })}\n`;
  await append(project, { ref: mainLineRef(session as SessionId), workspace: project.repository.workspace }, () => [
    {
      kind: 'reply',
      turn: toTurnName(count),
      label: { title: 'Many', details: [] },
      code: {
        files: names.map((name) => ({
          path: `${dir}/${name}/transcript.jsonl` as RepoPath,
          bytes: record('user', `Question ${name}: ${'why '.repeat(20)}`) + record('assistant', `Answer ${name}.`),
        })),
      },
    },
  ]);
}

function sectionOf(log: ParsedContextLog, name: string, path: string | null = null) {
  const found = log.sections.find((section) => section.name === name && section.path === path);
  if (found === undefined) throw new Error(`There is no section ${name} ${path}.`);
  return found;
}

function turnsIn(log: ParsedContextLog): string[] {
  const history = log.sections.find(({ name }) => name === 'history')?.body ?? '';
  return [...history.matchAll(/^## Turn (\S+)$/gm)].map((match) => match[1] ?? '');
}

function firstLineOfHistory(log: ParsedContextLog): string {
  return sectionOf(log, 'history').body.split('\n')[0] ?? '';
}

describe('the source of each section', () => {
  test('is a built-in prompt by its hash, or a blob in the repository', async () => {
    const project = await begin({ 'README.md': '# Notes\n' });
    await setGlobal(project, 'memos.yaml', '- tabs, not spaces\n');
    const model = scriptedModel('Fine.');
    await say(project, 'Do it', model);
    const log = parseContextLog((await project.read(`${dir}/01/_context.log`)) ?? '');
    const tip = await project.tipOf(line);
    const blobAt = async (path: string) => (await project.repository.store.readFile(tip, path as RepoPath))?.oid;
    const shown = { kind: 'shown', lossy: false, masked: 0 };
    const system = model.requests[0]?.messages[0]?.content ?? '';
    expect(sectionOf(log, 'system').provenance).toEqual({
      ...shown,
      source: { kind: 'builtin', sha: project.hash(system) },
    });
    expect(sectionOf(log, 'memos').provenance).toEqual({
      ...shown,
      source: { kind: 'blob', oid: await blobAt('.teddy/memos.yaml') },
    });
    expect(sectionOf(log, 'file', 'README.md').provenance).toEqual({
      ...shown,
      source: { kind: 'blob', oid: await blobAt('README.md') },
    });
    expect(sectionOf(log, 'tree').provenance).toEqual({ ...shown, source: null });
    expect(sectionOf(log, 'message').provenance).toEqual({ ...shown, source: null });
    expect(log.frontMatter.masked).toBe(0);
  });

  test('is the blob on teddy/global for the user’s own agent', async () => {
    const project = await begin();
    const oid = await setGlobal(project, 'agents/gardener.md', '# Gardener\n\nYou prune.\n');
    const log = await preview(project, 'Do it', 'gardener');
    expect(sectionOf(log, 'system').provenance).toMatchObject({ source: { kind: 'blob', oid }, masked: 0 });
    expect(sectionOf(log, 'system').body).toContain('You prune.');
  });
});

describe('a secret', () => {
  const secret = 'hunter2-and-more';

  test('is masked in files, memos, history, the tree and the user’s own agents, and counted for each', async () => {
    const project = await begin({ 'README.md': `key: ${secret}\nagain: ${secret}\n`, [`${secret}.txt`]: 'x\n' });
    await setGlobal(project, 'memos.yaml', `- the key is ${secret}\n`);
    await setGlobal(project, 'agents/gardener.md', `You know ${secret}.\n`);
    await say(project, `Use ${secret}`, planOf([create('a.txt', `${secret}\n`)]));
    await run(project);
    project.secrets.set(secret, 'a test');
    const log = await preview(project, 'And now?', 'gardener');
    expect(JSON.stringify(log)).not.toContain(secret);
    expect(log.messages.map(({ content }) => content).join('')).toContain('[masked: a test]');
    const masks = log.sections.map((section) => [
      section.path ?? section.name,
      section.provenance.kind === 'shown' ? section.provenance.masked : null,
    ]);
    expect(masks).toEqual([
      ['system', 1],
      ['memos', 1],
      ['history', 2],
      ['tree', 1],
      ['README.md', 2],
      ['a.txt', 1],
      ['message', 0],
    ]);
    expect(log.frontMatter.masked).toBe(8);
    expect(sectionText(sectionOf(log, 'file', 'a.txt'))).toBe('[masked: a test]\n');
  });

  test('that is masked leaves the blob of the file as its source', async () => {
    const project = await begin({ 'README.md': `${secret}\n` });
    const tip = await project.tipOf(line);
    const found = await project.repository.store.readFile(tip, 'README.md' as RepoPath);
    project.secrets.set(secret, 'a test');
    const { provenance } = sectionOf(await preview(project), 'file', 'README.md');
    expect(provenance).toMatchObject({ source: { kind: 'blob', oid: found?.oid }, masked: 1 });
  });

  test('is not searched for in teddy’s own prompts, nor twice in the same text', async () => {
    const project = await begin();
    await turn(project, 'First', create('a.txt'));
    const texts: string[] = [];
    const { mask } = project.masker;
    project.masker.mask = (text, path) => (texts.push(text), mask(text, path));
    const log = await preview(project);
    expect(texts).not.toContain(sectionOf(log, 'system').body);
    expect(texts.filter((text) => text.includes('FIND'))).toEqual([]);
    expect(new Set(texts).size).toBe(texts.length);
  });

  test('that cannot be searched for stops the turn before any of it is recorded', async () => {
    const project = await begin();
    project.masker.mask = () => Promise.reject(new TeddyError('MASKING_FAILED', 'It broke.'));
    await expect(say(project, 'Do it', 'x')).rejects.toMatchObject({ code: 'MASKING_FAILED' });
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start']);
  });

  test('on a conversation branch is masked as in the original turn; only the user’s own agents are masked anew', async () => {
    const project = await begin({ 'README.md': `${secret}\n` });
    await setGlobal(project, 'agents/gardener.md', `You know ${secret}.\n`);
    project.secrets.set(secret, 'a test');
    await say(project, 'First', 'x');
    const before = parseContextLog((await project.read(`${dir}/01/_context.log`)) ?? '');
    await branchSession(project, { turn: '01', switch: true });
    await say(project, 'Another', scriptedModel('y'), { agent: 'gardener' });
    const after = parseContextLog((await project.read(`${dir}/01-branch-01/_context.log`)) ?? '');
    expect(after.sections.slice(1, -1)).toEqual(before.sections.slice(1, -1));
    expect(sectionOf(after, 'system').body).toContain('You know [masked: a test].');
    expect(after.frontMatter.masked).toBe(2);
  });
});

test('a first request without files says so, and later ones do not', async () => {
  const project = await begin({ 'src/app.ts': 'x\n' });
  const said = expect.stringContaining('`teddy context add <path>`');
  await say(project, 'First', 'Hello.');
  expect(project.said).toContainEqual(said);
  project.said.length = 0;
  await say(project, 'Second', 'Hello.');
  expect(project.said).not.toContainEqual(said);
});

describe('the history', () => {
  test('is complete at exactly the tokens it needs, and drops to two thirds of its share at one token less', async () => {
    const project = await begin();
    await talk(project, 6);
    const whole = await preview(project);
    expect(turnsIn(whole)).toEqual(['01', '02', '03', '04', '05', '06']);
    project.configuration.set('teddy.contextTokens', String(whole.frontMatter.tokens));
    expect(await preview(project)).toEqual(whole);

    const budget = whole.frontMatter.tokens - 1;
    project.configuration.set('teddy.contextTokens', String(budget));
    const trimmed = await preview(project);
    const share = budget - bareTokens(whole);
    expect(turnsIn(trimmed)).toEqual(['04', '05', '06']);
    expect(firstLineOfHistory(trimmed)).toBe('Left out to fit the budget: turns 01-03.');
    expect(countTokens(sectionOf(trimmed, 'history'))).toBeLessThanOrEqual((share * 2) / 3);
  });

  test('leaves out the same turns until no more fit, so that requests begin alike', async () => {
    const project = await begin();
    await talk(project, 6);
    const whole = await preview(project);
    project.configuration.set('teddy.contextTokens', String(whole.frontMatter.tokens - 1));
    const first = await talkOn(project, 7);
    expect(firstLineOfHistory(first)).toBe('Left out to fit the budget: turns 01-03.');
    const [second, third, fourth] = [await talkOn(project, 8), await talkOn(project, 9), await talkOn(project, 10)];
    expect(turnsIn(second)).toEqual(['04', '05', '06', '07']);
    expect(sectionOf(second, 'history').body.startsWith(sectionOf(first, 'history').body)).toBe(true);
    expect(sectionOf(third, 'history').body.startsWith(sectionOf(second, 'history').body)).toBe(true);
    // The next turn does not fit any more, so a third becomes free again.
    expect(turnsIn(fourth)).toEqual(['07', '08', '09']);
    expect(fourth.frontMatter.boundary).toBe(first.frontMatter.boundary);
    expect((await verifyLine(project, await findRecorded(project, line))).violations).toEqual([]);
  });

  test('shortens one large answer to its beginning and end before it leaves out turns', async () => {
    const project = await begin();
    await talk(project, 3);
    const long = Array.from({ length: 3000 }, (_, at) => `line ${at} of it`).join('\n');
    await say(project, 'Tell me all', `It begins.\n${long}\nIt ends.`);
    const { frontMatter } = await preview(project);
    const budget = Math.floor(frontMatter.tokens / 2);
    project.configuration.set('teddy.contextTokens', String(budget));
    const log = await talkOn(project, 5);
    expect(turnsIn(log)).toEqual(['01', '02', '03', '04']);
    const { body, provenance } = sectionOf(log, 'history');
    expect(provenance).toMatchObject({ clipped: Math.floor(budget / 8) });
    expect(body).toMatch(
      /It begins\.\nline 0 of it\n[^]*\n\[\.\.\. \d+ KB of this answer left out; session show 04 has it\]\n[^]*It ends\./,
    );
    expect(project.said).toContainEqual(
      expect.stringMatching(/^warning: Shown by its beginning and end: the answer of turn 04 \(\d+ KB\)\.$/),
    );
    expect(log.frontMatter.tokens).toBeLessThanOrEqual(budget);
    expect((await verifyLine(project, await findRecorded(project, line))).violations).toEqual([]);
  });

  test('is a single line if no turn fits, and the request is too large without room for that line', async () => {
    const project = await begin();
    await talk(project, 3);
    const whole = await preview(project);
    project.configuration.set('teddy.contextTokens', String(whole.frontMatter.tokens - 130));
    const bare = await preview(project);
    expect(sectionOf(bare, 'history').body).toBe('Left out to fit the budget: turns 01-03.\n');
    project.configuration.set('teddy.contextTokens', String(bare.frontMatter.tokens));
    expect(await preview(project)).toEqual(bare);
    project.configuration.set('teddy.contextTokens', String(bare.frontMatter.tokens - 1));
    await expect(preview(project)).rejects.toMatchObject({ code: 'CONTEXT_TOO_LARGE' });
  });

  test('is reported to the user when it is trimmed, in a line that names conversation branches', async () => {
    const project = await begin();
    await talk(project, 2);
    await branchSession(project, { turn: '02', switch: true });
    await say(project, 'Another way', 'Yes.');
    const whole = await preview(project);
    expect(turnsIn(whole)).toEqual(['01', '02-branch-01']);
    project.configuration.set('teddy.contextTokens', String(whole.frontMatter.tokens - 80));
    await say(project, 'And now?', 'x');
    const said = 'Left out to fit the budget: turns 01, 02-branch-01.';
    expect(project.said).toContain(`warning: ${said}`);
    const log = parseContextLog((await project.read(`${dir}/03/_context.log`)) ?? '');
    expect(firstLineOfHistory(log)).toBe(said);
  });

  slowTest('leaves turns outside the budget unread, with the same result', async () => {
    const project = await begin();
    await addTurns(project, 200);
    const whole = await preview(project);
    expect(turnsIn(whole)).toHaveLength(200);
    const texts = sectionOf(whole, 'history').body.split(/^(?=## Turn )/m);
    for (const part of [0.6, 0.7, 0.95]) {
      const budget = Math.floor(whole.frontMatter.tokens * part);
      project.configuration.set('teddy.contextTokens', String(budget));
      const read = vi.spyOn(project.repository.store, 'readDir');
      const trimmed = await preview(project);
      const { length: kept } = turnsIn(trimmed);
      const leftOut = 200 - kept;
      const name = String(leftOut).padStart(2, '0');
      const shown = sectionOf(trimmed, 'history').body;
      expect(shown).toBe(`Left out to fit the budget: turns 01-${name}.\n\n${texts.slice(leftOut).join('')}`);
      expect(trimmed.frontMatter.tokens).toBeLessThanOrEqual(budget);
      const target = bareTokens(whole) + Math.floor(((budget - bareTokens(whole)) * 2) / 3);
      expect(trimmed.frontMatter.tokens).toBeLessThanOrEqual(target);
      expect(trimmed.frontMatter.tokens + estimateTokens(texts[leftOut - 1] ?? '')).toBeGreaterThan(target);
      const dirs = new Set(read.mock.calls.map(([, path]) => path).filter((path) => /\/\d+$/.test(path)));
      // A file that fits into the whole share is read, and two thirds of it are shown.
      expect(dirs.size).toBeLessThanOrEqual(Math.ceil(kept * 1.5) + 33);
      read.mockRestore();
    }
  });

  test('is sized by the model’s window if no budget is set', async () => {
    const project = await begin({ 'README.md': `${'x'.repeat(99)}\n`.repeat(2500) });
    const small = { ...choice, provider: 'openai' as const, name: 'gpt-4' };
    await expect(previewRequest(project, { message: 'Hi', choice: small })).rejects.toMatchObject({
      code: 'CONTEXT_TOO_LARGE',
      message: expect.stringContaining('its budget is 4,096;'),
    });
    await previewRequest(project, { message: 'Hi', choice: { ...small, name: 'gpt-5' } });
  });
});

describe('a request that is too large without its history', () => {
  const big = { 'README.md': '# Notes\n', 'big.txt': 'x'.repeat(40_000), 'small.txt': 'x'.repeat(400) };

  async function showing(files: string): Promise<MemoryProject> {
    const project = await begin(big);
    await talk(project, 1);
    await project.write({ [`${dir}/session.context`]: files });
    return project;
  }

  slowTest('is refused with its largest files, and adds only the user’s own edits to the line', async () => {
    const project = await showing('big.txt\nsmall.txt\n');
    project.configuration.set('teddy.contextTokens', '9000');
    const model = scriptedModel('x');
    await expect(say(project, 'Do it', model)).rejects.toMatchObject({
      code: 'CONTEXT_TOO_LARGE',
      exitCode: 3,
      message: expect.stringMatching(
        /budget is 9,000; nothing was sent or recorded\. The largest: big\.txt \([\d,]+\), small\.txt \(\d+\), README\.md \(\d+\)\.$/,
      ),
      hint: expect.stringContaining(`\`!path\` in ${dir}/session.context`),
    });
    expect(model.requests).toEqual([]);
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start', 'message 01', 'reply 01', 'snapshot']);
    expect(await project.read(`${dir}/02/_context.log`)).toBeNull();
  });

  test('is sent once the file is dropped, as the hint suggests', async () => {
    const project = await showing('big.txt\nsmall.txt\n');
    project.configuration.set('teddy.contextTokens', '9000');
    await expect(say(project, 'Do it', 'x')).rejects.toMatchObject({ code: 'CONTEXT_TOO_LARGE' });
    await project.write({ [`${dir}/session.context`]: 'big.txt\nsmall.txt\n!big.txt\n' });
    await say(project, 'Do it', 'Done.');
    expect(await project.read(`${dir}/02/turn.context`)).not.toContain('big.txt');
  });

  slowTest('on a conversation branch is refused as well, and the turn stays open', async () => {
    const project = await showing('big.txt\n');
    await say(project, 'Do it', 'x');
    await branchSession(project, { turn: '02', switch: true });
    const branch = `${line}--02-branch-01`;
    const before = await project.tipOf(branch);
    project.configuration.set('teddy.contextTokens', '9000');
    await expect(say(project, 'Another way', 'x')).rejects.toMatchObject({
      code: 'CONTEXT_TOO_LARGE',
      message: expect.stringContaining('The largest: big.txt ('),
      hint: expect.stringContaining('choose a model with a larger window'),
    });
    expect(await project.tipOf(branch)).toBe(before);
    project.configuration.delete('teddy.contextTokens');
    expect(await say(project, 'Another way', 'Yes.')).toMatchObject({ turn: '02-branch-01' });
  });

  test('is not even built with a budget that is not a number', async () => {
    const project = await begin();
    project.configuration.set('teddy.contextTokens', 'plenty');
    await expect(say(project, 'Do it', 'x')).rejects.toMatchObject({ code: 'BAD_SETTING' });
    expect(await storyOfLine(project)).toEqual(["'First commit'", 'start']);
  });
});

describe('files on the model’s own list that exceed the budget', () => {
  const words = (count: number) => 'some words of it\n'.repeat(count);

  /** The turn before edited a large file and a small one, and read a third. */
  async function edited(files: string[] = []): Promise<MemoryProject> {
    const project = await begin({
      'README.md': '# Notes\n',
      'large.txt': `one\n${words(8000)}`,
      'small.txt': 'one\n',
      'middle.txt': words(800),
    });
    if (files.length > 0) await project.write({ [`${dir}/session.context`]: `${files.join('\n')}\n` });
    const read = '### READ\n- **Resource:** middle.txt\n';
    await turn(project, 'Edit both', edit('large.txt', 'one', 'two'), edit('small.txt', 'one', 'two'), read);
    project.configuration.set('teddy.contextTokens', '12000');
    return project;
  }

  const said =
    /^warning: Not shown to the model: large\.txt \(about [\d,]+ tokens do not fit the budget of 12,000\)\.$/;

  slowTest('are left out, as few as possible, which the log, the list and the terminal report', async () => {
    const project = await edited();
    await say(project, 'Go on', 'Yes.');
    const log = parseContextLog((await project.read(`${dir}/02/_context.log`)) ?? '');
    const bytes = (await project.read('large.txt'))?.length;
    expect(sectionOf(log, 'file', 'large.txt')).toMatchObject({
      provenance: { kind: 'not-shown', bytes, reason: 'budget' },
      body: 'Not shown: it does not fit the budget.\n',
    });
    expect(sectionText(sectionOf(log, 'file', 'small.txt'))).toBe('two\n');
    expect(sectionText(sectionOf(log, 'file', 'middle.txt'))).toBe(words(800));
    expect(log.frontMatter.tokens).toBeLessThanOrEqual(12_000);
    expect(await project.read(`${dir}/02/turn.context`)).toBe('README.md\nsmall.txt\nmiddle.txt\n');
    expect(project.said.filter((line) => line.includes('Not shown'))).toEqual([expect.stringMatching(said)]);
    const { violations } = await verifyLine(project, await findRecorded(project, line));
    expect(violations).toEqual([]);
  });

  test('are the smallest set that makes room, and come back when the budget grows', async () => {
    const project = await edited();
    project.configuration.delete('teddy.contextTokens');
    const { frontMatter, sections } = await preview(project);
    project.configuration.set('teddy.contextTokens', String(frontMatter.tokens - 1000));
    const kinds = (log: ParsedContextLog) =>
      log.sections.flatMap(({ path, provenance }) => (path === null ? [] : [`${path} ${provenance.kind}`]));
    const log = await preview(project);
    expect(turnsIn(log)).toEqual(['01']);
    expect(kinds(log)).toEqual(['README.md shown', 'large.txt shown', 'small.txt shown', 'middle.txt not-shown']);
    project.configuration.set('teddy.contextTokens', String(frontMatter.tokens));
    expect((await preview(project)).sections).toEqual(sections);
  });

  test('leave room for the line about left-out turns', async () => {
    const project = await edited();
    const whole = await preview(project);
    const tokens = whole.frontMatter.tokens - estimateTokens(sectionOf(whole, 'history').body);
    for (const budget of [tokens, tokens - 1, tokens + 10]) {
      project.configuration.set('teddy.contextTokens', String(budget));
      expect((await preview(project)).frontMatter.tokens).toBeLessThanOrEqual(budget);
    }
  });

  test('are an error if the user’s own list names them, even if the model has touched them', async () => {
    const project = await edited(['large.txt']);
    await expect(say(project, 'Go on', 'Yes.')).rejects.toMatchObject({
      code: 'CONTEXT_TOO_LARGE',
      message: expect.stringMatching(/The largest: large\.txt \([\d,]+\), /),
    });
  });

  test('are named by `teddy context`, with the reason', async () => {
    const project = await edited();
    const shown = await showContext(project, { why: 'large.txt' });
    expect(shown.files.map(({ path, kind, reason }) => [path, kind, reason])).toEqual([
      ['README.md', 'shown', null],
      ['large.txt', 'not-shown', 'budget'],
      ['small.txt', 'shown', null],
      ['middle.txt', 'shown', null],
    ]);
    expect(shown.notes.map((note) => `warning: ${note}`)).toEqual([expect.stringMatching(said)]);
    expect(shown.why).toMatchObject({ isShown: false, reasons: ["it does not fit the request's budget"] });
  });
});

describe('the same request', () => {
  slowTest('has the same bytes in a preview and on the line, with masks and a trimmed history', async () => {
    const project = await begin({ 'README.md': 'hunter2-and-more\n' });
    await talk(project, 4);
    project.secrets.set('hunter2-and-more', 'a test');
    const { frontMatter } = await preview(project, 'Do it');
    project.configuration.set('teddy.contextTokens', String(frontMatter.tokens - 50));
    const log = await previewRequest(project, { message: 'Do it', choice });
    expect(log).toContain('Left out to fit the budget: ');
    expect(log).toContain('masked: 1\n');
    expect(await previewRequest(project, { message: 'Do it', choice })).toBe(log);
    await say(project, 'Do it', scriptedModel('x'));
    expect(await project.read(`${dir}/05/_context.log`)).toBe(log);
  });

  test('is sent when a turn is retried, even if files, memos, agents, budget or secrets changed', async () => {
    const project = await begin();
    await setGlobal(project, 'agents/gardener.md', 'You prune.\n');
    const model = scriptedModel(interrupted, 'Done.');
    await expect(say(project, 'Do it', model, { agent: 'gardener' })).rejects.toBe(interrupted);
    const log = await project.read(`${dir}/01/_context.log`);
    await project.write({ 'README.md': '# Changed\n', '.teddy/memos.yaml': '- new\n' });
    await setGlobal(project, 'agents/gardener.md', 'You plant.\n');
    project.configuration.set('teddy.contextTokens', '1');
    project.secrets.set('Do it', 'a test');
    await say(project, undefined, model);
    expect(model.requests[1]?.messages).toEqual(model.requests[0]?.messages);
    expect(await project.read(`${dir}/01/_context.log`)).toBe(log);
  });
});

/** Each kind of part on a page: messages and calls, masked, cut or damaged parts, and commits outside turns. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { TeddyError } from '../../../src/errors.ts';
import { renderSessionPage } from '../../../src/page/render-page.ts';
import { repoPathFromGit, type Oid, type RefName } from '../../../src/names.ts';
import type { Commit, Store } from '../../../src/ports/git.ts';
import type { PageTurn, SessionPage } from '../../../src/page/session-page.ts';
import { encodeLanding } from '../../../src/session/lines/landing.ts';
import { appendRecords } from '../../../src/workflow/line/append-records.ts';
import { findPageSource, readPage } from '../../../src/workflow/page/read-page.ts';
import { given } from '../../support/given.ts';
import { type MemoryProject } from '../../support/memory-repository.ts';
import { assistant, call, partial, result, user } from '../../support/records.ts';
import { listSteps } from '../../support/tampering.ts';
import { approver, command, create, edit, line, planOf, run, say, session, turn } from '../../support/turns.ts';

const begin = (files?: Record<string, string>) => given.session(files);

async function read(project: MemoryProject, checks = false): Promise<SessionPage> {
  return readPage(project, await findPageSource(project, session), { version: '1.2.3', checks });
}

async function readTurn(project: MemoryProject, at = -1): Promise<PageTurn> {
  const found = (await read(project)).turns.at(at);
  if (found === undefined) throw new Error('The page has no turn.');
  return found;
}

const text = (words: string) => ({ text: words, cut: null });

describe('the parts of a turn', () => {
  test('are its messages and calls, each call with its result', async () => {
    const project = await begin();
    const append = (...records: Parameters<typeof user | typeof call>[] | object[]) =>
      appendRecords(project, { selector: session, records: records as never });
    await append(user('a', 'What is this?', 'voice_transcription'));
    await append(
      assistant('b', 'I look.'),
      call('c1'),
      call('c2', 'search', { pattern: 'x' }),
      result('c2', 'none', true),
      result('c1', '# Notes\n'),
    );
    await append(assistant('d', 'It is a note.', 'voice_response'));
    const { parts, plan, report } = await readTurn(project);
    expect(parts).toEqual([
      { kind: 'message', text: text('What is this?'), isSpoken: true, isPartial: false },
      { kind: 'reply', text: text('I look.'), isSpoken: false, isPartial: false },
      {
        kind: 'call',
        tool: 'read_file',
        input: text('{\n  "path": "README.md"\n}'),
        result: { output: text('# Notes\n'), isError: false, reason: null },
      },
      {
        kind: 'call',
        tool: 'search',
        input: text('{\n  "pattern": "x"\n}'),
        result: { output: text('none'), isError: true, reason: null },
      },
      { kind: 'reply', text: text('It is a note.'), isSpoken: true, isPartial: false },
    ]);
    expect([plan, report]).toEqual([null, null]);
  });

  test('include interrupted answers, and calls without a recorded result', async () => {
    const project = await begin();
    await say(project, 'Tell me', null);
    const path = `.teddy/sessions/${session}/01/transcript.jsonl`;
    const before = await project.readAt(await project.tipOf(line), path);
    const records = [
      call('c1'),
      { type: 'note', id: 'n', timestamp: '2026-01-24T10:00:00.000Z', text: 'The front end was restarted.' },
      partial('p', 'Half an'),
      { type: 'note', id: 'n2', timestamp: '2026-01-24T10:00:00.000Z', text: 'It was stopped.' },
    ];
    await amend(project, path, `${before}${records.map((record) => `${JSON.stringify(record)}\n`).join('')}`);
    expect((await readTurn(project)).parts.slice(1)).toEqual([
      { kind: 'call', tool: 'read_file', input: text('{\n  "path": "README.md"\n}'), result: null },
      { kind: 'note', text: text('The front end was restarted.') },
      { kind: 'reply', text: text('Half an'), isSpoken: false, isPartial: true },
      { kind: 'note', text: text('It was stopped.') },
    ]);
  });

  test('include thinking, and a sub-agent’s work, folded where they belong', async () => {
    const project = await begin();
    await say(project, 'Count them', null);
    const path = `.teddy/sessions/${session}/01/transcript.jsonl`;
    const before = await project.readAt(await project.tipOf(line), path);
    const timestamp = '2026-01-24T10:00:00.000Z';
    const task = [user('s1', 'Count the files'), call('s2'), result('s2', '3'), assistant('s3', 'There are three.')];
    const records = [
      { type: 'thinking', id: 'h', timestamp, text: 'A helper can do it.' },
      assistant('b', 'I ask a helper.', 'capture'),
      { type: 'note', id: 'n', timestamp, text: 'A sub-agent worked on this.', records: task },
    ];
    await amend(project, path, `${before}${records.map((record) => `${JSON.stringify(record)}\n`).join('')}`);
    const page = await read(project);
    expect(page.turns[0]?.parts.slice(1)).toEqual([
      { kind: 'thinking', text: text('A helper can do it.') },
      { kind: 'reply', text: text('I ask a helper.'), isSpoken: false, isPartial: false },
      {
        kind: 'note',
        text: text('A sub-agent worked on this.'),
        parts: [
          { kind: 'message', text: text('Count the files'), isSpoken: false, isPartial: false },
          expect.objectContaining({ kind: 'call', tool: 'read_file' }),
          { kind: 'reply', text: text('There are three.'), isSpoken: false, isPartial: false },
        ],
      },
    ]);
    const markup = renderSessionPage(page, (bytes) => createHash('sha256').update(bytes).digest('hex'));
    expect(markup).toMatch(/<details class="fold" ?>\s*<summary>Thinking <span class="muted">A helper can do it/);
    expect(markup).toMatch(
      /What it said and did <span class="muted">3 parts<[\s\S]*<h3>Task<\/h3>[\s\S]*There are three/,
    );
  });

  test('mark a plan that is rejected as a whole, and compare the next plan with it', async () => {
    const project = await begin();
    await say(project, 'Make it', planOf([create('a.txt')]));
    await run(project, { reject: 'Rather b.txt.' });
    await say(project, 'Rather b.txt.', planOf([create('b.txt')]));
    const html = renderSessionPage(await read(project), (bytes) => createHash('sha256').update(bytes).digest('hex'));
    const [, first = ''] = /<article ([\s\S]*?)<\/article>/.exec(html) ?? [];
    expect(first).toMatch(/<span class="pill warn">rejected<\/span>/);
    expect(first).toContain('rejected the plan.');
    expect(first).toContain('<h3>Planned</h3>');
    // The reason appears once, and is not repeated for each action.
    expect(first).not.toContain('<p class="reason">rejected</p>');
    expect(html).toContain('Plan of turn 01, and the next one, of turn 02');
    expect(html).toContain('How it differs from the plan of turn 01');
  });

  test('show a user’s rejection as a turn with the reason, and a waiting plan without a report', async () => {
    const project = await begin();
    await say(project, 'Make it', planOf([create('a.txt'), create('b.txt')]));
    expect(await readTurn(project)).toMatchObject({ status: 'planned', outcome: null, report: null, files: [] });
    await run(project, { approver: { ...approver(['no']), by: 'user' } });
    const { report, status, files } = await readTurn(project);
    expect(status).toBe('closed');
    expect(report?.report.action_logs[0]).toMatchObject({ status: 'SKIPPED' });
    expect(report?.commit).toBe(await project.tipOf(line));
    expect(files.map(({ path, action }) => [path, action])).toEqual(
      report?.report.changes.map(({ path, action }) => [path, action]),
    );
  });
});

describe('a waiting plan', () => {
  const code = ['one', 'two', 'three', 'four', 'five', ''].join('\n');
  const hunks = ({ plan }: PageTurn) =>
    plan?.preview?.files.map(({ action, path, change, diff }) => [action, path, change, diff.text.split('\n@@ ')[1]]);

  test('shows what each action would change in the last commit, whatever the work tree has', async () => {
    const project = await begin({ 'a.txt': code });
    const actions = [edit('a.txt', 'three', 'drei'), edit('a.txt', 'drei', '3'), create('b.txt', 'b\n'), command('ls')];
    await say(project, 'Do it', planOf(actions));
    const turn = await readTurn(project);
    expect(hunks(turn)).toEqual([
      [1, 'a.txt', 'modified', '-1,5 +1,5 @@\n one\n two\n-three\n+drei\n four\n five\n'],
      [2, 'a.txt', 'modified', '-1,5 +1,5 @@\n one\n two\n-drei\n+3\n four\n five\n'],
      [3, 'b.txt', 'added', '-0,0 +1,1 @@\n+b\n'],
    ]);
    expect(turn.plan?.preview?.problems).toEqual([]);
    await project.write({ 'a.txt': 'Something else\n' });
    expect(await readTurn(project)).toEqual(turn);
    await project.write({ 'a.txt': code });
    await run(project);
    expect((await readTurn(project)).plan?.preview).toBeNull();
  });

  test('whose FIND misses shows the lines that are most like it, as the earlier actions leave them', async () => {
    const project = await begin({ 'a.txt': code });
    await say(project, 'Do it', planOf([edit('a.txt', 'two', 'zwei'), edit('a.txt', 'fours', '4')]));
    const { plan } = await readTurn(project);
    expect(plan?.preview?.problems).toMatchObject([
      { action: 2, message: expect.stringContaining('closest is line 4'), near: { firstLine: 2 } },
    ]);
    expect(plan?.preview?.problems[0]?.near?.text.text).toBe('zwei\nthree\nfour\nfive\n');
  });

  test('shows no secret, and no part of one, neither in its diffs nor beside its problems', async () => {
    const secret = 'hunter1\nhunter2\nhunter3\nhunter4\nhunter5';
    const project = await begin({ 'a.txt': `one\n${secret}\nthree\n` });
    await say(project, 'Do it', planOf([edit('a.txt', 'three', 'drei'), edit('a.txt', 'the password', 'x')]));
    project.secrets.set(secret, 'password');
    const { plan } = await readTurn(project);
    expect(JSON.stringify(plan?.preview)).not.toContain('hunter');
    expect(JSON.stringify(plan?.preview?.files)).toContain('[masked: password]');
    expect(plan?.preview?.problems[0]?.near?.text.text).toContain('[masked: password]');
  });
});

describe('secrets', () => {
  const secret = 'hunter2-hunter2-hunter2';
  const key = '-----BEGIN KEY-----\nQUFB\nQkJC\nQ0ND\nRERE\nRUVF\n-----END KEY-----';

  test('are masked in every text of the page', async () => {
    const project = await begin();
    await project.commit(`Mine ${secret}\n`, { [`own-${secret}.txt`]: `${secret}\n` });
    project.command.run = async () => ({ stdout: `it is ${secret}\n` });
    await turn(
      project,
      `Use ${secret}\nplease`,
      create(`at-${secret}.txt`, `key = ${secret}\n`),
      command(`echo ${secret}`),
    );
    await appendRecords(project, { selector: session, records: [user('a', `Look for ${secret}.`)] });
    await appendRecords(project, {
      selector: session,
      records: [call('c1', 'search', { pattern: secret }), result('c1', [{ type: 'text', text: secret }])] as never,
    });
    await say(project, `Once more ${secret}`, `Words of ${secret}`);
    expect(JSON.stringify(await read(project, true))).toContain(secret);
    project.secrets.set(secret, 'password');
    const page = await read(project, true);
    expect(JSON.stringify(page)).not.toContain(secret);
    expect(page.title).toBe('Use [masked: password]');
    expect(page.others).toMatchObject([{ subject: 'Mine [masked: password]' }]);
    expect(page.turns[0]?.files.map(({ path }) => path)).toEqual(['at-[masked: password].txt']);
    expect(page.turns[0]?.files[0]?.diff.text).toContain('+key = [masked: password]');
  });

  test('are masked in the names on commits: authors, models, and starting points', async () => {
    const project = await begin();
    await turn(project, 'Do it', create('one.txt'));
    const { store } = project.repository;
    const batch = store.batch();
    let tip: Oid | null = null;
    for (const { oid } of await listSteps(project, await project.tipOf(line))) {
      const commit: Commit = await store.readCommit(oid);
      const message = commit.message.replace(/^Teddy-(Agent|Provider|Model|Base-Branch): .*/gm, `Teddy-$1: ${secret}`);
      const author = commit.author.replace(/^[^<]*/, `${secret} `);
      tip = await batch.commit({ ...commit, message, author, parents: tip === null ? commit.parents : [tip] });
    }
    await batch.flush();
    await project.setRef(`refs/heads/${line}` as RefName, tip as Oid);
    const shown = JSON.stringify(await read(project));
    expect(shown.split(secret).length).toBeGreaterThan(6);
    project.secrets.set(secret, 'password');
    const page = await read(project);
    expect(JSON.stringify(page)).not.toContain(secret);
    expect(page).toMatchObject({ authors: ['[masked: password]'], base: { branch: '[masked: password]' } });
  });

  test('of several lines are masked even if a hunk shows only some of them', async () => {
    const project = await begin({ 'key.txt': `${key}\nold\n` });
    await turn(
      project,
      'Change it',
      `### EDIT\n- **File Path:** key.txt\n\n#### FIND:\n\`\`\`\nold\n\`\`\`\n#### REPLACE:\n\`\`\`\nnew\n\`\`\`\n`,
    );
    expect((await readTurn(project)).files[0]?.diff.text).toContain('RUVF');
    project.secrets.set(key, 'key');
    const [file] = (await readTurn(project)).files;
    expect(file?.diff.text).toMatch(/ \[masked: key\]\n-old\n\+new\n$/);
    expect(file).toMatchObject({ added: 1, removed: 1 });
  });

  test('that would be cut in half at the end of the kept text are masked', async () => {
    const project = await begin();
    const long = `${'x'.repeat(262_144 - 10)}${secret}${'y'.repeat(1000)}`;
    await say(project, long, 'Words.');
    project.secrets.set(secret, 'password');
    const [part] = (await readTurn(project)).parts;
    expect(part?.kind === 'message' && part.text.text.slice(-20)).toBe('xxxxxxxxxx[masked: p');
  });
});

describe('long texts', () => {
  test('are cut, with the length left out and the command that prints everything', async () => {
    const project = await begin();
    project.configuration.set('teddy.contextTokens', '1000000');
    const long = 'word '.repeat(120_000);
    await say(project, long, planOf([create('long.txt', `${'line\n'.repeat(120_000)}`)]));
    await run(project);
    const { parts, files, commits, plan } = await readTurn(project);
    const [message] = parts;
    const last = commits.at(-1)?.commit.slice(0, 10);
    expect(message?.kind === 'message' && [message.text.text.length, message.text.cut]).toEqual([
      262_144,
      { characters: 600_000 - 262_144, command: `git show ${last}:.teddy/sessions/${session}/01/transcript.jsonl` },
    ]);
    const blob = await project.repository.store.readFile(await project.tipOf(line), repoPathFromGit('long.txt'));
    expect(files[0]).toMatchObject({
      added: 120_000,
      diff: { cut: { command: `git show ${blob?.oid.slice(0, 10)}` } },
    });
    expect(files[0]?.diff.text.length).toBe(262_144);
    expect(plan?.parsed).toBeNull();
    expect(plan?.source.cut?.command).toBe(
      `git show ${commits[1]?.commit.slice(0, 10)}:.teddy/sessions/${session}/01/plan.md`,
    );
    expect(plan?.sha256).toBe(project.hash(planOf([create('long.txt', `${'line\n'.repeat(120_000)}`)])));
  });

  test('in a turn are kept only as far as there is room for all of them', async () => {
    const project = await begin();
    const names = Array.from({ length: 20 }, (_, at) => `${at}.txt`);
    await turn(project, 'Many', ...names.map((name) => create(name, `${'a'.repeat(300_000)}\n`)));
    const { files } = await readTurn(project);
    const kept = files.reduce((sum, { diff }) => sum + diff.text.length, 0);
    expect(kept).toBeLessThanOrEqual(16 * 262_144);
    expect(kept).toBeGreaterThan(12 * 262_144);
    expect(files.at(-1)).toMatchObject({ added: 1, diff: { text: '', cut: { characters: expect.any(Number) } } });
  });
});

describe('a damaged part', () => {
  test('is a fault in its turn, and everything else is shown', async () => {
    const project = await begin();
    await turn(project, 'One', create('one.txt'));
    await turn(project, 'Two', create('two.txt'));
    const whole = await read(project);
    const { store } = project.repository;
    const tip = await project.tipOf(line);
    const paths = [`.teddy/sessions/${session}/02/transcript.jsonl`, 'one.txt'];
    const gone = await Promise.all(paths.map((path) => store.readFile(tip, repoPathFromGit(path))));
    const refuse = <Result>(oid: Oid, result: () => Promise<Result>) =>
      gone.some((one) => one?.oid === oid) ? Promise.reject(damage) : result();
    const { turns } = await read(
      withStore(project, {
        readBlob: (oid) => refuse(oid, () => store.readBlob(oid)),
        streamBlob: (oid, take) => refuse(oid, () => store.streamBlob(oid, take)),
        readSize: async (oid) => (gone.some((one) => one?.oid === oid) ? null : store.readSize(oid)),
      }),
    );
    expect(turns.map(({ faults }) => faults.length)).toEqual([1, 1]);
    const [one, two] = whole.turns;
    expect(turns[0]).toMatchObject({ files: [], plan: one?.plan, parts: one?.parts });
    expect(turns[0]?.faults[0]).toContain('its code');
    expect(turns[1]).toMatchObject({ plan: two?.plan, report: two?.report, files: two?.files, commits: two?.commits });
    expect(turns[1]?.parts.map(({ kind }) => kind)).toEqual(['plan', 'report']);
    expect(turns[1]?.faults[0]).toContain('transcript.jsonl');
  });

  test('may be a tree without which a commit’s changes cannot be computed', async () => {
    const project = await begin();
    await turn(project, 'One', create('one.txt'));
    await turn(project, 'Two', create('two.txt'));
    const whole = await read(project);
    const { store } = project.repository;
    const gone = whole.turns[0]?.report?.commit;
    const page = await read(
      withStore(project, {
        async *walkChanges() {
          yield* [];
          throw damage;
        },
        diffTrees: (before, after, options) =>
          after === gone ? Promise.reject(damage) : store.diffTrees(before, after, options),
      }),
    );
    expect(page.turns[0]).toMatchObject({ parts: whole.turns[0]?.parts, files: [] });
    expect(page.turns[0]?.faults).toEqual([`Damaged or missing: the changes of ${gone?.slice(0, 10)}.`]);
    expect(page.turns[1]).toEqual(whole.turns[1]);
  });

  test('may be an unreadable report, or an invalid request', async () => {
    const project = await begin();
    await turn(project, 'One', create('one.txt'));
    await amend(project, `.teddy/sessions/${session}/01/report.md`, 'version: 9\n');
    await amend(project, `.teddy/sessions/${session}/01/_context.log`, 'nothing\n');
    const { report, request, faults, files } = await readTurn(project);
    expect(report).toBeNull();
    expect(faults).toEqual([expect.stringContaining('The report cannot be read')]);
    expect(files).toMatchObject([{ path: 'one.txt', action: null }]);
    expect(request).toMatchObject({ sections: [], parameters: null, bytes: 8 });
  });
});

describe('commits outside turns', () => {
  test('such as snapshots and landings come after their turns', async () => {
    const project = await begin();
    await turn(project, 'One', create('one.txt'));
    await project.write({ 'README.md': '# Mine\n' });
    await turn(project, 'Two', create('two.txt'));
    const tip = await project.tipOf(line);
    await project.switchTo('main');
    await project.commit(encodeLanding('Somebody else', [{ session: '20260101-other' as never, tip }]));
    const landed = await project.commit(encodeLanding('Land both', [{ session: session as never, tip }]));
    await project.switchTo(line);
    await say(project, 'Three', 'Words.');
    const page = await read(project);
    expect(page.source.landed).toEqual([landed]);
    expect(page.others.map(({ kind, after, subject }) => [kind, after, subject])).toEqual([
      ['snapshot', '01', expect.stringMatching(/^snapshot: /)],
      ['landing', '02', 'Land both'],
    ]);
  });
});

test('a turn that two lines end differently appears twice, with the shared steps', async () => {
  const project = await begin();
  await turn(project, 'One', create('one.txt'));
  await say(project, 'Two', planOf([create('two.txt')]));
  await project.switchTo('my-attempt', await project.tipOf(line));
  await run(project, { approver: approver(['no']) });
  await project.switchTo(line);
  await run(project);
  const { turns, comparisons } = await read(project);
  expect(turns.map(({ turn: id, name, line: of, parent }) => [id, name, of, parent])).toEqual([
    ['01', '01', line, null],
    ['02', '02', line, '01'],
    ['02-2', '02', 'my-attempt', '01'],
  ]);
  expect(turns[2]?.commits.slice(0, 2)).toEqual(turns[1]?.commits.slice(0, 2));
  expect(turns[2]?.commits[2]).not.toEqual(turns[1]?.commits[2]);
  expect(comparisons).toMatchObject([{ one: '02', other: '02-2' }]);
});

test('checks are those of verify and replay', async () => {
  const project = await begin();
  await turn(project, 'One', create('one.txt'));
  expect((await read(project, true)).checks).toEqual({
    verify: { entries: 4, turns: 1, isWhole: true, faults: [] },
    replay: { same: 1, different: 0, notCompared: 0, faults: [] },
  });
  await amend(project, `.teddy/sessions/${session}/01/plan.md`, planOf([create('one.txt', 'other\n')]));
  const { checks } = await read(project, true);
  expect(checks?.verify.faults.join('\n')).toContain('plan.md');
  expect(checks?.verify.faults.every((fault) => /^[0-9a-f]{10} /.test(fault))).toBe(true);
});

test('a page of a range is refused', async () => {
  const project = await begin();
  await turn(project, 'One', create('one.txt'));
  await expect(findPageSource(project, `main..${line}`)).rejects.toMatchObject({ code: 'USAGE' });
});

const damage = new TeddyError('DAMAGED_SESSION', 'An object is missing.');

function withStore(project: MemoryProject, more: Partial<Store>): MemoryProject {
  const { repository } = project;
  return { ...project, repository: { ...repository, store: { ...repository.store, ...more } } };
}

/** The line's newest entry once more, with another file, as somebody would who rewrites it. */
async function amend(project: MemoryProject, path: string, content: string): Promise<void> {
  const { store } = project.repository;
  const tip = await project.tipOf(line);
  const before = await store.readCommit(tip);
  await project.commit('x', { [path]: content });
  const { tree } = await store.readCommit(await project.tipOf(line));
  const batch = store.batch();
  const amended = await batch.commit({ ...before, tree });
  await batch.flush();
  await project.setRef(`refs/heads/${line}`, amended);
}

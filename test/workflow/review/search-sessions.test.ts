import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { beforeEach, describe, expect } from 'vitest';
import type { GivenRecord } from '../../../src/conversation/records/given-record.ts';
import type { RefName } from '../../../src/names.ts';
import { editTree } from '../../../src/session/paths/edit-tree.ts';
import { plainPattern, regexPattern, searchScopes, type TextPattern } from '../../../src/session/text/text-pattern.ts';
import { archiveSession } from '../../../src/workflow/landing/archive-session.ts';
import { appendRecords } from '../../../src/workflow/line/append-records.ts';
import { newSession } from '../../../src/workflow/line/new-session.ts';
import { searchSessions, type FoundTurn, type SearchRequest } from '../../../src/workflow/review/search-sessions.ts';
import { giveVerdict } from '../../../src/workflow/run/give-verdict.ts';
import { branchSession } from '../../../src/workflow/turn/branch-session.ts';
import { undoTurn } from '../../../src/workflow/turn/undo.ts';
import { given } from '../../support/given.ts';
import { path } from '../../support/disk.ts';
import { memoryProject, type MemoryProject } from '../../support/memory-repository.ts';
import { runs } from '../../support/runs.ts';
import { command, create, edit, line, planOf, run, say, session, turn } from '../../support/turns.ts';
import { propertyTest, quickTest as test } from '../../support/slow-test.ts';

const { signal } = new AbortController();
const plain = (text: string, ignoresCase = false) => plainPattern(text, { ignoresCase });
const regex = (text: string) => regexPattern(text, { ignoresCase: false, limit: (find) => find() });

async function search(
  project: MemoryProject,
  pattern: TextPattern,
  more: Partial<SearchRequest> = {},
): Promise<FoundTurn[]> {
  const places = searchScopes.filter((place) => place !== 'code');
  const request = { patterns: [pattern], places, sinceMs: null, width: 80, signal, ...more };
  const found: FoundTurn[] = [];
  for await (const one of (await searchSessions(project, request)).turns) found.push(one);
  return found;
}

/** `02 plan.md:3 # Do it`. */
const rowsOf = (found: FoundTurn[]) =>
  found.flatMap(({ turn: name, matches }) =>
    matches.map(({ place, file, number, text }) => `${name} ${place} ${file ?? '-'}:${number ?? '-'} ${text}`),
  );
const turnsOf = (found: FoundTurn[]) => found.map(({ line: { session: id }, turn: name }) => `${id.slice(9)} ${name}`);

const record = (type: 'user' | 'assistant', content: string): GivenRecord =>
  type === 'user' ? { type, message: { role: 'user', content } } : { type, message: { role: 'assistant', content } };

let project: MemoryProject;
beforeEach(async () => {
  project = await given.session({ 'README.md': '# Notes\nthe base needle\n' });
});

describe('a search finds', () => {
  test('user messages, plans, runs and model answers, each in its place', async () => {
    project.command.run = async () => ({ exitCode: 0, stdout: 'a "needle" in a\nhaystack\n' });
    await say(
      project,
      'First line\nneedle "quoted" \\ back',
      planOf([command('echo needle')], '## Rationale\n\nA needle.'),
    );
    await giveVerdict(project, {
      verdict: 'approved',
      text: 'No needle?',
      comments: [{ line: 3, text: 'needle here' }],
    });
    await run(project);
    await say(project, 'And then?', 'The needle is\nfound.');
    expect(rowsOf(await search(project, plain('needle')))).toEqual([
      '02 answer -:- The needle is',
      '01 message -:- needle "quoted" \\ back',
      '01 message -:- No needle?',
      '01 message -:- needle here',
      '01 plan plan.md:5 A needle.',
      '01 plan plan.md:13 echo needle',
      '01 report report.md:24 command: echo needle',
      '01 report report.md:33 a "needle" in a',
    ]);
    const only = async (...places: SearchRequest['places']) =>
      rowsOf(await search(project, plain('needle'), { places }));
    expect(await only('answer')).toHaveLength(1);
    expect(await only('plan', 'message')).toHaveLength(5);
    expect(await only('report')).toHaveLength(2);
  });

  test('tool calls and their results, as they were before they were written as JSON', async () => {
    const input = { command: 'grep "a\\b"', options: { deep: ['süß\nsauer'] } };
    await say(project, 'Look', null);
    await appendRecords(project, {
      selector: session,
      records: [
        { type: 'tool_use', tool_call_id: 'c1', tool_name: 'Bash', tool_input: input },
        { type: 'tool_result', tool_call_id: 'c1', output: [{ type: 'text', text: 'no "such"\tfile' }] },
      ],
    });
    expect(rowsOf(await search(project, plain('"a\\b"')))).toEqual(['01 report -:- grep "a\\b"']);
    expect(rowsOf(await search(project, plain('süß\nsauer')))).toEqual(['01 report -:- süß']);
    expect(rowsOf(await search(project, plain('such"\tfile')))).toEqual(['01 report -:- no "such"\tfile']);
    expect(await search(project, plain('such\\"'))).toEqual([]);
  });

  test('a text in a report that YAML writes in another form, once', async () => {
    project.command.run = async () => ({ exitCode: 1, stdout: 'it\'s \u001b[31mred\u001b[0m: "no"\nplain red\n' });
    await turn(project, 'Run it', command('false', '- **Allow Failure:** true'));
    expect(rowsOf(await search(project, plain('\u001b[31mred'), { places: ['report'] }))).toEqual([
      '01 report report.md:- it\'s \u001b[31mred\u001b[0m: "no"',
    ]);
    expect(rowsOf(await search(project, plain('plain red\n'), { places: ['report'] }))).toHaveLength(1);
    expect(rowsOf(await search(project, plain('echo'), { places: ['report'] }))).toEqual([]);
  });

  test('output that was too long for the report', async () => {
    project.command.run = async () => ({
      exitCode: 0,
      stdout: `${'straw\n'.repeat(40_000)}needle\n${'hay\n'.repeat(40_000)}`,
    });
    await turn(project, 'Run it', command('cat haystack'));
    expect(rowsOf(await search(project, plain('needle')))).toEqual(['01 report output/1.log:40002 needle']);
  });

  test('a regular expression line by line, even if no literal in it narrows down the files', async () => {
    await say(project, 'a1\nb22', 'c333');
    await say(project, 'nothing', 'd\n4');
    expect(rowsOf(await search(project, regex('^[a-c]\\d{1,2}$')))).toEqual([
      '01 message -:- a1',
      '01 message -:- b22',
    ]);
    expect(rowsOf(await search(project, regex('\\d$')))).toHaveLength(4);
    expect(await search(project, regex('d.4'))).toEqual([]);
    expect((await search(project, regex('b2+')))[0]?.matches[0]?.marks).toEqual([{ start: 0, end: 3 }]);
  });

  test('turns with a match for each pattern, wherever it is', async () => {
    await say(project, 'One', 'Two.');
    await say(project, 'One', 'Three.');
    const patterns = [plain('one', true), plain('two', true)];
    expect(rowsOf(await search(project, plain(''), { patterns }))).toEqual([
      '01 message -:- One',
      '01 answer -:- Two.',
    ]);
  });

  test('no part of a secret', async () => {
    project.secrets.set('sk-secret-123', 'key');
    await say(project, 'Tell me', 'It is sk-secret-123, with a needle.');
    expect(rowsOf(await search(project, plain('needle')))).toEqual([
      '01 answer -:- It is [masked: key], with a needle.',
    ]);
    expect(await search(project, plain('secret'))).toEqual([]);
    const patterns = [plain('needle'), plain('sk-secret-123')];
    expect(await search(project, plain(''), { patterns })).toEqual([]);
  });

  test('text that another JSON writer has escaped', async () => {
    await say(project, 'Hello', null);
    const { store } = project.repository;
    const tip = await project.tipOf(line);
    const content = 'gr\\u00fcn \\u003cb\\u003e a\\/b';
    const text = `{"type":"user","id":"x","timestamp":"","message":{"role":"user","content":"${content}"}}\n`;
    const batch = store.batch();
    const entry = { mode: '100644' as const, oid: await batch.blob(text) };
    const before = await store.readCommit(tip);
    const edits = [{ path: path(`.teddy/sessions/${session}/01/transcript.jsonl`), entry }];
    const oid = await batch.commit({ ...before, tree: await editTree(store, batch, before.tree, edits) });
    await batch.flush();
    await project.setRef(`refs/heads/${line}`, oid);
    for (const said of ['grün', '<b>', 'a/b', 'n <b> a/'])
      expect(rowsOf(await search(project, plain(said))), said).toEqual(['01 message -:- grün <b> a/b']);
    expect(rowsOf(await search(project, plain('GRÜN <B>', true)))).toHaveLength(1);
    expect(rowsOf(await search(project, regex('ü.+<')))).toHaveLength(1);
    expect(await search(project, plain('u003c'))).toEqual([]);
  });
});

describe('the search results', () => {
  test('come by session, the one with the newest step first, with the newest turn first in each', async () => {
    await say(project, 'needle 1', 'Yes.');
    const { session: other } = await newSession(project, { name: 'other', switch: false });
    await say(project, 'needle 2', 'Yes.', { selector: other });
    await say(project, 'needle 3', 'Yes.');
    expect(turnsOf(await search(project, plain('needle')))).toEqual(['add-login 02', 'add-login 01', 'other 01']);
  });

  test('include archived sessions and remotes, with the command that shows them', async () => {
    await say(project, 'needle here', 'Yes.');
    const tip = await project.tipOf(line);
    await newSession(project, { name: 'other', switch: true });
    await say(project, 'needle there', 'Yes.');
    await project.switchTo('main');
    await archiveSession(project, '20260124-other');
    await project.setRef('refs/remotes/origin/teddy/20260124-add-login', tip);
    const found = await search(project, plain('needle'));
    expect(found.map(({ lineName, selector }) => [lineName, selector])).toEqual([
      ['archive/20260124-other', '20260124-other'],
      [line, session],
    ]);
    await project.repository.store.updateRefs(
      [{ ref: `refs/heads/${line}` as RefName, old: tip, new: null }],
      'delete',
    );
    expect((await search(project, plain('needle here'))).map(({ lineName, selector }) => [lineName, selector])).toEqual(
      [[`origin/${line}`, session]],
    );
  });

  test('appear once, by the main line, if a conversation branch has them as well', async () => {
    await say(project, 'needle 1', 'Yes.');
    await say(project, 'needle 2', 'Yes.');
    await branchSession(project, { turn: '02', switch: true });
    await say(project, 'needle 2, differently', 'Yes.');
    const found = await search(project, plain('needle'));
    expect(found.map(({ turn: name, lineName, selector }) => [name, lineName, selector])).toEqual([
      ['02', line, session],
      ['01', line, session],
      ['02-branch-01', `${line}--02-branch-01`, `${line}--02-branch-01`],
    ]);
  });

  test('appear twice if two lines have different turns of the same name', async () => {
    await say(project, 'first', 'Yes.');
    await project.switchTo('mine', await project.tipOf(line));
    await say(project, 'needle of mine', 'Yes.');
    await project.switchTo(line);
    await say(project, 'needle of yours', 'Yes.');
    expect(rowsOf(await search(project, plain('needle')))).toEqual([
      '02 message -:- needle of yours',
      '02 message -:- needle of mine',
    ]);
  });

  test('have the plan’s title, or the message’s beginning, and a time', async () => {
    await say(project, '\n needle, please\nand more', planOf([create('a.txt')]));
    await run(project);
    await say(project, '\n needle, again\nand more', 'Yes.');
    const found = await search(project, plain('needle'));
    expect(found.map(({ title }) => title)).toEqual(['needle, again', 'Do it']);
    for (const { at: time } of found) expect(time).toMatch(/^2026-01-24T10:\d\d:\d\d\.000Z$/);
  });

  test('cover only the requested time', async () => {
    await say(project, 'needle 1', 'Yes.');
    const sinceMs = project.clock.now().getTime();
    await say(project, 'needle 2', 'Yes.');
    expect(turnsOf(await search(project, plain('needle'), { sinceMs }))).toEqual(['add-login 02']);
    const later = Date.parse('2027-01-01');
    const { lines } = await searchSessions(project, {
      patterns: [plain('x')],
      places: ['message'],
      sinceMs: later,
      width: 80,
      signal,
    });
    expect(lines).toBe(0);
  });

  test('cover only as many as are read', async () => {
    for (let number = 1; number <= 20; number += 1) await say(project, `needle ${number}`, 'Yes.');
    const { turns } = await searchSessions(project, {
      patterns: [plain('needle')],
      places: ['message'],
      sinceMs: null,
      width: 80,
      signal,
    });
    for await (const { turn: name } of turns) {
      expect(name).toBe('20');
      break;
    }
    const ended = AbortSignal.abort();
    await expect(search(project, plain('needle'), { signal: ended })).rejects.toMatchObject({ code: 'INTERRUPTED' });
  });
});

describe('in the code, a search finds', () => {
  const code = (pattern: TextPattern) => search(project, pattern, { places: ['code'] });

  test('a line that an entry added and the tip still has, with the turn, and nothing on the base branch', async () => {
    await turn(project, 'Make it', create('a.txt', 'a needle\ngone needle\n'));
    await turn(
      project,
      'Go on',
      edit('README.md', '# Notes', '# Notes\nmy needle'),
      edit('a.txt', 'gone needle', 'hay'),
    );
    await project.write({ 'a.txt': 'a needle\nhay\nedited needle\n' });
    await say(project, 'And now?', 'Yes.');
    expect(rowsOf(await code(plain('needle')))).toEqual([
      '03 code a.txt:3 edited needle',
      '02 code README.md:2 my needle',
      '01 code a.txt:1 a needle',
    ]);
    expect(rowsOf(await code(regex('^(a|b) n')))).toEqual(['01 code a.txt:1 a needle']);
    expect(await code(plain('gone'))).toEqual([]);
    expect(await code(plain('add-login'))).toEqual([]);
  });

  test('no line that is too long for the expression, which is counted', async () => {
    await turn(project, 'Make it', create('a.txt', `a needle ${'x'.repeat(20_000)}\n`));
    const pattern = regex('ne+dle');
    expect([await code(pattern), pattern.passedOver.size]).toEqual([[], 1]);
  });

  test("neither the user's own commits, nor a merge’s lines, nor binary files", async () => {
    await turn(project, 'Make it', create('a.txt', 'a needle\n'));
    await project.commit('Mine', { 'mine.txt': 'own needle\n' });
    await turn(project, 'Go on', create('bytes.txt', 'bin needle\n'));
    await project.write({ 'bytes.txt': '\0bin needle\n' });
    await say(project, 'And now?', 'Yes.');
    expect(rowsOf(await code(plain('needle')))).toEqual(['01 code a.txt:1 a needle']);
  });

  test('lines that an undo restored, with the turn that added them', async () => {
    await turn(project, 'Make it', create('a.txt', 'a needle\nmore\n'));
    await turn(project, 'Change it', edit('a.txt', 'a needle', 'no more'), edit('README.md', 'the base needle', 'hay'));
    await undoTurn(project, {});
    await turn(project, 'Go on', edit('a.txt', 'more', 'less'));
    expect(rowsOf(await code(plain('needle')))).toEqual(['01 code a.txt:1 a needle']);
  });

  test('lines beside messages in the same turn', async () => {
    await turn(project, 'Make a needle', create('a.txt', 'a needle\n'));
    const found = await search(project, plain('needle'), { places: ['message', 'code'] });
    expect(rowsOf(found)).toEqual(['01 message -:- Make a needle', '01 code a.txt:1 a needle']);
  });
});

propertyTest('every text in a message is found in its place, and nothing else', async () => {
  const piece = fc.constantFrom(
    'a',
    'b',
    'Z',
    ' ',
    '"',
    "'",
    '\\',
    '\n',
    '\t',
    '/',
    '<',
    'ü',
    'Ü',
    'ß',
    '😀',
    '👩‍🚀',
    '日',
    '\u2028',
    '\u0007',
    '.',
    '*',
  );
  const said = fc.array(piece, { minLength: 1, maxLength: 10 }).map((pieces) => `${pieces.join('')}.`);
  const turns = fc.array(fc.tuple(said, said), { minLength: 1, maxLength: 3 });
  const sessions = fc.array(turns, { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(sessions, fc.array(piece, { minLength: 1, maxLength: 3 }), async (spoken, pieces) => {
      const fresh = await memoryProject();
      const all: { place: string; key: string; text: string }[] = [];
      for (const [at, exchanges] of spoken.entries()) {
        const { session: id } = await newSession(fresh, { name: `s${at}`, switch: false });
        for (const [number, [message, answer]] of exchanges.entries()) {
          for (const one of [record('user', message), record('assistant', answer)])
            // Without its own id, a record with the same words is the same record.
            await appendRecords(fresh, { selector: id, records: [{ ...one, id: randomUUID() }] });
          const key = `s${at} 0${number + 1}`;
          all.push({ place: 'message', key, text: message }, { place: 'answer', key, text: answer });
        }
      }
      const texts = [pieces.join(''), ...all.map(({ text }) => text)];
      for (const text of texts)
        for (const ignoresCase of [false, true]) {
          const pattern = plain(text, ignoresCase);
          const isSaid = (one: string) =>
            ignoresCase ? one.toLowerCase().includes(text.toLowerCase()) : one.includes(text);
          for (const place of ['message', 'answer'] as const) {
            const expected = all.filter((one) => one.place === place && isSaid(one.text)).map(({ key }) => key);
            const found = turnsOf(await search(fresh, pattern, { places: [place] }));
            expect(found.toSorted(), JSON.stringify(text)).toEqual(expected.toSorted());
          }
        }
    }),
    runs(40, 8),
  );
});

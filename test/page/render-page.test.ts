/** The page as text: its contents, the parts that never repeat, and the harmlessness of any text in it. */
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { renderSessionPage } from '../../src/page/render-page.ts';
import type { PageCommit, PageOrigin, PageTurn, SessionPage } from '../../src/page/session-page.ts';
import type { RepoPath, TurnName } from '../../src/names.ts';
import { checkReport } from '../../src/plan/report/promise.ts';
import {
  oid,
  pageFile,
  pagePlan,
  pageReport,
  pageRequest,
  pageTurn,
  sessionPage,
  sha256,
  whole,
} from '../support/page-values.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test, slowTest } from '../support/slow-test.ts';
import { command, create, edit, memos, planOf } from '../support/turns.ts';

const render = (page: SessionPage) => renderSessionPage(page, sha256);
const inTurn = (more: Partial<PageTurn>) => render(sessionPage([pageTurn('01', more)]));
const parts: PageTurn['parts'] = [
  { kind: 'message', text: whole('Do it.'), isSpoken: false, isPartial: false },
  { kind: 'plan' },
  { kind: 'report' },
];
const plan = planOf([create('src/a.ts', 'one\n'), edit('b.txt', 'old', 'new'), command('npm test')]);
const turnName = (name: string) => name as TurnName;

/** The text between two tags, without markup. */
function toText(html: string): string {
  return html
    .replace(/<(style|script)>.*?<\/\1>/gs, '')
    .replace(/<[^>]*>/g, '')
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&quot;/g, '"')
    .replace(/&#39;/g, "'")
    .replace(/&amp;/g, '&');
}

function count(text: string, wanted: string): number {
  return text.split(wanted).length - 1;
}

/** The text of the page's part between two of its tags, in one line. */
function textIn(html: string, from: string, to: string): string {
  const start = html.indexOf(from);
  return toText(html.slice(start, html.indexOf(to, start)))
    .replace(/\s+/g, ' ')
    .trim();
}

describe('the head', () => {
  const ran = (index: number, status: 'SUCCESS' | 'FAILURE', script: string) => ({
    index,
    action_type: 'EXECUTE' as const,
    status,
    params: { command: script },
  });
  const head = (turns: PageTurn[], more: Partial<SessionPage> = {}) =>
    textIn(render(sessionPage(turns, more)), '<dl class="tiles">', '</dl>');
  const tested = (status: 'SUCCESS' | 'FAILURE', more: Partial<PageTurn> = {}) =>
    pageTurn('01', { outcome: status, report: pageReport('01', [ran(1, status, 'npm test')]), ...more });

  test('says how the line ended: its last turn, or the landing after it', () => {
    const landing = (after: string): PageCommit => ({
      commit: oid('landing'),
      kind: 'landing',
      line: 'teddy/a-session',
      after: turnName(after),
      time: '2026-01-24T11:00:00Z',
      author: 'Ada',
      subject: 'Land',
      files: [],
      omitted: 0,
    });
    const turns = [pageTurn('01', { outcome: 'SUCCESS' }), pageTurn('02', { outcome: 'FAILURE' })];
    const short = oid('landing').slice(0, 10);
    expect(head(turns)).toContain('Outcome failed turn 02, not landed; nothing waits for a decision');
    expect(head(turns, { others: [landing('02')] })).toContain(`Outcome landed as ${short}`);
    expect(head(turns, { others: [landing('01')] })).toContain(
      `Outcome failed turn 02, not landed; ${short} landed before`,
    );
    const elsewhere = pageTurn('03', { outcome: 'SUCCESS', line: 'teddy/a-session--02-branch-01' });
    expect(head([...turns, elsewhere])).toContain('Outcome failed turn 02');
  });

  test('says whether the last test passed, and whether the code changed afterwards', () => {
    expect(head([pageTurn('01')])).toContain('Tests none ran');
    expect(head([tested('FAILURE')])).toContain('Tests failed npm test in turn 01');
    expect(head([tested('SUCCESS')])).toMatch(/Tests passed npm test in turn 01 Approved/);
    const later = pageTurn('02', { files: [pageFile('src/a.ts', null, 'a\n', 1)] });
    expect(head([tested('SUCCESS'), later])).toContain('npm test in turn 01; src/a.ts changed later');
    expect(head([tested('SUCCESS'), { ...later, undoneBy: oid('undo') }])).not.toContain('changed later');
    const own = (action: number) => tested('SUCCESS', { files: [pageFile('b.ts', null, 'b\n', action)] });
    expect([2, 1].map((action) => head([own(action)]).includes('b.ts changed later'))).toEqual([true, false]);
    const call = (isError: boolean, script = 'npx vitest "run"'): PageTurn['parts'][number] => ({
      kind: 'call',
      tool: 'Bash',
      input: whole(JSON.stringify({ command: script }, null, 2)),
      result: { output: whole(''), isError, reason: null },
    });
    expect(head([pageTurn('01', { parts: [call(false)] })])).toContain('Tests passed npx vitest "run"');
    expect(head([pageTurn('01', { parts: [call(true)] })])).toContain('Tests failed');
    for (const script of ['npm test | tail -5', 'npm test || true', 'npm test; echo done', 'npm test\necho done']) {
      const said = head([pageTurn('01', { parts: [call(false, script)] })]);
      expect(said, script).toContain('Tests ran npm test');
      expect(said, script).toContain('its exit code may be another command’s');
      expect(head([pageTurn('01', { parts: [call(true, script)] })]), script).toContain('Tests failed');
    }
    for (const script of ['npm run lint && npm test', 'cd app; npm test'])
      expect(head([pageTurn('01', { parts: [call(false, script)] })]), script).toContain('Tests passed');
  });

  test('says who approved how much, and how many plans were refused', () => {
    expect(head([pageTurn('01')])).toContain('Approved nobody on record');
    const report = pageReport('01', [{}, { approved_by: 'flag' }, { status: 'SKIPPED' }]);
    const verdict = (word: 'approved' | 'rejected', author: string) => ({
      verdict: word,
      author,
      time: '2026-01-24T10:00:00Z',
      text: null,
      comments: [],
    });
    const turns = [
      pageTurn('01', { outcome: 'SUCCESS', report, verdicts: [verdict('approved', 'Grace')] }),
      pageTurn('02', { verdicts: [verdict('rejected', 'Edsger')] }),
    ];
    expect(head(turns)).toContain(
      'Approved Grace, Ada 1 plan approved, 1 action by hand, 1 action in advance, with -y, 1 plan rejected',
    );
  });
});

describe('the map', () => {
  test('names a turn by its message, says what stands out, and adds up the turns of other lines', () => {
    const message = (text: string): PageTurn['parts'] => [
      { kind: 'message', text: whole(text), isSpoken: false, isPartial: false },
      { kind: 'plan' },
    ];
    const html = render(
      sessionPage([
        pageTurn('01', { parts: message('Add a login'), plan: pagePlan(plan), outcome: 'SUCCESS' }),
        pageTurn('02', {
          parts: message('Now log out'),
          plan: pagePlan(plan),
          outcome: 'FAILURE',
          parent: turnName('01'),
        }),
        pageTurn('02-branch-01', {
          line: 'teddy/a-session--02-branch-01',
          parent: turnName('01'),
          parts: message('With a button'),
          files: [pageFile('a.txt', null, 'a\nb\n', 1)],
        }),
        pageTurn('03', { parts: [{ kind: 'plan' }], plan: pagePlan(plan), parent: turnName('02') }),
      ]),
    );
    const map = textIn(html, '<nav id="timeline"', '</nav>');
    expect(map).toMatch(/^01Add a logindone/);
    expect(map).toContain('02Now log outfailed');
    expect(map).toContain('02-branch-01 1 turn +2 −0');
    expect(map).toContain('03Do it');
    expect(html).toMatch(/class="word hidden">done</);
    expect(html).toMatch(/class="word">failed</);
  });
});

describe('the files', () => {
  const promise = (path: string, state: 'kept' | 'beyond' | 'missed', action = 1): PageTurn['promise'] => ({
    verdict: 'kept',
    isProse: false,
    paths: [{ path: path as RepoPath, state, action }],
    commands: [],
  });
  const byTurn = (turn: string, action: number | null = 1) => ({ kind: 'turn' as const, turn: turnName(turn), action });
  const lineFile = (path: string, by: PageOrigin[], text = 'a\n') => ({
    ...pageFile(path, null, text),
    by,
    made: [by],
  });

  test('come in a table by directory, each with what changed it and what the plans said about it', () => {
    const own: PageCommit = {
      commit: oid('own'),
      kind: 'own',
      line: 'teddy/a-session',
      after: null,
      time: '2026-01-24T10:00:00Z',
      author: 'Grace',
      subject: 'Mine',
      files: [pageFile('mine.txt', null, 'a\n')],
      omitted: 0,
    };
    const html = render(
      sessionPage(
        [
          pageTurn('01', { promise: promise('src/a.ts', 'kept') }),
          pageTurn('02', { promise: promise('src/b.ts', 'beyond', 2) }),
          pageTurn('03', { promise: promise('src/<i>.ts', 'missed') }),
          pageTurn('04', { promise: promise('src/gone.ts', 'missed'), undoneBy: oid('undo') }),
        ],
        {
          others: [
            own,
            { ...own, commit: oid('written'), kind: 'write', omitted: 2 },
            {
              ...own,
              commit: oid('context'),
              kind: 'snapshot',
              subject: 'snapshot: 1 file of the user’s own edits',
              files: [],
            },
          ],
          files: [
            lineFile('mine.txt', [{ kind: 'commit', commit: oid('own') }]),
            lineFile('src/a.ts', [byTurn('01'), { kind: 'undo', turn: turnName('02') }]),
            lineFile('src/b.ts', [byTurn('02', null), { kind: 'commit', commit: oid('written') }]),
          ],
        },
      ),
    );
    const section = html.slice(html.indexOf('<section id="files"'));
    const rows = [...section.slice(0, section.indexOf('</table>')).matchAll(/<tr.*?<\/tr>/gs)].map(([row]) =>
      toText(row).replace(/\s+/g, ' ').trim(),
    );
    expect(rows).toEqual([
      'FileLinesChanged byThe plan',
      'mine.txt +1 −0 added by hand, Grace by hand',
      'src/',
      '<i>.ts turn 03, action 1 named, but unchanged',
      'a.ts +1 −0 added turn 01, action 1, undo of turn 02 named',
      'b.ts +1 −0 added turn 02, teddy write, Grace not named and teddy write',
    ]);
    expect(toText(section)).toContain(
      '3 files changed: 1 named by a plan, 1 not named, 1 by hand, 1 named, but unchanged, 1 of these also changed by teddy write.',
    );
    expect(toText(html)).toMatch(/edits\s+no code, only files of the session in \.teddy/);
    expect(toText(section)).toContain('so a hunk names only its turn.');
    expect(section).toContain('href="#t01-a1"');
    expect(section).toContain(`href="#o-${oid('own').slice(0, 10)}"`);
    expect(html).toContain(`id="o-${oid('own').slice(0, 10)}-f1"`);
    expect(toText(html)).toContain(`2 more files: git show ${oid('written').slice(0, 10)}`);
    // The hunk's label leads there too.
    expect(toText(section)).toMatch(/@@ -0,0 \+1,1 @@ +turn 01, action 1, undo of turn 02/);
  });

  test('have the file’s only origin at a hunk of a diff that is too long to be followed', () => {
    const cut = { ...lineFile('a.txt', [byTurn('01')]), made: [] };
    const section = textIn(
      render(sessionPage([pageTurn('01')], { files: [cut] })),
      '<section id="files"',
      '</section>',
    );
    expect(section).toMatch(/@@ -0,0 \+1,1 @@ +turn 01, action 1/);
    expect(section).not.toContain('names only its turn');
  });

  test('are not called the user’s own when nothing is known about them', () => {
    const section = textIn(
      render(sessionPage([], { files: [lineFile('a.txt', [])] })),
      '<section id="files"',
      '</section>',
    );
    expect(section).toContain('1 file changed: 1 without a plan.');
    expect(section).not.toContain('by hand');
  });

  test('stand on the page once when they are long, and start folded when a program wrote them', () => {
    const text = 'a line that is long enough\n'.repeat(200);
    const turn = pageTurn('01', { files: [pageFile('src/a.ts', null, text, 1)] });
    const html = render(
      sessionPage([turn], {
        files: [lineFile('package-lock.json', [byTurn('01')]), lineFile('src/a.ts', [byTurn('01')], text)],
      }),
    );
    expect(count(html, 'a line that is long enough')).toBe(200);
    expect(html).toMatch(/<a\s+class="same-diff"\s+href="#t01-f1"/);
    expect(html).toMatch(/id="files-1"\s*>/);
    expect(html).toMatch(/id="files-2"\s+open/);
    expect(toText(html)).toMatch(/package-lock\.json\s+\+1 −0\s+1 line, generated/);
    const beyond = { ...turn, promise: promise('package-lock.json', 'beyond') };
    const open = render(sessionPage([beyond], { files: [lineFile('package-lock.json', [byTurn('01')])] }));
    expect(open).toMatch(/id="files-1"\s+open/);
  });

  test('name the commands whose last run did not succeed', () => {
    const commands = (...states: ('ran' | 'unchecked')[]): PageTurn['promise'] => ({
      verdict: 'short',
      isProse: false,
      paths: [],
      commands: states.map((state, at) => ({ action: at + 1, command: `npm test ${at}`, state })),
    });
    const html = render(
      sessionPage([
        pageTurn('01', { promise: commands('unchecked', 'unchecked') }),
        pageTurn('02', { promise: commands('ran') }),
      ]),
    );
    const section = textIn(html, '<section id="files"', '</section>');
    expect(section).toContain('npm test 1: a test that did not pass, turn 01, action 2');
    expect(section).not.toContain('npm test 0');
  });
});

describe('a page', () => {
  test('requests nothing: its policy forbids everything except its own style sheet and script', () => {
    const html = inTurn({});
    const [, policy = ''] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(html) ?? [];
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^' ]+='; script-src 'sha256-[^' ]+='; base-uri 'none'; form-action 'none'$/,
    );
    expect(html).not.toMatch(/<(?:link|img|iframe|object|embed|form|base)\b|\bsrc=|\bstyle=|\son\w+=|url\(|@import/i);
  });

  test('names its source exactly, even a branch with characters that the page shows differently', () => {
    const name = 'teddy/caf\u00e9-\u202e"<x>';
    const page = sessionPage([]);
    const source = { ...page.source, line: name, lines: [{ name, tip: oid('tip') }] };
    const [, content = ''] = /<meta name="teddy-source" content="([^"]*)"/.exec(render({ ...page, source })) ?? [];
    expect(JSON.parse(toText(content))).toEqual(source);
  });

  test('for a session without a turn explains how to begin', () => {
    expect(toText(render(sessionPage([])))).toContain('This session has no turns yet.');
  });

  test('names the checks, and their place; faults are listed', () => {
    const verify = { entries: 14, turns: 4, isWhole: true, faults: [] };
    const replay = { same: 3, different: 0, notCompared: 0, faults: [] };
    const good = toText(render(sessionPage([], { checks: { verify, replay } })));
    expect(good).toContain('Verified: 14 entries, no fault');
    expect(good).toContain('Replayed: 3 turns the same');
    const bad = toText(
      render(
        sessionPage([], {
          checks: {
            verify: { ...verify, faults: ['A plan was changed.'] },
            replay: { ...replay, different: 1, faults: ['b.txt differs.'] },
          },
        }),
      ),
    );
    for (const words of ['Verify: 1 fault', 'Replay: 1 turn differs', 'A plan was changed.', 'b.txt differs.'])
      expect(bad).toContain(words);
    const shallow = toText(
      render(sessionPage([], { checks: { verify: { ...verify, isWhole: false }, replay: { ...replay, same: 0 } } })),
    );
    expect(shallow).toContain('Not verified: this clone is incomplete');
    expect(shallow).toContain('Replay: nothing to compare');
  });
});

describe('a turn', () => {
  test('shows its message, its plan, the approver, and each action with its result', () => {
    const text = toText(
      inTurn({
        parts,
        outcome: 'FAILURE',
        plan: pagePlan(plan),
        report: pageReport('01', [
          { action_type: 'CREATE', duration_ms: 12 },
          { action_type: 'EDIT', modified_by_user: true },
          {
            action_type: 'EXECUTE',
            status: 'FAILURE',
            approved_by: 'flag',
            details: {
              return_code: 1,
              stdout: '1 test failed\n',
              reason: 'npm test ended with exit code 1.',
              comment: 'Look at the log.',
            },
          },
        ]),
        files: [
          pageFile('src/a.ts', null, 'one\n', 1),
          pageFile('b.txt', 'old\n', 'newer\n', 2),
          pageFile('lock', 'a\n', 'b\n', null),
        ],
      }),
    );
    for (const words of [
      'failed',
      '2 actions approved by hand, 1 action approved in advance, with -y, 1 action changed by the user',
      'done, changed by the user',
      'exit 1',
      'npm test ended with exit code 1.',
      'Look at the log.',
      '1 test failed',
      'Not changed by an action in the plan',
    ])
      expect(text).toContain(words);
  });

  test('shows who skipped an action, and which actions a failure prevented', () => {
    const text = toText(
      inTurn({
        parts,
        outcome: 'FAILURE',
        plan: pagePlan(plan),
        report: pageReport(
          '01',
          [
            { status: 'SKIPPED', details: { reason: 'not selected' } },
            { status: 'FAILURE' },
            { status: 'SKIPPED', details: { reason: 'an earlier action failed' } },
          ],
          { run_summary: { status: 'FAILURE', start_time: '', end_time: '', error: 'action 2 (EDIT) failed' } },
        ),
      }),
    );
    expect(text).toContain('1 action approved by hand, 1 action skipped, 1 action not reached');
  });

  test('shows a problem in its plan once, and the title and a one-line command once', () => {
    const invalid = pagePlan('# Title\n\n## Action Plan\n\n### FLY\n- **Description:** no\n');
    const [problem] = invalid.parsed?.problems ?? [];
    const run_summary = {
      status: 'VALIDATION_FAILED',
      start_time: '',
      end_time: '',
      error: '1 problem found',
    } as const;
    const text = toText(
      inTurn({
        parts,
        outcome: 'VALIDATION_FAILED',
        plan: invalid,
        report: pageReport('01', [], {
          run_summary,
          validation_errors: [problem, { line: 9, column: 1, message: 'Only the run knew.' }] as never,
        }),
      }),
    );
    expect(count(text, problem?.message ?? 'none')).toBe(1);
    expect(text).toContain('Only the run knew.');
    expect(text).toContain('The plan is not valid, so none of its actions ran.');
    const named = parts.map((part) => (part.kind === 'message' ? { ...part, text: whole('Do it') } : part));
    const short = inTurn({ parts: named, status: 'planned', plan: pagePlan(planOf([command('npm test')])) });
    expect(short).not.toContain('class="plan-title"');
    expect(inTurn({ parts, plan: pagePlan(plan) })).toContain('class="plan-title"');
    // The target, and the source of the plan.
    expect(count(toText(short), 'npm test')).toBe(2);
    expect(count(toText(inTurn({ parts, plan: pagePlan(planOf([command('cd a\nls -la')])) })), 'ls -la')).toBe(2);
  });

  test('of a waiting plan shows an action’s diff in place of its FIND, and in red why another cannot run', () => {
    const plan = pagePlan(planOf([edit('a.ts', 'const a = 1;', 'const a = 2;'), edit('b.ts', 'gone', 'here')]));
    const file = pageFile('a.ts', 'const z = 0;\nconst a = 1;\n', 'const z = 0;\nconst a = 2;\n', 1);
    const near = { firstLine: 7, text: whole('seven\neight') };
    const problem = { line: 19, column: 1, action: 2, message: 'EDIT b.ts: FIND was not found.', near };
    const preview = { files: [file], problems: [problem] };
    const waiting = { parts, status: 'planned' as const, plan: { ...plan, preview } };
    const html = inTurn(waiting);
    const [first = '', second = ''] = html.split('<li class="action').slice(1);
    expect(toText(first)).toContain('@@ -1,2 +1,2 @@\n const z = 0;\n-const a = 1;\n+const a = 2;');
    expect(first).not.toContain('class="pairs"');
    expect(toText(second)).toContain('cannot run');
    // Nothing of the plan waits, then.
    expect(toText(first)).toContain('not reached');
    expect(second).toContain('<p class="problem">Line 19, column 1: EDIT b.ts: FIND was not found.</p>');
    expect(toText(second)).toContain('   7  seven\n   8  eight\n');
    expect(toText(second)).toContain('-gone\n+here\n');
    expect(html).toContain('<span class="pill bad">invalid plan</span>');
    const lines = plan.parsed?.plan.actions.map(({ line }) => `data-line="${line}"`);
    expect(html.match(/data-line="\d+"/g)).toEqual(lines);
    // Once it has run, the turn's own diffs take their place.
    expect(inTurn({ ...waiting, status: 'closed', plan, files: [file] })).not.toContain('data-line');
  });

  test('names both outputs of an action, and stderr is red only if the action failed', () => {
    const details = { stdout: 'all well\n', stderr: 'a warning\n' };
    const withStatus = (status: 'SUCCESS' | 'FAILURE') =>
      inTurn({ parts, plan: pagePlan(plan), report: pageReport('01', [{ status, details }]) }).replace(/\s+/g, ' ');
    const output = (name: string, title: string) => `<figure class="${name}"> <figcaption>${title}</figcaption>`;
    expect(withStatus('SUCCESS')).toContain(output('output', 'stderr'));
    expect(withStatus('FAILURE')).toContain(output('output bad', 'stderr'));
    for (const status of ['SUCCESS', 'FAILURE'] as const)
      expect(withStatus(status)).toContain(output('output', 'stdout'));
  });

  test('says that the user refused a memo only if the report says that somebody asked', () => {
    const proposing = pagePlan(planOf([command('npm test')], memos('[+] tabs', '[-] spaces')));
    const rejected = ['tabs', 'spaces'];
    const told = (asked: { asked?: boolean }) =>
      toText(
        inTurn({
          parts,
          plan: proposing,
          report: pageReport('01', [{}], { memos: { added: [], removed: [], rejected, ...asked } }),
        }),
      );
    for (const words of ['Not remembered: tabs', 'Not forgotten: spaces']) expect(told({})).toContain(words);
    for (const words of ['Not remembered (the user said no): tabs', 'Not forgotten (the user said no): spaces'])
      expect(told({ asked: true })).toContain(words);
  });

  test('shows no zero for missing counts, and one entry as one', () => {
    const spent = { answers: 2, unreported: 2, inputTokens: 0, outputTokens: 0, costUsd: null };
    const verify = { entries: 1, turns: 0, isWhole: true, faults: [] };
    const replay = { same: 0, different: 0, notCompared: 0, faults: [] };
    const html = render(sessionPage([], { spent, checks: { verify, replay } })).replace(/\s+/g, ' ');
    expect(html).toContain('<dt>Cost</dt> <dd>– <small>2 answers without a count</small></dd>');
    expect(toText(html)).toContain('Verified: 1 entry, no fault');
    expect(textIn(html, 'class="badges"', '</p>')).toMatch(/nothing to compare at [0-9a-f]{10}$/);
    const { source } = sessionPage([]);
    const lines = ['a', 'b'].map((name) => ({ name, tip: oid(name) }));
    const both = render(sessionPage([], { source: { ...source, lines }, checks: { verify, replay } }));
    expect(textIn(both, 'class="badges"', '</p>')).toContain(`on all 2 branches, at ${oid('a').slice(0, 10)}`);
  });

  test('shows below the actions what its plan does not lead to expect', () => {
    const promise = checkReport({
      run_summary: { status: 'FAILURE' },
      action_logs: [
        { index: 1, action_type: 'CREATE', status: 'SUCCESS', params: { file_path: 'a.txt' } },
        { index: 2, action_type: 'EXECUTE', status: 'FAILURE', params: { command: 'npm test' } },
      ],
      changes: [
        { path: 'a.txt' as RepoPath, change: 'added', before: null, after: null, action: 1 },
        { path: '<b>lock' as RepoPath, change: 'modified', before: null, after: null, action: 2 },
      ],
    });
    const html = inTurn({ parts, outcome: 'FAILURE', plan: pagePlan(plan), report: pageReport('01', [{}]), promise });
    expect(textIn(html, '<p class="promise"', '</p>')).toBe(
      'Promise changed beyond the plan: <b>lock (by action 2); tests that did not pass: npm test. See all files',
    );
    expect(html).toContain('&lt;b&gt;lock');
  });

  test('shows a new file’s content once, whichever view is open', () => {
    const content = Array.from({ length: 100 }, (_, at) => `line ${at} of the content\n`).join('');
    const long = planOf([create('src/a.ts', content)]);
    const html = inTurn({
      parts,
      outcome: 'SUCCESS',
      plan: pagePlan(long),
      report: pageReport('01', [{}]),
      files: [pageFile('src/a.ts', null, content, 1)],
    });
    expect(count(html, 'line 57 of the content')).toBe(1);
    expect(html).toMatch(/<a\s+class="elided"\s+href="#t01-f1"/);
    expect(html).toContain('id="t01-f1"');
    expect(toText(html).replace(/\s+/g, ' ')).toContain('100 lines, exactly as on the new side of the diff in turn 01');
  });

  test('shows the content of a plan that was not run, or that was run differently', () => {
    const long = planOf([create('src/a.ts', 'planned\n'.repeat(100))]);
    expect(count(inTurn({ parts, status: 'planned', plan: pagePlan(long) }), 'planned')).toBeGreaterThanOrEqual(200);
    const files = [pageFile('src/a.ts', null, 'otherwise\n', 1)];
    expect(
      count(
        inTurn({ parts, outcome: 'SUCCESS', plan: pagePlan(long), report: pageReport('01', [{}]), files }),
        'planned',
      ),
    ).toBeGreaterThanOrEqual(200);
  });

  test('folds a long output, and shows how much is folded', () => {
    const stdout = Array.from({ length: 40 }, (_, at) => `row ${at}\n`).join('');
    const html = inTurn({
      parts,
      outcome: 'SUCCESS',
      plan: pagePlan(plan),
      report: pageReport('01', [{}, {}, { action_type: 'EXECUTE', details: { stdout } }]),
    });
    expect(toText(html)).toContain('28 more lines');
    expect(html.indexOf('28 more lines')).toBeLessThan(html.indexOf('row 12\n'));
    expect(html.indexOf('row 11\n')).toBeLessThan(html.indexOf('28 more lines'));
  });

  test('names the missing part of a text, and the command that prints it', () => {
    const cut = { characters: 49_737_856, command: 'git show abc:plan.md' };
    const text = toText(
      inTurn({ parts: [{ kind: 'reply', text: { text: 'Long', cut }, isSpoken: false, isPartial: true }] }),
    );
    expect(text).toContain('49,737,856 more characters are not on this page: git show abc:plan.md prints all of them.');
    expect(text).toContain('(interrupted)');
  });

  test('with an unreadable plan shows the problems, and the plan unchanged', () => {
    const text = toText(
      inTurn({
        parts,
        outcome: 'VALIDATION_FAILED',
        plan: pagePlan('# Title\n\n## Action Plan\n\n### DELETE\n- **File Path:** a\n'),
      }),
    );
    expect(text).toContain('invalid plan');
    expect(text).toMatch(/Line 5, column 1: /);
    expect(text).toContain('DELETE');
  });

  test('in a chat shows each call in a row with its result', () => {
    const result = (output: string, more: object = {}) => ({
      output: whole(output),
      isError: false,
      reason: null,
      ...more,
    });
    const html = inTurn({
      parts: [
        { kind: 'call', tool: 'read_file', input: whole('{"path":"a.ts"}'), result: result('content of a') },
        {
          kind: 'call',
          tool: 'run_command',
          input: whole('{"command":"rm x"}'),
          result: result('no', { reason: 'denied', isError: true }),
        },
        { kind: 'call', tool: 'edit_file', input: whole('{}'), result: null },
        { kind: 'reply', text: whole('Done.'), isSpoken: true, isPartial: false },
      ],
    });
    for (const words of ['read_file', 'content of a', 'denied', 'no result', '(spoken)'])
      expect(toText(html)).toContain(words);
    const targets = [...html.matchAll(/<bdi class="target">(.*?)<\/bdi>/g)].map(([, target = '']) => toText(target));
    expect(targets).toEqual(['a.ts', 'rm x', '{}']);
  });

  test('lists the files added, removed and changed since the turn that it continues from', () => {
    const section = (of: string, text: string) => ({ of, body: { kind: 'text' as const, text: whole(text) } });
    const first = pageTurn('01', {
      request: pageRequest('01', [section('a.ts', 'a'), section('b.ts', 'b'), section('c.ts', 'c')]),
    });
    const second = pageTurn('02', {
      parent: turnName('01'),
      request: pageRequest('02', [
        { ...section('a.ts', ''), body: { kind: 'same', turn: turnName('01'), section: 0 } },
        section('b.ts', 'B'),
        section('d.ts', 'd'),
        { name: 'history', of: '01', body: { kind: 'turn', turn: turnName('01') } },
      ]),
    });
    const html = render(sessionPage([first, second]));
    expect(toText(html)).toContain('1 added, 1 removed, 1 changed since the previous turn');
    for (const row of ['+ d.ts added', '− c.ts removed', '~ b.ts changed'])
      expect(toText(html).replace(/\s+/g, ' ')).toContain(row);
    expect(html).toContain('href="#t01-r1"');
  });

  test('shows a long history and unchanged files in a row each, however many they are', () => {
    const known = (name: 'history' | 'file', count: number) =>
      Array.from({ length: count }, (_, at) => ({
        name,
        of: name === 'file' ? `f${at}.ts` : String(at + 1).padStart(2, '0'),
        body:
          name === 'file'
            ? { kind: 'same' as const, turn: turnName('01'), section: at }
            : { kind: 'turn' as const, turn: turnName('01') },
      }));
    const html = inTurn({
      request: pageRequest('01', [...known('history', 50), ...known('file', 6), ...known('file', 1)]),
    });
    expect(count(html, '<li id="t01-r')).toBe(2);
    expect(toText(html)).toMatch(/50 turns, from\s+01 to\s+50/);
    for (const name of ['f0.ts', 'f5.ts']) expect(toText(html)).toContain(name);
  });
});

describe('comparisons', () => {
  test('show two attempts side by side, and a repeated plan as a diff', () => {
    const plan = (word: string) => pagePlan(planOf([create('a.txt', `${word}\n`)]));
    const rejected = pageReport('01', [{ status: 'SKIPPED' }], {
      run_summary: { status: 'SKIPPED', start_time: '', end_time: '', error: 'Rather otherwise.' },
    });
    const html = render(
      sessionPage(
        [
          pageTurn('01', { parts, outcome: 'SKIPPED', plan: plan('one'), report: rejected }),
          pageTurn('02', {
            parent: turnName('01'),
            parts,
            outcome: 'SUCCESS',
            plan: plan('two'),
            report: pageReport('02', [{}]),
          }),
          pageTurn('02-branch-01', {
            parent: turnName('01'),
            line: 'teddy/a-session--02-branch-01',
            parts,
            plan: plan('three'),
          }),
        ],
        {
          comparisons: [
            { one: turnName('02'), other: turnName('02-branch-01'), code: [pageFile('a.txt', 'two\n', 'three\n')] },
          ],
        },
      ),
    );
    const text = toText(html);
    for (const words of [
      'Plan of turn 01, and the next one, of turn 02',
      'Rather otherwise.',
      'Turn 02 and turn 02-branch-01',
      '-one\n+two',
      '-two\n+three',
    ])
      expect(text).toContain(words);
    expect(html).toContain('href="#c-01-02"');
    expect(html).toContain('id="c-01-02"');
  });
});

describe('a text by anybody', () => {
  const nasty = [
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onload='alert(1)",
    '</pre></details><h1>',
    '<!--',
    ']]>',
    '\u001b[31mred',
    '\u202eevil',
    '&lt;b&gt;',
    '\u0000',
    '{{x}}',
    '`',
    '\r',
    '\n',
  ];
  const text = fc
    .array(fc.oneof(fc.constantFrom(...nasty), fc.string({ unit: 'binary', maxLength: 6 })), { maxLength: 6 })
    .map((all) => all.join(''));

  /** Every text except Markdown, made from one. */
  const everywhere = (said: string) =>
    render(
      sessionPage(
        [
          pageTurn('01', {
            author: said,
            agent: said,
            provider: said,
            model: said,
            parts: [
              {
                kind: 'call',
                tool: said,
                input: whole('{}'),
                result: { output: whole(said), isError: false, reason: said },
              },
              { kind: 'note', text: whole(said) },
              { kind: 'plan' },
            ],
            plan: pagePlan(planOf([create('a.txt', 'x\n')])),
            report: pageReport(
              '01',
              [{ details: { reason: said, comment: said, note: said, answer: said, stderr: `${said}.` } }],
              { run_summary: { status: 'FAILURE', start_time: '', end_time: '', error: said } },
            ),
            files: [{ ...pageFile('x', 'a\n', 'b\n'), path: said as never }],
            request: pageRequest('01', [
              { of: `f${said}`, reason: said, state: 'refused', body: { kind: 'text', text: whole(said) } },
            ]),
            commits: [{ commit: oid('c'), kind: 'message', time: said, title: said }],
            faults: [said],
          }),
        ],
        {
          title: said,
          authors: [`a${said}`],
          base: { commit: oid('b'), branch: said },
          others: [
            {
              commit: oid('o'),
              kind: 'own',
              line: 'teddy/a-session',
              after: null,
              time: '2026-01-24T10:00:00Z',
              author: said,
              subject: said,
              files: [],
              omitted: 0,
            },
          ],
          checks: {
            verify: { entries: 1, turns: 1, isWhole: true, faults: [said] },
            replay: { same: 1, different: 0, notCompared: 0, faults: [said] },
          },
        },
      ),
    );
  const tagsOf = (html: string) =>
    (html.match(/<[a-z!/][^>]*>/gi) ?? []).map((tag) => tag.replace(/(datetime|content)="[^"]*"/g, ''));

  propertyTest('adds no element and no attribute, wherever it is', () => {
    const expected = tagsOf(everywhere('x'));
    fc.assert(
      fc.property(text, (said) => {
        const html = everywhere(`y${said}y`);
        expect(tagsOf(html)).toEqual(expected);
      }),
      runs(50),
    );
  });

  propertyTest('in Markdown makes no element of its own, no image, and no link but to https', () => {
    fc.assert(
      fc.property(
        text,
        fc.constantFrom(
          '[x](javascript:alert(1))',
          '![x](https://evil.example/x.png)',
          '[x](data:text/html,x)',
          '<https://a.example>',
          '[x](http://a.example)',
          '[r]: javascript:x\n\n[r]',
        ),
        (said, link) => {
          const html = inTurn({
            parts: [
              {
                kind: 'reply',
                text: whole(`${said}\n\n${link}\n\n# ${said}\n\n~~~~~~js\n${said}\n~~~~~~\n`),
                isSpoken: false,
                isPartial: false,
              },
            ],
          });
          expect(html).not.toMatch(/<(?:img|iframe)|<script>(?!.{20})|<[^>]+\son\w+=/i);
          for (const [, address = ''] of html.matchAll(/<a [^>]*?href="([^"]*)"/g))
            expect(address).toMatch(/^(?:#|https:\/\/)/);
          expect(count(html, '<script>')).toBe(1);
        },
      ),
      runs(50),
    );
  });

  test('that would move a cursor or reorder text is shown, without effect', () => {
    const html = everywhere('\u001b[2J\u202etxt.exe');
    expect(html).not.toMatch(/(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
    expect(html).toContain('␛[2J&lt;U+202E&gt;txt.exe');
  });

  test('keeps headings in order, for readers that navigate by them', () => {
    const html = inTurn({
      parts: [
        { kind: 'reply', text: whole('### Deep\n\n# High\n\n###### Deepest\n'), isSpoken: false, isPartial: false },
      ],
    });
    const levels = [...html.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level));
    for (const [at, level] of levels.entries())
      if (at > 0) expect(level - (levels[at - 1] ?? 0), levels.join(' ')).toBeLessThanOrEqual(1);
  });
});

describe('size', () => {
  const rows = (seed: number) =>
    Array.from({ length: 900 }, (_, at) => `  const value${at} = compute(${seed}, ${at * seed});\n`)
      .join('')
      .slice(0, 31_000)
      .concat('\n');

  /** An edit removes as much as it adds. */
  const halfOf = (text: string) => text.slice(0, text.indexOf('\n', 15_200));

  slowTest.each([
    [
      'commands',
      (seed: number) => ({ plan: planOf([command('npm run generate')]), before: null, after: rows(seed), action: 1 }),
    ],
    [
      'edits',
      (seed: number) => {
        const [old, now] = [halfOf(rows(1000)), halfOf(rows(seed))];
        return { plan: planOf([edit('src/a.ts', old, now)]), before: `${old}\n`, after: `${now}\n`, action: 1 };
      },
    ],
    [
      'new files',
      (seed: number) => ({
        plan: planOf([create('src/a.ts', rows(seed))]),
        before: null,
        after: rows(seed),
        action: 1,
      }),
    ],
  ])('100 turns with 30 KB of diff each, made by %s, are under 4 MB', (_, make) => {
    const turns = Array.from({ length: 100 }, (_, at) => {
      const { plan, before, after, action } = make(at + 1);
      return pageTurn(String(at + 1).padStart(2, '0'), {
        parts,
        outcome: 'SUCCESS',
        plan: pagePlan(plan),
        report: pageReport('01', [{}]),
        files: [pageFile('src/a.ts', before, after, action)],
      });
    });
    const page = sessionPage(turns);
    expect(turns.reduce((sum, { files }) => sum + (files[0]?.diff.text.length ?? 0), 0)).toBeGreaterThan(100 * 30_000);
    const html = render(page);
    expect(Buffer.byteLength(html)).toBeLessThan(4_000_000);
    expect(render(page)).toBe(html);
  });
});

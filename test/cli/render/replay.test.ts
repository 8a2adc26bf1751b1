import { describe, expect, test } from 'vitest';
import { fenceOutput, renderAnnotations, renderStepSummary } from '../../../src/cli/render/replay-annotations.ts';
import { renderReplayJunit } from '../../../src/cli/render/replay-junit.ts';
import { describeProof, renderReplay } from '../../../src/cli/render/replay.ts';
import { openTerminal } from '../../../src/cli/terminal.ts';
import { memoryContext } from '../../support/cli-context.ts';
import type { Oid, RepoPath, SessionId, TurnName } from '../../../src/names.ts';
import type { Difference, ReplayedLine, ReplayedTurn } from '../../../src/workflow/replay/replayed.ts';

const oid = '0123456789012345678901234567890123456789' as Oid;

function difference(message: string, more: Partial<Difference> = {}): Difference {
  return { turn: '02' as TurnName, commit: oid, action: 3, path: 'src/a.ts' as RepoPath, message, diff: null, ...more };
}

function turnOf(name: string, more: Partial<ReplayedTurn> = {}): ReplayedTurn {
  const rest = {
    commit: oid,
    outcome: 'same' as const,
    status: 'SUCCESS' as const,
    note: null,
    actions: [],
    differences: [],
    proven: 0,
    unproven: [],
  };
  return { turn: name as TurnName, ...rest, durationMs: 5, ...more };
}

function lineOf(...turns: ReplayedTurn[]): ReplayedLine {
  const session = '20260124-add-login' as SessionId;
  const unplanned = { commits: 0, paths: 0 };
  return { session, line: `teddy/${session}`, tip: oid, ranCommands: false, derived: 2, attested: 0, unplanned, turns };
}

const nasty = 'a\u001b[31m <b> & "q" \u0000 \ud800 | `x`\n::error::b, 100%';
const bad = turnOf('02', {
  outcome: 'different',
  differences: [difference(nasty, { diff: '--- a\n+++ b\n@@ -1 +1 @@\n-x\n+::y\n' })],
});
const none = turnOf('03', { outcome: 'nothing_to_compare', commit: null, status: null, note: 'it has no plan' });
const replayed = lineOf(
  turnOf('01', { actions: [{ index: 1, type: 'EXECUTE', outcome: 'not_run', note: null }] }),
  bad,
  none,
);

describe('the table', () => {
  test('has a row for each turn, what differs with its diff, and a count; nothing of it moves the cursor', () => {
    const text = renderReplay(replayed, openTerminal(memoryContext(), 'never'));
    expect(text).toContain('01    SUCCESS            same                1 not run\n');
    expect(text).toContain('03    -                  nothing to compare  it has no plan\n');
    expect(text).toContain('differs: turn 02, action 3, src/a.ts\n');
    expect(text).toContain('\n-x\n+::y\n');
    expect(text).toContain(
      '2 turns replayed: 1 the same, 1 different; 1 with nothing to compare; 2 log sections checked against the commits; 1 command not run',
    );
    expect(text).not.toContain('\u001b');
  });
});

describe('the proof', () => {
  const open = (path: string, reason = 'action 2, a command, changed it') => ({
    turn: '01' as TurnName,
    commit: oid,
    path: path as RepoPath,
    action: 2,
    reason,
  });

  test('says in one line what is proven, what is not, and why, and that code came by other commits', () => {
    const told = lineOf(
      turnOf('01', { outcome: 'not_compared', proven: 3, unproven: [open('src/a\nproof: nothing differs; b')] }),
    );
    const line = { ...told, unplanned: { commits: 1, paths: 2 } };
    const proof =
      'proof: nothing differs; 3 paths proven, 1 not proven (turn 01, src/a proof: nothing differs; b: action 2, a command, changed it); 2 paths changed in 1 commit that no plan describes';
    expect(describeProof(line)).toBe(proof);
    const text = renderReplay(line, openTerminal(memoryContext(), 'never'));
    expect(text.match(/^proof: /gm)).toHaveLength(1);
    expect(text).toContain('\nNot proven:\n  turn 01, src/a');
    expect(renderStepSummary(line)).toContain('Not proven&#58; action 2, a command, changed it.');
  });

  test('of a difference never says that nothing differs, and of many paths names some', () => {
    const many = Array.from({ length: 7 }, (_, at) => open(`src/${at}.ts`));
    expect(describeProof(lineOf(bad, turnOf('01', { unproven: many })))).toMatch(
      /^proof: 1 turn differs; 0 paths proven, 7 not proven \(turn 01, src\/0\.ts: .*; and 2 more\)$/,
    );
  });

  test('marks a path that is not proven as a warning, and not as an error', () => {
    expect(renderAnnotations(lineOf(turnOf('01', { unproven: [open('a:b,c%.ts')] })))).toBe(
      '::warning file=a%3Ab%2Cc%25.ts,title=replay%3A turn 01 is not proven::action 2, a command, changed it\n',
    );
    expect(
      renderReplayJunit([lineOf(turnOf('01', { outcome: 'not_compared', unproven: [open('src/a.ts')] }))]),
    ).toContain('not proven: turn 01, src/a.ts: action 2, a command, changed it');
  });
});

describe('JUnit', () => {
  test('is well-formed whatever the texts hold, with a test case for each turn', () => {
    const text =
      'turn 02, action 3, src/a.ts: a\\u{1b}[31m &lt;b&gt; &amp; &quot;q&quot; \\u{0} \\u{d800} | `x`&#10;::error::b, 100%';
    expect(renderReplayJunit([replayed])).toBe(
      [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<testsuites name="teddy replay" tests="3" failures="1" errors="0" skipped="1" time="0.015">',
        '  <testsuite name="20260124-add-login" tests="3" failures="1" errors="0" skipped="1" time="0.015">',
        '    <testcase classname="20260124-add-login" name="turn 01" time="0.005"/>',
        '    <testcase classname="20260124-add-login" name="turn 02" time="0.005">',
        `      <failure type="different" message="${text}">${text}&#10;--- a&#10;+++ b&#10;@@ -1 +1 @@&#10;-x&#10;+::y&#10;</failure>`,
        '    </testcase>',
        '    <testcase classname="20260124-add-login" name="turn 03" time="0.005">',
        '      <skipped message="it has no plan"/>',
        '    </testcase>',
        '  </testsuite>',
        '</testsuites>',
        '',
      ].join('\n'),
    );
  });
});

describe('GitHub Actions', () => {
  test('each difference is one command, and no text of it ends the command or begins another', () => {
    const told = renderAnnotations(
      lineOf(
        bad,
        turnOf('04', {
          outcome: 'different',
          differences: [difference('x', { path: 'a:b,c%\n.ts' as RepoPath, action: null })],
        }),
      ),
    );
    const [first, second, end] = told.split('\n');
    expect(first).toMatch(/^::error file=src\/a\.ts,title=replay%3A turn 02%2C action 3::a.*%0A::error::b, 100%25$/);
    expect(second).toBe('::error file=a%3Ab%2Cc%25%0A.ts,title=replay%3A turn 02::x');
    expect(end).toBe('');
    expect(told).not.toContain('\u001b');
  });

  test('the last of many differences says how many more there are', () => {
    const many = Array.from({ length: 12 }, (_, at) => difference(`d${at}`));
    const lines = renderAnnotations(lineOf({ ...bad, differences: many }))
      .trimEnd()
      .split('\n');
    expect([lines.length, lines.at(-1)]).toEqual([10, '::error title=teddy replay::3 more differences']);
    expect(renderAnnotations(lineOf(turnOf('01')))).toBe('');
  });

  test('in the output of the table nothing is obeyed', () => {
    expect(fenceOutput('::error::x', 'token')).toBe('::stop-commands::token\n::error::x\n::token::\n');
  });

  test('the summary is a table of one row a turn, and no text of it is markup', () => {
    const summary = renderStepSummary(replayed);
    expect(summary).toContain('\n| 01 | SUCCESS | same | 1 not run |\n| 02 | SUCCESS | different | no actions |\n');
    const row = summary.split('\n').find((one) => one.startsWith('| turn 02'));
    expect(row?.match(/\|/g)).toHaveLength(3);
    expect(row).not.toMatch(/[<>`[]/);
  });
});

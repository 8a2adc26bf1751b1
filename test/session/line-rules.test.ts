/** The rules for verifying a line, as values. */
import { describe, expect, test } from 'vitest';
import { encodeEntry, type Entry, type EntryKind } from '../../src/session/entries/entry.ts';
import { checkMessage } from '../../src/session/entries/entry-trailers.ts';
import { openOrder, type OrderFacts } from '../../src/session/lines/line-order.ts';
import { mayChangeCode, mayWrite, whyHostile } from '../../src/session/lines/line-paths.ts';
import type { RepoPath, SessionId, TurnName } from '../../src/names.ts';
import { isMaskedFrom } from '../../src/workflow/verify/compare-section.ts';

const session = '20260124-add-login' as SessionId;
let ids = 0;

function entry(kind: EntryKind, turn: string | null, more: Partial<Entry> = {}): Entry {
  ids += 1;
  const id = `019bf000-0000-7000-8000-${String(ids).padStart(12, '0')}`;
  const created = '2026-01-24T10:00:01.000Z';
  return { kind, session, turn: turn as TurnName | null, id, created, title: 'x', details: [], ...more };
}

describe('the trailers', () => {
  const plan = encodeEntry(entry('plan', '01', { sha256: 'a'.repeat(64) }));

  test('in every message that teddy writes are valid', () => {
    expect(checkMessage(plan).problems).toEqual([]);
    expect(checkMessage(encodeEntry(entry('start', null, { baseBranch: 'main' }))).problems).toEqual([]);
  });

  test("in a user's commit, with those by the hook or a landing, claim nothing", () => {
    for (const line of ['Teddy-During: x 02', 'Teddy-Landed-From: x@y', 'Signed-off-by: Ada'])
      expect(checkMessage(`Fix it\n\n${line}\n`)).toEqual({ entry: null, problems: [] });
  });

  test.each([
    [
      'in another case',
      plan.replace('Teddy-Turn', 'teddy-turn'),
      'The trailer Teddy-turn is not spelled the way teddy spells it.',
    ],
    [
      'twice, once in another case',
      `${plan.trimEnd()}\nteddy-entry: report\n`,
      'The trailer Teddy-Entry appears more than once.',
    ],
    ['with a later format', plan.replace('Format: 1', 'Format: 2'), 'The trailer Teddy-Format cannot be "2".'],
    ['with turn 00', plan.replace('Turn: 01', 'Turn: 00'), 'The trailer Teddy-Turn cannot be "00".'],
    ['without a turn', plan.replace(/Teddy-Turn: .*\n/, ''), 'An entry of kind plan must name its turn.'],
    ['with an id that is not a UUID v7', plan.replace(/-7000-/, '-4000-'), /^The trailer Teddy-Entry-Id cannot be/],
    [
      'with some missing',
      'x\n\nTeddy-Session: 20260124-add-login\n',
      "It has an entry's trailers but lacks Teddy-Entry.",
    ],
  ])('%s are reported', (_, message, problem) => {
    expect(checkMessage(message).problems).toContainEqual(
      expect.stringMatching(problem instanceof RegExp ? problem : escaped(problem)),
    );
  });
});

function escaped(text: string): RegExp {
  return new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
}

const calm: OrderFacts = { latest: 'closed', hasMessage: true };

/** The faults of the last entry. */
function order(facts: OrderFacts, ...entries: Entry[]): string[] {
  const line = openOrder(session, null);
  return entries.map((one, at) => line.add(one, at === entries.length - 1 ? facts : calm)).at(-1) ?? [];
}

describe('the order', () => {
  const begun = [entry('start', null), entry('message', '01'), entry('plan', '01'), entry('report', '01')];

  test('of turns, late answers and undos has no fault', () => {
    const line = openOrder(session, null);
    const all = [...begun, entry('reply', '02'), entry('snapshot', null), entry('branch', '03-branch-02')];
    const more = [entry('message', '03-branch-02'), entry('exchange', '02'), entry('undo', '01'), entry('write', null)];
    const facts = (kind: EntryKind): OrderFacts => ({
      latest: kind === 'message' && line.turns() === 3 ? 'open' : 'closed',
      hasMessage: true,
    });
    expect([...all, ...more].flatMap((one) => line.add(one, facts(one.kind)))).toEqual([]);
  });

  test("of other agents' plans has no fault: an agent's plan may open a turn", () => {
    const facts: OrderFacts = { latest: null, hasMessage: null, isAgentPlan: true };
    expect(order(facts, ...begun, entry('plan', '02'))).toEqual([]);
    expect(order({ ...facts, hasMessage: false }, ...begun, entry('exchange', '02'), entry('plan', '02'))).toEqual([]);
    expect(order({ ...facts, isAgentPlan: false }, ...begun, entry('plan', '02'))).toEqual([
      'Turn 02 cannot begin with an entry of kind plan.',
    ]);
    expect(order(facts, ...begun, entry('plan', '01'))).toEqual(['Turn 01 already has a plan.']);
  });

  test.each([
    ['no start', calm, [entry('message', '01')], 'A session must begin with a start entry.'],
    ['a gap', calm, [...begun, entry('message', '03')], 'Turn 03 follows turn 01.'],
    [
      'a report without a plan',
      calm,
      [...begun, entry('message', '02'), entry('report', '02')],
      'Turn 02 has a report but no plan.',
    ],
    ['a second plan', calm, [...begun, entry('plan', '01')], 'Turn 01 already has a plan.'],
    [
      'a plan without a message',
      { latest: null, hasMessage: false },
      [...begun, entry('reply', '02'), entry('plan', '02')],
      'Turn 02 has a plan but no message.',
    ],
    [
      'a message into a closed turn',
      calm,
      [...begun, entry('message', '01')],
      'A message was added to turn 01, which is closed.',
    ],
    [
      'a turn while a plan waits',
      { latest: 'planned', hasMessage: null },
      [...begun, entry('message', '02')],
      'Turn 02 begins before turn 01 has a report.',
    ],
    [
      'a turn that a plan opens',
      calm,
      [...begun, entry('plan', '02')],
      'Turn 02 cannot begin with an entry of kind plan.',
    ],
    [
      'a branch turn without a branch',
      calm,
      [...begun, entry('message', '02-branch-01')],
      'Turn 02-branch-01 cannot begin with an entry of kind message.',
    ],
  ] as [string, OrderFacts, Entry[], string][])('with %s is reported', (_, facts, entries, problem) => {
    expect(order(facts, ...entries)).toEqual([problem]);
  });

  test('with an entry for the second time is reported', () => {
    const [first] = begun;
    expect(order(calm, ...begun, { ...entry('undo', '01'), id: first?.id ?? '' })).toEqual([
      `The entry ${first?.id} is already on the line.`,
    ]);
  });
});

test.each([
  ['src/.GIT./config', 'The path goes into a .git directory.'],
  ['a/git~1/hooks', 'The path goes into a .git directory.'],
  ['.g\u200cit/config', 'The path goes into a .git directory.'],
  ['../out', 'The path leads out of its directory.'],
  ['a\\..\\..\\out', 'The path leads out of its directory.'],
  ['.TEDDY/x', 'The path is .teddy in another spelling.'],
  ['a//b', 'A part of the path is empty.'],
  ['.github/x', null],
  ['src/..a/.gitignore', null],
  ['.teddy/config.yaml', null],
])('the path %j is checked: %s', (path, reason) => {
  expect(whyHostile(path as RepoPath, '100644')).toBe(reason);
});

test('each kind of entry writes its own files, and none in another turn', () => {
  const write = (kind: EntryKind, path: string) => mayWrite(kind, session, '02' as TurnName, path as RepoPath);
  const dir = `.teddy/sessions/${session}`;
  expect(write('plan', `${dir}/02/plan.md`)).toBe(true);
  expect(write('plan', `${dir}/01/plan.md`)).toBe(false);
  expect(write('memo', `${dir}/02/plan.md`)).toBe(false);
  expect(write('snapshot', `${dir}/session.context`)).toBe(true);
  expect(write('snapshot', `${dir}/02/turn.context`)).toBe(false);
  expect(write('report', `${dir}/02/output/3.log`)).toBe(true);
  expect(write('report', `${dir}/02/output/../plan.md`)).toBe(false);
  expect((['start', 'message', 'exchange', 'plan', 'reply', 'memo', 'branch'] as EntryKind[]).some(mayChangeCode)).toBe(
    false,
  );
});

test('a masked text is distinguished from a changed one', () => {
  expect(isMaskedFrom('a [masked: key] b\n', 'a 123 b\n')).toBe(true);
  expect(isMaskedFrom('a [masked: key] c\n', 'a 123 b\n')).toBe(false);
  expect(isMaskedFrom('a [masked: key] b\n', 'a  b\n')).toBe(false);
  expect(isMaskedFrom('[masked: k][masked: k]', 'x')).toBe(false);
  expect(isMaskedFrom('```\n[masked: k]\n```\n', '````\n```\n````\n')).toBe(true);
  expect(isMaskedFrom('a\n', 'b\n')).toBe(false);
});

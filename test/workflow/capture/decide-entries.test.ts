/** The decision about the units in a log, made on plain values: no git, no disk, no clock. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { AgentUnit } from '../../../src/conversation/logs/agent-log.ts';
import type { KnownRecord } from '../../../src/conversation/records/record.ts';
import type { Oid, RefName, SessionId, TurnName } from '../../../src/names.ts';
import { newFollowedLog } from '../../../src/workflow/capture/capture.ts';
import {
  decide,
  startState,
  type BranchFacts,
  type BranchLine,
  type FollowState,
} from '../../../src/workflow/capture/decide-entries.ts';

const hash = (text: string | Uint8Array) => createHash('sha256').update(text).digest('hex');
const timestamp = '2026-01-24T10:00:00.000Z';

function unitOf(type: 'user' | 'assistant', id: string): AgentUnit {
  const record = { type, id, timestamp, source: 'capture', message: { role: type, content: `Text ${id}` } };
  return { kind: type === 'user' ? 'message' : 'reply', branch: 0, records: [record as unknown as KnownRecord] };
}

/** A line with these records, by their turns. */
function lineOf(known: Record<string, string>, more: Partial<BranchLine> = {}): BranchLine {
  const [oid, session] = ['0'.repeat(40) as Oid, '20260124-claude-code' as SessionId];
  const turns = [...new Set(Object.values(known))] as TurnName[];
  const entry = { created: timestamp } as BranchLine['entry'];
  return {
    tip: oid,
    entryOid: oid,
    session,
    entry,
    turns,
    ref: `refs/heads/teddy/${session}` as RefName,
    known: new Map(Object.entries(known) as [string, TurnName][]),
    lastTurn: turns.length,
    planned: new Set(),
    isTaken: false,
    isShared: false,
    hasCode: false,
    ...more,
  };
}

const factsOf = (line: BranchLine, more: Partial<BranchFacts> = {}): BranchFacts => ({
  branch: 0,
  line,
  opens: null,
  before: null,
  absent: new Set(),
  isOfSession: false,
  ...more,
});
const start = startState(newFollowedLog('claude-code', '/log.jsonl', timestamp));
const after = (last: string, turn = '01'): FollowState => ({
  ...start,
  places: [{ turn: turn as TurnName, length: 100, written: 100, last }],
});
const [asked, answered, again] = [unitOf('user', 'u1'), unitOf('assistant', 'a1'), unitOf('user', 'u2')];

describe('decide', () => {
  test('makes an entry of each unit without changing its input', () => {
    const [state, line] = [structuredClone(start), lineOf({})];
    const decided = decide(state, [asked, answered, again], factsOf(line), hash);
    expect(decided).toMatchObject({
      drafts: [
        { turn: '01', records: [{ id: 'u1', source: 'capture' }] },
        { turn: '01', records: [{ id: 'a1' }] },
        { turn: '02', records: [{ id: 'u2' }] },
      ],
      next: { places: [{ turn: '02', last: 'u2' }], latest: 0 },
    });
    expect([state, line]).toEqual([start, lineOf({})]);
    // The same facts give the same ids: entries that a crash has cut off are not added twice.
    const ids = (one: typeof decided) => ('drafts' in one ? one.drafts.map(({ id }) => id) : []);
    expect(ids(decide(state, [asked, answered, again], factsOf(line), hash))).toEqual(ids(decided));
  });

  test('writes no record that is already on the line', () => {
    const decided = decide(start, [asked, answered], factsOf(lineOf({ u1: '01' }), { absent: new Set(['a1']) }), hash);
    expect(decided).toMatchObject({ drafts: [{ turn: '01', records: [{ id: 'a1' }] }] });
    expect(decide(after('a1'), [asked], factsOf(lineOf({ u1: '01', a1: '01' })), hash)).toMatchObject({ drafts: [] });
  });

  test('branches off the line if somebody else waits for an answer', () => {
    const line = lineOf({ u1: '01', a1: '01' }, { isTaken: true });
    expect(decide(after('a1'), [again], factsOf(line), hash)).toEqual({ fork: { id: 'u2', unit: again, after: 'a1' } });
  });

  test('looks for the last record if it is not on the line, and continues if the user has moved the line back', () => {
    const line = lineOf({ u1: '01' });
    expect(decide(after('a1', '02'), [again], factsOf(line), hash)).toEqual({ seek: 'a1', after: 'a1' });
    const absent = new Set(['a1']);
    expect(decide(after('a1', '02'), [again], factsOf(line, { absent }), hash)).toEqual({ isGone: true });
    const facts = factsOf(line, { absent, isOfSession: true });
    expect(decide(after('a1', '02'), [again], facts, hash)).toMatchObject({ drafts: [{ turn: '02' }] });
  });
});

/** A run's notes are read back from the text, however much of it a crash has left. */
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import {
  decodeJournal,
  encodeRecord,
  foldJournal,
  type BeginRecord,
  type EndRecord,
  type JournalRecord,
  type RunRecord,
} from '../../src/plan/report/journal.ts';
import { mainLineRef, type RepoPath, type SessionId, type TurnName } from '../../src/names.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const session = '20260124-add-login' as SessionId;
const run: RunRecord = {
  record: 'run',
  version: 1,
  session,
  turn: '01' as TurnName,
  ref: mainLineRef(session),
  root: '/project',
  chosen: [1, 2],
  rollback: false,
  startedAt: '2026-01-24T10:00:00.000Z',
  memos: { added: ['a fact\nof two lines'], removed: [], rejected: [] },
};

const begin = (action: number, path: string): BeginRecord => ({
  record: 'begin',
  action,
  actionType: 'EXECUTE',
  target: `echo ${path}`,
  startedAt: '2026-01-24T10:00:01.000Z',
  before: {
    kind: 'command',
    head: null,
    scan: [[path as RepoPath, '?? 1']],
    kept: [[path as RepoPath, { kind: 'link', target: path }]],
    notKept: [],
    directories: [],
  },
});

const end = (index: number, path: string): EndRecord => ({
  record: 'end',
  log: { index, action_type: 'EXECUTE', status: 'SUCCESS', params: { command: path } },
  ended: 'done',
  changed: [[path as RepoPath, null]],
  strays: [],
});

/** Names of any kind, including newlines, quotes, and multibyte letters. */
const names = fc.string({ unit: 'binary', minLength: 1, maxLength: 8 });
const rest = fc.array(
  fc.oneof(
    fc.tuple(fc.nat(9), names).map(([action, path]): JournalRecord => begin(action, path)),
    fc.tuple(fc.nat(9), names).map(([index, path]): JournalRecord => end(index, path)),
    fc.constant<JournalRecord>({ record: 'rollback' }),
  ),
  { maxLength: 6 },
);

/** Passes through JSON: a lone surrogate stays one. */
const encode = (records: JournalRecord[]) => records.map(encodeRecord).join('');

describe('a journal', () => {
  propertyTest('is read back as it was written', () => {
    fc.assert(
      fc.property(rest, (records) => {
        expect(decodeJournal(encode([run, ...records]))).toEqual(foldJournal(run, records));
      }),
    );
  });

  propertyTest('cut at any byte contains exactly the records that were complete by then', () => {
    fc.assert(
      fc.property(rest, fc.double({ min: 0, max: 1, noNaN: true }), (records, share) => {
        const all: JournalRecord[] = [run, ...records];
        const bytes = Buffer.from(encode(all));
        const cut = bytes.subarray(0, Math.floor(bytes.length * share));
        const ends = all.map((_, at) => Buffer.byteLength(encode(all.slice(0, at + 1))));
        const whole = ends.filter((at) => at <= cut.length).length;
        const expected = whole === 0 ? null : foldJournal(run, records.slice(0, whole - 1));
        expect(decodeJournal(cut.toString())).toEqual(expected);
      }),
    );
  });

  test.each([
    ['a line that is not JSON', `${encodeRecord(run)}{"record":"beg\n`],
    ['a line that is not an object', `${encodeRecord(run)}7\n`],
    ['an empty line', `${encodeRecord(run)}\n`],
    ['a record of an unknown kind', `${encodeRecord(run)}{"record":"more"}\n`],
    ['a begin without the earlier state', `${encodeRecord(run)}{"record":"begin","action":1,"startedAt":""}\n`],
    ['an end without its log', `${encodeRecord(run)}{"record":"end","changed":[]}\n`],
    ['no run at its beginning', encodeRecord({ record: 'rollback' })],
    ['a run from a later version', `${JSON.stringify({ ...run, version: 2 })}\n`],
    ['an empty run', '{"record":"run","version":1}\n'],
    ['foreign bytes', 'PK\u0003\u0004\n'],
  ])('with %s is damaged, and the line is named', (_, text) => {
    const line = text.startsWith(encodeRecord(run)) ? 2 : 1;
    expect(() => decodeJournal(text)).toThrow(
      expect.objectContaining({ code: 'DAMAGED_SESSION', message: expect.stringContaining(`Line ${line} `) }),
    );
  });

  test('names the action that did not end, even after one that was resumed', () => {
    const [one, two] = [begin(1, 'a'), begin(2, 'b')];
    expect(foldJournal(run, [one]).interrupted).toBe(one);
    expect(foldJournal(run, [one, end(1, 'a')]).interrupted).toBeNull();
    expect(foldJournal(run, [one, end(1, 'a'), end(5, 'skipped'), two]).interrupted).toBe(two);
    expect(foldJournal(run, [one]).isRollingBack).toBe(false);
    expect(foldJournal(run, [one, { record: 'rollback' }])).toMatchObject({ isRollingBack: true, interrupted: one });
  });
});

/** The entry and the turn that each unit of an import goes to. */
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { ImportUnit } from '../../../src/conversation/logs/importer.ts';
import { deniedOutput, type KnownRecord } from '../../../src/conversation/records/record.ts';
import { encodeRecord } from '../../../src/conversation/records/transcript.ts';
import { versionLimits } from '../../../src/conversation/records/transcript.ts';
import { openEntries, type ImportedEntry } from '../../../src/workflow/conversation/imported-entries.ts';
import { runs } from '../../support/runs.ts';
import { quickTest as test, slowTest } from '../../support/slow-test.ts';

const timestamp = '2026-01-20T10:00:00.000Z';
let made = 0;

function said(type: 'user' | 'assistant', content: string = type, more: object = {}): ImportUnit {
  const base = { id: `id-${(made += 1)}`, timestamp, source: 'import', ...more };
  if (type === 'user') return { kind: 'message', records: [{ type, ...base, message: { role: type, content } }] };
  return { kind: 'reply', records: [{ type, ...base, message: { role: type, content } }] };
}

function exchange(output: string, reason?: 'denied'): ImportUnit {
  const base = { id: `id-${(made += 1)}`, timestamp, tool_call_id: `call-${made}` };
  const why = reason === undefined ? {} : { reason };
  const records: KnownRecord[] = [
    { type: 'tool_use', ...base, tool_name: 'run', tool_input: {} },
    { type: 'tool_result', ...base, id: `${base.id}-result`, output, is_error: false, ...why },
  ];
  return { kind: 'exchange', records };
}

function cut(units: ImportUnit[], limits = versionLimits): ImportedEntry[] {
  const entries = openEntries(limits);
  return [...units.flatMap((unit) => entries.push(unit)), ...entries.end()];
}

const sizeOf = (units: ImportUnit[]) =>
  units.flatMap(({ records }) => records.map(encodeRecord)).reduce((sum, line) => sum + line.length, 0);

/** Counts the characters in all versions of a turn's transcript. */
function versionsOf(entries: ImportedEntry[]): number {
  return entries.reduce((sum, _, at) => sum + sizeOf(entries.slice(0, at + 1).flatMap(({ units }) => units)), 0);
}

describe('the entries of an import', () => {
  test('are one for each unit in turns of a few hundred units', () => {
    const units = [said('user'), ...Array.from({ length: 200 }, () => exchange('x'.repeat(400))), said('assistant')];
    expect(cut([...units, ...units]).map((entry) => entry.units.length)).toEqual(Array(404).fill(1));
  });

  slowTest('contain every unit once and in order, and their versions stay within the limits', () => {
    const unit = fc
      .tuple(fc.constantFrom('user', 'exchange', 'partial'), fc.integer({ min: 1, max: 3000 }))
      .map(([kind, length]) => {
        if (kind === 'exchange') return exchange('x'.repeat(length));
        if (kind === 'user') return said('user', 'x'.repeat(length));
        const [record] = said('assistant', 'x'.repeat(length)).records;
        return { kind: 'reply', records: [{ ...record, type: 'assistant_partial' }] } as ImportUnit;
      });
    const limits = { free: 10_000, times: 16 };
    let joined = 0;
    fc.assert(
      fc.property(fc.array(unit, { minLength: 1, maxLength: 300, size: 'max' }), (units) => {
        const entries = cut(units, limits);
        expect(entries.flatMap((entry) => entry.units)).toEqual(units);
        expect(entries.every(({ turn }) => turn === '01')).toBe(true);
        // The last two are written in any case.
        expect(versionsOf(entries)).toBeLessThanOrEqual(limits.free + (limits.times + 2) * sizeOf(units));
        if (entries.length < units.length) joined += 1;
      }),
      runs(30),
    );
    expect(joined).toBeGreaterThan(0);
  });

  test('for a turn of thousands begin with the message and end with the answer, each on its own', () => {
    const units = [said('user'), ...Array.from({ length: 3000 }, () => exchange('x'.repeat(100))), said('assistant')];
    const entries = cut([...units, said('user')], { free: 10_000, times: 16 });
    expect(entries.length).toBeLessThan(200);
    expect(entries[0]?.units).toEqual(units.slice(0, 1));
    expect(entries.at(-2)).toEqual({ turn: '01', units: units.slice(-1) });
    expect(entries.at(-1)).toMatchObject({ turn: '02', units: [{ kind: 'message' }] });
  });
});

describe('the turns in an import', () => {
  const turnsOf = (units: ImportUnit[]) => cut(units).map(({ turn }) => turn);

  test('end after a denied tool', () => {
    const units = [said('user'), exchange(deniedOutput, 'denied'), said('user'), said('assistant')];
    expect(turnsOf(units)).toEqual(['01', '01', '02', '02']);
  });

  test('continue after a denied tool if the model calls another one', () => {
    const units = [said('user'), exchange(deniedOutput, 'denied'), exchange('x'), said('user'), said('assistant')];
    expect(turnsOf(units)).toEqual(['01', '01', '01', '01', '01']);
  });

  test('do not end with an answer to an earlier message, or with a text that calls follow', () => {
    const late = said('assistant', 'late', { reply_to: 'first' });
    expect(turnsOf([said('user', 'a', { id: 'first' }), said('user'), late, said('user')])).toEqual(
      Array(4).fill('01'),
    );
    expect(turnsOf([said('user'), said('assistant'), exchange('x'), said('user')])).toEqual(Array(4).fill('01'));
    expect(turnsOf([said('user'), said('assistant'), said('user')])).toEqual(['01', '01', '02']);
  });
});

import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { AgentStep } from '../../src/conversation/logs/agent-log.ts';
import { noResultOutput } from '../../src/conversation/logs/import-unit.ts';
import { abortedOutput } from '../../src/conversation/records/record.ts';
import { forksOf, openLog, readAgentLogs, readSteps, unitsOf } from '../support/agent-logs.ts';
import { faultsOf } from '../support/import-source.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

/** Returns the contents of the log, once each: late parts are in a note, and settled ones are marked as missing. */
function contentOf(steps: readonly AgentStep[]): string[] {
  const records = unitsOf(steps).flatMap(({ records }) => records);
  return records
    .flatMap((record) => {
      if (record.type === 'assistant' || record.type === 'assistant_partial')
        return 'content' in record.message ? record.message.content.split('\n\n') : [];
      const isStandIn =
        record.type === 'tool_result' && [noResultOutput, abortedOutput].includes(String(record.output));
      return isStandIn ? [] : [record.id];
    })
    .toSorted();
}

function countTokens(steps: readonly AgentStep[]): number {
  return unitsOf(steps).reduce((sum, { tokens }) => sum + (tokens?.input ?? 0) + (tokens?.output ?? 0), 0);
}

const logs = readAgentLogs();
/** A few thousand cases for each property in all, spread over the logs. */
const { numRuns } = runs(60);
const cases = logs.map(({ agent, name, lines }) => [name, agent, lines] as const);

describe.each(cases)('the log %s', (_name, agent, lines) => {
  const whole = openLog(agent);
  const steps = readSteps(whole, lines);
  const cut = fc.nat({ max: lines.length });
  /** A line in it may name one that comes long before it. */
  const isTree = forksOf(steps).length > 0 || lines.some(({ text }) => text?.includes('compact_boundary') === true);

  test('keeps the contract for units', () => {
    const reader = openLog(agent);
    const all = readSteps(reader, lines);
    reader.settle();
    all.push(...reader.take());
    expect(faultsOf(unitsOf(all))).toEqual([]);
    expect([reader.needsStart(), reader.unknown()]).toEqual([false, []]);
    // Antigravity's log has neither.
    const place = agent === 'antigravity' ? null : expect.any(String);
    expect(reader.head()).toMatchObject({ id: place, cwd: place });
  });

  propertyTest('yields the same first steps, wherever it ends', () => {
    fc.assert(
      fc.property(cut, (at) => {
        const first = readSteps(openLog(agent), lines.slice(0, at));
        expect(first).toEqual(steps.slice(0, first.length));
      }),
      { numRuns },
    );
  });

  propertyTest('yields the same steps after a checkpoint', () => {
    fc.assert(
      fc.property(fc.array(cut, { minLength: 1, maxLength: 4 }), (cuts) => {
        let [reader, from] = [openLog(agent), 0];
        const found: AgentStep[] = [];
        for (const at of cuts.toSorted((one, other) => one - other)) {
          found.push(...readSteps(reader, lines.slice(from, at)));
          from = at;
          const checkpoint = reader.checkpoint();
          if (checkpoint === null) continue;
          expect(JSON.stringify(checkpoint).length).toBeLessThan(32_000);
          reader = openLog(agent, JSON.parse(JSON.stringify(checkpoint)));
        }
        found.push(...readSteps(reader, lines.slice(from)));
        expect(isTree || !reader.needsStart()).toBe(true);
        if (reader.needsStart()) return;
        expect(found).toEqual(steps);
        expect(reader.head()).toEqual(whole.head());
      }),
      { numRuns },
    );
  });

  propertyTest('yields the same steps after a checkpoint at which it was settled', () => {
    fc.assert(
      fc.property(cut, (at) => {
        const one = openLog(agent);
        const before = readSteps(one, lines.slice(0, at));
        one.settle();
        before.push(...one.take());
        const checkpoint = one.checkpoint();
        // A Codex rollout without any message yet.
        if (checkpoint === null) return void expect([agent, before]).toEqual(['codex', []]);
        const other = openLog(agent, JSON.parse(JSON.stringify(checkpoint)));
        const [rest, again] = [one, other].map((reader) => readSteps(reader, lines.slice(at)));
        expect(isTree || !other.needsStart()).toBe(true);
        if (!other.needsStart()) expect(again).toEqual(rest);
      }),
      { numRuns },
    );
  });

  propertyTest('loses and doubles nothing, wherever it is settled', () => {
    const once = openLog(agent);
    const unsettled = readSteps(once, lines);
    once.settle();
    const all = [...unsettled, ...once.take()];
    const expected = contentOf(all);
    fc.assert(
      fc.property(fc.array(cut, { maxLength: 4 }), (cuts) => {
        const reader = openLog(agent);
        const found = lines.flatMap((line, at) => {
          if (cuts.includes(at)) reader.settle();
          return [...reader.take(), ...readSteps(reader, [line])];
        });
        reader.settle();
        found.push(...reader.take());
        expect(contentOf(found)).toEqual(expected);
        expect(countTokens(found)).toBeLessThanOrEqual(countTokens(all));
        expect(faultsOf(unitsOf(found))).toEqual([]);
      }),
      { numRuns },
    );
  });
});

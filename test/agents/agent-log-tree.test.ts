import fc from 'fast-check';
import { describe, expect } from 'vitest';
import type { AgentLine, AgentStep } from '../../src/conversation/logs/agent-log.ts';
import { forksOf, openLog, readSteps, unitsOf } from '../support/agent-logs.ts';
import { faultsOf } from '../support/import-source.ts';
import { propertyTest } from '../support/slow-test.ts';

type Kind =
  | 'prompt'
  | 'answer'
  | 'more'
  | 'call'
  | 'result'
  | 'attachment'
  | 'end'
  | 'error'
  | 'queued'
  | 'interruption'
  | 'boundary'
  | 'synthetic';
const often: Kind[] = ['prompt', 'answer', 'call', 'result'];
const kinds: Kind[] = [
  ...often,
  ...often,
  'more',
  'attachment',
  'end',
  'error',
  'queued',
  'interruption',
  'boundary',
  'synthetic',
];

/**
 * A Claude Code log in which anything can be a parent: mostly the line before, now and then an earlier one, or nothing.
 */
const log = fc
  .array(fc.record({ kind: fc.constantFrom(...kinds), back: fc.oneof(fc.constant(0), fc.nat(8)), pick: fc.nat(3) }), {
    minLength: 1,
    maxLength: 40,
  })
  .map((draws): AgentLine[] => {
    const calls: string[] = [];
    return draws.map(({ kind, back, pick }, at) => {
      const parentUuid = back === 8 || at - 1 - back < 0 ? null : `u${at - 1 - back}`;
      const base = { uuid: `u${at}`, parentUuid, sessionId: 's', timestamp: '2026-01-24T10:00:00.000Z' };
      const said = (type: string, content: unknown, more: object = {}) => ({
        ...base,
        type,
        message: { role: type, content, ...more },
      });
      const text = (words: string) => [{ type: 'text', text: words }];
      const usage = { input_tokens: 1, output_tokens: 1 };
      const objects: Record<Kind, () => object> = {
        prompt: () => said('user', `prompt ${at}`),
        answer: () => said('assistant', text(`answer ${at}`), { id: `m${at}`, usage }),
        more: () => said('assistant', text(`more ${at}`), { id: `m${at - 1 - pick}`, usage }),
        call: () => {
          calls.push(`c${at}`);
          return said('assistant', [{ type: 'tool_use', id: `c${at}`, name: 'Bash', input: {} }], {
            id: `m${at - pick}`,
            usage,
          });
        },
        result: () =>
          said('user', [
            { type: 'tool_result', tool_use_id: calls.splice(pick % (calls.length || 1), 1)[0] ?? 'c', content: 'x' },
          ]),
        attachment: () => ({ ...base, type: 'attachment', attachment: { type: 'date' } }),
        end: () => ({ ...base, type: 'system', subtype: 'turn_duration' }),
        error: () => ({ ...said('assistant', text(`error ${at}`)), isApiErrorMessage: true }),
        queued: () => ({ ...base, type: 'attachment', attachment: { type: 'queued_command', prompt: `queued ${at}` } }),
        interruption: () => said('user', text('[Request interrupted by user]')),
        boundary: () => ({
          ...base,
          parentUuid: null,
          logicalParentUuid: parentUuid,
          type: 'system',
          subtype: 'compact_boundary',
        }),
        synthetic: () => said('assistant', text('No response requested.'), { model: '<synthetic>' }),
      };
      return { number: at + 1, text: JSON.stringify(objects[kind]()) };
    });
  });

function readAll(lines: readonly AgentLine[], settleAt: readonly number[] = []): AgentStep[] {
  const reader = openLog('claude-code');
  const steps = lines.flatMap((line, at) => {
    if (settleAt.includes(at)) reader.settle();
    return [...reader.take(), ...readSteps(reader, [line])];
  });
  reader.settle();
  expect(reader.needsStart()).toBe(false);
  return [...steps, ...reader.take()];
}

/** The contents of the log, by the ids of its lines; of several texts in an answer, each by its words. */
function wordsOf(steps: readonly AgentStep[]): string[] {
  return unitsOf(steps)
    .flatMap(({ records }) => records)
    .flatMap((record) => {
      if (record.type === 'assistant' || record.type === 'assistant_partial')
        return 'content' in record.message ? record.message.content.split('\n\n') : [];
      return /^u\d+$/.test(record.id) ? [record.id] : [];
    })
    .toSorted();
}

describe('a log whose lines name their parents', () => {
  propertyTest('keeps the contract for units, and a fork names a record that its branch has', () => {
    fc.assert(
      fc.property(log, (lines) => {
        const steps = readAll(lines);
        expect(faultsOf(unitsOf(steps))).toEqual([]);
        const given = new Map<number, Set<string>>([[0, new Set()]]);
        for (const step of steps) {
          if ('unit' in step) for (const { id } of step.unit.records) given.get(step.unit.branch)?.add(id);
          if ('unit' in step) expect(given.has(step.unit.branch)).toBe(true);
          if (!('fork' in step)) continue;
          const { branch, leaves, after } = step.fork;
          expect(branch).toBe(given.size);
          expect(after === null || given.get(leaves)?.has(after)).toBe(true);
          given.set(branch, new Set());
        }
        expect(forksOf(steps).every(({ branch }) => (given.get(branch)?.size ?? 0) > 0)).toBe(true);
      }),
    );
  });

  propertyTest('yields the same steps when it is cut, and after a checkpoint', () => {
    fc.assert(
      fc.property(log, fc.array(fc.nat(40), { maxLength: 4 }), (lines, cuts) => {
        let reader = openLog('claude-code');
        const found: AgentStep[] = [];
        const whole = readSteps(openLog('claude-code'), lines);
        for (const [at, line] of lines.entries()) {
          const checkpoint = cuts.includes(at) ? reader.checkpoint() : null;
          if (checkpoint !== null) reader = openLog('claude-code', JSON.parse(JSON.stringify(checkpoint)));
          found.push(...readSteps(reader, [line]));
          if (reader.needsStart()) return;
          expect(found).toEqual(whole.slice(0, found.length));
        }
        expect(found).toEqual(whole);
      }),
    );
  });

  propertyTest('loses and doubles nothing, wherever it is settled', () => {
    fc.assert(
      fc.property(log, fc.array(fc.nat(40), { maxLength: 4 }), (lines, cuts) => {
        expect(wordsOf(readAll(lines, cuts))).toEqual(wordsOf(readAll(lines)));
      }),
    );
  });
});

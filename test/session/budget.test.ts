import { formatCount } from '../../src/session/text/format-count.ts';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { countFitting, refuseTooLarge, toBudget } from '../../src/session/context/budget.ts';
import type { ShownFile } from '../../src/session/context/context-files.ts';
import { countTokens } from '../../src/session/context/context-log-sections.ts';
import { renderContextLog, type ContextLog } from '../../src/session/context/context-log.ts';
import type { SessionId, TurnName } from '../../src/names.ts';
import { runs } from '../support/runs.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const session = '20260124-add-user-auth' as SessionId;

function logOf(files: Record<string, number>, message = 'Hello'): ContextLog {
  const shown = Object.entries(files).map(([path, bytes]): ShownFile => ({
    kind: 'shown',
    path,
    source: { kind: 'stored' },
    text: 'x'.repeat(bytes),
    lossy: false,
    masked: 0,
  }));
  const info = { session, turn: '01' as TurnName, agent: 'dev', provider: 'openai', model: 'gpt-5', parameters: {} };
  const system = { text: 'S', source: { kind: 'stored' as const }, masked: 0 };
  return renderContextLog({ info, system, memos: null, history: null, tree: null, files: shown, message }, (bytes) =>
    createHash('sha256').update(bytes).digest('hex'),
  );
}

function tokensIn({ sections }: ContextLog, path: string): number {
  return sections.filter((section) => section.path === path).reduce((sum, section) => sum + countTokens(section), 0);
}

test("a request's budget comes from the setting, or else from the room in the model's window", () => {
  expect(toBudget(1, 'gpt-5')).toBe(1);
  expect(toBudget(undefined, 'gpt-5')).toBe(272_000);
});

describe('the number of turns that fit', () => {
  const turns = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 200 });
  /** Bytes divided by four, rounded up: the tokens in the request, and in each turn alone. */
  const tokensOf = (bytes: number) => Math.ceil(bytes / 4);

  function measured(bytes: readonly number[], fixed: number, note: number) {
    const asked: number[] = [];
    const measure = (kept: number) => {
      asked.push(kept);
      const sum = bytes.slice(0, kept).reduce((total, size) => total + size, 0);
      return tokensOf(fixed + sum + (kept === bytes.length ? 0 : note));
    };
    return { measure, asked };
  }

  propertyTest('is all of them, or else the maximum', () => {
    fc.assert(
      fc.property(turns, fc.nat(500), fc.nat(80), fc.nat(8000), (bytes, fixed, note, more) => {
        const budget = tokensOf(fixed + note) + more;
        const { measure } = measured(bytes, fixed, note);
        const kept = countFitting(bytes.map(tokensOf), budget, measure);
        const counts = Array.from({ length: bytes.length + 1 }, (_, count) => count);
        const most = counts.findLast((count) => measure(count) <= budget);
        expect(kept).toBe(most);
      }),
      runs(1000),
    );
  });

  test('is found with a few looks at the request, even for thousands of turns with too high estimates', () => {
    const bytes = Array.from({ length: 10_000 }, () => 5);
    const { measure, asked } = measured(bytes, 100, 40);
    const kept = countFitting(bytes.map(tokensOf), 6000, measure);
    expect(measure(kept)).toBeLessThanOrEqual(6000);
    expect(measure(kept + 1)).toBeGreaterThan(6000);
    expect(asked.length).toBeLessThan(20);
  });

  test('stays below the budget if an estimate was too small', () => {
    const measure = (kept: number) => 10 + kept * 7;
    expect(countFitting([5, 5, 5, 5], 32, measure)).toBe(3);
    expect(countFitting([5, 5, 5, 5], 16, measure)).toBe(0);
  });
});

describe('a request over its budget', () => {
  test('is refused from one token above the budget on', () => {
    const log = logOf({ 'a.txt': 400 });
    expect(() => refuseTooLarge(log, log.tokens, { session, keepsFiles: false })).not.toThrow();
    expect(() => refuseTooLarge(log, log.tokens - 1, { session, keepsFiles: false })).toThrow(
      expect.objectContaining({ code: 'CONTEXT_TOO_LARGE', exitCode: 3 }),
    );
  });

  test('names the five largest files with their tokens, the budget, and the remedies', () => {
    const list = (...files: [string, string][]) =>
      files.map(([word, path]) => `${word} (${formatCount(tokensIn(log, path))})`).join(', ');
    const log = logOf({ a: 400, 'b c': 4000, c: 40, d: 2000, e: 800, f: 600 });
    expect(() => refuseTooLarge(log, 1000, { session, keepsFiles: false })).toThrow(
      expect.objectContaining({
        message:
          `Even without history the request has about ${formatCount(log.tokens)} tokens, and its budget is 1,000; ` +
          'nothing was sent or recorded. ' +
          `The largest: ${list(['"b c"', 'b c'], ['d', 'd'], ['e', 'e'], ['f', 'f'], ['a', 'a'])}.`,
        hint:
          `Remove files with \`!path\` in .teddy/sessions/${session}/session.context, ` +
          'or raise the budget: `git config teddy.contextTokens <number>`. Then send the message again.',
      }),
    );
  });

  test('names the message first if no file is as large', () => {
    expect(() => refuseTooLarge(logOf({ a: 40 }, 'x'.repeat(8000)), 100, { session, keepsFiles: false })).toThrow(
      /The largest: the message \([\d,]+\), a \(\d+\)\.$/,
    );
  });

  test('on a conversation branch suggests changes that are possible there', () => {
    expect(() => refuseTooLarge(logOf({ a: 40 }), 1, { session, keepsFiles: true })).toThrow(
      expect.objectContaining({
        hint: expect.stringMatching(/^A conversation branch keeps .* larger window, or raise/),
      }),
    );
  });
});

import { expect, test } from 'vitest';
import { sumSpent } from '../../src/session/spending/spending.ts';

test('an answer that exists twice, on two lines or after a rebase, counts once', () => {
  const answer = { id: 'a', kind: 'plan', provider: 'openai', tokens: { input: 3, output: 2 } } as const;
  const other = { ...answer, id: 'b', costUsd: 0.5 };
  const spent = { answers: 2, unreported: 0, inputTokens: 6, outputTokens: 4, costUsd: 0.5 };
  expect(sumSpent([answer, other, { ...answer }])).toEqual(spent);
});

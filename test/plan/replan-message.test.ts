import { expect, test } from 'vitest';
import type { Problem } from '../../src/plan/match/problem.ts';
import { haveSameProblems, renderReplanMessage } from '../../src/workflow/run/execute-or-replan.ts';
import { parseFenced } from '../support/fenced-text.ts';
import { parseTurnName } from '../../src/names.ts';

const turn = parseTurnName('01');
const problem = (message: string, more: Partial<Problem> = {}): Problem => ({ line: 1, column: 1, message, ...more });

test('a message names the turn, and each problem with its place and hint, before the unchanged plan', () => {
  const problems = [
    problem('EDIT a.ts: FIND was not found.', { line: 12, column: 3, action: 2, hint: 'Line 4 reads "b".\nLook.' }),
    problem('There are two titles.', { line: 20 }),
  ];
  expect(renderReplanMessage({ turn, problems, text: '# Plan\n' })).toBe(
    [
      'The plan of turn 01 is not valid, and none of it was run.',
      '',
      'Write the whole plan again, without these 2 problems:',
      '',
      '- line 12, column 3, action 2: EDIT a.ts: FIND was not found.',
      '  Line 4 reads "b".',
      '  Look.',
      '- line 20, column 1: There are two titles.',
      '',
      'The plan as it was:',
      '',
      '```markdown',
      '# Plan',
      '```',
      '',
    ].join('\n'),
  );
});

test.each([
  ['its own fences', '# Plan\n\n```\n````\n`````ts\nx\n`````\n````\n```\n'],
  ['a fence that it never closes', '# Plan\n\n````````\ncut off here'],
  ['other line endings, without a newline at its end', '# Plan\r\n\r\nText'],
  ['only the start of a line', ''],
])('a plan with %s is read back from the message exactly', (_, text) => {
  const message = renderReplanMessage({ turn, problems: [problem('No.')], text });
  const [, block = ''] = message.split('The plan as it was:\n\n');
  expect(parseFenced(block)).toBe(text);
  expect(message).toContain('without this problem:');
});

test('problems are the same in any order and at any place, if each occurs as often', () => {
  const [a, b] = [problem('a'), problem('b', { line: 3, column: 9, action: 1 })];
  expect(
    haveSameProblems(
      [a, b],
      [
        { ...b, line: 7, action: 2 },
        { ...a, column: 5 },
      ],
    ),
  ).toBe(true);
  expect(haveSameProblems([a, b], [a])).toBe(false);
  expect(haveSameProblems([a, a, b], [a, b, b])).toBe(false);
  expect(haveSameProblems([a], [problem('a other')])).toBe(false);
  expect(haveSameProblems([{ ...a, hint: 'x' }], [{ ...a, hint: 'y' }])).toBe(false);
});

/** A text of many megabytes is cut, with a notice, before it is masked or shown, and many turns take linear time. */
import { expect, test } from 'vitest';
import { renderTurn } from '../../../src/cli/render/turn.ts';
import { openTerminal } from '../../../src/cli/terminal.ts';
import { memoryContext } from '../../support/cli-context.ts';
import { toTurnName } from '../../../src/names.ts';
import { maskTexts } from '../../../src/workflow/line/mask-text.ts';
import { groupByTurn } from '../../../src/view/view.ts';
import type { ShownTurn } from '../../../src/workflow/review/show-turn.ts';
import { expectLinear } from '../../support/growth.ts';

const length = 30_000_000;
const long = 'x '.repeat(length / 2);

test('a review scans the beginning of a message of 30 MB, and reports how much is left out', async () => {
  let looked = 0;
  const masker = {
    mask: async (text: string) => {
      looked += text.length;
      return { text, count: 0, found: [] };
    },
  };
  const { message } = await maskTexts(masker, { turn: '01', message: long, plan: null }, 65_536);
  expect(looked).toBeLessThan(200_000);
  expect(message.length).toBeLessThan(70_000);
  expect(message).toMatch(/\n\[29,934,464 more characters are left out\]$/);
});

test('each text in a value is masked separately, complete or before a cut, and the rest is unchanged', async () => {
  const masker = {
    mask: async (text: string) => {
      const found = text.split('secret').length - 1;
      return { text: text.replaceAll('secret', '[masked]'), count: found, found: [] };
    },
  };
  const value = { a: 'secret', b: ['x', null, 3, { c: 'a secret' }], d: 'y'.repeat(9) + 'secret', e: true };
  const masked = { a: '[masked]', b: ['x', null, 3, { c: 'a [masked]' }], d: 'yyyyyyyyy[masked]', e: true };
  expect(await maskTexts(masker, value)).toEqual(masked);
  const cut = { ...masked, d: 'yyyyyyyyy[\n[5 more characters are left out]' };
  expect(await maskTexts(masker, value, 10)).toEqual(cut);
  const clean = { a: 'b' };
  expect(await maskTexts(masker, clean)).toBe(clean);
});

test('a turn with a message of 30 MB is shown with its beginning, and names the place of the rest', () => {
  const shown = {
    turn: '01',
    session: '20260124-x',
    line: 'teddy/20260124-x',
    status: 'closed',
    messages: [long],
    said: [],
    plan: null,
    reply: null,
    report: null,
    diff: '',
    entries: [],
    model: null,
    spent: { input: 0, output: 0, costUsd: null },
    undoneBy: null,
    verdicts: [],
    asides: { thoughts: 0, notes: 0 },
    cut: [],
  } as unknown as ShownTurn;
  const text = renderTurn(openTerminal(memoryContext(), 'never'), shown);
  expect(text.length).toBeLessThan(300_000);
  expect(text).toContain(
    '[29,737,856 more characters are left out; `teddy show 01 -s teddy/20260124-x --json` has them]',
  );
});

test('the steps of many turns are grouped in linear time', async () => {
  const make = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ entry: { turn: toTurnName(Math.floor(at / 3) + 1) } as never }));
  await expectLinear(120_000, make, (steps) => expect(groupByTurn(steps).size).toBe(steps.length / 3));
});

/**
 * An action type is one file: a test one is added to a copy of the source, and everything that handles actions supports
 * it.
 */
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type * as actions from '../../src/plan/actions/actions.ts';
import type { ActionWorld } from '../../src/plan/actions/world.ts';
import type { parsePlan } from '../../src/plan/parse/parse.ts';
import type { renderProtocol } from '../../src/plan/protocol.ts';
import type { reportFields } from '../../src/plan/report/report.ts';
import { additions } from '../support/additions.ts';
import { bundleGrown, growSource } from '../support/grown-source.ts';

interface Grown {
  parsePlan: typeof parsePlan;
  actions: typeof actions;
  renderProtocol: typeof renderProtocol;
  reportFields: typeof reportFields;
}

let dir: string;
let grown: Grown;

beforeAll(async () => {
  dir = await growSource(additions['add an action']);
  const entry = `
    export { parsePlan } from './src/plan/parse/parse.ts';
    export * as actions from './src/plan/actions/actions.ts';
    export { renderProtocol } from './src/plan/protocol.ts';
    export { reportFields } from './src/plan/report/report.ts';`;
  grown = await bundleGrown<Grown>(dir, entry);
});
afterAll(() => rm(dir, { recursive: true }));

const planOf = (text: string) =>
  `# Greet\n\n- **Status:** Green\n\n## Rationale\nR.\n\n## Action Plan\n\n### GREET\n- **Description:** Be kind.\n\n${text}\n`;

test('two files make an action type: it is parsed, described, checked, performed and reported', async () => {
  const { plan, problems } = grown.parsePlan(planOf('Hello'));
  expect(problems).toEqual([]);
  const [action] = plan.actions;
  if (action === undefined) throw new Error('The plan has no action.');
  expect(action).toMatchObject({ type: 'GREET', text: 'Hello', description: 'Be kind.' });
  expect(grown.actions.describeAction(action)).toBe('GREET Hello');
  expect(grown.actions.toParams(action)).toEqual({ text: 'Hello', description: 'Be kind.' });
  const begun: string[] = [];
  const world = { begin: async () => void begun.push('begun') } as unknown as ActionWorld;
  const outcome = await grown.actions.toEffect(action, { inspect: async () => ({ kind: 'absent' }) });
  if (!('effect' in outcome)) throw new Error('It has no effect.');
  const performed = await grown.actions.perform(action, outcome.effect, world);
  expect([performed, begun]).toEqual([{ status: 'SUCCESS', details: { answer: 'Hello to you' } }, ['begun']]);
  expect(grown.renderProtocol({ canSearch: false })).toContain('### GREET\nIt says hello.');
  const log = { index: 1, action_type: 'GREET', params: {}, ...performed };
  const faults: string[] = [];
  grown.reportFields.read({ action_logs: [log] }, faults);
  expect(faults.filter((fault) => fault.includes('action_logs'))).toEqual([]);
});

test('its problems are reported like any other', async () => {
  const { plan } = grown.parsePlan(planOf('Bye'));
  const [action] = plan.actions;
  if (action === undefined) throw new Error('The plan has no action.');
  expect(await grown.actions.toEffect(action, { inspect: async () => ({ kind: 'absent' }) })).toMatchObject({
    problems: [{ action: 1, message: 'GREET: that is no greeting.' }],
  });
  expect(grown.parsePlan(planOf('')).problems).toMatchObject([{ message: 'GREET says nothing.', hint: 'Hello!' }]);
  expect(grown.parsePlan('# A\n\n## Action Plan\n\n### DELETE\n').problems[0]?.message).toContain('INVOKE, GREET');
});

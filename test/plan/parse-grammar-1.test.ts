/** Plans parsed before their grammar had a version: `grammar-1.json` has the parser's results at that time. */
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parsePlan } from '../../src/plan/parse/parse.ts';
import type { Problem } from '../../src/plan/match/problem.ts';
import type { ParsedPlan } from '../../src/plan/plan.ts';

const fixtures = new URL('../../fixtures/', import.meta.url);
const recorded = JSON.parse(readFileSync(new URL('grammar-1.json', fixtures), 'utf8')) as Record<string, unknown>;
const names = ['answers', 'plans/good', 'plans/broken'].flatMap((dir) =>
  readdirSync(new URL(dir, fixtures)).map((name) => `${dir}/${name}`),
);

/** Everything except hints: they are advice for a new plan, and nothing compares them. */
function toRecord({ plan, problems, notes }: ParsedPlan): unknown {
  const place = ({ line, column, action, message }: Problem) => [line, column, action ?? null, message];
  return JSON.parse(JSON.stringify({ plan, problems: problems.map(place), notes: notes.map(place) }));
}

test('every fixture has a record', () => {
  expect(names.toSorted()).toEqual(Object.keys(recorded).toSorted());
});

test.each(names)('%s is parsed with grammar 1 as it was then', (name) => {
  const text = readFileSync(new URL(name, fixtures), 'utf8');
  expect(toRecord(parsePlan(text, { projectRoot: '/home/dev/project', grammar: 1 }))).toEqual(recorded[name]);
});

test('the records include plans that grammar 2 parses differently', () => {
  const differs = names.filter((name) => {
    const parsed = parsePlan(readFileSync(new URL(name, fixtures), 'utf8'), { projectRoot: '/home/dev/project' });
    return JSON.stringify(toRecord(parsed)) !== JSON.stringify(recorded[name]);
  });
  expect(differs.length).toBeGreaterThan(40);
});

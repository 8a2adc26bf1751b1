import { describe, expect, test } from 'vitest';
import { agentNames, type AgentName } from '../../src/conversation/agent-log.ts';
import { agentFixtures } from '../support/agent-fixtures.ts';
import { forksOf, openLog, readSteps, toLines, unitsOf } from '../support/agent-logs.ts';
import { faultsOf, outline } from '../support/import-source.ts';

const files = Object.entries(agentFixtures).map(([path, lines]) => {
  const agent = agentNames.find((name) => path.startsWith(`${name}/`)) as AgentName;
  return [path, agent, lines.map((line) => `${JSON.stringify(line)}\n`).join('')] as const;
});

/** `npx vitest run -u` with this file writes them anew. */
describe.each(files)('the fixture %s', (path, agent, text) => {
  const reader = openLog(agent);
  const steps = readSteps(reader, toLines(text));
  reader.settle();
  steps.push(...reader.take());

  test('is what its generator makes', async () => {
    await expect(text).toMatchFileSnapshot(`../../fixtures/agents/${path}`);
  });

  test('is read to the last line', () => {
    expect(faultsOf(unitsOf(steps))).toEqual([]);
    expect([reader.unknown(), reader.report().skipped.issues, reader.needsStart()]).toEqual([[], [], false]);
  });

  test('becomes these units', () => {
    const used = unitsOf(steps).map(({ model, provider, tokens, costUsd }) => ({ model, provider, tokens, costUsd }));
    expect({
      head: reader.head(),
      forks: forksOf(steps),
      units: unitsOf(steps).map((unit) => `${unit.branch} ${outline([unit]).join('')}`),
      used: [...new Set(used.map((one) => JSON.stringify(one)))],
      leftOut: reader.report().leftOut,
    }).toMatchSnapshot();
  });
});

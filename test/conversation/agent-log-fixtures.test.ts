import fc from 'fast-check';
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

/** Some lines are gone, doubled or in another place, some characters are others, and some values are of another type. */
const mutated = fc
  .tuple(
    fc.constantFrom(...files),
    fc.infiniteStream(fc.nat()),
    fc.array(
      fc.tuple(fc.nat(), fc.constantFrom('"', '{', '}', '[', ']', ',', '0', 'null', '[]', '{}', '\0', '\\', '')),
    ),
  )
  .map(([[, agent, text], numbers, edits]): [AgentName, string] => {
    const next = () => numbers.next().value ?? 0;
    const lines = text.split('\n').flatMap((line) => [[line, line], [], [line], [line], [line]][next() % 5] ?? []);
    lines.splice(next() % (lines.length + 1), 0, ...lines.splice(next() % (lines.length + 1), 3));
    const values = /:(?:"[^"]*"|true|null|\d+|\[\]|\{\})/g;
    const other = lines.map((line) =>
      next() % 4 > 0
        ? line
        : line.replace(values, (found) =>
            next() % 8 > 0 ? found : ([':0', ':null', ':[]', ':{}', ':"x"'][next() % 5] ?? found),
          ),
    );
    const changed = edits.reduce((whole, [at, by]) => {
      const place = at % (whole.length + 1);
      return whole.slice(0, place) + by + whole.slice(place + 1);
    }, other.join('\n'));
    return [agent, changed];
  });

test('no log makes a reader throw, or give what is no unit', () => {
  fc.assert(
    fc.property(mutated, fc.nat(60), ([agent, text], settleAt) => {
      let reader = openLog(agent);
      const found = toLines(text).flatMap((line, at) => {
        if (at === settleAt) reader.settle();
        const units = unitsOf([...reader.take(), ...readSteps(reader, [line])]);
        const checkpoint = at === settleAt ? reader.checkpoint() : null;
        if (checkpoint !== null) reader = openLog(agent, JSON.parse(JSON.stringify(checkpoint)));
        return units;
      });
      reader.settle();
      found.push(...unitsOf(reader.take()));
      expect(faultsOf(found)).toEqual([]);
      expect(JSON.parse(JSON.stringify(reader.head()))).toEqual(reader.head());
    }),
  );
});

import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { agentNames, type AgentName } from '../../src/agents/agents.ts';
import { describeLeftOut, listLosses } from '../../src/conversation/logs/import-report.ts';
import { agentFixtures } from '../support/agent-fixtures.ts';
import { forksOf, openLog, readSteps, toLines, unitsOf } from '../support/agent-logs.ts';
import { firstPlan, secondPlan } from '../support/agent-plan-fixtures.ts';
import { faultsOf, outline } from '../support/import-source.ts';
import { propertyTest, quickTest as test } from '../support/slow-test.ts';

const files = Object.entries(agentFixtures).map(([path, lines]) => {
  const agent = agentNames.find((name) => path.startsWith(`${name}/`)) as AgentName;
  return [path, agent, lines.map((line) => `${JSON.stringify(line)}\n`).join('')] as const;
});

/** `npx vitest run -u` with this file rewrites them. */
describe.each(files)('the fixture %s', (path, agent, text) => {
  const reader = openLog(agent);
  const steps = readSteps(reader, toLines(text));
  reader.settle();
  steps.push(...reader.take());

  test('equals its generator’s output', async () => {
    await expect(text).toMatchFileSnapshot(`../../fixtures/agents/${path}`);
  });

  test('is read to the last line', () => {
    expect(faultsOf(unitsOf(steps))).toEqual([]);
    expect([reader.unknown(), reader.report().skipped.issues, reader.needsStart()]).toEqual([[], [], false]);
  });

  test('leaves out only images, and unknown parts', () => {
    const unknown = { type: 'new', uuid: 'x', id: 'x', parentId: null, sessionId: 's', timestamp: 't', data: {} };
    const line = agent === 'opencode' ? { info: { id: 'x', role: 'assistant' }, parts: [{ type: 'new' }] } : unknown;
    const all = openLog(agent);
    readSteps(all, toLines(`${text}${JSON.stringify(line)}`));
    const said = describeLeftOut(listLosses(all.report().leftOut)).replace(/\d+ images?, /, '');
    expect(said).toBe('1 line of unknown types');
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

const withPlans = files.filter(([path]) => path.endsWith('/plans.jsonl'));

/** The part of it that exists as soon as the line does. */
propertyTest.each(withPlans)(
  'the plans in %s come with their lines, before the answers that submit them',
  (_path, agent, log) => {
    const reader = openLog(agent);
    const units = toLines(log).flatMap((line) => unitsOf(readSteps(reader, [line])).map((unit) => ({ unit, line })));
    reader.settle();
    const all = [...units, ...unitsOf(reader.take()).map((unit) => ({ unit, line: null }))];
    const plans = all.flatMap(({ unit, line }, at) => (unit.kind === 'plan' ? [{ unit, line, at }] : []));
    expect(plans.map(({ unit }) => unit.plan)).toEqual([firstPlan, secondPlan]);
    for (const { unit, line, at } of plans) {
      const [record] = unit.records;
      if (record?.type !== 'plan') throw new Error('A plan has a record of its own.');
      const id = record.id.replace(/\/plan$/, '');
      // Gemini writes a call together with its result, and another message ends the answer.
      if (agent !== 'gemini') expect(line?.text).toContain(`"${id}"`);
      expect(record).toMatchObject({ file: 'plan.md', ...(agent === 'codex' ? {} : { tool_call_id: id }) });
      const after = all.slice(at + 1).map(({ unit: later }) => JSON.stringify(later.records))[0];
      const text = JSON.stringify(unit.plan).slice(1, -1);
      expect(after).toContain(agent === 'codex' ? `Here it is.\\n${text}"` : `"tool_call_id":"${id}"`);
    }
  },
);

/** Some lines are missing, doubled or moved, some characters are changed, and some values have another type. */
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

propertyTest('no log makes a reader throw, or return an invalid unit', () => {
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

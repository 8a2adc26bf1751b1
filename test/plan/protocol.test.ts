import { describe, expect, test } from 'vitest';
import { actionTypes } from '../../src/plan/actions/actions.ts';
import { renderParameter } from '../../src/plan/actions/spec.ts';
import { parsePlan } from '../../src/plan/parse/parse.ts';
import { renderProtocol } from '../../src/plan/protocol.ts';

describe('the protocol in the system prompt', () => {
  test('has an example that is a plan without problems and notes', () => {
    const example = /^````markdown\n(.*?)^````$/ms.exec(renderProtocol({ canSearch: true }))?.[1] ?? '';
    const { plan, problems, notes } = parsePlan(example);
    expect([...problems, ...notes]).toEqual([]);
    expect(plan.actions.map(({ type }) => type)).toEqual(['CREATE', 'EDIT', 'EXECUTE']);
    expect(plan).toMatchObject({ title: 'Add the login route', contextVault: ['src/app.ts', 'src/login.ts'] });
    expect(plan.memos).toHaveLength(1);
  });

  test.each(actionTypes.map((spec) => [spec.type, spec] as const))('has %s with every parameter', (type, spec) => {
    const section =
      renderProtocol({ canSearch: true })
        .split(/^### /m)
        .find((part) => part.startsWith(`${type}\n`)) ?? '';
    for (const { name } of spec.parameters) expect(section).toContain(`- ${name}`);
    expect(section).toContain('Body: ');
  });

  test.each(actionTypes.map((spec) => [spec.type, spec] as const))(
    'shows %s in a form that is parsed without problems',
    (type, spec) => {
      const parameters = spec.parameters.map(renderParameter).join('\n');
      const { plan, problems, notes } = parsePlan(
        `# T\n\n## Action Plan\n\n### ${type}\n${parameters}\n\n${spec.bodyExample}\n`,
      );
      expect([...problems, ...notes]).toEqual([]);
      expect(plan.actions).toMatchObject([{ type }]);
    },
  );
});

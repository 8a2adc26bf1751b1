import { expect, test } from 'vitest';
import {
  countTokens,
  messageSection,
  systemSection,
  type LogSection,
} from '../../../src/session/context/context-log-sections.ts';
import { rememberCounts } from '../../../src/workflow/verify/render-log-again.ts';

test('sections counted in the previous log keep their token counts, and changed ones get their own', () => {
  const system = systemSection({ text: 'Plan.', source: { kind: 'stored' }, masked: 0 });
  const logs: LogSection[][] = [
    [system, messageSection('Add a login.')],
    [system, messageSection('Add a login, and a test of it with a name that is long.')],
    [system, messageSection('Add a login.')],
    [messageSection('Add a login.')],
  ];
  const count = rememberCounts();
  expect(logs.map(count)).toEqual(logs.map((log) => log.reduce((sum, section) => sum + countTokens(section), 0)));
});

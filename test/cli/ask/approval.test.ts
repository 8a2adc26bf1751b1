import { expect, test } from 'vitest';
import { flagApprover } from '../../../src/cli/ask/approval.ts';
import { renderEffect } from '../../../src/cli/render/effect.ts';
import { openTerminal } from '../../../src/cli/terminal.ts';
import { parsePlan } from '../../../src/plan/parse/parse.ts';
import { memoryContext } from '../../support/cli-context.ts';
import { executeAction, planOf } from '../../support/teddy-project.ts';

async function approve(isQuiet: boolean): Promise<string> {
  const context = memoryContext();
  const approver = flagApprover(openTerminal(context, 'never'), isQuiet);
  const [action] = parsePlan(planOf(executeAction('npm test'))).plan.actions;
  if (action === undefined) throw new Error('There is no action.');
  const log = { index: 1, action_type: action.type, params: { command: 'npm test' }, approved_by: 'flag' } as const;
  await approver.during({ action, count: 3 }, () => Promise.resolve(approver.output('stdout', 'ran\n')));
  approver.done({ ...log, status: 'FAILURE', duration_ms: 4123, details: { return_code: 2 } }, 3);
  approver.done({ ...log, status: 'SKIPPED', details: { reason: 'an earlier action failed' } }, 3);
  return context.read().stderr;
}

test('an action that nobody is asked about is announced, and its result has the time', async () => {
  expect(await approve(false)).toBe(
    [
      '1/3 EXECUTE npm test',
      'ran',
      'FAILURE 1/3 EXECUTE npm test, exit 2, 4.1 s',
      'SKIPPED 1/3 EXECUTE npm test (an earlier action failed)',
      '',
    ].join('\n'),
  );
  expect(await approve(true)).toBe('');
});

test('a question is shown whole before it is asked whether to answer it', () => {
  const ask = (text: string) => renderEffect({ kind: 'ask', action: 1, text }, 'CHAT_WITH_USER Which?');
  expect(ask('Which?\n\n1. red\n2. \u001b[2Jblue\n')).toBe('  Which?\n\n  1. red\n  2. ␛[2Jblue');
  expect(ask('Which?\n')).toBe('');
});

/** The words of a push, a pull and a sync. */
import { expect, test } from 'vitest';
import { showShared } from '../../../src/cli/render/shared.ts';
import { openTerminal } from '../../../src/cli/terminal.ts';
import { mainLineRef, type SessionId } from '../../../src/names.ts';
import type { Shared, SharedLine } from '../../../src/workflow/sharing/shared-line.ts';
import { memoryContext } from '../../support/cli-context.ts';

const session = '20260124-add-login' as SessionId;

function lineOf(did: SharedLine['did']): SharedLine {
  const nothing = { local: null, remote: null, tail: null, problem: null, violations: [] };
  return { ref: mainLineRef(session), session, standing: 'only-remote', did, ...nothing };
}

function show(lines: SharedLine[], verb: string, dryRun = false) {
  const context = memoryContext();
  const remote = { name: 'origin', label: 'origin', isConfigured: true };
  const shared: Shared = { remote, session, lines, leftOut: [], monthsLeft: [], notes: [], refusal: null };
  showShared(openTerminal(context, 'never'), shared, { dryRun, verb });
  return context.read();
}

test('a rehearsal says what would be done', () => {
  expect(show([lineOf(['taken', 'merged'])], 'sync').stdout).toBe(`teddy/${session}  pulled, merged\n`);
  expect(show([lineOf(['taken', 'merged'])], 'sync', true).stdout).toBe(`teddy/${session}  would be pulled, merged\n`);
});

test('a session that this remote does not have is not called up to date', () => {
  expect(show([lineOf([])], 'pull').stderr).toContain('Nothing to pull.');
  const { stdout, stderr } = show([], 'pull');
  expect({ stdout, stderr }).toEqual({
    stdout: '',
    stderr: `origin: session ${session} and teddy/global.\norigin does not have ${session}. \`teddy list\` names the remote that has it.\n`,
  });
});

/** The words of a push, a pull and a sync. */
import { expect, test } from 'vitest';
import { showShared, toSharedJson } from '../../../src/cli/render/shared.ts';
import { openTerminal } from '../../../src/cli/terminal.ts';
import { mainLineRef, type RefName, type SessionId } from '../../../src/names.ts';
import type { Shared, SharedLine } from '../../../src/workflow/sharing/shared-line.ts';
import { memoryContext } from '../../support/cli-context.ts';

const session = '20260124-add-login' as SessionId;

function lineOf(did: SharedLine['did']): SharedLine {
  const nothing = { local: null, remote: null, tail: null, problem: null, violations: [] };
  return { ref: mainLineRef(session), session, standing: 'only-remote', did, ...nothing };
}

function show(lines: SharedLine[], verb: string, dryRun = false, more: Partial<Shared> & { selector?: string } = {}) {
  const context = memoryContext();
  const remote = { name: 'origin', label: 'origin', isConfigured: true };
  const { selector, ...given } = more;
  const nothing = { leftOut: [], monthsLeft: [], notes: [], refusal: null };
  const shared: Shared = { remote, session, lines, ...nothing, ...given };
  showShared(openTerminal(context, 'never'), shared, { dryRun, verb, selector });
  return context.read();
}

test('a rehearsal says what would be done', () => {
  expect(show([lineOf(['taken', 'merged'])], 'sync').stdout).toBe(`teddy/${session}  pulled, merged\n`);
  expect(show([lineOf(['taken', 'merged'])], 'sync', true).stdout).toBe(`teddy/${session}  would be pulled, merged\n`);
});

test("a line whose own commits made room for the remote's is pulled, and what was only here is elsewhere", () => {
  const tail = mainLineRef(`${session}--02-branch-01` as SessionId);
  const moved = { ...lineOf(['moved', 'taken']), tail };
  const place = `on teddy/${session}--02-branch-01\n`;
  expect(show([moved], 'pull').stdout).toBe(`teddy/${session}  pulled; what was only here is now ${place}`);
  expect(show([moved], 'pull', true).stdout).toBe(
    `teddy/${session}  would be pulled; what was only here would be ${place}`,
  );
});

test('a sync that pulls from one remote and pushes to another tells of both', () => {
  const context = memoryContext();
  const toShared = (name: string, did: SharedLine['did']): Shared => ({
    remote: { name, label: name, isConfigured: true },
    session,
    lines: [lineOf(did)],
    leftOut: [],
    monthsLeft: [],
    notes: [],
    refusal: null,
  });
  const shared = { ...toShared('origin', ['taken']), pushed: toShared('mirror', ['pushed']) };
  showShared(openTerminal(context, 'never'), shared, { dryRun: true, verb: 'sync' });
  const { stdout, stderr } = context.read();
  expect(stdout).toBe(`teddy/${session}  would be pulled\nteddy/${session}  would be pushed\n`);
  expect(stderr).toBe(
    `origin: session ${session} and teddy/global.\nmirror: session ${session} and teddy/global.\nNothing was changed: this was a dry run.\n`,
  );
  expect(toSharedJson(shared, true)).toMatchObject({ remote: 'origin', pushed: { remote: 'mirror' } });
});

test('a session that this remote does not have is not called up to date', () => {
  expect(show([lineOf([])], 'pull').stderr).toContain('Nothing to pull.');
  const { stdout, stderr } = show([], 'pull');
  expect({ stdout, stderr }).toEqual({
    stdout: '',
    stderr: `origin: session ${session} and teddy/global.\norigin does not have ${session}. \`teddy list\` names the remote that has it.\n`,
  });
});

test('what a pull finds to be ahead is sent by the command that it names: all sessions, one, or that of HEAD', () => {
  const ahead: SharedLine = { ...lineOf([]), standing: 'push' };
  const wayOf = (more: Parameters<typeof show>[3]) =>
    / lacks: (.*)/.exec(show([ahead], 'pull', false, more).stderr)?.[1];
  expect(wayOf({ session: null })).toBe('teddy push origin --all');
  expect(wayOf({ selector: 'my attempt' })).toBe("teddy push origin -s 'my attempt'");
  expect(wayOf({})).toBe('teddy push origin');
});

test('a rehearsed pull names no push, which would be refused until the pull was made', () => {
  const ahead: SharedLine = { ...lineOf([]), standing: 'push' };
  expect(show([lineOf(['taken']), ahead], 'pull', true).stderr).not.toContain('push');
  expect(show([lineOf(['taken']), ahead], 'pull').stderr).toContain('teddy push origin');
  expect(show([ahead], 'pull', true).stderr).toContain('teddy push origin');
});

test('what was left out is sent by the command that it names, and other sessions are none of it where one was named', () => {
  const line = 'refs/heads/teddy/20260124-other' as RefName;
  const branch = 'refs/heads/my-attempt' as RefName;
  const leftOf = (more: Parameters<typeof show>[3]) => /^Not sent.*$/m.exec(show([], 'sync', false, more).stderr)?.[0];
  const names = 'my-attempt, teddy/20260124-other';
  expect(leftOf({ leftOut: [branch, line] })).toBe(`Not sent: ${names}. To send all sessions: teddy sync origin --all`);
  const alone = 'Not sent: my-attempt. To send one: teddy sync origin -s my-attempt';
  expect(leftOf({ leftOut: [branch] })).toBe(alone);
  expect(leftOf({ leftOut: [branch, line], selector: 'add-login' })).toBe(alone);
  expect(leftOf({ leftOut: [line], selector: 'add-login' })).toBeUndefined();
});

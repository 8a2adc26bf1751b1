/** The next step is named by `status` and by the last line of each command. */
import { afterEach, expect, test } from 'vitest';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { createPlan } from '../support/teddy-project.ts';

let project: MemoryTeddy;
afterEach(() => project.close());

const lastLine = (text: string) => text.trimEnd().split('\n').at(-1);

/** Returns the last line that it says. */
async function say(session: string | null, answer: string): Promise<string | undefined> {
  const args = ['session', 'plan', '-m', 'Do it', '--from', '-', ...(session === null ? [] : ['-s', session])];
  return lastLine((await project.run(args, { stdin: answer })).stderr);
}

test('after a plan for another line the next command names it, and no longer where HEAD is on it', async () => {
  project = await openMemoryTeddy();
  const first = await project.begin('first');
  const second = await project.begin('second', '--no-switch');
  expect(await say(second, createPlan('a.txt', 'a\n'))).toBe(`Next: git switch teddy/${second} && teddy execute`);
  expect(await say(first, createPlan('b.txt', 'b\n'))).toBe('Next: teddy execute');
  await project.ok('session', 'execute', '--reject', '-s', first);
  expect(await say(first, 'Only words.\n')).toBe('Next: teddy plan -m "..."');
});

test('a branch is answered from stdin, which is read once', async () => {
  project = await openMemoryTeddy();
  await project.begin('main-one');
  await say(null, createPlan('a.txt', 'a\n'));
  const again = ['session', 'branch', '01', '-m', 'Again', '--from', '-'];
  expect(await project.run(again, { stdin: createPlan('b.txt', 'b\n') })).toMatchObject({ exitCode: 0 });
  expect((await project.subjects())[0]).toBe('turn 01-branch-01 plan: Try it');
});

test('a branch without a message waits for one, and status, execute and land say nothing else', async () => {
  project = await openMemoryTeddy({ answers: [createPlan('one.txt', '1\n'), createPlan('other.txt', '2\n')] });
  const session = await project.begin('quiet');
  await project.ok('session', 'plan', '-m', 'Make one');
  await project.ok('session', 'execute', '-y');
  await project.ok('session', 'branch', '01', '--no-switch');
  expect(await project.repo.git('branch', '--show-current')).toBe(`teddy/${session}`);
  const line = `teddy/${session}--01-branch-01`;
  await project.repo.git('switch', '--quiet', line);
  expect(await project.ok('status')).toBe(
    `On ${line}, a line of ${session}.\n` +
      'Turn 01-branch-01 has no message yet.\n' +
      'Next: teddy plan -m "what you want"\n',
  );
  expect(JSON.parse(await project.ok('status', '--json'))).toMatchObject({
    turn: { turn: '01-branch-01', status: 'open', hasMessage: false },
    next: ['teddy plan -m "what you want"'],
  });
  expect(await project.refuses('NO_PENDING_PLAN', 3, ['session', 'execute'])).toContain(
    'hint:  Say what to do next: `teddy plan -m "..."`.\n',
  );
  expect(await project.refuses('NOTHING_TO_LAND', 3, ['session', 'land'])).not.toContain('is waiting for an answer');

  // A message that is recorded without asking is asked by the next plan.
  await project.repo.git('switch', '--quiet', `teddy/${session}`);
  await project.ok('session', 'branch', '01', '--no-plan', '-m', 'Another');
  expect(await project.repo.git('branch', '--show-current')).toBe(`teddy/${session}--01-branch-02`);
  expect(project.server.requests()).toHaveLength(1);
  await project.ok('session', 'plan');
  expect(await project.subjects()).toEqual([
    'turn 01-branch-02 plan: Try it',
    'turn 01-branch-02 message: Another',
    'turn 01-branch-02 branch: from turn 01',
    expect.stringContaining('start') as string,
    'First commit',
  ]);
});

test('teddy alone is status, which says where one is, off the line as well', async () => {
  project = await openMemoryTeddy({ answers: [createPlan('one.txt', '1\n')] });
  const session = await project.begin('here');
  await project.ok('session', 'plan', '-m', 'Make one');
  await project.ok('session', 'execute', '-y');
  expect(await project.ok()).toBe(await project.ok('status'));
  expect(await project.ok('status')).toBe(
    `On teddy/${session}.\nTurn 01 is closed.\nNext: teddy plan -m "what you want"\n  or: teddy land\n`,
  );
  await project.repo.git('switch', '--quiet', '--detach');
  expect(await project.ok('status')).toContain('(detached), at ');
  await project.repo.git('switch', '--quiet', 'main');
  expect(await project.ok('status')).toContain(`Next: git switch teddy/${session}\n`);
});

test('teddy alone names the commands to begin with until there is a session', async () => {
  project = await openMemoryTeddy();
  const help = await project.ok('help');
  expect(await project.ok()).toBe(`${help}\n${await project.ok('status')}`);
  expect(JSON.parse(await project.ok('--json'))).toMatchObject({ schema: 'teddy.status/1' });
});

test('a branch that is not switched to is named', async () => {
  project = await openMemoryTeddy();
  const session = await project.begin('main-one');
  await say(null, createPlan('a.txt', 'a\n'));
  const branch = async (...more: string[]) =>
    lastLine((await project.run(['session', 'branch', '01', '--no-switch', ...more])).stderr);
  expect(await branch('-m', 'Again', '--no-plan')).toContain(`Next: teddy plan -s teddy/${session}--01-branch-01`);
  expect(await branch()).toBe(`Next: teddy plan -s teddy/${session}--01-branch-02 -m "what to do instead"`);
});

/** At a terminal: questions, answers, and Ctrl-C at any moment. */
import { openMemoryBegun, openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { ctrlC, ctrlD, type TerminalRun } from '../support/run-in-terminal.ts';
import { createAction, createPlan, editAction, executeAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;

afterEach(() => project.close());

// The letters before these depend on the action.
const question = ',q,?] ';

async function openWithPlan(answer: string): Promise<void> {
  ({ project } = await openMemoryBegun('asked'));
  await project.plan(answer);
}

function inTerminal(...args: string[]): TerminalRun {
  return project.inTerminal(args);
}

const isPending = async () => (await project.ok('session', 'list')).includes('pending plan');

describe('at a terminal', () => {
  test('each action is shown and asked about: y does it, n skips it, ? explains, and the rest goes on', async () => {
    await openWithPlan(
      planOf(
        createAction('yes.txt', 'yes\n'),
        editAction('README.md', '# Scratch', '# Changed'),
        executeAction('echo ran'),
      ),
    );
    const run = inTerminal('session', 'execute');
    await run.play([question, '?\n', '+yes']);
    const help = await run.waitFor(question);
    for (const line of ['y  yes', 'n  no', 'a  ', 'q  ', '?  ']) expect(help).toContain(line);
    run.press('what\n');
    await run.play([question, 'y\n']);
    const second = await run.waitFor(question);
    expect(second).toMatch(/SUCCESS 1\/3 CREATE yes\.txt/);
    expect(second).toMatch(/-# Scratch\n\+# Changed/);
    run.press('n\n');
    await run.play([question, 'Y\n', '$ echo ran']);
    expect(await run.exitCode).toBe(0);
    const report = await project.report();
    expect(report.run_summary.status).toBe('SUCCESS');
    expect(report.action_logs.map(({ status, approved_by }) => [status, approved_by])).toEqual([
      ['SUCCESS', 'user'],
      ['SKIPPED', 'none'],
      ['SUCCESS', 'user'],
    ]);
    expect(run.raw()).toContain('\u001b[');
  });

  test('what a READ or PRUNE does is said once, and memos are asked about as changes', async () => {
    const memos = '## Memos\n- [+] Use pnpm\n\n';
    const read = '### READ\n- **Resource:** src/app.ts\n- **Lines:** 1-2\n\n### READ\n- **Resource:** README.md\n\n';
    await openWithPlan(`# Look\n\n${memos}## Action Plan\n\n${read}### PRUNE\n- **File Path:** README.md\n`);
    const run = inTerminal('session', 'execute');
    await run.play(
      ['[y,n,q,?] ', 'y\n', 'The plan proposes to change the memos:\n  [+] Use pnpm\n'],
      ['Show this to the model? ', 'y\n', /1\/3 READ src\/app\.ts\n {2}lines 1-2\n$/],
      ['Show this to the model? ', 'y\n', /2\/3 READ README\.md\n$/],
      ['Remove this from the context? ', 'n\n', /3\/3 PRUNE README\.md\n$/],
    );
    expect(await run.exitCode).toBe(0);
  });

  test('a approves all the rest, q stops and reports ABORTED, and declining everything is SKIPPED', async () => {
    const three = (name: string) => planOf(...[1, 2, 3].map((n) => createAction(`${name}${n}.txt`, 'x\n')));
    await openWithPlan(three('all'));
    const all = inTerminal('session', 'execute');
    await all.play([question, 'y\n'], [question, 'a\n']);
    expect(await all.exitCode).toBe(0);
    expect((await project.report()).changes).toHaveLength(3);

    await project.plan(three('quit'));
    const quit = inTerminal('session', 'execute');
    await quit.play(
      [question, 'y\n'],
      [question, 'x\n'],
      ['Close the turn, and skip the rest? [y,n] ', 'y\n'],
      ['Why? (Enter for no reason) ', 'too many\n'],
    );
    expect(await quit.exitCode).toBe(4);
    const stopped = await project.report();
    expect(stopped.run_summary).toMatchObject({ status: 'ABORTED', error: 'stopped by the user' });
    expect(stopped.action_logs.map(({ status }) => status)).toEqual(['SUCCESS', 'SKIPPED', 'SKIPPED']);
    expect(stopped.action_logs[1]?.details).toMatchObject({ comment: 'too many' });

    await project.plan(createPlan('none.txt', 'x\n'));
    const none = inTerminal('session', 'execute');
    await none.play([question, 'n\n']);
    expect(await none.exitCode).toBe(4);
    expect((await project.report()).run_summary.status).toBe('SKIPPED');
  });

  test('memos are asked about on their own, and an answer to a question goes into the report', async () => {
    await openWithPlan(
      '# Talk\n\n## Memos\n\n- [+] We use tabs.\n\n## Action Plan\n\n### CHAT_WITH_USER\n\nWhich colour?\n',
    );
    const run = inTerminal('session', 'execute');
    await run.play(
      ['[y,n,q,?] ', '?\n', '[+] We use tabs.'],
      ['[y,n,q,?] ', 'y\n', 'q  decide later'],
      [question, 'y\n'],
      ['Your answer: ', 'Blue, please\n', 'Which colour?'],
    );
    expect(await run.exitCode).toBe(0);
    const report = await project.report();
    expect(report.memos.added).toEqual(['We use tabs.']);
    expect(report.action_logs[0]?.details).toMatchObject({ answer: 'Blue, please' });
    await project.plan(planOf());
    expect(await project.repo.git('show', 'HEAD:.teddy/sessions/' + report.session + '/02/_context.log')).toContain(
      'Blue, please',
    );
  });

  test('Ctrl-C at a question leaves the plan pending; after an action it reports ABORTED', async () => {
    await openWithPlan(planOf(createAction('one.txt', '1\n'), createAction('two.txt', '2\n')));
    const before = await project.repo.fingerprint();
    const first = inTerminal('session', 'execute');
    await first.play([question, ctrlC]);
    expect(await first.exitCode).toBe(130);
    expect(first.text()).toContain('[INTERRUPTED]');
    expect(await project.repo.fingerprint()).toEqual(before);
    expect(await isPending()).toBe(true);

    const second = inTerminal('session', 'execute');
    await second.play([question, 'y\n'], [question, ctrlC]);
    expect(await second.exitCode).toBe(130);
    const report = await project.report();
    expect(report.run_summary).toMatchObject({ status: 'ABORTED', error: 'interrupted' });
    expect(report.changes.map(({ path }) => path)).toEqual(['one.txt']);
  });

  test('Ctrl-C and the end of input are no answer to a question of a plan: it stays pending, and is asked again', async () => {
    await openWithPlan(planOf('### CHAT_WITH_USER\n\nWhich colour?\n', createAction('a.txt', 'a\n')));
    const before = await project.repo.fingerprint();
    for (const key of [ctrlC, ctrlD]) {
      const run = inTerminal('session', 'execute');
      await run.play([question, 'y\n'], ['Your answer: ', key]);
      expect(await run.exitCode).toBe(130);
      expect(await project.repo.fingerprint()).toEqual(before);
      expect(await isPending()).toBe(true);
    }
    const again = inTerminal('session', 'execute');
    await again.play(
      [question, 'y\n'],
      ['Your answer: ', '\n'],
      // Enter alone was hardly meant.
      ['Your answer: ', '\n'],
      [question, 'q\n'],
    );
    expect(await again.exitCode).toBe(4);
    expect((await project.report()).action_logs[0]?.details).toEqual({ answer: '' });
  });

  test('Ctrl-C, q and the end of input at the question about memos decide nothing', async () => {
    await openWithPlan('# Only memos\n\n## Memos\n\n- [+] We use tabs.\n\n## Action Plan\n\n');
    const before = await project.repo.fingerprint();
    // They are asked about under -y as well.
    for (const [key, ...more] of [[ctrlC, '-y'], ['q\n'], [ctrlD]] as const) {
      const run = inTerminal('session', 'execute', ...more);
      await run.play(['Change these memos? [y,n,q,?] ', key, '[+] We use tabs.']);
      expect(await run.exitCode, JSON.stringify(key)).toBe(130);
      expect(await project.repo.fingerprint()).toEqual(before);
      expect(await isPending()).toBe(true);
    }
  });

  test('the end of input leaves the plan pending before anything was run, and stops the run like q after that', async () => {
    await openWithPlan(
      planOf(createAction('one.txt', '1\n'), createAction('two.txt', '2\n'), createAction('three', '3\n')),
    );
    const before = await project.repo.fingerprint();
    const first = inTerminal('session', 'execute');
    await first.play([question, 'n\n'], [question, ctrlD]);
    expect(await first.exitCode).toBe(130);
    expect(first.text()).toContain('[INTERRUPTED]');
    expect(await project.repo.fingerprint()).toEqual(before);
    expect(await isPending()).toBe(true);

    const second = inTerminal('session', 'execute');
    await second.play([question, 'y\n'], [question, ctrlD]);
    expect(await second.exitCode).toBe(4);
    const report = await project.report();
    expect(report.run_summary).toMatchObject({ status: 'ABORTED', error: 'stopped by the user' });
    expect(report.changes.map(({ path }) => path)).toEqual(['one.txt']);
  });

  test('a run that waits at a question is told as one that goes on', async () => {
    await openWithPlan(createPlan('zero.txt', '0\n'));
    await project.ok('session', 'execute', '-y');
    await project.plan(planOf(createAction('one.txt', '1\n'), createAction('two.txt', '2\n')));
    const run = inTerminal('session', 'execute');
    for (const key of ['y\n', null]) {
      await run.waitFor(question);
      const status = await project.ok('status');
      expect(status).toMatch(/Turn 02 is being executed by process \d+\./);
      expect(status).toContain('Next: teddy show\n');
      if (key !== null) run.press(key);
    }
    run.press(ctrlC);
    await run.exitCode;
    expect(await project.ok('status')).not.toContain('being executed');
  });

  test('Ctrl-C in mid-stream keeps message and partial answer, and the next plan answers the same turn', async () => {
    const answer = createPlan('one.txt', '1\n');
    project = await openMemoryTeddy({
      answers: [`# Slowly\n\n${'word '.repeat(2000)}`, answer],
      chunkDelayMs: 20,
    });
    const session = await project.begin('slow');
    const run = inTerminal('session', 'plan', '-m', 'Hello');
    await run.waitFor('# Slowly');
    await run.play(['word word word', ctrlC]);
    expect(await run.exitCode).toBe(130);
    expect(run.text()).toMatch(/\nwarning: The answer was interrupted; .*\nerror: Interrupted .* \[INTERRUPTED\]\n/);
    const types = async () =>
      (await project.repo.read(`.teddy/sessions/${session}/01/transcript.jsonl`))
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(await types()).toEqual(['user', 'assistant_partial']);
    await project.ok('session', 'plan');
    expect(await types()).toEqual(['user', 'assistant_partial', 'assistant']);
    await project.ok('session', 'execute', '-y');
  });

  test('control characters and bidirectional overrides of a model reach no terminal, streamed or whole', async () => {
    const evil = `# Evil \u001b[2J\u001b]0;owned\u0007 \u202Etxt.exe\n\n## Action Plan\n\n${createAction('a.txt', 'x\u001b[31m\n')}`;
    project = await openMemoryTeddy({ answers: [evil, evil], chunkSize: 3 });
    await project.begin('evil');
    const isClean = (run: TerminalRun, shows = '␛[2J') => {
      for (const evil of ['\u001b[2J', '\u001b]0;', '\u0007', '\u202E', 'x\u001b[31m'])
        expect(run.raw()).not.toContain(evil);
      expect(run.text()).toContain(shows);
    };
    const streamed = inTerminal('session', 'plan', '-m', 'Hello');
    await streamed.play(['[k]eep? ', 'k\n']);
    expect(await streamed.exitCode).toBe(0);
    isClean(streamed);
    const executed = inTerminal('session', 'execute', '-y');
    expect(await executed.exitCode).toBe(0);
    isClean(executed);
    const whole = inTerminal('session', 'plan', '--no-stream', '-m', 'Hello \u001b[2J');
    await whole.play(['[k]eep? ', 'k\n']);
    expect(await whole.exitCode).toBe(0);
    isClean(whole);
    for (const command of ['show', 'log', 'list']) {
      const looked = project.inTerminal(['session', command], { env: { PAGER: 'cat' } });
      expect(await looked.exitCode).toBe(0);
      // Labels of commits have lost theirs already.
      isClean(looked, command === 'show' ? '␛[2J' : '[2J');
    }
  });
});

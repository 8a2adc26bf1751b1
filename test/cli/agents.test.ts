/** Agents: the built-in ones, own ones, who is next, and what a remote may not bring in unseen. */
import { editGlobal } from '../../src/workflow/context/edit-global.ts';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createAction, planOf } from '../support/teddy-project.ts';

let project: MemoryTeddy;

beforeEach(async () => {
  project = await openMemoryTeddy();
});

afterEach(() => project.close());

const invoke = (agent: string) => `### INVOKE\n- **Agent:** \`${agent}\`\n\nGo on with src/app.ts.\n`;
const agentOf = (log: string) => /^agent: (.*)$/m.exec(log)?.[1];
const preview = (...args: string[]) => project.ok('session', 'plan', '-m', 'x', '--dry-run', ...args);

describe('agents', () => {
  test('that come with teddy are chosen by -a, and named by the help and by an error', async () => {
    const names = ['architect', 'debugger', 'dev', 'pathfinder', 'reviewer'];
    await project.begin('agents');
    const help = await project.ok('session', 'plan', '--help');
    for (const name of names) {
      const log = await preview('-a', name);
      expect(agentOf(log)).toBe(name);
      expect(log).toMatch(new RegExp(`^# ${name}$`, 'im'));
      expect(help).toContain(name);
    }
    const said = await project.refuses('UNKNOWN_AGENT', 2, ['session', 'plan', '-m', 'x', '-a', 'nobody', '--dry-run']);
    expect(said).toContain(names.join(', '));
  });

  test('hand over to each other by INVOKE, once the report says so', async () => {
    await editGlobal(project.memory, 'agents/scribe.md', async () => '# Scribe\n\nYou write.\n');
    await project.begin('handed');
    await project.plan(planOf(createAction('a.txt', 'a\n'), invoke('Scribe')));
    await project.ok('session', 'execute', '-y');
    const report = await project.report();
    expect(report.action_logs[1]).toMatchObject({
      action_type: 'INVOKE',
      status: 'SUCCESS',
      params: { agent: 'scribe', text: 'Go on with src/app.ts.' },
    });
    const log = await preview();
    expect(agentOf(log)).toBe('scribe');
    expect(log).toContain('Go on with src/app.ts.');
    expect(agentOf(await preview('-a', 'dev'))).toBe('dev');
    await project.plan(planOf(createAction('b.txt', 'b\n')), 'go on');
    await project.ok('session', 'execute', '-y');
    expect(agentOf(await preview())).toBe('scribe');
  });

  test('that a plan hands over to have to be there', async () => {
    await project.begin('unknown');
    const planned = await project.plan(planOf(invoke('nobody')));
    expect(planned.stderr).toContain('INVOKE nobody: there is no such agent.');
    expect(planned.stderr).toContain('architect, debugger, dev, pathfinder, reviewer');
    expect(await project.run(['session', 'execute', '-y'])).toMatchObject({ exitCode: 1 });
    expect(agentOf(await preview())).toBe('pathfinder');
  });

  test('that a person declines to hand over to are not next', async () => {
    await project.begin('declined');
    await project.plan(planOf(createAction('a.txt', 'a\n'), invoke('dev')));
    const run = project.inTerminal(['session', 'execute']);
    await run.play(['Write this? ', 'y\n'], ['Hand over? ', 'n\n', 'hand over to dev: Go on with src/app.ts.']);
    expect(await run.exitCode).toBe(0);
    expect(agentOf(await preview())).toBe('pathfinder');
  });
});

test('a list of somebody else is shown once at a terminal: no stops, yes goes on and is remembered', async () => {
  project = await openMemoryTeddy();
  const { memory } = project;
  await editGlobal(memory, 'global.context', async () => '.env\n\u001b[31mred\n');
  await project.begin('shared');
  memory.trusted.clear();
  await memory.setRef('refs/remotes/origin/main', await memory.tipOf('main'));
  const question = 'Use them? [y,n,q,?] ';
  const plan = () => project.inTerminal(['session', 'plan', '-m', 'x']);
  const first = plan();
  const shown = await first.waitFor(question);
  expect(shown).toContain('--- global.context on teddy/global');
  expect(shown).toContain('\n.env\n\u241b[31mred\n');
  first.press('what\n');
  await first.play([question, 'n\n']);
  expect(await first.exitCode).toBe(4);
  const second = plan();
  await second.play([question, 'y\n']);
  expect(await second.exitCode).toBe(5);
  expect((await project.run(['session', 'plan'])).stderr).not.toContain('NOT_APPROVED');
});

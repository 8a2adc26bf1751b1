/** Every next step that is printed in a table of states works where it was printed: it is run there, in a copy of the repository. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { findHints, tryCommands } from '../support/check-hints.ts';
import { environmentOf, runTeddy, teddyPath } from '../support/run-teddy.ts';
import {
  createPlan,
  editAction,
  executeAction,
  openTeddyProject,
  planOf,
  type TeddyProject,
} from '../support/teddy-project.ts';

// They are all run here, and not only the first of each kind.
delete process.env['HINTS_SEEN_DIR'];
const opened: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

const pending = createPlan('a.txt', 'a\n');
const run =
  (...args: string[]) =>
  async (project: TeddyProject) =>
    void (await project.run(args));
const plans: Record<string, ((project: TeddyProject) => Promise<unknown>)[]> = {
  none: [],
  planned: [({ plan }) => plan(pending)],
  invalid: [({ plan }) => plan(planOf(editAction('none.txt', 'a', 'b')))],
  ran: [({ plan }) => plan(pending), run('session', 'execute', '-y')],
  failed: [({ plan }) => plan(planOf(executeAction('touch b.txt; false'))), run('session', 'execute', '-y')],
  closed: [({ plan }) => plan('Only words.\n')],
  undone: [({ plan }) => plan(pending), run('session', 'execute', '-y'), run('session', 'undo')],
};
const heads: Record<string, string[][]> = {
  line: [],
  main: [['switch', '-q', 'main']],
  detached: [['switch', '-q', '--detach']],
};
const policies: Record<string, (project: TeddyProject) => Promise<unknown>> = {
  'no policy': () => Promise.resolve(),
  'approval missing': async ({ repo }) => {
    const remote = await mkdtemp(join(tmpdir(), 'teddy-remote-'));
    opened.push(() => rm(remote, { recursive: true, force: true }));
    await repo.git('init', '-q', '--bare', remote);
    await repo.git('remote', 'add', 'origin', remote);
    await repo.git('config', 'teddy.approvals', 'others');
  },
  'approval given': async ({ repo, ok }) => {
    await repo.git('config', 'teddy.approvals', '1');
    await ok('approve');
  },
};
const commands = [
  'status',
  'session plan',
  'session ask',
  'session execute',
  'session undo',
  'approve',
  'session land',
];

interface State {
  name: string;
  cwd: string;
  env: Record<string, string>;
}

async function prepare(plan: string, policy: string, isSide: boolean): Promise<State[]> {
  const project = await openTeddyProject();
  opened.push(() => project.close());
  await project.begin('table');
  if (isSide) {
    await project.plan('First words.\n');
    await project.ok('session', 'rewind', '01');
  }
  for (const step of plans[plan] ?? []) await step(project);
  await policies[policy]?.(project);
  const env = environmentOf(project.env) as Record<string, string>;
  const states = Object.entries(heads)
    .filter(([head]) => head !== 'detached' || plan === 'planned' || plan === 'ran')
    .map(async ([head, moves]) => {
      const directory = await mkdtemp(join(tmpdir(), 'teddy-table-'));
      opened.push(() => rm(directory, { recursive: true, force: true }));
      const cwd = join(directory, 'repo');
      await promisify(execFile)('cp', ['-a', project.repo.root, cwd]);
      for (const move of moves) await project.repo.git('-C', cwd, ...move);
      return { name: [isSide ? 'side' : 'own', head, plan, policy].join(', '), cwd, env };
    });
  return Promise.all(states);
}

async function tryState({ name, cwd, env }: State, tried: string[]): Promise<string[]> {
  const failures: string[] = [];
  for (const command of commands) {
    const { stdout, stderr } = await runTeddy(command.split(' '), { cwd, env });
    for (const { text, alternatives } of findHints(`${stdout}\n${stderr}`)) {
      for (const steps of alternatives) {
        const key = `${name}: ${command}: ${steps.join('; ')}`;
        if (tried.some((one) => one.startsWith(`${name}: `) && one.endsWith(`: ${steps.join('; ')}`))) continue;
        tried.push(key);
        const failure = await tryCommands(teddyPath, { cwd, env, commands: steps });
        // A command that was understood may still find that something has to come before it.
        if (failure !== null && !/: exit code [13]: /.test(failure)) failures.push(`${key}\n${text}\n${failure}`);
      }
    }
  }
  return failures;
}

test('in each state, from where it was printed', { timeout: 300_000 }, async () => {
  const table = [
    ...Object.keys(plans).map((plan) => [plan, 'no policy', false] as const),
    ['planned', 'approval missing', false] as const,
    ['planned', 'approval given', false] as const,
    ['planned', 'no policy', true] as const,
    ['ran', 'no policy', true] as const,
  ];
  const states = (await Promise.all(table.map(([plan, policy, isSide]) => prepare(plan, policy, isSide)))).flat();
  const tried: string[] = [];
  const failures = (await Promise.all(states.map((state) => tryState(state, tried)))).flat();
  console.log(`${states.length} states, ${tried.length} commands`);
  expect(failures).toEqual([]);
});

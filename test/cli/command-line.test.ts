/** The surface that scripts and people rely on: streams, JSON, colours, help, spellings of options. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { internalCommands } from '../../src/cli/arguments.ts';
import { otherWords } from '../../src/cli/command-line.ts';
import { listCommands } from '../../src/cli/run-cli.ts';
import { runTeddy, teddyPath, environmentOf } from '../support/run-teddy.ts';
import { createPlan, openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';
import { quickTest as test, slowTest } from '../support/slow-test.ts';

let project: TeddyProject;
const escape = '\u001b[';
const commands = 'init config new plan execute chat say branch list log show context'.split(' ');

/** Those that `teddy` alone names only by their first word. */
const shared = [
  ...['list', 'add', 'remove'].map((verb) => `memo ${verb}`),
  ...['edit', 'trust'].map((verb) => `global ${verb}`),
];

/** `npm run docs` generates it from the definitions of the commands, and a test fails when it is stale. */
const reference = readFileSync('docs/commands.md', 'utf8');
const paths = [...reference.matchAll(/^### `(teddy(?: [a-z]+)+)/gm)].map(([, path]) => path ?? '');
/** A command with a second word of its own, such as `models update`, is no group. */
const isBelowCommand = (path: string) => paths.includes(path.split(' ').slice(0, 2).join(' '));
const grouped = paths.filter((path) => path.split(' ').length === 3 && !isBelowCommand(path));
const groups = [...new Set(grouped.map((path) => path.split(' ')[1] ?? ''))];
const groupOrder = ['memo', 'global', 'worktree', 'write', 'capture', 'ci', 'hooks'];
const coreLoop = ['new', 'plan', 'execute', 'land'].map((verb) => `teddy ${verb}`);

/** The commands that have a line of their own, in order. */
function namesIn(help: string): string[] {
  return [...help.matchAll(/^ {2}(teddy(?: [a-z]+){1,2})/gm)].map(([, name]) => name ?? '');
}

beforeAll(async () => {
  project = await openTeddyProject();
  await project.begin('surface');
  await project.plan(createPlan('a.txt', 'a\n'));
  await project.ok('session', 'execute', '-y');
});

afterAll(() => project.close());

function shell(script: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = environmentOf({ ...project.env, TEDDY: `${process.execPath} ${teddyPath}` });
  return new Promise((resolve) => {
    const child = execFile('bash', ['-c', script], { cwd: project.repo.root, env }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

describe('help', () => {
  slowTest('each command explains itself on stdout, without colours in a pipe, in 80 columns', async () => {
    for (const command of [...commands, ...shared]) {
      for (const flag of ['--help', '-h']) {
        const { exitCode, stdout, stderr } = await runTeddy([...command.split(' '), flag], { cwd: '/' });
        expect({ exitCode, stderr }, command).toEqual({ exitCode: 0, stderr: '' });
        expect(stdout).toMatch(new RegExp(`^teddy ${command}: [a-z].*\n\nUsage\n  teddy ${command}.* \\[options\\]\n`));
        expect(stdout).not.toContain('\u001b');
        expect(stdout).not.toContain('#0');
        expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
        // A line of the source that begins with a dash ends a paragraph.
        expect(stdout.slice(0, stdout.indexOf('\nOptions')), command).not.toMatch(/[a-z]\n\n[a-z(]/);
      }
    }
  });

  test('each command is found by its whole name, with the usage and the options of the reference', async () => {
    expect(paths).toHaveLength(73);
    const rows = [...reference.matchAll(/^\| (.+?) \| .+ \| (.*) \|$/gm)].map(([, name = '', options = '']) => ({
      usage: name.replaceAll(/`|\\(?=\|)/g, ''),
      options: [...options.matchAll(/`([^`]+)`/g)].map(([, option = '']) => option.replaceAll('\\|', '|')),
    }));
    const common = rows.find(({ usage }) => usage === 'every command')?.options ?? [];
    for (const path of paths) {
      const { stdout } = await runTeddy([...path.split(' ').slice(1), '--help'], { cwd: '/' });
      expect(stdout.slice(0, path.length + 2)).toBe(`${path}: `);
      const usage = /^Usage\n {2}(.+) \[options\]$/m.exec(stdout)?.[1] ?? '';
      const [, listed = ''] = /^Options\n(.*?)(?:\n\n|\n$)/ms.exec(stdout) ?? [];
      const names = [...listed.matchAll(/^ {2,6}(-\S+(?: -\S+)*(?: <\S+>)?)/gm)].map(([, name = '']) => name);
      const own = rows.find((row) => row.usage === usage)?.options ?? [`No row has the usage ${usage}.`];
      expect(names.toSorted(), path).toEqual([...own, ...common].toSorted());
    }
  });

  test('teddy help <command> is its --help, and paragraphs stand apart', async () => {
    const help = await runTeddy(['config', '--help'], { cwd: '/' });
    expect(help.stdout).toContain('it is not set.\n\n`set` checks a value');
    // A line of the source that begins with an option is taken for an item of a list, and ends its paragraph.
    expect(reference.match(/^(?![#|]|```|teddy ).*[a-z,](?=\n\n)/gm)).toBeNull();
    expect(await runTeddy(['help', 'config'], { cwd: '/' })).toEqual(help);
    expect((await runTeddy(['help', 'memo', 'add'], { cwd: '/' })).stdout).toMatch(/^teddy memo add: /);
    expect((await runTeddy(['help', 'memo'], { cwd: '/' })).stdout).toMatch(/^teddy memo: /);
  });

  slowTest('each example of a help text is a command line that is understood', async () => {
    for (const command of [...commands, ...shared]) {
      const { stdout } = await runTeddy([...command.split(' '), '--help'], { cwd: '/' });
      const examples = stdout.slice(stdout.indexOf('Examples')).match(/^ {2}teddy .*$/gm) ?? [];
      expect(examples.length, command).toBeGreaterThan(0);
      // A shell takes them apart: each word ends with a zero byte, and each example with the word of a new line.
      const apart = await shell(["teddy() { printf '%s\\0' \"$@\" $'\\n'; }", ...examples].join('\n'));
      const words = apart.stdout.split('\n\0').map((example) => example.split('\0').slice(0, -1));
      expect(words, apart.stderr).toHaveLength(examples.length + 1);
      for (const [at, example] of examples.entries()) {
        // Outside a repository: an example that is wrong usage is told so before that is noticed.
        const { stderr } = await runTeddy(words[at] ?? [], { cwd: '/' });
        expect(stderr, example).toMatch(/\[(?:NOT_A_REPOSITORY|FILE_NOT_FOUND)\]/);
      }
    }
  });

  test('teddy alone outside a repository, --help, -h and help name at most 15 commands, the core loop first', async () => {
    for (const args of [[], ['--help'], ['-h'], ['help']]) {
      const { exitCode, stdout, stderr } = await runTeddy(args, { cwd: '/' });
      expect({ exitCode, stderr }, args.join(' ')).toEqual({ exitCode: 0, stderr: '' });
      const named = namesIn(stdout);
      expect(named.slice(0, 5)).toEqual([...coreLoop, 'teddy status']);
      expect(named.length).toBeLessThanOrEqual(15);
      for (const name of named) expect(paths).toContain(name);
      for (const more of ['all', 'topics', '<command>', '<group>']) expect(stdout).toContain(`\`teddy help ${more}\``);
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    }
  });

  test('help all lists every command, and the summary names every group', async () => {
    const all = await runTeddy(['help', 'all'], { cwd: '/' });
    expect([...new Set(namesIn(all.stdout))].toSorted()).toEqual(paths.toSorted());
    const { stdout } = await runTeddy(['help'], { cwd: '/' });
    expect(stdout.replaceAll('\n', ' ')).toContain(`commands: session, ${groupOrder.join(', ')}.`);
    expect(groupOrder.toSorted()).toEqual(groups.toSorted());
  });

  test('help topics lists the pages of the documentation, each by the words that print it', async () => {
    const { stdout } = await runTeddy(['help', 'topics'], { cwd: '/' });
    const topics = [...stdout.matchAll(/^ {2}teddy help (\S+)/gm)].map(([, topic = '']) => topic);
    const pages = readdirSync('docs').filter((name) => name.endsWith('.md'));
    expect(topics.map((topic) => topic.replace(/(?:\.md)?$/, '.md'))).toEqual(pages.toSorted());
    for (const topic of topics) {
      const page = readFileSync(`docs/${topic.replace(/\.md$/, '')}.md`, 'utf8');
      const shown = await runTeddy(['help', topic], { cwd: '/' });
      expect(shown.stdout.replaceAll(/\s+/g, ' '), topic).toBe(page.replaceAll(/\s+/g, ' '));
    }
    // A command or a group with the same name wins.
    for (const name of ['review', 'ci', 'plan'])
      expect((await runTeddy(['help', name], { cwd: '/' })).stdout).toMatch(new RegExp(`^teddy ${name}: `));
  });

  test('a group alone, with --help or after help shows its commands, each with a line, and exits 0', async () => {
    expect(groups.toSorted()).toEqual(['capture', 'ci', 'global', 'hooks', 'memo', 'worktree', 'write']);
    const inSessions = (await listCommands()).filter(({ group }) => group === 'session').map(({ path }) => path);
    for (const group of [...groups, 'session']) {
      const help = await runTeddy([group], { cwd: '/' });
      expect({ ...help, stdout: '' }, group).toEqual({ exitCode: 0, signal: null, stdout: '', stderr: '' });
      for (const args of [
        [group, '--help'],
        [group, '-h'],
        ['--help', group],
        ['help', group],
      ])
        expect(await runTeddy(args, { cwd: '/' }), args.join(' ')).toEqual(help);
      expect(help.stdout).toMatch(new RegExp(`^teddy ${group}: [a-z].*\n\n`));
      const paths = group === 'session' ? inSessions : grouped.filter((path) => path.startsWith(`teddy ${group} `));
      expect([...new Set(namesIn(help.stdout))].toSorted()).toEqual(paths.toSorted());
      expect(help.stdout).toContain(
        `\`teddy help ${group === 'session' ? '' : `${group} `}<command>\` explains a command.`,
      );
      expect(help.stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    }
  });

  test('a command for programs explains itself, and no list names it', async () => {
    const inGroup = (await runTeddy(['capture', '--help'], { cwd: '/' })).stdout;
    const offered = (await runTeddy(['complete', '--', 'capture', ''], { cwd: '/' })).stdout;
    expect(offered).toContain('sweep');
    for (const path of internalCommands) {
      const { stdout } = await runTeddy([...path.split(' '), '--help'], { cwd: '/' });
      expect(stdout).toMatch(new RegExp(`^teddy ${path}: [a-z]`));
      const name = path.split(' ').at(-1) ?? '';
      for (const list of [namesIn(inGroup), paths]) expect(list).not.toContain(`teddy ${path}`);
      expect(offered).not.toMatch(new RegExp(`^${name}\\b`, 'm'));
    }
  });

  test('the help of sessions begins with the core loop', async () => {
    const { stdout } = await runTeddy(['session', '--help'], { cwd: '/' });
    expect(namesIn(stdout).slice(0, 4)).toEqual(coreLoop);
  });

  test('--help before the words of a command is the same as after them', async () => {
    const help = await runTeddy(['memo', 'add', '--help'], { cwd: '/' });
    expect(await runTeddy(['--help', 'memo', 'add'], { cwd: '/' })).toEqual(help);
  });

  test('the usage of a command names the options without which it refuses', async () => {
    const values = { '--target': '<file>', '--operation': '<name>', '--intent': '<text>' };
    for (const [verb, options] of [
      ['begin', ['--target', '--operation', '--intent']],
      ['stream', ['--target', '--operation']],
    ] as const) {
      const required = options.map((option) => `${option} ${values[option]}`);
      const { stdout } = await runTeddy(['write', verb, '--help'], { cwd: '/' });
      expect(stdout).toContain(`\nUsage\n  teddy write ${verb} ${required.join(' ')} [options]\n`);
      for (const missing of required) {
        const given = required.filter((option) => option !== missing).flatMap((option) => option.split(' '));
        const { exitCode, stderr } = await runTeddy(['write', verb, ...given], { cwd: '/' });
        expect({ exitCode, stderr }).toEqual({
          exitCode: 2,
          stderr: expect.stringContaining(`\`teddy write ${verb}\` needs ${missing.split(' ')[0]}. [USAGE]`),
        });
      }
    }
  });

  test('every help text writes exit codes in the same way', () => {
    const lists = reference.match(/\bExit codes?:.*/g) ?? [];
    expect(lists.length).toBeGreaterThan(25);
    expect(lists.filter((list) => !/^Exit codes: (?:\d+ [^;]|those )/.test(list) || /\d:/.test(list))).toEqual([]);
  });

  slowTest('teddy --version prints the version', async () => {
    for (const flag of ['--version', '-v']) {
      const { exitCode, stdout } = await runTeddy([flag], { cwd: '/', asProcess: true });
      expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
    }
  });
});

describe('wrong usage', () => {
  slowTest('exits 2, names what is wrong, and points to the help', async () => {
    const wrong: [string[], string, string][] = [
      [['frobnicate'], 'There is no command `teddy frobnicate`.', 'teddy help all'],
      [['session', 'frob', 'x'], 'There is no command `teddy session frob`.', 'teddy help session'],
      [['memo', 'frob'], 'There is no command `teddy memo frob`.', 'teddy help memo'],
      [['help', 'frob'], 'There is no command `teddy frob`.', 'teddy help all'],
      [['memo', '--frob'], 'There is no option --frob.', 'teddy help memo'],
      [['memo', 'add', 'Use', 'pnpm'], '`teddy memo add` does not take "pnpm".', 'Put text with spaces in quotes. '],
      [['memo', 'add', '- tabs'], '`teddy memo add` reads "- tabs" as an option.', 'Put -- before it. '],
      [['session', 'context', '--why', ''], '--why needs a path.', '--why src/app.ts'],
      [['memo', 'add'], 'An argument or option is missing: `teddy memo add <fact>`.', 'teddy memo add --help'],
      [['frob', '--help'], 'There is no command `teddy frob`.', 'teddy help all'],
      [['--frob'], 'There is no option --frob.', 'teddy help all'],
      [['session', 'plan', '--frob'], '`teddy plan` has no option --frob.', 'teddy plan --help'],
      [['session', 'push', '--remote', 'origin'], '`teddy push` has no option --remote.', 'as a separate word'],
      [['session', 'sync', '--remote=x'], '`teddy sync` has no option --remote.', 'as a separate word'],
      [['session', 'list', 'extra'], '`teddy list` does not take "extra".', 'teddy list --help'],
      [['session', 'show', '01', '02'], '`teddy show` does not take "02".', 'teddy show --help'],
      [['session', 'new'], 'An argument or option is missing: `teddy new <name>`.', 'teddy new --help'],
      [['session', 'plan', '-m'], '--message needs a value.', 'teddy plan --help'],
      [['session', 'list', '--color=pink'], '--color does not accept pink.', 'auto, always or never'],
    ];
    for (const [args, message, hint] of wrong) {
      const { exitCode, stdout, stderr } = await runTeddy(args, { cwd: project.repo.root });
      expect({ exitCode, stdout }, args.join(' ')).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain(`error: ${message} [USAGE]\nhint:  `);
      expect(stderr).toContain(hint);
    }
  });
});

slowTest('a command that is nearly there is offered, and none that is far', async () => {
  const offered = async (...args: string[]) =>
    /Did you mean `(.*?)`\?/.exec((await runTeddy(args, { cwd: project.repo.root })).stderr)?.[1];
  expect(await offered('sweep')).toBe('teddy capture sweep');
  expect(await offered('lsit')).toBe('teddy list');
  expect(await offered('nwe')).toBe('teddy new');
  expect(await offered('lst')).toBe('teddy list');
  expect(await offered('stauts')).toBe('teddy status');
  expect(await offered('session', 'pln')).toBe('teddy plan');
  expect(await offered('session', 'exec')).toBe('teddy execute');
  expect(await offered('session', 'excute', '-y')).toBe('teddy execute');
  expect(await offered('sesion', 'list')).toBe('teddy session');
  expect(await offered('memo', 'lst')).toBe('teddy memo list');
  for (const far of [['frobnicate'], ['session', 'frob'], ['memo', '--frob']])
    expect(await offered(...far), far.join(' ')).toBeUndefined();
});

slowTest('a word that people type for a command is understood, also in a group and after session', async () => {
  const hints = async (...args: string[]) =>
    /Did you mean `(.*?)`\?/.exec((await runTeddy(args, { cwd: '/' })).stderr)?.[1];
  for (const [typed, meant] of [
    ['revert', 'undo'],
    ['merge', 'land'],
    ['commit', 'land'],
    ['apply', 'execute'],
    ['start', 'new'],
    ['checkout', 'new'],
    ['remove', 'delete'],
    ['setup', 'init'],
    ['tutorial', 'help tour'],
    ['docs', 'help topics'],
    ['version', '--version'],
    ['memo new', 'memo add'],
    ['memo rm', 'memo remove'],
    ['capture remove', 'capture uninstall'],
    ['write abort', 'write cancel'],
    ['session revert', 'undo'],
  ] as const)
    expect(await hints(...typed.split(' ')), typed).toBe(`teddy ${meant}`);
  const words = new Set(paths.flatMap((path) => path.split(' ')));
  for (const name of Object.keys(otherWords))
    if (!name.startsWith('-')) expect(words, name).toContain(name.split(' ')[0]);
});

test('a short form is the command of session by the same name: its result, its help and its errors', async () => {
  const run = (words: string) => runTeddy(words.split(' '), { cwd: project.repo.root });
  for (const [short, whole] of [
    ['list --json', 'session list --json'],
    ['ls --json', 'session list --json'],
    ['session ls --json', 'session list --json'],
    ['--json log', 'session log --json'],
    ['st --json', 'status --json'],
    ['session status --json', 'status --json'],
    ['run --help', 'session execute --help'],
    ['help new', 'session new --help'],
    ['plan --nothing', 'session plan --nothing'],
    ['show 09 --json', 'session show 09 --json'],
  ] as const)
    expect(await run(short), short).toEqual(await run(whole));
});

describe('spellings of options', () => {
  const messageOf = async (...args: string[]) => {
    const log = await project.ok('session', 'plan', '--dry-run', ...args);
    return /<!-- teddy-\S+ message -->\n([^]*?)\n?$/.exec(log)?.[1];
  };

  slowTest('-m takes its value in every way, also one that looks like an option or has lines', async () => {
    expect(await messageOf('-m', 'hello')).toBe('hello');
    expect(await messageOf('-mhello')).toBe('hello');
    expect(await messageOf('--message=hello')).toBe('hello');
    expect(await messageOf('--message', 'hello')).toBe('hello');
    expect(await messageOf('-m', '-x --json')).toBe('-x --json');
    expect(await messageOf('-m', '--help')).toBe('--help');
    expect(await messageOf('-m', '--')).toBe('--');
    expect(await messageOf('-m', 'one\ntwo\n\nthree')).toBe('one\ntwo\n\nthree');
    expect(await messageOf('-m', 'a=b=c')).toBe('a=b=c');
  });
});

describe('streams', () => {
  slowTest('results go to stdout and everything else to stderr', async () => {
    const log = await project.run(['session', 'log']);
    expect(log.stdout.split('\n')[0]).toMatch(/^[0-9a-f]{10} \d{4}-\d\d-\d\d \d\d:\d\d turn 01 report/);
    expect(log.stderr).toMatch(/surface/);
    const refused = await project.run(['session', 'execute', '-y']);
    expect(refused.stdout).toBe('');
    expect(refused.stderr).toMatch(/^error: .* \[NO_PENDING_PLAN\]\nhint: {2}.*\n$/);
  });

  slowTest('--json prints one document with a schema, also for errors', async () => {
    const runs: [string[], string, number][] = [
      [['session', 'list'], 'teddy.session-list/1', 0],
      [['session', 'log'], 'teddy.session-log/1', 0],
      [['session', 'show'], 'teddy.session-show/1', 0],
      [['init'], 'teddy.init/1', 0],
      [['session', 'plan', '-m', 'x', '--dry-run'], 'teddy.plan-preview/1', 0],
      [['session', 'show', '99'], 'teddy.error/1', 2],
      [['session', 'execute', '-y'], 'teddy.error/1', 3],
      [['session', 'frob'], 'teddy.error/1', 2],
      [['session', 'list', '--frob'], 'teddy.error/1', 2],
    ];
    for (const [args, schema, code] of runs) {
      const { exitCode, stdout } = await project.run([...args, '--json']);
      expect(exitCode, args.join(' ')).toBe(code);
      expect(JSON.parse(stdout)).toMatchObject({ schema });
      if (code !== 0)
        expect(JSON.parse(stdout)).toMatchObject({ error: { code: expect.any(String), hint: expect.any(String) } });
    }
  });

  test.each([
    ['--json', 'session', 'list'],
    ['session', 'list', '--json'],
  ])('an option may stand before and after the name of a command: %s %s %s', async (...args) => {
    expect(JSON.parse(await project.ok(...args))).toMatchObject({ schema: 'teddy.session-list/1' });
  });

  slowTest('new, plan, execute and branch print one JSON document each', async () => {
    const other = await openTeddyProject({ answers: [createPlan('a.txt', 'a\n'), createPlan('b.txt', 'b\n')] });
    const json = async (...args: string[]) => JSON.parse(await other.ok(...args, '--json')) as Record<string, unknown>;
    try {
      const made = await json('session', 'new', 'as-json');
      expect(made).toMatchObject({ schema: 'teddy.session-new/1', switched: true });
      const session = String(made['session']);
      expect(made).toMatchObject({ line: `teddy/${session}`, directory: `.teddy/sessions/${session}` });
      expect(await json('session', 'plan', '-m', 'x')).toMatchObject({
        schema: 'teddy.plan/1',
        turn: '01',
        entry: 'plan',
        text: createPlan('a.txt', 'a\n'),
        actions: 1,
        problems: [],
      });
      expect(await json('session', 'execute', '-y')).toMatchObject({ schema: 'teddy.execute/1', status: 'SUCCESS' });
      expect(await json('session', 'branch', '01', '--no-switch')).toMatchObject({
        schema: 'teddy.session-branch/1',
        line: `teddy/${session}--01-branch-01`,
        turn: '01-branch-01',
        switched: false,
      });
      expect(await json('session', 'branch', '01', '-m', 'y')).toMatchObject({
        schema: 'teddy.plan/1',
        line: `teddy/${session}--01-branch-02`,
        turn: '01-branch-02',
      });
    } finally {
      await other.close();
    }
  });

  slowTest('there are no colours in a pipe unless somebody asks for them', async () => {
    const log = (args: string[], env: Record<string, string> = {}) =>
      project.run(['session', 'log', ...args], { env }).then(({ stdout }) => stdout.includes(escape));
    expect(await log([])).toBe(false);
    expect(await log(['--color'])).toBe(true);
    expect(await log(['--color=always'])).toBe(true);
    expect(await log(['--no-color'], { FORCE_COLOR: '1' })).toBe(false);
    expect(await log(['--color=never'], { FORCE_COLOR: '1' })).toBe(false);
    expect(await log([], { FORCE_COLOR: '1' })).toBe(true);
    expect(await log([], { FORCE_COLOR: '0' })).toBe(false);
    expect(await log([], { FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(false);
    const help = await runTeddy(['session', 'log', '--help'], { cwd: '/', env: { FORCE_COLOR: '1' } });
    expect(help.stdout).toContain(escape);
  });

  slowTest('a reader that leaves early is no failure, and an execution does not stop for it', async () => {
    const log = await shell('$TEDDY session log | head -c 1; echo "${PIPESTATUS[0]}" >&2');
    expect(log).toMatchObject({ stdout: expect.stringMatching(/^[0-9a-f]$/), stderr: expect.stringMatching(/\n0\n$/) });

    const lines = Array.from(
      { length: 3 },
      (_, n) => `### EXECUTE\n- Description: ${n}\n\n\`\`\`\nseq 1 20000; sleep 0.1\n\`\`\`\n`,
    );
    await project.plan(`# Loud\n\n## Action Plan\n\n${lines.join('\n')}`);
    await shell('$TEDDY session execute -y 2>&1 | head -1');
    expect((await project.report()).run_summary.status).toBe('SUCCESS');
  });

  slowTest('control characters of a plan or a file are made visible in a pipe as well', async () => {
    const evil = `# Evil \u001b[2J\u202E\n\n## Message\n\nsee \u0007\u009b31m\n`;
    const planned = await project.plan(evil, 'Hello \u001b[2J');
    const shown = await project.run(['session', 'show']);
    for (const { stdout, stderr } of [planned, shown]) {
      for (const evil of ['\u001b', '\u0007', '\u009b', '\u202E']) expect(stdout + stderr).not.toContain(evil);
      expect(stdout).toContain('␛[2J<U+202E>');
    }
    const session = await project.run(['session', 'show', '-s', '\u001b[31mred']);
    expect(session.stderr).not.toContain('\u001b');
  });

  slowTest('TEDDY_DEBUG=1 tells the git commands with their times on stderr', async () => {
    const { stdout, stderr } = await project.run(['session', 'log'], { env: { TEDDY_DEBUG: '1' } });
    expect(stderr).toMatch(/git .*\d+(?:\.\d+)? ?ms/);
    expect(stdout).toBe(await project.ok('session', 'log'));
  });
});

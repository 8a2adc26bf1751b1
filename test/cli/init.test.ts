/** `teddy init` as a person and a script use it: questions, defaults, looking first, and taking it away. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { globalRef } from '../../src/names.ts';
import { openMemoryTeddy, type MemoryTeddy } from '../support/memory-teddy.ts';

let project: MemoryTeddy;
/** No agent is installed there. */
const env = { HOME: '/nonexistent' };

beforeEach(async () => {
  project = await openMemoryTeddy();
  await project.repo.git('config', 'remote.origin.url', 'git@github.com:a/b.git');
});
afterEach(() => project.close());

const init = (...words: string[]) => project.run(['init', ...words], { env });
const read = (path: string) => project.memory.read(path);

test('without a terminal it only prints what it would do; --yes does it, and again there is nothing to do', async () => {
  const said = await project.refuses('NOT_APPROVED', 4, ['init', '--only', 'global,mcp'], { env });
  expect(said).toContain('creates the branch teddy/global');
  expect(said).toContain('creates .mcp.json');
  expect(said).toMatch(/^hint: .*`teddy init --only global,mcp --yes`.*`teddy init --only global,mcp --dry-run`/m);
  const done = await init('--yes');
  expect(done).toMatchObject({ exitCode: 0 });
  expect(done.stdout).toContain('hooks    done: creates 5 files in /repo/.git/hooks');
  expect(done.stderr).toContain('replace the placeholder in .github/workflows/teddy.yml:');
  expect(await read('.claude/skills/teddy/SKILL.md')).toContain('name: teddy');
  expect(await read('AGENTS.md')).toBeNull();
  const before = await project.repo.fingerprint();
  expect((await init('--yes')).stdout).toBe('Nothing to do. `teddy init --dry-run` lists the parts.\n');
  expect((await init()).stdout).toContain('Nothing to do.');
  // An offer that was declined is not made again.
  const run = project.inTerminal(['init'], { env });
  expect(await run.exitCode).toBe(0);
  expect(run.text()).toContain('Nothing to do.');
  expect(run.text()).not.toContain('[y/N]');
  expect(await project.repo.fingerprint()).toEqual(before);
});

test('--dry-run prints files and diffs, --json the list, and neither changes anything', async () => {
  project.memory.secrets.set('hunter2', 'password');
  await project.memory.write({ 'AGENTS.md': 'Log in with hunter2.\n' });
  const before = await project.repo.fingerprint();
  const { stdout } = await init('--dry-run');
  expect(stdout).toContain(' Log in with [masked: password].\n');
  expect(stdout).toMatch(/^model {4}set up: teddy\.model is gpt-test\.\n/m);
  expect(stdout).toMatch(/^capture {2}not here: No agent that teddy can capture is installed here\.\n/m);
  expect(stdout).toContain('--- /dev/null\n+++ b/.mcp.json\n@@ -0,0 +1,10 @@\n+{\n+  "mcpServers": {');
  expect(stdout).toContain('a line of AGENTS.md: changes AGENTS.md.');
  const listed = JSON.parse((await init('--json', '--only', 'mcp')).stdout) as object;
  expect(listed).toMatchObject({
    schema: 'teddy.init/1',
    removal: false,
    parts: [
      {
        name: 'mcp',
        state: 'missing',
        steps: [{ isUsual: true, isDone: false, changes: [{ path: '.mcp.json', change: 'creates' }] }],
        error: null,
      },
    ],
  });
  expect(await project.repo.fingerprint()).toEqual(before);
});

test('at a terminal it asks about each part with what it writes, default first, and does what is accepted', async () => {
  await project.memory.write({ '.mcp.json': '{}\n' });
  const run = project.inTerminal(['init', '--only', 'global,mcp,skill'], { env });
  await run.waitFor('global   Prepare what all sessions share? It creates the branch teddy/global');
  await run.waitFor('[Y/n] ');
  run.press('n\r');
  await run.waitFor('search its sessions over MCP? It changes .mcp.json. [Y/n] ');
  run.press('\r');
  await run.waitFor('done: changes .mcp.json');
  await run.waitFor('It creates .claude/skills/teddy/SKILL.md. [Y/n] ');
  run.press('n\r');
  await run.waitFor('in a line of AGENTS.md? It creates AGENTS.md. [y/N] ');
  run.press('\r');
  expect(await run.exitCode).toBe(0);
  expect(await read('.mcp.json')).toContain('"teddy"');
  expect([await read('AGENTS.md'), await read('.claude/skills/teddy/SKILL.md')]).toEqual([null, null]);
  expect(await project.memory.repository.store.resolve(globalRef)).toBeNull();
});

test('--remove asks too, and takes everything away again', async () => {
  await project.memory.write({ 'AGENTS.md': '# Agents', '.mcp.json': '{"mcpServers":{"x":{"command":"x"}}}' });
  const before = await project.repo.fingerprint();
  await init('--yes');
  expect(await read('AGENTS.md')).toContain('teddy search');
  await project.refuses('NOT_APPROVED', 4, ['init', '--remove'], { env });
  const run = project.inTerminal(['init', '--remove', '--only', 'mcp'], { env });
  await run.waitFor("mcp      Remove teddy's MCP server? It changes .mcp.json. [Y/n] ");
  run.press('n\r');
  expect(await run.exitCode).toBe(0);
  expect(run.text()).toContain('Nothing was changed.');
  expect(await init('--remove', '--yes')).toMatchObject({ exitCode: 0 });
  expect(await project.repo.fingerprint()).toEqual(before);
  expect(project.memory.hooked.files.size).toBe(0);
});

test('Ctrl-C at a question says how to go on with what was begun', async () => {
  await init('--yes', '--only', 'global');
  const run = project.inTerminal(['init', '--remove'], { env });
  await run.waitFor('[Y/n] ');
  run.press('\u0003');
  expect(await run.exitCode).toBe(130);
  expect(run.text()).toContain('What was done stays. `teddy init --remove` asks about the rest.');
});

test('an unknown part is refused; a file in the way is reported, stays, and does not stop the rest', async () => {
  expect(await project.refuses('USAGE', 2, ['init', '--only', 'skil'], { env })).toContain('Is it skill?');
  await project.memory.write({ '.mcp.json': '{ "teddy": ' });
  const told = JSON.parse((await init('--yes', '--only', 'mcp', '--json')).stdout) as object;
  expect(told).toMatchObject({ failures: [{ code: 'FILES_IN_THE_WAY' }] });
  const failed = await init('--yes', '--only', 'mcp,skill');
  expect(failed).toMatchObject({ exitCode: 3 });
  expect(failed.stderr).toMatch(/^error: \.mcp\.json was not changed: it is not JSON\. \[FILES_IN_THE_WAY\]\nhint: /m);
  expect(await read('.mcp.json')).toBe('{ "teddy": ');
  expect(await read('.claude/skills/teddy/SKILL.md')).toContain('name: teddy');
});

test('the doctor names the repair of a damaged part, and is quiet about those that nobody set up', async () => {
  const quiet = await project.run(['doctor'], { env });
  expect(quiet.stdout).not.toContain('setup');
  await init('--yes', '--only', 'ci');
  await project.memory.write({ '.github/workflows/teddy-comment.yml': null });
  const { exitCode, stdout } = await project.run(['doctor'], { env });
  expect(exitCode).toBe(1);
  expect(stdout).toContain(
    'found  setup  ci\n       Some of its files are missing.\n       Run `teddy init --only ci`.\n',
  );
});

/** `teddy capture install`, `status` and `uninstall` with a home of their own: what else is in an agent's files stays. */
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runTeddy } from '../support/run-teddy.ts';
import { makeScratchRepository, type ScratchRepository } from '../support/scratch-repository.ts';

let home: string;
let repo: ScratchRepository;

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'teddy-capture-')));
  repo = await makeScratchRepository();
});
afterEach(async () => {
  await repo.close();
  await rm(home, { recursive: true });
});

const data = () => join(home, '.local/share/teddy');
const inHome = (...path: string[]) => join(home, ...path);
async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(inHome(path)), { recursive: true });
  await writeFile(inHome(path), text);
}
const read = (path: string) => readFile(inHome(path), 'utf8');

/** An agent on the PATH, wherever the home is. */
async function putCodexOnPath(): Promise<void> {
  await put('bin/codex', '#!/bin/sh\n');
  await chmod(inHome('bin/codex'), 0o755);
}

/** No agent of the machine's is on the PATH. */
const env = () => ({
  HOME: home,
  XDG_DATA_HOME: undefined,
  XDG_CONFIG_HOME: undefined,
  CLAUDE_CONFIG_DIR: undefined,
  CODEX_HOME: undefined,
  PI_CODING_AGENT_DIR: undefined,
  PATH: `${inHome('bin')}:/usr/bin:/bin`,
});
const run = (...words: string[]) => runTeddy(['capture', ...words], { cwd: repo.root, env: env() });

interface Status {
  captured: boolean;
  paused: boolean;
  script: { state: string };
  warnings: string[];
  agents: {
    name: string;
    found: boolean;
    hooks: string;
    trusted: boolean | null;
    sessions: number;
    lastBell: unknown;
  }[];
}
const readStatus = async () => JSON.parse((await run('status', '--json')).stdout) as Status;
const hooksOf = async (name: string) => (await readStatus()).agents.find((agent) => agent.name === name)?.hooks;

/** Path and content of all files of the home, but for what git and the tests of hints keep there. */
async function listHome(): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const entry of await readdir(home, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) files[path] = await readFile(path, 'latin1');
  }
  return files;
}

const claudeSettings = `{
    // Mine: it stays.
    "model": "opus",
    "hooks": {
        "Stop": [
            { "matcher": "", "hooks": [ { "type": "command", "command": "say done" } ] }
        ]
    }, // and so does this
}
`;

async function putAll(): Promise<void> {
  await put('.claude/settings.json', claudeSettings);
  await put('.codex/config.toml', 'model = "gpt-5"\n');
  await put('.gemini/settings.json', '{"ui":{"theme":"dark"}}');
  await put('.copilot/config.json', '{}');
  await put('.qwen/settings.json', '\uFEFF{\r\n\t"a": 1\r\n}');
  await put('.config/opencode/opencode.json', '{}');
  await put('.pi/agent/settings.json', '{}');
}

test('every agent gets its hooks, and uninstalling restores every file to the byte', async () => {
  await putAll();
  const [before, repository] = [await listHome(), await repo.fingerprint()];
  const installed = await run('install', '--yes', '--json');
  expect(installed.exitCode).toBe(0);
  const { agents } = JSON.parse(installed.stdout) as { agents: { name: string; outcome: string }[] };
  expect(agents.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual(
    ['claude-code', 'codex', 'gemini', 'opencode', 'copilot', 'qwen', 'pi'].map((name) => `${name} installed`),
  );
  const claude = await read('.claude/settings.json');
  for (const line of claudeSettings.trimEnd().split('\n')) expect(claude).toContain(line.replace(/,$/, ''));
  const command = JSON.stringify(
    'sh "$' + '{XDG_DATA_HOME:-$HOME/.local/share}/teddy/agent-hook" claude-code 2>/dev/null || :',
  );
  expect(claude.split(command)).toHaveLength(8);
  expect(await read('.codex/config.toml')).toBe('model = "gpt-5"\n');
  expect(await read('.gemini/settings.json')).toContain('"timeout":10000');
  expect((await stat(join(data(), 'agent-hook'))).mode & 0o111).not.toBe(0);
  const { agents: listed, captured, script } = await readStatus();
  expect([captured, script.state]).toEqual([true, 'installed']);
  expect(new Set(listed.map(({ hooks }) => hooks))).toEqual(new Set(['installed']));
  expect(await repo.git('config', '--local', 'teddy.capture')).toBe('true');
  // A second time there is nothing to do.
  const again = await listHome();
  expect((await run('install', '-y')).exitCode).toBe(0);
  expect(await listHome()).toEqual(again);

  expect((await run('uninstall', '--all')).exitCode).toBe(0);
  expect(await listHome()).toEqual(before);
  await expect(stat(data())).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await repo.fingerprint()).toEqual(repository);
  expect((await readStatus()).captured).toBe(false);
});

test('a file that was changed since keeps the change, and loses only the hooks', async () => {
  await putAll();
  await run('install', '--yes');
  const claude = (await read('.claude/settings.json')).replace('opus', 'sonnet');
  await put('.claude/settings.json', claude);
  const { stdout } = await run('uninstall', '--agent', 'claude-code', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ agents: [{ name: 'claude-code', outcome: 'removed' }], stopped: false });
  expect(await read('.claude/settings.json')).toBe(claudeSettings.replace('opus', 'sonnet'));
  expect(await hooksOf('codex')).toBe('installed');
  expect((await readStatus()).captured).toBe(true);
});

test('uninstalling in one repository leaves the hooks to others, and says so', async () => {
  await put('.codex/config.toml', '');
  await run('install', '-y');
  const { stderr, exitCode } = await run('uninstall');
  expect(exitCode).toBe(0);
  expect(stderr).toContain('The hooks of Codex stay for other repositories');
  expect(await hooksOf('codex')).toBe('installed');
  expect(await repo.gitSucceeds('config', '--local', 'teddy.capture')).toBe(false);
  await expect(stat(join(repo.root, '.git/teddy/spool'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('what was noted and not read is kept, and is there again after the next installation', async () => {
  await put('.codex/config.toml', '');
  await run('install', '-y');
  const spool = join(repo.root, '.git/teddy/spool');
  await writeFile(join(spool, 'codex.jsonl'), 'noted\n');
  expect((await run('uninstall')).stderr).toContain('spool.kept');
  expect((await run('install', '-y')).exitCode).toBe(0);
  expect(await readFile(join(spool, 'codex.jsonl'), 'utf8')).toBe('noted\n');
});

test('without a terminal nothing is installed unless it is said', async () => {
  await put('.claude/settings.json', claudeSettings);
  await putCodexOnPath();
  const before = await listHome();
  const { exitCode, stderr } = await run('install');
  expect(stderr).toContain(inHome('.codex/hooks.json'));
  expect(exitCode).toBe(4);
  expect(stderr).toContain(inHome('.claude/settings.json'));
  expect(stderr).toContain('teddy capture install --yes');
  expect(await listHome()).toEqual(before);
  expect((await readStatus()).captured).toBe(false);
});

test.each([
  ['no JSON', 'not json at all', /is not JSON/],
  ['no object', '[]', /is JSON, but not an object/],
  ['hooks in another form', '{"hooks": {"Stop": {"a": 1}}}', /"Stop" in its "hooks" that is not a list/],
])('a file with %s stays as it is, and the others are installed', async (_, text, reason) => {
  await put('.claude/settings.json', text);
  await put('.codex/config.toml', '');
  const { exitCode, stderr } = await run('install', '--yes');
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(reason);
  expect(await read('.claude/settings.json')).toBe(text);
  expect(await hooksOf('codex')).toBe('installed');
  expect(await hooksOf('claude-code')).toBe('unknown');
});

test('a read-only file stays as it is', async () => {
  await put('.claude/settings.json', '{}');
  await chmod(inHome('.claude/settings.json'), 0o444);
  const { exitCode, stderr } = await run('install', '--yes');
  expect(exitCode).toBe(3);
  expect(stderr).toContain('read-only');
  expect(await read('.claude/settings.json')).toBe('{}');
  // There is nothing of ours to remove.
  expect((await run('uninstall', '--all')).exitCode).toBe(0);
  await chmod(inHome('.claude/settings.json'), 0o644);
  await run('install', '--yes');
  await chmod(inHome('.claude/settings.json'), 0o444);
  expect((await run('install', '--yes')).exitCode).toBe(0);
  expect((await run('uninstall', '--all')).exitCode).toBe(3);
  expect(await hooksOf('claude-code')).toBe('installed');
});

test('a link stays a link, and the mode of a file stays', async () => {
  await put('dotfiles/claude.json', '{}\n');
  await chmod(inHome('dotfiles/claude.json'), 0o640);
  await mkdir(inHome('.claude'));
  await symlink('../dotfiles/claude.json', inHome('.claude/settings.json'));
  await run('install', '--yes');
  expect(await hooksOf('claude-code')).toBe('installed');
  expect(await read('dotfiles/claude.json')).toContain('agent-hook');
  expect((await stat(inHome('dotfiles/claude.json'))).mode & 0o777).toBe(0o640);
  await run('uninstall', '--all');
  expect(await read('.claude/settings.json')).toBe('{}\n');
});

test('a plugin of the same name that is somebody’s stays', async () => {
  await put('.config/opencode/plugin/teddy.js', 'export const Mine = 1;\n');
  expect((await run('install', '--yes')).exitCode).toBe(3);
  expect(await read('.config/opencode/plugin/teddy.js')).toBe('export const Mine = 1;\n');
  expect((await run('uninstall', '--all')).exitCode).toBe(0);
  expect(await read('.config/opencode/plugin/teddy.js')).toBe('export const Mine = 1;\n');
});

test('packages of the user’s beside opencode’s plugins stay as they are', async () => {
  await put('.config/opencode/package.json', '{"dependencies":{"mine":"1.0.0"}}');
  await run('install', '--yes');
  expect((await readdir(inHome('.config/opencode'))).toSorted()).toEqual(['package.json', 'plugin']);
  await run('uninstall', '--all');
  expect(await read('.config/opencode/package.json')).toBe('{"dependencies":{"mine":"1.0.0"}}');
});

test('Codex is told apart by what its user has trusted', async () => {
  await put('.codex/config.toml', '');
  const { stderr } = await run('install', '--yes');
  expect(stderr).toContain('answer `/hooks` once');
  expect((await readStatus()).warnings).toContainEqual(expect.stringContaining('Codex does not run the hooks'));
  const notes = ['session_start', 'user_prompt_submit', 'stop', 'interrupt', 'session_end'].map(
    (event) =>
      `[hooks.state."${inHome('.codex/hooks.json')}:${event}:0:0"]\nenabled = true\ntrusted_hash = "sha256:ab"\n`,
  );
  await put('.codex/config.toml', notes.slice(1).join(''));
  expect((await readStatus()).agents.find(({ name }) => name === 'codex')?.trusted).toBe(false);
  await put('.codex/config.toml', notes.join(''));
  expect((await readStatus()).agents.find(({ name }) => name === 'codex')?.trusted).toBe(true);
  expect(await readStatus()).toMatchObject({ warnings: [] });
  expect(await read('.codex/config.toml')).toBe(notes.join(''));
});

test('status and doctor say what is wrong, each with its way out', async () => {
  await put('.claude/settings.json', '{}');
  await run('install', '--yes');
  const doctor = async () =>
    (
      JSON.parse((await runTeddy(['doctor', '--json'], { cwd: repo.root, env: env() })).stdout) as {
        findings: { kind: string; meaning: string }[];
      }
    ).findings.map(({ kind, meaning }) => `${kind}: ${meaning}`);
  expect(await doctor()).toEqual([]);
  const script = await readFile(join(data(), 'agent-hook'), 'utf8');
  await writeFile(join(data(), 'agent-hook'), script.replace(/^node=.*$/m, 'node=/gone/node main=/gone/main.js'));
  expect((await readStatus()).script.state).toBe('broken');
  expect(await doctor()).toEqual([expect.stringContaining("capture: The program that the agents' hooks start")]);
  await rm(join(data(), 'agent-hook'));
  expect((await readStatus()).warnings).toEqual([expect.stringContaining('is missing')]);
  expect(await doctor()).toEqual([expect.stringContaining('capture: The script')]);
  await run('install', '--yes');
  const settings = JSON.parse(await read('.claude/settings.json')) as { hooks: Record<string, unknown> };
  delete settings.hooks['Stop'];
  await put('.claude/settings.json', JSON.stringify({ ...settings, disableAllHooks: true }));
  expect(await hooksOf('claude-code')).toBe('changed');
  expect((await readStatus()).warnings).toHaveLength(2);
  await run('install', '--yes');
  expect(await hooksOf('claude-code')).toBe('installed');
  await rm(join(repo.root, '.git/teddy/spool'), { recursive: true });
  expect(await doctor()).toContainEqual(expect.stringContaining('the spool is missing'));
  const logs = inHome('.claude/projects', repo.root.replace(/[^A-Za-z0-9]/g, '-'));
  await run('install', '--yes');
  await mkdir(logs, { recursive: true });
  const line = {
    type: 'user',
    uuid: 'u1',
    sessionId: 'a',
    cwd: repo.root,
    message: { role: 'user', content: 'Hello' },
  };
  await writeFile(join(logs, 'a.jsonl'), `${JSON.stringify(line)}\n`);
  expect((await readStatus()).warnings.join('\n')).not.toContain('never called');
  const later = new Date(Date.now() + 3_600_000);
  await utimes(join(logs, 'a.jsonl'), later, later);
  expect((await readStatus()).warnings.join('\n')).toContain('its hooks have never called');
});

test('what waits without a drainer is told', async () => {
  await put('.claude/settings.json', '{}');
  await run('install', '--yes');
  const noted = join(repo.root, '.git/teddy/spool/claude-code.jsonl');
  await writeFile(noted, 'noted\n');
  expect((await readStatus()).warnings).toEqual([]);
  await utimes(noted, new Date(Date.now() - 120_000), new Date(Date.now() - 120_000));
  expect((await readStatus()).warnings).toEqual([expect.stringContaining('teddy capture sweep')]);
  expect((await run('sweep')).exitCode).toBe(0);
  expect((await readStatus()).warnings.join('\n')).not.toContain('nothing is reading them');
});

test('a pause and a drain are only for a repository that is captured', async () => {
  await putCodexOnPath();
  for (const command of ['pause', 'drain']) {
    const { exitCode, stderr } = await run(command);
    expect([exitCode, stderr]).toEqual([3, expect.stringContaining('[NOT_CAPTURED]')]);
  }
  await put('.claude/settings.json', '{}');
  await run('install', '--yes');
  expect((await run('pause')).exitCode).toBe(0);
  expect((await readStatus()).paused).toBe(true);
  const teddyStatus = () => runTeddy(['status'], { cwd: repo.root, env: env() });
  expect((await teddyStatus()).stdout).toContain('Capturing other agents is paused: `teddy capture resume`.\n');
  expect((await run('resume')).exitCode).toBe(0);
  expect((await teddyStatus()).stdout).not.toContain('paused');
  expect((await readStatus()).paused).toBe(false);
});

test('bad input is refused, and nothing has changed', async () => {
  for (const [words, code] of [
    [['install', '--yes'], 'UNKNOWN_AGENT'],
    [['install', '--yes', '--agent', 'cursor'], 'UNKNOWN_AGENT'],
    [['uninstall', '--all', '--agent', 'codex'], 'USAGE'],
  ] as const) {
    const { exitCode, stderr } = await run(...words);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`[${code}]`)]);
  }
  expect(await listHome()).toEqual({});
  const outside = await runTeddy(['capture', 'uninstall'], { cwd: home, env: env() });
  expect(outside.stderr).toContain('[NOT_A_REPOSITORY]');
  expect((await runTeddy(['capture', 'uninstall', '--all'], { cwd: home, env: env() })).exitCode).toBe(0);
});

test('says where plans wait, and where they do so no more', async () => {
  const agent = ['--agent', 'claude-code', '--yes'];
  const gated = await run('install', '--gate', ...agent);
  expect(gated.stderr).toContain("Claude Code's plans now wait for a verdict here");
  expect((await run('status')).stdout).toContain('hooks installed, plans wait for a verdict');
  expect((await run('install', '--no-gate', ...agent)).stderr).not.toContain("Claude Code's plans");
  expect((await run('status')).stdout).not.toContain('plans wait');
});

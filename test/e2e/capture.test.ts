/** `teddy capture install`, `status` and `uninstall` with a home of their own: what else is in an agent's files stays. */
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
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

/** Returns stderr. */
async function expectRefused(exitCode: number, code: string, ...words: string[]): Promise<string> {
  const refused = await run(...words);
  expect(refused).toMatchObject({ exitCode, stderr: expect.stringContaining(`[${code}]`) as string });
  return refused.stderr;
}

interface Status {
  captured: boolean;
  paused: boolean;
  script: { state: string };
  warnings: string[];
  agents: { name: string; hooks: string; trusted: boolean | null }[];
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
  await put('.gemini/config/hooks.json', '{\n  "mine": { "Stop": [{ "command": "say done" }] }\n}\n');
  await put('.gemini/antigravity-cli/installation_id', 'x');
}

test('every agent gets its hooks, and uninstalling restores every file to the byte', async () => {
  await putAll();
  const [before, repository] = [await listHome(), await repo.fingerprint()];
  const installed = await run('install', '--yes', '--json');
  expect(installed.exitCode).toBe(0);
  const { agents } = JSON.parse(installed.stdout) as { agents: { name: string; outcome: string }[] };
  expect(agents.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual(
    ['claude-code', 'codex', 'gemini', 'opencode', 'copilot', 'qwen', 'pi', 'antigravity'].map(
      (name) => `${name} installed`,
    ),
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

test('what cannot be changed stays as it is, a link stays a link, and a file keeps its mode; the others are installed', async () => {
  const mine = {
    '.qwen/settings.json': 'not json at all',
    '.config/opencode/plugin/teddy.js': 'export const Mine = 1;\n',
    '.config/opencode/package.json': '{"dependencies":{"mine":"1.0.0"}}',
    '.gemini/settings.json': '{}',
  };
  for (const [path, text] of Object.entries(mine)) await put(path, text);
  const gemini = inHome('.gemini/settings.json');
  await chmod(gemini, 0o444);
  await put('.codex/config.toml', '');
  const dotfile = inHome('dotfiles/claude.json');
  await put('dotfiles/claude.json', '{}\n');
  await chmod(dotfile, 0o640);
  await mkdir(inHome('.claude'));
  await symlink('../dotfiles/claude.json', inHome('.claude/settings.json'));
  const { exitCode, stderr } = await run('install', '--yes');
  expect(exitCode).toBe(3);
  for (const reason of ['is not JSON', 'read-only']) expect(stderr).toContain(reason);
  for (const [path, text] of Object.entries(mine)) expect(await read(path)).toBe(text);
  const states = { codex: 'installed', 'claude-code': 'installed', qwen: 'unknown', gemini: 'missing' };
  for (const [name, state] of Object.entries(states)) expect(await hooksOf(name), name).toBe(state);
  expect(await readFile(dotfile, 'utf8')).toContain('agent-hook');
  expect((await stat(dotfile)).mode & 0o777).toBe(0o640);
  // Nobody can tell whether what is not JSON has our hooks.
  expect((await run('uninstall', '--all')).exitCode).toBe(3);
  expect(await read('.claude/settings.json')).toBe('{}\n');
  for (const [path, text] of Object.entries(mine)) expect(await read(path)).toBe(text);
  await chmod(gemini, 0o644);
  await run('install', '--yes', '--agent', 'gemini');
  await chmod(gemini, 0o444);
  expect((await run('install', '--yes', '--agent', 'gemini')).exitCode).toBe(0);
  expect((await run('uninstall', '--all')).exitCode).toBe(3);
  expect(await hooksOf('gemini')).toBe('installed');
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
  const missing = /The script that all hooks run is missing \(.*agent-hook\): `teddy capture install`\./;
  expect((await readStatus()).warnings).toEqual([expect.stringMatching(missing)]);
  for (const words of [['status'], []]) {
    const { stdout } = await runTeddy(words, { cwd: repo.root, env: env() });
    expect(stdout).toMatch(new RegExp(`^Capture: ${missing.source}$`, 'm'));
  }
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
});

test('without a terminal nothing is installed unless it is said; pauses, gates and other repositories are told', async () => {
  const all = (words: string[], cwd = repo.root) => runTeddy(words, { cwd, env: env() });
  await expectRefused(2, 'UNKNOWN_AGENT', 'install', '--yes');
  expect(await listHome()).toEqual({});
  await put('bin/codex', '#!/bin/sh\n');
  await chmod(inHome('bin/codex'), 0o755);
  await put('.claude/settings.json', claudeSettings);
  const before = await listHome();
  await expectRefused(2, 'UNKNOWN_AGENT', 'install', '--yes', '--agent', 'cursor');
  await expectRefused(2, 'USAGE', 'uninstall', '--all', '--agent', 'codex');
  for (const command of ['pause', 'drain']) await expectRefused(3, 'NOT_CAPTURED', command);
  const said = await expectRefused(4, 'NOT_APPROVED', 'install');
  for (const text of [inHome('.codex/hooks.json'), inHome('.claude/settings.json'), 'teddy capture install --yes'])
    expect(said).toContain(text);
  expect(await listHome()).toEqual(before);
  expect((await all(['capture', 'uninstall'], home)).stderr).toContain('[NOT_A_REPOSITORY]');

  const gated = await run('install', '--gate', '--yes');
  expect(gated.stderr).toContain('Plans of Claude Code and Codex now wait for a verdict here');
  expect((await run('status')).stdout).toContain('hooks installed, plans wait for a verdict');
  expect((await run('install', '--no-gate', '--yes')).stderr).not.toContain('Plans of');
  expect((await run('status')).stdout).not.toContain('plans wait');
  expect((await run('pause')).exitCode).toBe(0);
  expect((await readStatus()).paused).toBe(true);
  expect((await all(['status'])).stdout).toContain('Capturing other agents is paused: `teddy capture resume`.\n');
  expect((await run('resume')).exitCode).toBe(0);
  expect((await readStatus()).paused).toBe(false);
  expect((await all(['status'])).stdout).not.toContain('paused');
  expect((await run('uninstall')).stderr).toContain('The hooks for Claude Code, Codex stay for other repositories');
  expect(await hooksOf('codex')).toBe('installed');
  expect(await repo.gitSucceeds('config', '--local', 'teddy.capture')).toBe(false);
  await expect(stat(join(repo.root, '.git/teddy/spool'))).rejects.toMatchObject({ code: 'ENOENT' });
  expect((await all(['capture', 'uninstall', '--all'], home)).exitCode).toBe(0);
});

test('teddy init captures with everything else, offers older sessions, and --remove restores each file', async () => {
  await put('.claude/settings.json', '{"theme":"dark"}');
  await put('.codex/config.toml', 'model = "o3"');
  const line = { type: 'user', uuid: 'u1', parentUuid: null, sessionId: 's1', cwd: repo.root, version: '2.1.330' };
  const log = { ...line, timestamp: new Date().toISOString(), message: { role: 'user', content: 'Hello' } };
  await put(`.claude/projects/${repo.root.replace(/[^A-Za-z0-9]/g, '-')}/s1.jsonl`, `${JSON.stringify(log)}\n`);
  await repo.git('remote', 'add', 'origin', 'https://github.com/a/b.git');
  await repo.write('AGENTS.md', '# Agents');
  const init = (...words: string[]) => runTeddy(['init', ...words], { cwd: repo.root, env: env() });
  const look = async () => [await listHome(), await repo.git('status', '--porcelain'), await repo.git('for-each-ref')];
  const configured = () => readFile(join(repo.root, '.git/config'), 'utf8');
  const before = [...(await look()), await configured()];
  const done = await init('--yes');
  expect(done).toMatchObject({ exitCode: 0 });
  expect(done.stderr).toContain('Agents have 1 session from the last 30 days that teddy has not recorded.');
  expect(done.stderr).toContain('teddy capture sweep --since 30d');
  expect((await readStatus()).captured).toBe(true);
  const after = await look();
  expect((await init('--yes')).stdout).toContain('Nothing to do.');
  expect(await look()).toEqual(after);
  expect(await init('--remove', '--yes')).toMatchObject({ exitCode: 0 });
  expect([...(await look()), await configured()]).toEqual(before);
  expect(await repo.read('AGENTS.md')).toBe('# Agents');
});

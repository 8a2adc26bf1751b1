import { chmod, mkdir, mkdtemp, readFile, readdir, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { toProjectName } from '../../src/agents/claude-code/claude-code.ts';
import { agentLogDirectory } from '../../src/system/agents/agent-log-directory.ts';

const session = { id: '0199aaaa-0000-7000-8000-000000000001', startedAt: new Date(2026, 0, 2, 3, 4, 5) };
const rollout = join('sessions', '2026', '01', '02', `rollout-2026-01-02T03-04-05-${session.id}.jsonl`);

let home: string;
let cwd: string;

beforeEach(async () => {
  home = await realpath(await mkdtemp(join(tmpdir(), 'agent-logs-')));
  cwd = join(home, 'my_shop.v2');
  await mkdir(cwd);
});
afterEach(() => rm(home, { recursive: true, force: true }));

const below = async (directory: string) => (await readdir(directory, { recursive: true })).sort();

describe('Claude Code’s logs', () => {
  test('are named after the real folder, and only their owner may read them', async () => {
    const link = join(home, 'link');
    await symlink(cwd, link);
    const logs = await agentLogDirectory('claude-code', { cwd: link, env: { HOME: home } });
    expect(logs.cwd).toBe(cwd);
    const path = await logs.add(session, 'a line\n');
    expect(path).toBe(join(home, '.claude', 'projects', cwd.replace(/[/_.]/g, '-'), `${session.id}.jsonl`));
    expect(await readFile(path, 'utf8')).toBe('a line\n');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(path, '..'))).toEqual([`${session.id}.jsonl`]);
  });

  test('are in CLAUDE_CONFIG_DIR', async () => {
    const env = { HOME: home, CLAUDE_CONFIG_DIR: join(home, 'elsewhere') };
    const path = await (await agentLogDirectory('claude-code', { cwd, env })).add(session, '');
    expect(path.startsWith(join(home, 'elsewhere', 'projects'))).toBe(true);
    expect(await readdir(home)).not.toContain('.claude');
  });

  test('for long folders are distinguished by a hash, as in Claude Code 2.1.330', async () => {
    // The folder's name was copied from a real one; the length of the temporary folder must not matter.
    const long = join('/tmp/long', 'abcdefghij'.repeat(12), 'klmnopqrst'.repeat(12));
    expect(toProjectName(long)).toBe(`${long.replace(/[^a-zA-Z0-9]/g, '-').slice(0, 200)}-s9hxa5`);
  });
});

describe('Codex’s logs', () => {
  test('are below the day on which they began, by the user’s clock', async () => {
    const logs = await agentLogDirectory('codex', { cwd, env: { HOME: home } });
    expect(await logs.add(session, '')).toBe(join(home, '.codex', rollout));
    const moved = await agentLogDirectory('codex', { cwd, env: { HOME: home, CODEX_HOME: join(home, 'elsewhere') } });
    expect(await moved.add(session, '')).toBe(join(home, 'elsewhere', rollout));
  });

  test('name the provider that Codex is configured with', async () => {
    const provider = async () => (await agentLogDirectory('codex', { cwd, env: { HOME: home } })).provider;
    expect(await provider()).toBe('openai');
    await mkdir(join(home, '.codex'));
    const set = (text: string) => writeFile(join(home, '.codex', 'config.toml'), text);
    await set('model = "m"\nmodel_provider = "ours"\n[profiles.x]\nmodel_provider = "theirs"\n');
    expect(await provider()).toBe('ours');
    await set('model_provider = \n');
    expect(await provider()).toBe('openai');
  });
});

describe('Gemini CLI’s logs', () => {
  const name = `session-2026-01-02T03-04-${session.id.slice(0, 8)}.jsonl`;
  const at = new Date('2026-01-02T03:04:05Z');
  const add = async () => {
    const logs = await agentLogDirectory('gemini', { cwd, env: { HOME: home } });
    return logs.add({ ...session, startedAt: at }, 'a line\n');
  };
  const put = async (path: string, text: string) => {
    await mkdir(join(home, '.gemini', path, '..'), { recursive: true });
    await writeFile(join(home, '.gemini', path), text);
  };
  const chat = (slug: string) => join(home, '.gemini', 'tmp', slug, 'chats', name);

  test('are marked with the directory where the session begins, if Gemini CLI has not been there', async () => {
    expect(await add()).toBe(chat('my-shop-v2'));
    expect(await readFile(join(home, '.gemini/tmp/my-shop-v2/.project_root'), 'utf8')).toBe(cwd);
    await rm(chat('my-shop-v2'));
    expect(await add()).toBe(chat('my-shop-v2'));
  });

  test('are where Gemini CLI keeps those of the directory', async () => {
    await put('projects.json', JSON.stringify({ projects: { [cwd]: 'shop', '/other': 'my-shop-v2' } }));
    await put('tmp/shop/.project_root', `${cwd}\n`);
    expect(await add()).toBe(chat('shop'));
    expect(await below(join(home, '.gemini', 'tmp'))).toEqual([
      'shop',
      'shop/.project_root',
      'shop/chats',
      `shop/chats/${name}`,
    ]);
  });

  test('are not where Gemini CLI keeps those of another directory', async () => {
    await put('projects.json', JSON.stringify({ projects: { [cwd]: 'shop', '/other': 'my-shop-v2' } }));
    await put('tmp/shop/.project_root', '/third');
    await put('tmp/my-shop-v2-1/.project_root', '/fourth');
    expect(await add()).toBe(chat('my-shop-v2-2'));
  });
});

describe('every agent', () => {
  test('has its program on the PATH, or not', async () => {
    const isInstalled = async () =>
      (await agentLogDirectory('codex', { cwd, env: { HOME: home, PATH: `/nowhere:${cwd}` } })).isInstalled;
    expect(await isInstalled()).toBe(false);
    await writeFile(join(cwd, 'codex'), '');
    expect(await isInstalled()).toBe(false);
    await chmod(join(cwd, 'codex'), 0o755);
    expect(await isInstalled()).toBe(true);
  });

  test('is refused if its home is unknown', async () => {
    const opening = agentLogDirectory('codex', { cwd, env: { HOME: '' } });
    await expect(opening).rejects.toMatchObject({ code: 'SYSTEM_FAILED', hint: expect.stringContaining('CODEX_HOME') });
  });

  test('keeps an existing log, without leftovers beside it', async () => {
    const logs = await agentLogDirectory('codex', { cwd, env: { HOME: home } });
    const path = await logs.add(session, 'first\n');
    const before = await below(home);
    await expect(logs.add(session, 'second\n')).rejects.toMatchObject({ code: 'FILES_IN_THE_WAY' });
    expect(await readFile(path, 'utf8')).toBe('first\n');
    expect(await below(home)).toEqual(before);
  });

  test('loses nothing and keeps no partial log when its home cannot be written', async () => {
    await writeFile(join(home, '.codex'), 'a file\n');
    const logs = await agentLogDirectory('codex', { cwd, env: { HOME: home } });
    await expect(logs.add(session, 'text\n')).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    expect(await below(home)).toEqual(['.codex', 'my_shop.v2']);
  });

  test('removes the folders again that were made for a log that could not be written', async () => {
    const logs = await agentLogDirectory('codex', { cwd, env: { HOME: home } });
    // No file system accepts a name as long as this one.
    await expect(logs.add({ ...session, id: 'x'.repeat(300) }, '')).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    expect(await below(home)).toEqual(['my_shop.v2']);
  });
});

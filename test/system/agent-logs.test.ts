import { mkdir, mkdtemp, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { agentLogs } from '../../src/system/agents/agent-logs.ts';

let top = '';
const at = (...names: string[]) => join(top, ...names);

beforeEach(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), 'agent-logs-')));
  await mkdir(at('repo', '.git'), { recursive: true });
  await mkdir(at('home'));
});
afterEach(() => rm(top, { recursive: true }));

async function put(path: string, cwd: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${JSON.stringify({ type: 'user', cwd, sessionId: 's' })}\n`);
  return path;
}

const encode = (path: string) => path.replaceAll(/[^A-Za-z0-9]/g, '-');
const logs = () => agentLogs({ env: { HOME: at('home') }, spoolDir: at('spool') });
async function find(...directories: string[]): Promise<string[]> {
  const found = [];
  for await (const { path } of logs().find(directories, 0)) found.push(path);
  return found;
}

const projects = (...names: string[]) => at('home', '.claude', 'projects', ...names);

describe('logs behind symbolic links', () => {
  test.each([
    ['the agent’s home', '.claude'],
    ['the folder for all projects', join('.claude', 'projects')],
    ['the project’s folder', join('.claude', 'projects', 'PROJECT')],
    ['the log', join('.claude', 'projects', 'PROJECT', 's.jsonl')],
  ])('are found: %s', async (_what, name) => {
    const folder = encode(at('repo'));
    const link = at('home', name.replace('PROJECT', folder));
    const [, rest = ''] = projects(folder, 's.jsonl').split(link);
    await put(`${at('elsewhere')}${rest}`, at('repo'));
    await mkdir(dirname(link), { recursive: true });
    await symlink(at('elsewhere'), link);
    const [path = ''] = await find(at('repo'));
    expect(path).toBe(projects(folder, 's.jsonl'));
    expect(await logs().stat('claude-code', path)).not.toBeNull();
  });

  test.each(['claude-code', 'qwen', 'pi'] as const)(
    'of %s whose folder is named after a link are found',
    async (agent) => {
      await symlink(at('repo'), at('link'));
      const folder = {
        'claude-code': projects(encode(at('link'))),
        qwen: at('home', '.qwen', 'projects', encode(at('link')), 'chats'),
        pi: at('home', '.pi', 'agent', 'sessions', `--${encode(at('link'))}--`),
      }[agent];
      const path = await put(join(folder, 's.jsonl'), at('link', 'sub'));
      await put(join(folder.replace('-link', '-other'), 't.jsonl'), at('other'));
      expect(await find(at('repo'))).toEqual([path]);
      await symlink(at('repo'), at('again'));
      expect(await find(at('again'))).toEqual([path]);
    },
  );

  test('are found once, by any names, and a cycle of links ends', async () => {
    const folder = encode(at('repo'));
    const path = await put(projects(folder, 's.jsonl'), at('repo'));
    await symlink(projects(folder), projects(`${folder}-a`));
    await symlink(path, projects(folder, 'a.jsonl'));
    await symlink('.', projects(folder, 'loop'));
    await symlink('..', projects(`${folder}-up`));
    await symlink('gone', projects(folder, 'gone.jsonl'));
    await symlink('self.jsonl', projects(folder, 'self.jsonl'));
    expect(await find(at('repo'))).toEqual([path]);
  });

  test('that a hook names are ignored if they are outside the agent’s home', async () => {
    const path = await put(at('elsewhere', 's.jsonl'), at('repo'));
    await mkdir(projects('p'), { recursive: true });
    await symlink(at('elsewhere'), projects('p', 'out'));
    const { stat } = logs();
    expect(
      await Promise.all(
        [path, projects('..', '..', '..', 'elsewhere', 's.jsonl')].map((one) => stat('claude-code', one)),
      ),
    ).toEqual([null, null]);
    expect(await stat('claude-code', projects('p', 'out', 's.jsonl'))).not.toBeNull();
  });
});

test('a directory is named without links, as far as it exists', async () => {
  await symlink(at('repo'), at('link'));
  expect(await logs().realPath(at('link', 'gone', 'sub'))).toBe(at('repo', 'gone', 'sub'));
  expect(await logs().topOf(at('link', 'gone'))).toBeNull();
  expect(await logs().topOf(at('link'))).toBe(at('repo'));
});

test('Codex’s logs are in the order in which their sessions began, whichever was written last', async () => {
  const day = (name: string) => at('home', '.codex', 'sessions', '2026', '01', name);
  const names = ['23/rollout-2026-01-23T23-59-59-b.jsonl', '24/rollout-2026-01-24T00-00-01-a.jsonl'].map(day);
  for (const [age, name] of names.entries()) {
    await put(name, at('repo'));
    await utimes(name, 1000 - age, 1000 - age);
  }
  expect(await find(at('repo'))).toEqual(names);
});

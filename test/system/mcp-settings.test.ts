/** teddy's MCP server in other programs' files: everything else in them stays, and what cannot be edited safely is refused. */
import { chmod, lstat, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mcpFiles, mcpText } from '../../src/system/agents/mcp-settings.ts';

const [json, toml] = [mcpText('.mcp.json'), mcpText('config.toml')];

test.each([
  [
    '',
    '{\n  "mcpServers": {\n    "teddy": {\n      "command": "teddy",\n      "args": [\n        "mcp"\n      ]\n    }\n  }\n}\n',
  ],
  ['{"a":1}', '{"a":1,"mcpServers":{"teddy":{"command":"teddy","args":["mcp"]}}}'],
  [
    '{ "mcpServers": {} /* mine */ }',
    '{ "mcpServers": {\n    "teddy": {\n      "command": "teddy",\n      "args": [\n        "mcp"\n      ]\n    }\n  } /* mine */ }',
  ],
])('JSON %j gets the server, and nothing else in it changes', (before, after) => {
  expect(json.add(before)).toBe(after);
  expect(json.find(after)).toEqual({ state: 'whole' });
});

test('JSON loses only the server', () => {
  const others =
    '{\r\n\t// keep\r\n\t"mcpServers": {\r\n\t\t"x": { "command": "x" }\r\n\t},\r\n\t"b": [1,\t2]\r\n}\r\n';
  expect(json.remove(json.add(others))).toBe(others);
  expect(json.remove('{"mcpServers":{"teddy":{"args":["mcp"]}},"b":2}')).toBe('{"b":2}');
  expect(json.remove('{')).toBeNull();
});

test.each([
  ['# mine\nmodel = "o3"', '\n\n'],
  ['[mcp_servers.x]\ncommand = "x"\n', '\n'],
  ['[a]\r\nb = 1\r\n', '\r\n'],
  ['', ''],
])('TOML %j gets a table at its end, which can be removed again', (before, gap) => {
  const after = toml.add(before);
  expect(after.startsWith(before + gap + '[mcp_servers.teddy]')).toBe(true);
  expect(toml.find(after)).toEqual({ state: 'whole' });
  expect(toml.remove(`${after}[later]\n`)?.replace(/\s+/g, ' ')).toBe(
    `${before}\n[later]\n`.replace(/\s+/g, ' ').trimStart(),
  );
});

test.each([
  ['model = ', 'is not TOML'],
  ['mcp_servers = 1', 'has `mcp_servers` that are not a table'],
  ['mcp_servers = { x = { command = "x" } }', 'does not allow a table for teddy at its end'],
  ['[mcp_servers.teddy]\ncommand = "gone"', 'has a server `teddy` that does not run `teddy mcp`'],
])('TOML %j is refused, with the lines to write', (text, fault) => {
  expect(() => toml.add(text)).toThrow(
    expect.objectContaining({
      code: 'FILES_IN_THE_WAY',
      message: `config.toml was not changed: it ${fault}.`,
      hint: expect.stringContaining('[mcp_servers.teddy]; command = "teddy"; args = ["mcp"]'),
    }),
  );
});

test('the user’s own file is found where the agent is, a link to it is preserved, and a read-only one is refused', async () => {
  const home = await mkdtemp(join(tmpdir(), 'teddy-mcp-'));
  try {
    expect(await mcpFiles({ HOME: home })).toEqual([]);
    await mkdir(join(home, '.codex'));
    const [found] = await mcpFiles({ HOME: home });
    const file = found?.file;
    expect([found?.title, file?.path, await file?.read()]).toEqual(['Codex', join(home, '.codex/config.toml'), null]);
    const real = join(home, 'dotfiles.toml');
    await writeFile(real, 'a = 1\n', { mode: 0o600 });
    await symlink('../dotfiles.toml', file?.path ?? '');
    await file?.write(Buffer.from('a = 2\n'));
    expect((await lstat(file?.path ?? '')).isSymbolicLink()).toBe(true);
    expect([await readFile(real, 'utf8'), (await lstat(real)).mode & 0o777]).toEqual(['a = 2\n', 0o600]);
    await chmod(real, 0o400);
    await expect(file?.write(Buffer.from('a = 3\n'))).rejects.toMatchObject({ code: 'FILES_IN_THE_WAY' });
    expect(await readFile(real, 'utf8')).toBe('a = 2\n');
  } finally {
    await rm(home, { recursive: true });
  }
});

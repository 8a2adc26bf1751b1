/** `teddy mcp` as agents start it: the SDK's client over a pipe to the built executable. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withClient } from '../support/mcp-client.ts';
import { startTeddy, teddyPath } from '../support/run-teddy.ts';
import { openTeddyProject, type TeddyProject } from '../support/teddy-project.ts';

let project: TeddyProject;

beforeEach(async () => {
  project = await openTeddyProject();
});
afterEach(() => project.close());

async function connect() {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [teddyPath, 'mcp'],
    cwd: project.repo.root,
    env: { ...(process.env as Record<string, string>), ...project.env },
    stderr: 'pipe',
  });
  let stderr = '';
  transport.stderr?.on('data', (piece: Buffer) => (stderr += piece.toString('utf8')));
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  return { ...withClient(client), stderr: () => stderr };
}

function startServer(args: string[] = []) {
  const child = spawn(process.execPath, [teddyPath, 'mcp', ...args], { cwd: project.repo.root, stdio: 'pipe' });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.resume();
  child.stdin.on('error', () => undefined);
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  return { child, ended, stdout: () => stdout };
}

const hello = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
})}\n`;

test('a plan is handed in, rejected by a person in another terminal, handed in again and approved', async () => {
  const before = await project.repo.git('status', '--porcelain', '--branch');
  const mcp = await connect();
  const plan = '# Log in with a key\n\n1. Read the key.\n';
  const { answer } = await mcp.call('plan_submit', { plan, message: 'Let people log in', title: 'add login' });
  const { session, line, commands } = answer;
  const waiting = mcp.call('plan_verdict', { session, turn: '01', waitSeconds: 60 });
  await project.ok('session', 'show', '01', '-s', line);
  await project.ok('session', 'reject', '01', '-s', line, '--comment', '3:Which key?');
  expect((await waiting).answer).toMatchObject({
    status: 'rejected',
    verdict: { comments: [{ line: 3, text: 'Which key?' }], author: { email: expect.stringContaining('@') as string } },
  });
  await mcp.call('plan_submit', { plan: `${plan}2. That of the team.\n`, message: 'Better', session });
  await project.ok('session', 'approve', '02', '-s', line);
  expect((await mcp.call('plan_verdict', { session, turn: '02' })).answer).toMatchObject({ status: 'approved' });
  expect(commands.approve).toBe(`teddy approve 01 -s ${line} --sha256 ${String(answer['planSha256']).slice(0, 12)}`);
  await project.ok('session', 'verify', line);
  expect(await project.repo.git('status', '--porcelain', '--branch')).toBe(before);
  expect((await mcp.call('sessions_search', { query: 'team key' })).answer['turns']).toMatchObject([
    { session, turn: '02' },
  ]);
  await mcp.call('memo_propose', { fact: 'Keys are of the team' });
  const listed = await project.run(['memo', 'list']);
  expect(listed.stderr).toContain("Accept: teddy memo add -- 'Keys are of the team'");
  expect(await project.ok('status')).toContain('1 memo proposed by agents: teddy memo list');
  await project.ok('memo', 'add', '--', 'Keys are of the team');
  expect((await mcp.call('memo_list')).answer).toMatchObject({ memos: ['Keys are of the team'], proposed: [] });
  await mcp.client.close();
  // Notices that a person's commands print beside their results go to stderr here.
  expect(mcp.stderr()).toContain('The name was changed to');
});

test('stdout is the protocol alone, whatever is asked, and it ends with 0', async () => {
  for (const end of ['stdin', 'SIGTERM'] as const) {
    const { child, ended, stdout } = startServer(end === 'stdin' ? ['--json'] : []);
    child.stdin.write(`${hello}{"broken\n`);
    const call = { name: 'plan_submit', arguments: { plan: '# Plan', message: 'Add a login!', title: `With ${end}!` } };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call })}\n`);
    await expect.poll(() => stdout().split('\n').length).toBe(3);
    if (end === 'stdin') child.stdin.end();
    else child.kill(end);
    expect(await ended).toEqual([0, null]);
    for (const row of stdout().trimEnd().split('\n')) expect(JSON.parse(row)).toMatchObject({ jsonrpc: '2.0' });
  }
});

test('without a repository there is an error on stderr and nothing on stdout', async () => {
  const options = { cwd: tmpdir(), env: { GIT_CEILING_DIRECTORIES: tmpdir() } };
  const { exitCode, stdout, stderr } = await startTeddy(['mcp', '--json'], options).result;
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toMatch(/\[NOT_A_REPOSITORY\][^]*^hint: /m);
});

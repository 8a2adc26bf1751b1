import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { ProcessTree } from '../../src/ports/project.ts';
import { callers, processTree } from '../../src/system/shell/running-processes.ts';

const ended: (() => unknown)[] = [];
afterEach(() => ended.splice(0).forEach((end) => end()));

const claude = { pid: 20, name: 'claude', words: ['claude'] };
const here = { pid: process.pid, name: 'node', words: ['node'] };
const tree = (changes: Partial<ProcessTree>): ProcessTree => ({
  chain: async () => [here],
  environment: async () => ({}),
  connected: async () => 30,
  ...changes,
});

describe.skipIf(process.platform !== 'linux')('this machine’s processes', () => {
  test('are shown with their ancestors and their variables', async () => {
    const child = spawn('sh', ['-c', 'sleep 60; exit 1'], { env: { A: 'b=c\nd', E: '' } });
    ended.push(() => child.kill());
    const { chain, environment } = processTree();
    await expect.poll(() => environment(child.pid ?? 0)).toMatchObject({ A: 'b=c\nd', E: '' });
    const [own, parent] = (await chain(child.pid ?? 0)) ?? [];
    expect(own).toMatchObject({ pid: child.pid, name: 'sh', words: ['sh', '-c', 'sleep 60; exit 1'] });
    expect(parent?.pid).toBe(process.pid);
  });

  test('are not shown once they have ended', async () => {
    const child = spawn('true');
    await once(child, 'exit');
    expect(await processTree().environment(child.pid ?? 0)).toBeNull();
    expect(await processTree().chain(child.pid ?? 0)).toBeNull();
  });

  test('include the owner of a connection', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const program = `require('net').connect(${port}, '127.0.0.1')`;
    const child = spawn(process.execPath, ['-e', program]);
    ended.push(
      () => child.kill(),
      () => server.close(),
    );
    const [theirs] = (await once(server, 'connection')) as [ReturnType<typeof connect>];
    expect(await processTree().connected(theirs.remotePort ?? 0, port)).toBe(child.pid);
    expect(await processTree().connected(theirs.remotePort ?? 0, 1)).toBeNull();
    theirs.destroy();
  });
});

describe('an agent is found', () => {
  test('above this process, and not in it: whatever its name, it does not start itself', async () => {
    const called = { ...claude, pid: process.pid };
    expect(await callers({ env: {}, tree: tree({ chain: async () => [called] }) }).findAgent()).toBeNull();
    expect(await callers({ env: {}, tree: tree({ chain: async () => [here, claude] }) }).findAgent()).toMatchObject({
      pid: 20,
    });
  });

  test('behind a connection: the process itself, its variables, or in neither', async () => {
    const behind = (changes: Partial<ProcessTree>) =>
      callers({ env: { CLAUDECODE: '1' }, tree: tree(changes) }).findAgentBehind({ from: 1, to: 2 });
    expect(await behind({})).toBeNull();
    expect(await behind({ chain: async () => [claude] })).toMatchObject({ pid: 20 });
    expect(await behind({ environment: async () => ({ GEMINI_CLI: '1' }) })).toMatchObject({ pid: null });
    const unknown = { seen: 'It is unknown which program requested this.', pid: null };
    expect(await behind({ connected: async () => null })).toEqual(unknown);
    expect(await behind({ environment: async () => null })).toEqual(unknown);
    expect(await behind({ chain: async () => null })).toEqual(unknown);
  });

  test('by the variables that a person has started it with', async () => {
    const environment = async (pid: number) => ({ BROWSER: `of ${pid}` });
    const inAgent = callers({ env: {}, tree: tree({ environment, chain: async () => [here, claude] }) });
    expect(await inAgent.userEnvironment()).toEqual({ BROWSER: 'of 20' });
    expect(await callers({ env: { CLAUDECODE: '1' }, tree: tree({ environment }) }).userEnvironment()).toBeNull();
  });
});

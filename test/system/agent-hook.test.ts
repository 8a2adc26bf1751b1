/** The hook that agents call: with each shell that a system may have as `sh`, in repositories of every shape, whole and broken. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isAlive, readBootId, readStartTime } from '../../src/disk/process-identity.ts';
import { spool } from '../../src/system/agents/spool.ts';
import { toShellWord } from '../../src/session/text/shell-word.ts';

const shells = [['dash'], ['bash', '--posix'], ['busybox', 'sh']].filter(([name = '']) => isThere(name));

let top: string;
let root: string;
let hook: string;
/** A stand-in for Node: notes how it was started. */
let node: string;
let note: string;
let tests = 0;

beforeAll(async () => {
  top = await realpath(await mkdtemp(join(tmpdir(), 'teddy-agent-hook-')));
  root = join(top, 'a project "ü"');
  node = join(top, 'node');
  await writeFile(
    node,
    `#!/bin/sh
case "$*" in *' capture gate '*) printf '%s|' "$PWD" "$@"; cat; until [ -z "$LINGER" ] || [ -e "$LINGER" ]; do sleep 0.05; done; exit 3 ;; esac
{ printf '%s\\n' "$*" "$PWD"; readlink /proc/self/fd/0; ls /proc/$$/fd; echo "session $(ps -o sid= -p $$)"; env; } >"$NOTE.new"
mv "$NOTE.new" "$NOTE"
`,
  );
  await chmod(node, 0o755);
  hook = join(top, 'agent-hook');
  const script = await readFile(new URL('../../hooks/agents/agent-hook', import.meta.url), 'utf8');
  await writeFile(hook, script.replace(/^node= main=$/m, `node=${toShellWord(node)} main=${toShellWord(node)}`));
});
// A drainer of the last test may still write its note.
afterAll(() => rm(top, { recursive: true, maxRetries: 5 }));

beforeEach(async () => {
  await rm(root, { recursive: true, force: true });
  // The drainer of an earlier test may come late.
  note = join(top, `started-${(tests += 1)}`);
  await mkdir(join(root, 'sub/dir'), { recursive: true });
  git('init', '--quiet', '-b', 'main');
  git('-c', 'user.name=Ada', '-c', 'user.email=a@example.org', 'commit', '--quiet', '--allow-empty', '-m', 'First');
  await opened().open();
});

function isThere(name: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
const spoolDir = (common = join(root, '.git')) => join(common, 'teddy', 'spool');
const opened = (common?: string) =>
  spool({
    dir: spoolDir(common),
    clock: { now: () => new Date() },
    bootId: readBootId,
    isAlive,
    startTime: readStartTime,
  });

interface HookCall {
  input?: string | Uint8Array;
  cwd?: string;
  agent?: string;
  /** The words of its command line after the agent. */
  words?: string[];
  env?: Record<string, string>;
}

/** Calls it, and checks what every call promises: it succeeds, and says nothing. */
async function call(
  shell: readonly string[],
  { input = '{}', cwd = root, agent = 'codex', words = [], env = {} }: HookCall = {},
) {
  const [program = '', ...args] = shell;
  const child = spawn(program, [...args, hook, agent, ...words], {
    cwd,
    env: { PATH: process.env['PATH'], NOTE: note, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const said: unknown[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => said.push(String(data)));
  const ended = once(child, 'close');
  child.stdin.end(input);
  const [code] = (await ended) as [number];
  expect({ code, said }).toEqual({ code: 0, said: [] });
}

async function takeAll(common?: string) {
  const { calls: bells, unreadable, done } = await opened(common).take();
  await done();
  return { bells, unreadable };
}

const started = () => expect.poll(() => readFile(note, 'utf8').catch(() => '')).not.toBe('');
const isStarted = () =>
  readFile(note).then(
    () => true,
    () => false,
  );

describe.each(shells.map((shell) => [shell[0] ?? '', shell] as const))('with %s', (name, shell) => {
  test('notes the call, and starts the drainer detached', async () => {
    const child = spawn(
      'sh',
      ['-c', `exec 8>&1; ${shell.join(' ')} ${toShellWord(hook)} claude-code 2>/dev/null || :`],
      {
        cwd: join(root, 'sub/dir'),
        env: {
          PATH: process.env['PATH'],
          NOTE: note,
          LC_ALL: 'C.UTF-8',
          NODE_OPTIONS: '--inspect',
          GIT_DIR: '/nowhere',
          GIT_INDEX_FILE: '/nowhere/index',
          GIT_CONFIG_COUNT: '1',
          GIT_CONFIG_KEY_0: 'safe.bareRepository',
          GIT_CONFIG_VALUE_0: 'explicit',
        },
      },
    );
    child.stdin.end('{"prompt":"Hello"}');
    await once(child, 'close');
    const { bells } = await takeAll();
    expect(bells).toEqual([
      { agent: 'claude-code', at: expect.any(Number) as number, ppid: process.pid, payload: { prompt: 'Hello' } },
    ]);
    expect(Math.abs((bells[0]?.at ?? 0) * 1000 - Date.now()) < 60_000).toBe(true);
    await started();
    const [args, cwd, stdin, ...rest] = (await readFile(note, 'utf8')).split('\n');
    expect([args, cwd, stdin]).toEqual([`${node} capture drain`, root, '/dev/null']);
    const environment = rest.filter((line) => line.includes('='));
    expect(environment).toContain('LC_ALL=C.UTF-8');
    expect(
      environment.filter((line) => /^(?:NODE_OPTIONS|GIT_DIR|GIT_INDEX_FILE|GIT_CONFIG_COUNT)=/.test(line)),
    ).toEqual([]);
    // The streams, and what reads the directory.
    expect(rest.filter((line) => /^[3-9]$/.test(line))).not.toContain('8');
    const ownSession = execFileSync('ps', ['-o', 'sid=', '-p', String(process.pid)], { encoding: 'utf8' }).trim();
    const session = rest
      .find((line) => line.startsWith('session '))
      ?.slice('session '.length)
      .trim();
    expect(session).toMatch(/^\d+$/);
    expect(session).not.toBe(ownSession);
  });

  const gate = async (payload: string, env: Record<string, string> = {}) => {
    const [program = '', ...args] = [...shell, hook, 'claude-code', 'gate'];
    const child = spawn('sh', ['-c', `"$@" 2>/dev/null || :`, 'sh', program, ...args], {
      cwd: join(root, 'sub/dir'),
      env: { PATH: process.env['PATH'], NOTE: note, ...env },
    });
    let said = '';
    child.stdout.on('data', (data) => (said += String(data)));
    child.stdin.end(payload);
    const [code] = (await once(child, 'close')) as [number];
    return { code, said, parent: String(child.pid) };
  };

  test('at the gate, says what teddy says at once, although teddy still shows the page', async () => {
    const closed = join(top, 'closed');
    const { said } = await gate('{"tool_name":"ExitPlanMode"}', { LINGER: closed });
    expect(said).toContain('|{"tool_name":"ExitPlanMode"}');
    await writeFile(closed, '');
  });

  test('at the gate, says what teddy says, and notes the call as well', async () => {
    const payload = '{"tool_name":"ExitPlanMode","tool_input":{"plan":"# A\\n$(id) `id`"}}';
    const { code, said, parent } = await gate(`${payload}\n`);
    expect(code).toBe(0);
    expect(said.split('|')).toEqual([
      root,
      node,
      'capture',
      'gate',
      'claude-code',
      '--parent',
      expect.stringMatching(new RegExp(`^${parent},[0-9]+$`)),
      `${payload} \n`,
    ]);
    await started();
    expect((await takeAll()).bells).toMatchObject([{ payload: JSON.parse(payload) as object }]);
    expect(await gate(payload, { TEDDY_CAPTURE: '0' })).toMatchObject({ code: 0, said: '' });
    await opened().pause(true);
    expect(await gate(payload)).toMatchObject({ code: 0, said: '' });
    await opened().pause(false);
    await opened().close();
    expect(await gate(payload)).toMatchObject({ code: 0, said: '' });
  });

  test('at the end of a turn, asks teddy only if the log contains a plan, or cannot be read', async () => {
    const log = join(top, 'log ü.jsonl');
    const ends = async (path = log) => {
      const payload = JSON.stringify({ hook_event_name: 'Stop', transcript_path: path });
      return (await gate(payload)).said.split('|')[3] ?? 'nothing';
    };
    await writeFile(log, '{"type":"message"}\n');
    expect(await ends()).toBe('nothing');
    await started();
    await writeFile(log, '{"type":"event_msg","payload":{"item":{"type":"Plan"}}}\n');
    expect(await ends()).toBe('gate');
    expect(await ends(join(root, 'no log'))).toBe('gate');
    expect((await takeAll()).bells).toHaveLength(3);
  });

  test('of a call before a tool, only one that submits a plan is noted', async () => {
    const submits = '{"sessionId":"c1","toolName":"exit_plan_mode","toolArgs":{}}';
    expect(await gate('{"sessionId":"c1","toolName":"bash","toolArgs":{}}')).toMatchObject({ code: 0, said: '' });
    expect((await takeAll()).bells).toEqual([]);
    expect((await gate(submits)).said.split('|')[3]).toBe('gate');
    expect((await takeAll()).bells).toMatchObject([{ payload: { event: 'gate', sessionId: 'c1' } }]);
  });

  test('an event that only the hook’s command names is part of the payload', async () => {
    const bells = async (...words: string[]) => {
      await call([...shell], { input: '{"sessionId":"c1"}', words });
      return (await takeAll()).bells.map(({ payload }) => payload);
    };
    expect(await bells('agentStop')).toEqual([{ event: 'agentStop', sessionId: 'c1' }]);
    expect(await bells('a"b')).toEqual([{ sessionId: 'c1' }]);
  });

  test('Antigravity, which starts it elsewhere, names the repository and the session in its own way', async () => {
    const named = (path: string, more = '') =>
      `{"conversationId":"a1", "workspacePaths": [${JSON.stringify(path)}]${more}}`;
    const bells = async (input: string, env = {}) => {
      await call([...shell], { input, cwd: top, agent: 'antigravity', words: ['Stop'], env });
      return (await takeAll()).bells.map(({ payload }) => payload);
    };
    const plain = join(top, 'plain');
    await rm(plain, { force: true });
    await symlink(join(root, 'sub'), plain);
    const payload = { event: 'Stop', conversationId: 'a1', workspacePaths: [plain] };
    expect(await bells(named(plain))).toEqual([payload]);
    expect(await bells(named(plain), { TEDDY_CAPTURE: '0' })).toEqual([
      { event: 'Stop', session_id: 'a1', left_out: true },
    ]);
    expect(await bells(named(join(top, 'gone')))).toEqual([]);
    expect(await bells('{"conversationId":"a1"}')).toEqual([]);
  });

  test('a payload arrives as it was', async () => {
    const odd = String.raw`%s %n \n \\ "quotes" 'single' $HOME $(id) \0 -n é 漢字 ${'\u0081\u0088'}`;
    await call(shell, { input: JSON.stringify({ odd }) });
    await call(shell, { input: `${JSON.stringify({ a: [1, { odd }] }, null, 2)}\n\n` });
    await call(shell, { input: '' });
    const { bells, unreadable } = await takeAll();
    expect(unreadable).toBe(0);
    expect(bells.map(({ payload }) => payload)).toEqual([{ odd }, { a: [1, { odd }] }, {}]);
  });

  test('what is not UTF-8 arrives byte by byte, and NUL makes it unreadable', async () => {
    const bytes = Buffer.from([...Buffer.from('{"a":"'), ...Array.from({ length: 128 }, (_, at) => at + 128)]);
    await call(shell, { input: Buffer.concat([bytes, Buffer.from('"}')]) });
    expect((await readFile(join(spoolDir(), 'codex.jsonl'))).includes(bytes)).toBe(true);
    await call(shell, { input: '{"a":"\0"}' });
    expect(await takeAll()).toMatchObject({ bells: [{ agent: 'codex' }], unreadable: 1 });
  });

  test('what is too long for one write has a file of its own', async () => {
    // Two bytes each: the length counts bytes in every locale.
    const sizes = [1000, 1980, 1990, 2000, 2010, 2020, 2030, 2040, 2050, 100_000];
    const texts = sizes.map((length) => 'é'.repeat(length));
    for (const text of texts) await call(shell, { input: JSON.stringify({ text }), env: { LC_ALL: 'C.UTF-8' } });
    const files = await readdir(spoolDir());
    expect(files.filter((file) => /^codex\.\d+-\d+-\d+\.json$/.test(file)).length).toBeGreaterThanOrEqual(2);
    for (const line of (await readFile(join(spoolDir(), 'codex.jsonl'), 'utf8')).split('\n'))
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(4094);
    const { bells, unreadable } = await takeAll();
    expect(unreadable).toBe(0);
    expect(bells.map(({ payload }) => String(payload['text']).length).toSorted((a, b) => a - b)).toEqual(sizes);
  });

  test('thirty at once lose nothing', async () => {
    await Promise.all(
      Array.from({ length: 30 }, (_, n) => call(shell, { input: JSON.stringify({ n, text: 'x'.repeat(n * 160) }) })),
    );
    const { bells, unreadable } = await takeAll();
    expect(unreadable).toBe(0);
    expect(bells.map(({ payload }) => Number(payload['n'])).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 30 }, (_, n) => n),
    );
  });

  test('starts no drainer while one lives; a pid that another process has by now does not count', async () => {
    const claim = await opened().claim();
    if ('heldBy' in claim) throw new Error('It is held.');
    await call(shell);
    await writeFile(join(spoolDir(), 'drainer'), `${process.pid}\n1\n`);
    expect(await isStarted()).toBe(false);
    await call(shell);
    await started();
    await claim.release();
    expect((await takeAll()).bells).toHaveLength(2);
  });

  test.each([
    ['of a dead process', '999999999\n1\n'],
    ['that is empty', ''],
    ['that is no number', 'x; rm -rf /\n\n'],
  ])('a claim %s does not count', async (_, claim) => {
    await writeFile(join(spoolDir(), 'drainer'), claim);
    await call(shell);
    await started();
  });

  test('starts one program to read its input, and none besides but the drainer', async () => {
    const bin = join(top, `bin-${name}`);
    const log = join(bin, 'log');
    await mkdir(bin, { recursive: true });
    for (const program of ['tr', 'date', 'mv', 'rm', 'cat', 'git', 'node', 'setsid']) {
      await writeFile(
        join(bin, program),
        `#!/bin/sh\necho ${program} >>${log}\nPATH=/usr/bin:/bin exec ${program} "$@"\n`,
      );
      await chmod(join(bin, program), 0o755);
    }
    const names = async () => (await readFile(log, 'utf8')).split('\n').filter(Boolean).toSorted();
    const path = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
    await call([path, ...shell.slice(1)], { env: { PATH: bin } });
    await started();
    // busybox has some of them in itself.
    expect(name === 'busybox' ? ['setsid', 'tr'] : await names()).toEqual(['setsid', 'tr']);
    expect((await takeAll()).bells).toHaveLength(1);
  });

  test('finds the repository of a linked work tree, of a submodule, and through a link', async () => {
    git('worktree', 'add', '--quiet', join(top, `tree-${name}`));
    const linked = join(top, `tree-${name}`);
    await call(shell, { cwd: linked, input: '{"in":"tree"}' });
    await started();
    expect((await readFile(note, 'utf8')).split('\n')[1]).toBe(root);
    git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', root, 'module');
    const module = join(root, '.git/modules/module');
    await call(shell, { cwd: join(root, 'module'), input: '{"in":"module"}' });
    expect((await takeAll()).bells.map(({ payload }) => payload['in'])).toEqual(['tree']);
    await opened(module).open();
    await call(shell, { cwd: join(root, 'module'), input: '{"in":"module"}' });
    expect((await takeAll(module)).bells.map(({ payload }) => payload['in'])).toEqual(['module']);
    await symlink(join(root, 'sub'), join(top, `link-${name}`));
    const through = join(top, `link-${name}`, 'dir');
    await call(shell, { cwd: through, input: '{"in":"link"}', env: { PWD: through } });
    expect((await takeAll()).bells.map(({ payload }) => payload['in'])).toEqual(['link']);
  });

  test('does nothing where nothing is captured', async () => {
    await call(shell, { env: { TEDDY_CAPTURE: '0' } });
    await call(shell, { agent: '../../x' });
    await call(shell, { cwd: top });
    await call(shell, { cwd: '/' });
    await opened().pause(true);
    // More than a pipe holds: whoever writes it gets no error.
    await call(shell, { input: 'x'.repeat(300_000) });
    await opened().pause(false);
    expect((await takeAll()).bells).toEqual([]);
    await opened().close();
    await call(shell);
    expect(await readdir(join(root, '.git/teddy'))).toEqual([]);
    expect(await isStarted()).toBe(false);
  });

  // Only root can give a directory away.
  test.runIf(process.getuid?.() === 0)('notes nothing in a spool of another user', async () => {
    await chown(spoolDir(), 12345, 12345);
    await call(shell);
    expect((await takeAll()).bells).toEqual([]);
    expect(await isStarted()).toBe(false);
  });

  test('succeeds in silence in a broken repository, and where nothing can be written', async () => {
    await rm(join(spoolDir(), 'codex.jsonl'), { force: true });
    await mkdir(join(spoolDir(), 'codex.jsonl'));
    await call(shell);
    await rm(join(spoolDir(), 'codex.jsonl'), { recursive: true });
    await symlink('/dev/full', join(spoolDir(), 'codex.jsonl'));
    await call(shell);
    await rm(join(root, '.git'), { recursive: true });
    await writeFile(join(root, '.git'), 'gitdir: /nowhere at all\n');
    await call(shell);
    await writeFile(join(root, '.git'), '\0\0');
    await call(shell);
    await mkdir(join(root, 'gone'));
    const child = spawn(shell[0] ?? '', [...shell.slice(1), '-c', `cd gone; rmdir ../gone; . "$0"`, hook], {
      cwd: root,
    });
    child.stdin.end('{}');
    expect((await once(child, 'close'))[0]).toBe(0);
  });
});

import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TeddyError } from '../../src/errors.ts';
import type { ProcessGroup } from '../../src/plan/report/journal.ts';
import type { Shell } from '../../src/ports/disk.ts';
import type { CommandResult } from '../../src/ports/files.ts';
import { shell, type ShellOptions } from '../../src/system/shell/shell.ts';
import { runningInGroup } from '../support/interrupted-run.ts';
import { startWait } from '../support/wait.ts';

let base: string;
let root: string;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "teddy-shell-it's "));
  root = join(base, 'project');
  await mkdir(join(root, 'sub dir'), { recursive: true });
  await mkdir(join(base, 'elsewhere'));
});

afterAll(() => rm(base, { recursive: true, force: true }));

function run(
  script: string,
  options: Partial<Parameters<Shell['run']>[1]> = {},
  shellOptions: ShellOptions = {},
): Promise<CommandResult> {
  const defaults = { cwd: '.', env: {}, timeoutMs: 20_000, signal: new AbortController().signal };
  return shell(root, { graceMs: 300, drainMs: 300, ...shellOptions }).run(script, { ...defaults, ...options });
}

const lines = (...text: string[]) => `${text.join('\n')}\n`;

/** A separate program that uses a module in `src/system`. */
async function bundled(name: string, source: string): Promise<string> {
  const outfile = join(base, `${randomUUID()}.mjs`);
  const path = new URL(`../../src/system/shell/${name}`, import.meta.url).pathname;
  const contents = `import * as module from ${JSON.stringify(path)};\n${source}`;
  const bundle = { bundle: true, platform: 'node', format: 'esm', target: 'node20', outfile } as const;
  await build({ stdin: { contents, resolveDir: base, loader: 'ts' }, ...bundle });
  return outfile;
}

/** A process that has died without being reaped still has its number. */
function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout !== '' && !stdout.startsWith('Z');
}

async function expectDead(...pids: number[]): Promise<void> {
  await expect.poll(() => pids.filter(isAlive), { timeout: 30_000, interval: 10 }).toEqual([]);
}

const pidsIn = (result: CommandResult) => [...result.stdout.matchAll(/pid (\d+)/g)].map((match) => Number(match[1]));

describe('a script', () => {
  test('has separate streams, and its exit code is the result', async () => {
    const result = await run('echo out; echo err >&2; exit 3');
    expect(result).toEqual({
      exitCode: 3,
      stdout: 'out\n',
      stderr: 'err\n',
      failedCommand: null,
      failedLine: null,
      timedOut: false,
      aborted: false,
      truncated: false,
      durationMs: expect.any(Number),
    });
  });

  test('may use functions, here-documents, multi-line strings, arrays and exec', async () => {
    const script = lines(
      'greet() {',
      '  local name=$1',
      '  echo "hello $name"',
      '}',
      'greet "two',
      'lines"',
      'cat <<EOF',
      "it's \\$5, `echo sub`",
      'EOF',
      'a=(x "y z"); echo "${a[1]} $# $0"',
      "exec printf '%s' last",
    );
    expect(await run(script)).toMatchObject({
      exitCode: 0,
      stdout: "hello two\nlines\nit's $5, sub\ny z 0 bash\nlast",
    });
  });

  test('of 1 MiB runs to its end', async () => {
    const script = `${`: ${'x'.repeat(1000)}\n`.repeat(1050)}echo end $LINENO\n`;
    expect(script.length).toBeGreaterThan(1024 * 1024);
    expect(await run(script)).toMatchObject({ exitCode: 0, stdout: 'end 1051\n' });
  });

  test('runs in the given directory, by the real path', async () => {
    const where = async (cwd: string) => (await run('pwd -P', { cwd })).stdout;
    expect(await where('.')).toBe(`${root}\n`);
    expect(await where('sub dir')).toBe(`${join(root, 'sub dir')}\n`);
  });

  test('with a cwd that does not exist, is a file or leads out of the project is an error that names it', async () => {
    await symlink('../elsewhere', join(root, 'out'));
    await writeFile(join(root, 'file'), '');
    await expect(run('true', { cwd: 'nowhere' })).rejects.toThrow('The directory nowhere does not exist.');
    await expect(run('true', { cwd: 'file' })).rejects.toThrow('The directory file does not exist.');
    await expect(run('true', { cwd: 'out' })).rejects.toThrow('The directory out is outside the project.');
    await expect(run('true', { cwd: '..' })).rejects.toMatchObject({ code: 'ACTION_FAILED' });
  });

  test('has a closed stdin: cat ends immediately and read fails', async () => {
    const result = await run('cat; read -r x || echo "nothing to read"');
    expect(result).toMatchObject({ exitCode: 0, stdout: 'nothing to read\n' });
  });

  test('can open /dev/stdout and /dev/stderr by name', async () => {
    const result = await run('echo one >/dev/stdout; echo two >/dev/stderr; echo three | tee /dev/stderr');
    expect(result).toMatchObject({ exitCode: 0, stdout: 'one\nthree\n', stderr: 'two\nthree\n' });
  });

  test.runIf(process.platform === 'linux')('has only the three usual descriptors, and may use any other', async () => {
    const list = 'for fd in /proc/$$/fd/*; do echo ${fd##*/}; done';
    const ordinary = execFileSync('bash', ['-c', list], { encoding: 'utf8' });
    expect((await run(list)).stdout).toBe(ordinary);
    expect((await run('exec 3>kept; echo x >&3; cat kept')).stdout).toBe('x\n');
  });

  test('has the user’s environment, without keys and git’s own variables, plus the given variables', async () => {
    const environment = {
      PATH: process.env['PATH'],
      HOME: '/home/ada',
      OPENAI_API_KEY: 'k',
      OPENAI_BASE_URL: 'u',
      ANTHROPIC_API_KEY: 'k',
      TEDDY_HOME: 't',
      GIT_DIR: '/g',
      GIT_INDEX_FILE: '/i',
      GIT_WORK_TREE: '/w',
      GIT_AUTHOR_NAME: 'Ada',
      LANG: 'C',
    };
    const { stdout } = await run('env', { env: { ADDED: 'a b', LANG: 'C.UTF-8' } }, { environment });
    const names = stdout.split('\n').map((line) => line.replace(/=.*/, ''));
    expect(names.filter((name) => /OPENAI|ANTHROPIC|TEDDY|GIT/.test(name)).toSorted()).toEqual([
      'GIT_AUTHOR_NAME',
      'TEDDY_COMMAND',
    ]);
    expect(stdout).toContain('HOME=/home/ada\n');
    expect(stdout).toContain('ADDED=a b\n');
    expect(stdout).toContain('LANG=C.UTF-8\n');
  });

  test('with an environment that the system refuses is an error with the reason, and leaves nothing behind', async () => {
    const env = { BIG: 'x'.repeat(3_000_000) };
    await expect(run('true', { env })).rejects.toMatchObject({
      code: 'ACTION_FAILED',
      message: expect.stringMatching(/E2BIG/) as string,
    });
  });

  test('has the directory for its files removed afterwards', async () => {
    const temporary = join(base, 'tmp');
    await mkdir(temporary);
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = temporary;
    try {
      expect((await run('ls "$TMPDIR"')).stdout).toMatch(/^teddy-run-\w+\n$/);
      await run('false');
    } finally {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    }
    expect(await readdir(temporary)).toEqual([]);
  });

  test('without bash runs in sh, which also stops at the first failure', async () => {
    const bin = join(base, 'bin');
    await mkdir(bin);
    for (const name of ['sh', 'cat', 'mkfifo']) {
      await symlink(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(bin, name));
    }
    const environment = { PATH: bin };
    const script = lines('echo "${BASH_VERSION:-none}"', 'false || true', 'cat nowhere', 'echo not reached');
    expect(await run(script, {}, { environment })).toMatchObject({
      exitCode: 1,
      stdout: 'none\n',
      failedCommand: null,
    });
  });
});

describe('the command that failed', () => {
  test.each([
    ['a plain one', ['echo a', '', 'ls /nowhere-a', 'echo not reached'], 2, 'ls /nowhere-a', 3],
    ['in a function', ['f() {', '  false', '}', 'f'], 1, 'false', 2],
    ['in a subshell', ['( cd /', '  ls /nowhere-b )'], 2, 'ls /nowhere-b', 2],
    ['an exit in a subshell', ['true', '(exit 4)'], 4, '( exit 4 )', 2],
    ['in a substitution', ['x=$(exit 5)'], 5, 'x=$(exit 5)', 1],
    ['at the end of a pipeline', ['echo a | grep b'], 1, 'grep b', 1],
    ['in a loop', ['for i in 1 2; do', '  [[ $i == 1 ]]', 'done'], 1, '[[ $i == 1 ]]', 2],
    ['at the end of an and-list', ['true && false'], 1, 'false', 1],
    ['after a here-document', ['cat <<E', 'false', 'E', 'false'], 1, 'false', 4],
    ['one that is not found', ['', 'no_such_command_x y'], 127, 'no_such_command_x y', 2],
    ['another shell', ["bash -c 'exit 9'"], 9, "bash -c 'exit 9'", 1],
    ['under set -u and noclobber', ['set -uC', 'false'], 1, 'false', 2],
    ['after set -e is restored', ['set +e', 'ls /nowhere-c', 'set -e', 'false'], 1, 'false', 4],
  ])('is named with its line: %s', async (_, script, exitCode, failedCommand, failedLine) => {
    const result = await run(lines(...script));
    expect(result).toMatchObject({ exitCode, failedCommand, failedLine });
    expect(result.stdout).not.toContain('not reached');
  });

  test.each([
    ['false || true'],
    ['if false; then :; fi; ! true || true'],
    ['false | true'],
    ['x=$(false; echo x); [ "$x" = x ]'],
    ['set +e; false; true'],
    ['while false; do :; done'],
    ['(false; true) & wait'],
  ])('is not named in a successful script: %s', async (script) => {
    expect(await run(`${script}\necho done`)).toMatchObject({ exitCode: 0, stdout: 'done\n', failedCommand: null });
  });

  test.each([
    ['set +e; false; exit 6'],
    ['(false; true) & wait; exit 6'],
    ['false || exit 6'],
    ['trap - ERR; (exit 6)'],
  ])('is not guessed if the script chooses its own exit code: %s', async (script) => {
    expect(await run(script)).toMatchObject({ exitCode: 6, failedCommand: null, failedLine: null });
  });

  test('leaves no trace in the output, even under set -x', async () => {
    const result = await run(lines('set -x', 'echo a', 'false'));
    expect(result.stdout).toBe('a\n');
    expect(result.stderr.split('\n').map((line) => line.replace(/^\++ /, ''))).toEqual(['echo a', 'false', '']);
  });

  test('is named by bash with the script’s line numbers and without temporary paths', async () => {
    expect((await run(lines('', 'no_such_command_y'))).stderr).toBe(
      'bash: line 2: no_such_command_y: command not found\n',
    );
  });

  test('is reported by bash with its line for a syntax error', async () => {
    const result = await run(lines('echo before', 'if true; then', '  echo in'));
    expect(result.exitCode).not.toBe(0);
    expect(result.stderr).toMatch(/^bash: .*line \d: syntax error/);
  });

  test('is not named for a script that a signal ends, which has exit code 128 plus its number', async () => {
    expect(await run('kill -KILL $$')).toMatchObject({ exitCode: 137, timedOut: false, aborted: false });
    expect(await run('kill -HUP $$')).toMatchObject({ exitCode: 129 });
  });
});

describe('output', () => {
  test('is complete beyond a pipe’s size, and comes live in order', async () => {
    const seen: string[] = [];
    const result = await run('seq 1 100000; echo end >&2', {
      onOutput: (stream, text) => seen.push(`${stream}:${text}`),
    });
    expect(result.stdout.split('\n').length).toBe(100_001);
    expect(result.truncated).toBe(false);
    const live = seen.filter((piece) => piece.startsWith('stdout:')).map((piece) => piece.slice('stdout:'.length));
    expect(live.join('')).toBe(result.stdout);
    expect(seen).toContain('stderr:end\n');
  });

  test('comes while the script is still running', async () => {
    const stop = new AbortController();
    const result = await run('echo ready; sleep 30', { signal: stop.signal, onOutput: () => stop.abort() });
    expect(result).toMatchObject({ stdout: 'ready\n', aborted: true, timedOut: false });
  });

  test('is cut at 10 MiB, which is reported; the script still runs to its end', async () => {
    let live = 0;
    const result = await run('head -c 12582912 /dev/zero | tr "\\0" x; echo end >&2', {
      onOutput: (stream, text) => (live += stream === 'stdout' ? text.length : 0),
    });
    expect(result).toMatchObject({ exitCode: 0, truncated: true, stderr: 'end\n' });
    expect(result.stdout.length).toBe(10 * 1024 * 1024);
    expect(live).toBe(12 * 1024 * 1024);
  });

  test('of exactly the limit is not cut, and a cut never splits a character', async () => {
    expect(await run('printf aäb', {}, { maxOutputBytes: 4 })).toMatchObject({ stdout: 'aäb', truncated: false });
    expect(await run('printf aäb', {}, { maxOutputBytes: 2 })).toMatchObject({ stdout: 'a', truncated: true });
  });

  test('is UTF-8: a character in two writes is one, a byte order mark stays, other bytes become U+FFFD', async () => {
    const pieces: string[] = [];
    const onOutput = (_: string, text: string) => pieces.push(text);
    const script = String.raw`printf '\xef\xbb\xbfa\xf0\x9f'; sleep 0.2; printf '\x98\x80'; printf 'b\xffc\xc3'`;
    expect((await run(script, { onOutput })).stdout).toBe('\ufeffa😀b\ufffdc\ufffd');
    expect(pieces.join('')).toBe('\ufeffa😀b\ufffdc\ufffd');
    expect(pieces.length).toBeGreaterThan(1);
  });
});

describe('the end', () => {
  const stubborn = `bash -c 'trap "" TERM; echo "pid $$"; while :; do sleep 0.05; done' & echo "pid $!"`;

  test('a timeout ends the script with 124 and keeps its output', async () => {
    const wait = startWait(990);
    const result = await run('echo before; sleep 600; echo after', { timeoutMs: 1_000 });
    expect(result).toMatchObject({ exitCode: 124, timedOut: true, aborted: false, stdout: 'before\n' });
    expect(wait.isOver()).toBe(true);
  });

  test('the grace period ends early if every process has obeyed, even if the dead are not reaped', async () => {
    const result = await run('sleep 600', { timeoutMs: 200 }, { graceMs: 600_000 });
    expect(result).toMatchObject({ exitCode: 124, timedOut: true });
  });

  test('a timeout kills background grandchildren that ignore TERM', async () => {
    const result = await run(lines(stubborn, 'sleep 30 & echo "pid $!"', 'wait'), { timeoutMs: 1_000 });
    expect(result).toMatchObject({ exitCode: 124, timedOut: true });
    expect(pidsIn(result).length).toBe(3);
    await expectDead(...pidsIn(result));
  });

  test('a script that ignores TERM itself is killed after the grace period', async () => {
    const wait = startWait(1_280);
    const result = await run('trap "" TERM; echo "pid $$"; while :; do sleep 0.05; done', { timeoutMs: 1_000 });
    expect(result).toMatchObject({ exitCode: 124, timedOut: true });
    expect(wait.isOver()).toBe(true);
    await expectDead(...pidsIn(result));
  });

  test('a script may clean up when it is asked to end', async () => {
    const result = await run('trap "echo cleaned; exit 0" TERM; sleep 30 & wait', { timeoutMs: 1_000 });
    expect(result).toMatchObject({ exitCode: 124, timedOut: true, stdout: 'cleaned\n' });
  });

  test('an abort ends the group likewise, and does not count as a timeout', async () => {
    const stop = new AbortController();
    let said = '';
    const onOutput = (_: string, text: string) => {
      said += text;
      if (said.includes('before') && said.split('pid').length > 2) stop.abort();
    };
    const result = await run(lines(stubborn, 'echo before', 'sleep 30'), { signal: stop.signal, onOutput });
    expect(result).toMatchObject({ exitCode: 143, aborted: true, timedOut: false });
    expect(result.stdout).toContain('before\n');
    await expectDead(...pidsIn(result));
  });

  test('a script that was aborted before it began does nothing', async () => {
    const result = await run('echo x >never', { signal: AbortSignal.abort() });
    expect(result).toMatchObject({ exitCode: 143, aborted: true, stdout: '' });
    await expect(readFile(join(root, 'never'))).rejects.toThrow('ENOENT');
  });

  test('a script begins once its start was recorded, and never if that failed, in bash and in sh', async () => {
    const bin = join(base, 'bin without bash');
    await mkdir(bin);
    for (const name of ['sh', 'cat', 'mkfifo', 'env']) {
      await symlink(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(bin, name));
    }
    const mark = join(base, 'mark');
    const script = `[ -e '${mark.replaceAll("'", `'\\''`)}' ] && env && cat <&3`;
    for (const environment of [process.env, { PATH: bin }]) {
      const full = new TeddyError('DISK_FULL', 'No space is left.');
      const refused = run('echo begun > begun', { onStart: () => Promise.reject(full) }, { environment });
      await expect(refused).rejects.toBe(full);
      expect(await readdir(root)).not.toContain('begun');
      const noted = await run(script, { onStart: () => sleep(50).then(() => writeFile(mark, '')) }, { environment });
      expect(noted.stdout).toContain('PATH=');
      expect(noted.stdout).not.toContain('TEDDY_GATE');
      // The descriptor that it waited at is closed.
      expect(noted.stderr).toMatch(/3: bad file descriptor/i);
      await rm(mark);
    }
  });

  test('a script never begins if its starter is killed before the start is recorded', async () => {
    const outfile = await bundled(
      'shell.ts',
      `const onStart = ({ id }) => { console.log(id); process.kill(process.pid, 'SIGKILL'); };
       const { signal } = new AbortController();
       const options = { cwd: '.', env: {}, timeoutMs: 60_000, signal, onStart };
       await module.shell(${JSON.stringify(root)}).run('echo begun > begun', options);`,
    );
    const killed = spawnSync(process.execPath, [outfile], { encoding: 'utf8' });
    expect(killed.signal).toBe('SIGKILL');
    await expect.poll(() => runningInGroup(Number(killed.stdout)), { timeout: 20_000, interval: 10 }).toEqual([]);
    expect(await readdir(root)).not.toContain('begun');
  });

  test('a script’s leftover processes are ended, whether they hold the streams open or not', async () => {
    for (const redirect of ['', ' >/dev/null 2>&1']) {
      const result = await run(`sleep 30${redirect} & echo "pid $!"`);
      expect(result, redirect).toMatchObject({ exitCode: 0, timedOut: false, aborted: false });
      expect(pidsIn(result).length).toBe(1);
      await expectDead(...pidsIn(result));
    }
  });

  test('leftovers that ignore TERM are killed', async () => {
    const result = await run(lines(stubborn, 'sleep 0.2'));
    expect(result).toMatchObject({ exitCode: 0 });
    expect(pidsIn(result).length).toBe(2);
    await expectDead(...pidsIn(result));
  });

  test('output that comes shortly after the script has ended is kept', async () => {
    expect((await run('(sleep 0.1; echo late) & echo first')).stdout).toBe('first\nlate\n');
    expect((await run('exec > >(sed s/a/b/); echo a')).stdout).toBe('b\n');
  });

  test('a process that left the group and holds the streams open is not waited for, and is ended', async () => {
    const result = await run('setsid sleep 600 & sleep 0.1; echo "pid $!"');
    expect(result).toMatchObject({ exitCode: 0, timedOut: false });
    expect(pidsIn(result)).toHaveLength(1);
    await expectDead(...pidsIn(result));
  });

  describe('a process that has left the group is ended as well', () => {
    const spin = 'echo "pid $BASHPID"; trap "" TERM; while :; do read -rt 0.05 <> <(:); done';
    const ways: [how: string, script: string][] = [
      ['by setsid', 'setsid sleep 600 >/dev/null 2>&1 & sleep 0.1; echo "pid $!"'],
      ['by a double fork', '(setsid sh -c \'sleep 600 >/dev/null 2>&1 & echo "pid $!"\' &); sleep 0.2'],
      ['by setsid twice', 'setsid -f setsid -f sh -c \'echo "pid $$"; exec sleep 600 >/dev/null 2>&1\'; sleep 0.3'],
      [
        'with another directory and no streams',
        'cd /; setsid sleep 600 </dev/null >&- 2>&- & sleep 0.1; echo "pid $!"',
      ],
      ['and ignores TERM', `setsid -f bash -c '${spin}'; sleep 0.3`],
      [
        'and starts others for ever',
        'setsid -f bash -c \'trap "" TERM; while :; do sleep 0.02 & wait; done\'; sleep 0.1',
      ],
      ['as a command in a script that teddy runs', 'setsid -f env TEDDY_COMMAND="$TEDDY_COMMAND inner" sleep 600'],
    ];
    const left = (mark: string) =>
      spawnSync(
        'grep',
        ['-lsz', mark, ...readdirSync('/proc').flatMap((id) => (/^\d+$/.test(id) ? [`/proc/${id}/environ`] : []))],
        { encoding: 'utf8' },
      ).stdout;

    test.each(ways)('%s', async (_, script) => {
      const result = await run(lines(script, 'echo "mark $TEDDY_COMMAND"'));
      expect(result).toMatchObject({ exitCode: 0 });
      await expectDead(...pidsIn(result));
      const mark = /mark (\S+)/.exec(result.stdout)?.[1] ?? 'none';
      expect(mark).toMatch(/^[0-9a-f-]{36}$/);
      expect(left(mark)).toBe('');
    });

    test('after a timeout, and if the user interrupts the script', async () => {
      const script = 'setsid sleep 600 >/dev/null 2>&1 & echo "pid $!"; sleep 600';
      const timedOut = await run(script, { timeoutMs: 300 });
      expect(timedOut).toMatchObject({ timedOut: true });
      const abort = new AbortController();
      const aborted = await run(script, { signal: abort.signal, onOutput: () => abort.abort() });
      expect(aborted).toMatchObject({ aborted: true });
      const pids = [timedOut, aborted].flatMap(pidsIn);
      expect(pids).toHaveLength(2);
      await expectDead(...pids);
    });

    test('if teddy exits immediately', async () => {
      const outfile = await bundled(
        'shell.ts',
        `const { signal } = new AbortController();
         const onOutput = (_, text) => { process.stdout.write(text); process.exit(); };
         const options = { cwd: '.', env: {}, timeoutMs: 60_000, signal, onOutput };
         await module.shell(${JSON.stringify(root)}).run('setsid sleep 600 >/dev/null 2>&1 & sleep 0.1; echo "pid $!"; sleep 600', options);`,
      );
      const { stdout } = spawnSync(process.execPath, [outfile], { encoding: 'utf8' });
      expect(stdout).toMatch(/^pid \d+\n$/);
      await expectDead(Number(stdout.slice('pid '.length)));
    });

    test('and is named if it is left from a script whose teddy was killed', async () => {
      const outfile = await bundled(
        'shell.ts',
        `const { signal } = new AbortController();
         const onOutput = (_, text) => { console.log(JSON.stringify([group, text])); process.kill(process.pid, 'SIGKILL'); };
         let group;
         const options = { cwd: '.', env: {}, timeoutMs: 60_000, signal, onStart: (started) => { group = started; }, onOutput };
         await module.shell(${JSON.stringify(root)}).run('setsid sleep 600 >/dev/null 2>&1 & echo $!; sleep 600', options);`,
      );
      const { stdout } = spawnSync(process.execPath, [outfile], { encoding: 'utf8' });
      const [group, text] = JSON.parse(stdout) as [ProcessGroup, string];
      const { findRunning } = shell(root);
      expect(await findRunning(group)).toEqual([-group.id]);
      process.kill(-group.id, 'SIGKILL');
      await expect.poll(() => findRunning(group), { timeout: 20_000, interval: 10 }).toEqual([Number(text)]);
      process.kill(Number(text), 'SIGKILL');
      await expect.poll(() => findRunning(group), { timeout: 20_000, interval: 10 }).toEqual([]);
    });

    test('unless teddy itself has started it in the background, as for a hook', async () => {
      const outfile = await bundled(
        'process-group.ts',
        `await module.startDetached(['-e', 'setTimeout(() => {}, 600_000); require("fs").writeFileSync("beside", String(process.pid))'], process.cwd());`,
      );
      expect(
        await run(`node '${outfile.replaceAll("'", "'\\''")}'; until [ -s beside ]; do sleep 0.05; done`),
      ).toMatchObject({
        exitCode: 0,
      });
      const beside = Number(await readFile(join(root, 'beside'), 'utf8'));
      expect(isAlive(beside)).toBe(true);
      process.kill(beside);
    });

    test('unless it belongs to another script that runs at the same time', async () => {
      const other = run('sleep 1; echo whole');
      await run('setsid sleep 600 >/dev/null 2>&1 &');
      expect(await other).toMatchObject({ exitCode: 0, stdout: 'whole\n' });
    });
  });

  test('a timeout longer than a timer can count does not fire immediately', async () => {
    expect(await run('sleep 0.1; echo done', { timeoutMs: 1e12 })).toMatchObject({ exitCode: 0, stdout: 'done\n' });
  });
});

/** Repositories for measurements, made once for each run of the benchmarks. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export const executable = resolve('dist/main.cjs');
const made: string[] = [];

/** The same git for every machine, and no certificate file that slows down every start of node. */
export function benchEnvironment(): NodeJS.ProcessEnv {
  const home = mkdtempSync(join(tmpdir(), 'teddy-bench-home-'));
  made.push(home);
  writeFileSync(
    join(home, '.gitconfig'),
    '[user]\n\tname = Ada Example\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n',
  );
  const kept = Object.entries(process.env).filter(([key]) => !/^(?:GIT_|OPENAI_|TEDDY_|NODE_|XDG_)/.test(key));
  return { ...Object.fromEntries(kept), HOME: home, GIT_CONFIG_NOSYSTEM: '1' };
}

export function keepForRemoval(dir: string): void {
  made.push(dir);
}

export function removeRepositories(): void {
  for (const dir of made) rmSync(dir, { recursive: true, force: true });
}

export function git(cwd: string, env: NodeJS.ProcessEnv, args: string[], input?: string): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd, env, input: input ?? '', maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr.toString()}`);
  return stdout.toString().trim();
}

/** A repository with this many small files, committed, and a session whose branch HEAD is on. */
export function makeRepository(env: NodeJS.ProcessEnv, files: number): string {
  const root = mkdtempSync(join(tmpdir(), 'teddy-bench-'));
  made.push(root);
  git(root, env, ['init', '-q', '-b', 'main']);
  for (let at = 0; at < files; at += 1) {
    const dir = join(root, `dir${Math.floor(at / 100)}`);
    if (at % 100 === 0) mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, `file${at}.txt`), `content of ${at}\n`);
  }
  writeFileSync(join(root, 'README.md'), '# A project\n');
  git(root, env, ['add', '-A']);
  git(root, env, ['commit', '-qm', 'first']);
  git(root, env, ['gc', '-q']);
  teddy(root, env, ['session', 'new', 'bench']);
  // Racy entries would be rehashed by every status; a second later the index is trusted.
  spawnSync('sleep', ['1.1']);
  git(root, env, ['status']);
  return root;
}

function teddy(cwd: string, env: NodeJS.ProcessEnv, args: string[]): void {
  const { status, stderr } = spawnSync(process.execPath, [executable, ...args], {
    cwd,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  if (status !== 0) throw new Error(`teddy ${args.join(' ')} ended with ${status}: ${stderr.toString()}`);
}

export function sessionRef(root: string, env: NodeJS.ProcessEnv): string {
  return git(root, env, ['for-each-ref', '--format=%(refname)', 'refs/heads/teddy/2*']).split('\n')[0] ?? '';
}

/**
 * Run in the measured process, at its end. It reads this program's own peak: `getrusage` includes the memory that its
 * process had as a copy of its parent.
 */
const reportPeak = `process.on('exit', () => {
  const { readFileSync, writeFileSync } = require('node:fs');
  writeFileSync(process.env.PEAK_FILE, /^VmHWM:\\s*(\\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
});`;

/** How teddy is started so that it records its peak memory, in megabytes, when it ends. */
export function measuredStart(env: NodeJS.ProcessEnv, args: string[]) {
  const dir = mkdtempSync(join(tmpdir(), 'teddy-bench-peak-'));
  made.push(dir);
  const [script, peak] = [join(dir, 'peak.cjs'), join(dir, 'peak')];
  writeFileSync(script, reportPeak);
  return {
    args: ['--require', script, executable, ...args],
    env: { ...env, PEAK_FILE: peak },
    readPeakMb: () => Number(readFileSync(peak, 'utf8')) / 1024,
  };
}

/** A whole teddy process: its time and its peak memory. Throws if it fails, since then nothing was measured. */
export function measureProcess(
  root: string,
  env: NodeJS.ProcessEnv,
  args: string[],
  input: Uint8Array = new Uint8Array(),
): { ms: number; peakMb: number } {
  const start = measuredStart(env, args);
  const begunMs = performance.now();
  const { status, stderr } = spawnSync(process.execPath, start.args, {
    cwd: root,
    env: start.env,
    input,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  const ms = performance.now() - begunMs;
  if (status !== 0) throw new Error(`teddy ${args.join(' ')} ended with ${status}: ${stderr.toString()}`);
  return { ms, peakMb: start.readPeakMb() };
}

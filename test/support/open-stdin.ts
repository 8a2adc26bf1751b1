/** A running command whose stdin stays open. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { environmentOf, teddyPath, type RunResult } from './run-teddy.ts';
import type { TeddyProject } from './teddy-project.ts';

export interface OpenCommand {
  child: ChildProcessWithoutNullStreams;
  said(): string;
  result: Promise<RunResult>;
}

export function startWithOpenStdin({ repo, env }: TeddyProject, args: string[], executable = teddyPath): OpenCommand {
  const child = spawn(process.execPath, [executable, ...args], {
    cwd: repo.root,
    env: environmentOf(env),
    detached: true,
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.on('error', () => undefined);
  const result = new Promise<RunResult>((resolve) => {
    child.on('close', (code, signal) => resolve({ exitCode: code ?? -1, stdout, stderr, signal }));
  });
  return { child, said: () => stdout + stderr, result };
}

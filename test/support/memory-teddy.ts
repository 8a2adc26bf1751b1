/**
 * Runs whole commands, from their arguments to their output, on an in-memory repository. It works like `teddy-project.ts`, but
 * starts no git and writes no file, so use it for everything that needs no process, no shell and no real git.
 *
 *   const project = await openMemoryTeddy({ answers: [createPlan('a.txt', 'A\n')] });
 *   await project.begin('try-it');
 *   await project.ok('session', 'plan', '-m', 'Make a.txt');
 *   await project.close();
 */
import { runCommand } from '../../src/cli/run-cli.ts';
import type { CliContext } from '../../src/cli/context.ts';
import { memoryContext, type ContextOptions } from './cli-context.ts';
import { memoryScratch, type MemoryScratch } from './memory-git.ts';
import { memoryProject, type MemoryProject } from './memory-repository.ts';
import { root } from './memory-objects.ts';
import { runInMemoryTerminal } from './memory-terminal.ts';
import type { TerminalRun } from './run-in-terminal.ts';
import { startModelServer, type ModelServer } from './model-server.ts';
import { toVerbs, type TeddyVerbs } from './teddy-project.ts';

export interface MemoryTeddy extends TeddyVerbs {
  /** The repository, as the user works in it. */
  repo: MemoryScratch;
  /** The project that the commands work on. */
  memory: MemoryProject;
  server: ModelServer;
  /** The environment with which commands ask the server's model. */
  env: Record<string, string>;
  /** Runs a command in a terminal in memory. */
  inTerminal(words: string[], options?: { env?: ContextOptions['env']; timeoutMs?: number }): TerminalRun;
  /** The subjects of a branch's commits, newest first; HEAD's without a name. */
  subjects(revision?: string): Promise<string[]>;
  close(): Promise<void>;
}

type ServerOptions = Parameters<typeof startModelServer>[0];

interface MemoryTeddyOptions {
  answers?: ServerOptions['answers'];
  files?: Record<string, string>;
  chunkSize?: number;
  chunkDelayMs?: number;
}

export async function openMemoryTeddy({
  answers = [],
  files = { 'README.md': '# Scratch\n', 'src/app.ts': 'export const port = 8080;\n' },
  ...pace
}: MemoryTeddyOptions = {}): Promise<MemoryTeddy> {
  const [memory, server] = await Promise.all([memoryProject(files), startModelServer({ answers, ...pace })]);
  memory.configuration.set('teddy.model', 'gpt-test');
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'sk-test-0123456789' };
  const openProject: CliContext['openProject'] = async ({ notices }) => ({ ...memory, notices });
  const run: TeddyVerbs['run'] = async (words, { env: more, stdin = '' } = {}) => {
    const context = memoryContext({ words, cwd: root, env: { ...env, ...more }, stdin });
    const exitCode = await runCommand({ ...context, openProject });
    const { stdout, stderr } = context.read();
    return { exitCode, stdout, stderr, signal: null };
  };
  const repo = memoryScratch(memory, root);
  return {
    repo,
    memory,
    server,
    env,
    ...toVerbs({ run, fingerprint: repo.fingerprint }),
    inTerminal: (words, { env: more, timeoutMs } = {}) =>
      runInMemoryTerminal({ words, cwd: root, env: { ...env, ...more } }, { openProject }, { timeoutMs }),
    subjects: async (revision = 'HEAD') =>
      (await repo.git('log', '--first-parent', '--format=%s', revision)).split('\n'),
    close: () => server.close(),
  };
}

/** Opens a project with HEAD on a new session of this name, and returns the session's id with it. */
export async function openMemoryBegun(
  name: string,
  options: MemoryTeddyOptions = {},
): Promise<{ project: MemoryTeddy; session: string }> {
  const project = await openMemoryTeddy(options);
  return { project, session: await project.begin(name) };
}

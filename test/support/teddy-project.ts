/**
 * A scratch repository, a model server and the built executable, for end-to-end tests.
 *
 *   const project = await openTeddyProject({ answers: [createPlan('a.txt', 'A\n')] });
 *   await project.ok('session', 'new', 'try-it');
 *   await project.ok('session', 'plan', '-m', 'Make a.txt');
 *   await project.close(); // with `git fsck --strict`
 */
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { startModelServer, type ModelServer } from './model-server.ts';
import { runTeddy, startTeddy, type RunningTeddy, type RunOptions, type RunResult } from './run-teddy.ts';
import { copyScratchRepository, makeScratchRepository, type ScratchRepository } from './scratch-repository.ts';

/** teddy commands, and a test's expectations for each. */
export interface TeddyVerbs {
  run(args: string[], options?: Partial<RunOptions>): Promise<RunResult>;
  /** Expects exit code 0; returns stdout. */
  ok(...args: string[]): Promise<string>;
  /** Expects this error, a hint, the exit code, and an unchanged repository; returns stderr. */
  refuses(code: string, exitCode: number, args: string[], options?: Partial<RunOptions>): Promise<string>;
  /** Runs `teddy new`, and returns the session's id. */
  begin(name: string, ...args: string[]): Promise<string>;
  /** Plans a turn that is answered with this text, without asking a model. */
  plan(answer: string, message?: string, ...args: string[]): Promise<RunResult>;
  /** Returns the branch's last report, as `teddy show --json` prints it. */
  report(turn?: string): Promise<ShownReport>;
}

export interface TeddyProject extends TeddyVerbs {
  repo: ScratchRepository;
  server: ModelServer;
  /** The environment with which commands ask the server's model. */
  env: Record<string, string>;
  start(args: string[], options?: Partial<RunOptions>): RunningTeddy;
  subjects(revision?: string): Promise<string[]>;
  close(): Promise<void>;
}

export interface ShownReport {
  session: string;
  turn: string;
  run_summary: { status: string; error: string | null };
  memos: { added: string[]; removed: string[]; rejected: string[] };
  action_logs: {
    index: number;
    action_type: string;
    status: string;
    approved_by: string;
    params: Record<string, unknown>;
    details?: Record<string, unknown>;
  }[];
  changes: { path: string; change: string; before: string | null; after: string | null; action: number | null }[];
  validation_errors: { message: string; line: number; column: number }[];
}

interface OpenOptions {
  answers?: Parameters<typeof startModelServer>[0]['answers'];
  files?: Record<string, string>;
  chunkSize?: number;
  chunkDelayMs?: number;
  /** A copy of this one is opened: a scene that many tests begin with is made once. */
  scene?: TeddyProject;
}

/** Scenes that `openBegun` has made, by name and files. */
const scenes = new Map<string, Promise<{ scene: TeddyProject; session: string }>>();
afterAll(async () => {
  for (const made of scenes.values()) await (await made).scene.close();
  scenes.clear();
});

/**
 * A project in which HEAD is on a session of this name, and its id; `teddy new` is run once for all tests in a file.
 */
export async function openBegun(
  name: string,
  options: OpenOptions = {},
): Promise<{ project: TeddyProject; session: string }> {
  const key = JSON.stringify([name, options.files]);
  const begin = async () => {
    const scene = await openTeddyProject(options.files === undefined ? {} : { files: options.files });
    return { scene, session: await scene.begin(name) };
  };
  const made = scenes.get(key) ?? begin();
  scenes.set(key, made);
  const { scene, session } = await made;
  return { project: await openTeddyProject({ ...options, scene }), session };
}

export async function openTeddyProject(options: OpenOptions = {}): Promise<TeddyProject> {
  const { answers = [], chunkSize, chunkDelayMs, scene } = options;
  const files = options.files ?? { 'README.md': '# Scratch\n', 'src/app.ts': 'export const port = 8080;\n' };
  const [repo, server] = await Promise.all([
    scene === undefined ? makeScratchRepository(files) : copyScratchRepository(scene.repo),
    startModelServer({
      answers,
      ...(chunkSize === undefined ? {} : { chunkSize }),
      ...(chunkDelayMs === undefined ? {} : { chunkDelayMs }),
    }),
  ]);
  if (scene === undefined) await appendFile(join(repo.root, '.git', 'config'), '[teddy]\n\tmodel = gpt-test\n');
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'sk-test-0123456789' };
  const toOptions = (changes: Partial<RunOptions> = {}): RunOptions => ({
    cwd: repo.root,
    ...changes,
    env: { ...env, ...changes.env },
  });
  return {
    repo,
    server,
    env,
    ...toVerbs({
      run: (args, changes) => runTeddy(args, toOptions(changes)),
      fingerprint: () => repo.fingerprint(),
    }),
    start: (args, changes) => startTeddy(args, toOptions(changes)),
    subjects: async (revision = 'HEAD') =>
      (await repo.git('log', '--first-parent', '--format=%s', revision, '--')).split('\n'),
    async close() {
      await server.close();
      await repo.close();
    },
  };
}

/** Adds expectations to a function that runs commands, wherever it runs them. */
export function toVerbs({ run, fingerprint }: { run: TeddyVerbs['run']; fingerprint(): Promise<unknown> }): TeddyVerbs {
  const ok: TeddyVerbs['ok'] = async (...args) => {
    const result = await run(args);
    expect(result, `teddy ${args.join(' ')}`).toMatchObject({ exitCode: 0 });
    return result.stdout;
  };
  return {
    run,
    ok,
    async refuses(code, exitCode, args, changes) {
      const before = await fingerprint();
      const result = await run(args, changes);
      expect(result, `teddy ${args.join(' ')}`).toMatchObject({ exitCode, stdout: '' });
      expect(result.stderr).toContain(`[${code}]`);
      expect(result.stderr).toMatch(/^hint: {2}\S/m);
      expect(await fingerprint()).toEqual(before);
      return result.stderr;
    },
    async begin(name, ...args) {
      return (await ok('session', 'new', name, ...args)).trim().split('/').at(-1) ?? '';
    },
    async plan(answer, message = 'Do it', ...args) {
      const result = await run(['session', 'plan', '--from', '-', '-m', message, ...args], { stdin: answer });
      expect(result).toMatchObject({ exitCode: 0 });
      return result;
    },
    async report(turn) {
      const shown = await ok('session', 'show', ...(turn === undefined ? [] : [turn]), '--json');
      return (JSON.parse(shown) as { report: ShownReport }).report;
    },
  };
}

/** A plan with these actions, each as Markdown from `### ` on. */
export function planOf(...actions: string[]): string {
  return `# Try it\n\n## Rationale\n\nBecause.\n\n## Action Plan\n\n${actions.join('\n')}`;
}

export function createAction(path: string, content: string): string {
  return `### \`CREATE\`\n- **File Path:** ${path}\n- **Description:** make it\n\n\`\`\`\`text\n${content}\`\`\`\`\n`;
}

export function editAction(path: string, find: string, replace: string): string {
  return `### EDIT\n- File Path: ${path}\n\n#### FIND:\n\`\`\`\n${find}\n\`\`\`\n\n#### REPLACE:\n\`\`\`\n${replace}\n\`\`\`\n`;
}

export function executeAction(script: string, ...parameters: string[]): string {
  const lines = ['Description: run it', ...parameters].map((line) => `- ${line}\n`).join('');
  return `### EXECUTE\n${lines}\n\`\`\`sh\n${script}\n\`\`\`\n`;
}

export function createPlan(path: string, content: string): string {
  return planOf(createAction(path, content));
}

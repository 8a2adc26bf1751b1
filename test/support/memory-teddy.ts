/**
 * Whole commands, from their words to what they print, on a repository in memory: as `teddy-project.ts`, but no git is started and
 * no file is written. For all that needs no process, no terminal, no shell and nothing that only git does.
 *
 *   const teddy = await openMemoryTeddy({ answers: [createPlan('a.txt', 'A\n')] });
 *   await teddy.begin('try-it');
 *   await teddy.ok('session', 'plan', '-m', 'Make a.txt');
 *   await teddy.close();
 */
import { runCommand } from '../../src/cli/run-cli.ts';
import { memoryContext } from './cli-context.ts';
import { memoryProject, type MemoryProject } from './memory-repository.ts';
import { root } from './memory-objects.ts';
import { startModelServer, type ModelServer } from './model-server.ts';
import { toVerbs, type TeddyVerbs } from './teddy-project.ts';

export interface MemoryTeddy extends TeddyVerbs {
  /** The repository and the person's hands in it. */
  project: MemoryProject;
  server: ModelServer;
  /** The subjects of a branch's commits, newest first; of HEAD's without a name. */
  subjects(branch?: string): Promise<string[]>;
  close(): Promise<void>;
}

export async function openMemoryTeddy({
  answers = [],
  files = { 'README.md': '# Scratch\n', 'src/app.ts': 'export const port = 8080;\n' },
}: {
  answers?: Parameters<typeof startModelServer>[0]['answers'];
  files?: Record<string, string>;
} = {}): Promise<MemoryTeddy> {
  const [project, server] = await Promise.all([memoryProject(files), startModelServer({ answers })]);
  project.configuration.set('teddy.model', 'gpt-test');
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'sk-test-0123456789' };
  const run: TeddyVerbs['run'] = async (words, { env: more, stdin = '' } = {}) => {
    const context = memoryContext({ words, cwd: root, env: { ...env, ...more }, stdin });
    const exitCode = await runCommand({ ...context, openProject: async ({ notices }) => ({ ...project, notices }) });
    const { stdout, stderr } = context.read();
    return { exitCode, stdout, stderr, signal: null };
  };
  const { store, workspace } = project.repository;
  return {
    project,
    server,
    ...toVerbs({
      run,
      fingerprint: async () => ({
        head: await workspace.head(),
        refs: await store.listRefs('refs/'),
        index: [...project.state.index],
        status: await workspace.status({ untracked: true }),
      }),
    }),
    async subjects(branch) {
      const tip = branch === undefined ? (await workspace.head()).oid : await project.tipOf(branch);
      const subjects: string[] = [];
      for (let oid = tip; oid !== null;) {
        const { message, parents } = await store.readCommit(oid);
        subjects.push(message.split('\n')[0] ?? '');
        oid = parents[0] ?? null;
      }
      return subjects;
    },
    close: () => server.close(),
  };
}

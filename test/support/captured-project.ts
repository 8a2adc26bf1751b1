/** A repository in which a real agent is captured, and its lines compared with the agent's own logs. */
import { mkdtemp, readFile, readdir, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { startAgentModel, type AgentModel } from './agent-model-server.ts';
import { tokensIn, type RealAgent, type RunningAgent, type AgentRunOptions } from './real-agent.ts';
import { startTeddy, type RunResult } from './run-teddy.ts';
import { makeScratchRepository, type Fingerprint, type ScratchRepository } from './scratch-repository.ts';

export interface CapturedProject {
  repo: ScratchRepository;
  model: AgentModel;
  home: string;
  /** Starts the agent in the repository. */
  run(options: Partial<AgentRunOptions> & { prompt: string }): RunningAgent;
  teddy(...args: string[]): Promise<RunResult>;
  /** Waits until the spool is empty and no drainer is running. */
  settle(): Promise<void>;
  /** The drainer's process, while there is one. */
  drainer(): Promise<number | null>;
  /** How often each token occurs on the lines, counting each record once, on however many lines it is. */
  captured(): Promise<Map<string, number>>;
  /** The branches of all lines. */
  lines(): Promise<string[]>;
  /**
   * Expects every token in every complete record of the agent's logs on the lines, once, and no other token. Those in a
   * log that the agent itself has deleted may be there.
   */
  expectAllOnce(more?: { logs?: string[]; deleted?: string[] }): Promise<string[]>;
  /** Expects that the user's own state is the same as when capturing began. */
  expectUntouched(): Promise<void>;
  close(): Promise<void>;
}

/** `hooks`: as added by `teddy capture install`. */
export async function openCapturedProject(agent: RealAgent, { hooks = true } = {}): Promise<CapturedProject> {
  const model = await startAgentModel();
  const repo = await makeScratchRepository();
  const home = await realpath(await mkdtemp(join(tmpdir(), 'agent-home-')));
  await agent.prepare(home, model.url, repo.root);
  const env = { HOME: home, XDG_DATA_HOME: undefined, XDG_CONFIG_HOME: undefined };
  const teddy = (...args: string[]) => startTeddy(args, { cwd: repo.root, env, timeoutMs: 1_200_000 }).result;
  if (hooks) {
    const installed = await teddy('capture', 'install', '--yes', '--agent', agent.name);
    expect(installed).toMatchObject({ exitCode: 0 });
  }
  const before = await userOwn(repo);
  const spool = join(repo.root, '.git', 'teddy', 'spool');

  async function drainer(): Promise<number | null> {
    const pid = Number((await readFile(join(spool, 'drainer'), 'utf8').catch(() => '')).split('\n')[0]);
    return pid > 0 && isAlive(pid) ? pid : null;
  }

  async function isIdle(): Promise<boolean> {
    if ((await drainer()) !== null) return false;
    const names = (await readdir(spool).catch(() => [])).filter((name) => /\.jsonl?$/.test(name));
    const sizes = await Promise.all(
      names.map((name) =>
        stat(join(spool, name)).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
    );
    return sizes.every((size) => size === 0);
  }

  async function lines(): Promise<string[]> {
    const refs = await repo.git('for-each-ref', '--format=%(refname)', 'refs/heads/teddy');
    return refs === '' ? [] : refs.split('\n');
  }

  async function captured(): Promise<Map<string, number>> {
    const records = new Map<string, Record<string, any>>();
    for (const line of await lines()) {
      const files = (await repo.git('ls-tree', '-r', '--name-only', line, '.teddy/sessions')).split('\n');
      for (const path of files.filter((name) => name.endsWith('transcript.jsonl'))) {
        const text = await repo.git('show', `${line}:${path}`);
        const rows = text.split('\n').filter((row) => row !== '');
        // A conversation branch has the turns before it in the same places.
        for (const [at, row] of rows.entries())
          records.set(`${path} ${at} ${row}`, JSON.parse(row) as Record<string, any>);
      }
    }
    const counts = new Map<string, number>();
    for (const token of [...records.values()].flatMap(tokensOf)) counts.set(token, (counts.get(token) ?? 0) + 1);
    return counts;
  }

  return {
    repo,
    model,
    home,
    run: (options) => agent.run({ home, cwd: repo.root, ...options }),
    teddy,
    drainer,
    lines,
    captured,
    async settle() {
      await expect.poll(isIdle, { timeout: 60_000, interval: 50 }).toBe(true);
    },
    async expectAllOnce({ logs, deleted = [] } = {}) {
      const texts = logs ?? (await agent.logs(home)).map(({ text }) => text);
      const expected = [...new Set(texts.flatMap((text) => agent.saidIn(text)))].sort();
      const found = await captured();
      const gone = deleted.flatMap((text) => agent.saidIn(text)).filter((token) => !expected.includes(token));
      for (const token of gone) if (found.get(token) === 1) found.delete(token);
      // A prompt to an agent that was killed before it wrote its log is known only from the hook.
      for (const token of found.keys()) if (token.startsWith('ask') && !expected.includes(token)) found.delete(token);
      expect(Object.fromEntries([...found].sort())).toEqual(Object.fromEntries(expected.map((token) => [token, 1])));
      return expected;
    },
    async expectUntouched() {
      expect(await userOwn(repo)).toEqual(before);
    },
    async close() {
      const pid = await drainer();
      if (pid !== null) process.kill(pid, 'SIGKILL');
      await model.close();
      await repo.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** A token is on a line if a record of its kind contains it: a sub-agent's task is also in the call that starts it. */
function tokensOf(record: Record<string, any>): string[] {
  switch (record['type']) {
    case 'user':
      return ofKind('ask', record['message']);
    case 'assistant':
    case 'assistant_partial':
      return ofKind('say', record['message']);
    case 'tool_use':
      return ofKind('call', record['tool_input']);
    case 'tool_result':
      return ofKind('out', record['output']);
    default:
      return [];
  }
}

function ofKind(kind: string, value: unknown): string[] {
  return tokensIn(JSON.stringify(value ?? '')).filter((token) => token.startsWith(kind));
}

/** Without teddy's lines. */
async function userOwn(repo: ScratchRepository): Promise<Fingerprint> {
  const all = await repo.fingerprint();
  return { ...all, refs: all.refs.filter((ref) => !/\brefs\/(?:heads\/)?teddy\//.test(ref)) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
